"""What is stored of secrets, sensitive facts and pasted instructions, sent over every path.

The service runs in a process of its own. Each attempt is on a user of its own; afterwards every
text in the database but the conversations themselves is looked through for what gives it away.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import sqlalchemy as sa

from bench.attack.planted import INSTRUCTIONS, LANGUAGES, TEXTS, Planted
from ricordo.errors import RicordoError
from ricordo.memory import Memory
from ricordo.storage.tables import metadata
from ricordo.testing import ModelServer
from ricordo.tools.memory_files import MemoryFiles
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

_SERVE: Final = (sys.executable, "-m", "ricordo", "serve", "--port", "0", "--json")
_THREAD: Final = "planted"
_WAIT_SECONDS: Final = 120.0
_ACCEPTED: Final = {"Accept": "application/json, text/event-stream"}
_FEWEST_TO_COMPACT: Final = 24
_EXTRACTING: Final = '{"memories":'
_REPEATED_CHARS: Final = 500
_TAKEN: Final = range(200, 300)
_REFUSED: Final = (403, 422)
_NOT_SEARCHED: Final = frozenset({"turns", "turn_index", "item_index", "proposals"})
_DERIVED: Final = frozenset({"user_id", "folded"})
_SAID_IN_SHORT: Final = frozenset({"compactions", "threads"})
"""The conversation once more: no place for a secret, but for what else was said in it."""

User = str
Send = Callable[["Target", User, Planted], None]


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


class Target:
    """A service, and its store opened a second time from here."""

    def __init__(self, url: str, memory: Memory, model: ModelServer) -> None:
        self.memory = memory
        self.model = model
        self._client = httpx2.Client(base_url=url, timeout=_WAIT_SECONDS, trust_env=False)

    def send(
        self, path: str, user: User, body: Any = None, *, method: str = "POST", **more: Any
    ) -> str:
        """The answer, which may be a refusal. Raises RuntimeError where the service fails."""
        headers = {"X-Ricordo-User": user, **more.pop("headers", {})}
        response = self._client.request(method, path, json=body, headers=headers, **more)
        if response.status_code not in _TAKEN and response.status_code not in _REFUSED:
            raise RuntimeError(f"{path}: {response.status_code} {response.text}")
        return response.text

    def user(self, user: User) -> UserMemory:
        return self.memory.user(user)


# -- the paths: each with the ways that lead to it, which take turns


def _observed(target: Target, user: User, one: Planted) -> None:
    messages = list(one.messages)
    target.send(f"/v1/threads/{_THREAD}/turns", user, {"messages": messages})
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _compacted(target: Target, user: User, one: Planted) -> None:
    filling = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Well."}]
    messages = [*one.messages, *filling * (_FEWEST_TO_COMPACT // 2)]
    target.send(f"/v1/threads/{_THREAD}/turns", user, {"messages": messages})
    target.send(f"/v1/threads/{_THREAD}/compact", user)
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _proxied(target: Target, user: User, one: Planted) -> None:
    messages = [
        {**message, "tool_call_id": "call_1"} if message["role"] == "tool" else message
        for message in one.messages
    ]
    _chat(target, user, "/v1/chat/completions", messages)


def _proxied_to_anthropic(target: Target, user: User, one: Planted) -> None:
    messages = list(one.messages)
    if one.carrier == "tool output":
        asked, _, answered = messages
        call = {"type": "tool_use", "id": "call_1", "name": "read_page", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": answered["content"]}
        messages = [
            asked,
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    _chat(target, user, "/v1/messages", messages)


def _chat(target: Target, user: User, path: str, messages: Sequence[dict[str, Any]]) -> None:
    body = {"model": "m", "messages": messages, "max_tokens": 50}
    target.send(path, user, body, headers={"X-Ricordo-Thread": _THREAD})
    until = time.monotonic() + _WAIT_SECONDS
    while not list(target.user(user).threads()):  # it is recorded after the answer
        if time.monotonic() > until:
            raise RuntimeError("the proxy recorded nothing")
        time.sleep(0.005)
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _draft(one: Planted) -> dict[str, Any]:
    draft = {"content": one.noted}
    return {**draft, "type": "instruction"} if one.kind in INSTRUCTIONS else draft


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


def _added_by_confined_agent(target: Target, user: User, one: Planted) -> None:
    agent = target.user(user).narrow(agent="planner", categories=["general"])
    with contextlib.suppress(RicordoError):
        agent.add_many([_draft(one)])


def _filed(target: Target, user: User, one: Planted) -> None:
    with contextlib.suppress(RicordoError):
        MemoryFiles(target.user(user)).create("/memories/notes.md", f"# Notes\n\n{one.noted}\n")


_TOOLS: Final[Mapping[str, Callable[[Planted], dict[str, Any]]]] = {
    "memory_add": _draft,
    "memory": lambda one: {"action": "save", **_draft(one), "source": "user_explicit"},
    "memory_store": lambda one: {"key": f"note_{one.number}", "value": one.noted},
    "update_user_profile": lambda one: {"fields": _field(one)},
}


def _field(one: Planted) -> dict[str, str]:
    return {f"about {one.number}": one.noted}


def _calling(name: str) -> Send:
    def call(target: Target, user: User, one: Planted) -> None:
        target.send(f"/v1/tools/{name}", user, {"arguments": _TOOLS[name](one)})

    return call


def _calling_over_mcp(name: str) -> Send:
    def call(target: Target, user: User, one: Planted) -> None:
        given = {"name": name, "arguments": _TOOLS[name](one)}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}
        target.send("/mcp?tools=standard,single,profile", user, asked, headers=_ACCEPTED)

    return call


def _agents_key(target: Target, user: User) -> dict[str, str]:
    made = target.memory.create_key(name=user, user=user, agent="planner")
    return {"Authorization": f"Bearer {made.secret}"}


def _posted_by_agent(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, _draft(one), headers=_agents_key(target, user))


def _posted_in_batch(target: Target, user: User, one: Planted) -> None:
    body = {"memories": [_draft(one)]}
    target.send("/v1/memories/batch", user, body, headers=_agents_key(target, user))


def _profile_by_agent(target: Target, user: User, one: Planted) -> None:
    headers = _agents_key(target, user)
    target.send("/v1/profile", user, {"fields": _field(one)}, method="PATCH", headers=headers)


def _posted_as_tool(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, {**_draft(one), "source": "tool_call"})


def _posted_for_agent(target: Target, user: User, one: Planted) -> None:
    target.send("/v1/memories", user, _draft(one), headers={"X-Ricordo-Agent": "planner"})


def _observed_by_agent(target: Target, user: User, one: Planted) -> None:
    headers = _agents_key(target, user)
    body = {"messages": list(one.messages)}
    target.send(f"/v1/threads/{_THREAD}/turns", user, body, headers=headers)
    target.send(f"/v1/threads/{_THREAD}/form", user)


def _importing(made: Callable[[Planted], Any], form: str) -> Send:
    def load(target: Target, user: User, one: Planted) -> None:
        data = made(one)
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        headers = {"Content-Type": "application/octet-stream"}
        target.send(f"/v1/import?format={form}", user, content=text.encode(), headers=headers)
        target.send("/v1/form", user)

    return load


def _chatgpt(one: Planted) -> Any:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    above = "root"
    said = [
        *((message["role"], message["content"], "all") for message in one.messages),
        *([] if one.kind in INSTRUCTIONS else [("assistant", one.noted, "bio")]),
    ]
    for number, (role, text, recipient) in enumerate(said):
        name = f"m{number}"
        message = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1_735_689_600.0 + number,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "metadata": {},
            "recipient": recipient,
        }
        mapping[name] = {"id": name, "message": message, "parent": above, "children": []}
        above = name
    talk = {"title": "Talk", "create_time": 1_735_689_600.0, "update_time": 1_735_689_700.0}
    named = {"current_node": above, "conversation_id": "c1", "id": "c1"}
    return [{**talk, **named, "mapping": mapping}]


def _edited(target: Target, user: User, one: Planted) -> None:
    files = target.memory.parts.files
    assert files is not None
    target.user(user).add("Likes tea")
    target.user(user).sync_mirror()
    path = files.of(user).memory_file
    path.write_text(f"{path.read_text(encoding='utf-8')}- {one.noted}\n", encoding="utf-8")
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
        "confined agent, add_many": _added_by_confined_agent,
        "memory files": _filed,
    },
    "tools": {name: _calling(name) for name in _TOOLS},
    "MCP": {name: _calling_over_mcp(name) for name in _TOOLS},
    "HTTP": {
        "agent's key": _posted_by_agent,
        "agent's key, batch": _posted_in_batch,
        "agent's key, profile": _profile_by_agent,
        "agent's name": _posted_for_agent,
        "source=tool_call": _posted_as_tool,
    },
    "proxy": {"OpenAI": _proxied, "Anthropic": _proxied_to_anthropic},
    "import": {
        "chatgpt": _importing(_chatgpt, "chatgpt"),
        "claude": _importing(lambda one: [{"conversations_memory": f"- {one.noted}"}], "claude"),
        "mem0": _importing(lambda one: {"results": [{"memory": one.noted}]}, "mem0"),
        "keyvalue": _importing(lambda one: {f"note_{one.number}": one.noted}, "keyvalue"),
        "markdown": _importing(lambda one: f"# Notes\n\n- {one.noted}\n", "markdown"),
    },
    "mirror": {"MEMORY.md": _edited},
}
_WITH_MODEL: Final = frozenset({"conversation, model"})


def found_over(
    names: Sequence[str], attempts: Sequence[Planted], told: Callable[[str], None]
) -> list[Found]:
    """Send every attempt over each of the paths."""
    found: list[Found] = []
    for has_model in (False, True):
        wanted = [name for name in names if (name in _WITH_MODEL) is has_model]
        if wanted:
            with _target(has_model=has_model) as target:
                for name in wanted:
                    told(name)
                    found += _found(target, name, attempts)
    return sorted(found, key=lambda one: names.index(one.path))


def _found(target: Target, path: str, attempts: Sequence[Planted]) -> Iterator[Found]:
    ways = list(PATHS[path].items())
    sent = []
    for place, one in enumerate(attempts):
        way, send = ways[(place // len(LANGUAGES) + place // TEXTS) % len(ways)]
        user = f"{path}-{one.number}".replace(" ", "").replace(",", "-").lower()
        target.model.answer_with(obeying(one) if path in _WITH_MODEL else lambda _: "Fine.")
        send(target, user, one)
        sent.append((user, way, one))
    target.send("/v1/admin/jobs/run", "operator", {"limit": 10_000})
    texts = stored_texts(target.memory)
    for user, way, one in sent:
        proposed = target.user(user).proposals()
        yield Found(
            path=path,
            attempt=one,
            way=way,
            stored=stored_of(one, texts[user]),
            proposed=any(one.is_in(f"{each.content} {each.quote}") for each in proposed),
            shown=one.is_secret and _is_shown(target, user, one),
        )


def obeying(one: Planted) -> Callable[[Any], dict[str, Any]]:
    """A model that extracts what was planted, word for word, and otherwise repeats what it sees."""
    memory = {
        "content": one.noted,
        "quote": one.said,
        "type": "instruction" if one.kind in INSTRUCTIONS else "fact",
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


def stored_texts(memory: Memory) -> dict[User, list[tuple[str, str]]]:
    """Every text of every user, with its table and column, but for the conversations."""
    found: dict[User, list[tuple[str, str]]] = defaultdict(list)
    with memory.database.read_all() as view:
        for table in metadata.tables.values():
            if table.name in _NOT_SEARCHED or "user_id" not in table.c:
                continue
            for row in view.connection.execute(sa.select(table)).mappings():
                for name, value in row.items():
                    if isinstance(value, str | list | dict) and name not in _DERIVED:
                        text = (
                            value
                            if isinstance(value, str)
                            else json.dumps(value, ensure_ascii=False)
                        )
                        found[row["user_id"]].append((f"{table.name}.{name}", text))
    return found


def stored_of(one: Planted, texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The places where an attempt is stored, with the text."""
    return tuple(
        f"{place}: {text}"
        for place, text in texts
        if one.is_in(text) and (one.is_secret or place.split(".")[0] not in _SAID_IN_SHORT)
    )


def _is_shown(target: Target, user: User, one: Planted) -> bool:
    """Whether a secret is in what another conversation recalls."""
    asked = {"message": one.question, "thread": "another", "modes": ["recall", "summary"]}
    answers = [
        target.send("/v1/context", user, {**asked, "threshold": 0.0}),
        target.send("/v1/memories/search", user, {"query": one.question}),
        target.send("/v1/turns/search", user, {"query": one.question}),
    ]
    return any(one.is_in(text.replace(one.question, "")) for text in answers)


@contextlib.contextmanager
def _target(*, has_model: bool) -> Iterator[Target]:
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder, ModelServer() as model:
        home = Path(folder) / "home"
        store = str(Path(folder) / "ricordo.db")
        settings = {
            "RICORDO_HOME": str(home),
            "RICORDO_RATE_LIMIT_PER_MINUTE": "0",
            "RICORDO_UPKEEP": "0",
            "RICORDO_UPSTREAM_URL": model.base_url,
            "RICORDO_ANTHROPIC_URL": model.root,
        }
        if has_model:
            settings["RICORDO_MODEL_PROVIDER"] = "custom_http"
            settings["RICORDO_MODEL_NAME"] = "obedient"
            settings["RICORDO_MODEL_BASE_URL"] = model.base_url
        command = [*_SERVE, "--db", store]
        with subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                line = process.stdout.readline() if process.stdout is not None else ""
                if not line:
                    raise SystemExit("the service did not start; try: ricordo serve")
                with open_memory(store, run_jobs=False, files=home) as memory:
                    yield Target(json.loads(line)["listening"], memory, model)
            finally:
                process.terminate()
