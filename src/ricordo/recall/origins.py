"""The source turns of memories, the memories formed from turns, and what of them is superseded."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.limits import MAX_SIMULTANEOUS_TURNS, MAX_SOURCE_CONTEXT_CHARS
from ricordo.memories.lifecycle import is_expired
from ricordo.memories.replacement import REPLACED
from ricordo.model.item import Item
from ricordo.model.record import Page
from ricordo.model.scope import within_project
from ricordo.model.search import SupersededStatement
from ricordo.model.thread import FormedTurn, Turn, source_role
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.database import ReadTransaction
from ricordo.storage.history import last_changes
from ricordo.storage.items import (
    active_with_key,
    items_by_id,
    items_from_moments,
    items_of_messages,
    superseded_from,
)
from ricordo.storage.sql import plan_by_values
from ricordo.storage.threads import (
    SaidTurn,
    page_of_turns,
    turn_of_message,
    turns_at,
    unnamed_turns_at,
)
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import canonical
from ricordo.text.secrets import without_secrets

_USER_ROLE: Final = "user"
_LONGEST_REPLY: Final = 120
_ANALYSER: Final = Analyser("english")


def source_among(item: Item, said: Iterable[Turn]) -> Turn | None:
    """The turn that a memory was formed from; None if that is not certain: a wrong turn is worse
    than none.

    ``said`` must have every possible turn: the one with its message id or, for a memory without
    one, all of its thread at the time from which it is valid.

    A message id alone decides. Without one, a turn must have none either, and match the memory's
    quote, role, speaker and time. If several match that say different things, it could be any of
    them; if they say the same, it is the first.
    """
    found = [turn for turn in said if may_be_source(item, turn)]
    if len({turn.content for turn in found}) != 1:
        return None
    return min(found, key=lambda turn: turn.position)


def may_be_source(item: Item, turn: Turn | SaidTurn) -> bool:
    """Whether a memory can have been formed from a turn."""
    if item.thread_id is None or item.thread_id != turn.thread_id:
        return False
    if item.message_id is not None or turn.message_id is not None:
        return item.message_id == turn.message_id
    return (
        item.source_context is not None
        and item.valid_from == turn.at
        and item.role is not None
        and item.role == source_role(turn.role)
        and item.actor_id == turn.actor
        and item.source_context in turn.content
    )


def read_source(view: ReadTransaction, item: Item) -> Turn | None:
    """The turn that a memory was formed from; None where that is unknown."""
    if item.thread_id is None:
        return None
    plan_by_values(view.connection)
    if item.message_id is None:
        said = _said_at(view.connection, item.user_id, item.thread_id, {item.valid_from})
        return source_among(item, said)
    turn = turn_of_message(view.connection, item.user_id, item.thread_id, item.message_id)
    return None if turn is None else source_among(item, [turn])


def answers_repeating(
    view: ReadTransaction, user_id: str, said: Mapping[tuple[str, int], str]
) -> list[int]:
    """The short answers to turns that have words of them, by thread and position of the turns."""
    following = turns_at(view.connection, user_id, [(one, place + 1) for one, place in said])
    return [
        answer.id
        for (thread, place), answer in following.items()
        if answer.role != _USER_ROLE
        and len(answer.content) <= _LONGEST_REPLY
        and not {*_ANALYSER.terms(answer.content)}.isdisjoint(
            _ANALYSER.terms(said[thread, place - 1])
        )
    ]


def read_formed(
    view: ReadTransaction,
    user_id: str,
    thread_id: str,
    from_position: int,
    limit: int,
    cursor: str | None,
) -> Page[FormedTurn]:
    """A page of turns, each with the memories formed from it. Raises InvalidCursor."""
    plan_by_values(view.connection)
    page = page_of_turns(
        view.connection,
        user_id,
        thread_id,
        limit,
        cursor,
        from_position=from_position,
        kind="formed turns",
    )
    formed: dict[int, list[Item]] = {turn.id: [] for turn in page}
    for item, turn in (
        *_by_message(view, user_id, thread_id, page.items),
        *_by_moment(view, user_id, thread_id, page.items),
    ):
        formed[turn.id].append(item)
    shown = tuple(FormedTurn(turn, tuple(formed[turn.id])) for turn in page)
    return Page(shown, page.next_cursor)


def _by_message(
    view: ReadTransaction, user_id: str, thread_id: str, said: Sequence[Turn]
) -> list[tuple[Item, Turn]]:
    """The memories of turns with a message id, which is unique."""
    named = {turn.message_id: turn for turn in said if turn.message_id is not None}
    if not named:
        return []
    found = items_of_messages(view.connection, user_id, thread_id, list(named), view.now)
    sources = ((item, source_among(item, [named[item.message_id or ""]])) for item in found)
    return [(item, turn) for item, turn in sources if turn is not None]


def _by_moment(
    view: ReadTransaction, user_id: str, thread_id: str, said: Sequence[Turn]
) -> list[tuple[Item, Turn]]:
    """The memories of turns without one, among all turns of the same times."""
    unnamed: dict[datetime, list[Turn]] = {}
    for turn in said:
        if turn.message_id is None:
            unnamed.setdefault(turn.at, []).append(turn)
    if not unnamed:
        return []
    found = items_from_moments(view.connection, user_id, thread_id, list(unnamed), view.now)
    likely = [
        item
        for item in found
        if any(may_be_source(item, turn) for turn in unnamed.get(item.valid_from, ()))
    ]
    if not likely:
        return []
    rivals = _said_at(view.connection, user_id, thread_id, {item.valid_from for item in likely})
    by_moment: dict[datetime, list[Turn]] = {}
    for turn in rivals:
        by_moment.setdefault(turn.at, []).append(turn)
    shown = {turn.id for turn in said}
    sources = ((item, source_among(item, by_moment.get(item.valid_from, ()))) for item in likely)
    return [(item, turn) for item, turn in sources if turn is not None and turn.id in shown]


def _said_at(
    connection: sa.Connection, user_id: str, thread_id: str, moments: set[datetime]
) -> list[Turn]:
    """All turns without a message id at these times; none where they are too many."""
    most = MAX_SIMULTANEOUS_TURNS
    found = unnamed_turns_at(connection, user_id, thread_id, sorted(moments), most + 1)
    return found if len(found) <= most else []


# What turns said that is no longer current: memories formed from them were superseded.


def superseded_statements(
    view: ReadTransaction,
    user_id: str,
    said: Sequence[Turn | SaidTurn],
    project: str | None = None,
) -> dict[int, tuple[SupersededStatement, ...]]:
    """What each of these turns said that is no longer current, by the id of the turn.

    What was merged into another memory is current, and so is what became true again. With a
    ``project`` nothing is told of other ones.
    """
    found = [
        (turn, item)
        for item in superseded_from(view.connection, user_id, said)
        for turn in said
        if may_be_source(item, turn)
        and not is_expired(item, view.now)
        and within_project(item.project_id, project)
    ]
    successors = _Successors(view, user_id, [item for _, item in found])
    statements: dict[int, list[SupersededStatement]] = {}
    for turn, item in found:
        since, current = successors.of(item)
        if current is not None and not within_project(current.project_id, project):
            current = None
        if since is None or (current and canonical(current.content) == canonical(item.content)):
            continue
        quote = item.source_context
        statements.setdefault(turn.id, []).append(
            SupersededStatement(
                id=item.id,
                content=without_secrets(item.content),
                # A secret may not be recognised without the words around it.
                quote=quote if quote and quote in without_secrets(turn.content) else None,
                since=since,
                by=None if current is None else current.id,
                now=None if current is None else without_secrets(current.content),
            )
        )
    for turn in said:
        since = None if turn.id in statements else turn.ended_at
        if since is not None and not _is_current(view, user_id, turn):
            words = without_secrets(turn.content)[:MAX_SOURCE_CONTEXT_CHARS]
            ended = SupersededStatement(
                id=None, content=words, quote=words, since=since, by=None, now=None
            )
            statements[turn.id] = [ended]
    return {turn_id: tuple(listed) for turn_id, listed in statements.items()}


def _is_current(view: ReadTransaction, user_id: str, turn: Turn | SaidTurn) -> bool:
    """Whether a memory of what a turn says holds: what ended it may have been undone."""
    place = (view.connection, user_id, turn.thread_id)
    found = (
        items_from_moments(*place, [turn.at], view.now)
        if turn.message_id is None
        else items_of_messages(*place, [turn.message_id], view.now)
    )
    return any(item.status is Status.ACTIVE and may_be_source(item, turn) for item in found)


class _Successors:
    """What came after superseded memories, step by step up to what is current."""

    def __init__(self, view: ReadTransaction, user_id: str, superseded: Iterable[Item]) -> None:
        self._view = view
        self._user_id = user_id
        self._known = {item.id: item for item in superseded}
        self._next: dict[int, int | None] = {}
        self._merged: set[int] = set()
        while ended := [
            item
            for item in self._known.values()
            if item.status is Status.SUPERSEDED and item.id not in self._next
        ]:
            self._follow(ended)

    def of(self, item: Item) -> tuple[datetime | None, Item | None]:
        """Since when a memory is not current, None if it is; and what is, None if that is gone."""
        since: datetime | None = None
        passed: set[int] = set()
        last: Item | None = item
        while last is not None and last.status is Status.SUPERSEDED and last.id not in passed:
            passed.add(last.id)
            if since is None and last.id not in self._merged:
                since = last.valid_to or last.updated_at
            last = self._known.get(self._next[last.id] or 0)
        is_current = (
            last is not None
            and last.status is Status.ACTIVE
            and not is_expired(last, self._view.now)
        )
        return since, last if is_current else None

    def _follow(self, ended: list[Item]) -> None:
        connection = self._view.connection
        changes = last_changes(connection, self._user_id, [item.id for item in ended], REPLACED)
        by_key = self._under_keys([item for item in ended if item.id not in changes])
        for item in ended:
            change = changes.get(item.id)
            self._next[item.id] = by_key.get(item.id) if change is None else change.new_ref
            if change is not None and change.event is Event.MERGE:
                self._merged.add(item.id)
        reached = {self._next[item.id] for item in ended} - self._known.keys()
        wanted = [(self._user_id, item_id) for item_id in reached if item_id is not None]
        self._known |= items_by_id(connection, wanted)

    def _under_keys(self, former: list[Item]) -> dict[int, int]:
        """The memories that have the keys of former texts now: an update keeps theme and key."""
        keys = {item.key for item in former if item.key is not None}
        if not keys:
            return {}
        themes = {item.theme for item in former}
        found = active_with_key(self._view.connection, self._user_id, themes, keys, self._view.now)
        present = {(one.theme, one.key, one.project_id): one.id for one in found}
        places = {item.id: (item.theme, item.key, item.project_id) for item in former}
        return {item_id: present[place] for item_id, place in places.items() if place in present}
