"""Rows of conversations: threads, turns and compactions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.errors import OtherProject
from ricordo.limits import MAX_ID, MAX_PIECE_CHARS
from ricordo.model.record import Page, decode_cursor, encode_cursor
from ricordo.model.search import SupersededStatement
from ricordo.model.thread import Compaction, NewTurn, Thread, Turn, text_of_turn
from ricordo.storage.database import WriteTransaction
from ricordo.storage.formation import FORMED_POSITION, THREADS_WITH_FORMATION
from ricordo.storage.search_rows import (
    Searchable,
    change_entry,
    change_terms,
    put_entries,
    remove_entries,
)
from ricordo.storage.sql import Moment, PreparedStatement, Words, among, bound_list, page_by_time
from ricordo.storage.tables import (
    TURN_IDS,
    TURNS,
    compactions,
    formation,
    of_turn,
    threads,
    turn_pieces,
    turns,
    without_user,
)
from ricordo.storage.where import in_project, in_project_of_thread
from ricordo.text.pieces import Span, first_piece, pieces
from ricordo.text.secrets import part_without_secrets

_select_threads: Final = sa.select(
    *without_user(threads), FORMED_POSITION.label("formed_position"), formation.c.observed_at
).select_from(THREADS_WITH_FORMATION)
_TURN_COLUMNS: Final = without_user(turns)
_messages_present: Final = PreparedStatement(
    sa.select(turns.c.message_id).where(
        turns.c.user_id == sa.bindparam("user_id", type_=Words),
        turns.c.thread_id == sa.bindparam("thread_id", type_=Words),
        among(turns.c.message_id, bound_list("message_ids")),
    )
)
_AROUND: Final = MAX_PIECE_CHARS  # characters of the text around a piece that may tell its secrets


def _said(*content: sa.ColumnElement[Any]) -> list[sa.ColumnElement[Any]]:
    return [
        turns.c.id,
        turns.c.thread_id,
        turns.c.message_id,
        turns.c.role,
        turns.c.actor,
        *content,
        turns.c.at,
        turns.c.ended_at,
    ]


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer)


_SAID: Final = _said(
    sa.func.substr(turns.c.content, _number(1), _number(MAX_PIECE_CHARS + 1 + _AROUND))
)
_by_id: Final = PreparedStatement(
    sa.select(*_SAID).where(
        turns.c.user_id == sa.bindparam("user_id", type_=Words),
        among(turns.c.id, bound_list("ids", sa.BigInteger())),
    )
)
_from: Final = sa.case(
    (turn_pieces.c.start > _number(_AROUND), turn_pieces.c.start - _number(_AROUND)),
    else_=_number(0),
)
_pieces_by_id: Final = PreparedStatement(
    sa.select(
        *_said(
            sa.func.substr(
                turns.c.content,
                _from + _number(1),
                turn_pieces.c.end - _from + _number(_AROUND),
            )
        ),
        turn_pieces.c.id,
        turn_pieces.c.start,
        turn_pieces.c.end,
    )
    .select_from(turn_pieces.join(turns, of_turn()))
    .where(
        turn_pieces.c.user_id == sa.bindparam("user_id", type_=Words),
        among(turn_pieces.c.id, bound_list("ids", sa.BigInteger())),
    )
)
_said_before: Final = PreparedStatement(
    sa.select(turns.c.id)
    .where(
        turns.c.user_id == sa.bindparam("user_id", type_=Words),
        turns.c.role == sa.bindparam("role", type_=Words),
        sa.or_(
            turns.c.id < sa.bindparam("turn_id", type_=sa.BigInteger),
            turns.c.at < sa.bindparam("at", type_=Moment),
        ),
    )
    .limit(_number(1))
)
_turns_of_pieces: Final = PreparedStatement(
    sa.select(turn_pieces.c.id, turn_pieces.c.turn_id).where(
        turn_pieces.c.user_id == sa.bindparam("user_id", type_=Words),
        among(turn_pieces.c.id, bound_list("ids", sa.BigInteger())),
    )
)
_THREADS_CURSOR = "threads"
_TURNS_CURSOR = "turns"
_COLUMNS: Final = without_user(compactions)
_user: Final = sa.bindparam("user_id", type_=Words)
_thread: Final = sa.bindparam("thread_id", type_=Words)
_reached: Final = (
    sa.select(sa.func.max(compactions.c.last_position))
    .where(compactions.c.user_id == _user, compactions.c.thread_id == _thread)
    .scalar_subquery()
)
# Run for every message that is recorded.
_find_thread: Final = PreparedStatement(
    _select_threads.where(threads.c.user_id == _user, threads.c.thread_id == _thread)
)
_present_threads: Final = PreparedStatement(
    sa.select(threads.c.thread_id).where(
        threads.c.user_id == _user, among(threads.c.thread_id, bound_list("thread_ids"))
    )
)
_insert_thread: Final = PreparedStatement(sa.insert(threads))
_extend_thread: Final = PreparedStatement(
    sa.update(threads)
    .where(
        threads.c.user_id == sa.bindparam("of_user", type_=Words),
        threads.c.thread_id == sa.bindparam("of_thread", type_=Words),
    )
    .values(turn_count=sa.bindparam("turn_count"), updated_at=sa.bindparam("updated_at"))
)
_insert_turns: Final = PreparedStatement(sa.insert(turns))
_open_turns: Final = PreparedStatement(
    sa.select(threads.c.turn_count - sa.func.coalesce(_reached, 0)).where(
        threads.c.user_id == _user, threads.c.thread_id == _thread
    )
)


class Appended(NamedTuple):
    """How many turns were new, and whether their conversation was."""

    turns: int
    begins_thread: bool


def append_turns(
    writing: WriteTransaction,
    thread_id: str,
    title: str | None,
    new: Sequence[NewTurn],
    project_id: str | None = None,
) -> Appended:
    """Append turns to a thread, creating it in a project if needed.

    Turns whose message id the thread already has are skipped. Raises OtherProject: a project is
    given, and the thread is not of it.
    """
    present = find_thread(writing.connection, writing.user_id, thread_id)
    if present and project_id not in (None, present.project_id):
        raise OtherProject(thread_id)
    known: set[str] = set()
    message_ids = [turn.message_id for turn in new if turn.message_id is not None]
    if present and message_ids:
        given = {"user_id": writing.user_id, "thread_id": thread_id, "message_ids": message_ids}
        known = {row[0] for row in _messages_present.run(writing.connection, given)}
    fresh: dict[object, NewTurn] = {}
    for turn in new:
        if turn.message_id is None or turn.message_id not in known:
            fresh.setdefault(turn.message_id or object(), turn)
    rows = _turn_rows(writing, thread_id, present.turn_count if present else 0, fresh.values())
    moments = [row["at"] for row in rows] or [writing.now]
    if present is None:
        made = {
            "user_id": writing.user_id,
            "thread_id": thread_id,
            "title": title,
            "turn_count": len(rows),
            "created_at": min(moments),
            "updated_at": max(moments),
            "project_id": project_id,
        }
        _insert_thread.run(writing.connection, made)
    elif rows:
        changed = {
            "of_user": writing.user_id,
            "of_thread": thread_id,
            "turn_count": present.turn_count + len(rows),
            "updated_at": max(present.updated_at, *moments),
        }
        _extend_thread.run(writing.connection, changed)
    if rows:
        _insert_turns.run_many(writing.connection, rows)
        index_turns(writing, [Turn.from_row(row) for row in rows])
    writing.keeps_user = True
    return Appended(len(rows), present is None)


def index_turns(writing: WriteTransaction, said: Iterable[Turn]) -> None:
    """Index new turns, of a long one each piece."""
    rows: list[Searchable] = []
    for turn in said:
        rows += [_searchable(turn, turn.id, first_piece(turn.content)), *_put_pieces(writing, turn)]
    put_entries(writing, TURNS, rows)


def _searchable(turn: Turn, row_id: int, text: str) -> Searchable:
    return Searchable(row_id, text, text_of_turn(replace(turn, content=text)))


def _further_pieces(turn: Turn) -> list[Span]:
    """The pieces of a turn after the first, without empty ones."""
    text = turn.content
    return [(start, end) for start, end in pieces(text)[1:] if text[start:end].strip()]


def _put_pieces(writing: WriteTransaction, turn: Turn) -> list[Searchable]:
    """Store the further pieces of a turn; they are not indexed yet."""
    spans = _further_pieces(turn)
    if not spans:
        return []
    ids = writing.take_ids(TURN_IDS, len(spans))
    rows = [
        {"user_id": writing.user_id, "id": row_id, "turn_id": turn.id, "start": start, "end": end}
        for row_id, (start, end) in zip(ids, spans, strict=True)
    ]
    writing.connection.execute(sa.insert(turn_pieces), rows)
    return [
        _searchable(turn, row_id, turn.content[start:end])
        for row_id, (start, end) in zip(ids, spans, strict=True)
    ]


def _pieces_of(writing: WriteTransaction, turn: Turn) -> dict[Span, int]:
    """The ids of the stored pieces of a turn, in order."""
    wanted = sa.select(turn_pieces.c.id, turn_pieces.c.start, turn_pieces.c.end).where(
        turn_pieces.c.user_id == writing.user_id, turn_pieces.c.turn_id == turn.id
    )
    rows = writing.connection.execute(wanted.order_by(turn_pieces.c.start)).all()
    return {(start, end): row_id for row_id, start, end in rows}


def _replace_pieces(writing: WriteTransaction, turn: Turn, former: Collection[int]) -> None:
    """Cut a turn again. Vectors of pieces that are the same are kept."""
    new = _put_pieces(writing, turn)
    if new:
        put_entries(writing, TURNS, new)
    if former:
        remove_entries(writing, TURNS, former)
        where = sa.and_(turn_pieces.c.user_id == writing.user_id, turn_pieces.c.id.in_(former))
        writing.connection.execute(sa.delete(turn_pieces).where(where))


def reindex_turn(writing: WriteTransaction, turn: Turn) -> None:
    """Make the terms of a turn again, and its pieces where it would be cut otherwise."""
    rows = [_searchable(turn, turn.id, first_piece(turn.content))]
    stored = _pieces_of(writing, turn)
    if list(stored) == _further_pieces(turn):
        rows += [
            _searchable(turn, row_id, turn.content[start:end])
            for (start, end), row_id in stored.items()
        ]
    else:
        _replace_pieces(writing, turn, stored.values())
    for row in rows:
        change_entry(writing, TURNS, row)  # where it is missing, or of another text
        change_terms(writing, TURNS, row)


def change_turn(writing: WriteTransaction, turn: Turn) -> None:
    """Replace the text of a turn, also in the index."""
    where = sa.and_(turns.c.user_id == writing.user_id, turns.c.id == turn.id)
    values = {"content": turn.content, "tool_calls": turn.tool_calls}
    writing.connection.execute(sa.update(turns).where(where).values(**values))
    change_entry(writing, TURNS, _searchable(turn, turn.id, first_piece(turn.content)))
    _replace_pieces(writing, turn, _pieces_of(writing, turn).values())
    writing.note_rewrite()  # copies in memory keep what was said
    writing.backend.search.compact(writing.connection)


def mark_ended(writing: WriteTransaction, ended: Mapping[int, datetime]) -> None:
    """Note since when what turns say is no longer so."""
    for turn_id, at in ended.items():
        where = sa.and_(turns.c.user_id == writing.user_id, turns.c.id == turn_id)
        writing.connection.execute(sa.update(turns).where(where).values(ended_at=at))


def find_thread(connection: sa.Connection, user_id: str, thread_id: str) -> Thread | None:
    rows = _find_thread.run_named(connection, {"user_id": user_id, "thread_id": thread_id})
    return Thread(**rows[0]) if rows else None


def stored_threads(
    connection: sa.Connection, user_id: str, thread_ids: Collection[str]
) -> set[str]:
    """Those of these threads that are stored."""
    given = {"user_id": user_id, "thread_ids": list(thread_ids)}
    return {row[0] for row in _present_threads.run(connection, given)}


def page_of_threads(
    connection: sa.Connection,
    user_id: str,
    limit: int,
    cursor: str | None,
    project: str | None = None,
    only_project: str | None = None,
) -> Page[Thread]:
    """A user's threads, the latest first; with a ``project``, those of it and of none. Of them just
    those of ``only_project``, if one is given. Raises InvalidCursor: the cursor was not given out
    by this call."""
    wanted = _select_threads.where(threads.c.user_id == user_id)
    if project is not None:
        wanted = wanted.where(in_project(threads, project))
    if only_project is not None:
        wanted = wanted.where(threads.c.project_id == only_project)
    return page_by_time(
        connection,
        wanted,
        lambda row: Thread(**row),
        _THREADS_CURSOR,
        threads.c.updated_at,
        threads.c.thread_id,
        limit,
        cursor,
    )


def page_of_turns(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    limit: int,
    cursor: str | None,
    *,
    from_position: int = 1,
    kind: str = _TURNS_CURSOR,
) -> Page[Turn]:
    """The turns of a thread in order; ``kind`` is that of the cursors. Raises InvalidCursor: the
    cursor was not given out by this call."""
    first = from_position
    if cursor is not None:
        (last,) = decode_cursor(kind, cursor, (int,))
        first = min(max(first, last + 1), MAX_ID)
    wanted = sa.select(*_TURN_COLUMNS).where(
        turns.c.user_id == user_id,
        turns.c.thread_id == thread_id,
        turns.c.position >= sa.literal(first, sa.BigInteger),
    )
    rows = connection.execute(wanted.order_by(turns.c.position).limit(limit + 1)).mappings().all()
    found = tuple(Turn.from_row(row) for row in rows[:limit])
    more = len(rows) > limit
    return Page(found, encode_cursor(kind, [found[-1].position]) if more else None)


def turn_of_message(
    connection: sa.Connection, user_id: str, thread_id: str, message_id: str
) -> Turn | None:
    wanted = sa.select(*_TURN_COLUMNS).where(
        turns.c.user_id == user_id, turns.c.thread_id == thread_id, turns.c.message_id == message_id
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else Turn.from_row(row)


def unnamed_turns_at(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    moments: Collection[datetime],
    limit: int,
) -> list[Turn]:
    """The turns of a thread without a message id, at one of these times."""
    wanted = (
        sa.select(*_TURN_COLUMNS)
        .where(
            turns.c.user_id == user_id,
            turns.c.thread_id == thread_id,
            turns.c.message_id.is_(None),
            turns.c.at.in_(moments),
        )
        .limit(limit)
    )
    return [Turn.from_row(row) for row in connection.execute(wanted).mappings()]


class SaidTurn(NamedTuple):
    """A turn as search shows it; lighter than :class:`Turn`.

    Of a long one ``content`` is a piece, without secrets, and ``part`` its place in the turn.
    """

    id: int
    thread_id: str
    message_id: str | None
    role: str
    actor: str | None
    content: str
    at: datetime
    ended_at: datetime | None = None
    superseded: tuple[SupersededStatement, ...] = ()
    part: Span | None = None


def turns_by_id(connection: sa.Connection, user_id: str, ids: Iterable[int]) -> dict[int, SaidTurn]:
    """Turns, or their pieces, by their ids in the index."""
    wanted = list(ids)
    rows = _by_id.run_typed(connection, {"user_id": user_id, "ids": wanted})
    found = {row[0]: _from_start(SaidTurn(*row)) for row in rows}
    further = [one for one in wanted if one not in found]
    if further:
        given = {"user_id": user_id, "ids": further}
        for *row, row_id, start, end in _pieces_by_id.run_typed(connection, given):
            found[row_id] = _part(SaidTurn(*row), start, end, before=min(start, _AROUND))
    return found


def _from_start(turn: SaidTurn) -> SaidTurn:
    """A turn; of a long one the first piece."""
    if len(turn.content) <= MAX_PIECE_CHARS:
        return turn
    return _part(turn, 0, len(first_piece(turn.content)), before=0)


def _part(turn: SaidTurn, start: int, end: int, *, before: int) -> SaidTurn:
    content = part_without_secrets(turn.content, before, before + end - start)
    return turn._replace(content=content, part=(start, end))


def turns_at(
    connection: sa.Connection, user_id: str, places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], SaidTurn]:
    """The turns at positions of threads, where there is one; of a long one the first piece."""
    wanted = sa.select(*_SAID, turns.c.position).where(
        turns.c.user_id == user_id,
        sa.tuple_(turns.c.thread_id, turns.c.position).in_(list(places)),
    )
    return {
        (row.thread_id, row.position): _from_start(SaidTurn(*row[:-1]))
        for row in connection.execute(wanted)
    }


def is_first_said(
    connection: sa.Connection, user_id: str, role: str, turn_id: int, at: datetime
) -> bool:
    """Whether nobody said anything in this role before this turn."""
    given = {"user_id": user_id, "role": role, "turn_id": turn_id, "at": at}
    return not _said_before.run(connection, given)


def has_pieces(connection: sa.Connection, user_id: str) -> bool:
    wanted = sa.exists().where(turn_pieces.c.user_id == user_id)
    return bool(connection.execute(sa.select(wanted)).scalar_one())


def turns_of_pieces(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> dict[int, int]:
    """The turns of those ids of the index that are pieces."""
    rows = _turns_of_pieces.run(connection, {"user_id": user_id, "ids": list(ids)})
    return {row[0]: row[1] for row in rows}


def speakers(connection: sa.Connection, user_id: str) -> list[str]:
    wanted = sa.select(turns.c.actor).where(turns.c.user_id == user_id, turns.c.actor.is_not(None))
    return list(connection.execute(wanted.distinct()).scalars())


def _turn_rows(
    writing: WriteTransaction, thread_id: str, last_position: int, fresh: Iterable[NewTurn]
) -> list[dict[str, Any]]:
    said = list(fresh)
    ids = writing.take_ids(TURN_IDS, len(said)) if said else []
    return [
        {
            "user_id": writing.user_id,
            "id": turn_id,
            "thread_id": thread_id,
            "position": position,
            "message_id": turn.message_id,
            "role": turn.role,
            "actor": turn.actor,
            "content": turn.content,
            "tool_calls": turn.tool_calls,
            "at": turn.at or writing.now,
            "observed_by": None if turn.observed_by is None else turn.observed_by.to_dict(),
            "ended_at": turn.ended_at,
        }
        for position, (turn_id, turn) in enumerate(
            zip(ids, said, strict=True), start=last_position + 1
        )
    ]


def count_open_turns(connection: sa.Connection, user_id: str, thread_id: str) -> int:
    """The number of turns after the last compaction; 0 where there is no such conversation."""
    rows = _open_turns.run(connection, {"user_id": user_id, "thread_id": thread_id})
    return int(rows[0][0]) if rows else 0


def last_compaction(connection: sa.Connection, user_id: str, thread_id: str) -> Compaction | None:
    wanted = (
        sa.select(*_COLUMNS)
        .where(compactions.c.user_id == user_id, compactions.c.thread_id == thread_id)
        .order_by(compactions.c.last_position.desc())
        .limit(1)
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else Compaction(**row)


def put_compaction(writing: WriteTransaction, made: Compaction) -> None:
    row = {column.name: getattr(made, column.name) for column in _COLUMNS}
    writing.connection.execute(sa.insert(compactions).values(user_id=writing.user_id, **row))
    writing.keeps_user = True


def drop_compactions(writing: WriteTransaction, thread_id: str, from_position: int) -> int:
    """Delete the summaries from the one of this position on; returns how many."""
    where = sa.and_(
        compactions.c.user_id == writing.user_id,
        compactions.c.thread_id == thread_id,
        compactions.c.last_position >= from_position,
    )
    return writing.connection.execute(sa.delete(compactions).where(where)).rowcount


def compactions_of_day(
    connection: sa.Connection, user_id: str, day: str, limit: int, project: str | None = None
) -> list[Compaction]:
    """The latest summaries of a user's conversations of a day, in order; with a ``project``, of
    those of it and of none."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(compactions.c.user_id == user_id, compactions.c.day == day)
        .order_by(
            compactions.c.at.desc(),
            compactions.c.thread_id.desc(),
            compactions.c.last_position.desc(),
        )
        .limit(limit)
    )
    if project is not None:
        wanted = wanted.where(in_project_of_thread(compactions, project))
    rows = connection.execute(wanted).mappings().all()
    return [Compaction(**row) for row in reversed(rows)]


def id_of_turn(
    connection: sa.Connection, user_id: str, thread_id: str, position: int
) -> int | None:
    wanted = sa.select(turns.c.id).where(
        turns.c.user_id == user_id, turns.c.thread_id == thread_id, turns.c.position == position
    )
    found: int | None = connection.execute(wanted).scalar()
    return found


def last_turn_id(connection: sa.Connection, user_id: str, thread_id: str) -> int | None:
    """The latest turn of a conversation; None where it has none."""
    wanted = (
        sa.select(turns.c.id)
        .where(turns.c.user_id == user_id, turns.c.thread_id == thread_id)
        .order_by(turns.c.position.desc())
        .limit(1)
    )
    found: int | None = connection.execute(wanted).scalar_one_or_none()
    return found
