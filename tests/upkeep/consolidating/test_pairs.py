"""How many pairs a day, in which portions, not again so soon, and none left behind."""

import string
from collections.abc import Callable
from functools import partial

import pytest

from ricordo import Event, Memory, ModelUnavailable, Status
from ricordo.formation.conflicts import Relationship
from ricordo.model.reports import PairAction
from ricordo.model.vocabulary import Source
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.storage.users import UpkeepState, upkeep_state
from ricordo.upkeep.consolidation import DAY_IS_FULL, NOT_ASKED
from ricordo.upkeep.schedule import CONSOLIDATE_JOB
from tests.support.endpoints import FaultyModel
from tests.support.sharing import share
from tests.upkeep.consolidating.conftest import Tidied, judging, pairs_in

WithModel = Callable[..., Tidied]
SAME, DIFFERENT = Relationship.SAME.value, Relationship.DIFFERENT.value
WORDS = [letter * times for times in (3, 4) for letter in string.ascii_lowercase]


def doubtful_texts(count: int) -> list[str]:
    """Pairs that no rule decides: each of its own subject, alike only among themselves."""
    return [
        f"{word}root {word}bark {word}wood {word}{last}"
        for word in WORDS[:count]
        for last in ("fruit", "leaf")
    ]


def doubtful(tidied: Tidied, count: int) -> None:
    """Store such pairs."""
    for text in doubtful_texts(count):
        tidied.say(text)


def next_day(tidied: Tidied) -> bool:
    """A day's round and all that it queues; whether a consolidation was among it."""
    tidied.clock.advance(days=1)
    queued = tidied.me.upkeep().queued
    tidied.memory.run_jobs()
    return CONSOLIDATE_JOB in queued


def at_once(tidied: Tidied, texts: list[str]) -> None:
    tidied.me.add_many([{"content": text} for text in texts])


def state(tidied: Tidied) -> UpkeepState:
    with tidied.memory.database.read_all() as view:
        return upkeep_state(view.connection, tidied.user)


def sizes(server: FaultyModel) -> list[int]:
    return [len(pairs_in(messages)) for messages in server.prompts]


@pytest.mark.requirement("upkeep.pairs")
def test_a_day_has_only_so_many_pairs(tidied: Tidied) -> None:
    doubtful(tidied, 7)
    first = tidied.consolidate(daily_pairs=4)
    assert (first.pairs, first.waiting, first.waits) == (4, 3, DAY_IS_FULL)
    again = tidied.consolidate(daily_pairs=4)
    assert (again.pairs, again.waiting, again.waits) == (0, 3, DAY_IS_FULL)
    assert tidied.consolidate(daily_pairs=6).pairs == 2
    tidied.clock.advance(days=1)
    rest = tidied.consolidate(daily_pairs=4)
    assert (rest.pairs, rest.waiting, rest.waits) == (1, 0, None)


@pytest.mark.requirement("upkeep.pairs")
def test_the_most_similar_come_first_and_none_a_day_is_none(tidied: Tidied) -> None:
    doubtful(tidied, 2)
    tidied.say("User has a cat.")
    tidied.say("User has a cat named Momo.")
    assert tidied.consolidate(daily_pairs=0).pairs == 0
    near = [one.similarity for one in tidied.consolidate(daily_pairs=2).decisions]
    assert near == sorted(near, reverse=True)
    assert len(tidied.known) == 6


@pytest.mark.requirement("upkeep.pairs")
def test_a_pair_is_not_looked_at_again_for_two_weeks(tidied: Tidied) -> None:
    doubtful(tidied, 1)
    for item in tidied.items:
        assert item.importance == 2
    assert tidied.consolidate().pairs == 1
    tidied.clock.advance(days=13)
    assert tidied.consolidate().pairs == 0
    # Recalled, so that they are still in the pool.
    tidied.me.search("aaaroot", limit=1)
    tidied.memory.recall.accesses.flush()
    assert tidied.consolidate().pairs == 0
    tidied.clock.advance(days=1)
    assert tidied.consolidate().pairs == 1


@pytest.mark.requirement("upkeep.pairs")
def test_a_pair_that_changed_is_looked_at_again(tidied: Tidied) -> None:
    tidied.say("Oak table and oak chair stand in the attic", key="oak")
    tidied.say("Oak table and oak chair stand in the cellar")
    assert tidied.consolidate().pairs == 1
    assert tidied.consolidate().pairs == 0
    tidied.say("Oak table and oak chair stand in the garden", key="oak")
    assert tidied.decide().action is PairAction.LINK


@pytest.mark.requirement("upkeep.pairs")
def test_a_model_is_asked_in_even_portions_and_not_what_rules_can_tell(advised: Tidied) -> None:
    advised.server.answer_with(judging(lambda _new, _old: DIFFERENT))
    for count, expected in ((3, [3]), (11, [6, 5]), (23, [8, 8, 7])):
        asked = len(advised.server.prompts)
        one = advised.other(f"user-{count}")
        at_once(one, [*doubtful_texts(count), "User has a cat.", "User has a cat named Momo."])
        report = one.consolidate()
        assert (report.pairs, report.linked) == (count + 1, count)
        assert sizes(advised.server)[asked:] == expected
        assert one.consolidate().pairs == 0


@pytest.mark.requirement("upkeep.consolidate")
def test_what_the_model_says_is_done(advised: Tidied) -> None:
    for verdict, action, left in (
        ("same", PairAction.MERGE, slice(0, 1)),
        ("refinement", PairAction.SUPERSEDE, slice(1, 2)),
        ("contradiction", PairAction.SUPERSEDE, slice(1, 2)),
        ("different", PairAction.LINK, slice(0, 2)),
    ):
        one = advised.other(verdict)
        ids = [one.say(f"User plays the {what} after work") for what in ("piano", "keyboard")]
        answer = judging(lambda _new, _old, verdict=verdict: verdict, "both are\x00 instruments")
        advised.server.answer_with(answer)
        decided = one.decide()
        assert (decided.action, [item.id for item in one.items]) == (action, ids[left])
        if decided.replaced is not None:
            last = one.me.history(decided.replaced)[-1]
            assert last.reason == decided.reason == "both are  instruments"


@pytest.mark.requirement("upkeep.consolidate")
def test_a_model_that_calls_everything_the_same_does_not_overrule_what_words_show(
    advised: Tidied,
) -> None:
    kept = (
        ("Ben met the oak committee at 7", "Ben met the oak committee at 9"),
        ("Ana never saw the elm avenue again", "Ana once saw the elm avenue again"),
    )
    for pair in kept:
        for content in pair:
            advised.say(content)
    advised.say("User plays the piano after work", pinned=True)
    advised.say("User plays the keyboard after work", pinned=True)
    doubtful(advised, 2)
    advised.server.answer_with(judging(lambda _new, _old: SAME))
    report = advised.consolidate()
    assert report.merged == 2
    assert all(content in advised.known for pair in kept for content in pair)
    assert len(advised.known) == 4 + 2 + 2


@pytest.fixture
def circuit_closes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The circuit breaker does not follow the clock of a test, which goes on by days."""
    short = partial(CircuitBreaker, open_seconds=0.0)
    monkeypatch.setattr("ricordo.providers.http_client.CircuitBreaker", short)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.usefixtures("circuit_closes_at_once")
def test_a_model_that_is_down_for_days_leaves_what_rules_decided(advised: Tidied) -> None:
    advised.say("User lives in Bekasi.")
    advised.say("User lives in Jakarta.")
    doubtful(advised, 4)
    for _ in range(4):
        advised.server.fail_next(100, status=503)
        with pytest.raises(ModelUnavailable):
            advised.consolidate()
        advised.clock.advance(days=1)
    assert "User lives in Bekasi." not in advised.known
    assert state(advised).consolidated_at is None
    advised.server.answer_rightly()
    advised.server.answer_with(judging(lambda _new, _old: SAME))
    report = advised.consolidate()
    assert (report.merged, report.pairs, report.waiting) == (4, 4, 0)
    assert state(advised).consolidated_at == advised.clock()
    assert state(advised).pairs_wait_since is None


@pytest.mark.requirement("upkeep.consolidate")
def test_an_answer_that_makes_no_sense_leaves_only_its_portion(advised: Tidied) -> None:
    doubtful(advised, 12)
    advised.server.answer_nonsense(times=3)
    advised.server.answer_with(judging(lambda _new, _old: SAME))
    report = advised.consolidate()
    assert (report.merged, report.waiting) == (6, 6)
    assert report.waits is not None
    advised.clock.advance(days=6)
    advised.server.fail_next(100, status=401)
    asked = len(advised.server.requests)
    assert advised.consolidate().pairs == 0  # one that refuses is not asked on
    assert len(advised.server.requests) == asked + 1
    advised.server.answer_rightly()
    assert advised.consolidate().merged == 6


@pytest.mark.requirement("upkeep.budget")
def test_the_days_tokens_end_the_asking(with_model: WithModel) -> None:
    tidied = with_model(model_daily_tokens=2_200, model_answer_tokens=660)
    tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    doubtful(tidied, 20)
    tidied.server.answer_with(judging(lambda _new, _old: SAME))
    report = tidied.consolidate()
    assert report.superseded == 1
    assert 0 < report.merged < 20
    assert report.waiting == 20 - report.merged
    assert "tokens of the day" in (report.waits or "")
    assert tidied.me.counters().tokens_today <= 2_200
    assert state(tidied).consolidated_at == tidied.clock()
    tidied.clock.advance(days=1)
    assert tidied.consolidate().merged > 0


MEANWHILE: dict[str, Callable[[Tidied, int], object]] = {
    "update": lambda tidied, _: tidied.me.add("The oak was sold", key="oak"),
    "pin": lambda tidied, item_id: tidied.me.pin(item_id),
    "archive": lambda tidied, item_id: tidied.me.archive(item_id),
    "forget": lambda tidied, item_id: tidied.me.forget(item_id),
    "link": lambda tidied, item_id: share(tidied.me, item_id, "ben"),
    "erase": lambda tidied, _: tidied.memory.erase_user(tidied.user),
}


@pytest.mark.requirement("upkeep.consolidate")
def test_what_changes_while_the_model_thinks_is_left_alone(advised: Tidied) -> None:
    advised.memory.user("ben").add("Something of his own")
    advised.server.answer_with(judging(lambda _new, _old: "contradiction"))
    for name, do in MEANWHILE.items():
        one = advised.other(name)
        first = one.say("Oak table and oak chair stand in the attic", importance=3)
        second = one.say("Oak table and oak chair stand in the cellar", key="oak")
        advised.server.before_answer = lambda one=one, do=do, first=first: do(one, first) and None
        report = one.consolidate()
        assert (report.pairs, report.decisions) == (0, ()), name
        if name == "erase":
            assert name not in one.memory.users()
        else:
            assert Event.SUPERSEDE not in [change.event for change in one.me.history(first)]
            assert one.me.get(second).status is Status.ACTIVE


@pytest.mark.requirement("upkeep.consolidate")
def test_a_dry_run_says_what_would_be_done_and_does_nothing(advised: Tidied) -> None:
    old = advised.say("User lives in Bekasi.")
    new = advised.say("User lives in Jakarta.")
    doubtful(advised, 3)
    before = (advised.items, advised.me.counters(), list(advised.me.changes()), state(advised))
    report = advised.consolidate(dry_run=True)
    assert (report.superseded, report.waiting, report.waits) == (1, 3, NOT_ASKED)
    assert (report.decisions[0].kept, report.decisions[0].replaced) == (new, old)
    assert report.dry_run
    after = (advised.items, advised.me.counters(), list(advised.me.changes()), state(advised))
    assert (after, advised.server.prompts) == (before, [])
    assert advised.me.events().items == ()


@pytest.mark.requirement("upkeep.visible")
def test_events_and_counters_tell_of_it_and_nothing_of_what_was_said(tidied: Tidied) -> None:
    tidied.say("User lives in Bekasi.")
    home = tidied.say("User lives in Jakarta.")
    tea = tidied.say("User likes green tea.")
    tidied.say("User really likes green tea.")
    tidied.say("User plays the piano after work")
    tidied.say("User plays the guitar after work")
    report = tidied.consolidate()
    assert report.to_dict()["merged"] == 1
    counts = tidied.me.counters().counts
    assert [
        counts[f"consolidation_{name}"] for name in ("pairs", "merged", "superseded", "linked")
    ] == [3, 1, 1, 1]
    happened = {event.op: event for event in tidied.me.events()}
    assert {event.node for event in happened.values()} == {"consolidation"}
    assert (happened["merge"].item_id, happened["supersede"].item_id) == (tea, home)
    assert all(event.similarity is not None for event in happened.values())
    assert all("memory" in (event.detail or "") for event in happened.values())
    assert state(tidied).consolidated_at == tidied.clock()


@pytest.mark.requirement("upkeep.consolidate")
def test_others_are_not_touched(memory: Memory, tidied: Tidied) -> None:
    ben = memory.user("ben")
    ben.add("User likes green tea.")
    tidied.say("User really likes green tea.")
    assert tidied.consolidate().pairs == 0
    assert tidied.me.events().items == ()
    nobody = Tidied(memory, tidied.clock, "nobody")
    assert nobody.consolidate().pairs == 0
    assert "nobody" not in memory.users()


@pytest.mark.requirement("upkeep.pairs")
def test_pairs_that_wait_are_worked_off_although_nothing_changes(
    open_tidied: Callable[..., Tidied],
) -> None:
    tidied = open_tidied(consolidation_daily_pairs=5)
    at_once(tidied, doubtful_texts(15))
    before = tidied.items
    for day in range(1, 4):
        assert next_day(tidied)
        assert tidied.me.counters().counts["consolidation_pairs"] == 5 * day
        assert (state(tidied).pairs_wait_since is None) is (day == 3)
    assert tidied.items == before
    assert not any(next_day(tidied) for _ in range(10))
    assert tidied.me.counters().counts["consolidation_pairs"] == 15


@pytest.mark.slow
@pytest.mark.requirement("upkeep.pairs")
def test_a_queue_longer_than_notes_are_kept_comes_to_its_end(
    open_tidied: Callable[..., Tidied],
) -> None:
    tidied = open_tidied(consolidation_daily_pairs=1)
    at_once(tidied, doubtful_texts(20))
    assert [next_day(tidied) for _ in range(24)] == [True] * 20 + [False] * 4
    assert tidied.me.counters().counts["consolidation_pairs"] == 20


@pytest.mark.requirement("upkeep.pool")
def test_what_changed_since_the_last_time_is_looked_at_however_long_ago(tidied: Tidied) -> None:
    tidied.say("User owns a boat")
    tidied.consolidate()
    old = tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    tidied.clock.advance(days=9)  # the store was closed
    assert tidied.decide().replaced == old


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.requirement("upkeep.forget")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("User has a cat named Momo.", "User has a cat."),
        ("User likes green tea.", "User really likes green tea."),
    ],
)
def test_what_was_said_again_is_not_forgotten_for_having_been_merged(
    open_tidied: Callable[..., Tidied], first: str, again: str
) -> None:
    tidied = open_tidied(forget_after_days=3)
    kept = tidied.say(first, source=Source.CONVERSATION)
    tidied.say("User plays chess on Sundays", source=Source.CONVERSATION)
    for _ in range(2):
        next_day(tidied)
    said_again = tidied.say(again, source=Source.CONVERSATION)
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, kept, said_again)
    for _ in range(2):
        next_day(tidied)
        assert first in tidied.known
    assert tidied.known == [first]
    next_day(tidied)
    next_day(tidied)
    assert tidied.known == []  # a full new period, and no more
