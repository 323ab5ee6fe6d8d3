"""What formation tells of itself: the decision log, events and counters, and no memory in them."""

import json
import logging

import pytest

from ricordo import Action, EventStatus, Item
from tests.formation.conftest import Talking, extracted, judged


def decision_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name == "ricordo.decisions"
    ]


def everything_logged(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter()
    return "\n".join(formatter.format(record) for record in caplog.records)


SAID = "i paint large ships on weekdays, i have diabetes, and i enjoy quinces"
WORDS = ("paint", "boats", "ships", "diabetes", "quinces", "zeppelin", "lorry", "hidden_hobby")


def live(doubter: Talking) -> Item:
    """Say what is replaced, proposed and turned away twice; what was known before."""
    old = doubter.me.add("User paints small boats on weekends.", theme="life")
    doubter.clock.advance(days=1)
    doubter.server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User has diabetes.", "have diabetes"),
            ("I enjoy quinces.", "enjoy quinces"),
            ("User owns a zeppelin.", "own a zeppelin"),
        )
    )
    doubter.server.answer_with(lambda _body: judged(*["contradiction"] + ["different"] * 9))
    doubter.say(SAID)
    return doubter.me.get(old.id)


@pytest.mark.requirement("observability.decisions")
def test_a_run_is_one_line_with_every_decision(
    doubter: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    old = live(doubter)
    report = doubter.me.form("monday")
    (line,) = decision_lines(caplog)
    assert line["event"] == "memory_decision"
    assert line["read_by"] == "custom_http:scripted"
    assert (line["turns"], line["input_chars"]) == (1, len(SAID))
    shown = line["decisions"]
    assert isinstance(shown, list)
    assert line["extracted_count"] == len(shown) == len(report.decisions) == 4
    assert [one["action"] for one in shown] == [one.action for one in report.decisions]
    assert {one["reason"] for one in shown} >= {"not_third_person", "no_evidence"}
    by_action = {one["action"]: one for one in shown}
    assert by_action["replace"]["target_id"] == old.id
    assert 0 < by_action["replace"]["similarity"] <= 1
    assert by_action["propose"]["proposal_id"] == doubter.me.proposals().items[0].id
    counts = doubter.me.counters().counts
    for action in Action:
        assert report.count(action) == counts.get(f"formation_{action.value}", 0)


@pytest.mark.requirement("observability.decisions")
def test_no_log_and_no_event_says_what_memories_say(
    doubter: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="ricordo")
    live(doubter)
    doubter.clock.advance(minutes=1)
    doubter.run_jobs()
    assert doubter.known == ["User paints large ships on weekdays."]
    doubter.server.answer(extracted(("User drives a lorry.", "drive a lorry"), key="hidden_hobby"))
    doubter.form("i drive a lorry")
    told = (everything_logged(caplog) + doubter.rows("events")).lower()
    assert "memory_decision" in told
    assert [word for word in WORDS if word in told] == []


@pytest.mark.requirement("observability.decisions")
@pytest.mark.parametrize(
    "wrong",
    [
        "User enjoys zeppelins.",
        '{"memories": [{"content": "User enjoys zeppelins.", "type": "zeppelins"}]}',
        pytest.param('{"zeppelins": 1}', marks=pytest.mark.matrix),
    ],
)
def test_not_even_a_wrong_answer_is_logged(
    reader: Talking, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="ricordo")
    reader.server.answer(wrong, times=3)
    reader.say("i enjoy zeppelins")
    reader.clock.advance(minutes=1)
    reader.run_jobs()
    (job,) = reader.jobs("form")
    assert job.last_error is not None
    logged = everything_logged(caplog)
    assert "failed" in logged
    assert "zeppelin" not in logged
    assert "zeppelin" not in job.last_error
    assert decision_lines(caplog) == []  # it has decided nothing


@pytest.mark.requirement("observability.decisions")
def test_a_log_line_names_nobody(talking: Talking, caplog: pytest.LogCaptureFixture) -> None:
    """Logs are kept longer than users are: erasing one cannot reach them."""
    caplog.set_level(logging.INFO, logger="ricordo.decisions")
    for user, thread in (("ana@example.org", "t"), ("ben", "t"), ("ana@example.org", "ben")):
        other = talking.memory.user(user)
        other.observe([{"role": "user", "content": "I love jazz"}], thread=thread)
        other.form(thread)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 3 and not [line for line in said if "ana" in line or "ben" in line]
    ana, ben, again = decision_lines(caplog)
    assert ana["user"] == again["user"] != ben["user"]
    assert len({ana["thread"], ben["thread"], again["thread"]}) == 3


@pytest.mark.requirement("observability.decisions")
def test_each_stretch_has_its_line_and_nothing_new_has_none(
    talking: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ricordo.decisions")
    talking.say("I love jazz music", thread="one")
    talking.say('what about "quotes" \\ and ünïcode\u2028?', thread='thread "two" ü')
    talking.me.form()
    lines = decision_lines(caplog)
    assert len({line["thread"] for line in lines}) == len(lines) == 2
    assert [line["read_by"] for line in lines] == ["rules", "rules"]
    assert all(len(record.getMessage().splitlines()) == 1 for record in caplog.records)
    talking.me.form()
    assert len(decision_lines(caplog)) == 2


@pytest.mark.requirement("observability.events")
def test_every_decision_is_an_event(doubter: Talking) -> None:
    old = live(doubter)
    doubter.me.form("monday")
    found = {event.op: event for event in doubter.me.events()}
    assert set(found) == {"replace", "propose", "reject"}
    replaced = found["replace"]
    assert (replaced.node, replaced.status, replaced.thread_id, replaced.at) == (
        "formation",
        EventStatus.OK,
        "monday",
        doubter.clock(),
    )
    assert replaced.item_id == doubter.me.list().items[0].id != old.id
    assert replaced.similarity is not None
    assert 0 < replaced.similarity <= 1
    assert found["propose"].item_id == doubter.me.proposals().items[0].id

    new = ("User paints large ships on weekdays.", "paint large ships on weekdays")
    doubter.server.answer(extracted(new))
    doubter.form("i paint large ships on weekdays")
    ignored = doubter.me.events(limit=1).items[0]
    assert (ignored.op, ignored.status, ignored.detail) == (
        "ignore",
        EventStatus.SKIPPED,
        "known already",
    )


@pytest.mark.requirement("observability.events")
def test_an_audit_lists_decisions_with_what_is_kept_of_them(talking: Talking) -> None:
    talking.form("I love olives", thread="sunday")
    for text in ("I'm allergic to eggs", "Remember: the launch phrase", "I'm allergic to eggs"):
        talking.form(text)
    (memory,), (proposal,) = talking.me.list(), talking.me.proposals()
    shown = [
        (one.thread_id, one.action.value, one.reason, one.item_id, one.content)
        for one in talking.me.audit().decisions
    ]
    eggs = "User is allergic to eggs."
    assert shown == [
        ("monday", "ignore", "proposed already", proposal.id, eggs),
        ("monday", "reject", "not_understood", None, None),
        ("monday", "propose", "sensitive: waits for consent", proposal.id, eggs),
        ("sunday", "add", "new", memory.id, "User loves olives."),
    ]
    refused = talking.me.audit(thread="monday", action="reject", limit=1).decisions
    assert [one.action for one in refused] == [Action.REJECT]
    assert talking.me.audit(thread="sunday", action="reject").decisions == ()
    assert [event.op for event in talking.me.events(thread="sunday")] == ["add"]
    talking.me.reject(proposal.id)
    assert {one.content for one in talking.me.audit(thread="monday").decisions} == {None}


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
    ben = talking.other("ben")
    ben.form("I love olives")
    assert ben.me.counters().counts["formation_add"] == 1
    everybody = talking.memory.counters()
    assert (everybody.counts["formation_add"], everybody.memory_total_count) == (4, 4)
    talking.memory.erase_user("ben")
    assert talking.memory.counters().counts["formation_add"] == 3
    assert dict(ben.me.counters().counts) == {}


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
