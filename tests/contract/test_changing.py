"""The life of a memory: archive, forget, restore, pin, verify, supersede, merge, undo."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import (
    IllegalTransition,
    InvalidValue,
    Memory,
    MemoryNotFound,
    NothingToUndo,
    Occupied,
    Status,
    UserMemory,
)
from ricordo.model.lifecycle import LEGAL_STEPS
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing.clock import ManualClock


def events(user: UserMemory, item_id: int) -> list[str]:
    return [change.event.value for change in user.history(item_id)]


def in_status(user: UserMemory, status: Status) -> int:
    """A memory that has come to a status in the ordinary way."""
    item_id = user.add(f"Was brought to {status}").id
    if status is Status.ARCHIVED:
        user.archive(item_id)
    elif status is Status.DELETED:
        user.forget(item_id)
    elif status is Status.SUPERSEDED:
        user.add("Took its place", supersedes=item_id)
    return item_id


STEPS: dict[Status, Callable[[UserMemory, int], object]] = {
    Status.ARCHIVED: lambda user, item_id: user.archive(item_id),
    Status.DELETED: lambda user, item_id: user.forget(item_id),
    Status.SUPERSEDED: lambda user, item_id: user.add("A newer text", supersedes=item_id),
}


@pytest.mark.requirement("items.lifecycle")
@pytest.mark.parametrize("start", list(Status))
@pytest.mark.parametrize("wanted", list(STEPS))
def test_only_legal_steps_are_taken(memory: Memory, start: Status, wanted: Status) -> None:
    ana = memory.user("ana")
    item_id = in_status(ana, start)
    revision = ana.revision()
    if wanted in LEGAL_STEPS[start]:
        STEPS[wanted](ana, item_id)
        assert ana.get(item_id, include_deleted=True).status is wanted
    else:
        with pytest.raises(IllegalTransition, match=f"is {start} and cannot become {wanted}"):
            STEPS[wanted](ana, item_id)
        assert ana.get(item_id, include_deleted=True).status is start
        assert ana.revision() == revision


@pytest.mark.requirement("items.lifecycle")
@pytest.mark.parametrize("start", list(Status))
def test_the_way_back_to_active(memory: Memory, start: Status) -> None:
    ana = memory.user("ana")
    item_id = in_status(ana, start)
    if start is Status.ACTIVE:
        with pytest.raises(IllegalTransition):
            ana.restore(item_id)
        with pytest.raises(NothingToUndo):
            ana.undo(item_id)
    elif start is Status.SUPERSEDED:
        with pytest.raises(IllegalTransition, match="undo brings it back"):
            ana.restore(item_id)
        assert ana.undo(item_id).status is Status.ACTIVE
    else:
        with pytest.raises(IllegalTransition, match="restore it instead"):
            ana.undo(item_id)
        assert ana.restore(item_id, reason="still true").status is Status.ACTIVE
        assert ana.history(item_id)[-1].reason == "still true"


@pytest.mark.requirement("items.forget")
def test_forgetting_hides_and_can_be_taken_back(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Has a cat").id
    (gone,) = ana.forget(item_id, reason="moved away")
    assert gone.purge_at == clock() + timedelta(days=30)
    with pytest.raises(MemoryNotFound):
        ana.get(item_id)
    assert len(ana.list(status="any")) == 0
    assert ana.get(item_id, include_deleted=True) == gone
    assert [item.id for item in ana.list(status="deleted")] == [item_id]
    back = ana.restore(item_id)
    assert back.purge_at is None
    assert back == ana.get(item_id)


@pytest.mark.requirement("items.forget-key")
def test_forgetting_by_key(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("Bekasi", key="city", theme="home")
    ana.add("Jakarta", key="city", theme="home")
    work = ana.add("Bandung", key="city", theme="work").id
    memory.user("ben").add("Surabaya", key="city", theme="home")
    assert [item.theme for item in ana.forget(key="city", theme="Home")] == ["home"]
    assert [item.id for item in ana.list(status="any")] == [work]
    assert [item.id for item in ana.forget(key="city")] == [work]
    with pytest.raises(MemoryNotFound):
        ana.forget(key="city")
    assert len(memory.user("ben").list()) == 1


@pytest.mark.requirement("items.forget-key")
@pytest.mark.parametrize(
    "given", [{}, {"id": 1, "key": "a"}, {"theme": "x"}, {"id": 1, "theme": "x"}]
)
def test_forget_takes_an_id_or_a_key(memory: Memory, given: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="either an id, or a key"):
        memory.user("ana").forget(**given)  # type: ignore[arg-type]


@pytest.mark.requirement("items.occupied")
def test_a_taken_place_is_not_overwritten(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Has a cat").id
    ana.archive(old)
    new = ana.add("Has a cat").id
    with pytest.raises(Occupied, match=f"memory {new} already has this text"):
        ana.restore(old)
    keyed = ana.add("Bekasi", key="city").id
    ana.forget(keyed)
    ana.add("Jakarta", key="city")
    with pytest.raises(Occupied, match="key 'city'"):
        ana.restore(keyed)


@pytest.mark.requirement("items.pin")
def test_pinning(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Allergic to nuts").id
    assert ana.pin(item_id).pinned
    revision = ana.revision()
    assert ana.pin(item_id).pinned
    assert ana.revision() == revision
    assert not ana.pin(item_id, False).pinned
    assert events(ana, item_id) == ["ADD", "PIN", "PIN"]
    ana.forget(item_id)
    with pytest.raises(IllegalTransition):
        ana.pin(item_id)


@pytest.mark.requirement("items.verify")
def test_verifying(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Allergic to nuts").id
    clock.advance(days=3)
    assert ana.verify(item_id).last_verified_at == clock()
    assert ana.get(item_id).last_verified_at == clock()
    assert events(ana, item_id) == ["ADD", "VERIFY"]


@pytest.mark.requirement("items.supersede")
def test_superseding_keeps_the_old_one_dated(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook").id
    clock.advance(days=100)
    new = ana.add("Works as a nurse", supersedes=old, reason="new job").id
    closed = ana.get(old)
    assert closed.status is Status.SUPERSEDED
    assert closed.valid_to == ana.get(new).valid_from == clock()
    last = ana.history(old)[-1]
    assert (last.event, last.old_ref, last.new_ref, last.reason) == (
        "SUPERSEDE",
        old,
        new,
        "new job",
    )
    assert [item.id for item in ana.list()] == [new]


@pytest.mark.requirement("items.supersede")
def test_superseding_refuses_what_makes_no_sense(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook").id
    assert ana.add("works as a COOK", supersedes=old).duplicate
    with pytest.raises(InvalidValue, match="must not be before"):
        ana.add("Works as a nurse", supersedes=old, valid_from="2019-01-01")
    with pytest.raises(MemoryNotFound):
        ana.add("Works as a nurse", supersedes=12345)
    assert [item.status for item in ana.list(status="any")] == [Status.ACTIVE]
    assert ana.revision() == 1


@pytest.mark.requirement("items.undo")
def test_undo_brings_the_superseded_one_back(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook", key="job", valid_to="2030-01-01").id
    new = ana.add("Works as a nurse", key="job", supersedes=old).id
    back = ana.undo(old, reason="a mistake")
    assert back == ana.get(old)
    assert (back.status, back.valid_to) == (Status.ACTIVE, ana.get(old).valid_to)
    assert back.to_dict()["valid_to"] == "2030-01-01T00:00:00.000000+00:00"
    assert ana.get(new).status is Status.ARCHIVED
    assert events(ana, old) == ["ADD", "SUPERSEDE", "UNDO"]
    assert events(ana, new) == ["ADD", "ARCHIVE"]


@pytest.mark.requirement("items.undo")
def test_undo_goes_backwards_one_step_at_a_time(memory: Memory) -> None:
    ana = memory.user("ana")
    one = ana.add("Works as a cook").id
    two = ana.add("Works as a nurse", supersedes=one).id
    three = ana.add("Works as a pilot", supersedes=two).id
    with pytest.raises(NothingToUndo, match="was itself superseded: undo that first"):
        ana.undo(one)
    ana.undo(two)
    ana.undo(one)
    assert [item.id for item in ana.list()] == [one]
    assert {item.id for item in ana.list(status="archived")} == {two, three}


@pytest.mark.requirement("items.undo")
def test_undo_of_a_merge_brings_all_back(memory: Memory) -> None:
    ana = memory.user("ana")
    ids = [ana.add(f"Likes tea, note {number}").id for number in range(3)]
    merged = ana.merge(ids, "Likes tea", reason="the same thing").id
    assert [item.id for item in ana.list()] == [merged]
    assert events(ana, ids[0]) == ["ADD", "MERGE"]
    ana.undo(ids[1])
    assert sorted(item.id for item in ana.list()) == ids
    assert ana.get(merged).status is Status.ARCHIVED
    with pytest.raises(InvalidValue, match="only 1; allowed: 2 to 20"):
        ana.merge([ids[0], ids[0]], "Likes tea")


@pytest.mark.requirement("items.undo")
def test_undo_takes_an_update_back(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Bekasi", key="city", tags=["home"], thread_id="t1").id
    first = ana.get(item_id)
    clock.advance(days=1)
    ana.add("Jakarta", key="city", tags=["work"], type="other", source="conversation")
    clock.advance(days=1)
    back = ana.undo(item_id)
    assert back == ana.get(item_id)
    expected = {**first.to_dict(), "updated_at": back.to_dict()["updated_at"]}
    assert back.to_dict() == expected
    assert [item.id for item in ana.list(status="any")] == [item_id]
    with pytest.raises(NothingToUndo):
        ana.undo(item_id)
    assert events(ana, item_id) == ["ADD", "UPDATE", "UNDO"]


@pytest.mark.requirement("items.undo")
def test_undo_by_naming_the_old_text(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Bekasi", key="city").id
    ana.add("Jakarta", key="city")
    old_text = ana.list(status="superseded").items[0].id
    ana.add("Bandung", key="city")
    with pytest.raises(NothingToUndo, match="undo its later changes first"):
        ana.undo(old_text)
    ana.undo(item_id)
    assert ana.get(item_id).content == "Jakarta"
    assert ana.undo(old_text).content == "Bekasi"


@pytest.mark.requirement("items.history")
def test_every_write_is_one_revision(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana", actor="phone")
    one = ana.add("One").id
    ana.pin(one)
    two = ana.add("Two", supersedes=one).id
    ana.forget(two, reason="wrong")
    feed = ana.changes()
    assert [change.revision for change in feed] == list(range(1, ana.revision() + 1))
    assert feed.revision == ana.revision()
    assert not feed.more
    assert {change.actor for change in feed} == {"phone"}
    assert {change.at for change in feed} == {clock()}
    later = ana.changes(since=2, limit=1)
    assert ([change.revision for change in later], later.more) == ([3], True)
    assert memory.user("ben").changes().revision == 0
    with pytest.raises(MemoryNotFound):
        memory.user("ben").history(one)


@pytest.mark.requirement("items.no-edit")
def test_there_is_no_edit_and_no_hard_delete() -> None:
    public = {name for name in dir(UserMemory) if not name.startswith("_")}
    assert public.isdisjoint({"update", "edit", "delete", "remove", "set"})


@pytest.mark.requirement("items.undo")
def test_updates_are_undone_one_after_the_other(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("One", key="k").id
    for text in ("Two", "Three", "Four"):
        ana.add(text, key="k")
    assert ana.undo(item_id).content == "Three"
    ana.add("Five", key="k")
    contents = [ana.undo(item_id).content for _ in range(3)]
    assert contents == ["Three", "Two", "One"]
    assert ana.get(item_id).content == "One"
    with pytest.raises(NothingToUndo):
        ana.undo(item_id)
    assert [item.id for item in ana.list(status="any")] == [item_id]


@pytest.mark.requirement("items.undo")
def test_undo_of_an_update_never_ends_a_memory(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Until tomorrow", key="k", expires_at=clock() + timedelta(days=1)).id
    ana.add("For good", key="k")
    clock.advance(days=4)
    assert ana.undo(item_id).expires_at is None
    memory.run_jobs()
    assert ana.get(item_id).content == "Until tomorrow"


@pytest.mark.requirement("items.undo")
def test_undo_by_naming_the_replacement(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook").id
    new = ana.add("Works as a nurse", supersedes=old).id
    assert ana.undo(new).id == old
    assert ana.get(new).status is Status.ARCHIVED


@pytest.mark.requirement("items.undo")
def test_undo_touches_no_other_replacement(memory: Memory) -> None:
    ana = memory.user("ana")
    one, two = ana.add("Cooks").id, ana.add("Bakes").id
    new = ana.add("Works in a kitchen", supersedes=one).id
    assert ana.add("Works in a kitchen", supersedes=two).id == new
    ana.undo(two)
    assert sorted(item.id for item in ana.list()) == [two, new]


@pytest.mark.requirement("items.undo")
def test_what_was_purged_does_not_stand_in_the_way(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook").id
    ana.forget(ana.add("Works as a nurse", supersedes=old).id)
    pair = [ana.add("Likes tea").id, ana.add("Likes green tea").id]
    ana.merge(pair, "Likes tea, green")
    ana.forget(pair[0])
    ana.purge(before_time=True)
    assert ana.undo(old).status is Status.ACTIVE
    assert ana.undo(pair[1]).status is Status.ACTIVE


@pytest.mark.requirement("items.occupied")
def test_undo_takes_nobodys_place(memory: Memory) -> None:
    ana = memory.user("ana")
    first = ana.add("Tea").id
    ana.archive(first)
    second = ana.add("Tea").id
    ana.add("Tea", key="drink")
    ana.restore(first)
    with pytest.raises(Occupied):
        ana.undo(second)
    assert ana.get(second).key == "drink"


@pytest.mark.requirement("items.undo")
def test_undo_tells_the_viewers_of_the_old_text(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    item_id = ana.add("One", key="k").id
    ana.add("Two", key="k")
    (former,) = ana.list(status="superseded")
    ana.link(former.id, "ben")
    ana.undo(item_id)
    assert [change.event for change in ben.changes()] == ["LINK", "UNLINK"]
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("items.supersede")
def test_a_replacement_is_filed_where_the_old_one_was(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add(
        "Works as a cook",
        theme="work",
        type="preference",
        key="job",
        tags=["a"],
        importance=5,
        pinned=True,
    ).id
    new = ana.get(ana.add("Works as a nurse", supersedes=old, importance=3).id)
    assert (new.theme, new.type, new.key, new.tags) == ("work", "preference", "job", ("a",))
    assert (new.importance, new.pinned) == (3, True)
    other = ana.add("Nurses", theme="work", tags=["b"]).id
    merged = ana.get(ana.merge([new.id, other], "Works as a nurse in town").id)
    assert (merged.theme, merged.key, merged.tags) == ("work", None, ("a", "b"))


@pytest.mark.requirement("items.forget")
def test_former_texts_come_and_go_with_their_memory(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Bekasi", key="city").id
    then = clock()
    clock.advance(days=1)
    ana.add("Jakarta", key="city")
    ana.forget(item_id)
    assert ana.list(as_of=then).items == ()
    ana.restore(item_id)
    assert [item.content for item in ana.list(as_of=then)] == ["Bekasi"]


@pytest.mark.requirement("items.forget")
def test_a_restored_memory_holds_again(memory: Memory) -> None:
    ana = memory.user("ana")
    old = ana.add("Works as a cook").id
    ana.add("Works as a nurse", supersedes=old)
    ana.forget(old)
    back = ana.restore(old)
    assert (back.status, back.valid_to) == (Status.ACTIVE, None)


@pytest.mark.requirement("items.undo")
def test_undo_does_not_take_back_a_later_replacement(memory: Memory) -> None:
    ana = memory.user("ana")
    one = ana.add("A").id
    two = ana.add("B", supersedes=one).id
    ana.undo(one)
    three = ana.add("D", supersedes=one).id
    ana.restore(two)
    with pytest.raises(NothingToUndo):
        ana.undo(two)
    assert sorted(item.id for item in ana.list()) == [two, three]


@pytest.mark.requirement("items.undo")
def test_undo_by_the_result_when_a_source_is_gone(memory: Memory) -> None:
    ana = memory.user("ana")
    one, two = ana.add("X").id, ana.add("Y").id
    both = ana.merge([one, two], "X and Y").id
    ana.forget(one)
    ana.purge(before_time=True)
    assert ana.undo(both).id == two


@pytest.mark.requirement("items.occupied")
def test_an_expired_memory_takes_nobodys_place(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    old = ana.add("A", key="k").id
    ana.archive(old)
    ana.add("B", key="k", expires_at=clock() + timedelta(hours=1))
    clock.advance(hours=2)
    assert ana.restore(old).status is Status.ACTIVE


@pytest.mark.requirement("items.forget-key")
def test_former_texts_with_a_life_of_their_own(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("A", key="k").id
    ana.add("B", key="k")
    (former,) = ana.list(status="superseded")
    ana.forget(former.id)
    ana.archive(item_id)
    ana.restore(former.id)
    assert ana.get(former.id).status is Status.ACTIVE
    assert {item.id for item in ana.forget(key="k")} == {item_id, former.id}
    ana.restore(item_id)
    with pytest.raises(MemoryNotFound):
        ana.get(former.id)


@pytest.mark.requirement("items.forget")
@pytest.mark.parametrize("upkeep", [True, False])
def test_restoring_what_expired_does_not_depend_on_upkeep(
    memory: Memory, clock: ManualClock, upkeep: bool
) -> None:
    ana = memory.user("ana")
    old = ana.add("A", expires_at=clock() + timedelta(hours=1)).id
    ana.add("B", supersedes=old)
    clock.advance(hours=2)
    if upkeep:
        memory.run_jobs()
    assert ana.restore(old).valid_to is None


@pytest.mark.requirement("items.supersede")
def test_the_same_text_with_other_values_is_an_update(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Works as a cook").id
    added = ana.add("works as a cook.", supersedes=item_id, importance=5)
    assert (added.id, added.updated, ana.get(item_id).importance) == (item_id, True, 5)
