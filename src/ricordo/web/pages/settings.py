"""Settings: where vectors are made, and who is signed in."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from ricordo.errors import EmbeddingError, InvalidValue, TargetRefused
from ricordo.http.lengthy import lengthy
from ricordo.http.problems import status_of
from ricordo.model.embedding import ChoiceOrigin, EmbeddingChange
from ricordo.providers.embedding_choice import EmbeddingTest
from ricordo.web.embedding_form import FIELD_NAMES, EmbeddingForm, provider_name, providers
from ricordo.web.embedding_progress import EmbeddingProgress
from ricordo.web.forms import Posted
from ricordo.web.headers import PRIVATE
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor

_PATH: Final = "/ui/settings"
_CHANGED: Final = "Saved. The new vectors are being made; search works by words meanwhile."
_CHANGED_AT_ONCE: Final = "Saved. No vector has to be made anew."
_REBUILDING: Final = "All vectors are being made anew; search works by words meanwhile."
_RETRYING: Final = "What is missing is being made now."
_NOTHING_MISSING: Final = "Nothing is missing."

router = page_router()


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """What came of the form: a test, what a change would mean, or what is wrong with a field."""

    tested: EmbeddingTest | None = None
    planned: EmbeddingChange | None = None
    field: str | None = None
    problem: str | None = None
    seal: str = ""
    needs_key_again: bool = False

    @property
    def field_name(self) -> str | None:
        """What the page calls the field that is wrong."""
        return None if self.field is None else FIELD_NAMES.get(self.field, self.field)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one of the two actions without a form would do: ``reset`` or ``rebuild``."""

    action: str
    change: EmbeddingChange


@router.get("/settings")
def show_settings(visit: Visiting) -> Response:
    """All settings."""
    return _page(visit)


@router.get("/settings/embeddings/progress")
def show_progress(visit: Visiting, seen: str = "") -> Response:
    """How far the vectors have come; nothing for who has seen it."""
    progress = EmbeddingProgress.of(visit.memory.embedding_status())
    if seen == progress.seen and progress.is_moving:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=PRIVATE)
    return visit.fragment("_embedding_progress.html", progress=progress, seen=seen)


@router.post("/settings/embeddings/test")
@lengthy
def test_embeddings(visit: Visiting, form: Posted) -> Response:
    """Try what was typed, or the present provider where nothing was. Nothing is stored."""
    typed = EmbeddingForm.of(form)
    try:
        if typed.provider:
            tested = visit.memory.test_embeddings(**typed.choice())
        else:
            tested = visit.memory.test_embeddings()
    except (InvalidValue, TargetRefused, EmbeddingError) as problem:
        return _wrong(visit, typed, problem)
    return _answered(visit, typed, FormAnswer(tested=tested))


@router.post("/settings/embeddings")
@lengthy
def save_embeddings(visit: Visiting, form: Posted) -> Response:
    """Say what the change would mean, and make it once that is confirmed."""
    typed = EmbeddingForm.of(form)
    # What was changed after the answer to the first try is not what that was about.
    is_confirmed = "confirm" in form and form.get("planned") == typed.seal
    try:
        change = visit.memory.set_embeddings(**typed.choice(), confirm=is_confirmed)
    except (InvalidValue, TargetRefused, EmbeddingError) as problem:
        return _wrong(visit, typed, problem, is_confirmed=is_confirmed)
    if change.applied:
        return visit.back_to(_PATH, notice=_CHANGED if change.to_rebuild else _CHANGED_AT_ONCE)
    answer = FormAnswer(
        planned=change,
        seal=typed.seal,
        needs_key_again=bool(typed.api_key) and not visit.is_partial,
    )
    return _answered(visit, typed, answer)


@router.post("/settings/embeddings/reset")
def reset_embeddings(visit: Visiting, form: Posted) -> Response:
    """Go back to the store's way; without confirmation, what that would mean."""
    change = visit.memory.reset_embeddings(confirm="confirm" in form)
    return _planned(visit, "reset", change, _CHANGED if change.to_rebuild else _CHANGED_AT_ONCE)


@router.post("/settings/embeddings/rebuild")
def rebuild_embeddings(visit: Visiting, form: Posted) -> Response:
    """Make all vectors anew; without confirmation, how many they are."""
    change = visit.memory.rebuild_embeddings(confirm="confirm" in form)
    return _planned(visit, "rebuild", change, _REBUILDING)


@router.post("/settings/embeddings/retry")
def retry_embeddings(visit: Visiting, form: Posted) -> Response:  # noqa: ARG001 - checked by being read
    """Ask again for what is missing."""
    asked = visit.memory.backfill_embeddings()
    return visit.back_to(_PATH, notice=_RETRYING if asked.pending else _NOTHING_MISSING)


def _wrong(
    visit: Visitor,
    typed: EmbeddingForm,
    problem: InvalidValue | TargetRefused | EmbeddingError,
    *,
    is_confirmed: bool = False,
) -> Response:
    """What is wrong with what was typed, at its field where it has one."""
    field = problem.field if isinstance(problem, InvalidValue) else None
    told = problem.problem if isinstance(problem, InvalidValue) else str(problem)
    if field == "api_key" and is_confirmed and not typed.api_key:
        told = "type it once more: it is not kept from one page to the next"
    status = int(status_of(problem))
    return _answered(visit, typed, FormAnswer(field=field, problem=told), status)


def _answered(
    visit: Visitor, typed: EmbeddingForm, answer: FormAnswer, status: int = 200
) -> Response:
    if visit.is_partial:
        return visit.fragment("_embedding_answer.html", status=status, answer=answer)
    return _page(visit, status=status, typed=typed, answer=answer)


def _planned(visit: Visitor, action: str, change: EmbeddingChange, notice: str) -> Response:
    if change.applied:
        return visit.back_to(_PATH, notice=notice)
    plan = Plan(action, change)
    if visit.is_partial:
        return visit.fragment("_embedding_plan.html", plan=plan)
    return _page(visit, plan=plan)


def _page(
    visit: Visitor,
    *,
    status: int = 200,
    typed: EmbeddingForm | None = None,
    answer: FormAnswer | None = None,
    plan: Plan | None = None,
) -> Response:
    """The whole page."""
    present = visit.memory.embedding_status()
    values: dict[str, Any] = {
        "present": present,
        "present_name": provider_name(present.provider),
        "progress": EmbeddingProgress.of(present),
        "seen": None,
        "is_decided": present.origin is ChoiceOrigin.OPERATOR,
        "providers": providers(),
        "typed": typed or EmbeddingForm(provider=present.provider),
        "answer": answer,
        "plan": plan,
        "session_hours": visit.store.settings.page_session_hours,
    }
    return visit.page("settings.html", status=status, **values)
