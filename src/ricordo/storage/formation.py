"""How far each conversation has been formed into memories."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.thread import Turn
from ricordo.model.vocabulary import JobState
from ricordo.storage.columns import Moment
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import formation, jobs, threads, turns
from ricordo.storage.writing import Writing

_TURN_COLUMNS = [column for column in turns.c if column.name != "user_id"]
_note_observed: Final = Prepared(
    sa.text(
        "INSERT INTO formation (user_id, thread_id, formed_position, observed_at)"
        " VALUES (:user_id, :thread_id, 0, :now)"
        " ON CONFLICT (user_id, thread_id) DO UPDATE SET observed_at = excluded.observed_at"
    ).bindparams(sa.bindparam("now", type_=Moment))
)
THREADS_WITH_FORMATION: Final = threads.outerjoin(
    formation,
    sa.and_(formation.c.user_id == threads.c.user_id, formation.c.thread_id == threads.c.thread_id),
)
FORMED_POSITION: Final = sa.func.coalesce(formation.c.formed_position, 0)
_is_behind = threads.c.turn_count > FORMED_POSITION


@dataclass(frozen=True, slots=True)
class FormationState:
    """A conversation, how long it is, and how much of it has been formed."""

    user_id: str
    thread_id: str
    turn_count: int
    formed_position: int
    observed_at: datetime | None

    @property
    def is_behind(self) -> bool:
        """True where something was said that has not been formed yet."""
        return self.formed_position < self.turn_count


def note_observed(writing: Writing, thread_id: str) -> None:
    """Remember when something was last said in a conversation."""
    given = {"user_id": writing.user_id, "thread_id": thread_id, "now": writing.now}
    _note_observed.run(writing.connection, given)


def state_of(connection: sa.Connection, user_id: str, thread_id: str) -> FormationState | None:
    """Where one conversation stands; None when there is no such conversation."""
    wanted = _select().where(threads.c.user_id == user_id, threads.c.thread_id == thread_id)
    row = connection.execute(wanted).first()
    return None if row is None else FormationState(*row)


def unformed_threads(
    connection: sa.Connection, user_id: str, limit: int, *, other_than: str | None = None
) -> list[FormationState]:
    """A user's conversations with something that has not been formed, the oldest first."""
    wanted = _select().where(threads.c.user_id == user_id, _is_behind)
    if other_than is not None:
        wanted = wanted.where(threads.c.thread_id != other_than)
    ordered = wanted.order_by(threads.c.updated_at, threads.c.thread_id).limit(limit)
    return [FormationState(*row) for row in connection.execute(ordered)]


def observed_and_behind(
    connection: sa.Connection, limit: int, *, without_job: str | None = None
) -> list[FormationState]:
    """Observed conversations of all users that have not been formed, the longest silent first.

    ``without_job`` leaves out those that a job of this kind waits for, or works on right now.
    """
    wanted = _select().where(formation.c.observed_at.is_not(None), _is_behind)
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


def advance(writing: Writing, thread_id: str, reached: int) -> None:
    """Note that a conversation of the writing user is formed up to a turn."""
    where = sa.and_(formation.c.user_id == writing.user_id, formation.c.thread_id == thread_id)
    values = {"formed_position": reached, "formed_at": writing.now}
    done = writing.connection.execute(sa.update(formation).where(where).values(**values))
    if not done.rowcount:  # imported, never observed
        row = {"user_id": writing.user_id, "thread_id": thread_id, "observed_at": writing.now}
        writing.connection.execute(sa.insert(formation).values(**row, **values))
    writing.keeps_user = True


def turns_between(
    connection: sa.Connection, user_id: str, thread_id: str, first: int, last: int
) -> list[Turn]:
    """What was said from one position to another, both included."""
    wanted = (
        sa.select(*_TURN_COLUMNS)
        .where(
            turns.c.user_id == user_id,
            turns.c.thread_id == thread_id,
            turns.c.position.between(first, last),
        )
        .order_by(turns.c.position)
    )
    return [Turn.from_row(row) for row in connection.execute(wanted).mappings()]


def speakers_in(
    connection: sa.Connection, user_id: str, thread_id: str, role: str
) -> frozenset[str]:
    """The names of those who spoke in a role in a conversation."""
    wanted = sa.select(turns.c.actor).where(
        turns.c.user_id == user_id,
        turns.c.thread_id == thread_id,
        turns.c.role == role,
        turns.c.actor.is_not(None),
    )
    return frozenset(connection.execute(wanted.distinct()).scalars())


def _select() -> sa.Select[Any]:
    return sa.select(
        threads.c.user_id,
        threads.c.thread_id,
        threads.c.turn_count,
        FORMED_POSITION,
        formation.c.observed_at,
    ).select_from(THREADS_WITH_FORMATION)
