"""What tools answer: compact JSON, with a hint for the model where something failed."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from ricordo.errors import (
    AccessDenied,
    CategoryNotAllowed,
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    InvalidPolicy,
    ModelUnavailable,
    NotFound,
    RicordoError,
    StorageBusy,
    told_outside,
)
from ricordo.model.item import Added, Item, Theme
from ricordo.model.proposal import Proposed, attributed, other_owner
from ricordo.model.search import MemoryHit, SearchResults
from ricordo.model.vocabulary import Status, VectorState
from ricordo.text.secrets import without_secrets
from ricordo.tools.tool import Answer
from ricordo.user_memory import UserMemory

NOTHING_FITS: Final = "Nothing that is remembered fits. Try other words or fewer conditions."
BY_WORDS_ALONE: Final = "Looked for the words alone. What is put in other words may be missing."
"""The reason names the operator's machines, and a model cannot change it."""
NOTHING_THERE: Final = "Nothing is remembered, or nothing that fits the conditions."
_MEMORY_FIELDS: Final = (
    "id",
    "content",
    "theme",
    "type",
    "key",
    "tags",
    "status",
    "source",
    "source_context",
    "thread_id",
    "message_id",
    "agent_id",
    "run_id",
    "actor_id",
    "role",
    "confidence",
    "importance",
    "pinned",
    "embedding",
)
_TIMES: Final = ("valid_from", "valid_to", "expires_at", "created_at", "updated_at")
_GO_ON: Final = "Memory does not work right now. Go on without it, and say so if it matters."
_LATER: Final = "Memory is busy. Go on without it, or call again once."
_MISTAKES: Final = (InvalidInput, NotFound, Conflict, AccessDenied)


def found(results: SearchResults[MemoryHit], *, ranked: bool) -> dict[str, Any]:
    """The results of a search; their confidence only where they were ranked."""
    answer: dict[str, Any] = {"results": [_hit(hit, ranked=ranked) for hit in results]}
    if not results.results:
        answer["note"] = NOTHING_FITS if ranked else NOTHING_THERE
    if results.degraded is not None:
        answer["degraded"] = BY_WORDS_ALONE
    return answer


def _hit(hit: MemoryHit, *, ranked: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": hit.id,
        "date": _day(hit.created_at),
        "created_at": _second(hit.created_at),
        "theme": hit.theme,
        "type": hit.type.value,
        "content": attributed(hit.content_snippet, hit.owner_id, hit.type),
    }
    if hit.owner_id is not None:
        shown["owner"] = hit.owner_id
    if hit.status is not Status.ACTIVE:  # so that archived memories are not taken for current ones
        shown["status"] = hit.status.value
    if ranked:
        shown |= {"confidence": round(hit.confidence, 2), "score": round(hit.score, 4)}
        shown["signals"] = {
            name: round(value, 2)
            for name, value in hit.signals.to_dict().items()
            if value is not None
        }
    return shown


def listed(items: Iterable[Item], viewer: str) -> list[dict[str, Any]]:
    """Memories in a list, with their most important fields."""
    return [
        _compact(
            id=item.id,
            date=_day(item.created_at),
            theme=item.theme,
            type=item.type.value,
            key=item.key,
            content=_content(item, viewer),
            owner=other_owner(item.user_id, viewer),
        )
        for item in items
    ]


def memory(item: Item, viewer: str) -> dict[str, Any]:
    """One memory with all fields that are set."""
    whole = {**item.without_secrets().to_dict(), "content": _content(item, viewer)}
    shown = {name: whole.get(name) for name in _MEMORY_FIELDS}
    times = {  # most are equal to created_at, and left out
        name: None if moment == item.created_at and name != "created_at" else _second(moment)
        for name, moment in ((name, getattr(item, name)) for name in _TIMES)
    }
    return _compact(**shown, owner=other_owner(item.user_id, viewer), **times)


def _content(item: Item, viewer: str) -> str:
    """The content; another user's is quoted, with their name."""
    owner = other_owner(item.user_id, viewer)
    return attributed(without_secrets(item.content), owner, item.type)


def stored(added: Added) -> dict[str, Any]:
    """The result of adding a memory."""
    return _compact(
        id=added.id,
        status=added.status.value,
        duplicate=added.duplicate,
        updated=added.updated,
        embedding=None if added.embedding is VectorState.READY else added.embedding,
    )


def proposed(kept: Proposed) -> dict[str, Any]:
    """The result of adding what needs consent."""
    return _compact(
        proposal_id=kept.proposal_id,
        status=kept.status,
        sensitive=list(kept.fields),
        note=kept.note,
    )


def forgotten(items: Iterable[Item], now: datetime) -> dict[str, Any]:
    """What was forgotten, and until when a person can restore all of it."""
    gone = tuple(items)
    until = [item.purge_at for item in gone if item.purge_at is not None and item.purge_at > now]
    return _compact(
        forgotten=[{"id": item.id, "content": without_secrets(item.content)} for item in gone],
        restorable_until=_second(min(until, default=None)),
    )


def themes(known: Iterable[Theme]) -> dict[str, Any]:
    """The themes with the number of their memories."""
    return {
        "themes": [
            _compact(
                theme=theme.slug,
                name=theme.display_name,
                memories=theme.active_count,
                about=theme.description,
            )
            for theme in known
        ]
    }


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _second(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _compact(**values: Any) -> dict[str, Any]:
    """Only integers and non-empty values."""
    return {name: value for name, value in values.items() if value or type(value) is int}


def store_note(user: UserMemory, /, **given: Any) -> Answer:
    """Add a memory, or propose it to the user where it needs their consent.

    Raises:
        InvalidValue: a value is not allowed, or it contains a secret.
        CategoryNotAllowed, ScopeWidened: this scope may not write it.
    """
    kept = user.add(**given)
    return stored(kept) if isinstance(kept, Added) else proposed(kept)


HINT_OF: Final[dict[type[RicordoError], str]] = {
    InvalidInput: "Fix the call as the message says, then try again.",
    InvalidPolicy: _GO_ON,  # the operator's mistake
    NotFound: "It may be gone or was never there. Look it up again; do not guess ids or names.",
    Conflict: "Read it again, then decide whether it still needs to be done.",
    CategoryNotAllowed: "Use a category (theme) that the message allows, or go on without it.",
    AccessDenied: "You may not do this. Do not try again; go on without it.",
    StorageBusy: _LATER,
    EmbedderUnavailable: _LATER,
    ModelUnavailable: _LATER,
    RicordoError: _GO_ON,
}


def is_mistake(error: RicordoError | None) -> bool:
    """Whether the model made a mistake, rather than that memory does not work."""
    return isinstance(error, _MISTAKES) and not isinstance(error, InvalidPolicy)


def told(error: RicordoError, location: str) -> dict[str, Any]:
    """An error as the answer of a tool, without the location of the store."""
    return {
        "error": {
            "type": type(error).__name__,
            "message": told_outside(error, location),
            "hint": hint_of(error),
        }
    }


def hint_of(error: RicordoError) -> str:
    """What to do about an error: the hint of its nearest base class in the table."""
    return next(HINT_OF[kind] for kind in type(error).__mro__ if kind in HINT_OF)
