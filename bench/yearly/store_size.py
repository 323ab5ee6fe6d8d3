"""How much a store holds."""

from dataclasses import dataclass

import sqlalchemy as sa

from ricordo.memory import Memory
from ricordo.model.activity import STORE_JOB_USER, TOKENS
from ricordo.model.record import Record
from ricordo.storage.tables import items, jobs, tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSize(Record):
    """Memories by status, all rows of them together, and what they take on the disk."""

    day: int
    active: int
    superseded: int
    deleted: int
    rows: int
    megabytes: float


def size_of(memory: Memory, day: int) -> StoreSize:
    """What is in the store now."""
    grouped = sa.select(items.c.status, sa.func.count()).group_by(items.c.status)
    with memory.database.read_all() as view:
        counted: dict[str, int] = {row[0]: row[1] for row in view.connection.execute(grouped)}
        stored_bytes = _bytes(view.connection)
    return StoreSize(
        day=day,
        active=counted.get("active", 0),
        superseded=counted.get("superseded", 0),
        deleted=counted.get("deleted", 0),
        rows=sum(counted.values()),
        megabytes=stored_bytes / 1_000_000,
    )


def _bytes(connection: sa.Connection) -> int:
    if connection.dialect.name == "postgresql":
        size = sa.select(sa.func.pg_database_size(sa.func.current_database()))
        return int(connection.execute(size).scalar_one())
    pages = sa.text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    return int(connection.execute(pages).scalar_one())


def most_jobs_of_a_user(memory: Memory, done_before: int) -> tuple[int, int]:
    """The most jobs that one user had since a job, and the last job there is now.

    Finished jobs are kept for some days, so that asking once a day sees all.
    """
    where = sa.and_(jobs.c.id > done_before, jobs.c.user_id != STORE_JOB_USER)
    by_user = sa.select(sa.func.count().label("jobs")).where(where).group_by(jobs.c.user_id)
    most = sa.select(sa.func.max(by_user.subquery().c.jobs))
    with memory.database.read_all() as view:
        found = view.connection.execute(most).scalar_one() or 0
        last = view.connection.execute(sa.select(sa.func.max(jobs.c.id))).scalar_one() or 0
    return found, max(last, done_before)


def most_tokens_of_a_user_day(memory: Memory) -> int:
    """The most tokens of a language model that one user had on one day."""
    most = sa.select(sa.func.max(tallies.c.count)).where(tallies.c.name == TOKENS)
    with memory.database.read_all() as view:
        return view.connection.execute(most).scalar_one() or 0
