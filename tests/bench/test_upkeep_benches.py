"""The measurements of upkeep: that they would notice what they are there for, and run whole."""

import json
from datetime import UTC, datetime, timedelta

import numpy
import pytest
from bench.year import simulate
from bench.yearly.ledger import Ledger
from bench.yearly.stream import Action, Kind, Stream

from ricordo.formation.comparing.likeness import share_words
from ricordo.formation.comparing.opposition import opposed
from ricordo.model.history import Change
from ricordo.model.vocabulary import Event
from ricordo.testing.embedder import WordEmbedder
from ricordo.text.analyser import Analyser
from tests.bench.test_repository_commands import bench

START = datetime(2026, 1, 1, tzinfo=UTC)
REDUNDANT = 0.95


def days(count: float) -> datetime:
    return START + timedelta(days=count)


# -- what users say --------------------------------------------------------------------------


def year_of(user: str) -> list[Action]:
    stream = Stream(user)
    return [action for _ in range(365) for action in stream.day()]


def texts_of(actions: list[Action], *kinds: Kind) -> list[str]:
    return [action.text for action in actions if action.kind in kinds]


def test_the_same_user_says_the_same_in_every_run() -> None:
    assert year_of("ana") == year_of("ana")
    assert year_of("ana") != year_of("ben")


def test_every_kind_of_action_occurs() -> None:
    actions = year_of("ana")
    assert {action.kind for action in actions} == set(Kind)
    assert {action.importance for action in actions} == {1, 2, 3, 4}
    assert any(action.is_pinned for action in actions)
    assert any(action.is_explicit for action in actions)


def test_a_rewording_says_the_same_as_a_fact_before() -> None:
    actions = year_of("ana")
    facts, said = texts_of(actions, Kind.FACT), texts_of(actions, Kind.REWORDING)
    cosines = WordEmbedder().embed(said) @ WordEmbedder().embed(facts).T
    assert said
    for text, near in zip(said, cosines, strict=True):
        assert near.max() >= REDUNDANT
        assert share_words(Analyser("english"), text, facts[near.argmax()])


def test_two_facts_do_not_say_the_same() -> None:
    vectors = WordEmbedder().embed(texts_of(year_of("ana"), Kind.FACT))
    cosines = vectors @ vectors.T
    numpy.fill_diagonal(cosines, 0.0)
    assert cosines.max() < REDUNDANT


def test_an_update_contradicts_what_was_said_before() -> None:
    actions = year_of("ana")
    said = texts_of(actions, Kind.FAVOURITE, Kind.UPDATE)
    updates = texts_of(actions, Kind.UPDATE)
    assert updates
    for text in updates:
        assert any(opposed(text, other) for other in said if other != text)


# -- what must hold of what is kept ----------------------------------------------------------


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(forget_after=timedelta(days=60), purge_after=timedelta(days=30))


def change(event: Event, at: datetime, item_id: int = 1) -> Change:
    return Change(revision=1, event=event, item_id=item_id, at=at, actor="system")


def test_forgetting_what_was_long_unused_is_right(ledger: Ledger) -> None:
    ledger.touch(1, days(0))
    ledger.follow(change(Event.TTL, days(60)))
    assert ledger.restorable(days(89)) == [1]
    assert ledger.restorable(days(90)) == []
    ledger.follow(change(Event.PURGE, days(90)))
    assert ledger.problems == []
    assert (ledger.forgotten, ledger.purged) == (1, 1)


def test_forgetting_what_was_recalled_is_noticed(ledger: Ledger) -> None:
    ledger.touch(1, days(0))
    ledger.touch(1, days(30))
    ledger.touch(1, days(70))  # later than the change, which the feed tells of afterwards
    ledger.follow(change(Event.TTL, days(61)))
    assert ledger.problems == [
        "memory 1, forgotten at 2026-03-03 00:00, was stated or recalled at 2026-01-31 00:00"
    ]


def test_forgetting_what_is_pinned_is_noticed(ledger: Ledger) -> None:
    ledger.touch(1, days(0), is_pinned=True)
    ledger.follow(change(Event.TTL, days(100)))
    assert ledger.problems == ["memory 1, forgotten at 2026-04-11 00:00, was pinned"]


def test_forgetting_twice_is_noticed(ledger: Ledger) -> None:
    ledger.follow(change(Event.TTL, days(60)))
    ledger.follow(change(Event.TTL, days(61)))
    assert ledger.problems == [
        "memory 1, forgotten at 2026-03-03 00:00, had been forgotten already"
    ]


def test_purging_too_early_is_noticed(ledger: Ledger) -> None:
    ledger.follow(change(Event.TTL, days(60)))
    ledger.follow(change(Event.PURGE, days(89)))
    ledger.follow(change(Event.PURGE, days(90), item_id=2))
    assert ledger.problems == [
        "memory 1, purged at 2026-03-31 00:00, was forgotten at 2026-03-02 00:00",
        "memory 2, purged at 2026-04-01 00:00, had not been forgotten",
    ]


def test_what_was_restored_is_followed(ledger: Ledger) -> None:
    ledger.follow(change(Event.TTL, days(60)))
    ledger.follow(change(Event.RESTORE, days(70)))
    assert ledger.restorable(days(71)) == []
    ledger.follow(change(Event.DELETE, days(72)))
    assert ledger.restorable(days(101)) == [1]
    ledger.follow(change(Event.PURGE, days(102)))
    assert ledger.problems == []


# -- whole, at a small size ------------------------------------------------------------------


@pytest.mark.requirement("upkeep.year")
def test_a_small_year(sqlite_url: str) -> None:
    report = simulate(users=2, days=130, url=sqlite_url)
    assert report.problems == ()
    assert report.duplicates_without > 3 * report.duplicates
    assert report.growth_last < report.growth_first  # what is purged first is so on day 90
    assert report.forgotten > 0
    assert report.purged > 0
    assert report.restored > 0
    assert report.months[-1].active < report.without.active
    assert report.most_tokens == 0
    assert report.most_jobs <= 6


def test_the_year_as_a_command() -> None:
    done = bench("year", "--users", 1, "--days", 3, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["days"] == 3


def test_searching_while_upkeep_works_as_a_command() -> None:
    done = bench("upkeep-load", "--memories", 300, "--seconds", 0, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["memories"] == 300
    assert found["during"]["calls"] > 0
    assert [sweep["name"] for sweep in found["sweeps"]] == [
        "expiring and purging",
        "daily round",
        "consolidation",
        "relations",
        "vectors",
    ]


def test_rebuilding_under_load_as_a_command() -> None:
    done = bench("rebuild", "--memories", 200, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["failed"], found["stale"], found["problems"]) == (0, 0, [])
    assert found["searches"] > 0
