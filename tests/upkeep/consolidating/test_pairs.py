"""How many pairs a day, in which portions, and not again so soon."""

import string
from collections.abc import Callable

import pytest

from ricordo import Event, Memory, ModelUnavailable, Status
from ricordo.formation.comparing.verdict import Relationship
from ricordo.model.consolidation import PairAction
from ricordo.storage.upkeep import UpkeepState, upkeep_state
from ricordo.testing.model_server import ModelServer
from ricordo.upkeep.consolidating.consolidation import DAY_IS_FULL, NOT_ASKED
from tests.upkeep.consolidating.conftest import Tidied
from tests.upkeep.consolidating.judge_script import judging, pairs_in

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


def state(tidied: Tidied) -> UpkeepState:
    with tidied.memory.database.read_all() as view:
        return upkeep_state(view.connection, tidied.user)


def sizes(server: ModelServer) -> list[int]:
    return [len(pairs_in(messages)) for messages in server.asked]


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
def test_the_most_similar_come_first(tidied: Tidied) -> None:
    doubtful(tidied, 2)
    tidied.say("User has a cat.")
    tidied.say("User has a cat named Momo.")
    decided = tidied.consolidate(daily_pairs=2).decisions
    assert [one.similarity for one in decided] == sorted(
        (one.similarity for one in decided), reverse=True
    )
    assert len(tidied.known) == 6


@pytest.mark.requirement("upkeep.pairs")
def test_none_a_day_is_none(tidied: Tidied) -> None:
    doubtful(tidied, 1)
    assert tidied.consolidate(daily_pairs=0).pairs == 0


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
@pytest.mark.parametrize(
    ("count", "expected"), [(3, [3]), (5, [5]), (11, [6, 5]), (12, [6, 6]), (23, [8, 8, 7])]
)
def test_a_model_is_asked_in_even_portions(
    with_model: WithModel, model_server: ModelServer, count: int, expected: list[int]
) -> None:
    tidied = with_model()
    doubtful(tidied, count)
    model_server.answer_with(judging(lambda _new, _old: DIFFERENT))
    report = tidied.consolidate()
    assert (report.pairs, report.linked) == (count, count)
    assert sizes(model_server) == expected
    assert tidied.consolidate().pairs == 0


@pytest.mark.requirement("upkeep.pairs")
def test_a_model_is_not_asked_what_rules_can_tell(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    assert tidied.consolidate().superseded == 1
    assert model_server.asked == []


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    ("verdict", "action", "left"),
    [
        ("same", PairAction.MERGE, [1]),
        ("refinement", PairAction.SUPERSEDE, [2]),
        ("contradiction", PairAction.SUPERSEDE, [2]),
        ("different", PairAction.LINK, [1, 2]),
    ],
)
def test_what_the_model_says_is_done(
    with_model: WithModel,
    model_server: ModelServer,
    verdict: str,
    action: PairAction,
    left: list[int],
) -> None:
    tidied = with_model()
    tidied.say("User plays the piano after work")
    tidied.say("User plays the keyboard after work")
    model_server.answer_with(judging(lambda _new, _old: verdict, "both are\x00 instruments"))
    decided = tidied.decide()
    assert (decided.action, [item.id for item in tidied.items]) == (action, left)
    if decided.replaced is not None:
        last = tidied.me.history(decided.replaced)[-1]
        assert last.reason == decided.reason == "both are  instruments"


@pytest.mark.requirement("upkeep.consolidate")
def test_a_model_that_calls_everything_the_same_does_not_overrule_what_words_show(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    kept = (
        ("Ben met the oak committee at 7", "Ben met the oak committee at 9"),
        ("Ana never saw the elm avenue again", "Ana once saw the elm avenue again"),
    )
    for pair in kept:
        for content in pair:
            tidied.say(content)
    tidied.say("User plays the piano after work", pinned=True)
    tidied.say("User plays the keyboard after work", pinned=True)
    doubtful(tidied, 2)
    model_server.answer_with(judging(lambda _new, _old: SAME))
    report = tidied.consolidate()
    assert report.merged == 2
    assert all(content in tidied.known for pair in kept for content in pair)
    assert len(tidied.known) == 4 + 2 + 2


@pytest.mark.requirement("upkeep.consolidate")
def test_a_model_that_is_down_leaves_what_rules_decided(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    doubtful(tidied, 12)
    model_server.fail_next(100, status=503)
    with pytest.raises(ModelUnavailable):
        tidied.consolidate()
    assert "User lives in Bekasi." not in tidied.known
    assert state(tidied).consolidated_at is None
    model_server.answer_rightly()
    model_server.answer_with(judging(lambda _new, _old: SAME))
    report = tidied.consolidate()
    assert (report.merged, report.pairs, report.waiting) == (12, 12, 0)
    assert state(tidied).consolidated_at == tidied.clock()


@pytest.mark.requirement("upkeep.consolidate")
def test_a_model_that_goes_down_leaves_what_it_said_before(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    doubtful(tidied, 12)
    answer = judging(lambda _new, _old: SAME)

    def once(body: dict[str, object]) -> object:
        model_server.answer_with(answer)
        model_server.fail_next(100, status=503)
        return answer(body)

    model_server.answer_with(once)  # type: ignore[arg-type]
    with pytest.raises(ModelUnavailable):
        tidied.consolidate()
    assert len(tidied.known) == 24 - 6
    model_server.answer_rightly()
    assert tidied.consolidate().merged == 6
    assert sizes(model_server)[-1] == 6


@pytest.mark.requirement("upkeep.consolidate")
def test_an_answer_that_makes_no_sense_leaves_only_its_portion(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    doubtful(tidied, 12)
    model_server.answer_nonsense(times=3)
    model_server.answer_with(judging(lambda _new, _old: SAME))
    report = tidied.consolidate()
    assert (report.merged, report.waiting) == (6, 6)
    assert report.waits is not None
    assert tidied.consolidate().merged == 6


@pytest.mark.requirement("upkeep.consolidate")
def test_a_model_that_refuses_is_not_asked_on(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    doubtful(tidied, 12)
    model_server.fail_next(100, status=401)
    report = tidied.consolidate()
    assert (report.pairs, report.waiting) == (0, 12)
    assert report.waits is not None
    assert len(model_server.requests) == 1


@pytest.mark.requirement("upkeep.budget")
def test_the_days_tokens_end_the_asking(with_model: WithModel, model_server: ModelServer) -> None:
    tidied = with_model(model_daily_tokens=2_200)
    tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    doubtful(tidied, 20)
    model_server.answer_with(judging(lambda _new, _old: SAME))
    report = tidied.consolidate()
    assert report.superseded == 1
    assert 0 < report.merged < 20
    assert report.waiting == 20 - report.merged
    assert "tokens of the day" in (report.waits or "")
    assert tidied.me.counters().tokens_today <= 2_200
    assert state(tidied).consolidated_at == tidied.clock()
    tidied.clock.advance(days=1)
    assert tidied.consolidate().merged > 0


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("happens", ["update", "archive", "pin", "forget", "link", "erase"])
def test_what_changes_while_the_model_thinks_is_left_alone(
    with_model: WithModel, model_server: ModelServer, happens: str
) -> None:
    tidied = with_model()
    first = tidied.say("Oak table and oak chair stand in the attic", importance=3)
    second = tidied.say("Oak table and oak chair stand in the cellar", key="oak")
    tidied.memory.user("ben").add("Something of his own")
    answer = judging(lambda _new, _old: "contradiction")
    target = first

    def meanwhile() -> None:
        if happens == "update":
            tidied.me.add("The oak was sold", key="oak")
        elif happens == "link":
            tidied.me.link(target, "ben")
        elif happens == "erase":
            tidied.memory.erase_user(tidied.user)
        elif happens == "pin":
            tidied.me.pin(target)
        else:
            getattr(tidied.me, happens)(target)

    model_server.before_answer = meanwhile
    model_server.answer_with(answer)
    report = tidied.consolidate()
    assert (report.pairs, report.decisions) == (0, ())
    if happens == "erase":
        assert tidied.memory.users() == ("ben",)
        return
    assert Event.SUPERSEDE not in [change.event for change in tidied.me.history(first)]
    assert tidied.me.get(second).status is Status.ACTIVE


@pytest.mark.requirement("upkeep.consolidate")
def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    with_model: WithModel, model_server: ModelServer
) -> None:
    tidied = with_model()
    old = tidied.say("User lives in Bekasi.")
    new = tidied.say("User lives in Jakarta.")
    doubtful(tidied, 3)
    before = (tidied.items, tidied.me.counters(), list(tidied.me.changes()), state(tidied))
    report = tidied.consolidate(dry_run=True)
    assert (report.superseded, report.waiting, report.waits) == (1, 3, NOT_ASKED)
    assert (report.decisions[0].kept, report.decisions[0].replaced) == (new, old)
    assert report.dry_run
    after = (tidied.items, tidied.me.counters(), list(tidied.me.changes()), state(tidied))
    assert (after, model_server.asked) == (before, [])
    assert tidied.me.events().items == ()


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
