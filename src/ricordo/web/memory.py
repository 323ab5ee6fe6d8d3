"""The page of one memory: timeline, origin, relations and history."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from ricordo import limits
from ricordo.errors import (
    CategoryNotAllowed,
    Changed,
    Conflict,
    InvalidInput,
    InvalidValue,
    MemoryNotFound,
    NotOwner,
    RicordoError,
    ThreadNotFound,
    told_outside,
)
from ricordo.http.problems import status_of
from ricordo.memories.lifecycle import is_expired
from ricordo.model import checks
from ricordo.model.checks import format_moment
from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Status
from ricordo.observability.logs import note_error
from ricordo.web.forms import Fields, Posted
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor
from ricordo.web.wording import SOURCES, steps

_LEFT: Final = 2.0  # percent of the width, so that icons at the ends are not cut off
_RIGHT: Final = 98.0
_RIGHT_IF_OPEN: Final = 88.0  # an open end goes on after the last point
_MIN_SPAN: Final = timedelta(hours=1)
_TEMPLATE: Final = "memory.html"
_REFUSED: Final = (Conflict, InvalidInput, NotOwner, CategoryNotAllowed)
_OUTDATED: Final = "It has changed meanwhile, so nothing was done. This is how it stands now."


@dataclass(frozen=True, slots=True)
class Point:
    """A moment on the timeline, ``x`` percent from the left."""

    kind: str
    label: str
    at: datetime
    x: float


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The timeline of a memory: valid from ``begins`` to ``ends``, known up to ``known``, then
    expected."""

    points: tuple[Point, ...]
    begins: float
    known: float
    ends: float
    is_open: bool


def lifetime(item: Item, now: datetime) -> Lifetime:
    named = [("from", "True from", item.valid_from)]
    if item.valid_to is not None:
        named.append(("to", "True until", item.valid_to))
    named.append(("noted", "Noted", item.created_at))
    if item.expires_at is not None:
        named.append(("expires", "Expires", item.expires_at))
    if item.status is Status.DELETED and item.purge_at is not None:
        named.append(("purge", "Removed for good", item.purge_at))
    named.append(("now", "Today", now))
    first = min(at for _, _, at in named)
    span = max(max(at for _, _, at in named) - first, _MIN_SPAN)

    right = _RIGHT_IF_OPEN if item.valid_to is None else _RIGHT

    def across(moment: datetime) -> float:
        return round(_LEFT + (right - _LEFT) * ((moment - first) / span), 2)

    begins = across(item.valid_from)
    ends = 100.0 if item.valid_to is None else across(item.valid_to)
    return Lifetime(
        points=tuple(Point(kind, label, at, across(at)) for kind, label, at in named),
        begins=begins,
        known=min(max(across(now), begins), ends),
        ends=ends,
        is_open=item.valid_to is None,
    )


router = page_router()


@router.get("/memories/{id}")
def show_memory(visit: Visiting, id: int) -> Response:
    """Everything about a memory, or the history of one that is gone."""
    return _memory_page(visit, _checked_id(id))


@router.post("/memories/{id}/undo")
def undo(visit: Visiting, form: Posted, id: int) -> Response:
    return _act(visit, form, _checked_id(id), visit.memory.undo, "Undone.")


@router.post("/memories/{id}/restore")
def restore(visit: Visiting, form: Posted, id: int) -> Response:
    return _act(visit, form, _checked_id(id), visit.memory.restore, "Restored.")


def _checked_id(id: int) -> int:
    """Ids out of range are treated like unknown ones."""
    try:
        return checks.memory_id(id)
    except InvalidValue:
        raise MemoryNotFound(id) from None


def _act(
    visit: Visitor, form: Fields, item_id: int, act: Callable[..., Item], notice: str
) -> Response:
    """Do it and show the result, or say why it was refused and show the current state."""
    try:
        item = act(
            item_id, reason=form.get("reason"), expected_updated_at=form.get("expected_updated_at")
        )
    except _REFUSED as error:
        note_error(error)
        return _memory_page(visit, item_id, error)
    if item.id != item_id:
        notice = f"{notice} This is the memory that came back."
    return visit.back_to(f"/ui/memories/{item.id}", notice=notice)


def _memory_page(visit: Visitor, item_id: int, refused: RicordoError | None = None) -> Response:
    try:
        item = visit.memory.get(item_id, include_deleted=True)
    except MemoryNotFound:
        return _gone(visit, item_id)
    return visit.page(
        _TEMPLATE,
        status=200 if refused is None else int(status_of(refused)),
        item_id=item_id,
        item=item,
        problem=None if refused is None else _reason(visit, refused),
        **_about(visit, item),
    )


def _reason(visit: Visitor, refused: RicordoError) -> str:
    if isinstance(refused, Changed):
        return _OUTDATED
    words = told_outside(refused, visit.store.database.backend.location)
    return f"Nothing was done: {words}."


def _about(visit: Visitor, item: Item) -> dict[str, Any]:
    now = visit.store.database.clock()
    own = item.user_id == visit.user
    expired = item.status is not Status.DELETED and is_expired(item, now)
    present = item.status is not Status.DELETED and not expired
    changes, has_earlier = _history(visit, item.id)
    lineage = visit.memory.lineage(item.id)
    can_restore = own and (expired or item.status in (Status.ARCHIVED, Status.DELETED))
    return {
        "own": own,
        "is_global": item.user_id == GLOBAL_OWNER,
        "expired": expired,
        "life": lifetime(item, now),
        "source": SOURCES[item.source],
        **_origin(visit, item, is_read=own and present),
        "viewers": visit.memory.links(item.id) if own and present else (),
        "vector": next(iter(visit.memory.embedding_states([item.id])), None),
        "related": visit.memory.related(item.id) if present else (),
        "lineage": lineage,
        "steps": steps(visit.memory, changes, item.to_dict())[::-1],
        "has_earlier": has_earlier,
        "undoable": lineage.undoable,
        "can_restore": can_restore,
        # Restoring an expired memory first marks it as forgotten, so it would always differ.
        "seen": None if expired else format_moment(item.updated_at),
    }


def _origin(visit: Visitor, item: Item, *, is_read: bool) -> dict[str, Any]:
    """The conversation and the turn of a memory, for visitors who may read conversations."""
    if item.thread_id is None or visit.is_confined or not is_read:
        return {"turn": None, "thread": None}
    try:
        thread = visit.memory.thread(item.thread_id)
    except ThreadNotFound:  # the memory names it, but nothing was recorded
        return {"turn": None, "thread": None}
    return {"turn": visit.memory.source_turn(item.id), "thread": thread}


def _history(visit: Visitor, item_id: int) -> tuple[tuple[Change, ...], bool]:
    """The latest changes, oldest first, and whether there are earlier ones."""
    most = limits.PAGE_ROWS
    changes = visit.memory.history(item_id, limit=most + 1)
    return changes[-most:], len(changes) > most


def _gone(visit: Visitor, item_id: int) -> Response:
    """The page of a memory that was purged or is no longer shared.

    Raises:
        MemoryNotFound: this user never had access to it.
    """
    changes, has_earlier = _history(visit, item_id)
    if not changes:
        raise MemoryNotFound(item_id)
    listed = steps(visit.memory, changes)[::-1]
    purged = changes[-1].event is Event.PURGE and changes[-1].other_user is None
    return visit.page(
        _TEMPLATE,
        item_id=item_id,
        item=None,
        problem=None,
        steps=listed,
        has_earlier=has_earlier,
        is_proposal=all(step.is_about_proposal for step in listed),
        is_purged=purged,
    )
