"""What becomes of two memories: the table of consolidation, row by row."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ricordo import Event, Status
from ricordo.model.reports import PairAction
from ricordo.model.vocabulary import ON_PURPOSE, Source
from tests.support.sharing import share
from tests.upkeep.consolidating.conftest import Tidied, judging

pytestmark = pytest.mark.requirement("upkeep.consolidate")

Given = dict[str, Any]
Texts = tuple[str, str]
Row = tuple[Texts, Given, Given]
"""An older and a newer statement, and what else each of them has."""

HOMES = ("User lives in Bekasi.", "User lives in Jakarta.")
MORE = ("User has a cat.", "User has a cat named Momo.")
LESS = ("User has a cat named Momo.", "User has a cat.")
SAME = ("User likes green tea.", "User really likes green tea.")
MUSIC = ("User plays the piano after work", "User plays the keyboard after work")
PINNED = {"pinned": True}
PASSING = {"source": Source.CONVERSATION}
APART: list[tuple[Given, Given]] = [
    ({"theme": "one"}, {"theme": "two"}),
    ({"theme": "one", "key": "it"}, {"theme": "two", "key": "it"}),
    ({"agent_id": "one"}, {"agent_id": "two"}),
    ({"agent_id": "one"}, {}),
    ({}, {"agent_id": "two"}),
    ({"type": "instruction"}, {"type": "preference"}),
    ({"type": "preference"}, {"type": "instruction", "importance": 5}),
]
"""What keeps any two memories apart, whatever they say and whoever says it."""
BESIDE = [
    *((explicit, Source.CONVERSATION) for explicit in ON_PURPOSE),
    (Source.USER_EXPLICIT, Source.TOOL_CALL),
    (Source.USER_EXPLICIT, Source.AUTO_DISCOVERY),
    (Source.USER_EXPLICIT, Source.SYSTEM),
]
"""What was put there on purpose, and what was not."""


def stored(tidied: Tidied, user: str, row: Row) -> tuple[Tidied, list[int]]:
    """A user with two memories, and their ids."""
    texts, *given = row
    one = tidied.other(user)
    ids = [one.say(text, **more) for text, more in zip(texts, given, strict=True)]
    return one, ids


def check_both_stay(tidied: Tidied, ids: list[int]) -> None:
    """Run it once: both are as they were, and linked."""
    before = tidied.items
    decided = tidied.decide()
    assert (decided.action, decided.replaced) == (PairAction.LINK, None)
    assert {decided.kept, decided.beside} == set(ids)
    assert tidied.items == before
    assert {change.event for change in tidied.me.changes()} == {Event.ADD}
    assert tidied.related == [(ids[0], ids[1])]


BOTH_STAY: dict[str, list[Row]] = {
    "more elsewhere": [(MORE, one, other) for one, other in APART],
    "less elsewhere": [(LESS, one, other) for one, other in APART],
    "the same elsewhere": [(SAME, one, other) for one, other in APART],
    "opposed elsewhere": [(HOMES, one, other) for one, other in APART if "key" not in one],
    "opposed, and put there on purpose": [
        (HOMES, {"source": one}, {"source": other, "importance": 5}) for one, other in BESIDE
    ],
    "less, and put there on purpose": [
        *((MORE, {"source": one}, {"source": other, "importance": 5}) for one, other in BESIDE),
        (LESS, {**PASSING, "importance": 5}, {}),
    ],
    "an answer to a key": [
        *((texts, {"key": "it"}, {"importance": 5}) for texts in (HOMES, MORE, LESS, SAME)),
        *((texts, {}, {"key": "it"}) for texts in (LESS, SAME)),
        (HOMES, {"key": "home"}, {"key": "office"}),
    ],
    "pinned": [(HOMES, PINNED, {}), (MORE, PINNED, {}), (LESS, {}, PINNED), (SAME, PINNED, PINNED)],
    "ends before what lasts": [(HOMES, {}, {"expires_at": "2026-03-01T00:00:00+00:00"})],
}


@pytest.mark.requirement("upkeep.spares-pinned")
@pytest.mark.parametrize("why", BOTH_STAY)
def test_what_may_not_be_taken_away_stays_and_is_linked(tidied: Tidied, why: str) -> None:
    for number, row in enumerate(BOTH_STAY[why]):
        check_both_stay(*stored(tidied, f"user-{number}", row))


ALIKE = "User drinks green tea with honey in the morning before work and reads the news"


def test_what_differs_in_what_counts_stays_and_is_linked(tidied: Tidied) -> None:
    for number, texts in enumerate(
        [
            (f"{ALIKE} at 7", f"{ALIKE} at 9"),
            (f"{ALIKE} but not there", f"{ALIKE} but there"),
            (ALIKE, ALIKE.replace("User", "Ben")),
            (f"{ALIKE} briefly there", f"{ALIKE} quickly there"),
            (f"{ALIKE} from Rome to Paris", f"{ALIKE} from Paris to Rome"),
            ("User plays the piano after work", "User plays the piano before work"),
            MUSIC,
        ]
    ):
        check_both_stay(*stored(tidied, f"user-{number}", (texts, {}, {})))


@pytest.mark.requirement("projects.formed")
def test_what_is_of_two_projects_is_not_even_looked_at(tidied: Tidied) -> None:
    for texts in (SAME, LESS):
        for project in ("shop", "blog", None):
            tidied.say(texts[0], project_id=project)
        tidied.say(texts[1], project_id="shop")
    report = tidied.consolidate()
    kept = {(item.content, item.project_id) for item in tidied.me.list()}
    assert len(report.decisions) == 2
    assert {one for one in kept if one[1] != "shop"} == {
        (text[0], project) for text in (SAME, LESS) for project in ("blog", None)
    }
    assert len(kept) == 6


def test_a_model_is_not_asked_about_what_belongs_apart(advised: Tidied) -> None:
    advised.server.answer_with(judging(lambda _new, _old: "same"))
    rows: list[Row] = [(MUSIC, one, other) for one, other in APART[::2]]
    rows += [(HOMES, {"theme": "novel"}, {"theme": "profile"})]
    for number, row in enumerate(rows):
        check_both_stay(*stored(advised, f"user-{number}", row))
    assert advised.server.prompts == []


def test_a_model_does_not_overrule_keys(advised: Tidied) -> None:
    for verdict in ("same", "refinement", "contradiction"):
        advised.server.answer_with(judging(lambda _new, _old, verdict=verdict: verdict))
        check_both_stay(*stored(advised, f"{verdict}-1", (MUSIC, {"key": "music"}, {})))
        check_both_stay(*stored(advised, f"{verdict}-2", (MUSIC, {"key": "one"}, {"key": "two"})))
    assert len(advised.server.prompts) == 6


def test_episodes_of_two_days_are_two(tidied: Tidied) -> None:
    noon = tidied.clock().replace(hour=12, minute=0) - timedelta(days=1)
    for texts, types in (
        (MORE, ("episode", "episode")),
        (LESS, ("episode", "fact")),
        (SAME, ("fact", "episode")),
    ):
        for hours, one_day in ((24, False), (23, False), (2, True)):
            given = [
                {"type": kind, "valid_from": start}
                for kind, start in zip(types, (noon - timedelta(hours=hours), noon), strict=True)
            ]
            one, ids = stored(tidied, f"{types}-{hours}", (texts, given[0], given[1]))
            if one_day:
                assert one.decide().replaced in ids
            else:
                check_both_stay(one, ids)


def test_what_answers_no_key_outlives_the_next_answer(tidied: Tidied) -> None:
    one, ids = stored(tidied, "ana", (SAME, {"key": "it"}, {}))
    check_both_stay(one, ids)
    one.say("User goes by train to the sea.", key="it")
    assert set(one.known) == {SAME[1], "User goes by train to the sea."}


def test_what_is_not_near_enough_to_be_linked_is_kept(tidied: Tidied) -> None:
    one, _ = stored(tidied, "ana", (MUSIC, {}, {}))
    before = one.related
    decided = one.decide(link_min=0.99)
    assert (decided.action, one.related, len(one.known)) == (PairAction.KEEP, before, 2)


def test_what_has_little_in_common_is_not_even_looked_at(tidied: Tidied) -> None:
    tidied.say("User owns a boat")
    tidied.say("User plays chess on Sundays")
    assert tidied.consolidate(judge_min=0.0).pairs == 0


TOGETHER: list[Given] = [
    {"theme": "home"},
    {"agent_id": "one"},
    {"type": "instruction"},
    {"source": Source.CONVERSATION},
    {"source": Source.IMPORT},
]
NOON = "2026-01-01T12:00:00+00:00"
OLDER, NEWER = 0, 1
ONE_STAYS: list[tuple[Row, int, PairAction]] = [
    *(((HOMES, given, given), NEWER, PairAction.SUPERSEDE) for given in TOGETHER),
    *(((MORE, given, given), NEWER, PairAction.SUPERSEDE) for given in TOGETHER),
    *(((LESS, given, given), OLDER, PairAction.MERGE) for given in TOGETHER),
    *(((SAME, given, given), OLDER, PairAction.MERGE) for given in TOGETHER),
    # Newer is what became true later, and of the same moment what was stored later.
    (
        (HOMES, {"valid_from": NOON}, {"valid_from": "2025-12-23T12:00:00+00:00"}),
        OLDER,
        PairAction.SUPERSEDE,
    ),
    ((HOMES, {"valid_from": NOON}, {"valid_from": NOON}), NEWER, PairAction.SUPERSEDE),
    # What was said in passing gives way to what was put there, and no key to a key.
    ((HOMES, PASSING, {}), NEWER, PairAction.SUPERSEDE),
    ((MORE, PASSING, {}), NEWER, PairAction.SUPERSEDE),
    ((HOMES, {}, {"key": "it"}), NEWER, PairAction.SUPERSEDE),
    ((MORE, {}, {"key": "it"}), NEWER, PairAction.SUPERSEDE),
    # Of two that say the same, the weightier stays.
    ((SAME, {}, {**PINNED, "importance": 1}), NEWER, PairAction.MERGE),
    ((SAME, {}, {"importance": 4}), NEWER, PairAction.MERGE),
    ((SAME, {}, {**PASSING, "importance": 5}), OLDER, PairAction.MERGE),
    ((SAME, {**PASSING, "importance": 5}, {}), NEWER, PairAction.MERGE),
]


@pytest.mark.parametrize("part", range(3))
def test_of_what_stands_together_one_stays(tidied: Tidied, part: int) -> None:
    for number, (row, stays, action) in enumerate(ONE_STAYS[part::3]):
        one, ids = stored(tidied, f"user-{number}", row)
        decided = one.decide()
        assert (decided.action, decided.kept) == (action, ids[stays]), row
        assert decided.replaced == ids[1 - stays]
        assert one.known == [row[0][stays]]
        heaviest = max(given.get("importance", 2) for given in row[1:])
        assert one.items[0].importance == heaviest


def test_what_is_superseded_ends_when_the_newer_begins_and_says_why(tidied: Tidied) -> None:
    old, new = (tidied.say(text) for text in HOMES)
    decided = tidied.decide()
    assert decided.reason == "contradicts what was known: another home"
    closed = tidied.me.get(old)
    assert (closed.status, closed.valid_to) == (Status.SUPERSEDED, tidied.me.get(new).valid_from)
    last = tidied.me.history(old)[-1]
    assert (last.event, last.actor, last.new_ref) == (Event.SUPERSEDE, "system", new)
    assert last.reason == decided.reason


def test_what_is_merged_ends_now_and_says_why(tidied: Tidied) -> None:
    old, new = (tidied.say(text) for text in LESS)
    tidied.consolidate()
    last = tidied.me.history(new)[-1]
    assert (last.event, last.new_ref, last.reason) == (Event.MERGE, old, "says nothing new")
    # It began later than what takes its place, so it ends now.
    assert tidied.me.get(new).valid_to == tidied.clock()


def test_of_two_that_say_the_same_the_more_often_recalled_stays(tidied: Tidied) -> None:
    one, (old, new) = stored(tidied, "ana", (SAME, {}, {}))
    for _ in range(2):
        one.me.search("really", limit=1)
    one.memory.recall.accesses.flush()
    decided = one.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, new, old)


def test_what_is_much_alike_becomes_one(tidied: Tidied) -> None:
    text = f"{ALIKE} but only there and only then"
    tidied.say(text, importance=4)
    fuller = tidied.say(f"{text} at most")
    decided = tidied.decide(redundant_min=0.9)
    assert (decided.action, decided.reason) == (PairAction.MERGE, "says the same")
    assert (decided.kept, decided.similarity >= 0.9) == (fuller, True)


def test_of_a_chain_each_memory_goes_once(tidied: Tidied) -> None:
    for name in ("", " named Momo", " named Momo with a bell"):
        tidied.say(f"User has a cat{name}")
    report = tidied.consolidate(judge_min=0.3)
    assert tidied.known == ["User has a cat named Momo with a bell"]
    assert sorted(one.replaced or 0 for one in report.decisions) == [1, 2]
    assert report.superseded == report.pairs == 2


def test_what_others_see_is_merged_only_as_the_survivor(tidied: Tidied) -> None:
    tidied.memory.user("ben").add("User likes boats")
    shared = tidied.say("User really likes green tea.", tags=["shown"])
    own = tidied.say("User likes green tea.", importance=5, tags=["private"])
    share(tidied.me, shared, "ben")
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, shared, own)
    # Others must not learn of a memory that they never saw.
    assert (tidied.me.get(shared).tags, tidied.me.get(shared).importance) == (("shown",), 5)
    tidied.say("User really hates green tea.")
    assert tidied.decide().action is PairAction.LINK
    assert tidied.me.get(shared).status is Status.ACTIVE


def test_the_survivor_takes_up_what_the_other_had_more_of(tidied: Tidied) -> None:
    kept = tidied.say("User has a cat named Momo.", tags=["pets", "home"])
    gone = tidied.say("User has a cat.", importance=4, tags=["home", "cats"])
    for text in ("named Momo", "cat", "cat"):
        tidied.clock.advance(hours=1)
        tidied.me.search(text)
    tidied.memory.recall.accesses.flush()
    counts = [tidied.me.get(one).access_count for one in (kept, gone)]
    tidied.consolidate()
    survivor = tidied.me.get(kept)
    assert (survivor.importance, survivor.tags) == (4, ("pets", "home", "cats"))
    assert survivor.access_count == sum(counts) > max(counts)
    update = tidied.me.history(kept)[-1]
    assert (update.event, update.actor) == (Event.UPDATE, "system")
    assert kept in [hit.id for hit in tidied.me.search("cats")]


@pytest.mark.requirement("upkeep.forget")
@pytest.mark.parametrize("texts", [HOMES, MORE, LESS, SAME])
@pytest.mark.parametrize("explicit_first", [True, False])
def test_what_was_put_there_on_purpose_is_not_forgotten_by_way_of_another(
    open_tidied: Callable[..., Tidied], explicit_first: bool, texts: Texts
) -> None:
    explicit = OLDER if explicit_first else NEWER
    given = ({}, PASSING) if explicit_first else (PASSING, {})
    tidied, ids = stored(open_tidied(forget_after_days=3), "ana", (texts, *given))
    for _ in range(6):
        tidied.clock.advance(days=1)
        tidied.me.upkeep()
        tidied.memory.run_jobs()
    assert tidied.me.get(ids[explicit]).status is Status.ACTIVE
    assert tidied.known == [texts[explicit]]
