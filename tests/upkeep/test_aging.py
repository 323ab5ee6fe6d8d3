"""What is forgotten because nobody uses it, what is not, and that it can be brought back."""

import contextlib
import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Event, Memory, Source, Status, UserMemory, limits
from ricordo.storage.database import Database, WriteTransaction
from ricordo.storage.tables import items
from ricordo.testing import ManualClock
from ricordo.upkeep.schedule import UpkeepPolicy
from ricordo.upkeep.service import forget_unused
from tests.formation.conftest import tables_with
from tests.support.sharing import share
from tests.support.soundness import problems_of
from tests.support.unasked import stored
from tests.upkeep.conftest import Tended, quietly, untended, upkeep_policy

pytestmark = pytest.mark.requirement("upkeep.forget")

THREE_DAYS = timedelta(days=3)
_numbers = itertools.count()


def add(tended: Tended, content: str = "Saw a heron", user: str = "ana", **more: object) -> int:
    """Something that matters little and that nobody asked to be remembered."""
    given = {"source": "conversation", "importance": 2, **more}
    return stored(tended.memory.user(user), content, **given).id


def standing(tended: Tended, item_id: int, user: str = "ana") -> Status:
    return tended.memory.user(user).get(item_id, include_deleted=True).status


def feed(me: UserMemory) -> list[tuple[Event, int]]:
    """Everything that the change feed tells, read in small pieces."""
    told: list[tuple[Event, int]] = []
    since = 0
    while True:
        piece = me.changes(since, limit=3)
        told += [(change.event, change.item_id) for change in piece.changes]
        if not piece.more:
            return told
        since = piece.changes[-1].revision


def test_what_is_not_used_for_long_is_forgotten_and_later_purged(tended: Tended) -> None:
    me = tended.memory.user("ana")
    item_id = add(tended)
    tended.clock.advance(days=60)
    assert tended.forget() == 0
    tended.clock.advance(seconds=1)
    assert tended.forget() == 1
    assert me.list().items == ()
    gone = me.get(item_id, include_deleted=True)
    assert (gone.status, gone.purge_at) == (Status.DELETED, tended.clock() + timedelta(days=30))
    told = me.history(item_id)[-1]
    assert (told.event, told.actor, told.reason) == (
        Event.TTL,
        "system",
        "not recalled for 60 days",
    )
    tended.clock.advance(days=30)
    tended.memory.run_jobs()
    with tended.memory.database.read_all() as view:
        assert view.connection.execute(sa.select(items.c.id)).all() == []
    assert feed(me)[-1] == (Event.PURGE, item_id)


@pytest.mark.requirement("upkeep.spares-pinned")
def test_what_is_pinned_is_never_forgotten(tended: Tended) -> None:
    me = tended.memory.user("ana")
    pinned = add(tended, importance=1, pinned=True)
    later = add(tended, "Saw a stork", importance=1)
    me.pin(later)
    tended.clock.advance(days=4000)
    assert tended.forget() == 0
    assert {item.id for item in me.list()} == {pinned, later}
    me.pin(later, False)
    assert tended.forget() == 0  # it has a full new period
    tended.clock.advance(days=61)
    assert tended.forget() == 1
    assert [item.id for item in me.list()] == [pinned]


def test_what_marks_a_turn_as_no_longer_current_is_kept(tended: Tended) -> None:
    old = add(tended, "Lives in Lisbon", thread_id="t", message_id="m1")
    noted = add(tended, "Has a cat")
    for item_id in (old, noted):
        tended.memory.user("ana").add(f"Newer than {item_id}", supersedes=item_id, importance=3)
    tended.clock.advance(days=61)
    assert tended.forget() == 1
    assert (standing(tended, old), standing(tended, noted)) == (Status.SUPERSEDED, Status.DELETED)


def test_use_gives_a_new_period(tended: Tended) -> None:
    me = tended.memory.user("ana")
    recalled = add(tended, "Saw a heron in the reeds")
    verified = add(tended, "Plays the cello")
    shared = add(tended, "Grows tomatoes")
    tended.clock.advance(days=59)
    assert [hit.id for hit in me.search("heron", limit=1)] == [recalled]
    tended.memory.recall.accesses.flush()
    me.verify(verified)
    share(me, shared, "ben")
    tended.clock.advance(days=60)
    assert tended.forget() == 0
    tended.clock.advance(days=1)
    assert tended.forget() == 2
    assert standing(tended, shared) is Status.ACTIVE
    me.unlink(shared, "ben")
    tended.clock.advance(days=61)
    assert tended.forget() == 1


@pytest.mark.requirement("ratings.upkeep")
def test_what_helped_is_kept_as_long_as_the_user_says_so(tended: Tended) -> None:
    me = tended.memory.user("ana")
    helped, by_agent = add(tended, "Saw a heron in the reeds"), add(tended, "Plays the cello")
    tended.clock.advance(days=59)
    me.rate(helped, "used")
    me.narrow(agent="bot").rate(by_agent, "used")
    tended.memory.recall.accesses.flush()
    tended.clock.advance(days=60)
    assert tended.forget() == 0  # both are in use
    tended.clock.advance(days=2)
    assert tended.forget() == 1
    assert (standing(tended, helped), standing(tended, by_agent)) == (
        Status.ACTIVE,
        Status.DELETED,
    )
    me.rate(helped, "withdrawn")
    tended.clock.advance(days=61)
    assert tended.forget() == 1


def test_only_ones_own_memories_are_forgotten(tended: Tended) -> None:
    theirs = add(tended, "Saw a stork", user="ben")
    share(tended.memory.user("ben"), theirs, "ana")
    mine = add(tended)
    tended.clock.advance(days=61)
    assert tended.forget("ana") == 1
    assert standing(tended, mine) is Status.DELETED
    assert standing(tended, theirs, "ben") is Status.ACTIVE


def test_a_break_in_upkeep_gives_everything_a_new_period(tended: Tended) -> None:
    """A store that was closed for months, or whose clock was a year ahead, saw no recalls."""
    item_id = add(tended)
    tended.round()
    tended.clock.advance(days=365)
    assert tended.round(forget_after=THREE_DAYS).forgotten == 0
    assert tended.keep(2, forget_after=THREE_DAYS).forgotten == 0
    assert standing(tended, item_id) is Status.ACTIVE
    assert tended.keep(1, forget_after=THREE_DAYS).forgotten == 1


def test_a_restored_backup_is_as_new(
    backend_url: str,
    sqlite_template: Path,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    tmp_path: Path,
) -> None:
    source = open_store(shutil.copy(sqlite_template, tmp_path / "source.db"))
    source.user("ana").add("Saw a heron", importance=1)
    source.export(tmp_path / "all.jsonl")
    clock.advance(days=200)
    target = open_store(backend_url)
    target.import_file(tmp_path / "all.jsonl")
    tended = untended(target, clock)
    assert tended.round(forget_after=THREE_DAYS).forgotten == 0
    assert tended.keep(2, forget_after=THREE_DAYS).forgotten == 0
    assert tended.keep(1, forget_after=THREE_DAYS).forgotten == 1


@dataclass(frozen=True)
class Kept:
    """A memory as it may stand after a while; ages are in days."""

    importance: int
    pinned: bool
    source: Source
    status: Status
    updated: int
    accessed: int | None
    verified: int | None

    def is_unused(self, policy: UpkeepPolicy) -> bool:
        """The rule, in plain words."""
        below = policy.forget_below
        if self.source in (Source.USER_EXPLICIT, Source.IMPORT, Source.FILE):
            below = policy.forget_explicit_below
        ages = [age for age in (self.updated, self.accessed, self.verified) if age is not None]
        return (
            self.status in (Status.ACTIVE, Status.SUPERSEDED)
            and not self.pinned
            and self.importance < below
            and min(ages) > policy.forget_after.days
        )


ages = st.integers(1, 120) | st.sampled_from([59, 60, 61])
kept_memories = st.builds(
    Kept,
    importance=st.integers(1, 5) | st.just(1),
    pinned=st.sampled_from([False, False, False, True]),
    source=st.sampled_from(Source),
    status=st.sampled_from([Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED, Status.DELETED]),
    updated=ages,
    accessed=st.none() | ages,
    verified=st.none() | ages,
)


def store_all(tended: Tended, user: str, kept: list[Kept]) -> list[int]:
    """Memories that have become what they are over 200 days; their ids."""
    now = tended.clock()
    tended.clock.set(now - timedelta(days=200))
    texts = [f"Saw heron number {number} at the lake" for number in range(len(kept))]
    ids = [added.id for added in tended.memory.user(user).add_many(texts)]
    tended.clock.set(now)

    def ago(days: int | None) -> datetime | None:
        return None if days is None else now - timedelta(days=days)

    with tended.memory.database.transaction() as connection:
        for item_id, one in zip(ids, kept, strict=True):
            values = {
                "importance": one.importance,
                "pinned": one.pinned,
                "source": one.source.value,
                "status": one.status.value,
                "updated_at": ago(one.updated),
                "last_accessed_at": ago(one.accessed),
                "last_verified_at": ago(one.verified),
                "purge_at": now + timedelta(days=1) if one.status is Status.DELETED else None,
            }
            mine = sa.and_(items.c.user_id == user, items.c.id == item_id)
            connection.execute(sa.update(items).where(mine).values(**values))
    return ids


@given(
    kept=st.lists(kept_memories, max_size=6),
    below=st.integers(1, 6),
    explicit_below=st.integers(1, 6),
    days=st.sampled_from([60, 60, 30]),
)
def test_exactly_what_the_rule_says_is_forgotten(
    tended: Tended, kept: list[Kept], below: int, explicit_below: int, days: int
) -> None:
    user = f"rule-{next(_numbers)}"
    ids = store_all(tended, user, kept)
    policy = upkeep_policy(
        forget_below=below, forget_explicit_below=explicit_below, forget_after=timedelta(days=days)
    )
    wanted = {item_id for item_id, one in zip(ids, kept, strict=True) if one.is_unused(policy)}
    database = tended.memory.database
    assert forget_unused(database, policy, user, quietly) == len(wanted)
    me = tended.memory.user(user)
    assert {item_id for event, item_id in feed(me) if event is Event.TTL} == wanted
    for item_id, one in zip(ids, kept, strict=True):
        expected = Status.DELETED if item_id in wanted else one.status
        assert standing(tended, item_id, user) is expected
    revision = me.revision()
    assert forget_unused(database, policy, user, quietly) == 0  # twice changes nothing more
    assert me.revision() == revision
    tended.clock.advance(days=29)  # of the 30 until they are purged
    for item_id in sorted(wanted):
        assert me.restore(item_id).status is Status.ACTIVE
    forget_unused(database, policy, user, quietly)  # others may have come of age
    assert all(standing(tended, item_id, user) is Status.ACTIVE for item_id in wanted)


class Interrupted(Database):
    """Something happens just before the first write."""

    def __init__(self, database: Database, meanwhile: Callable[[], object]) -> None:
        super().__init__(database.backend, database.clock, database.policy, database.analyser)
        self._meanwhile = [meanwhile]

    @contextlib.contextmanager
    def write(self, user_id: str, **more: object) -> Iterator[WriteTransaction]:
        while self._meanwhile:
            self._meanwhile.pop()()
        with super().write(user_id, **more) as writing:  # type: ignore[arg-type]
            yield writing


def test_what_is_used_at_the_last_moment_stays(tended: Tended) -> None:
    me = tended.memory.user("ana")
    contents = ["Saw a heron", "Plays the cello", "Grows tomatoes", "Reads maps"]
    pinned, recalled, forgotten, doomed = (add(tended, content) for content in contents)
    tended.clock.advance(days=61)

    def use() -> None:
        me.pin(pinned)
        me.search("cello", limit=1)
        tended.memory.recall.accesses.flush()
        me.forget(forgotten)

    database = Interrupted(tended.memory.database, use)
    assert forget_unused(database, upkeep_policy(), "ana", quietly) == 1
    assert [item.id for item in me.list(sort="id", order="asc")] == [pinned, recalled]
    assert feed(me)[-1] == (Event.TTL, doomed)
    assert Counter(event for event, _ in feed(me))[Event.TTL] == 1


def test_nobody_is_brought_back_who_is_erased_meanwhile(tended: Tended) -> None:
    add(tended)
    tended.clock.advance(days=61)
    database = Interrupted(tended.memory.database, lambda: tended.memory.erase_user("ana"))
    assert forget_unused(database, upkeep_policy(), "ana", quietly) == 0
    assert tables_with(tended.memory, "ana") == []


@pytest.mark.requirement("upkeep.visible")
@pytest.mark.requirement("upkeep.bounded")
def test_each_old_memory_is_looked_at_once_in_bounded_steps(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SWEEP_BATCH_ITEMS", 4)
    for number in range(18):  # many of the same moment, and those that stay among the others
        add(tended, f"Saw heron number {number}", importance=1 + 4 * (number % 3 == 0))
    tended.clock.advance(days=61)
    recent = add(tended, "Plays the cello")
    told: list[str] = []
    assert tended.forget(report=told.append) == 12
    assert told == [f"{count} memories forgotten" for count in (2, 5, 8, 10, 12)]
    assert standing(tended, recent) is Status.ACTIVE
    assert len(tended.memory.user("ana").list()) == 7
    told.clear()
    assert tended.forget(report=told.append) == 0
    assert told == []  # a turn does not end before it has done anything
    assert tended.memory.user("ana").counters(days=1).counts == {"upkeep_forgotten": 12}


@pytest.mark.requirement("upkeep.forget-once")
def test_the_feed_tells_of_each_end_and_return_once(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SWEEP_BATCH_ITEMS", 3)
    me = tended.memory.user("ana")
    ids = [add(tended, f"Saw heron number {number}") for number in range(8)]
    tended.clock.advance(days=61)
    for _ in range(3):
        tended.forget()
    back = ids[::2]
    for item_id in back:
        me.restore(item_id)
    for _ in range(7):
        tended.clock.advance(days=5)
        tended.forget()
        tended.memory.run_jobs()
    gone = ids[1::2]
    expected = Counter(
        [(Event.ADD, item_id) for item_id in ids]
        + [(Event.TTL, item_id) for item_id in ids]
        + [(Event.RESTORE, item_id) for item_id in back]
        + [(Event.PURGE, item_id) for item_id in gone]
    )
    assert Counter(feed(me)) == expected
    assert sorted(item.id for item in me.list()) == back
    assert problems_of(tended.memory) == []
