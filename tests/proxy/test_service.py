"""The proxy without a server before it: what it lets go of, and when it has remembered."""

import asyncio
import itertools
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import InvalidValue, Memory, UserMemory
from ricordo.limits import MAX_WAITING_EXCHANGES
from ricordo.model.context import Context
from ricordo.proxy import memory as proxy_memory
from ricordo.proxy import service
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.background import BackgroundWrites
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.service import ChatProxy, ProxyAnswer, ProxyCaller
from ricordo.proxy.stream import AnswerStream
from ricordo.proxy.wire import Wire
from ricordo.storage.upstream_ids import thread_of_response
from tests.support.endpoints import FaultyModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.observes")

ANA = ProxyCaller("ana")


@pytest.fixture
def memory(backend_url: str, open_store: Callable[..., Memory], model: FaultyModel) -> Memory:
    return open_store(backend_url, upstream_url=model.base_url)


async def answered(
    proxy: ChatProxy, *texts: str, caller: ProxyCaller = ANA, **more: object
) -> ProxyAnswer:
    """The answer to the last of the texts, which are said by user and assistant in turn."""
    roles = itertools.cycle(["user", "assistant"])
    messages = [{"role": role, "content": text} for text, role in zip(texts, roles, strict=False)]
    request = await proxy.read(OPENAI, json.dumps({"messages": messages, **more}).encode())
    headers = {"X-Ricordo-Thread": "t"}
    return await proxy.answer(request, query="", headers=headers, caller=caller)


def recorded(memory: Memory) -> list[str]:
    return [turn.content for turn in memory.user("ana").turns("t")]


def test_closing_waits_for_what_is_to_be_remembered(memory: Memory, model: FaultyModel) -> None:
    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        for number in range(8):
            await answered(proxy, f"Question {number}?")
        await proxy.aclose()

    model.answer("Yes.", times=8)
    asyncio.run(chat())
    assert sorted(recorded(memory)) == sorted(
        ["Yes."] * 8 + [f"Question {number}?" for number in range(8)]
    )


@pytest.mark.requirement("proxy.durable")
@pytest.mark.parametrize("stream", [True, False])
def test_what_was_said_is_stored_before_the_answer_goes_out(
    memory: Memory, model: FaultyModel, stream: bool
) -> None:
    async def chat() -> ProxyAnswer:
        proxy = ChatProxy(memory, memory.settings)
        answer = await answered(proxy, "Tea?", stream=stream)
        assert recorded(memory) == (["Tea?"] if stream else ["Tea?", "Green tea."])
        await proxy.aclose()
        return answer

    model.answer("Green tea.")
    assert asyncio.run(chat()).headers["x-ricordo-recorded"] == "yes"


@pytest.mark.requirement("proxy.durable")
def test_an_answer_says_when_what_was_said_is_not_stored(
    memory: Memory, model: FaultyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, is_broken = threading.Event(), True
    remembering = proxy_memory.remember

    def remember(*given: Any, **more: Any) -> None:
        if is_broken:
            raise RuntimeError("the disk is full")
        assert go_on.wait(60)
        remembering(*given, **more)

    monkeypatch.setattr(service, "remember", remember)
    monkeypatch.setattr(service, "MAX_PROXY_MEMORY_SECONDS", 0.05)
    model.answer("Green tea.", times=3)

    async def chat() -> list[str]:
        nonlocal is_broken
        proxy = ChatProxy(memory, memory.settings)
        answers = [await answered(proxy, "Tea?")]
        is_broken = False
        for stream in (True, False):
            answers.append(await answered(proxy, "Tea?", stream=stream))
        go_on.set()
        await proxy.aclose()
        return [one.headers["x-ricordo-recorded"] for one in answers]

    assert asyncio.run(chat()) == ["no", "pending", "pending"]
    assert sorted(recorded(memory)) == ["Green tea.", "Tea?"]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.parametrize("read", [0, 1, 2, 100])
def test_a_stream_that_is_closed_anywhere_is_remembered_once(
    memory: Memory, model: FaultyModel, read: int
) -> None:
    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        body = (await answered(proxy, "Tea?", stream=True)).body
        assert isinstance(body, AnswerStream)
        for _ in range(read):
            await anext(body, b"")
        await body.aclose()
        await body.aclose()
        assert await anext(body, None) is None
        await proxy.aclose()

    model.answer("Green tea.")
    asyncio.run(chat())
    asked, *heard = recorded(memory)
    assert asked == "Tea?" and len(heard) <= 1
    assert "Green tea.".startswith("".join(heard)) and (read < 100 or heard == ["Green tea."])


@pytest.mark.requirement("proxy.stream")
def test_a_request_that_is_cancelled_lets_go_of_the_upstream(
    memory: Memory, model: FaultyModel
) -> None:
    go_on = threading.Event()

    def wait(number: int) -> None:
        if number:
            go_on.wait(60)

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        asking = asyncio.create_task(answered(proxy, "Tea?"))
        await asyncio.to_thread(model.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await proxy.aclose()

    large = [b'{"a": "', *[b"x" * 100_000] * 200, b'"}']
    model.answer_bytes(large, before_part=wait)
    asyncio.run(chat())
    go_on.set()
    assert model.wait_for_given_up()
    assert list(memory.user("ana").threads()) == []


def test_settings_that_cannot_be(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    for name, value in (
        ("upstream_url", "ftp://example.org"),
        ("upstream_url", "http://name:secret@example.org/v1"),
        ("anthropic_url", "nowhere"),
        ("proxy_modes", "recall,everything"),
        ("proxy_modes", ""),
    ):
        memory = open_store(sqlite_url, **{name: value})
        with pytest.raises(InvalidValue, match=f"setting {name}") as caught:
            ChatProxy(memory, memory.settings)
        assert "secret" not in str(caught.value)


def test_no_more_waits_than_there_may_and_nothing_after_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on, done = threading.Event(), list[int]()

    def work() -> None:
        go_on.wait(60)
        done.append(1)

    async def pile_up() -> None:
        afterwards = BackgroundWrites()
        for _ in range(MAX_WAITING_EXCHANGES + 3):
            afterwards.do(work)
        go_on.set()
        await afterwards.close()
        afterwards.do(work)

    asyncio.run(pile_up())
    assert len(done) == MAX_WAITING_EXCHANGES
    assert caplog.text.count("a chat is not remembered") == 4
    assert caplog.text.count("a chat is not remembered: the service has stopped") == 1


@pytest.mark.requirement("proxy.memories")
def test_an_agent_sees_its_categories_and_the_chat_is_remembered(
    memory: Memory, model: FaultyModel
) -> None:
    ana = memory.user("ana")
    ana.add("The user drinks green tea", theme="drinks")
    ana.add("The user drinks beer in secret", theme="secrets")
    model.answer("Tea.")
    said = ["Hello", "Good morning.", "What does the user drink?"]
    caller = ProxyCaller("ana", agent="cook", categories=frozenset({"drinks"}))

    async def chat() -> ProxyAnswer:
        proxy = ChatProxy(memory, memory.settings)
        answer = await answered(proxy, *said, caller=caller)
        await proxy.aclose()
        return answer

    answer = asyncio.run(chat()).body
    assert isinstance(answer, bytes)
    assert [one["theme"] for one in json.loads(answer)["memories"]] == ["drinks"]
    assert "beer" not in json.dumps(model.prompts)
    assert recorded(memory) == [*said, "Tea."]


@pytest.mark.requirement("proxy.memories")
@pytest.mark.parametrize("stream", [False, True])
def test_what_was_quoted_is_named_beside_the_memories(
    sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel, stream: bool
) -> None:
    settings = {"upstream_url": model.base_url, "anthropic_url": model.root}
    memory = open_store(sqlite_url, context_threshold=0.0, **settings)
    ana = memory.user("ana")
    said = "I drink oolong tea with my sister Mara"
    ana.observe([{"role": "user", "content": said}], thread="older")
    (told,) = ana.form("older").decisions
    ana.add("The user has a dog", theme="pets")
    model.answer_with(lambda _body: "Oolong.")

    async def chat(wire: Wire, part: str) -> tuple[bytes, Any]:
        """An answer, and the part of it that says what was shown."""
        proxy = ChatProxy(memory, memory.settings)
        asked = {"role": "user", "content": "Oolong tea?"}
        messages = {"input" if wire is RESPONSES else "messages": [asked]}
        request = await proxy.read(wire, json.dumps({**messages, "stream": stream}).encode())
        answer = await proxy.answer(request, query="", headers={}, caller=ANA)
        if isinstance(answer.body, AnswerStream):
            whole = b"".join([chunk async for chunk in answer.body])
            event = json.loads(whole.partition(b"data: ")[2].partition(b"\n")[0])
            found = event.get(part, event)
        else:
            whole = answer.body
            found = json.loads(whole)
        await proxy.aclose()
        return whole, found

    for wire, part in ((OPENAI, ""), (ANTHROPIC, "message"), (RESPONSES, "response")):
        whole, found = asyncio.run(chat(wire, part))
        (quote,) = [one for one in found["quotes"] if one["thread_id"] == "older"]
        assert (quote["text"], quote["speaker"]) == (said, "user")
        assert told.memory_id not in [one["id"] for one in found["memories"]]
        shown = ana.context("Oolong tea?", modes="recall").quotes[0]
        assert quote.keys() == shown.to_dict().keys()
        assert whole.count(b'"quotes":[') == (2 if stream and wire is not OPENAI else 1)
        assert "pets" in [one["theme"] for one in found["memories"]]


@pytest.mark.requirement("projects.surfaces")
def test_a_chat_is_kept_to_its_project(memory: Memory, model: FaultyModel) -> None:
    ana = memory.user("ana")
    ana.narrow(project="shop").add("The shop is deployed with make ship")
    ana.narrow(project="blog").add("The blog is deployed with rsync")
    model.answer("With make.")

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        caller = ProxyCaller("ana", project="shop")
        await answered(proxy, "How is it deployed?", caller=caller)
        await proxy.aclose()

    asyncio.run(chat())
    assert "rsync" not in json.dumps(model.prompts)
    assert ana.thread("t").project_id == "shop"


@pytest.mark.requirement("proxy.persona")
@pytest.mark.parametrize("wanted", ["", "persona", "user_file"])
def test_prompt_files_reach_requests_only_where_the_operator_says_so(
    backend_url: str,
    open_store: Callable[..., Memory],
    model: FaultyModel,
    tmp_path: Path,
    wanted: str,
) -> None:
    prompts = tmp_path / "files" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "SOUL.md").write_text("You are Pip.")
    (prompts / "RULES.md").write_text("Rhyme always.")
    (tmp_path / "files" / "people" / "ana").mkdir(parents=True)
    (tmp_path / "files" / "people" / "ana" / "USER.md").write_text("Knits.")
    said_so = {f"proxy_{wanted}": True} if wanted else {}
    memory = open_store(
        backend_url, upstream_url=model.base_url, files=str(tmp_path / "files"), **said_so
    )
    memory.user("ana").add("The user drinks green tea", theme="drinks")
    model.answer("Tea.")

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        await answered(proxy, "What does the user drink?")
        await proxy.aclose()

    asyncio.run(chat())
    asked = json.dumps(model.prompts)
    assert "green tea" in asked
    sent = [text for text in ("You are Pip.", "Rhyme always.", "Knits.") if text in asked]
    files = {"": [], "persona": ["You are Pip.", "Rhyme always."], "user_file": ["Knits."]}
    assert sent == files[wanted]


@pytest.mark.requirement("prompt.recall")
@pytest.mark.parametrize("modes", ["recall,summary", "tools,recall"])
def test_who_is_not_sure_is_told_a_tool_that_the_client_offers(
    backend_url: str, open_store: Callable[..., Memory], model: FaultyModel, modes: str
) -> None:
    memory = open_store(backend_url, upstream_url=model.base_url, proxy_modes=modes)
    memory.user("ana").add("Owns a bicycle", theme="things")
    model.answer_with(lambda _body: "Yes.")
    named = "mcp__notes__memory_search"
    offered = ["weather", named]

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        for names in (offered[:1], offered, []):
            tools = [{"type": "function", "function": {"name": name}} for name in names]
            await answered(proxy, "How tall is the Eiffel tower?", tools=tools)
            await proxy.drain()
        await proxy.aclose()

    asyncio.run(chat())
    suggested = [f"ask once with {named}" in json.dumps(prompt) for prompt in model.prompts]
    assert suggested == [False, True, False]
    assert json.dumps(model.prompts).count("ask once with") == 1


@pytest.mark.requirement("prompt.delta")
def test_a_new_users_first_chat_is_told_what_came_meanwhile(
    memory: Memory, model: FaultyModel
) -> None:
    model.answer_with(lambda _body: "Yes.")

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        await answered(proxy, "Hello")
        await proxy.drain()
        memory.user("ana").add("The user drinks green tea", theme="drinks")
        for _ in range(2):
            await answered(proxy, "Hello", "Yes.", "And now?")
        await proxy.aclose()

    asyncio.run(chat())
    assert ["+created: [drinks]" in json.dumps(one) for one in model.prompts] == [
        False,
        True,
        False,
    ]


@pytest.mark.requirement("access.agents-write")
@pytest.mark.parametrize("categories", [frozenset({"drinks"}), None])
def test_what_an_agent_passes_on_is_its_own_word(
    memory: Memory, model: FaultyModel, categories: frozenset[str] | None
) -> None:
    model.answer("Noted.")
    caller = ProxyCaller("ana", "cook", categories, is_agent=True)

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        await answered(proxy, "Remember that I work at Bosch.", caller=caller)
        await proxy.aclose()

    asyncio.run(chat())
    ana = memory.user("ana")
    ana.form()
    expected = [] if categories else [("conversation", "cook")]
    assert [(item.source, item.agent_id) for item in ana.list()] == expected


def test_closing_breaks_streams_off_and_remembers_what_came(
    memory: Memory, model: FaultyModel, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "tea"}}]}\n\n'

    def wait(number: int) -> None:
        if number:
            go_on.wait(60)

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        body = (await answered(proxy, "Tea?", stream=True)).body
        assert isinstance(body, AnswerStream)
        await anext(body)
        await proxy.aclose()
        await body.aclose()  # whoever sends it on does so as well, in the end

    model.answer_bytes([event, event], content_type="text/event-stream", before_part=wait)
    asyncio.run(chat())
    go_on.set()
    assert recorded(memory) == ["Tea?", "tea"]
    assert [one.message for one in caplog.records if one.name.startswith("ricordo")] == []


@pytest.mark.requirement("proxy.responses")
@pytest.mark.parametrize("stream", [True, False])
def test_a_response_is_known_before_anybody_can_go_on_from_it(
    memory: Memory, model: FaultyModel, stream: bool
) -> None:
    """In any process: what counts is the store."""

    async def respond(**body: object) -> str:
        proxy = ChatProxy(memory, memory.settings)
        request = await proxy.read(RESPONSES, json.dumps({"model": "m", **body}).encode())
        named = {} if "previous_response_id" in body else {"X-Ricordo-Thread": "t"}
        answer = await proxy.answer(request, query="", headers=named, caller=ANA)
        first = await anext(answer.body) if isinstance(answer.body, AnswerStream) else answer.body
        found = re.search(rb'"id": ?"(resp_\w+)"', first)
        assert found is not None
        if isinstance(answer.body, bytes):
            await proxy.aclose()
            return found[1].decode()
        known = thread_of_response(memory.database, "ana", found[1].decode())
        assert known == (None if body.get("store") is False else "t")
        await answer.body.aclose()
        await proxy.aclose()
        return found[1].decode()

    model.answer_with(lambda _body: "Green tea.")
    former = asyncio.run(respond(input="Tea?", stream=stream))
    asyncio.run(respond(input="Which?", stream=stream, previous_response_id=former))
    assert [text for text in recorded(memory) if "?" in text] == ["Tea?", "Which?"]
    asyncio.run(respond(input="Again?", stream=stream, store=False))
    assert memory.erase_user("ana").removed["upstream_ids"] >= 2


@pytest.mark.requirement("proxy.errors")
def test_a_chat_goes_on_when_memory_takes_too_long(
    backend_url: str,
    open_store: Callable[..., Memory],
    model: FaultyModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = open_store(backend_url, upstream_url=model.base_url, pool_size=1)
    memory.user("ana").add("The user drinks green tea")
    monkeypatch.setattr(service, "MAX_PROXY_MEMORY_SECONDS", 0.05)
    model.answer("Yes.")
    recalling, is_over = UserMemory.context, threading.Event()

    def context(self: UserMemory, *args: Any, **given: Any) -> Context:
        try:
            return recalling(self, *args, **given)
        finally:
            is_over.set()

    monkeypatch.setattr(UserMemory, "context", context)

    async def chat() -> ProxyAnswer:
        proxy = ChatProxy(memory, memory.settings)
        with memory.database.read("ana"):  # the only connection
            answer = await answered(proxy, "What does the user drink?")
        await proxy.aclose()
        return answer

    body = asyncio.run(chat()).body
    assert isinstance(body, bytes) and json.loads(body)["memories"] == []
    assert "green tea" not in json.dumps(model.prompts)
    assert "chats go on with less memory: it takes too long" in caplog.text
    assert recorded(memory) == ["What does the user drink?", "Yes."]
    wait_until(is_over.is_set)  # the recall that was given up still ends on its thread
