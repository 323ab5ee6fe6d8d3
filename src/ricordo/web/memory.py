"""The page of one memory: timeline, origin, relations and history."""

import contextlib
from collections.abc import Callable
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
from ricordo.frozen import dataclass
from ricordo.http.problems import status_of
from ricordo.memories.lifecycle import is_expired
from ricordo.memories.ratings import rating_by
from ricordo.model import checks
from ricordo.model.checks import format_moment
from ricordo.model.group import group_of
from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Status
from ricordo.observability.logs import note_error
from ricordo.web.forms import Fields, Posted, tags_in
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.routing import page_router
from ricordo.web.sessions import Reverse
from ricordo.web.wording import SOURCES, steps

_LEFT: Final = 2.0  # percent of the width, so that icons at the ends are not cut off
_RIGHT: Final = 98.0
_RIGHT_IF_OPEN: Final = 88.0  # an open end goes on after the last point
_MIN_SPAN: Final = timedelta(hours=1)
_TEMPLATE: Final = "memory.html"
_REFUSED: Final = (Conflict, InvalidInput, NotOwner, CategoryNotAllowed)
_SAID: Final = {
    "used": "Noted: it helped.",
    "wrong": "Noted: it is wrong. It is no longer shown as current.",
    "outdated": "Noted: it is outdated. It is no longer shown as current.",
    "withdrawn": "Taken back.",
}
_UNLINKED: Final = "It is not shown here any more, and cannot be offered again."
_LIST: Final = "/ui/memories"
_OUTDATED: Final = "It has changed meanwhile, so nothing was done. This is the current state."


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
    named = [("from", "Valid from", item.valid_from)]
    if item.valid_to is not None:
        named.append(("to", "Valid until", item.valid_to))
    named.append(("noted", "Added", item.created_at))
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
def show_memory(page: Page, id: int) -> Response:
    """Everything about a memory, or the history of one that is gone."""
    return _memory_page(page, _checked_id(id))


@router.post("/memories/{id}/undo")
def undo(page: Page, form: Posted, id: int) -> Response:
    return _act(page, form, _checked_id(id), page.memory.undo, "Undone.")


@router.post("/memories/{id}/restore")
def restore(page: Page, form: Posted, id: int) -> Response:
    def put_away_again(before: Item, now: Item) -> Reverse:
        return _back(now, "archive" if before.status is Status.ARCHIVED else "forget")

    return _act(page, form, _checked_id(id), page.memory.restore, "Restored.", put_away_again)


@router.post("/memories/{id}/archive")
def archive(page: Page, form: Posted, id: int) -> Response:
    return _act(page, form, _checked_id(id), page.memory.archive, "Archived.", _restored)


@router.post("/memories/{id}/forget")
def forget(page: Page, form: Posted, id: int) -> Response:
    def put_away(item_id: int, **given: Any) -> Item:
        return page.memory.forget(item_id, **given)[0]

    return _act(page, form, _checked_id(id), put_away, "Forgotten.", _restored)


@router.post("/memories/{id}/unlink")
def unlink(page: Page, form: Posted, id: int) -> Response:  # noqa: ARG001 - its token is checked
    """Have what another user shares no more."""
    try:
        page.memory.unlink(_checked_id(id))
    except _REFUSED as error:
        note_error(error)
        return _memory_page(page, id, error)
    return page.redirect(_LIST, notice=_UNLINKED)


@router.post("/memories/{id}/rate")
def rate(page: Page, form: Posted, id: int) -> Response:
    """What the user says of a memory, on its page or in a list of results."""
    item_id, verdict = _checked_id(id), form.get("verdict", "")

    def say(item_id: int, **given: Any) -> Item:
        return page.memory.rate(item_id, verdict, query=form.get("query"), **given)

    def as_before(before: Item, now: Item) -> Reverse:
        former = rating_by(page.memory.scope, before)
        return _back(now, "rate", verdict="withdrawn" if former is None else former.verdict.value)

    if not page.is_partial:
        return _act(page, form, item_id, say, _SAID.get(verdict, "Noted."), as_before)
    refusal = None
    try:
        item = say(item_id)
    except _REFUSED as error:
        note_error(error)
        refusal = _told(page, error)
        item = page.memory.get(item_id, include_deleted=True)
    return page.fragment(
        "_rating.html",
        item=item,
        mine=rating_by(page.memory.scope, item),
        inline=True,
        asked=form.get("query"),
        refusal=refusal,
    )


@router.post("/memories/{id}/pin")
def pin(page: Page, form: Posted, id: int) -> Response:
    """Pin it, or take the pin away."""
    pinned = "pinned" in form

    def change(item_id: int, *, reason: str | None, **given: Any) -> Item:  # noqa: ARG001
        return page.memory.pin(item_id, pinned, **given)

    def as_before(_before: Item, now: Item) -> Reverse:
        return _back(now, "pin", **({} if pinned else {"pinned": "1"}))

    notice = "Pinned." if pinned else "No longer pinned."
    return _act(page, form, _checked_id(id), change, notice, as_before)


@router.post("/memories/{id}/tags")
def tag(page: Page, form: Posted, id: int) -> Response:
    """Exchange its tags; the text stays."""

    def change(item_id: int, *, reason: str | None, expected_updated_at: str | None) -> Item:
        item = page.memory.get(item_id)
        if expected_updated_at not in (None, format_moment(item.updated_at)):
            raise Changed(item_id)
        tags = tags_in(form.get("tags", ""))
        page.memory.add(item.content, supersedes=item_id, tags=tags, reason=reason)
        return page.memory.get(item_id)

    def as_before(_before: Item, now: Item) -> Reverse:
        return _back(now, "undo")

    return _act(page, form, _checked_id(id), change, "Tags saved.", as_before)


def _checked_id(id: int) -> int:
    """Ids out of range are treated like unknown ones."""
    try:
        return checks.memory_id(id)
    except InvalidValue:
        raise MemoryNotFound(id) from None


def _act(
    page: PageRequest,
    form: Fields,
    item_id: int,
    act: Callable[..., Item],
    notice: str,
    reverse: Callable[[Item, Item], Reverse] | None = None,
) -> Response:
    """Do it and show the result, or say why it was refused and show the current state.

    ``reverse`` makes the form that takes it back of the memory before and after.
    """
    before = None if reverse is None else _any_of(page, item_id)
    try:
        item = act(
            item_id, reason=form.get("reason"), expected_updated_at=form.get("expected_updated_at")
        )
    except _REFUSED as error:
        note_error(error)
        return _memory_page(page, item_id, error)
    if item.id != item_id:
        notice = f"{notice} This is the restored memory."
    back = None
    if reverse is not None and before is not None and item.updated_at != before.updated_at:
        back = reverse(before, item)
    return page.redirect(f"{_LIST}/{item.id}", notice=notice, reverse=back)


def _any_of(page: PageRequest, item_id: int) -> Item | None:
    return next(iter(page.memory.get_many([item_id], include_deleted=True)), None)


def _back(item: Item, action: str, **fields: str) -> Reverse:
    """What brings a memory back from this state, and from no later one."""
    seen = {"expected_updated_at": format_moment(item.updated_at)}
    return Reverse(f"{_LIST}/{item.id}/{action}", {**seen, **fields})


def _restored(_before: Item, now: Item) -> Reverse:
    return _back(now, "restore")


def stored_by(page: PageRequest, item_id: int) -> Reverse:
    """What takes a memory back that was just stored, changed or shown by a decision."""
    item = page.memory.get(item_id)
    if item.user_id != page.user:
        return Reverse(f"{_LIST}/{item_id}/unlink", {})
    changed = page.memory.lineage(item_id).undoable is not None
    return _back(item, "undo" if changed else "forget")


def _memory_page(page: PageRequest, item_id: int, refused: RicordoError | None = None) -> Response:
    try:
        item = page.memory.get(item_id, include_deleted=True)
    except MemoryNotFound:
        return _gone(page, item_id)
    problem = None
    if isinstance(refused, Changed):
        problem = _OUTDATED
    elif refused is not None:
        problem = _told(page, refused)
    return page.render(
        _TEMPLATE,
        status=200 if refused is None else int(status_of(refused)),
        item_id=item_id,
        item=item,
        problem=problem,
        **_about(page, item),
    )


def _told(page: PageRequest, refused: RicordoError) -> str:
    reason = told_outside(refused, page.store.database.backend.location)
    return f"Nothing was done: {reason}."


def _about(page: PageRequest, item: Item) -> dict[str, Any]:
    now = page.store.database.clock()
    own = item.user_id == page.owner
    expired = item.status is not Status.DELETED and is_expired(item, now)
    present = item.status is not Status.DELETED and not expired
    changes, has_earlier = _history(page, item.id)
    lineage = page.memory.lineage(item.id)
    return {
        "own": own,
        "is_global": item.user_id == GLOBAL_OWNER,
        "can_edit": own and present and item.status is Status.ACTIVE and page.may_change,
        "group": None if own else group_of(item.user_id),
        "expired": expired,
        "life": lifetime(item, now),
        "source": SOURCES[item.source],
        **_origin(page, item, is_read=own and present),
        "viewers": page.memory.links(item.id) if own and present else (),
        "vector": next(iter(page.memory.embedding_states([item.id])), None),
        "related": page.memory.related(item.id) if present else (),
        "lineage": lineage,
        "steps": steps(page.memory, changes, item.to_dict())[::-1],
        "has_earlier": has_earlier,
        "undoable": lineage.undoable if page.may_change else None,
        "can_rate": own and present and page.may_change,
        "mine": rating_by(page.memory.scope, item),
        "inline": False,
        "asked": None,
        "refusal": None,
        **_refuted(item),
        "can_restore": own
        and page.may_change
        and (expired or item.status in (Status.ARCHIVED, Status.DELETED)),
        # Restoring an expired memory first marks it as forgotten, so it would always differ.
        "seen": None if expired else format_moment(item.updated_at),
    }


def _refuted(item: Item) -> dict[str, Any]:
    """What a user called it, and who, where that is why it is not current."""
    against = [one for one in item.ratings if one.is_against and not one.is_agent]
    latest = max(against, key=lambda one: one.at, default=None)
    if latest is None:
        return {"refuted": None, "refuted_by": None}
    return {"refuted": latest.verdict.value, "refuted_by": latest.by}


def _origin(page: PageRequest, item: Item, *, is_read: bool) -> dict[str, Any]:
    """The conversation and the turn of a memory, for callers who may read conversations."""
    if item.thread_id is not None and is_read and not page.is_confined:
        # A memory may name a thread that was never recorded.
        with contextlib.suppress(ThreadNotFound):
            thread = page.memory.thread(item.thread_id)
            return {"turn": page.memory.source_turn(item.id), "thread": thread}
    return {"turn": None, "thread": None}


def _history(page: PageRequest, item_id: int) -> tuple[tuple[Change, ...], bool]:
    """The latest changes, oldest first, and whether there are earlier ones."""
    most = limits.PAGE_ROWS
    changes = page.memory.history(item_id, limit=most + 1)
    return changes[-most:], len(changes) > most


def _gone(page: PageRequest, item_id: int) -> Response:
    """The page of a memory that was purged or is no longer shared.

    Raises:
        MemoryNotFound: this user never had access to it.
    """
    changes, has_earlier = _history(page, item_id)
    if not changes:
        raise MemoryNotFound(item_id)
    listed = steps(page.memory, changes)[::-1]
    purged = changes[-1].event is Event.PURGE and changes[-1].other_user is None
    return page.render(
        _TEMPLATE,
        item_id=item_id,
        item=None,
        problem=None,
        steps=listed,
        has_earlier=has_earlier,
        is_proposal=all(step.is_about_proposal for step in listed),
        is_purged=purged,
    )
