"""What formation tells of itself: the decision log, events and counters, and no memory in them."""

import json
import logging
from collections.abc import Callable

import pytest

from ricordo import Action, EventStatus, Memory
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking
from tests.formation.test_conflicts import extracted, judged

WithModel = Callable[..., Talking]


def decision_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name == "ricordo.decisions"
    ]


def everything_logged(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter()
    return "\n".join(formatter.format(record) for record in caplog.records)


# -- the decision log ----------------------------------------------------------------------


@pytest.mark.requirement("observability.decisions")
def test_a_run_is_one_line_with_every_decision(
    with_model: WithModel, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    talking = with_model(judge_min=0.1)
    old = talking.me.add("User paints small boats on weekends.", theme="life")
    talking.clock.advance(days=1)
    said = "i paint large ships on weekdays, i have diabetes, and i enjoy quinces"
    model_server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User has diabetes.", "have diabetes"),
            ("I enjoy quinces.", "enjoy quinces"),
            ("User owns a zeppelin.", "own a zeppelin"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["contradiction"] + ["different"] * 9))
    report = talking.form(said)
    (line,) = decision_lines(caplog)
    assert line["event"] == "memory_decision"
    assert (line["user_id"], line["thread_id"]) == ("ana", "monday")
    assert line["read_by"] == "custom_http:scripted"
    assert (line["turns"], line["input_chars"]) == (1, len(said))
    shown = line["decisions"]
    assert isinstance(shown, list)
    assert line["extracted_count"] == len(shown) == len(report.decisions) == 4
    assert [one["action"] for one in shown] == [one.action for one in report.decisions]
    assert {one["reason"] for one in shown} >= {"not_third_person", "no_evidence"}
    by_action = {one["action"]: one for one in shown}
    assert by_action["replace"]["target_id"] == old.id
    assert 0 < by_action["replace"]["similarity"] <= 1
    assert by_action["propose"]["proposal_id"] == talking.me.proposals().items[0].id


@pytest.mark.requirement("observability.decisions")
def test_no_log_says_what_memories_say(
    with_model: WithModel, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="ricordo")
    talking = with_model(judge_min=0.1)
    talking.me.add("User paints small boats on weekends.", theme="life")
    talking.clock.advance(days=1)
    model_server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User has diabetes.", "have diabetes"),
            ("I enjoy quinces.", "enjoy quinces"),
            ("User owns a zeppelin.", "own a zeppelin"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["contradiction"] + ["different"] * 9))
    talking.say("i paint large ships on weekdays, i have diabetes, and i enjoy quinces")
    talking.clock.advance(minutes=1)
    talking.run_jobs()
    assert talking.known == ["User paints large ships on weekdays."]
    model_server.answer(extracted(("User drives a lorry.", "drive a lorry"), key="hidden_hobby"))
    talking.form("i drive a lorry")
    logged = everything_logged(caplog).lower()
    assert "memory_decision" in logged
    for word in (
        "paint",
        "boats",
        "ships",
        "diabetes",
        "quinces",
        "zeppelin",
        "lorry",
        "hidden_hobby",
    ):
        assert word not in logged
    with talking.memory.database.read_all() as view:
        events = str(view.connection.exec_driver_sql("SELECT * FROM events").all()).lower()
    for word in (
        "paint",
        "boats",
        "ships",
        "diabetes",
        "quinces",
        "zeppelin",
        "lorry",
        "hidden_hobby",
    ):
        assert word not in events


@pytest.mark.requirement("observability.decisions")
@pytest.mark.parametrize(
    "wrong",
    [
        "User enjoys zeppelins.",
        '{"memories": "User enjoys zeppelins."}',
        '{"memories": [{"content": "User enjoys zeppelins.", "type": "zeppelins"}]}',
        '{"zeppelins": 1}',
        '{"memories": [{"content": "User enjoys zeppelins", ',
    ],
)
def test_not_even_a_wrong_answer_is_logged(
    with_model: WithModel,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    wrong: str,
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="ricordo")
    talking = with_model()
    model_server.answer(wrong, times=3)
    talking.say("i enjoy zeppelins")
    talking.clock.advance(minutes=1)
    talking.run_jobs()
    (job,) = [job for job in talking.memory.jobs(state="queued") if job.kind == "form"]
    assert job.last_error is not None
    logged = everything_logged(caplog)
    assert "failed" in logged
    assert "zeppelin" not in logged
    assert "zeppelin" not in job.last_error
    assert decision_lines(caplog) == []  # it has decided nothing


@pytest.mark.requirement("observability.decisions")
def test_each_stretch_has_its_line_and_nothing_new_has_none(
    talking: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ricordo.decisions")
    talking.say("I love jazz music", thread="one")
    talking.say('what about "quotes" \\ and ünïcode\u2028?', thread='thread "two" ü')
    talking.me.form()
    lines = decision_lines(caplog)
    assert [line["thread_id"] for line in lines] == ["one", 'thread "two" ü']
    assert [line["read_by"] for line in lines] == ["rules", "rules"]
    assert all(len(record.getMessage().splitlines()) == 1 for record in caplog.records)
    talking.me.form()
    assert len(decision_lines(caplog)) == 2


@pytest.mark.requirement("observability.decisions")
def test_the_log_can_be_turned_off(talking: Talking, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="ricordo.decisions")
    talking.form("I love jazz music")
    assert decision_lines(caplog) == []


# -- events --------------------------------------------------------------------------------


@pytest.mark.requirement("observability.events")
def test_every_decision_is_an_event(with_model: WithModel, model_server: ModelServer) -> None:
    talking = with_model(judge_min=0.1)
    old = talking.me.add("User paints small boats on weekends.", theme="life")
    talking.clock.advance(days=1)
    model_server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User has diabetes.", "have diabetes"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["contradiction"] + ["different"] * 9))
    talking.form("i paint large ships on weekdays, and i have diabetes")
    found = {event.op: event for event in talking.me.events()}
    assert set(found) == {"replace", "propose"}
    replaced = found["replace"]
    assert (replaced.node, replaced.status, replaced.thread_id) == (
        "formation",
        EventStatus.OK,
        "monday",
    )
    assert replaced.item_id != old.id
    assert replaced.item_id == talking.me.list().items[0].id
    assert replaced.similarity is not None
    assert 0 < replaced.similarity <= 1
    assert replaced.at == talking.clock()
    assert found["propose"].item_id == talking.me.proposals().items[0].id
    again = talking.me.counters().counts
    assert (again["formation_replace"], again["formation_propose"]) == (1, 1)

    model_server.answer(
        extracted(("User paints large ships on weekdays.", "paint large ships on weekdays"))
    )
    talking.form("i paint large ships on weekdays")
    ignored = talking.me.events(limit=1).items[0]
    assert (ignored.op, ignored.status, ignored.detail) == (
        "ignore",
        EventStatus.SKIPPED,
        "known already",
    )


@pytest.mark.requirement("observability.events")
def test_events_are_of_one_user_paged_and_erased(talking: Talking) -> None:
    for food in ("olives", "lentils", "mangoes"):
        talking.form(f"I love {food}")
    ben = talking.memory.user("ben")
    assert ben.events().items == ()
    first = talking.me.events(limit=2)
    assert first.next_cursor is not None
    rest = talking.me.events(limit=2, cursor=first.next_cursor)
    ids = [event.id for event in (*first, *rest)]
    assert len(ids) == 3
    assert ids == sorted(ids, reverse=True)
    assert talking.memory.erase_user("ana").removed["events"] == 3
    assert talking.me.events().items == ()


# -- counters ------------------------------------------------------------------------------


@pytest.mark.requirement("observability.counters")
def test_counters_start_with_nothing(memory: Memory) -> None:
    counted = memory.user("ana").counters()
    assert (counted.memory_total_count, counted.tokens_today, dict(counted.counts)) == (0, 0, {})
    assert (counted.memory_replacement_rate, counted.memory_dedup_rate) == (0.0, 0.0)
    assert memory.users() == ()  # asking makes nobody


@pytest.mark.requirement("observability.counters")
def test_rates_tell_how_much_was_replaced_and_known(talking: Talking) -> None:
    talking.form("I love olives")
    talking.form("I love mangoes")
    talking.form("I love coffee")
    talking.form("I hate coffee")
    talking.form("I love olives")
    counted = talking.me.counters()
    assert counted.counts["formation_add"] == 3
    assert counted.counts["formation_writes"] == 4
    assert counted.counts["formation_ignore"] == 1
    assert counted.counts["formation_runs"] == 5
    assert counted.memory_total_count == 3
    assert counted.memory_replacement_rate == 0.25
    assert counted.memory_dedup_rate == 0.2


@pytest.mark.requirement("observability.counters")
def test_the_total_counts_what_holds(talking: Talking) -> None:
    ids = [talking.me.add(f"User enjoys {food}.").id for food in ("figs", "plums", "dates")]
    talking.me.add("User waits.", expires_at=talking.clock().replace(hour=23))
    assert talking.me.counters().memory_total_count == 4
    talking.me.archive(ids[0])
    talking.me.forget(ids[1])
    talking.clock.advance(hours=12)
    assert talking.me.counters().memory_total_count == 1


@pytest.mark.requirement("observability.counters")
def test_counters_are_of_a_user_or_of_all(talking: Talking, clock: ManualClock) -> None:
    ben = Talking(talking.memory, clock, "ben")
    talking.form("I love olives")
    ben.form("I love olives")
    ben.form("I love mangoes")
    assert talking.me.counters().counts["formation_add"] == 1
    assert ben.me.counters().counts["formation_add"] == 2
    everybody = talking.memory.counters()
    assert (everybody.counts["formation_add"], everybody.memory_total_count) == (3, 3)
    talking.memory.erase_user("ben")
    assert talking.memory.counters().counts["formation_add"] == 1
    assert dict(ben.me.counters().counts) == {}


@pytest.mark.requirement("observability.counters")
def test_days_end_at_midnight_utc(talking: Talking) -> None:
    talking.clock.set(talking.clock().replace(hour=23, minute=57))
    talking.form("I love olives")  # 23:58
    talking.form("I love mangoes")  # 23:59
    talking.form("I love noodles")  # 00:00 of the next day
    assert talking.clock().hour == 0
    assert talking.me.counters(days=1).counts["formation_add"] == 1
    assert talking.me.counters(days=2).counts["formation_add"] == 3
    assert talking.me.counters().counts["formation_add"] == 3
    talking.clock.advance(days=1)
    assert dict(talking.me.counters(days=1).counts) == {}
    assert talking.me.counters(days=2).counts["formation_add"] == 1
    assert talking.memory.counters(days=36_500).counts["formation_add"] == 3


@pytest.mark.requirement("observability.counters")
def test_decisions_of_the_report_and_the_counters_are_the_same(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    foods = ("olives", "lentils", "mangoes", "noodles", "dates", "figs")
    for food in foods:
        talking.say(f"i enjoy {food}")
    model_server.answer(
        extracted(
            *((f"User enjoys {food}.", f"enjoy {food}") for food in foods[:4]),
            ("She enjoys dates.", "enjoy dates"),
            ("User enjoys figs.", "enjoy figs"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["different"] * 10))
    report = talking.me.form("monday")
    counts = talking.me.counters().counts
    for action in Action:
        assert report.count(action) == counts.get(f"formation_{action.value}", 0)
