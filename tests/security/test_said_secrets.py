"""Secrets that somebody says: never learned, never quoted, and taken out when that is asked."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Action, InvalidValue, Memory, PermissionMissing, ThreadNotFound, UserMemory
from ricordo.conversation.redaction import REDACTED
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing import ManualClock
from ricordo.text.secrets import MASK
from ricordo.tools import TOOL_SETS, Tools
from tests.contract.test_ending import dump
from tests.mcp.legs import in_process, text_at
from tests.support.commandline import ricordo
from tests.support.service import running

pytestmark = [pytest.mark.requirement("security.secrets"), pytest.mark.both_databases]

SAID = {
    "qwerty": "my pw is qwerty",
    "k8sRocks2024": "my wifi is HomeNet / k8sRocks2024",
    "7391": "the alarm code of the house is 7391",
    "hunter2": "I log in with hunter2",
    "4111 1111": "my card is 4111 1111 1111 1111",
}


@pytest.fixture
def memory(backend_url: str, open_store: Callable[..., Memory]) -> Memory:
    return open_store(backend_url, port=0)


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def say(ana: UserMemory, text: str, thread: str = "one") -> None:
    ana.observe([{"role": "user", "content": text}], thread=thread)


@pytest.mark.parametrize(("secret", "text"), SAID.items())
def test_a_secret_said_in_one_thread_is_quoted_in_no_other(
    ana: UserMemory, secret: str, text: str
) -> None:
    say(ana, text)
    say(ana, f"Fine. Your note: {text}.", thread="two")
    asked = f"what did i say: {text.replace(secret, '')}"
    (hit, *_) = ana.search_turns(asked)
    assert MASK in hit.content_snippet
    context = ana.context(asked, thread="three", modes=["recall", "summary"], threshold=0.0)
    shown = json.dumps([context.to_dict(), ana.search_turns(asked).to_dict()])
    assert MASK in shown
    assert secret not in shown
    assert secret not in json.dumps(ana.context("go on", thread="one").to_dict())
    assert secret not in json.dumps([ana.window("one").to_dict(), ana.resume("one").to_dict()])
    assert [turn.content for turn in ana.turns("one")] == [text]  # the turn itself keeps it


@pytest.mark.parametrize("text", SAID.values())
@pytest.mark.parametrize("asking", ["Remember that {}.", "please remember: {}", "{}"])
def test_a_secret_is_not_learned_and_who_asked_is_told(
    ana: UserMemory, text: str, asking: str
) -> None:
    say(ana, asking.format(text))
    report = ana.form("one")
    assert list(ana.list()) == []
    assert list(ana.proposals()) == []
    told = [(one.action, one.reason) for one in report.decisions]
    assert told == ([] if asking == "{}" else [(Action.REJECT, "secret")])
    for secret in SAID:
        assert secret not in json.dumps(report.to_dict())


def test_a_memory_with_a_secret_is_masked_for_models_and_whole_for_its_owner(
    ana: UserMemory, clock: ManualClock
) -> None:
    text = "The door code of the cabin is 7391, next to the lake"
    number = ana.add(text, theme="home").id
    ana.add("The cabin by the lake is made of wood", theme="home")
    clock.advance(minutes=1)
    asked = "the door code of the cabin by the lake"
    tools = Tools(ana, *TOOL_SETS)
    context = ana.context(asked, thread="t", modes=["recall", "summary"], threshold=0.0)

    async def over_mcp() -> list[str]:
        places = (f"ricordo://memories/{number}", "ricordo://memory.md", "ricordo://changes")
        async with in_process(ana) as client:
            return [await text_at(client, place) for place in places]

    shown = [
        ana.search(asked).to_dict(),
        ana.query(None, asked).to_dict(),
        ana.query(None, asked, returns="full").to_dict(),
        [one.to_dict() for one in ana.related(number)],
        context.to_dict(),
        tools.run("memory_search", {"query": asked}).text,
        tools.run("memory_get", {"id": number}).text,
        tools.run("memory", {"action": "list"}).text,
        tools.run("memory_query", {"query": asked}).text,
        asyncio.run(over_mcp()),
    ]
    for one in shown:
        assert "7391" not in json.dumps(one)
    assert json.dumps(shown).count(MASK) >= 8
    assert "lake" in ana.search(asked).results[0].content_snippet
    assert ana.get(number).content == text


PASSWORD = "k8sRocks2024"


def found_by_words(ana: UserMemory, query: str) -> list[int]:
    return [hit.id for hit in ana.search_turns(query) if hit.signals.fts]


@pytest.mark.requirement("security.redaction")
@pytest.mark.parametrize("how", [{}, {"text": PASSWORD}, {"whole": True}])
def test_what_is_redacted_is_nowhere_any_more(
    memory: Memory, backend_url: str, how: dict[str, object]
) -> None:
    ana = memory.user("ana")
    call = {"function": {"name": "join", "arguments": json.dumps({"key": f"pw: {PASSWORD}"})}}
    said = f"I live in Bekasi. My wifi password is {PASSWORD}."
    ana.observe([{"role": "user", "content": said, "tool_calls": [call]}], thread="one")
    ana.add("Has wifi", source_context=said, thread_id="one", key="wifi")
    ana.add("Has fast wifi", source_context=said, thread_id="one", key="wifi")
    ana.observe([{"role": "user", "content": f"again {n}"} for n in range(40)], thread="one")
    ana.compact("one")
    assert found_by_words(ana, PASSWORD)
    assert PASSWORD.encode() in dump(memory, backend_url)
    changed = ana.redact("one", 1, **how, reason="said by mistake")  # type: ignore[arg-type]
    assert changed == next(iter(ana.turns("one")))
    assert REDACTED in changed.content
    assert ("Bekasi" in changed.content) is ("whole" not in how)
    if memory.database.backend.name != "sqlite":
        memory.run_jobs()
    assert PASSWORD.encode() not in dump(memory, backend_url)
    assert PASSWORD.lower().encode() not in dump(memory, backend_url).lower()
    assert not found_by_words(ana, PASSWORD)
    last = ana.changes(0).changes[-1]
    place = {"thread_id": "one", "position": 1}
    assert (last.event, last.actor, last.reason) == ("PURGE", "ana", "said by mistake")
    assert last.meta == {"redaction": place}
    assert ana.window("one").turns
    assert memory.database.backend.check() == []
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("security.redaction")
@pytest.mark.parametrize("how", [{"whole": True}, {"text": "diabetes"}, {"text": "fact"}])
def test_a_proposal_can_be_exported_and_approved_after_that(
    memory: Memory, tmp_path: Path, how: dict[str, object]
) -> None:
    ana = memory.user("ana")
    say(ana, "I have diabetes. Always mind my health, that is a fact.")
    ana.form("one")
    ana.redact("one", 1, **how)  # type: ignore[arg-type]
    memory.export(tmp_path / "all.jsonl")
    memory.erase_user("ana")
    memory.import_file(tmp_path / "all.jsonl")
    (proposal,) = ana.proposals()
    item = ana.get(ana.approve(proposal.id).id)
    assert (item.type, item.theme, item.thread_id) == (MemoryType.FACT, "health", "one")


@pytest.mark.requirement("security.redaction")
def test_what_cannot_be_redacted_changes_nothing(memory: Memory) -> None:
    ana = memory.user("ana")
    say(ana, "I like plums")
    before = ana.revision()
    for given in ({}, {"text": "figs"}, {"text": "plums", "whole": True}):
        with pytest.raises(InvalidValue):
            ana.redact("one", 1, **given)  # type: ignore[arg-type]
    for position in (2, 2**40):
        with pytest.raises(InvalidValue, match="turns 1 to 1"):
            ana.redact("one", position)
    with pytest.raises(ThreadNotFound):
        ana.redact("two", 1)
    with pytest.raises(PermissionMissing):
        ana.narrow(categories=["work"]).redact("one", 1, whole=True)
    with pytest.raises(ThreadNotFound):
        memory.user("ben").redact("one", 1, whole=True)
    assert (ana.revision(), next(iter(ana.turns("one"))).content) == (before, "I like plums")


@pytest.mark.requirement("security.redaction")
def test_every_surface_redacts(memory: Memory, backend_url: str) -> None:
    say(memory.user("ana"), "my pw is qwerty")
    with running(memory) as service:
        asked = service.client(user="ana").post(
            "/v1/threads/one/turns/1/redaction", json={"text": "qwerty"}
        )
    assert (asked.status_code, asked.json()["content"]) == (200, "my pw is [redacted]")
    if not backend_url.startswith("postgresql"):
        say(memory.user("ana"), "my pin is 4821")
        ran = ricordo("redact", "one", "2", "--db", backend_url, "--user", "ana")
        assert (ran.code, ran.out) == (0, "Turn 2 now says: my pin is [redacted]\n")
