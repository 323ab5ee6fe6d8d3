"""The tokens of a user's day: counted, never exceeded, and nothing lost where they end."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import BadAnswer, BudgetExhausted, ModelUnavailable, ThreadNotFound
from ricordo.llm.messages import Message
from ricordo.metering import MeteredModel
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking
from tests.formation.test_conflicts import extracted

WithModel = Callable[..., Talking]

PLUMS = extracted(("User enjoys plums.", "enjoy plums"))
SAID = "i enjoy plums"


def tokens_on_wire(server: ModelServer) -> int:
    """What the scripted model says that its answers have cost, prompts only."""
    return sum(len(str(message["content"]).split()) for asked in server.asked for message in asked)


def readings(server: ModelServer) -> int:
    """How often the model was asked to read a conversation."""
    return sum("Below is a part of a conversation" in str(asked) for asked in server.asked)


def metered(talking: Talking) -> MeteredModel:
    model = talking.memory.formation.model
    assert model is not None
    return model


@pytest.mark.requirement("formation.budget")
def test_tokens_are_counted_per_user_as_the_model_counts_them(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer(PLUMS)
    talking.form(SAID)
    counted = talking.me.counters()
    assert counted.counts["model_prompt_tokens"] == tokens_on_wire(model_server)
    assert counted.counts["model_completion_tokens"] > 0
    assert counted.tokens_today == (
        counted.counts["model_prompt_tokens"] + counted.counts["model_completion_tokens"]
    )
    assert (counted.counts["model_calls"], counted.counts.get("model_calls_failed", 0)) == (1, 0)
    assert talking.memory.user("ben").counters().tokens_today == 0
    assert talking.memory.counters().tokens_today == counted.tokens_today


@pytest.mark.requirement("formation.budget")
@pytest.mark.parametrize("gives_usage", [True, False])
def test_failed_calls_count_as_well(
    with_model: WithModel, model_server: ModelServer, gives_usage: bool
) -> None:
    model_server.gives_usage = gives_usage
    talking = with_model()
    talking.say(SAID)
    model_server.answer("nonsense", times=3)
    with pytest.raises(BadAnswer):
        talking.me.form("monday")
    counts = talking.me.counters().counts
    assert (counts["model_calls"], counts["model_calls_failed"]) == (3, 3)
    # Each correction repeats the conversation, and is paid for again.
    assert talking.me.counters().tokens_today >= tokens_on_wire(model_server)


@pytest.mark.requirement("formation.budget")
@pytest.mark.parametrize("answers", [["nonsense"] * 3, ["nonsense", "{}", "[]"]])
def test_corrections_end_where_the_day_does(
    with_model: WithModel, model_server: ModelServer, answers: list[str]
) -> None:
    model_server.gives_usage = False
    talking = with_model(model_daily_tokens=2_800)  # enough for one request, not for two
    for one in answers:
        model_server.answer(one)
    report = talking.form(SAID)
    assert report.waits is not None
    assert len(model_server.asked) == 1
    assert 0 < talking.me.counters().tokens_today <= 2_800


@pytest.mark.requirement("formation.budget")
def test_at_the_limit_formation_waits_and_the_next_day_forms(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_daily_tokens=3_500)
    model_server.answer_with(lambda _body: PLUMS)
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
    asked = readings(model_server)
    talking.run_jobs()  # due jobs wait too
    assert readings(model_server) == asked

    talking.clock.advance(days=1)
    talking.run_jobs()
    rest = talking.me.form("monday")
    assert (rest.turns, rest.waits) == (0, None)
    said = "\n".join(str(one) for one in model_server.asked)
    assert all(f"{SAID} {number}" in said for number in range(8))
    assert talking.me.counters().tokens_today <= 3_500


@pytest.mark.requirement("formation.budget")
def test_the_job_itself_waits_until_the_next_day(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_daily_tokens=0)
    talking.say(SAID)
    for _ in range(3):
        talking.clock.advance(days=1)
        talking.run_jobs()
        (job,) = [job for job in talking.memory.jobs(state="queued") if job.kind == "form"]
        assert timedelta() < job.run_at - talking.clock() <= timedelta(days=1)
        assert job.run_at.time().isoformat() == "00:00:00"
    assert talking.me.form().waits is not None
    assert model_server.asked == []
    assert talking.me.counters().tokens_today == 0
    assert not talking.memory.jobs(state="dead")
    assert [turn.content for turn in talking.me.turns("monday")] == [SAID]


@pytest.mark.requirement("formation.budget")
def test_other_users_are_not_concerned(with_model: WithModel, model_server: ModelServer) -> None:
    talking = with_model(model_daily_tokens=2_500)
    model_server.answer_with(lambda _body: PLUMS)
    while talking.form(SAID).waits is None:
        pass
    ben = Talking(talking.memory, talking.clock, "ben")
    assert ben.form(SAID).waits is None
    assert ben.known == ["User enjoys plums."]


@pytest.mark.requirement("formation.budget")
def test_two_who_ask_at_once_share_one_budget(
    with_model: WithModel, model_server: ModelServer
) -> None:
    """While the first is being answered, its tokens are already counted."""
    talking = with_model(model_daily_tokens=2_500)  # enough for one request at a time
    model_server.answer_with(lambda _body: PLUMS)
    talking.say(SAID, thread="one")
    talking.say(SAID, thread="two")
    gate = threading.Event()
    model_server.hang_until(gate)
    first = threading.Thread(target=talking.me.form, args=("one",))
    first.start()
    try:
        assert model_server.wait_for_requests(1)
        assert talking.me.counters().tokens_today <= 2_500
        assert talking.me.form("two").waits is not None
        assert len(model_server.asked) == 1
    finally:
        model_server.forget_faults()
        gate.set()
        first.join()
    assert talking.me.counters().tokens_today <= 2_500


@pytest.mark.requirement("formation.budget")
def test_what_is_set_aside_never_exceeds_the_day_with_many_threads(with_model: WithModel) -> None:
    talking = with_model(model_daily_tokens=10_000)
    talking.say(SAID)
    model = metered(talking)
    got: list[int] = []
    refused: list[BudgetExhausted] = []

    def take() -> None:
        for _ in range(5):
            try:
                model.set_aside("ana", 900)
                got.append(900)
            except BudgetExhausted as problem:
                refused.append(problem)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(got) == 9_900
    assert len(refused) == 9
    assert talking.me.counters().tokens_today == 9_900


@pytest.mark.requirement("formation.budget")
def test_a_refused_connection_costs_nothing(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_base_url="http://127.0.0.1:1/v1", model_deadline_seconds=1)
    talking.say(SAID)
    with pytest.raises(ModelUnavailable):
        talking.me.form("monday")
    counted = talking.me.counters()
    assert counted.tokens_today == 0
    assert "model_calls" not in counted.counts
    assert counted.counts["formation_failures"] == 1


@pytest.mark.requirement("formation.budget")
def test_a_call_over_midnight_gives_the_new_day_nothing_extra(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer(PLUMS)
    model_server.before_answer = lambda: talking.clock.advance(days=1)
    talking.form(SAID)
    counted = talking.me.counters(days=1)
    assert counted.tokens_today >= 0
    assert counted.counts.get("model_tokens", 0) >= 0
    assert talking.me.counters().counts["model_tokens"] >= tokens_on_wire(model_server)


@pytest.mark.requirement("formation.budget")
def test_a_connection_broken_over_midnight_gives_the_new_day_nothing_extra(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.before_answer = lambda: talking.clock.advance(days=1)
    model_server.answer_broken(times=1)
    model_server.answer(PLUMS)
    talking.form(SAID)
    for days in (1, 2, 3):
        assert talking.me.counters(days=days).counts.get("model_tokens", 0) >= 0


@pytest.mark.requirement("formation.budget")
def test_an_endpoint_that_counts_too_much_ends_the_day_without_harm(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_daily_tokens=3_000)
    talking.say(SAID)
    model = metered(talking)
    model_server.answer("word " * 4_000)  # more than was allowed
    model.reply("ana", [Message("user", "hello")], max_tokens=100)
    assert talking.me.counters().tokens_today > 3_000
    with pytest.raises(BudgetExhausted) as refused:
        model.reply("ana", [Message("user", "hello")], max_tokens=100)
    assert refused.value.until == talking.clock().replace(hour=0, minute=0) + timedelta(days=1)
    assert talking.form(SAID).waits is not None


def erase(talking: Talking) -> None:
    talking.memory.erase_user("ana")


@pytest.mark.requirement("formation.budget")
def test_erased_and_back_while_the_model_answers_a_user_has_no_more_than_a_day(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()

    def come_back() -> None:
        talking.memory.erase_user("ana")
        talking.say("hello again", thread="later")

    model_server.answer(PLUMS)
    model_server.before_answer = come_back
    talking.say(SAID)
    with pytest.raises(ThreadNotFound):
        talking.me.form("monday")
    assert talking.me.counters().tokens_today >= 0


@pytest.mark.requirement("formation.budget")
def test_erased_while_the_model_answers_a_user_stays_erased(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer(PLUMS)
    model_server.before_answer = lambda: erase(talking)
    talking.say(SAID)
    with pytest.raises(ThreadNotFound):
        talking.me.form("monday")
    assert talking.memory.users() == ()
    with talking.memory.database.read_all() as view:
        for table in ("tallies", "events", "summaries", "items", "turns"):
            rows = view.connection.exec_driver_sql(f"SELECT * FROM {table}").all()
            assert rows == []


@pytest.mark.requirement("formation.budget")
def test_erased_while_the_model_fails_a_user_stays_erased(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer_html()
    model_server.before_answer = lambda: erase(talking)
    talking.say(SAID)
    with pytest.raises(BadAnswer):
        talking.me.form("monday")
    assert talking.memory.users() == ()
