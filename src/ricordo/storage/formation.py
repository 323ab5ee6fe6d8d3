"""Rows of formation: how far each thread is processed, and proposals."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.frozen import dataclass
from ricordo.model.proposal import StoredProposal
from ricordo.model.record import Page
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import JobState, ProposalKind, ProposalState
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import Moment, PreparedStatement, Words, page_by_id, stored_choice
from ricordo.storage.tables import formation, jobs, proposals, threads, turns, without_user
from ricordo.storage.where import in_project

_TURN_COLUMNS: Final = without_user(turns)
_note_observed: Final = PreparedStatement(
    sa.text(
        "INSERT INTO formation (user_id, thread_id, formed_position, observed_at)"
        " VALUES (:user_id, :thread_id, 0, :now)"
        " ON CONFLICT (user_id, thread_id) DO UPDATE SET observed_at = excluded.observed_at"
    ).bindparams(sa.bindparam("now", type_=Moment))
)
_end_others: Final = PreparedStatement(
    sa.text(
        "UPDATE formation SET observed_at = :silent"
        " WHERE user_id = :user_id AND thread_id <> :thread_id AND observed_at > :silent"
        " AND EXISTS (SELECT 1 FROM threads t WHERE t.user_id = formation.user_id"
        " AND t.thread_id = formation.thread_id AND t.turn_count > formation.formed_position)"
        " RETURNING thread_id"
    ).bindparams(sa.bindparam("silent", type_=Moment))
)
THREADS_WITH_FORMATION: Final = threads.outerjoin(
    formation,
    sa.and_(formation.c.user_id == threads.c.user_id, formation.c.thread_id == threads.c.thread_id),
)
FORMED_POSITION: Final = sa.func.coalesce(formation.c.formed_position, 0)
_is_behind = threads.c.turn_count > FORMED_POSITION
_select_state = sa.select(
    threads.c.user_id,
    threads.c.thread_id,
    threads.c.turn_count,
    FORMED_POSITION,
    formation.c.observed_at,
).select_from(THREADS_WITH_FORMATION)
_user: Final = sa.bindparam("user_id", type_=Words)
_thread: Final = sa.bindparam("thread_id", type_=Words)
_state: Final = PreparedStatement(
    _select_state.where(threads.c.user_id == _user, threads.c.thread_id == _thread)
)
_advance: Final = PreparedStatement(
    sa.text(
        "INSERT INTO formation (user_id, thread_id, formed_position, observed_at, formed_at)"
        " VALUES (:user_id, :thread_id, :reached, :now, :now)"
        " ON CONFLICT (user_id, thread_id) DO UPDATE SET"
        " formed_position = excluded.formed_position, formed_at = excluded.formed_at"
    ).bindparams(sa.bindparam("now", type_=Moment))
)
_between: Final = PreparedStatement(
    sa.select(*_TURN_COLUMNS)
    .where(
        turns.c.user_id == _user,
        turns.c.thread_id == _thread,
        turns.c.position.between(
            sa.bindparam("first", type_=sa.BigInteger), sa.bindparam("last", type_=sa.BigInteger)
        ),
    )
    .order_by(turns.c.position)
)
_speakers: Final = PreparedStatement(
    sa.select(turns.c.actor)
    .where(
        turns.c.user_id == _user,
        turns.c.thread_id == _thread,
        turns.c.role == sa.bindparam("role", type_=Words),
        turns.c.actor.is_not(None),
    )
    .distinct()
)

_COLUMNS: Final = without_user(proposals)
CURSOR = "proposals"
_insert: Final = PreparedStatement(sa.insert(proposals))
_open: Final = PreparedStatement(
    sa.select(*_COLUMNS)
    .where(
        proposals.c.user_id == _user,
        proposals.c.state == sa.literal_column(f"'{ProposalState.OPEN.value}'"),
        proposals.c.expires_at > sa.bindparam("now", type_=Moment),
    )
    .order_by(proposals.c.id)
)


@dataclass(frozen=True, slots=True)
class FormationState:
    """A conversation, its length, and up to where it has been processed."""

    user_id: str
    thread_id: str
    turn_count: int
    formed_position: int
    observed_at: datetime | None

    @property
    def is_behind(self) -> bool:
        return self.formed_position < self.turn_count


def note_observed(writing: WriteTransaction, thread_id: str) -> None:
    given = {"user_id": writing.user_id, "thread_id": thread_id, "now": writing.now}
    _note_observed.run(writing.connection, given)


def end_others(writing: WriteTransaction, thread_id: str, silent: datetime) -> list[str]:
    """Take the user's other conversations as silent since then where something was said later that
    is not formed yet; returns which."""
    given = {"user_id": writing.user_id, "thread_id": thread_id, "silent": silent}
    return [row[0] for row in _end_others.run(writing.connection, given)]


def state_of(connection: sa.Connection, user_id: str, thread_id: str) -> FormationState | None:
    rows = _state.run_typed(connection, {"user_id": user_id, "thread_id": thread_id})
    return FormationState(*rows[0]) if rows else None


def project_of(connection: sa.Connection, user_id: str, thread_id: str) -> str | None:
    """The project of a conversation; None for none."""
    wanted = sa.select(threads.c.project_id).where(
        threads.c.user_id == user_id, threads.c.thread_id == thread_id
    )
    found: str | None = connection.execute(wanted).scalar_one_or_none()
    return found


def unformed_threads(
    connection: sa.Connection, user_id: str, limit: int, project: str | None = None
) -> list[FormationState]:
    """A user's conversations with unprocessed turns, the oldest first; with a ``project``, those of
    it and of none."""
    wanted = _select_state.where(threads.c.user_id == user_id, _is_behind)
    if project is not None:
        wanted = wanted.where(in_project(threads, project))
    ordered = wanted.order_by(threads.c.updated_at, threads.c.thread_id).limit(limit)
    return [FormationState(*row) for row in connection.execute(ordered)]


def observed_and_behind(
    connection: sa.Connection, limit: int, *, without_job: str | None = None
) -> list[FormationState]:
    """Observed conversations of all users with unprocessed turns, the longest silent first.

    ``without_job`` skips those with a queued or running job of this kind.
    """
    wanted = _select_state.where(formation.c.observed_at.is_not(None), _is_behind)
    if without_job is not None:
        taken_care_of = sa.exists().where(
            jobs.c.kind == without_job,
            jobs.c.user_id == threads.c.user_id,
            jobs.c.unique_key == threads.c.thread_id,
            jobs.c.state.in_((JobState.QUEUED.value, JobState.RUNNING.value)),
        )
        wanted = wanted.where(~taken_care_of)
    ordered = wanted.order_by(formation.c.observed_at, threads.c.user_id, threads.c.thread_id)
    return [FormationState(*row) for row in connection.execute(ordered.limit(limit))]


def advance(writing: WriteTransaction, thread_id: str, reached: int) -> None:
    given = {"user_id": writing.user_id, "thread_id": thread_id}
    _advance.run(writing.connection, {**given, "reached": reached, "now": writing.now})
    writing.keeps_user = True


def turns_between(
    connection: sa.Connection, user_id: str, thread_id: str, first: int, last: int
) -> list[Turn]:
    """Turns from one position to another, both included."""
    given = {"user_id": user_id, "thread_id": thread_id, "first": first, "last": last}
    return [Turn.from_row(row) for row in _between.run_named(connection, given)]


def speakers_in(
    connection: sa.Connection, user_id: str, thread_id: str, role: str
) -> frozenset[str]:
    """The actors who spoke in a role in a conversation."""
    given = {"user_id": user_id, "thread_id": thread_id, "role": role}
    return frozenset(row[0] for row in _speakers.run(connection, given))


def insert_proposal(writing: WriteTransaction, new: StoredProposal) -> None:
    row = {column.name: getattr(new, column.name) for column in _COLUMNS}
    row |= {
        "kind": new.kind.value,
        "state": new.state.value,
        "fields": list(new.fields),
        "draft": None if new.draft is None else dict(new.draft),
        "signals": list(new.signals),
    }
    _insert.run(writing.connection, {"user_id": writing.user_id, **row})
    writing.keeps_user = True


def update_proposal(writing: WriteTransaction, proposal_id: int, values: Mapping[str, Any]) -> None:
    where = sa.and_(proposals.c.user_id == writing.user_id, proposals.c.id == proposal_id)
    stored = {
        name: value.value if isinstance(value, ProposalState) else value
        for name, value in values.items()
    }
    writing.connection.execute(sa.update(proposals).where(where).values(**stored))


def find_proposal(
    connection: sa.Connection, user_id: str, proposal_id: int
) -> StoredProposal | None:
    wanted = sa.select(*_COLUMNS).where(
        proposals.c.user_id == user_id, proposals.c.id == proposal_id
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else _proposal(row)


def proposed_contents(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> dict[int, str]:
    """What open proposals among these ids say."""
    wanted = sa.select(proposals.c.id, proposals.c.draft).where(
        proposals.c.user_id == user_id, proposals.c.id.in_(ids), proposals.c.draft.is_not(None)
    )
    return {row.id: str(row.draft["content"]) for row in connection.execute(wanted) if row.draft}


def open_proposals(connection: sa.Connection, user_id: str, now: datetime) -> list[StoredProposal]:
    rows = _open.run_named(connection, {"user_id": user_id, "now": now})
    return [_proposal(row) for row in rows]


def rejected_since(
    connection: sa.Connection, user_id: str, content_hashes: set[str], since: datetime
) -> set[str]:
    """The texts among these that the user has rejected."""
    wanted = sa.select(proposals.c.content_hash).where(
        proposals.c.user_id == user_id,
        proposals.c.content_hash.in_(sorted(content_hashes)),
        proposals.c.state == ProposalState.REJECTED.value,
        proposals.c.decided_at >= since,
    )
    return set(connection.execute(wanted).scalars())


def lapsed_proposals(connection: sa.Connection, user_id: str, now: datetime) -> list[int]:
    wanted = sa.select(proposals.c.id).where(
        proposals.c.user_id == user_id,
        proposals.c.state == ProposalState.OPEN.value,
        proposals.c.expires_at <= now,
    )
    return list(connection.execute(wanted.order_by(proposals.c.id)).scalars())


def next_lapse(connection: sa.Connection, user_id: str) -> datetime | None:
    wanted = sa.select(sa.func.min(proposals.c.expires_at, type_=Moment)).where(
        proposals.c.user_id == user_id, proposals.c.state == ProposalState.OPEN.value
    )
    found: datetime | None = connection.execute(wanted).scalar_one()
    return found


def page_of_proposals(
    connection: sa.Connection,
    user_id: str,
    state: ProposalState | None,
    now: datetime,
    limit: int,
    cursor: str | None,
    *,
    project: str | None = None,
) -> Page[StoredProposal]:
    """A user's proposals, the oldest first; open ones past their time count as expired. With a
    ``project``, those of it and of none.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """
    wanted = sa.select(*_COLUMNS).where(proposals.c.user_id == user_id)
    if project is not None:
        wanted = wanted.where(in_project(proposals, project))
    lapsed = sa.and_(proposals.c.state == ProposalState.OPEN.value, proposals.c.expires_at <= now)
    if state is ProposalState.OPEN:
        wanted = wanted.where(proposals.c.state == state.value, proposals.c.expires_at > now)
    elif state is ProposalState.EXPIRED:
        wanted = wanted.where(sa.or_(proposals.c.state == state.value, lapsed))
    elif state is not None:
        wanted = wanted.where(proposals.c.state == state.value)
    return page_by_id(connection, wanted, _proposal, CURSOR, proposals.c.id, limit, cursor)


def _proposal(row: Mapping[Any, Any]) -> StoredProposal:
    return StoredProposal(
        **{
            **row,
            "kind": stored_choice(ProposalKind, row["kind"]),
            "state": stored_choice(ProposalState, row["state"]),
            "fields": tuple(row["fields"]),
            "signals": tuple(row["signals"]),
        }
    )
