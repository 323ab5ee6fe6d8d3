"""What tells what happened does not grow for ever, and sums stay right."""

import itertools
from datetime import timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ricordo import limits
from ricordo.storage.activity import put_events
from ricordo.storage.tables import checked_pairs, tallies
from tests.formation.conftest import tables_with
from tests.upkeep.conftest import Tended

pytestmark = pytest.mark.requirement("upkeep.trim")

_numbers = itertools.count()


def note_events(tended: Tended, count: int, user: str = "ana") -> None:
    happened = [{"node": "forming", "op": "read", "status": "ok"} for _ in range(count)]
    with tended.memory.database.write(user) as writing:
        put_events(writing, happened)


def note_pair(tended: Tended, low_id: int, user: str = "ana") -> None:
    row = {
        "user_id": user,
        "low_id": low_id,
        "high_id": low_id + 1,
        "fingerprint": "f",
        "verdict": "unrelated",
        "checked_at": tended.clock(),
    }
    with tended.memory.database.transaction() as connection:
        connection.execute(sa.insert(checked_pairs).values(**row))


def pairs(tended: Tended, user: str = "ana") -> list[int]:
    wanted = sa.select(checked_pairs.c.low_id).where(checked_pairs.c.user_id == user)
    with tended.memory.database.read_all() as view:
        return sorted(view.connection.execute(wanted).scalars())


def counted(tended: Tended, user: str = "ana") -> dict[tuple[str, str], int]:
    wanted = sa.select(tallies.c.day, tallies.c.name, tallies.c.count)
    with tended.memory.database.read_all() as view:
        rows = view.connection.execute(wanted.where(tallies.c.user_id == user))
        return {(day, name): count for day, name, count in rows}


@pytest.fixture(autouse=True)
def known(tended: Tended) -> None:
    for user in ("ana", "ben"):
        tended.memory.user(user).add("Prefers tea")


@pytest.mark.both_databases
def test_old_events_and_notes_of_pairs_are_trimmed(tended: Tended) -> None:
    note_events(tended, 2)
    note_events(tended, 2, "ben")
    tended.clock.advance(days=16)
    note_pair(tended, 1)
    note_pair(tended, 1, "ben")
    note_events(tended, 3)
    tended.clock.advance(days=14)
    note_pair(tended, 2)
    assert tended.trim() == 0
    tended.clock.advance(seconds=1)
    assert tended.trim() == 2 + 1
    assert len(tended.memory.user("ana").events().items) == 3
    assert len(tended.memory.user("ben").events().items) == 2
    assert (pairs(tended), pairs(tended, "ben")) == ([2], [1])
    assert tended.trim(event_life=timedelta(days=1)) == 3


@given(
    counts=st.dictionaries(
        st.tuples(st.integers(0, 900), st.sampled_from(["a", "b", "c"])),
        st.integers(1, 2**40),
        max_size=30,
    ),
    batch=st.integers(1, 7),
)
def test_trimming_changes_no_sum(
    tended: Tended, counts: dict[tuple[int, str], int], batch: int
) -> None:
    user = f"sums-{next(_numbers)}"
    tended.memory.user(user).add("Prefers tea")
    today = tended.clock().date()
    rows = [
        {
            "user_id": user,
            "day": (today - timedelta(days=ago)).isoformat(),
            "name": name,
            "count": count,
        }
        for (ago, name), count in counts.items()
    ]
    if rows:
        with tended.memory.database.transaction() as connection:
            connection.execute(sa.insert(tallies), rows)
    me = tended.memory.user(user)
    whole = me.counters().counts
    recent = me.counters(days=limits.COUNTER_DAYS).counts
    told: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "TRIM_BATCH_ROWS", batch)
        folded = tended.trim(user, report=told.append)
    old = [ago for ago, _ in counts if ago > limits.COUNTER_DAYS]
    assert folded == len(old)
    assert len(told) == len(old) // batch
    assert me.counters().counts == whole
    assert me.counters(days=limits.COUNTER_DAYS).counts == recent
    assert len(counted(tended, user)) <= len(counts) - len(old) + 3


@pytest.mark.requirement("upkeep.bounded")
def test_trimming_works_in_bounded_steps_and_can_stop_anywhere(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TRIM_BATCH_ROWS", 4)
    note_events(tended, 10)
    for low_id in range(1, 7):
        note_pair(tended, low_id)
    tended.clock.advance(days=31)
    note_events(tended, 1)

    def stop(_progress: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tended.trim(report=stop)
    assert (len(tended.memory.user("ana").events().items), pairs(tended)) == (7, [5, 6])
    told: list[str] = []
    assert tended.trim(report=told.append) == 8
    assert told == ["6 rows trimmed"]
    assert (len(tended.memory.user("ana").events().items), pairs(tended)) == (1, [])


def test_trimming_makes_nobody_a_user(tended: Tended) -> None:
    assert tended.trim("nobody") == 0
    assert tables_with(tended.memory, "nobody") == []
