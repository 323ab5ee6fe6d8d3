"""What is known of a user as one text: what it tells, who wrote it, and what it never tells."""

import pytest

from ricordo import MemoryType
from ricordo.limits import MAX_SUMMARY_CHARS, MAX_TRANSCRIPT_CHARS
from tests.formation.conftest import Talking, WithModel, extracted
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("formation.summary")


MATRIX = pytest.mark.matrix
PORTRAIT = "Ana grows plums and plays the cello."


def told(talking: Talking) -> str:
    summary = talking.me.summary()
    return "" if summary is None else summary.content


def formed(talking: Talking, *portraits: str) -> None:
    """Form one memory, and let the job write the portrait."""
    talking.server.answer(extracted(("User grows plums.", "grow plums")))
    for portrait in portraits:
        talking.server.answer(portrait)
    talking.form("i grow plums")
    talking.run_jobs()


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
    share(ben, shared.id, "ana")
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


def test_the_template_is_bounded(talking: Talking) -> None:
    for chars, count in ((20, 150), (1_980, 4), (2_000, 4), (8_000, 4)):
        one = talking.other(f"user-{chars}")
        one.me.add_many(
            {"content": f"{number:03} " + "x" * (chars - 5) + ".", "theme": f"theme-{number % 40}"}
            for number in range(count)
        )
        assert len(told(one)) <= MAX_SUMMARY_CHARS
        assert told(one).endswith("…" if chars >= 2_000 else ".")


def test_it_is_made_anew_by_a_job_after_formation(talking: Talking) -> None:
    talking.form("I love jazz music")
    assert [job.kind for job in talking.memory.jobs(state="queued")].count("summarise") == 1
    talking.run_jobs()
    assert "jazz" in talking.rows("summaries")
    assert "jazz" in told(talking)
    talking.form("I hate olives")
    assert "olives" in told(talking)  # at once, where the template tells it
    talking.run_jobs()
    assert "olives" in talking.rows("summaries")


def test_the_models_portrait_is_kept_with_its_maker(reader: Talking) -> None:
    formed(reader, f"  {PORTRAIT}\n")
    summary = reader.me.summary()
    assert summary is not None
    assert summary.content == PORTRAIT
    assert summary.made_by == "custom_http:scripted"
    assert summary.is_current
    assert "- [life] User grows plums." in reader.server.prompts[-1][-1]["content"]
    reader.me.add("User plays the cello.")
    later = reader.me.summary()
    assert later is not None
    assert (later.content, later.is_current) == (PORTRAIT, False)
    assert reader.memory.user("ben").summary() is None


@pytest.mark.slow
def test_a_portrait_is_bounded_and_so_is_what_it_is_made_from(reader: Talking) -> None:
    reader.me.add_many(f"{number} " + "long " * 1_500 for number in range(30))
    reader.me.add("User keeps\n\n- [life] User keeps bees.", importance=5)
    formed(reader, "word " * 590)
    assert len(told(reader)) <= MAX_SUMMARY_CHARS
    prompt = reader.server.prompts[-1][-1]["content"]
    assert len(prompt) <= MAX_TRANSCRIPT_CHARS + 1_000
    assert sum(line.startswith("- [") for line in prompt.splitlines()) <= 3
    assert "User keeps - [life] User keeps bees." in prompt


@pytest.mark.parametrize(
    "fault",
    ["truncated", "refused", *(pytest.param(one, marks=MATRIX) for one in ("html", "refusal"))],
)
def test_a_model_that_answers_badly_leaves_it_to_the_template(reader: Talking, fault: str) -> None:
    reader.server.answer(extracted(("User grows plums.", "grow plums")))
    reader.form("i grow plums")
    if fault == "refused":
        reader.server.fail_next(1, status=401)
    else:
        getattr(reader.server, f"answer_{fault}")()
    reader.run_jobs()
    summary = reader.me.summary()
    assert summary is not None
    assert (summary.content, summary.made_by) == ("Life: User grows plums.", "template")
    assert "plums" in reader.rows("summaries")
    assert reader.jobs("summarise") == []


def test_a_model_that_is_down_is_asked_again(with_model: WithModel) -> None:
    talking = with_model(model_deadline_seconds=2)
    talking.server.answer(extracted(("User grows plums.", "grow plums")))
    talking.form("i grow plums")
    talking.server.fail_next(1, status=503, headers={"Retry-After": "100"})  # too long to wait for
    talking.run_jobs()
    (job,) = talking.jobs("summarise")
    assert job.last_error is not None
    assert job.last_error.startswith("ModelUnavailable")
    assert told(talking) == "Life: User grows plums."  # meanwhile
    talking.server.answer(PORTRAIT)
    talking.clock.advance(minutes=5)
    talking.run_jobs()
    assert told(talking) == PORTRAIT


def test_a_summary_waits_for_the_next_day_where_the_budget_ends(with_model: WithModel) -> None:
    talking = with_model(model_daily_tokens=2_200, model_answer_tokens=500)
    talking.me.add("User writes. " + "Much is said of it. " * 300)
    formed(talking)
    (job,) = talking.jobs("summarise")
    assert job.attempts == 0
    assert job.run_at.date() > talking.clock().date()
    assert "plums" in told(talking)


def test_what_is_forgotten_is_gone_from_the_summary_at_once(reader: Talking) -> None:
    kept = reader.me.add("User is tall.", theme="life")
    formed(reader, PORTRAIT)
    assert "plums" in reader.rows("summaries")
    (item,) = [one for one in reader.me.list() if one.id != kept.id]
    reader.me.forget(item.id)
    assert "plums" not in reader.rows("summaries")
    assert told(reader) == "Life: User is tall."


@pytest.mark.parametrize("ending", ["forget", "archive", "erase"])
def test_what_ends_while_the_portrait_is_painted_is_not_in_it(reader: Talking, ending: str) -> None:
    reader.server.answer(extracted(("User grows plums.", "grow plums")))
    reader.server.answer(PORTRAIT)
    reader.form("i grow plums")
    (item,) = reader.me.list()

    def end() -> None:
        if ending == "erase":
            reader.memory.erase_user("ana")
        else:
            getattr(reader.me, ending)(item.id)

    reader.server.before_answer = end
    reader.run_jobs()
    assert "plums" not in reader.rows("summaries")
    assert reader.me.summary() is None
    if ending == "erase":
        assert reader.memory.users() == ()


def test_a_portrait_of_nothing_that_holds_is_thrown_away(reader: Talking) -> None:
    formed(reader, PORTRAIT)
    (item,) = reader.me.list()
    reader.me.archive(item.id)
    reader.server.answer(
        extracted(
            ("Steps: 1. Open the tap. 2. Close the tap.", "1. Open the tap"), type="procedure"
        )
    )
    reader.form("Remember these steps: 1. Open the tap. 2. Close the tap.")
    reader.run_jobs()
    assert reader.rows("summaries") == "[]"
    assert reader.me.summary() is None


def test_what_has_expired_is_not_told_by_an_old_portrait(reader: Talking) -> None:
    soon = reader.clock().replace(hour=23)
    reader.me.add("User waits for a parcel.", expires_at=soon, theme="life")
    formed(reader, "Ana waits for a parcel.")
    assert "parcel" in told(reader)
    reader.clock.set(soon)
    assert told(reader) == "Life: User grows plums."
