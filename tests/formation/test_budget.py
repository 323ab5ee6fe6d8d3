"""The tokens of a user's day: counted, never exceeded, and nothing lost where they end."""

import threading
from datetime import timedelta

import pytest

from ricordo import BadAnswer, BudgetExhausted, ModelUnavailable, ThreadNotFound
from ricordo.metering import MeteredModel
from ricordo.providers.chat_model import Message
from tests.formation.conftest import Talking, WithModel, at_once, extracted, tables_with
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("formation.budget")


PLUMS = extracted(("User enjoys plums.", "enjoy plums"))
SAID = "i enjoy plums"
SHORT = {"model_answer_tokens": 1_000}


def tokens_on_wire(server: FaultyModel) -> int:
    """What the scripted model says that its answers have cost, prompts only."""
    return sum(
        len(str(message["content"]).split()) for asked in server.prompts for message in asked
    )


def readings(server: FaultyModel) -> int:
    """How often the model was asked to read a conversation."""
    return sum("Below is a part of a conversation" in str(asked) for asked in server.prompts)


def metered(talking: Talking) -> MeteredModel:
    model = talking.memory.parts.formation.model
    assert model is not None
    return model


def test_tokens_are_counted_per_user_as_the_model_counts_them(reader: Talking) -> None:
    reader.server.answer(PLUMS)
    reader.form(SAID)
    counted = reader.me.counters()
    assert counted.counts["model_prompt_tokens"] == tokens_on_wire(reader.server)
    assert counted.counts["model_completion_tokens"] > 0
    assert counted.tokens_today == (
        counted.counts["model_prompt_tokens"] + counted.counts["model_completion_tokens"]
    )
    assert (counted.counts["model_calls"], counted.counts.get("model_calls_failed", 0)) == (1, 0)
    assert reader.memory.user("ben").counters().tokens_today == 0
    assert reader.memory.counters().tokens_today == counted.tokens_today


def test_failed_calls_count_as_well(reader: Talking) -> None:
    for thread, gives_usage in (("one", True), ("two", False)):
        reader.server.gives_usage = gives_usage
        reader.say(SAID, thread=thread)
        reader.server.answer("nonsense", times=3)
        with pytest.raises(BadAnswer):
            reader.me.form(thread)
        # Each correction repeats the conversation, and is paid for again.
        assert reader.me.counters().tokens_today >= tokens_on_wire(reader.server)
    counts = reader.me.counters().counts
    assert (counts["model_calls"], counts["model_calls_failed"]) == (6, 6)


def test_corrections_end_where_the_day_does(with_model: WithModel) -> None:
    talking = with_model(**SHORT, model_daily_tokens=2_800)  # enough for one request, not for two
    talking.server.gives_usage = False
    talking.server.answer("nonsense")
    talking.server.answer(PLUMS)
    assert talking.form(SAID).waits is not None
    assert len(talking.server.prompts) == 1
    assert 0 < talking.me.counters().tokens_today <= 2_800
    ben = talking.other("ben")  # has a budget of his own
    assert ben.form(SAID).waits is None


def test_at_the_limit_formation_waits_and_the_next_day_forms(with_model: WithModel) -> None:
    talking = with_model(**SHORT, model_daily_tokens=3_500)
    talking.server.answer_with(lambda _body: PLUMS)
    reports = [talking.form(f"{SAID} {number}") for number in range(8)]
    waiting = [report for report in reports if report.waits is not None]
    assert waiting
    assert waiting[0] is not reports[0]
    assert "3500" in (waiting[0].waits or "").replace(",", "")
    assert (waiting[0].turns, waiting[0].decisions) == (0, ())
    counted = talking.me.counters()
    assert counted.tokens_today <= 3_500
    assert "formation_failures" not in counted.counts
    skipped = [event for event in talking.me.events(limit=500) if event.status == "skipped"]
    assert any(event.detail == "BudgetExhausted" for event in skipped)
    asked = readings(talking.server)
    talking.run_jobs()  # due jobs wait too
    assert readings(talking.server) == asked

    talking.clock.advance(days=1)
    talking.run_jobs()
    rest = talking.me.form("monday")
    assert (rest.turns, rest.waits) == (0, None)
    said = "\n".join(str(one) for one in talking.server.prompts)
    assert all(f"{SAID} {number}" in said for number in range(8))
    assert talking.me.counters().tokens_today <= 3_500


def test_two_who_ask_at_once_share_one_budget(with_model: WithModel) -> None:
    """While the first is being answered, its tokens are already counted."""
    talking = with_model(**SHORT, model_daily_tokens=2_500)  # enough for one request at a time
    talking.server.answer_with(lambda _body: PLUMS)
    talking.say(SAID, thread="one")
    talking.say(SAID, thread="two")
    gate = threading.Event()
    talking.server.hang_until(gate)
    first = threading.Thread(target=talking.me.form, args=("one",))
    first.start()
    try:
        assert talking.server.wait_for_requests(1)
        assert talking.me.counters().tokens_today <= 2_500
        assert talking.me.form("two").waits is not None
        assert len(talking.server.prompts) == 1
    finally:
        talking.server.forget_faults()
        gate.set()
        first.join()
    assert talking.me.counters().tokens_today <= 2_500


@pytest.mark.both_databases
def test_what_is_reserved_never_exceeds_the_day_with_many_threads(with_model: WithModel) -> None:
    talking = with_model(model_daily_tokens=10_000)
    talking.say(SAID)
    outcomes = at_once(*[lambda: metered(talking).reserve("ana", 900)] * 15)
    refused = [one for one in outcomes if isinstance(one, Exception)]
    assert [type(one) for one in refused] == [BudgetExhausted] * 4
    assert talking.me.counters().tokens_today == 9_900


def test_a_refused_connection_costs_nothing(with_model: WithModel) -> None:
    talking = with_model(model_base_url="http://127.0.0.1:1/v1", model_deadline_seconds=1)
    talking.say(SAID)
    with pytest.raises(ModelUnavailable):
        talking.me.form("monday")
    counted = talking.me.counters()
    assert counted.tokens_today == 0
    assert "model_calls" not in counted.counts
    assert counted.counts["formation_failures"] == 1


@pytest.mark.parametrize("breaks", [False, True])
def test_a_call_over_midnight_gives_the_new_day_nothing_extra(
    reader: Talking, breaks: bool
) -> None:
    reader.server.before_answer = lambda: reader.clock.advance(days=1)
    if breaks:
        reader.server.answer_broken(times=1)
    reader.server.answer(PLUMS)
    reader.form(SAID)
    for days in (1, 2, 3):
        assert reader.me.counters(days=days).counts.get("model_tokens", 0) >= 0
    assert breaks or reader.me.counters().counts["model_tokens"] >= tokens_on_wire(reader.server)


def test_an_endpoint_that_counts_too_much_ends_the_day_without_harm(with_model: WithModel) -> None:
    talking = with_model(model_daily_tokens=3_000)
    talking.say(SAID)
    model = metered(talking)
    talking.server.answer("word " * 4_000)  # more than was allowed
    model.reply("ana", [Message("user", "hello")])
    assert talking.me.counters().tokens_today > 3_000
    with pytest.raises(BudgetExhausted) as refused:
        model.reply("ana", [Message("user", "hello")])
    assert refused.value.until == talking.clock().replace(hour=0, minute=0) + timedelta(days=1)
    assert talking.form(SAID).waits is not None


@pytest.mark.parametrize("comes_back", [False, True])
def test_erased_while_the_model_answers_a_user_stays_erased(
    reader: Talking, comes_back: bool
) -> None:
    def erase() -> None:
        reader.memory.erase_user("ana")
        if comes_back:
            reader.say("hello again", thread="later")

    reader.server.answer(PLUMS)
    reader.server.before_answer = erase
    reader.say(SAID)
    with pytest.raises(ThreadNotFound):
        reader.me.form("monday")
    assert reader.me.counters().tokens_today >= 0
    if not comes_back:
        assert tables_with(reader.memory, "ana") == []
