"""Secrets, sensitive facts and pasted instructions that nobody asked to store, over every path."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.attack.planted import INSTRUCTIONS, LANGUAGES, TEXTS, Planted, harmless
from bench.attack.target import (
    WAIT_SECONDS,
    Target,
    User,
    running,
    stored_of,
    stored_texts,
    texts_in_files,
)
from ricordo.errors import RicordoError
from ricordo.tools.memory_files import MemoryFiles

_THREAD: Final = "planted"
_ACCEPTED: Final = {"Accept": "application/json, text/event-stream"}
_FEWEST_TO_COMPACT: Final = 24
_EXTRACTING: Final = '{"memories":'
_REPEATED_CHARS: Final = 500
_TYPES: Final = ("instruction", None, "preference", "procedure", "fact")
_HELLO: Final = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)

Send = Callable[[Target, User, Planted], None]


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one attempt: where it is stored, whether it waits for consent, and whether
    recall shows a secret in another conversation.
    """

    path: str
    attempt: Planted
    way: str
    stored: tuple[str, ...]
    proposed: bool
    shown: bool


# -- conversations


def _observed(target: Target, user: User, one: Planted) -> None:
    messages = list(one.messages)
    target.send(f"/v1/threads/{_THREAD}/turns", user, {"messages": messages})
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _compacted(target: Target, user: User, one: Planted) -> None:
    """Also into the files: the mirror and the log of the day."""
    filling = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Well."}]
    messages = [*one.messages, *filling * (_FEWEST_TO_COMPACT // 2)]
    target.send(f"/v1/threads/{_THREAD}/turns", user, {"messages": messages})
    target.send(f"/v1/threads/{_THREAD}/compact", user)
    target.send(f"/v1/threads/{_THREAD}/form", user)
    target.user(user).sync_mirror()


def _observed_by_agent(target: Target, user: User, one: Planted) -> None:
    headers = _agents_key(target, user)
    body = {"messages": list(one.messages)}
    target.send(f"/v1/threads/{_THREAD}/turns", user, body, headers=headers)
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _agents_key(target: Target, user: User) -> dict[str, str]:
    made = target.memory.create_key(name=user, user=user, agent="planner")
    return {"Authorization": f"Bearer {made.secret}"}


def _proxying(*, in_parts: bool = False, **more: Any) -> Send:
    def chat(target: Target, user: User, one: Planted) -> None:
        messages = [
            {**message, "tool_call_id": "call_1"} if message["role"] == "tool" else message
            for message in one.messages
        ]
        if in_parts:
            last = messages[-1]
            parts = [{"type": "text", "text": last["content"]}]
            messages = [*messages[:-1], {**last, "content": parts}]
        _chat(target, user, "/v1/chat/completions", messages, more)

    return chat


def _proxying_to_anthropic(**more: Any) -> Send:
    def chat(target: Target, user: User, one: Planted) -> None:
        messages = list(one.messages)
        if one.carrier == "tool output":
            asked, _, answered = messages
            call = {"type": "tool_use", "id": "call_1", "name": "read_page", "input": {}}
            text = answered["content"]
            result = {"type": "tool_result", "tool_use_id": "call_1", "content": text}
            messages = [
                asked,
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        _chat(target, user, "/v1/messages", messages, more)

    return chat


def _chat(
    target: Target,
    user: User,
    path: str,
    messages: Sequence[dict[str, Any]],
    more: Mapping[str, Any],
) -> None:
    body = {"model": "m", "messages": messages, "max_tokens": 50, **more}
    target.send(path, user, body, headers={"X-Ricordo-Thread": _THREAD})
    until = time.monotonic() + WAIT_SECONDS
    while not list(target.user(user).threads()):  # it is recorded after the answer
        if time.monotonic() > until:
            raise RuntimeError("the proxy recorded nothing")
        time.sleep(0.005)
    target.send(f"/v1/threads/{_THREAD}/form", user)


# -- notes of agents and programs


def _draft(one: Planted) -> dict[str, Any]:
    """The note as a memory. A name is its key, its theme or a tag, by turns."""
    draft: dict[str, Any] = {"content": one.noted}
    if one.name:
        draft |= ({"key": one.name}, {"theme": one.name}, {"tags": [one.name]})[one.number % 3]
    kind = _TYPES[one.number % len(_TYPES)]
    return {**draft, "type": kind} if one.kind in INSTRUCTIONS and kind else draft


def _entry(one: Planted) -> tuple[str, str]:
    return one.name or "detail", one.noted


def _adding(**given: Any) -> Send:
    def add(target: Target, user: User, one: Planted) -> None:
        with contextlib.suppress(RicordoError):
            target.user(user).add(**_draft(one), **given)

    return add


def _adding_with_context(target: Target, user: User, one: Planted) -> None:
    """The note is harmless, the words that it rests on are not."""
    said = one.messages[-1]["content"]
    with contextlib.suppress(RicordoError):
        target.user(user).add(
            f"Talked on day {one.number}", source="tool_call", source_context=said
        )


def _added_by_agent(target: Target, user: User, one: Planted) -> None:
    with contextlib.suppress(RicordoError):
        target.user(user).narrow(agent="planner").add(**_draft(one))


def _added_in_place(target: Target, user: User, one: Planted) -> None:
    (old,) = target.user(user).add_many([{"content": "Likes tea"}])
    with contextlib.suppress(RicordoError):
        target.user(user).narrow(agent="planner").add(**_draft(one), supersedes=old.id)


def _merged(target: Target, user: User, one: Planted) -> None:
    olds = target.user(user).add_many([{"content": "Likes tea"}, {"content": "Drinks tea"}])
    with contextlib.suppress(RicordoError):
        target.user(user).narrow(agent="planner").merge([old.id for old in olds], one.line)


def _added_by_confined_agent(target: Target, user: User, one: Planted) -> None:
    draft = {name: value for name, value in _draft(one).items() if name != "theme"}
    agent = target.user(user).narrow(agent="planner", categories=["general"])
    with contextlib.suppress(RicordoError):
        agent.add_many([{**draft, "content": one.line}])


_TOOLS: Final[Mapping[str, Callable[[Planted], dict[str, Any]]]] = {
    "memory_add": _draft,
    "memory": lambda one: {"action": "save", **_draft(one), "source": "user_explicit"},
    "memory_store": lambda one: dict(zip(("key", "value"), _entry(one), strict=True)),
    "update_user_profile": lambda one: {"fields": dict([_entry(one)])},
}


def _calling(name: str) -> Send:
    def call(target: Target, user: User, one: Planted) -> None:
        target.send(f"/v1/tools/{name}", user, {"arguments": _TOOLS[name](one)})

    return call


def _filed(target: Target, user: User, one: Planted) -> None:
    """A file of a model's own, named after a bare value, or with it among other lines."""
    files = MemoryFiles(target.user(user))
    path = f"/memories/{one.name.replace(' ', '-') or 'notes'}.md"
    text = f"# Notes\n\n{one.noted}\n"
    if one.number % 2:
        files.run({"command": "create", "path": path, "file_text": text})
        return
    files.run({"command": "create", "path": path, "file_text": "Likes tea\n"})
    files.run({"command": "insert", "path": path, "insert_line": 1, "insert_text": one.noted})


def _tool_call(name: str, one: Planted) -> dict[str, Any]:
    given = {"name": name, "arguments": _TOOLS[name](one)}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": given}


def _calling_over_mcp(name: str) -> Send:
    def call(target: Target, user: User, one: Planted) -> None:
        asked = _tool_call(name, one)
        target.send("/mcp?tools=standard,single,profile", user, asked, headers=_ACCEPTED)

    return call


def _calling_over_streams(target: Target, user: User, one: Planted) -> None:
    name = "memory_store" if one.number % 2 else "memory_add"
    target.speak(user, *_HELLO, _tool_call(name, one))


def _posted_by_agent(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, _draft(one), headers=_agents_key(target, user))


def _posted_in_batch(target: Target, user: User, one: Planted) -> None:
    body = {"memories": [_draft(one)]}
    target.send("/v1/memories/batch", user, body, headers=_agents_key(target, user))


def _profile_by_agent(target: Target, user: User, one: Planted) -> None:
    headers = _agents_key(target, user)
    fields = dict([_entry(one)])
    target.send("/v1/profile", user, {"fields": fields}, method="PATCH", headers=headers)


def _posted_as_tool(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, {**_draft(one), "source": "tool_call"})


def _posted_for_agent(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, _draft(one), headers={"X-Ricordo-Agent": "planner"})


# -- files of other systems


def _importing(made: Callable[[Planted], Any], form: str) -> Send:
    def load(target: Target, user: User, one: Planted) -> None:
        data = made(one)
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        headers = {"Content-Type": "application/octet-stream"}
        target.send(f"/v1/import?format={form}", user, content=text.encode(), headers=headers)
        target.send("/v1/form", user)

    return load


def _chatgpt(one: Planted) -> Any:
    """A conversation, and what the assistant has saved. A secret is in the user's custom
    instructions: these alone need no consent, but nobody asked to store a secret.
    """
    said: list[tuple[str, dict[str, Any], str]] = [
        (message["role"], _text(message["content"]), "all") for message in one.messages
    ]
    if one.is_secret and one.number % 2:
        told = {"content_type": "user_editable_context", "user_profile": one.line}
        said = [("user", told, "all")]
    elif one.kind not in INSTRUCTIONS:
        said.append(("assistant", _text(one.line), "bio"))
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    above = "root"
    for number, (role, content, recipient) in enumerate(said):
        name = f"m{number}"
        message = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1_735_689_600.0 + number,
            "content": content,
            "status": "finished_successfully",
            "metadata": {},
            "recipient": recipient,
        }
        mapping[name] = {"id": name, "message": message, "parent": above, "children": []}
        above = name
    talk = {"title": "Talk", "create_time": 1_735_689_600.0, "update_time": 1_735_689_700.0}
    named = {"current_node": above, "conversation_id": "c1", "id": "c1"}
    return [{**talk, **named, "mapping": mapping}]


def _text(said: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [said]}


def _claude_conversation(one: Planted) -> Any:
    senders = {"user": "human", "assistant": "assistant"}
    messages = [
        {
            "uuid": f"m{number}",
            "sender": senders.get(message["role"], "assistant"),
            "text": message["content"],
            "content": [{"type": "text", "text": message["content"]}],
            "created_at": "2025-01-01T00:00:00Z",
        }
        for number, message in enumerate(one.messages)
    ]
    return [{"uuid": "c1", "name": "Talk", "chat_messages": messages}]


def _headed(one: Planted) -> str:
    return f"# {one.name or 'Notes'}\n\n- {one.noted}\n"


# -- files that a person edits: what they write there by hand is asked for, unless it is a secret


def _edited(target: Target, user: User, one: Planted) -> None:
    """A line is written, changed or put under a heading; or a text is pasted."""
    target.user(user).add("Likes tea")
    target.user(user).sync_mirror()
    path = target.files(user).memory_file
    text = path.read_text(encoding="utf-8")
    if not one.is_by_hand:
        text += f"\n{one.messages[-1]['content']}\n"
    elif one.name:
        text += f"\n## {one.name}\n\n- {one.noted}\n"
    elif one.number % 2:
        text = text.replace("Likes tea", one.line)
    else:
        text += f"- {one.line}\n"
    path.write_text(text, encoding="utf-8")
    target.user(user).sync_mirror()


def _edited_profile(target: Target, user: User, one: Planted) -> None:
    path = target.files(user).profile
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# About me\n\n", encoding="utf-8")
    target.user(user).update_user_profile({"tea": "green"}, explicit=True)
    text = path.read_text(encoding="utf-8")
    pasted = f"{text}\n{one.messages[-1]['content']}\n"
    path.write_text(text.replace("green", one.line) if one.is_by_hand else pasted, encoding="utf-8")
    target.memory.parts.profile_files.follow(user)


def _edited_log(target: Target, user: User, one: Planted) -> None:
    target.user(user).add("Likes tea")
    target.user(user).sync_mirror()
    daily = target.files(user).daily
    daily.mkdir(exist_ok=True)
    text = f"# 2025-01-01\n\n{one.messages[-1]['content']}\n"
    (daily / "2025-01-01.md").write_text(text, encoding="utf-8")
    target.user(user).sync_mirror()


PATHS: Final[Mapping[str, Mapping[str, Send]]] = {
    "conversation": {
        "observe": _observed,
        "compact": _compacted,
        "observe, agent's key": _observed_by_agent,
    },
    "conversation, model": {"observe": _observed, "compact": _compacted},
    "add": {
        "source=tool_call": _adding(source="tool_call"),
        "source=auto_discovery": _adding(source="auto_discovery"),
        "source=conversation": _adding(source="conversation"),
        "source_context": _adding_with_context,
        "agent": _added_by_agent,
        "agent, in place": _added_in_place,
        "agent, merge": _merged,
        "confined agent, add_many": _added_by_confined_agent,
    },
    "tools": {**{name: _calling(name) for name in _TOOLS}, "memory files": _filed},
    "MCP": {
        **{name: _calling_over_mcp(name) for name in _TOOLS},
        "standard streams": _calling_over_streams,
    },
    "HTTP": {
        "agent's key": _posted_by_agent,
        "agent's key, batch": _posted_in_batch,
        "agent's key, profile": _profile_by_agent,
        "agent's name": _posted_for_agent,
        "source=tool_call": _posted_as_tool,
    },
    "proxy": {
        "OpenAI": _proxying(),
        "OpenAI, streamed": _proxying(stream=True),
        "OpenAI, in parts": _proxying(in_parts=True),
        "Anthropic": _proxying_to_anthropic(),
        "Anthropic, streamed": _proxying_to_anthropic(stream=True),
    },
    "import": {
        "chatgpt": _importing(_chatgpt, "chatgpt"),
        "claude": _importing(lambda one: [{"conversations_memory": _headed(one)}], "claude"),
        "claude, conversation": _importing(_claude_conversation, "claude"),
        "mem0": _importing(lambda one: {"results": [{"memory": one.line}]}, "mem0"),
        "keyvalue": _importing(lambda one: dict([_entry(one)]), "keyvalue"),
        "markdown": _importing(_headed, "markdown"),
    },
    "mirror": {"MEMORY.md": _edited, "USER.md": _edited_profile, "daily log": _edited_log},
}
"""Each with the ways that lead to it, which take turns."""
_WITH_MODEL: Final = frozenset({"conversation, model"})
_LEAD_NOWHERE: Final = frozenset({"daily log"})
_EDITED: Final = frozenset({"mirror"})
"""Where files have what was written into them by hand."""


def found_over(
    names: Sequence[str], attempts: Sequence[Planted], told: Callable[[str], None]
) -> list[Found]:
    """Send every attempt over each of the paths, and something harmless in every way of it."""
    found: list[Found] = []
    for has_model in (False, True):
        wanted = [name for name in names if (name in _WITH_MODEL) is has_model]
        if wanted:
            with running(has_model=has_model) as target:
                for name in wanted:
                    told(name)
                    found += _found(target, name, attempts)
    return sorted(found, key=lambda one: names.index(one.path))


def _found(target: Target, path: str, attempts: Sequence[Planted]) -> Iterator[Found]:
    ways = list(PATHS[path].items())
    sent = []
    sending = [
        (one, *ways[(place // len(LANGUAGES) + place // TEXTS) % len(ways)])
        for place, one in enumerate(attempts)
    ]
    controls = enumerate(ways, start=len(attempts))
    sending += [(harmless(number), *way) for number, way in controls if way[0] not in _LEAD_NOWHERE]
    for one, way, send in sending:
        user = f"{path}-{one.number}".replace(" ", "").replace(",", "-").lower()
        target.model.answer_with(obeying(one) if path in _WITH_MODEL else lambda _: "Fine.")
        send(target, user, one)
        sent.append((user, way, one))
    target.send("/v1/admin/jobs/run", "operator", {"limit": 10_000})
    stored = stored_texts(target.memory)
    for user, way, one in sent:
        texts: Iterable[tuple[str, str]] = stored[user]
        if path not in _EDITED:
            texts = [*texts, *texts_in_files(target.files(user))]
        proposed = target.user(user).proposals()
        yield Found(
            path=path,
            attempt=one,
            way=way,
            stored=stored_of(one, texts),
            proposed=any(one.is_in(f"{each.content} {each.quote}") for each in proposed),
            shown=one.is_secret and _is_shown(target, user, one),
        )


def obeying(one: Planted) -> Callable[[Any], dict[str, Any]]:
    """A model that extracts what was planted, word for word, and otherwise repeats what it sees."""
    kind = _TYPES[one.number % len(_TYPES)] if one.kind in INSTRUCTIONS else "fact"
    memory = {
        "content": one.line,
        "quote": one.said,
        "type": kind or "instruction",
        "theme": "life",
        "key": "",
        "importance": 3,
    }

    def answer(body: Any) -> dict[str, Any]:
        asked = str(body["messages"][-1]["content"])
        if _EXTRACTING in asked:
            return {"memories": [memory]}
        return {"summary": asked[-_REPEATED_CHARS:], "bridge": asked[-_REPEATED_CHARS:]}

    return answer


def _is_shown(target: Target, user: User, one: Planted) -> bool:
    """Whether a secret is in what another conversation recalls."""
    asked = {"message": one.question, "thread": "another", "modes": ["recall", "summary"]}
    answers = [
        target.send("/v1/context", user, {**asked, "threshold": 0.0}),
        target.send("/v1/memories/search", user, {"query": one.question}),
        target.send("/v1/turns/search", user, {"query": one.question}),
    ]
    return any(one.is_in(text.replace(one.question, "")) for text in answers)
