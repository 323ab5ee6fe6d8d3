"""What of a conversation is shown, and what only told in short."""

import json
from collections.abc import Callable

import pytest

from ricordo import InvalidValue, Memory, ScopeWidened, ThreadNotFound, UserMemory
from ricordo.conversation.service import MAX_PROVISIONAL_TURNS
from ricordo.limits import MAX_BRIDGE_CHARS, MAX_COMPACTION_CHARS, MAX_DAY_LOG_CHARS
from ricordo.model.record import plain
from ricordo.model.thread import EXTRACT
from ricordo.testing import ManualClock
from tests.conversation.conftest import THREAD, Talk
from tests.support.commandline import Ran, ricordo

pytestmark = pytest.mark.requirement("conversations.window")

OpenStore = Callable[..., Memory]


def test_a_conversation_that_does_not_exist_yet_has_an_empty_window(talk: Talk) -> None:
    for found in (talk.window("new"), talk.me.resume("new")):
        assert (found.thread_id, found.bridge, found.today, found.turns) == ("new", None, None, ())
        assert (found.compacted_to, found.is_provisional) == (0, False)
    assert talk.memory.users() == ()


@pytest.mark.requirement("conversations.compaction")
def test_the_turn_that_fills_the_window_has_the_oldest_fifteen_told_in_short(talk: Talk) -> None:
    talk.say("I love jazz music.")
    talk.go_on(18)
    assert talk.queued("compact") == 0
    found = talk.window()
    assert (found.bridge, found.is_provisional) == (None, False)
    assert found.turns == talk.me.turns(THREAD).items
    talk.go_on(1)
    assert talk.queued("compact") == 1
    talk.clock.advance(minutes=10)
    talk.memory.run_jobs()
    found = talk.window()
    assert talk.positions == [16, 17, 18, 19, 20]
    assert (found.compacted_to, found.is_provisional) == (15, False)
    assert found.bridge is not None
    assert "Bed number 2 gets 2 tulips." in found.bridge
    assert "Bed number 15 gets 15 tulips." in found.bridge
    assert "Bed number 16" not in found.bridge
    (entry,) = talk.me.day_log().entries
    assert (entry.thread_id, entry.made_by) == (THREAD, EXTRACT)
    assert "Bed number 15" in entry.summary
    assert any("jazz" in item.content for item in talk.me.list())


@pytest.mark.requirement("conversations.compaction")
def test_compaction_asks_for_forming_at_once_unless_forming_is_off(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    talk = Talk(open_store(backend_url, formation=False), clock)
    talk.go_on(20)
    talk.me.compact(THREAD)
    assert talk.queued("form") == 0
    forming = Talk(open_store(backend_url, formation_delay_seconds=3600), clock, user="ben")
    forming.go_on(10)
    forming.me.compact(THREAD)
    (job,) = [job for job in forming.memory.jobs(state="queued") if job.kind == "form"]
    assert job.run_at <= clock()


def test_where_compaction_lags_behind_the_rest_is_told_for_now(talk: Talk) -> None:
    talk.go_on(50)  # no job was run
    found = talk.window()
    assert talk.positions == list(range(31, 51))
    assert (found.compacted_to, found.is_provisional) == (30, True)
    assert found.bridge is not None
    assert len(found.bridge) <= MAX_BRIDGE_CHARS
    for number in (1, 16, 30):
        assert f"Bed number {number} gets" in found.bridge
    assert talk.window() == found  # the same each time
    assert talk.open_turns == 50  # looking changes nothing


def test_a_long_lag_is_told_within_bounds(talk: Talk) -> None:
    count = MAX_PROVISIONAL_TURNS + 100
    talk.me.observe(
        [{"role": "user", "content": f"Bed number {n} gets tulips."} for n in range(1, count + 1)],
        thread=THREAD,
    )
    found = talk.window()
    assert len(found.turns) == 20
    assert found.turns[0].position == found.compacted_to + 1
    assert found.bridge is not None
    assert found.bridge.startswith(
        f"({count - MAX_PROVISIONAL_TURNS - 20} turns that are not shown"
    )
    assert f"Bed number {found.compacted_to} gets" in found.bridge
    assert len(found.bridge) <= MAX_BRIDGE_CHARS


@pytest.mark.requirement("conversations.compaction")
def test_compacting_now_leaves_the_last_five(talk: Talk) -> None:
    talk.go_on(6)
    report = talk.me.compact(THREAD)
    assert (report.compactions, report.turns, report.open_turns) == (1, 1, 5)
    assert report.made_by == (EXTRACT,)
    again = talk.me.compact(THREAD)
    assert (again.compactions, again.turns, again.open_turns, again.made_by) == (0, 0, 5, ())
    talk.go_on(33)
    assert talk.me.compact(THREAD).compactions == 3  # 15, 15 and 3
    assert talk.positions == [35, 36, 37, 38, 39]
    with pytest.raises(ThreadNotFound):
        talk.me.compact("nowhere")


@pytest.mark.requirement("conversations.resume")
def test_resuming_gives_the_last_turns_the_bridge_and_what_else_was_said_today(talk: Talk) -> None:
    talk.say("The train to Porto leaves at nine.", "Noted.", thread="trip")
    for _ in range(5):
        talk.say("Nothing more.", thread="trip")
    talk.me.compact("trip")
    talk.go_on(12)
    found = talk.me.resume(THREAD)
    assert [turn.position for turn in found.turns] == [8, 9, 10, 11, 12]
    assert (found.compacted_to, found.is_provisional) == (7, False)
    assert found.bridge is not None
    assert "Bed number 8 gets" in found.bridge  # the conversation's first turn
    assert found.today is not None
    assert "The train to Porto leaves at nine." in found.today
    assert "trip]" in found.today
    assert "tulips" not in found.today  # that is in the bridge
    assert talk.me.resume(THREAD) == found


@pytest.mark.requirement("conversations.resume")
def test_today_has_the_newest_that_fits(talk: Talk) -> None:
    for number in range(10):
        thread = f"talk-{number}"
        talk.say(*[f"walk {number} led by hill {n} and " * 10 for n in range(10)], thread=thread)
        talk.me.compact(thread)
    today = talk.me.resume(THREAD).today
    assert today is not None
    assert len(today) <= MAX_DAY_LOG_CHARS
    shown = [number for number in range(10) if f"talk-{number}]" in today]
    assert shown == list(range(shown[0], 10))
    assert shown[0] > 0
    assert all(len(one.summary) <= MAX_COMPACTION_CHARS for one in talk.me.day_log().entries)


@pytest.mark.requirement("conversations.resume")
def test_days_end_at_the_midnight_of_the_time_zone(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    talk = Talk(open_store(backend_url, timezone="Asia/Tokyo"), clock)  # nine hours ahead
    clock.advance(hours=4)  # 16:00 UTC: 01:00 of the next day there
    talk.go_on(7)
    talk.me.compact(THREAD)
    assert talk.me.day_log("2026-01-01").entries == ()
    assert len(talk.me.day_log("2026-01-02").entries) == 1
    assert len(talk.me.day_log().entries) == 1
    assert "2026-01-02" in (talk.window().bridge or "")


def test_other_sizes_of_the_window(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    talk = Talk(open_store(backend_url, window_turns=4, window_kept_turns=3), clock)
    for _ in range(12):
        talk.go_on(1)
        talk.memory.run_jobs()
        assert len(talk.positions) <= 4
    assert talk.positions == [10, 11, 12]
    with pytest.raises(InvalidValue, match="window_kept_turns"):
        open_store(backend_url, window_turns=5, window_kept_turns=5)
    for zone in ("Atlantis", "", "../etc/passwd", "Europe"):
        if zone:
            with pytest.raises(InvalidValue, match="timezone"):
                open_store(backend_url, timezone=zone)


def test_who_is_bound_to_another_conversation_sees_nothing_of_it(talk: Talk) -> None:
    talk.go_on(30)
    bound = talk.me.narrow(thread="other")
    for call in (bound.window, bound.compact, bound.resume):
        with pytest.raises(ScopeWidened):
            call(THREAD)
    assert talk.me.narrow(thread=THREAD).window(THREAD) == talk.window()


def test_users_do_not_see_each_other_and_nothing_is_left_of_an_erased_one(
    talk: Talk, memory: Memory
) -> None:
    talk.go_on(30)
    talk.me.compact(THREAD)
    ben: UserMemory = memory.user("ben")
    assert ben.window(THREAD).bridge is None
    assert ben.day_log().entries == ()
    ben.observe([{"role": "user", "content": "Mine."}], thread=THREAD)
    assert ben.resume(THREAD).today is None
    memory.erase_user("ana")
    memory.run_jobs()
    assert talk.window().turns == ()
    assert talk.me.day_log().entries == ()
    assert memory.users() == ("ben",)


def test_a_day_is_a_date(talk: Talk) -> None:
    wrong: list[object] = ["2026-1-1", "tomorrow", "2026-02-30", "20260101", 5, talk.clock()]
    for day in wrong:
        with pytest.raises(InvalidValue, match="day"):
            talk.me.day_log(day)  # type: ignore[arg-type]
    assert talk.me.day_log(talk.clock().date()).day == "2026-01-01"


@pytest.mark.requirement("conversations.resume")
def test_what_else_was_said_today_is_shown_until_the_next_summary_or_day(talk: Talk) -> None:
    talk.say("The train leaves at nine.", thread="trip")
    talk.say(*["Fine."] * 6, thread="trip")
    talk.me.compact("trip")
    talk.go_on(3)
    assert talk.window().today is None  # never left off
    resumed = talk.me.resume(THREAD)
    assert resumed.today is not None
    assert talk.window() == resumed
    talk.go_on(16)
    assert talk.window().today == resumed.today
    talk.go_on(1)
    talk.memory.run_jobs()
    assert talk.window().today is None
    talk.clock.advance(days=1)
    talk.go_on(3, thread="new")
    assert talk.me.resume("new").today is None
    assert talk.me.day_log().entries == ()
    assert "nine" in talk.me.day_log("2026-01-01").entries[0].summary


Cli = Callable[..., Ran]


@pytest.fixture
def cli(backend_url: str, memory: Memory) -> Cli:
    def run(*arguments: object) -> Ran:
        return ricordo(*arguments, "--db", backend_url, "-u", "ana")

    return run


@pytest.mark.requirement("conversations.window")
@pytest.mark.requirement("cli.json")
def test_commands_answer_what_the_library_answers(cli: Cli, talk: Talk) -> None:
    talk.go_on(12)
    assert cli("window", THREAD, "--json").json == plain(talk.window())
    report = cli("compact", THREAD, "--json").json
    assert (report["compactions"], report["turns"], report["open_turns"]) == (1, 7, 5)
    assert cli("compact", THREAD).out == "Nothing to compact: 5 turns stay as they are.\n"
    assert cli("log", "--day", "2026-01-01", "--json").json == plain(talk.me.day_log())
    shown = cli("log", "--day", "2026-01-01").out
    assert "Bed number 1 gets 1 tulips." in shown
    resumed = cli("resume", THREAD, "--json").json
    assert resumed["bridge"] == talk.window().bridge
    assert len(resumed["turns"]) == 5
    assert "Up to turn 7, in short:\nuser, 2026-01-01: Bed number 1" in cli("window", THREAD).out
    assert "12. assistant (2026-01-01 12:12): Bed number 12" in cli("resume", THREAD).out


@pytest.mark.requirement("cli.errors")
def test_commands_refuse_what_the_library_refuses(cli: Cli, talk: Talk) -> None:
    missing = cli("compact", "nowhere", "--json")
    assert missing.code == 3
    assert json.loads(missing.err)["error"] == "ThreadNotFound"
    assert cli("log", "--day", "tomorrow").code == 2
    assert cli("window", "").code == 2
    assert cli("window", "nowhere").out == "Nothing was said in this conversation.\n"
    empty = cli("log", "--day", "2001-01-01")
    assert empty.out == "Nothing was put into a summary on 2001-01-01.\n"
