"""The source turns of memories, and the memories formed from turns."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.limits import MAX_SIMULTANEOUS_TURNS
from ricordo.model.item import Item
from ricordo.model.record import Page
from ricordo.model.thread import FormedTurn, Turn, source_role
from ricordo.storage.database import ReadTransaction
from ricordo.storage.items import items_from_moments, items_of_messages
from ricordo.storage.sql import plan_by_values
from ricordo.storage.threads import (
    SaidTurn,
    page_of_turns,
    turn_of_message,
    turns_at,
    unnamed_turns_at,
)
from ricordo.text.analyser import Analyser

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
