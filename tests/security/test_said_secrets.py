"""Secrets that somebody says: never learned, never quoted, and taken out when that is asked."""

import asyncio
import json

import pytest

from ricordo import Action, Memory, UserMemory
from ricordo.testing.clock import ManualClock
from ricordo.text.secrets import MASK
from ricordo.tools import TOOL_SETS, Tools
from tests.mcp.legs import in_process, text_at

pytestmark = [pytest.mark.requirement("security.secrets"), pytest.mark.both_databases]

SAID = {
    "qwerty": "my pw is qwerty",
    "k8sRocks2024": "my wifi is HomeNet / k8sRocks2024",
    "7391": "the alarm code of the house is 7391",
    "hunter2": "I log in with hunter2",
    "4111 1111": "my card is 4111 1111 1111 1111",
}


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
