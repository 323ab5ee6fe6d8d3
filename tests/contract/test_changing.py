"""The life of a memory: archive, forget, restore, supersede, merge, undo, and its lineage."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ricordo import (
    Changed,
    IllegalTransition,
    InvalidValue,
    Lineage,
    Memory,
    MemoryNotFound,
    NothingToUndo,
    NotOwner,
    Occupied,
    Status,
    Undoable,
    UserMemory,
)
from ricordo.model.item import LEGAL_STEPS, Item
from ricordo.model.record import plain
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing import ManualClock
from tests.support.sharing import link_of_old, share
from tests.support.unasked import stored


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
def test_only_legal_steps_are_taken(memory: Memory, start: Status) -> None:
    for wanted, step in STEPS.items():
        ana = memory.user(f"ana-{wanted}")
        item_id = in_status(ana, start)
        revision = ana.revision()
        if wanted in LEGAL_STEPS[start]:
            step(ana, item_id)
            assert ana.get(item_id, include_deleted=True).status is wanted
        else:
            with pytest.raises(IllegalTransition, match=f"is {start} and cannot become {wanted}"):
                step(ana, item_id)
            assert ana.get(item_id, include_deleted=True).status is start
            assert ana.revision() == revision


@pytest.mark.requirement("items.lifecycle")
@pytest.mark.parametrize("start", list(Status))
def test_the_way_back_to_active(ana: UserMemory, start: Status) -> None:
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
def test_forgetting_hides_and_can_be_taken_back(ana: UserMemory, clock: ManualClock) -> None:
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
def test_forgetting_by_key(memory: Memory, ana: UserMemory) -> None:
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
    given: list[dict[str, Any]] = [
        {},
        {"theme": "x"},
        {"id": 1, "key": "a"},
        {"id": 1, "theme": "x"},
    ]
    for wrong in given:
        with pytest.raises(InvalidValue, match="either an id, or a key"):
            ana.forget(**wrong)


@pytest.mark.requirement("items.occupied")
def test_a_taken_place_is_not_overwritten(ana: UserMemory, clock: ManualClock) -> None:
    old = ana.add("Has a cat").id
    ana.archive(old)
    new = ana.add("Has a cat").id
    with pytest.raises(Occupied, match=f"memory {new} already has this text"):
        ana.restore(old)
    ana.add("Has a cat", key="pet")  # so that the text without a key is free again
    ana.restore(old)
    with pytest.raises(Occupied):
        ana.undo(new)
    assert ana.get(new).key == "pet"
    keyed = ana.add("Bekasi", key="city").id
    ana.forget(keyed)
    ana.add("Jakarta", key="city", expires_at=clock() + timedelta(hours=1))
    with pytest.raises(Occupied, match="key 'city'"):
        ana.restore(keyed)
    clock.advance(hours=2)  # what has expired takes nobody's place
    assert ana.restore(keyed).status is Status.ACTIVE


@pytest.mark.requirement("items.pin")
@pytest.mark.requirement("items.verify")
def test_pinning_and_verifying(ana: UserMemory, clock: ManualClock) -> None:
    item_id = ana.add("Allergic to nuts").id
    clock.advance(days=3)
    assert ana.pin(item_id).pinned
    revision = ana.revision()
    assert ana.pin(item_id).pinned
    assert ana.revision() == revision
    assert not ana.pin(item_id, False).pinned
    assert ana.verify(item_id).last_verified_at == clock()
    assert ana.get(item_id).last_verified_at == clock()
    assert events(ana, item_id) == ["ADD", "PIN", "PIN", "VERIFY"]
    ana.forget(item_id)
    with pytest.raises(IllegalTransition):
        ana.pin(item_id)


@pytest.mark.requirement("items.supersede")
def test_superseding_keeps_the_old_one_dated(ana: UserMemory, clock: ManualClock) -> None:
    old = ana.add("Works as a cook").id
    clock.advance(days=100)
    new = ana.add("Works as a nurse", supersedes=old, reason="new job").id
    closed, last = ana.get(old), ana.history(old)[-1]
    assert closed.status is Status.SUPERSEDED
    assert closed.valid_to == ana.get(new).valid_from == clock()
    assert (last.event, last.old_ref, last.new_ref) == ("SUPERSEDE", old, new)
    assert last.reason == "new job"
    assert [item.id for item in ana.list()] == [new]


@pytest.mark.requirement("items.supersede")
def test_superseding_refuses_what_makes_no_sense(ana: UserMemory) -> None:
    old = ana.add("Works as a cook").id
    assert ana.add("works as a COOK", supersedes=old).duplicate
    with pytest.raises(InvalidValue, match="must not be before"):
        ana.add("Works as a nurse", supersedes=old, valid_from="2019-01-01")
    with pytest.raises(MemoryNotFound):
        ana.add("Works as a nurse", supersedes=12345)
    assert [item.status for item in ana.list(status="any")] == [Status.ACTIVE]
    assert ana.revision() == 1
    added = ana.add("works as a cook.", supersedes=old, importance=5)  # which is an update
    assert (added.id, added.updated, ana.get(old).importance) == (old, True, 5)


@pytest.mark.requirement("items.undo")
def test_undo_brings_what_was_replaced_back(ana: UserMemory) -> None:
    old = ana.add("Works as a cook", key="job", valid_to="2030-01-01").id
    new = ana.add("Works as a nurse", key="job", supersedes=old).id
    back = ana.undo(old, reason="a mistake")
    assert (back, back.status) == (ana.get(old), Status.ACTIVE)
    assert back.to_dict()["valid_to"] == "2030-01-01T00:00:00.000000+00:00"
    assert ana.get(new).status is Status.ARCHIVED
    assert events(ana, old) == ["ADD", "SUPERSEDE", "UNDO"]
    assert events(ana, new) == ["ADD", "ARCHIVE"]
    ids = [ana.add(f"Likes tea, note {number}").id for number in range(3)]
    merged = ana.merge(ids, "Likes tea", reason="the same thing").id
    assert [item.id for item in ana.list(contains="tea")] == [merged]
    assert events(ana, ids[0]) == ["ADD", "MERGE"]
    ana.undo(ids[1])
    assert sorted(item.id for item in ana.list(contains="tea")) == ids
    assert ana.get(merged).status is Status.ARCHIVED
    with pytest.raises(InvalidValue, match="only 1; allowed: 2 to 20"):
        ana.merge([ids[0], ids[0]], "Likes tea")


@pytest.mark.requirement("items.undo")
def test_undo_goes_backwards_one_step_at_a_time(ana: UserMemory) -> None:
    one = ana.add("Works as a cook").id
    two = ana.add("Works as a nurse", supersedes=one).id
    three = ana.add("Works as a pilot", supersedes=two).id
    with pytest.raises(NothingToUndo, match="was itself superseded: undo that first"):
        ana.undo(one)
    assert ana.undo(three).id == two  # by naming the replacement
    assert ana.undo(one).id == one
    assert [item.id for item in ana.list()] == [one]
    assert {item.id for item in ana.list(status="archived")} == {two, three}


@pytest.mark.requirement("items.undo")
def test_undo_takes_an_update_back(ana: UserMemory, clock: ManualClock) -> None:
    item_id = ana.add("Bekasi", key="city", tags=["home"], thread_id="t1").id
    first = ana.get(item_id)
    clock.advance(days=1)
    stored(ana, "Jakarta", key="city", tags=["work"], type="other", source="conversation")
    clock.advance(days=1)
    back = ana.undo(item_id)
    assert back == ana.get(item_id)
    expected = {**first.to_dict(), "updated_at": back.to_dict()["updated_at"]}
    assert {**back.to_dict(), "embedding": "ready"} == expected
    assert [item.id for item in ana.list(status="any")] == [item_id]
    with pytest.raises(NothingToUndo):
        ana.undo(item_id)
    assert events(ana, item_id) == ["ADD", "UPDATE", "UNDO"]


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


@pytest.mark.requirement("items.history")
def test_the_feed_is_read_from_either_end_and_by_kind_and_project(ana: UserMemory) -> None:
    shop = ana.add("Tests run with make test", project_id="acme/shop").id
    tea = ana.add("Likes tea", project_id="acme/pool").id
    ana.pin(shop)
    ana.pin(tea)
    ana.archive(shop)

    def revisions(**given: object) -> list[int]:
        return [change.revision for change in ana.changes(**given)]

    newest = ana.changes(order="desc", limit=2)
    assert ([change.revision for change in newest], newest.more) == ([5, 4], True)
    assert revisions(order="desc", before=4) == [3, 2, 1]
    assert revisions(before=1) == []
    assert revisions(since=1, before=4) == [2, 3]
    assert revisions(event="PIN") == [3, 4]
    assert revisions(event=["ADD", "ARCHIVE"], order="desc") == [5, 2, 1]
    assert revisions(project_id="acme/shop") == [1, 3, 5]
    assert revisions(project_id="acme/shop", event="PIN", order="desc") == [3]
    assert revisions(project_id="acme/none") == []
    narrow = ana.narrow(project="acme/shop")
    assert [change.revision for change in narrow.changes(order="desc")] == [5, 3, 1]
    assert not narrow.changes(project_id="acme/pool")
    for wrong in ({"event": "SOLD"}, {"order": "up"}, {"before": 0}):
        with pytest.raises(InvalidValue):
            ana.changes(**wrong)


@pytest.mark.requirement("items.no-edit")
def test_there_is_no_edit_and_no_hard_delete() -> None:
    public = {name for name in dir(UserMemory) if not name.startswith("_")}
    assert public.isdisjoint({"update", "edit", "delete", "remove", "set"})


@pytest.mark.requirement("items.undo")
def test_updates_are_undone_one_after_the_other(ana: UserMemory) -> None:
    item_id = ana.add("One", key="k").id
    ana.add("Two", key="k")
    (old_text,) = ana.list(status="superseded")
    for text in ("Three", "Four"):
        ana.add(text, key="k")
    with pytest.raises(NothingToUndo, match="undo its later changes first"):
        ana.undo(old_text.id)
    assert ana.undo(item_id).content == "Three"
    ana.add("Five", key="k")
    assert [ana.undo(item_id).content for _ in range(2)] == ["Three", "Two"]
    assert ana.undo(old_text.id).content == ana.get(item_id).content == "One"
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
def test_undo_touches_no_other_replacement(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    one, two = ana.add("Cooks").id, ana.add("Bakes").id
    new = ana.add("Works in a kitchen", supersedes=one).id
    assert ana.add("Works in a kitchen", supersedes=two).id == new
    ana.undo(two)
    assert sorted(item.id for item in ana.list()) == [two, new]
    first = ben.add("A").id
    second = ben.add("B", supersedes=first).id
    ben.undo(first)
    third = ben.add("D", supersedes=first).id
    ben.restore(second)
    with pytest.raises(NothingToUndo):
        ben.undo(second)
    assert sorted(item.id for item in ben.list()) == [second, third]


@pytest.mark.requirement("items.undo")
def test_what_was_purged_does_not_stand_in_the_way(ana: UserMemory) -> None:
    old = ana.add("Works as a cook").id
    ana.forget(ana.add("Works as a nurse", supersedes=old).id)
    tea, milk = ([ana.add(f"Likes {what} {n}").id for n in range(2)] for what in ("tea", "milk"))
    ana.merge(tea, "Likes tea")
    merged = ana.merge(milk, "Likes milk").id
    for gone in (tea[0], milk[0]):
        ana.forget(gone)
    ana.purge(before_time=True)
    assert ana.undo(old).status is Status.ACTIVE
    assert ana.undo(tea[1]).status is Status.ACTIVE
    assert ana.undo(merged).id == milk[1]


@pytest.mark.requirement("items.undo")
def test_undo_tells_the_viewers_of_the_old_text(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    item_id = ana.add("One", key="k").id
    ana.add("Two", key="k")
    (former,) = ana.list(status="superseded")
    link_of_old(ana, former.id, "ben")
    ana.undo(item_id)
    assert [change.event for change in ben.changes()] == ["LINK", "UNLINK"]
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("items.supersede")
def test_a_replacement_is_filed_where_the_old_one_was(ana: UserMemory) -> None:
    filed = {"theme": "work", "type": "preference", "key": "job", "tags": ["a"], "pinned": True}
    old = ana.add("Works as a cook", importance=5, **filed).id
    new = ana.get(ana.add("Works as a nurse", supersedes=old, importance=3).id)
    assert (new.theme, new.type, new.key, new.tags) == ("work", "preference", "job", ("a",))
    assert (new.importance, new.pinned) == (3, True)
    other = ana.add("Nurses", theme="work", tags=["b"]).id
    merged = ana.get(ana.merge([new.id, other], "Works as a nurse in town").id)
    assert (merged.theme, merged.key, merged.tags) == ("work", None, ("a", "b"))


@pytest.mark.requirement("items.forget")
def test_a_restored_memory_holds_again(memory: Memory, ana: UserMemory, clock: ManualClock) -> None:
    old = ana.add("Works as a cook").id
    ana.add("Works as a nurse", supersedes=old)
    ana.forget(old)
    back = ana.restore(old)
    assert (back.status, back.valid_to) == (Status.ACTIVE, None)
    for upkeep in (True, False):
        brief = ana.add(f"A {upkeep}", expires_at=clock() + timedelta(hours=1)).id
        ana.add(f"B {upkeep}", supersedes=brief)
        clock.advance(hours=2)
        if upkeep:
            memory.run_jobs()
        assert ana.restore(brief).valid_to is None


@pytest.mark.requirement("items.forget-key")
def test_former_texts_with_a_life_of_their_own(ana: UserMemory) -> None:
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


def told(user: UserMemory, item_id: int) -> tuple[int | None, list[int], str | None]:
    found = user.lineage(item_id)
    successor = None if found.successor is None else found.successor.id
    return successor, [one.id for one in found.predecessors], found.undoable


@pytest.mark.requirement("memories.lineage")
def test_a_chain_a_merge_and_their_undoing(ana: UserMemory) -> None:
    first = ana.add("Plays the viola").id
    assert ana.lineage(first) == Lineage()
    second = ana.add("Plays the cello", supersedes=first).id
    third = ana.add("Plays the harp", supersedes=second).id
    assert told(ana, first) == (second, [], None)  # the later one has to be undone first
    assert told(ana, second) == (third, [first], "replacement")
    assert told(ana, third) == (None, [second], "replacement")
    assert ana.lineage(second).successor == ana.get(third)
    assert ana.lineage(third).predecessors == (ana.get(second),)
    ana.undo(third)
    assert told(ana, third) == (None, [], None)
    assert told(ana, second) == (None, [first], "replacement")
    ids = [ana.add(f"Plays instrument {number}").id for number in range(3)]
    merged = ana.merge(ids, "Plays many instruments").id
    assert told(ana, merged) == (None, ids[::-1], "replacement")
    assert [told(ana, one) for one in ids] == [(merged, [], "replacement")] * 3
    bad: list[Any] = [0, -1, 2**63, "1", True, None]
    for number in bad:
        with pytest.raises(InvalidValue):
            ana.lineage(number)


@pytest.mark.requirement("memories.lineage")
def test_updates_by_key(ana: UserMemory) -> None:
    kept = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    (earlier,) = ana.list(status="superseded")
    ana.add("Eats all", key="diet")
    (later,) = (one for one in ana.list(status="superseded") if one.id != earlier.id)
    assert told(ana, kept) == (None, [later.id, earlier.id], "update")
    assert told(ana, later.id) == (kept, [], "update")
    assert told(ana, earlier.id) == (kept, [], None)
    ana.undo(kept)
    assert told(ana, kept) == (None, [earlier.id], "update")


@pytest.mark.requirement("memories.lineage")
def test_what_was_replaced_twice(ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    first = ana.add("Plays the cello", supersedes=old).id
    ana.undo(old)
    second = ana.add("Plays the harp", key="plays", supersedes=old).id
    assert told(ana, first)[1] == []
    assert told(ana, second)[1] == [old]
    assert told(ana, old) == (second, [], "replacement")
    ana.add("Plays the lute", key="plays")  # an update of what took another's place
    (former,) = (one.id for one in ana.list(status="superseded") if one.id != old)
    assert told(ana, second) == (None, [former, old], "update")
    ana.undo(second)
    assert told(ana, second) == (None, [old], "replacement")


@pytest.mark.requirement("memories.lineage")
def test_what_is_forgotten_expired_or_purged(ana: UserMemory, clock: ManualClock) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    ana.forget(new)
    assert told(ana, new) == (None, [old], None)
    assert told(ana, old) == (new, [], "replacement")
    ana.purge(before_time=True)
    assert told(ana, old) == (None, [], "replacement")
    brief = ana.add("Rents a viola", expires_at=clock() + timedelta(hours=1), key="rents").id
    ana.add("Rents a cello", expires_at=clock() + timedelta(hours=1), key="rents")
    assert told(ana, brief)[2] == "update"
    clock.advance(hours=2)
    (former,) = ana.lineage(brief).predecessors
    assert told(ana, brief) == (None, [former.id], None)
    assert told(ana, former.id) == (brief, [], None)
    with pytest.raises(MemoryNotFound):
        ana.lineage(new)


@pytest.mark.requirement("memories.lineage")
def test_no_more_than_the_latest(ana: UserMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.memories.replacement.MAX_PREDECESSORS", 3)
    kept = ana.add("Reads book 0", key="reads").id
    for number in range(1, 6):
        ana.add(f"Reads book {number}", key="reads")
    shown = [item.content for item in ana.lineage(kept).predecessors]
    assert shown == [f"Reads book {number}" for number in (4, 3, 2)]


@pytest.mark.requirement("memories.lineage")
def test_of_what_others_share_nothing_is_told(memory: Memory, ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    ben = memory.user("ben")
    for item_id in (old, new, 987_654):
        with pytest.raises(MemoryNotFound):
            ben.lineage(item_id)
    share(ana, new, "ben")
    assert ben.lineage(new) == Lineage()
    everybody = memory.global_memories()
    everybodys = everybody.add("Open till six", supersedes=everybody.add("Open till five").id).id
    assert ben.lineage(everybodys) == Lineage()
    assert everybody.lineage(everybodys).undoable is Undoable.REPLACEMENT


@pytest.mark.requirement("memories.lineage")
def test_a_confined_scope_is_told_what_it_reaches(ana: UserMemory) -> None:
    work = ana.add("Works at night", theme="work").id
    health = ana.add("Sleeps at day", theme="health", supersedes=work).id
    worker = ana.narrow(categories="work")
    assert told(worker, work) == (None, [], None)
    with pytest.raises(MemoryNotFound):
        worker.lineage(health)
    with pytest.raises(MemoryNotFound):
        worker.undo(work)
    later = ana.add("Works at noon", theme="work", supersedes=health).id
    assert told(worker, later) == (None, [], None)
    assert told(ana, later) == (None, [health], "replacement")


CHANGES: dict[str, Callable[..., object]] = {
    "archive": UserMemory.archive,
    "restore": UserMemory.restore,
    "pin": UserMemory.pin,
    "verify": UserMemory.verify,
    "undo": UserMemory.undo,
    "rate": lambda user, id, **state: user.rate(id, "used", **state),
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


@pytest.mark.requirement("http.etag")
@pytest.mark.parametrize("change", CHANGES)
def test_another_state_is_refused_and_nothing_written(memory: Memory, change: str) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    seen = seen_before(ana, change)
    now = ana.verify(seen.id)
    revision = ana.revision()
    for other in (seen.updated_at, str(plain(seen.updated_at)), "2026-01-01"):
        with pytest.raises(Changed):
            CHANGES[change](ana, seen.id, expected_updated_at=other)
    with pytest.raises(InvalidValue):
        CHANGES[change](ana, seen.id, expected_updated_at="soon")
    for number in (seen.id, 99):  # whose it is comes first
        with pytest.raises(MemoryNotFound):
            CHANGES[change](ben, number, expected_updated_at="2020-01-01")
    assert (ana.get(seen.id), ana.revision()) == (now, revision)
    link_of_old(ana, seen.id, "ben")
    with pytest.raises(NotOwner):
        CHANGES[change](ben, seen.id, expected_updated_at="2020-01-01")
    with pytest.raises(InvalidValue):
        ana.forget(key="drink", expected_updated_at=now.updated_at)
    CHANGES[change](ana, seen.id, expected_updated_at=now.updated_at)
    assert ana.revision() > revision + 1


@pytest.mark.requirement("http.etag")
def test_no_two_states_have_the_same_time(ana: UserMemory, clock: ManualClock) -> None:
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


@pytest.mark.requirement("http.etag")
def test_what_was_dated_ahead_comes_back_to_the_present(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    for when in ("9999-12-31T23:59:59.999999+00:00", "2027-01-01"):
        number = ana.add(f"Said at {when}", created_at=when).id
        assert ana.verify(number).updated_at == clock()
        assert ana.verify(number).updated_at > clock()
