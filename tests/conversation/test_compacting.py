"""Compaction with a language model, its faults, and others who compact at the same time."""

import threading
from collections.abc import Callable

import pytest

from ricordo import Memory
from ricordo.errors import ModelUnavailable
from ricordo.formation.cleaning.injected import FENCE_END, FENCE_START
from ricordo.limits import (
    MAX_BRIDGE_CHARS,
    MAX_COMPACTION_CHARS,
    MAX_COMPACTIONS_PER_JOB,
    MAX_JOB_ATTEMPTS,
)
from ricordo.model.conversation import EXTRACT
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.conversation.conftest import THREAD, Talk

WithModel = Callable[..., Talk]
MODEL = "custom_http:scripted"


def told(number: int) -> dict[str, str]:
    return {"summary": f"Summary {number} of tulips.", "bridge": f"Bridge {number} of tulips."}


@pytest.mark.requirement("conversations.compaction")
def test_the_model_tells_the_stretch_and_carries_the_bridge_on(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    model_server.answer(told(1))
    model_server.answer(told(2))
    talk.go_on(35)
    talk.memory.run_jobs()
    found = talk.window()
    assert (found.bridge, found.compacted_to) == ("Bridge 2 of tulips.", 30)
    assert [one.summary for one in talk.me.day_log().entries] == [
        "Summary 1 of tulips.",
        "Summary 2 of tulips.",
    ]
    assert {one.made_by for one in talk.me.day_log().entries} == {MODEL}
    first, second = (asked[-1]["content"] for asked in model_server.asked)
    assert "Bed number 15 gets" in first
    assert "Bed number 16 gets" not in first
    assert "Bridge 1 of tulips." in second
    assert "Bed number 16 gets" in second
    assert "Bed number 15 gets" not in second


@pytest.mark.requirement("conversations.compaction")
def test_recalled_memory_and_secrets_are_neither_shown_nor_kept(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    recalled = f"{FENCE_START}\n- User loves plums.\n{FENCE_END}"
    talk.say(f"What shall I plant? {recalled}", f"Roses. {recalled}", "My password is hunter22.")
    talk.go_on(6)
    model_server.answer(
        {
            "summary": f"They spoke of roses. {FENCE_START}plums{FENCE_END} My pin is 4711.",
            "bridge": "They spoke of roses. The password is hunter22.",
        }
    )
    talk.me.compact(THREAD)
    shown = model_server.asked[0][-1]["content"]
    assert "Roses." in shown
    for hidden in ("plums", "hunter22", "4711"):
        assert hidden not in shown
        assert hidden not in talk.me.day_log().entries[0].summary
        assert hidden not in (talk.window().bridge or "")
    assert talk.window().bridge == "They spoke of roses."


@pytest.mark.requirement("conversations.compaction")
def test_what_a_model_tells_is_cut_to_size(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    long = " ".join(f"Sentence number {number} tells something." for number in range(300))
    model_server.answer({"summary": long, "bridge": long})
    talk.go_on(8)
    talk.me.compact(THREAD)
    (entry,) = talk.me.day_log().entries
    assert 0 < len(entry.summary) <= MAX_COMPACTION_CHARS
    assert 0 < len(talk.window().bridge or "") <= MAX_BRIDGE_CHARS


@pytest.mark.requirement("conversations.compaction")
@pytest.mark.parametrize("fault", ["nonsense", "refusal", "html", "empty_summary"])
def test_a_model_without_a_usable_answer_is_done_without_at_once(
    with_model: WithModel, model_server: ModelServer, fault: str
) -> None:
    talk = with_model()
    if fault == "empty_summary":
        model_server.answer({"summary": "", "bridge": "..."})
    else:
        getattr(model_server, f"answer_{fault}")()
    talk.go_on(20)
    talk.memory.run_jobs()
    (entry,) = talk.me.day_log().entries
    assert entry.made_by == EXTRACT
    assert talk.positions == [16, 17, 18, 19, 20]


@pytest.mark.requirement("conversations.compaction")
def test_without_tokens_for_the_day_it_is_done_without(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model(model_daily_tokens=1_000)
    talk.go_on(20)
    talk.memory.run_jobs()
    assert model_server.asked == []
    assert [one.made_by for one in talk.me.day_log().entries] == [EXTRACT]


@pytest.mark.requirement("conversations.compaction")
def test_a_model_that_is_down_is_waited_for_but_not_for_ever(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    talk.go_on(20)
    model_server.fail_next(1_000, status=503)
    for attempt in range(1, MAX_JOB_ATTEMPTS + 1):
        assert talk.open_turns == 20
        found = talk.window()  # nothing is blocked meanwhile
        assert len(found.turns) == 20
        talk.memory.run_jobs()
        talk.clock.advance(days=1)
        if attempt == 1:
            (job,) = [job for job in talk.memory.jobs(state="queued") if job.kind == "compact"]
            assert "ModelUnavailable" in (job.last_error or "")
    assert talk.open_turns == 5
    assert [one.made_by for one in talk.me.day_log("2026-01-01").entries] == [EXTRACT]


@pytest.mark.requirement("conversations.compaction")
def test_turns_that_follow_do_not_press_a_model_that_is_down(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    model_server.fail_next(1_000, status=503)
    talk.go_on(20)
    talk.memory.run_jobs()
    asked = len(model_server.requests)
    (job,) = [job for job in talk.memory.jobs(state="queued") if job.kind == "compact"]
    talk.me.observe([{"role": "user", "content": "And more."}], thread=THREAD)
    assert talk.memory.run_jobs() == 0
    assert len(model_server.requests) == asked
    assert [one.run_at for one in talk.memory.jobs(state="queued") if one.id == job.id] == [
        job.run_at
    ]


@pytest.mark.requirement("conversations.compaction")
def test_what_was_compacted_before_the_model_went_down_stays(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    model_server.answer(told(1))
    talk.go_on(50)  # three stretches
    talk.memory.run_jobs()  # nothing more is scripted: status 500
    assert talk.window().bridge is not None
    assert talk.open_turns == 35
    model_server.answer(told(2))
    model_server.answer(told(3))
    talk.clock.advance(hours=1)
    talk.memory.run_jobs()
    assert talk.open_turns == 5
    assert [one.summary[:9] for one in talk.me.day_log().entries] == [
        "Summary 1",
        "Summary 2",
        "Summary 3",
    ]


@pytest.mark.requirement("conversations.resume")
def test_resuming_waits_for_no_dozen_of_answers(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    talk.go_on(100)
    found = talk.me.resume(THREAD)
    assert model_server.asked == []
    assert len(found.turns) == 5
    talk.go_on(3)
    model_server.answer(told(7))
    assert talk.me.resume(THREAD).bridge == "Bridge 7 of tulips."
    model_server.fail_next(1_000, status=503)
    talk.go_on(3)
    bridge = talk.me.resume(THREAD).bridge  # nor for a model that is down
    assert bridge is not None
    assert bridge.startswith("Bridge 7 of tulips.\n\n")


@pytest.mark.requirement("conversations.nothing-lost")
def test_somebody_else_who_is_faster_wins(
    with_model: WithModel, model_server: ModelServer, clock: ManualClock
) -> None:
    talk = with_model()
    talk.go_on(20)

    def meanwhile() -> None:
        model_server.before_answer = None
        talk.memory.parts.conversation._compactor.compact_all("ana", THREAD, asks_model=False)

    model_server.before_answer = meanwhile
    model_server.answer(told(1))
    talk.memory.run_jobs()
    entries = talk.me.day_log().entries
    assert [one.made_by for one in entries] == [EXTRACT]
    assert talk.positions == [16, 17, 18, 19, 20]


@pytest.mark.requirement("conversations.nothing-lost")
def test_a_user_erased_meanwhile_stays_erased(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    talk.go_on(20)

    def meanwhile() -> None:
        model_server.before_answer = None
        talk.memory.erase_user("ana")

    model_server.before_answer = meanwhile
    model_server.answer(told(1))
    talk.memory.run_jobs()
    assert talk.memory.users() == ()
    assert talk.me.day_log().entries == ()


@pytest.mark.requirement("conversations.nothing-lost")
def test_another_conversation_of_the_same_name_is_not_told_by_the_former(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    talk.go_on(20)

    def meanwhile() -> None:
        model_server.before_answer = None
        talk.memory.erase_user("ana")
        talk.me.observe(
            [{"role": "user", "content": f"Ship {n} sails."} for n in range(20)], thread=THREAD
        )

    model_server.before_answer = meanwhile
    model_server.answer(told(1))
    model_server.answer({"summary": "Ships.", "bridge": "Ships."})
    talk.memory.run_jobs()
    assert [one.summary for one in talk.me.day_log().entries] == ["Ships."]


@pytest.mark.requirement("conversations.nothing-lost")
def test_many_who_compact_at_once_tell_each_turn_once(talk: Talk) -> None:
    talk.go_on(80)
    failures: list[BaseException] = []

    def compact() -> None:
        try:
            talk.me.compact(THREAD)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=compact) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert len(talk.me.day_log().entries) == 5
    assert talk.positions == [76, 77, 78, 79, 80]


@pytest.mark.requirement("conversations.compaction")
def test_a_job_does_so_much_at_most_and_leaves_the_rest_to_another(talk: Talk) -> None:
    turns = 15 * MAX_COMPACTIONS_PER_JOB + 40
    for start in range(0, turns, 1_000):
        numbers = range(start, min(start + 1_000, turns))
        said = [{"role": "user", "content": f"n{number}"} for number in numbers]
        talk.me.observe(said, thread=THREAD)
    queue = talk.memory.runner
    (job,) = [job for job in talk.memory.jobs(state="queued") if job.kind == "compact"]
    assert queue.run_one(job.id)
    assert talk.open_turns == 40
    assert talk.queued("compact") == 1
    talk.memory.run_jobs()
    assert talk.open_turns == 10


def test_a_patient_teller_lets_the_caller_know(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talk = with_model()
    talk.go_on(20)
    model_server.fail_next(1_000, status=503)
    conversation = talk.memory.parts.conversation
    with pytest.raises(ModelUnavailable):
        conversation.compact_full("ana", THREAD, print, is_last_attempt=False)
    conversation.compact_full("ana", THREAD, print, is_last_attempt=True)
    assert talk.open_turns == 5


def test_the_store_knows_the_job(memory: Memory) -> None:
    assert "compact" in memory.runner.kinds
