"""The form that says where vectors are to be made: what it offers, and what was filled in."""

import hashlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from http import HTTPStatus
from typing import Any, Final, Self

from starlette.responses import Response

from ricordo import errors
from ricordo.errors import EmbeddingError, InvalidValue, TargetRefused
from ricordo.http.problems import status_of
from ricordo.http.routing import lengthy
from ricordo.model.embedding import ChoiceOrigin, EmbeddingChange, EmbeddingStatus
from ricordo.providers.embedding_choice import LOCAL, NONE, PRESETS, PROVIDERS, EmbeddingTest
from ricordo.web.forms import Posted
from ricordo.web.rendering import PRIVATE
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor

_NAMES: Final = {
    LOCAL: "On this server, with the shipped model",
    "llamacpp": "llama.cpp server",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "mistral": "Mistral",
    "gemini": "Google Gemini",
    "custom_http": "Another endpoint that speaks like OpenAI's",
    NONE: "Nobody: find memories by their words alone",
}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_USUAL_ADDRESS: Final = "https://…/v1"

FIELD_NAMES: Final = {
    "provider": "Provider",
    "model": "Model",
    "base_url": "Address",
    "api_key": "API key",
    "dimensions": "Dimensions",
}
"""The fields, and what the page calls them."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One that can be chosen. Where it ``is_remote``, the other fields say how to reach it;
    ``model`` and ``base_url`` are what is taken where they are left empty."""

    value: str
    name: str
    is_remote: bool
    model: str
    base_url: str
    needs_key: bool


def providers() -> tuple[Provider, ...]:
    """All that can be chosen."""
    return tuple(_provider(value) for value in PROVIDERS)


def provider_name(value: str) -> str:
    """What the page calls a provider; a folder of the operator's is told as it is."""
    return _NAMES.get(value, value)


def _provider(value: str) -> Provider:
    preset = PRESETS.get(value)
    if preset is None:
        return Provider(value, provider_name(value), False, "", "", False)
    return Provider(
        value,
        provider_name(value),
        True,
        preset.default_model or "",
        preset.base_url or _USUAL_ADDRESS,
        preset.needs_key,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingForm:
    """What somebody has typed; an empty text stands for what was left empty.

    The key is kept out of what is shown again.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    dimensions: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """What was typed."""
        return cls(**{one.name: given.get(one.name, "") for one in fields(cls)})

    def choice(self) -> dict[str, Any]:
        """The fields as the library takes them.

        Raises:
            InvalidValue: the dimensions are no number.
        """
        if self.dimensions and not _NUMBER.fullmatch(self.dimensions):
            raise InvalidValue("dimensions", "is no whole number; leave it empty for the usual one")
        return {
            "provider": self.provider,
            "model": self.model or None,
            "base_url": self.base_url or None,
            "api_key": self.api_key or None,
            "dimensions": int(self.dimensions) if self.dimensions else None,
        }

    @property
    def seal(self) -> str:
        """Stands for what was typed, but for the key: who confirms something confirms what the
        answer before was about."""
        typed = (self.provider, self.model, self.base_url, self.dimensions)
        return hashlib.sha256(repr(typed).encode("utf-8", "replace")).hexdigest()[:32]


_PHASES: Final = {
    "empty": "There is nothing to make vectors of yet.",
    "off": "Nothing makes vectors: memories are found by their words alone.",
    "unusable": "No vectors can be made with the present settings.",
    "ready": "All vectors are ready.",
    "failed": "Some vectors could not be made.",
    "waiting": "The last try did not work. It is tried again by itself.",
    "working": "Vectors are being made.",
}


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """A status in words. ``error`` is what the provider said, ``seen`` stands for all of it: who
    has seen the same need not be told again."""

    status: EmbeddingStatus
    phase: str
    error: str | None
    seen: str

    @classmethod
    def of(cls, status: EmbeddingStatus) -> Self:
        """What to tell of a status."""
        phase = _phase(status)
        error = None if phase in ("ready", "off") else status.problem or status.last_error
        counted = (status.ready, status.pending, status.error, error)
        return cls(
            status, phase, _plain(error), f"{phase}-{zlib.crc32(repr(counted).encode()):08x}"
        )

    @property
    def sentence(self) -> str:
        """How it stands, in one sentence."""
        return _PHASES[self.phase]

    @property
    def is_moving(self) -> bool:
        """Whether it will change by itself, so that it is worth looking again."""
        return self.phase in ("working", "waiting")

    @property
    def can_be_retried(self) -> bool:
        """Whether asking again is of use."""
        return self.phase in ("failed", "waiting") or (self.is_moving and self.status.error > 0)

    @property
    def total(self) -> int:
        """How many vectors there are to be."""
        return self.status.ready + self.status.pending + self.status.error

    def is_new_phase(self, seen: str) -> bool:
        """Whether more has changed than numbers since somebody has seen it."""
        return seen.partition("-")[0] != self.phase


def _phase(status: EmbeddingStatus) -> str:
    if status.problem is not None:
        return "unusable"
    if status.model is None:
        return "off"
    if status.pending:
        # Where some were given up, the last error is theirs; the others may well go on.
        return "waiting" if status.last_error and not status.error else "working"
    if status.error:
        return "failed"
    return "ready" if status.ready else "empty"


def _plain(error: str | None) -> str | None:
    """What went wrong without the name of our error, which a job puts before it."""
    if error is None:
        return None
    name, colon, rest = error.partition(": ")
    return rest if colon and hasattr(errors, name) else error


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
class EmbeddingPlan:
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
    plan = EmbeddingPlan(action, change)
    if visit.is_partial:
        return visit.fragment("_embedding_plan.html", plan=plan)
    return _page(visit, plan=plan)


def _page(
    visit: Visitor,
    *,
    status: int = 200,
    typed: EmbeddingForm | None = None,
    answer: FormAnswer | None = None,
    plan: EmbeddingPlan | None = None,
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
