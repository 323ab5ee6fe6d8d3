"""Changes that are made only in the state that the caller saw."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Changed, InvalidValue, Memory, MemoryNotFound, NotOwner, UserMemory
from ricordo.model.item import Item
from ricordo.model.record import plain
from ricordo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("http.etag")

CHANGES: dict[str, Callable[..., object]] = {
    "archive": UserMemory.archive,
    "restore": UserMemory.restore,
    "pin": UserMemory.pin,
    "verify": UserMemory.verify,
    "undo": UserMemory.undo,
    "forget": UserMemory.forget,
}


def seen_before(ana: UserMemory, change: str) -> Item:
    """A memory in a state in which the change is possible."""
    added = ana.add("Prefers tea", key="drink")
    if change == "undo":
        ana.add("Prefers mate", key="drink")
    if change == "restore":
        ana.archive(added.id)
    return ana.get(added.id)


@pytest.mark.parametrize("change", CHANGES)
def test_another_state_is_refused_and_nothing_written(memory: Memory, change: str) -> None:
    ana = memory.user("ana")
    seen = seen_before(ana, change)
    now = ana.verify(seen.id)
    revision = ana.revision()
    for other in (seen.updated_at, str(plain(seen.updated_at)), "2026-01-01"):
        with pytest.raises(Changed):
            CHANGES[change](ana, seen.id, expected_updated_at=other)
    assert (ana.get(seen.id), ana.revision()) == (now, revision)
    CHANGES[change](ana, seen.id, expected_updated_at=now.updated_at)
    assert ana.revision() > revision


@pytest.mark.parametrize("change", CHANGES)
def test_whose_it_is_comes_first(memory: Memory, change: str) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    seen = seen_before(ana, change)
    for number in (seen.id, 99):
        with pytest.raises(MemoryNotFound):
            CHANGES[change](ben, number, expected_updated_at="2020-01-01")
    ana.link(seen.id, "ben")
    with pytest.raises(NotOwner):
        CHANGES[change](ben, seen.id, expected_updated_at="2020-01-01")
    with pytest.raises(InvalidValue):
        CHANGES[change](ana, seen.id, expected_updated_at="soon")


def test_forgetting_by_key_expects_no_state(memory: Memory) -> None:
    ana = memory.user("ana")
    seen = seen_before(ana, "forget")
    with pytest.raises(InvalidValue):
        ana.forget(key="drink", expected_updated_at=seen.updated_at)


def test_no_two_states_have_the_same_time(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    number = ana.add("Prefers tea", key="drink").id
    seen = [ana.get(number).updated_at]

    def note() -> None:
        seen.append(ana.get(number, include_deleted=True).updated_at)

    for change in ("verify", "verify", "pin", "archive", "restore"):
        CHANGES[change](ana, number)
        note()
    ana.add("Prefers mate", key="drink")
    note()
    clock.advance(seconds=-30)  # as on another server, whose clock is behind
    ana.verify(number)
    note()
    ana.undo(number)
    note()
    ana.forget(number)
    note()
    assert seen == sorted(set(seen))
    assert seen[-1] - seen[0] < timedelta(milliseconds=1)


def test_what_was_dated_ahead_comes_back_to_the_present(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    for when in ("9999-12-31T23:59:59.999999+00:00", "2027-01-01"):
        number = ana.add(f"Said at {when}", created_at=when).id
        assert ana.verify(number).updated_at == clock()
        assert ana.verify(number).updated_at > clock()
