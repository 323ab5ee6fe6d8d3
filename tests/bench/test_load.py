"""The measurement of the service under load: it runs whole, and would notice what it is for."""

import json

import pytest
from bench.load import judged
from bench.loading.course import Course, Outage
from bench.loading.requests import Added, Asked, Kind, Outcome

from tests.bench.test_repository_commands import bench

SMALL = ("--clients", 5, "--memories", 40, "--users", 2, "--words", "--database", "sqlite")

ADDED = Added("load-0", 7, "Something new")


@pytest.mark.requirement("service.load")
def test_the_load_as_a_command() -> None:
    done = bench("load", "--seconds", 2, "--add-percent", 50, *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["databases"]
    assert found["problems"] == []
    assert (found["errors"], found["lost"]) == (0, 0)
    assert found["stored"] == found["acknowledged"] == found["add"]["requests"] > 0
    assert found["search"]["requests"] > 0


@pytest.mark.requirement("service.load")
def test_killing_under_load_as_a_command() -> None:
    done = bench("load", "--seconds", 3, "--kill", "--kills", 1, "--add-percent", 50, *SMALL)
    assert done.returncode == 0, done.stderr
    shown = {line.rsplit("  ", 1)[0].strip(): line.split()[-1] for line in done.stdout.splitlines()}
    assert shown["kills"] == "1"
    assert shown["additions lost"] == shown["errors"] == "0"
    assert int(shown["additions acknowledged"]) > 0


def course(*asked: Asked, lost: int = 0, stored: int = 1) -> Course:
    """A kill at 10 to 12 seconds, and one acknowledged addition."""
    outcome = Outcome([*asked], [ADDED], seconds=20.0, cpu_seconds=1.0)
    return Course(outcome, [Outage(10.0, 12.0)], stored=stored, lost=[ADDED] * lost)


def answered(started: float, ended: float) -> Asked:
    return Asked(Kind.SEARCH, started, ended, 200, None)


def unanswered(started: float, ended: float) -> Asked:
    return Asked(Kind.SEARCH, started, ended, 0, "ConnectionResetError")


def test_what_a_kill_cuts_off_is_no_error() -> None:
    found = judged("SQLite", course(unanswered(9.9, 10.1), unanswered(11.0, 11.0)))
    assert (found.errors, found.cut_off, found.problems) == (0, 2, ())


def test_silence_at_any_other_time_is_an_error() -> None:
    found = judged("SQLite", course(unanswered(8.0, 9.0), unanswered(12.5, 13.0)))
    assert (found.errors, found.cut_off) == (2, 0)
    assert found.problems[0] == "search was answered with 0: ConnectionResetError"


def test_a_refusal_is_an_error_even_at_a_kill() -> None:
    found = judged("SQLite", course(Asked(Kind.ADD, 10.5, 11.0, 500, "Internal Server Error")))
    assert (found.errors, found.cut_off) == (1, 0)


def test_what_is_lost_is_told() -> None:
    found = judged("SQLite", course(lost=1, stored=0))
    assert found.lost == 1
    assert found.problems == (
        "lost: memory 7 of load-0",
        "1 were acknowledged, but 0 are stored",
    )


def test_what_was_cut_off_may_be_stored_all_the_same() -> None:
    assert judged("SQLite", course(unanswered(9.9, 10.1), stored=2)).problems == ()
    assert judged("SQLite", course(stored=2)).problems == ("1 were acknowledged, but 2 are stored",)


def test_a_bad_end_is_told() -> None:
    ended = course()
    ended.exit_code, ended.doctor = 1, "history of load-0 has a gap"
    assert judged("SQLite", ended).problems == (
        "the service ended with exit code 1",
        "ricordo doctor is not content: history of load-0 has a gap",
    )


def test_times_are_told_by_kind() -> None:
    asked = [answered(number, number + number / 1_000) for number in range(1, 102)]
    found = judged("SQLite", course(*asked, Asked(Kind.ADD, 0.0, 0.5, 201, None)))
    assert found.search.requests == 101
    assert [round(found.search.p50_ms), round(found.search.p95_ms)] == [51, 96]
    assert (found.add.requests, found.add.p99_ms) == (1, 500.0)
    assert found.requests_per_second == 102 / 20
