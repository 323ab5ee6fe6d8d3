"""The settings page: where embeddings are computed, and their progress."""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import fields
from http import HTTPStatus
from typing import Any, Final, Self

from starlette.responses import Response

from ricordo import errors
from ricordo.errors import EmbeddingError, InvalidValue, TargetRefused
from ricordo.frozen import dataclass
from ricordo.http.problems import status_of
from ricordo.http.routing import lengthy
from ricordo.model.embedding import ChoiceOrigin, EmbeddingChange, EmbeddingStatus, EmbeddingTest
from ricordo.model.group import GroupMember, Membership
from ricordo.providers.embedding_choice import LOCAL, NONE, PRESETS, PROVIDERS
from ricordo.web.forms import Posted, whole_number
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.rendering import PRIVATE
from ricordo.web.routing import page_router

_NAMES: Final = {
    LOCAL: "On this server, with the shipped model",
    "llamacpp": "llama.cpp server",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "mistral": "Mistral",
    "gemini": "Google Gemini",
    "custom_http": "Another endpoint with OpenAI's API",
    NONE: "None: find memories by their words alone",
}
_EXAMPLE_ADDRESS: Final = "https://…/v1"

FIELD_NAMES: Final = {
    "provider": "Provider",
    "model": "Model",
    "base_url": "Address",
    "api_key": "API key",
    "dimensions": "Dimensions",
}
_PATH: Final = "/ui/settings"
_CHANGED: Final = "Saved. The vectors are being rebuilt; search works by words meanwhile."
_CHANGED_AT_ONCE: Final = "Saved. No vector has to be rebuilt."
_REBUILDING: Final = "All vectors are being rebuilt; search works by words meanwhile."
_RETRYING: Final = "The missing vectors are being computed."
_NOTHING_MISSING: Final = "No vector is missing."


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that can be chosen. If ``is_remote``, the other fields say how to reach it;
    ``model`` and ``base_url`` are the defaults for empty fields."""

    value: str
    name: str
    is_remote: bool
    model: str
    base_url: str
    needs_key: bool


def provider_name(value: str) -> str:
    """The display name of a provider; an operator's folder is shown as it is."""
    return _NAMES.get(value, value)


def _provider(value: str) -> Provider:
    name, preset = provider_name(value), PRESETS.get(value)
    if preset is None:
        return Provider(value, name, False, "", "", False)
    address = preset.base_url or _EXAMPLE_ADDRESS
    return Provider(value, name, True, preset.default_model or "", address, preset.needs_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingForm:
    """What was typed; empty strings are empty fields. The key is never shown again."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    dimensions: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        return cls(**{one.name: given.get(one.name, "") for one in fields(cls)})

    def choice(self) -> dict[str, Any]:
        """The fields as the library takes them.

        Raises:
            InvalidValue: the dimensions are not a number.
        """
        return {
            "provider": self.provider,
            "model": self.model or None,
            "base_url": self.base_url or None,
            "api_key": self.api_key or None,
            "dimensions": whole_number("dimensions", self.dimensions),
        }

    @property
    def seal(self) -> str:
        """A digest of the form without the key, so that a confirmation is only valid for the plan
        that was shown."""
        typed = (self.provider, self.model, self.base_url, self.dimensions)
        return hashlib.sha256(repr(typed).encode("utf-8", "replace")).hexdigest()[:32]


_PHASES: Final = {
    "empty": "There are no memories and no turns yet.",
    "off": "No vectors: memories are found by their words alone.",
    "unusable": "No vectors can be computed with the present settings.",
    "ready": "All vectors are ready.",
    "failed": "Some vectors could not be computed.",
    "waiting": "The last attempt failed. It is retried automatically.",
    "working": "Vectors are being computed.",
}


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """A status in words. ``seen`` identifies it, so that an unchanged one is not sent again."""

    status: EmbeddingStatus
    phase: str
    error: str | None
    seen: str

    @classmethod
    def of(cls, status: EmbeddingStatus) -> Self:
        phase = _phase(status)
        error = None if phase in ("ready", "off") else status.problem or status.last_error
        counted = (status.ready, status.pending, status.error, error)
        return cls(
            status,
            phase,
            _without_class_name(error),
            f"{phase}-{zlib.crc32(repr(counted).encode()):08x}",
        )

    @property
    def sentence(self) -> str:
        return _PHASES[self.phase]

    @property
    def is_moving(self) -> bool:
        return self.phase in ("working", "waiting")

    @property
    def can_be_retried(self) -> bool:
        return self.phase in ("failed", "waiting") or (self.is_moving and self.status.error > 0)

    @property
    def total(self) -> int:
        return self.status.ready + self.status.pending + self.status.error

    def is_new_phase(self, seen: str) -> bool:
        """Whether more than the numbers changed since ``seen``."""
        return seen.partition("-")[0] != self.phase


def _phase(status: EmbeddingStatus) -> str:
    if status.problem is not None:
        return "unusable"
    if status.model is None:
        return "off"
    if status.pending:
        # Where some failed for good, the last error is theirs; the others may go on.
        return "waiting" if status.last_error and not status.error else "working"
    if status.error:
        return "failed"
    return "ready" if status.ready else "empty"


def _without_class_name(error: str | None) -> str | None:
    """The message without the class name that a job puts before it."""
    if error is None:
        return None
    name, colon, rest = error.partition(": ")
    return rest if colon and hasattr(errors, name) else error


router = page_router()


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """The result of the form: a test, the plan of a change, or what is wrong with a field."""

    tested: EmbeddingTest | None = None
    planned: EmbeddingChange | None = None
    field: str | None = None
    problem: str | None = None
    seal: str = ""
    needs_key_again: bool = False

    @property
    def field_name(self) -> str | None:
        return None if self.field is None else FIELD_NAMES.get(self.field, self.field)


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """What ``reset`` or ``rebuild`` would do."""

    action: str
    change: EmbeddingChange


@router.get("/settings")
def show_settings(page: Page) -> Response:
    return _show(page)


@router.get("/settings/embeddings/progress")
def show_progress(page: Page, seen: str = "") -> Response:
    """204 No Content for a client that has this state already."""
    progress = EmbeddingProgress.of(page.memory.embedding_status())
    if seen == progress.seen and progress.is_moving:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=PRIVATE)
    return page.fragment("_embedding_progress.html", progress=progress, seen=seen)


@router.post("/settings/embeddings/test")
@lengthy
def test_embeddings(page: Page, form: Posted) -> Response:
    """Test what was typed, or the current provider where nothing was. Nothing is stored."""
    typed = EmbeddingForm.of(form)
    try:
        if typed.provider:
            tested = page.memory.test_embeddings(**typed.choice())
        else:
            tested = page.memory.test_embeddings()
    except (InvalidValue, TargetRefused, EmbeddingError) as problem:
        return _form_error(page, typed, problem)
    return _form_result(page, typed, FormAnswer(tested=tested))


@router.post("/settings/embeddings")
@lengthy
def save_embeddings(page: Page, form: Posted) -> Response:
    """Show the plan of a change first, and apply it once confirmed."""
    typed = EmbeddingForm.of(form)
    # A form that was changed after the plan was shown needs a new plan.
    is_confirmed = "confirm" in form and form.get("planned") == typed.seal
    try:
        change = page.memory.set_embeddings(**typed.choice(), confirm=is_confirmed)
    except (InvalidValue, TargetRefused, EmbeddingError) as problem:
        return _form_error(page, typed, problem, is_confirmed=is_confirmed)
    if change.applied:
        return page.redirect(_PATH, notice=_CHANGED if change.to_rebuild else _CHANGED_AT_ONCE)
    answer = FormAnswer(
        planned=change,
        seal=typed.seal,
        needs_key_again=bool(typed.api_key) and not page.is_partial,
    )
    return _form_result(page, typed, answer)


@router.post("/settings/embeddings/reset")
def reset_embeddings(page: Page, form: Posted) -> Response:
    change = page.memory.reset_embeddings(confirm="confirm" in form)
    return _plan_or_apply(
        page, "reset", change, _CHANGED if change.to_rebuild else _CHANGED_AT_ONCE
    )


@router.post("/settings/embeddings/rebuild")
def rebuild_embeddings(page: Page, form: Posted) -> Response:
    change = page.memory.rebuild_embeddings(confirm="confirm" in form)
    return _plan_or_apply(page, "rebuild", change, _REBUILDING)


@router.post("/settings/embeddings/retry")
def retry_embeddings(page: Page, form: Posted) -> Response:  # noqa: ARG001 - checked by being read
    backfill = page.memory.backfill_embeddings()
    return page.redirect(_PATH, notice=_RETRYING if backfill.pending else _NOTHING_MISSING)


def _form_error(
    page: PageRequest,
    typed: EmbeddingForm,
    problem: InvalidValue | TargetRefused | EmbeddingError,
    *,
    is_confirmed: bool = False,
) -> Response:
    field = problem.field if isinstance(problem, InvalidValue) else None
    detail = problem.problem if isinstance(problem, InvalidValue) else str(problem)
    if field == "api_key" and is_confirmed and not typed.api_key:
        detail = "enter it again: it is not kept from one page to the next"
    answer = FormAnswer(field=field, problem=detail)
    return _form_result(page, typed, answer, int(status_of(problem)))


def _form_result(
    page: PageRequest, typed: EmbeddingForm, answer: FormAnswer, status: int = 200
) -> Response:
    if page.is_partial:
        return page.fragment("_embedding_answer.html", status=status, answer=answer)
    return _show(page, status=status, typed=typed, answer=answer)


def _plan_or_apply(
    page: PageRequest, action: str, change: EmbeddingChange, notice: str
) -> Response:
    if change.applied:
        return page.redirect(_PATH, notice=notice)
    plan = EmbeddingPlan(action, change)
    if page.is_partial:
        return page.fragment("_embedding_plan.html", plan=plan)
    return _show(page, plan=plan)


def _groups(page: PageRequest) -> list[tuple[Membership, tuple[GroupMember, ...]]]:
    """The groups of the user with their members; an agent's key does not see who they are."""
    if not page.memory.scope.is_the_users:
        return []
    return [(one, page.memory.members(one.group)) for one in page.memory.groups()]


def _show(
    page: PageRequest,
    *,
    status: int = 200,
    typed: EmbeddingForm | None = None,
    answer: FormAnswer | None = None,
    plan: EmbeddingPlan | None = None,
) -> Response:
    present = page.memory.embedding_status()
    values: dict[str, Any] = {
        "present": present,
        "present_name": provider_name(present.provider),
        "progress": EmbeddingProgress.of(present),
        "seen": None,
        "is_decided": present.origin is ChoiceOrigin.OPERATOR,
        "providers": tuple(map(_provider, PROVIDERS)),
        "typed": typed or EmbeddingForm(provider=present.provider),
        "answer": answer,
        "plan": plan,
        "groups": _groups(page),
        "session_hours": page.store.settings.page_session_hours,
    }
    return page.render("settings.html", status=status, **values)
