"""What consolidation did can be taken back, and is then left alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ricordo import Event, IllegalTransition, InvalidValue, Item, NothingToUndo, Status
from ricordo.memories.replacement import absorb
from ricordo.model.scope import Scope
from tests.support.soundness import problems_of
from tests.upkeep.consolidating.conftest import Tidied

pytestmark = pytest.mark.requirement("upkeep.undo")

PAIRS = [
    ("User lives in Bekasi.", "User lives in Jakarta."),
    ("User has a cat.", "User has a cat named Momo."),
    ("User likes green tea.", "User really likes green tea."),
    ("User has a cat named Momo.", "User has a cat."),
]
MORE: dict[str, Any] = {"importance": 4, "tags": ["home", "later"]}


def check_same(tidied: Tidied, before: list[Item]) -> None:
    """All is as it was but for when it was last written."""
    now = [
        replace(item, updated_at=then.updated_at)
        for item, then in zip(tidied.items, before, strict=False)
    ]
    assert (now, len(tidied.items)) == (before, len(before))


def recalled(tidied: Tidied, text: str) -> None:
    tidied.clock.advance(minutes=1)
    tidied.me.search(text, limit=1)
    tidied.memory.recall.accesses.flush()


def absorbed(tidied: Tidied, survivor: int, *others: int, event: Event = Event.MERGE) -> Item:
    with tidied.memory.database.write(tidied.user, touching=[survivor, *others]) as writing:
        return absorb(writing, Scope(tidied.user), survivor, others, event, "for a test")


@pytest.mark.parametrize(("older", "newer"), PAIRS)
def test_undo_gives_back_exactly_what_was(tidied: Tidied, older: str, newer: str) -> None:
    for named in ("kept", "replaced"):
        one = tidied.other(named)
        one.say(older, tags=["home", "first"])
        one.say(newer, **MORE)
        recalled(one, newer)
        recalled(one, older)
        before = one.items
        one.clock.advance(hours=1)
        decided = one.decide()
        assert len(one.items) == 1
        assert one.items[0].access_count == sum(item.access_count for item in before)
        assert set(one.items[0].tags) == {"home", "first", "later"}
        assert one.me.related(decided.replaced or 0) == ()
        one.clock.advance(hours=1)
        assert one.me.undo(getattr(decided, named)).id == decided.replaced
        check_same(one, before)
        for days in (0, 1, 15):
            one.clock.advance(days=days)
            assert one.consolidate().decisions == ()
        assert len(one.items) == 2
    assert problems_of(tidied.memory) == []


def test_what_was_brought_back_is_also_not_merged_with_a_third(tidied: Tidied) -> None:
    tidied.say("User likes green tea.")
    gone = tidied.say("User really likes green tea.")
    tidied.consolidate()
    tidied.me.undo(gone)
    third = tidied.say("User likes green tea now.")
    # The first may still take the third's place; the one that was brought back has no part in it.
    assert [(one.kept, one.replaced) for one in tidied.consolidate().decisions] == [(1, third)]


def test_recalls_since_then_stay(tidied: Tidied) -> None:
    kept = tidied.say("User likes green tea.")
    gone = tidied.say("User really likes green tea.")
    recalled(tidied, "User really likes green tea.")
    tidied.consolidate()
    survivor = tidied.items[0]
    assert (survivor.id, survivor.access_count) == (gone, 1)
    recalled(tidied, "User really likes green tea.")
    last = tidied.items[0].last_accessed_at
    tidied.me.undo(kept)
    assert [item.access_count for item in tidied.items] == [0, 2]
    assert tidied.items[1].last_accessed_at == last


def test_an_update_since_then_stays(tidied: Tidied) -> None:
    gone = tidied.say("User has a cat.", **MORE)
    kept = tidied.say("User has a cat named Momo.", key="pet", tags=["old"])
    assert tidied.decide().replaced == gone
    assert tidied.me.get(kept).tags == ("old", "home", "later")
    tidied.say("User has a cat named Momo.", key="pet", tags=["new"], importance=5)
    tidied.me.undo(gone)
    survivor = tidied.me.get(kept)
    assert (survivor.tags, survivor.importance) == (("new",), 5)
    assert len(tidied.items) == 2


@pytest.mark.parametrize(("event", "more"), [(Event.MERGE, MORE), (Event.SUPERSEDE, {})])
def test_the_later_of_an_update_and_a_replacement_is_undone_first(
    tidied: Tidied, event: Event, more: dict[str, Any]
) -> None:
    gone = tidied.say("User really likes green tea.", **more)
    kept = tidied.say("User likes black tea.", key="tea")
    tidied.say("User likes green tea.", key="tea")
    absorbed(tidied, kept, gone, event=event)
    tidied.say("User likes white tea.", key="tea")
    assert tidied.me.undo(kept).content == "User likes green tea."
    assert tidied.me.undo(kept).id == gone
    assert tidied.me.get(kept).tags == ()
    assert tidied.me.undo(kept).content == "User likes black tea."


@pytest.mark.parametrize("named", ["kept", "replaced"])
def test_a_verification_is_taken_up_and_given_back(tidied: Tidied, named: str) -> None:
    kept = tidied.say("User likes green tea.")
    gone = tidied.say("User really likes green tea.")
    for item_id in (kept, gone):
        tidied.clock.advance(hours=1)
        tidied.me.verify(item_id)
    own, later = (tidied.me.get(one).last_verified_at for one in (kept, gone))
    tidied.clock.advance(hours=1)
    decided = tidied.decide()
    assert decided.kept == kept
    survivor = tidied.me.get(kept)
    assert (survivor.last_verified_at, survivor.updated_at) == (later, tidied.clock())
    tidied.me.undo(getattr(decided, named))
    assert [item.last_verified_at for item in tidied.items] == [own, later]


def test_two_merges_are_undone_one_after_the_other(tidied: Tidied) -> None:
    kept = tidied.say("User likes green tea.", tags=["a"])
    one = tidied.say("User really likes green tea.", tags=["b"])
    two = tidied.say("User very much likes green tea.", tags=["c"], importance=1)
    before = tidied.items
    absorbed(tidied, kept, one)
    absorbed(tidied, kept, two)
    assert tidied.me.get(kept).tags == ("a", "b", "c")
    assert tidied.me.undo(kept).id == two
    assert tidied.me.get(kept).tags == ("a", "b")
    assert tidied.me.undo(kept).id == one
    check_same(tidied, before)
    with pytest.raises(NothingToUndo):
        tidied.me.undo(kept)
    assert absorbed(tidied, kept, one, two).tags == ("a", "b", "c")  # both at once
    tidied.me.undo(two)
    check_same(tidied, before)


def test_a_merge_is_undone_after_its_survivor_is_gone(tidied: Tidied) -> None:
    kept = tidied.say("User likes green tea.")
    gone = tidied.say("User really likes green tea.", **MORE)
    absorbed(tidied, kept, gone)
    tidied.me.archive(kept)
    assert tidied.me.undo(gone).status is Status.ACTIVE
    assert tidied.me.get(kept).tags == ()
    absorbed(tidied, gone, tidied.say("User loves green tea."))
    tidied.me.forget(gone)
    tidied.clock.advance(days=31)
    tidied.memory.run_jobs()
    assert tidied.me.undo(3).status is Status.ACTIVE


def test_undo_survives_a_move_to_another_user(tidied: Tidied, tmp_path: Path) -> None:
    kept = tidied.say("User likes green tea.", tags=["a"])
    gone = tidied.say("User really likes green tea.", **MORE)
    recalled(tidied, "User really likes green tea.")
    absorbed(tidied, kept, gone)
    tidied.me.export(tmp_path / "ana.jsonl")
    moved = Tidied(tidied.memory, tidied.clock, "ben")
    moved.me.import_file(tmp_path / "ana.jsonl")
    (survivor,) = moved.items
    assert (survivor.tags, survivor.access_count) == (("a", "home", "later"), 1)
    assert survivor.id not in (kept, gone)
    assert moved.me.undo(survivor.id).content == "User really likes green tea."
    assert [(item.tags, item.access_count) for item in moved.items] == [
        (("a",), 0),
        (("home", "later"), 1),
    ]


def test_only_active_memories_of_ones_own_are_absorbed(tidied: Tidied) -> None:
    kept, other = tidied.say("One thing"), tidied.say("Another thing")
    for ids in ((), (kept,), tuple(range(100, 121))):
        with pytest.raises(InvalidValue, match="absorbed_ids"):
            absorbed(tidied, kept, *ids)
    tidied.me.archive(other)
    with pytest.raises(IllegalTransition):
        absorbed(tidied, kept, other)
    with pytest.raises(IllegalTransition, match="not active"):
        absorbed(tidied, other, kept)
    assert tidied.known == ["One thing"]
