"""Memories give way only to what is read in their place: of one theme, agent, kind and day."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ricordo import Event, Memory, Status
from ricordo.model.consolidation import PairAction
from ricordo.model.vocabulary import ON_PURPOSE, Source
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.upkeep.consolidating.conftest import Tidied
from tests.upkeep.consolidating.judge_script import judging

Given = dict[str, Any]
BESIDE = [
    *((explicit, Source.CONVERSATION) for explicit in ON_PURPOSE),
    (Source.USER_EXPLICIT, Source.TOOL_CALL),
    (Source.USER_EXPLICIT, Source.AUTO_DISCOVERY),
    (Source.USER_EXPLICIT, Source.SYSTEM),
]
"""What was put there on purpose, and what was not."""
PAIRS = {
    "contradiction": ("User lives in Bekasi.", "User lives in Jakarta."),
    "more": ("User has a cat.", "User has a cat named Momo."),
    "less": ("User has a cat named Momo.", "User has a cat."),
    "same": ("User likes green tea.", "User really likes green tea."),
}
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


def stay_and_are_linked(tidied: Tidied) -> bool:
    """Run it once; whether it left both as they were."""
    before = tidied.items
    decided = tidied.decide()
    changed = [change.event for change in tidied.me.changes() if change.event is not Event.ADD]
    linked = (decided.action, decided.reason, decided.replaced) == (
        PairAction.LINK,
        "neither may be taken away",
        None,
    )
    return linked and tidied.items == before and not changed and tidied.related == [(1, 2)]


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(("one", "other"), APART)
@pytest.mark.parametrize("kind", ["more", "less", "same"])
def test_what_stands_elsewhere_stays(tidied: Tidied, kind: str, one: Given, other: Given) -> None:
    older, newer = PAIRS[kind]
    tidied.say(older, **one)
    tidied.say(newer, **other)
    assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(("one", "other"), [case for case in APART if "theme" not in case[0]])
def test_what_is_opposed_elsewhere_stays(tidied: Tidied, one: Given, other: Given) -> None:
    older, newer = PAIRS["contradiction"]
    tidied.say(older, **one)
    tidied.say(newer, **other)
    assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(("one", "other"), APART)
def test_a_model_is_not_asked_about_what_belongs_apart(
    with_model: Callable[..., Tidied],
    model_server: ModelServer,
    one: Given,
    other: Given,
) -> None:
    tidied = with_model()
    tidied.say("User plays the piano after work", **one)
    tidied.say("User plays the keyboard after work", **other)
    model_server.answer_with(judging(lambda _new, _old: "same"))
    assert stay_and_are_linked(tidied)
    assert model_server.asked == []


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("verdict", ["same", "refinement", "contradiction"])
@pytest.mark.parametrize(
    ("one", "other"), [({"key": "music"}, {}), ({"key": "one"}, {"key": "two"})]
)
def test_a_model_does_not_overrule_keys(
    with_model: Callable[..., Tidied],
    model_server: ModelServer,
    verdict: str,
    one: Given,
    other: Given,
) -> None:
    tidied = with_model()
    tidied.say("User plays the piano after work", **one)
    tidied.say("User plays the keyboard after work", **other)
    model_server.answer_with(judging(lambda _new, _old: verdict))
    assert stay_and_are_linked(tidied)
    assert len(model_server.asked) == 1


@pytest.mark.requirement("upkeep.consolidate")
def test_homes_under_two_themes_stay(
    with_model: Callable[..., Tidied], model_server: ModelServer
) -> None:
    tidied = with_model()
    for theme, content in zip(("novel", "profile"), PAIRS["contradiction"], strict=True):
        tidied.say(content, theme=theme)
    model_server.answer_with(judging(lambda _new, _old: "contradiction"))
    before = tidied.items
    assert tidied.decide().action is PairAction.LINK
    assert (tidied.items, model_server.asked) == (before, [])


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize(
    "given",
    [
        {"theme": "home"},
        {"agent_id": "one"},
        {"type": "instruction"},
        {"source": Source.CONVERSATION},
        {"source": Source.IMPORT},
    ],
)
def test_what_stands_together_becomes_one(tidied: Tidied, kind: str, given: Given) -> None:
    for content in PAIRS[kind]:
        tidied.say(content, **given)
    assert tidied.decide().replaced is not None
    assert len(tidied.known) == 1


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("more", ("episode", "episode")),
        ("less", ("episode", "fact")),
        ("same", ("fact", "episode")),
    ],
)
@pytest.mark.parametrize(
    ("apart", "one_day"),
    [
        (timedelta(days=10), False),
        (timedelta(days=1), False),  # the same hour of the day before
        (timedelta(hours=23), False),
        (timedelta(hours=2), True),
    ],
)
def test_episodes_of_two_days_are_two(
    tidied: Tidied, kind: str, types: tuple[str, str], apart: timedelta, one_day: bool
) -> None:
    now = tidied.clock()
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    starts = (noon - apart, noon)
    for content, type_, start in zip(PAIRS[kind], types, starts, strict=True):
        tidied.say(content, type=type_, valid_from=start)
    if one_day:
        assert tidied.decide().replaced is not None
    else:
        assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(("explicit", "passing"), BESIDE)
@pytest.mark.parametrize("kind", ["contradiction", "more"])
def test_what_was_put_there_on_purpose_does_not_give_way_to_what_was_not(
    tidied: Tidied, explicit: Source, passing: Source, kind: str
) -> None:
    older, newer = PAIRS[kind]
    tidied.say(older, source=explicit)
    tidied.say(newer, source=passing, importance=5)
    assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
def test_what_was_put_there_on_purpose_is_not_merged_into_what_says_more(tidied: Tidied) -> None:
    older, newer = PAIRS["less"]
    tidied.say(older, source=Source.CONVERSATION, importance=5)
    tidied.say(newer)
    assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("explicit_first", [True, False])
def test_of_two_that_say_the_same_the_one_put_there_on_purpose_stays(
    tidied: Tidied, explicit_first: bool
) -> None:
    sources = (Source.USER_EXPLICIT, Source.CONVERSATION)
    for content, source in zip(
        PAIRS["same"], sources if explicit_first else reversed(sources), strict=True
    ):
        weight = 2 if source is Source.USER_EXPLICIT else 5
        tidied.say(content, source=source, importance=weight)
    decided = tidied.decide()
    assert decided.action is PairAction.MERGE
    assert tidied.me.get(decided.kept).source is Source.USER_EXPLICIT
    assert tidied.me.get(decided.kept).importance == 5


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("kind", ["contradiction", "more"])
def test_what_was_said_in_passing_gives_way_to_what_is_put_there(tidied: Tidied, kind: str) -> None:
    older, newer = PAIRS[kind]
    old = tidied.say(older, source=Source.CONVERSATION)
    tidied.say(newer)
    assert (tidied.decide().replaced, tidied.known) == (old, [newer])


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.requirement("upkeep.forget")
@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("explicit_first", [True, False])
def test_what_was_put_there_on_purpose_is_not_forgotten_by_way_of_another(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    kind: str,
    explicit_first: bool,
) -> None:
    tidied = Tidied(open_store(backend_url), clock)
    explicit, passing = PAIRS[kind] if explicit_first else reversed(PAIRS[kind])
    if explicit_first:
        asked = tidied.say(explicit)
        tidied.say(passing, source=Source.CONVERSATION)
    else:
        tidied.say(passing, source=Source.CONVERSATION)
        asked = tidied.say(explicit)
    for _ in range(64):
        clock.advance(days=1)
        tidied.me.upkeep()
        tidied.memory.run_jobs()
    assert tidied.me.get(asked).status is Status.ACTIVE
    assert tidied.known == [explicit]


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("kind", PAIRS)
def test_what_answers_a_key_is_not_taken_away_by_what_does_not(tidied: Tidied, kind: str) -> None:
    older, newer = PAIRS[kind]
    tidied.say(older, key="it")
    tidied.say(newer, importance=5)
    assert stay_and_are_linked(tidied)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("kind", ["contradiction", "more"])
def test_what_answers_no_key_is_superseded_by_what_does(tidied: Tidied, kind: str) -> None:
    older, newer = PAIRS[kind]
    old = tidied.say(older)
    new = tidied.say(newer, key="it")
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.SUPERSEDE, new, old)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("kind", ["less", "same"])
@pytest.mark.parametrize("keyed_first", [True, False])
def test_what_answers_no_key_outlives_the_next_answer(
    tidied: Tidied, kind: str, keyed_first: bool
) -> None:
    more, less = PAIRS[kind]
    keys: tuple[Given, Given] = ({"key": "it"}, {})
    for content, key in zip((more, less), keys if keyed_first else reversed(keys), strict=True):
        tidied.say(content, **key)
    assert stay_and_are_linked(tidied)
    tidied.say("User goes by train to the sea.", key="it")
    assert set(tidied.known) == {
        less if keyed_first else more,
        "User goes by train to the sea.",
    }
