"""One user's write: memories, history, revision and jobs in one transaction."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.embedding import KnownVectors
from ricordo.model.job import NewJob
from ricordo.model.scope import Policy
from ricordo.model.vocabulary import Event
from ricordo.storage.backend import Backend, RaceLost
from ricordo.storage.jobs import put_job
from ricordo.storage.prepared import PreparedStatement
from ricordo.storage.sql_types import Moment
from ricordo.storage.tables import history, users
from ricordo.text.analyser import Analyser

_lock_user: Final = PreparedStatement(
    sa.select(users.c.revision, users.c.index_stamp, users.c.index_epoch, users.c.index_removals)
    .where(users.c.user_id == sa.bindparam("user_id", type_=sa.Text))
    .with_for_update()
)
_make_user: Final = PreparedStatement(
    sa.text(
        "INSERT INTO users (user_id, revision, created_at, updated_at, index_stamp, index_epoch)"
        " VALUES (:user_id, 0, :now, :now, :stamp, :stamp)"
        " ON CONFLICT (user_id) DO NOTHING RETURNING user_id"
    ).bindparams(sa.bindparam("now", type_=Moment))
)
_forget_user: Final = PreparedStatement(
    sa.delete(users).where(
        users.c.user_id == sa.bindparam("user_id", type_=sa.Text), users.c.revision == 0
    )
)
_advance_user: Final = PreparedStatement(
    sa.update(users)
    .where(users.c.user_id == sa.bindparam("of_user", type_=sa.Text))
    .values(
        revision=sa.bindparam("revision"),
        updated_at=sa.bindparam("updated_at"),
        index_stamp=sa.bindparam("index_stamp"),
        index_epoch=sa.bindparam("index_epoch"),
        index_removals=sa.bindparam("index_removals"),
    )
)
_stamp_user: Final = PreparedStatement(
    sa.update(users)
    .where(users.c.user_id == sa.bindparam("of_user", type_=sa.Text))
    .values(
        index_stamp=sa.bindparam("index_stamp"),
        index_epoch=sa.bindparam("index_epoch"),
        index_removals=sa.bindparam("index_removals"),
    )
)
_insert_history: Final = PreparedStatement(sa.insert(history))

_LOCK_ATTEMPTS: Final = 10

OWNER_ACTED: Final = "owner"
VIEWER_ACTED: Final = "viewer"
"""The actor in one user's history for another who acted on a shared memory."""


@dataclass(slots=True)
class _Ledger:
    """The history rows and index changes that this transaction adds for one user."""

    revision: int
    index_stamp: int = 0
    index_epoch: int = 0
    index_removals: int = 0
    index_changed: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)


class WriteTransaction:
    """An open write transaction of one user.

    Collects history and writes it with the new revision just before the commit.
    """

    def __init__(
        self,
        backend: Backend,
        connection: sa.Connection,
        now: datetime,
        policy: Policy,
        analyser: Analyser,
        user_id: str,
        others: AbstractSet[str] = frozenset(),
        known: KnownVectors | None = None,
    ) -> None:
        self.backend = backend
        self.connection = connection
        self.now = now
        self.policy = policy
        self.analyser = analyser
        self.user_id = user_id
        self.known = known  # None: nobody has asked yet which vectors there could be
        self.queued_jobs = 0
        self.keeps_user = False  # set by writes that leave something without a row of history
        self._new_users: set[str] = set()
        self._ledgers: dict[str, _Ledger] = {}
        self._acts_for = {user_id}  # as the transaction was begun
        self._act_for_also(others)
        for locked in sorted({user_id, *others}):
            self._ledger(locked)

    @property
    def revision(self) -> int:
        return self._ledgers[self.user_id].revision

    @property
    def is_first(self) -> bool:
        """True where the writing user had no row: they are new, or were just erased."""
        return self.user_id in self._new_users

    def take_ids(self, series: str, count: int) -> list[int]:
        return self.backend.take_ids(self.connection, series, count)

    def record(
        self,
        event: Event,
        item_id: int,
        *,
        actor: str,
        reason: str | None = None,
        old_ref: int | None = None,
        new_ref: int | None = None,
        other_user: str | None = None,
        meta: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        user_id: str | None = None,
    ) -> None:
        """Add one row of history, which is one revision.

        ``user_id``: the user whose history it goes into, by default the writing user.
        """
        ledger = self._ledger(user_id or self.user_id)
        ledger.revision += 1
        ledger.rows.append(
            {
                "user_id": user_id or self.user_id,
                "revision": ledger.revision,
                "event": event.value,
                "item_id": item_id,
                "at": self.now,
                "actor": actor,
                "reason": reason,
                "old_ref": old_ref,
                "new_ref": new_ref,
                "other_user": other_user,
                "meta": dict(meta or {}),
                "before": None if before is None else dict(before),
            }
        )

    def concern(self, user_id: str) -> None:
        """Lock another user, and let the transaction touch their rows."""
        self._ledger(user_id)

    def next_stamp(self) -> int:
        """The stamp of this transaction's changes to the user's search index."""
        ledger = self._ledgers[self.user_id]
        if not ledger.index_changed:
            ledger.index_changed = True
            ledger.index_stamp += 1
        return ledger.index_stamp

    def note_removal(self) -> None:
        """Rows were removed from the index: copies must find out which."""
        stamp = self.next_stamp()
        self._ledgers[self.user_id].index_removals = stamp

    def note_rewrite(self) -> None:
        """Much of the index was rebuilt: copies must start over."""
        stamp = self.next_stamp()
        self._ledgers[self.user_id].index_epoch = stamp

    def continue_from(self, revision: int) -> None:
        """Continue after a history that was imported."""
        self._ledgers[self.user_id].revision = revision

    def enqueue(self, job: NewJob) -> None:
        """Queue a job in this transaction: it exists exactly if the write does."""
        self._act_for_also([job.user_id])  # jobs of the store as a whole are nobody's
        put_job(self.backend, self.connection, job, self.now)
        self.queued_jobs += 1

    @contextlib.contextmanager
    def acting_for_all(self) -> Iterator[None]:
        """See and change everybody's rows inside the block.

        For the few steps of a user's write that concern users who are not known before.
        """
        self.backend.act_for_all(self.connection)
        yield
        self.backend.act_for_all(self.connection, acting=False)

    def flush(self) -> None:
        """Write the collected history and advance the revisions and stamps."""
        for user_id, ledger in self._ledgers.items():
            stamps = {
                "of_user": user_id,
                "index_stamp": ledger.index_stamp,
                "index_epoch": ledger.index_epoch,
                "index_removals": ledger.index_removals,
            }
            if ledger.rows:
                _insert_history.run_many(self.connection, ledger.rows)
                moved = {"revision": ledger.revision, "updated_at": self.now}
                _advance_user.run(self.connection, {**stamps, **moved})
                ledger.rows.clear()
            elif ledger.index_changed:
                _stamp_user.run(self.connection, stamps)
            elif user_id in self._new_users and not self.keeps_user:
                _forget_user.run(self.connection, {"user_id": user_id})

    def _ledger(self, user_id: str) -> _Ledger:
        ledger = self._ledgers.get(user_id)
        if ledger is None:
            self._act_for_also([user_id])
            ledger = self._ledgers[user_id] = _Ledger(*self._lock(user_id))
        return ledger

    def _act_for_also(self, users: Collection[str]) -> None:
        """Let the transaction also touch the rows of these users, to record a change for them."""
        if not self._acts_for.issuperset(users):
            self._acts_for.update(users)
            self.backend.act_for(self.connection, self._acts_for)

    def _lock(self, user_id: str) -> tuple[int, int, int, int]:
        """Lock the user's row, creating it on their first write; returns its counters."""
        for _ in range(_LOCK_ATTEMPTS):  # in between, another transaction may make or erase it
            rows = _lock_user.run(self.connection, {"user_id": user_id})
            if rows:
                revision, index_stamp, index_epoch, index_removals = rows[0]
                return revision, index_stamp, index_epoch, index_removals
            made = {"user_id": user_id, "now": self.now, "stamp": _first_stamp(self.now)}
            if _make_user.run(self.connection, made):
                self._new_users.add(user_id)
        raise RaceLost(f"user {user_id!r} is made and erased again and again; try again")


def _first_stamp(now: datetime) -> int:
    """A stamp beyond all those of an erased user of the same name.

    An import restores the time of a user's creation, so only the stamps tell a stale copy of the
    index in another process.
    """
    return int(now.timestamp() * 1_000_000)
