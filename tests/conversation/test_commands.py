"""The commands about long conversations say what the library says."""

import json
from collections.abc import Callable

import pytest

from ricordo import Memory
from ricordo.model.record import plain
from tests.conversation.conftest import THREAD, Talk
from tests.support.commandline import Ran, ricordo

Cli = Callable[..., Ran]


@pytest.fixture
def cli(backend_url: str, memory: Memory) -> Cli:
    def run(*arguments: object) -> Ran:
        return ricordo(*arguments, "--db", backend_url, "-u", "ana")

    return run


@pytest.mark.requirement("conversations.window")
@pytest.mark.requirement("cli.json")
def test_commands_answer_what_the_library_answers(cli: Cli, talk: Talk) -> None:
    talk.go_on(12)
    assert cli("window", THREAD, "--json").json == plain(talk.window())
    report = cli("compact", THREAD, "--json").json
    assert (report["compactions"], report["turns"], report["open_turns"]) == (1, 7, 5)
    assert cli("compact", THREAD).out == "Nothing to compact: 5 turns stay as they are.\n"
    assert cli("log", "--day", "2026-01-01", "--json").json == plain(talk.me.day_log())
    shown = cli("log", "--day", "2026-01-01").out
    assert "Bed number 1 gets 1 tulips." in shown
    resumed = cli("resume", THREAD, "--json").json
    assert resumed["bridge"] == talk.window().bridge
    assert len(resumed["turns"]) == 5
    assert "Up to turn 7, in short:\nuser, 2026-01-01: Bed number 1" in cli("window", THREAD).out
    assert "12. assistant (2026-01-01 12:12): Bed number 12" in cli("resume", THREAD).out


@pytest.mark.requirement("cli.errors")
def test_commands_refuse_what_the_library_refuses(cli: Cli, talk: Talk) -> None:
    missing = cli("compact", "nowhere", "--json")
    assert missing.code == 3
    assert json.loads(missing.err)["error"] == "ThreadNotFound"
    assert cli("log", "--day", "tomorrow").code == 2
    assert cli("window", "").code == 2
    assert cli("window", "nowhere").out == "Nothing was said in this conversation.\n"
    empty = cli("log", "--day", "2001-01-01")
    assert empty.out == "Nothing was put into a summary on 2001-01-01.\n"
