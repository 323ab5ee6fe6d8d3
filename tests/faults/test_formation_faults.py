"""Formation with a model that is down, and in processes that die: nothing lost, nothing twice."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pytest
import sqlalchemy as sa

from ricordo import EventStatus, Memory
from ricordo.formation.schedule import FORM_JOB
from ricordo.model.activity import FORMED_WRITES
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.storage.tables import formation, threads
from ricordo.testing import ManualClock
from tests.support import processes
from tests.support.brokers import free_port
from tests.support.endpoints import FaultyModel
from tests.support.scripted_model import read_tastes
from tests.support.soundness import problems_of

USERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ana": {"one": ("jazz", "tea"), "two": ("chess",)},
    "ben": {"one": ("opera", "rain")},
}
FOODS = (  # none of them resembles another, which would say nothing new
    *("olives", "tofu", "walnuts", "honey", "basil", "garlic", "celery", "mustard", "oysters"),
    *("cinnamon", "yogurt", "lentils", "figs", "cocoa", "salmon", "quinoa", "rhubarb", "pumpkin"),
    *("vanilla", "spinach", "kiwis", "cashews", "barley", "lobster", "ginger", "plums"),
    *("mushrooms", "dill", "fennel", "saffron", "coconut", "raspberries", "zucchini", "artichokes"),
    *("molasses", "kohlrabi", "nutmeg", "oregano", "beetroot", "hazelnuts", "eggs", "chickpeas"),
    *("mangoes", "lemons", "papaya", "peppers", "cabbage", "onions", "chocolate", "cheese"),
    *("turnips", "licorice", "marzipan", "popcorn", "sesame", "rice", "cucumbers", "carrots"),
    *("tomatoes", "bananas", "grapes", "sauerkraut", "asparagus", "cherries"),
)
LATER = {"Retry-After": "3600"}  # the client gives up at once


@pytest.fixture
def model_server() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        server.answer_with(read_tastes)
        yield server


Open = Callable[..., Memory]


@pytest.fixture
def open_with_model(
    backend_url: str, open_store: Callable[..., Memory], model_server: FaultyModel
) -> Open:
    def open_one(**settings: object) -> Memory:
        chosen = {"model_base_url": model_server.base_url, **settings}
        return open_store(
            backend_url, model_provider="custom_http", model_name="scripted", **chosen
        )

    return open_one


def talk(memory: Memory) -> None:
    for user, conversations in USERS.items():
        for thread, tastes in conversations.items():
            messages = [{"role": "user", "content": f"I love {taste}"} for taste in tastes]
            memory.user(user).observe(messages, thread=thread)


def formed(memory: Memory) -> dict[tuple[str, str], tuple[int, int]]:
    """How many turns each conversation has, and up to where it is formed."""
    joined = threads.outerjoin(
        formation,
        sa.and_(
            formation.c.user_id == threads.c.user_id, formation.c.thread_id == threads.c.thread_id
        ),
    )
    columns = (threads.c.user_id, threads.c.thread_id, threads.c.turn_count)
    wanted = sa.select(*columns, formation.c.formed_position).select_from(joined)
    with memory.database.read_all() as view:
        return {(row[0], row[1]): (row[2], row[3]) for row in view.connection.execute(wanted)}


def is_formed(memory: Memory) -> bool:
    return all(turns == position for turns, position in formed(memory).values())


def known(memory: Memory, user: str) -> list[str]:
    return sorted(item.content for item in memory.user(user).list(limit=1000, status="any"))


def expected(user: str) -> list[str]:
    return sorted(f"User loves {taste}." for said in USERS[user].values() for taste in said)


def readings(server: FaultyModel, since: int = 0) -> int:
    """How many stretches the model was given to read."""
    return sum("=== turn" in str(messages) for messages in server.prompts[since:])


def run_for(memory: Memory, clock: ManualClock, minutes: int, step: int = 10) -> None:
    for _ in range(0, minutes, step):
        clock.advance(minutes=step)
        while memory.run_jobs():
            pass


def check_that_all_is_formed_once(memory: Memory, server: FaultyModel, since: int) -> None:
    for user in USERS:
        assert known(memory, user) == expected(user)
        assert len(memory.user(user).changes(limit=1000).changes) == len(expected(user))
        assert memory.user(user).counters().counts[FORMED_WRITES] == len(expected(user))
    assert is_formed(memory)
    assert readings(server, since) == 3  # one for each conversation
    assert problems_of(memory) == []


# -- a model that is down -------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def circuit_closes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The circuit breaker does not follow the clock of a test, which goes on by hours."""
    short = partial(CircuitBreaker, open_seconds=0.0)
    monkeypatch.setattr("ricordo.providers.http_client.CircuitBreaker", short)


def fail(server: FaultyModel) -> dict[str, object]:
    server.fail_next(10_000, status=500, headers=LATER)
    return {}


def hang(server: FaultyModel) -> dict[str, object]:
    server.hang_until(threading.Event())
    return {"model_deadline_seconds": 0.2}


def refuse(_server: FaultyModel) -> dict[str, object]:
    base_url = f"http://127.0.0.1:{free_port()}/v1"
    return {"model_base_url": base_url, "model_deadline_seconds": 0.2}


def talk_nonsense(server: FaultyModel) -> dict[str, object]:
    server.answer_nonsense()
    return {}


@pytest.mark.requirement("formation.faults")
@pytest.mark.slow
@pytest.mark.parametrize("fault", [fail, hang, refuse, talk_nonsense])
def test_a_model_that_is_down_for_an_hour_loses_nothing(
    open_with_model: Open,
    model_server: FaultyModel,
    clock: ManualClock,
    fault: Callable[[FaultyModel], dict[str, object]],
) -> None:
    settings = fault(model_server)
    memory = open_with_model(**settings)
    talk(memory)
    run_for(memory, clock, minutes=60, step=15)
    for user, conversations in USERS.items():
        assert known(memory, user) == []
        errors = [one for one in memory.user(user).events(limit=1000) if one.op == "read"]
        assert {one.status for one in errors} == {EventStatus.ERROR}
        assert {one.thread_id for one in errors} == set(conversations)
        failures = memory.user(user).counters().counts["formation_failures"]
        assert failures == len(errors) >= 2 * len(conversations)
    waiting = [job for job in memory.jobs(state="queued") if job.kind == FORM_JOB]
    assert len(waiting) == 3
    assert all(job.last_error and job.attempts > 1 for job in waiting)
    assert {position for _, position in formed(memory).values()} == {0}
    model_server.answer_rightly()
    since = len(model_server.prompts)
    if "model_base_url" in settings:
        memory = open_with_model()
    run_for(memory, clock, minutes=120, step=30)
    check_that_all_is_formed_once(memory, model_server, since)
    assert [job for job in memory.jobs(limit=1000) if job.state != "done"] == []


@pytest.mark.requirement("formation.faults")
def test_what_was_formed_before_the_model_failed_stays(
    open_with_model: Open, model_server: FaultyModel, clock: ManualClock
) -> None:
    """A long conversation is read in stretches; the fault meets the second."""
    memory = open_with_model(window_turns=100)  # the model is asked for nothing else
    ana = memory.user("ana")
    said = ["I love jazz"] + ["what time is it?"] * 60 + ["I love tea"]
    ana.observe([{"role": "user", "content": text} for text in said], thread="long")
    counted = iter(range(100))

    def fail_the_second() -> None:
        if next(counted) == 1:
            fail(model_server)

    model_server.before_answer = fail_the_second
    run_for(memory, clock, minutes=1, step=1)
    assert known(memory, "ana") == ["User loves jazz."]
    assert formed(memory) == {("ana", "long"): (62, 19)}
    model_server.answer_rightly()
    run_for(memory, clock, minutes=60, step=30)
    assert known(memory, "ana") == ["User loves jazz.", "User loves tea."]
    assert is_formed(memory)


@pytest.mark.chaos
@pytest.mark.requirement("formation.faults")
def test_a_process_killed_at_any_command_to_the_database_leaves_all_or_nothing(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    """Every conversation is formed by one that dies a bit later than the one before it."""
    settings = {"embedding_provider": "none", "formation_daily_writes": 1000}
    memory = open_store(backend_url, embedder=None, **settings)
    ana = memory.user("ana")
    was_killed = True
    told: list[str] = []
    while was_killed:
        at_command = len(told) * 5 + 1
        thread = FOODS[len(told)]
        told.append(thread)
        said = [
            f"I love {thread}",
            f"I am allergic to {thread}",
            f"I work as a {('nurse', 'teacher')[len(told) % 2]}",
        ]
        messages = [{"role": "user", "content": text} for text in said]
        ana.observe(messages, thread=thread)
        before = ana.revision()
        was_killed = processes.killed_former(backend_url, thread, at_command)
        turns, position = formed(memory)["ana", thread]
        has_changed = ana.revision() > before
        assert (position, has_changed) in {(0, False), (turns, True)}
        assert len(ana.list(contains=f"loves {thread}")) == has_changed
        assert was_killed or has_changed
    assert len(told) > 10
    ana.form()
    assert is_formed(memory)
    contents = [item.content for item in ana.list(limit=1000)]
    loved = [text for text in contents if "loves" in text]
    assert sorted(loved) == sorted(f"User loves {food}." for food in told)
    assert len(contents) == len(loved) + 1  # and what the user works as
    proposed = sorted(one.content or "" for one in ana.proposals(limit=1000))
    assert proposed == sorted(f"User is allergic to {food}." for food in told)
    assert problems_of(memory) == []


@pytest.mark.slow
@pytest.mark.requirement("formation.faults")
def test_a_model_that_is_down_for_two_days_loses_nothing(
    open_with_model: Open, model_server: FaultyModel, clock: ManualClock
) -> None:
    """Jobs die in that time; the sweep brings their conversations back."""
    memory = open_with_model(model_daily_tokens=100_000_000)
    fail(model_server)
    talk(memory)
    run_for(memory, clock, minutes=2 * 24 * 60, step=120)
    dead = [job for job in memory.jobs(state="dead", limit=1000) if job.kind == FORM_JOB]
    assert sorted((job.user_id, job.unique_key) for job in dead) == sorted(formed(memory))
    assert all("500" in (job.last_error or "") for job in dead)
    assert {position for _, position in formed(memory).values()} == {0}
    model_server.answer_rightly()
    since = len(model_server.prompts)
    run_for(memory, clock, minutes=120, step=30)
    check_that_all_is_formed_once(memory, model_server, since)
    for job in dead:  # somebody who sees them tries them again: no harm
        memory.retry_job(job.id)
    run_for(memory, clock, minutes=60, step=30)
    check_that_all_is_formed_once(memory, model_server, since)
