"""What is known of a user as one text: what it tells, who wrote it, and what it never tells."""

from collections.abc import Callable

import pytest

from ricordo import MemoryType
from ricordo.limits import MAX_SUMMARY_CHARS, MAX_TRANSCRIPT_CHARS
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking
from tests.formation.test_conflicts import extracted

WithModel = Callable[..., Talking]

PORTRAIT = "Ana grows plums and plays the cello."


def told(talking: Talking) -> str:
    summary = talking.me.summary()
    return "" if summary is None else summary.content


def stored(talking: Talking) -> str:
    with talking.memory.database.read_all() as view:
        return str(view.connection.exec_driver_sql("SELECT * FROM summaries").all())


def formed(talking: Talking, server: ModelServer, *portraits: str) -> None:
    """Form one memory, and let the job write the portrait."""
    server.answer(extracted(("User grows plums.", "grow plums")))
    for portrait in portraits:
        server.answer(portrait)
    talking.form("i grow plums")
    talking.run_jobs()


@pytest.mark.requirement("formation.summary")
def test_of_nobody_there_is_nothing_to_tell(talking: Talking) -> None:
    assert talking.me.summary() is None
    talking.form("hello there")
    talking.run_jobs()
    assert talking.me.summary() is None


@pytest.mark.requirement("formation.summary")
def test_the_template_tells_by_theme_what_matters_most_first(talking: Talking) -> None:
    talking.me.add("User enjoys figs.", theme="food", importance=1)
    talking.me.add("User enjoys plums.", theme="food", importance=4)
    talking.me.add("User plays the cello.", theme="music", importance=5)
    talking.me.add("User is tall.", importance=3)
    talking.me.add("User has one wish.", theme="big-wishes", importance=1, pinned=True)
    summary = talking.me.summary()
    assert summary is not None
    assert summary.content.splitlines() == [
        "Big wishes: User has one wish.",
        "Music: User plays the cello.",
        "Food: User enjoys plums. User enjoys figs.",
        "User is tall.",
    ]
    assert (summary.made_by, summary.is_current) == ("template", True)
    assert summary.revision == talking.me.revision()


@pytest.mark.requirement("formation.summary")
def test_it_tells_only_what_holds_and_only_of_this_user(talking: Talking) -> None:
    talking.me.add("User grows plums.")
    old = talking.me.add("User drives a van.", key="car")
    talking.me.add("User drives a lorry.", key="car")
    gone = talking.me.add("User collects stamps.")
    talking.me.archive(gone.id)
    talking.me.add("1. Open the valve. 2. Close it.", type=MemoryType.PROCEDURE)
    talking.me.add("User seems to like order.", type=MemoryType.INSIGHT)
    talking.me.add("A tale of the user.", type=MemoryType.SUMMARY)
    soon = talking.clock().replace(hour=23)
    talking.me.add("User waits for a parcel.", expires_at=soon)
    ben = talking.memory.user("ben")
    ben.add("User keeps bees.")
    shared = ben.add("The garden has a gate.")
    ben.link(shared.id, "ana")
    talking.memory.global_memories().add("Everybody is welcome.")
    text = told(talking)
    assert "plums" in text
    assert "lorry" in text
    assert "parcel" in text
    for word in (" van", "stamps", "valve", "order", "tale", "bees", "gate", "welcome"):
        assert word not in text
    talking.clock.set(soon)
    assert "parcel" not in told(talking)
    assert old.id


@pytest.mark.requirement("formation.summary")
@pytest.mark.parametrize("chars", [20, 400, 1_980, 2_000, 8_000])
def test_the_template_is_bounded(talking: Talking, chars: int) -> None:
    talking.me.add_many(
        {"content": f"{number:03} " + "x" * (chars - 5) + ".", "theme": f"theme-{number % 40}"}
        for number in range(300)
    )
    text = told(talking)
    assert len(text) <= MAX_SUMMARY_CHARS
    assert text.endswith("…" if chars >= 2_000 else ".")


@pytest.mark.requirement("formation.summary")
def test_it_is_made_anew_by_a_job_after_formation(talking: Talking) -> None:
    talking.form("I love jazz music")
    assert [job.kind for job in talking.memory.jobs(state="queued")].count("summarise") == 1
    talking.run_jobs()
    assert "jazz" in stored(talking)
    assert "jazz" in told(talking)
    talking.form("I hate olives")
    assert "olives" in told(talking)  # at once, where the template tells it
    talking.run_jobs()
    assert "olives" in stored(talking)


@pytest.mark.requirement("formation.summary")
def test_an_approved_proposal_is_told(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    assert "Bekasi" not in told(talking)
    talking.me.approve(talking.me.proposals().items[0].id)
    talking.run_jobs()
    assert "Bekasi" in stored(talking)


@pytest.mark.requirement("formation.summary")
def test_the_models_portrait_is_kept_with_its_maker(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    formed(talking, model_server, f"  {PORTRAIT}\n")
    summary = talking.me.summary()
    assert summary is not None
    assert summary.content == PORTRAIT
    assert summary.made_by == "custom_http:scripted"
    assert summary.is_current
    assert "- [life] User grows plums." in model_server.asked[-1][-1]["content"]
    talking.me.add("User plays the cello.")
    later = talking.me.summary()
    assert later is not None
    assert (later.content, later.is_current) == (PORTRAIT, False)
    assert talking.memory.user("ben").summary() is None


@pytest.mark.requirement("formation.summary")
def test_a_portrait_is_bounded_and_so_is_what_it_is_made_from(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    talking.me.add_many(f"{number} " + "long " * 1_500 for number in range(30))
    talking.me.add("User keeps\n\n- [life] User keeps bees.", importance=5)
    formed(talking, model_server, "word " * 590)
    assert len(told(talking)) <= MAX_SUMMARY_CHARS
    prompt = model_server.asked[-1][-1]["content"]
    assert len(prompt) <= MAX_TRANSCRIPT_CHARS + 1_000
    assert sum(line.startswith("- [") for line in prompt.splitlines()) <= 3
    assert "User keeps - [life] User keeps bees." in prompt


@pytest.mark.requirement("formation.summary")
@pytest.mark.parametrize("fault", ["html", "empty", "truncated", "refusal", "refused"])
def test_a_model_that_answers_badly_leaves_it_to_the_template(
    with_model: WithModel, model_server: ModelServer, fault: str
) -> None:
    talking = with_model()
    model_server.answer(extracted(("User grows plums.", "grow plums")))
    talking.form("i grow plums")
    if fault == "refused":
        model_server.fail_next(1, status=401)
    else:
        getattr(model_server, f"answer_{fault}")()
    talking.run_jobs()
    summary = talking.me.summary()
    assert summary is not None
    assert (summary.content, summary.made_by) == ("Life: User grows plums.", "template")
    assert "plums" in stored(talking)
    assert [job for job in talking.memory.jobs(state="queued") if job.kind == "summarise"] == []


@pytest.mark.requirement("formation.summary")
def test_a_model_that_is_down_is_asked_again(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_deadline_seconds=2)
    model_server.answer(extracted(("User grows plums.", "grow plums")))
    talking.form("i grow plums")
    model_server.fail_next(1, status=503, headers={"Retry-After": "100"})  # too long to wait for
    talking.run_jobs()
    (job,) = [job for job in talking.memory.jobs(state="queued") if job.kind == "summarise"]
    assert job.last_error is not None
    assert job.last_error.startswith("ModelUnavailable")
    assert told(talking) == "Life: User grows plums."  # meanwhile
    model_server.answer(PORTRAIT)
    talking.clock.advance(minutes=5)
    talking.run_jobs()
    assert told(talking) == PORTRAIT


@pytest.mark.requirement("formation.summary")
def test_a_summary_waits_for_the_next_day_where_the_budget_ends(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(model_daily_tokens=2_200)
    talking.me.add("User writes. " + "Much is said of it. " * 300)
    formed(talking, model_server)
    (job,) = [job for job in talking.memory.jobs(state="queued") if job.kind == "summarise"]
    assert job.attempts == 0
    assert job.run_at.date() > talking.clock().date()
    assert "plums" in told(talking)


@pytest.mark.requirement("formation.summary")
def test_what_is_forgotten_is_gone_from_the_summary_at_once(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    kept = talking.me.add("User is tall.", theme="life")
    formed(talking, model_server, PORTRAIT)
    assert "plums" in stored(talking)
    (item,) = [one for one in talking.me.list() if one.id != kept.id]
    talking.me.forget(item.id)
    assert "plums" not in stored(talking)
    assert told(talking) == "Life: User is tall."


@pytest.mark.requirement("formation.summary")
@pytest.mark.parametrize("ending", ["forget", "archive", "erase"])
def test_what_ends_while_the_portrait_is_painted_is_not_in_it(
    with_model: WithModel, model_server: ModelServer, ending: str
) -> None:
    talking = with_model()
    model_server.answer(extracted(("User grows plums.", "grow plums")))
    model_server.answer(PORTRAIT)
    talking.form("i grow plums")
    (item,) = talking.me.list()

    def end() -> None:
        if ending == "erase":
            talking.memory.erase_user("ana")
        else:
            getattr(talking.me, ending)(item.id)

    model_server.before_answer = end
    talking.run_jobs()
    assert "plums" not in stored(talking)
    assert talking.me.summary() is None
    if ending == "erase":
        assert talking.memory.users() == ()


@pytest.mark.requirement("formation.summary")
def test_what_is_added_while_the_portrait_is_painted_does_not_spoil_it(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    model_server.answer(extracted(("User grows plums.", "grow plums")))
    model_server.answer(PORTRAIT)
    talking.form("i grow plums")
    model_server.before_answer = lambda: talking.me.add("User is tall.") and None
    talking.run_jobs()
    summary = talking.me.summary()
    assert summary is not None
    assert (summary.content, summary.is_current) == (PORTRAIT, False)


@pytest.mark.requirement("formation.summary")
def test_a_portrait_of_nothing_that_holds_is_thrown_away(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    formed(talking, model_server, PORTRAIT)
    (item,) = talking.me.list()
    talking.me.archive(item.id)
    model_server.answer(
        extracted(
            ("Steps: 1. Open the tap. 2. Close the tap.", "1. Open the tap"), type="procedure"
        )
    )
    talking.form("Remember these steps: 1. Open the tap. 2. Close the tap.")
    talking.run_jobs()
    assert stored(talking) == "[]"
    assert talking.me.summary() is None


@pytest.mark.requirement("formation.summary")
def test_what_has_expired_is_not_told_by_an_old_portrait(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    soon = talking.clock().replace(hour=23)
    talking.me.add("User waits for a parcel.", expires_at=soon, theme="life")
    formed(talking, model_server, "Ana waits for a parcel.")
    assert "parcel" in told(talking)
    talking.clock.set(soon)
    assert told(talking) == "Life: User grows plums."


@pytest.mark.requirement("formation.summary")
def test_erased_with_the_user(with_model: WithModel, model_server: ModelServer) -> None:
    talking = with_model()
    formed(talking, model_server, PORTRAIT)
    assert "plums" in stored(talking)
    receipt = talking.memory.erase_user("ana")
    assert receipt.removed["summaries"] == 1
    assert stored(talking) == "[]"
    assert talking.me.summary() is None
