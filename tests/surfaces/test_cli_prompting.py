"""``context`` and ``feedback`` on the command line."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory, UserMemory
from ricordo.cli.exit_codes import INVALID_INPUT, NOT_FOUND, OK
from ricordo.model.record import plain
from ricordo.wiring import open_memory
from tests.support.commandline import Ran, ricordo

Cli = Callable[..., Ran]


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    with open_memory(backend_url, run_jobs=False) as memory:
        yield memory


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


@pytest.fixture
def cli(backend_url: str, store: Memory) -> Cli:
    def run(*arguments: object) -> Ran:
        return ricordo(*arguments, "--db", backend_url, "-u", "ana")

    return run


@pytest.mark.requirement("prompt.modes")
def test_context_is_that_of_the_library(cli: Cli, ana: UserMemory) -> None:
    ana.add("The user drinks green tea", theme="drinks")
    given = ("What tea does the user drink?", "-m", "recall", "-m", "summary")

    ran = cli("context", *given, "--budget", 3000, "--reply", 200, "--json")
    built = ana.context(given[0], modes=["recall", "summary"], budget_tokens=3000, reply_tokens=200)
    shown = json.loads(ran.out)
    assert shown["memories"] == plain(built.memories)
    assert shown["tokens"]["budget"] == 3000 and shown["tokens"]["reply"] == 200
    assert shown["messages"][-1] == {"role": "user", "content": given[0]}


def test_context_for_people_shows_messages_and_tokens(cli: Cli, ana: UserMemory) -> None:
    ana.observe([{"role": "user", "content": "Hello"}], thread="t")

    ran = cli("context", "What now?", "--thread", "t")
    assert "[system]\n" in ran.out and "[user]\nHello" in ran.out
    assert "(tokens: budget 8000, " in ran.out
    ran = cli("context", "What now?", "--thread", "t", "--no-history")
    assert "[user]\nWhat now?" in ran.out and "[user]\nHello" not in ran.out


def test_tools_are_read_from_a_file(cli: Cli, tmp_path: Path) -> None:
    schemas = tmp_path / "tools.json"
    schemas.write_text('[{"name": "memory_search"}]')
    assert json.loads(cli("context", "--tools", schemas, "--json").out)["tokens"]["tools"] > 0

    schemas.write_text("{")
    ran = cli("context", "--tools", schemas)
    assert ran.code == INVALID_INPUT and "not JSON" in ran.err
    ran = cli("context", "--tools", tmp_path / "missing.json")
    assert ran.code == INVALID_INPUT and "missing.json" in ran.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("-m", "everything"), "tools, recall, summary"),
        (("--budget", "5"), "budget_tokens"),
        (("--threshold", "7"), "threshold"),
    ],
)
def test_mistakes_say_what_is_allowed(cli: Cli, given: tuple[str, ...], said: str) -> None:
    ran = cli("context", "hi", *given)

    assert ran.code == INVALID_INPUT and said in ran.err


@pytest.mark.requirement("prompt.feedback")
def test_feedback_says_what_was_used(cli: Cli, ana: UserMemory) -> None:
    tea, bicycle = ana.add("Drinks green tea").id, ana.add("Owns a bicycle").id

    ran = cli("feedback", tea, bicycle, "--answer", "Have some green tea to drink", "--json")
    assert json.loads(ran.out)["used"] == [tea]
    ran = cli("feedback", tea, bicycle, "--used", bicycle)
    assert ran.code == OK and f"Used: {bicycle} (1 of 2)." in ran.out
    assert cli("feedback", tea).code == INVALID_INPUT
    assert cli("feedback", 999, "--used", 999).code == NOT_FOUND
