"""When conversations are formed: which jobs there are, when they run, and how they end."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from ricordo import Action, Job, LanguageModelError, Memory
from ricordo.formation.scheduling import FORM_JOB, SUMMARY_JOB, SWEEP_JOB
from ricordo.limits import MAX_JOB_ATTEMPTS, MAX_THREADS_PER_SWEEP
from ricordo.storage.tables import jobs as job_rows
from ricordo.storage.tables import metadata
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking
from tests.support.scripted_model import read_tastes

LATER = {"Retry-After": "3600"}  # the client gives up at once


def jobs(talking: Talking, kind: str, state: str | None = "queued") -> list[Job]:
    return [job for job in talking.memory.jobs(state=state, limit=1000) if job.kind == kind]


def tables_with(memory: Memory, user_id: str) -> list[str]:
    """The tables that still have a row of a user."""
    with memory.database.read_all() as view:
        return [
            table.name
            for table in metadata.sorted_tables
            if "user_id" in table.c
            and view.connection.execute(
                sa.select(sa.func.count()).where(table.c.user_id == user_id)
            ).scalar_one()
        ]


def lose_jobs(talking: Talking, kind: str = FORM_JOB) -> None:
    with talking.memory.database.transaction() as connection:
        connection.execute(sa.delete(job_rows).where(job_rows.c.kind == kind))


def behind(talking: Talking, *threads: str) -> dict[str, int]:
    """How many turns of conversations have not been formed."""
    with talking.memory.database.read_all() as view:
        rows = view.connection.exec_driver_sql(
            "SELECT t.thread_id, t.turn_count - COALESCE(f.formed_position, 0) FROM threads t"
            " LEFT JOIN formation f ON f.user_id = t.user_id AND f.thread_id = t.thread_id"
        ).all()
    return {thread: count for thread, count in rows if not threads or thread in threads}


@pytest.mark.requirement("formation.debounce")
def test_many_turns_make_one_job(talking: Talking) -> None:
    for text in ("I love jazz", "and more", "and more of it"):
        talking.me.observe([{"role": "user", "content": text}], thread="monday")
    (job,) = jobs(talking, FORM_JOB)
    assert job.run_at == talking.clock() + timedelta(seconds=10)
    talking.clock.advance(seconds=10)
    talking.run_jobs()
    assert talking.known == ["User loves jazz."]
    assert jobs(talking, FORM_JOB) == []


@pytest.mark.requirement("formation.debounce")
def test_waiting_for_silence_is_no_attempt(talking: Talking) -> None:
    talking.me.observe([{"role": "user", "content": "I love jazz"}], thread="monday")
    for _ in range(11):
        talking.clock.advance(seconds=5)
        talking.me.observe([{"role": "user", "content": "and more"}], thread="monday")
        talking.run_jobs()
        (job,) = jobs(talking, FORM_JOB)
        assert job.attempts == 0
        assert job.run_at > talking.clock()
    assert talking.known == []
    talking.clock.advance(seconds=5)  # a minute: now it is formed whether it is silent or not
    talking.run_jobs()
    assert talking.known == ["User loves jazz."]


@pytest.mark.requirement("formation.new-thread")
def test_a_new_conversation_wakes_a_bounded_number_of_others(talking: Talking) -> None:
    for number in range(MAX_THREADS_PER_SWEEP + 5):
        talking.me.observe([{"role": "user", "content": "hello"}], thread=f"t-{number}")
        talking.clock.advance(seconds=1)
    lose_jobs(talking)
    talking.me.observe([{"role": "user", "content": "hello"}], thread="new")
    woken = [job for job in jobs(talking, FORM_JOB) if job.unique_key != "new"]
    assert len(woken) == MAX_THREADS_PER_SWEEP
    assert {job.run_at for job in woken} == {talking.clock()}
    assert "t-0" in {job.unique_key for job in woken}  # the longest silent first


@pytest.mark.requirement("formation.new-thread")
def test_what_others_say_wakes_nobody_elses_conversations(talking: Talking) -> None:
    talking.say("I love jazz", thread="old")
    lose_jobs(talking)
    talking.memory.user("ben").observe([{"role": "user", "content": "hello"}], thread="new")
    assert [(job.user_id, job.unique_key) for job in jobs(talking, FORM_JOB)] == [("ben", "new")]


@pytest.mark.requirement("formation.stale")
def test_the_sweep_ends_with_what_there_is_to_sweep(talking: Talking) -> None:
    talking.say("I love jazz")
    talking.clock.advance(minutes=31)
    talking.run_jobs()
    assert behind(talking) == {"monday": 0}
    talking.clock.advance(minutes=31)
    talking.run_jobs()
    assert jobs(talking, SWEEP_JOB) == []
    talking.say("I love tea")
    (again,) = jobs(talking, SWEEP_JOB)
    assert again.run_at == talking.clock() + timedelta(minutes=30)


@pytest.mark.requirement("formation.stale")
def test_the_sweep_never_runs_hot(with_model: Callable[..., Talking]) -> None:
    """With a model that never answers there is always something left to form."""
    talking = with_model(model_daily_tokens=0)
    talking.say("I love jazz")
    sweeps = 0
    for _ in range(60):
        talking.clock.advance(minutes=1)
        assert talking.run_jobs() < 5
        (following,) = jobs(talking, SWEEP_JOB)
        assert following.run_at > talking.clock()
        sweeps = len(jobs(talking, SWEEP_JOB, "done"))
    assert 1 <= sweeps <= 7


@pytest.mark.requirement("formation.stale")
def test_the_sweep_leaves_jobs_that_wait_as_they_are(with_model: Callable[..., Talking]) -> None:
    """What waits for tomorrow's budget, or for its next try, is not tried every few minutes."""
    talking = with_model(model_daily_tokens=0)
    talking.say("I love jazz")
    talking.clock.advance(seconds=10)
    talking.run_jobs()
    (waiting,) = jobs(talking, FORM_JOB)
    assert waiting.run_at - talking.clock() > timedelta(hours=10)
    for _ in range(5):
        talking.clock.advance(hours=1)
        talking.run_jobs()
    assert [job.run_at for job in jobs(talking, FORM_JOB)] == [waiting.run_at]
    skipped = [event for event in talking.me.events(limit=100) if event.op == "read"]
    assert len(skipped) == 1


@pytest.mark.requirement("formation.stale")
def test_conversations_that_fail_do_not_keep_the_sweep_from_others(
    with_model: Callable[..., Talking],
) -> None:
    talking = with_model(model_daily_tokens=0)
    for number in range(MAX_THREADS_PER_SWEEP):
        talking.me.observe([{"role": "user", "content": "I love jazz"}], thread=f"t-{number}")
    talking.clock.advance(minutes=1)
    talking.run_jobs()
    talking.memory.user("ben").observe([{"role": "user", "content": "hello"}], thread="last")
    lost = sa.and_(job_rows.c.kind == FORM_JOB, job_rows.c.user_id == "ben")
    with talking.memory.database.transaction() as connection:
        connection.execute(sa.delete(job_rows).where(lost))
    for _ in range(8):
        talking.clock.advance(minutes=10)
        talking.run_jobs()
    assert behind(talking, "last") == {"last": 0} or "ben" in {
        job.user_id for job in jobs(talking, FORM_JOB)
    }


@pytest.mark.requirement("formation.once")
def test_what_is_said_during_formation_is_formed_after_it(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer_with(read_tastes)
    more = ["I love tea"]

    def go_on() -> None:
        if more:
            talking.say(more.pop())

    model_server.before_answer = go_on
    talking.say("I love jazz")
    report = talking.me.form("monday")
    assert talking.known == ["User loves jazz.", "User loves tea."]
    assert report.turns == 2
    assert report.count(Action.ADD) == 2
    assert report.count(Action.REJECT) == 0  # no turn was read as new twice
    assert behind(talking) == {"monday": 0}
    asked = len(model_server.asked)
    talking.clock.advance(minutes=1)
    talking.run_jobs()  # the job that the new turn has queued finds nothing to read
    assert [body for body in model_server.asked[asked:] if "=== turn" in str(body)] == []


@pytest.mark.requirement("formation.once")
def test_a_job_during_which_something_is_said_leaves_one_more_job(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.fail_next(1, status=503, headers=LATER)
    model_server.before_answer = lambda: talking.say("I love tea")
    talking.say("I love jazz")
    talking.clock.advance(seconds=10)
    talking.run_jobs()
    model_server.before_answer = None
    assert len(jobs(talking, FORM_JOB)) == 1  # the failed one leaves its work to the newer one
    model_server.answer_with(read_tastes)
    talking.clock.advance(minutes=1)
    talking.run_jobs()
    assert talking.known == ["User loves jazz.", "User loves tea."]
    assert [event.status for event in talking.me.events() if event.op == "read"] == ["error"]


@pytest.mark.requirement("formation.isolation")
def test_jobs_of_an_erased_user_end_quietly(talking: Talking) -> None:
    talking.say("I love jazz", "I live in Bekasi")
    talking.me.form("monday")
    talking.say("I love tea")
    with talking.memory.database.read_all() as view:
        kept = [dict(row) for row in view.connection.execute(sa.select(job_rows)).mappings()]
    assert {row["kind"] for row in kept if row["user_id"] == "ana"} >= {FORM_JOB, SUMMARY_JOB}
    talking.memory.erase_user("ana")
    with talking.memory.database.transaction() as connection:  # as if they had just been taken
        connection.execute(sa.insert(job_rows), [row for row in kept if row["user_id"] == "ana"])
    talking.clock.advance(days=30)
    talking.run_jobs()
    states = {job.state for job in talking.memory.jobs(limit=1000) if job.user_id == "ana"}
    assert states == {"done"}
    assert set(tables_with(talking.memory, "ana")) <= {"jobs"}
    assert talking.memory.users() == ()


@pytest.mark.requirement("formation.isolation")
@pytest.mark.parametrize("fault", [None, "fails", "refuses the schema"])
def test_a_user_erased_while_the_model_reads_does_not_come_back(
    with_model: Callable[..., Talking], model_server: ModelServer, fault: str | None
) -> None:
    talking = with_model()
    talking.say("I love jazz")
    model_server.before_answer = lambda: erase(talking)
    if fault is None:
        model_server.answer_with(read_tastes)
    elif fault == "fails":
        model_server.fail_next(1, status=503, headers=LATER)
    else:
        model_server.refuse_schema()
        model_server.answer_with(lambda _: {"memories": []})
    talking.clock.advance(minutes=1)
    talking.run_jobs()
    assert len(model_server.asked) >= 1
    assert tables_with(talking.memory, "ana") == []


@pytest.mark.requirement("formation.isolation")
def test_a_user_erased_while_the_summary_is_written_does_not_come_back(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer_with(read_tastes)
    talking.form("I love jazz")
    model_server.before_answer = lambda: erase(talking)
    talking.run_jobs()
    assert "Somebody" not in str(talking.me.summary())
    assert tables_with(talking.memory, "ana") == []


@pytest.mark.requirement("formation.isolation")
def test_a_user_erased_during_a_call_to_form_does_not_come_back(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    talking = with_model()
    talking.say("I love jazz")
    model_server.fail_next(1, status=503, headers=LATER)
    model_server.before_answer = lambda: erase(talking)
    with pytest.raises(LanguageModelError):
        talking.me.form("monday")
    assert tables_with(talking.memory, "ana") == []


@pytest.mark.requirement("formation.faults")
def test_what_is_forgotten_while_the_summary_is_written_is_not_told(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer_with(read_tastes)
    talking.form("I love jazz", "I love tea")
    first = talking.me.list(contains="jazz").items[0]
    forgotten = iter([first.id])

    def forget() -> None:
        for one in forgotten:
            talking.me.forget(one)

    model_server.before_answer = forget
    model_server.answer_with(lambda _: "Loves jazz and tea.")
    talking.run_jobs()
    summary = talking.me.summary()
    assert summary is not None
    assert "jazz" not in summary.content
    assert "tea" in summary.content


def erase(talking: Talking) -> None:
    if "ana" in talking.memory.users():
        talking.memory.erase_user("ana")


@pytest.mark.requirement("formation.stale")
def test_a_conversation_that_is_gone_is_no_error(talking: Talking) -> None:
    talking.say("I love jazz", thread="kept")
    talking.say("I love tea", thread="gone")
    with talking.memory.database.transaction() as connection:
        for table in ("formation", "turn_index", "turns", "threads"):
            if "thread_id" in metadata.tables[table].c:
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE thread_id = 'gone'")
    talking.clock.advance(hours=1)
    talking.run_jobs()
    assert talking.known == ["User loves jazz."]
    assert {job.state for job in talking.memory.jobs() if job.unique_key == "gone"} == {"done"}


@pytest.mark.requirement("formation.debounce")
def test_formation_that_is_off_queues_nothing(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    talking = Talking(open_store(backend_url, formation=False), clock)
    talking.say("I love jazz", thread="one")
    talking.say("I love tea", thread="two")
    assert talking.memory.jobs() == ()
    talking.form(thread="one")
    assert [job.kind for job in talking.memory.jobs()] == [SUMMARY_JOB]
    clock.advance(days=1)
    talking.run_jobs()
    assert behind(talking) == {"one": 0, "two": 1}


@pytest.mark.requirement("formation.faults")
def test_a_dead_job_is_kept_once(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    """The sweep brings a conversation back whose job has died; the dead do not pile up."""
    talking = with_model(model_daily_tokens=10_000_000)
    model_server.fail_next(1_000, status=503, headers=LATER)
    talking.say("I love jazz")
    for _ in range(2 * MAX_JOB_ATTEMPTS + 6):
        talking.clock.advance(hours=1)
        talking.run_jobs()
    (dead,) = jobs(talking, FORM_JOB, "dead")
    assert dead.attempts == MAX_JOB_ATTEMPTS
    assert "503" in (dead.last_error or "")
    assert len(jobs(talking, FORM_JOB)) == 1
