"""Sharing: links to other users, and global memories for the cold start."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import (
    IllegalTransition,
    InvalidValue,
    Memory,
    MemoryNotFound,
    NotOwner,
    UserMemory,
)
from ricordo.testing.clock import ManualClock


def ids(user: UserMemory, **filters: object) -> list[int]:
    return sorted(item.id for item in user.list(**filters))  # type: ignore[arg-type]


def feed(user: UserMemory) -> list[str]:
    return [change.event.value for change in user.changes()]


@pytest.mark.requirement("sharing.link")
def test_a_linked_memory_is_seen_until_it_is_unlinked(memory: Memory) -> None:
    ana, ben, cleo = (memory.user(name) for name in ("ana", "ben", "cleo"))
    shared = ana.add("The door code is on the fridge", theme="flat", agent_id="x").id
    private = ana.add("Dislikes the neighbour").id
    ana.link(shared, "ben")
    ana.link(shared, "cleo")
    assert ana.links(shared) == ("ben", "cleo")
    assert ids(ben) == ids(cleo) == [shared]
    assert ben.get(shared).content == "The door code is on the fridge"
    assert [hit.id for hit in ben.search("neighbour door code")] == [shared]
    (whole,) = ben.query(None, "door code", returns="full").items
    assert (whole.id, whole.agent_id) == (shared, None)
    assert [(theme.slug, theme.active_count) for theme in ben.themes()] == [("flat", 1)]
    with pytest.raises(MemoryNotFound):
        ben.get(private)
    ana.unlink(shared, "ben")
    assert ids(ben) == [hit.id for hit in ben.search("door", status="any")] == []
    assert ids(cleo) == [shared]
    cleo.unlink(shared)
    assert ids(cleo) == []
    assert ids(ana) == [shared, private]
    assert feed(ana) == ["ADD", "ADD", "LINK", "LINK", "UNLINK", "UNLINK"]
    assert feed(ben) == feed(cleo) == ["LINK", "UNLINK"]


@pytest.mark.requirement("sharing.provenance")
def test_a_viewer_sees_what_it_says_not_where_it_came_from(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    fields = ("thread_id", "message_id", "agent_id", "run_id", "actor_id", "role", "source_context")
    item_id = ana.add("Has a cat", reason="said so", **dict.fromkeys(fields, "x")).id
    ana.link(item_id, "ben")
    seen = ben.get(item_id)
    assert (seen.content, seen.user_id) == ("Has a cat", "ana")
    assert {getattr(seen, field) for field in fields} == {None}
    assert ids(ben, thread_id="x") == ids(ben, agent_id="x") == []
    ana.pin(item_id)
    for change in ben.changes():
        assert change.reason is None
        assert change.actor == "owner"
    assert [change.event for change in ben.history(item_id)] == ["LINK", "PIN"]


@pytest.mark.requirement("sharing.read-only")
def test_a_viewer_cannot_change_it(memory: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Has a cat").id
    ana.link(item_id, "ben")
    before = ana.get(item_id)
    for name, refused in (("ben", NotOwner), ("dora", MemoryNotFound)):
        user = memory.user(name)
        own = user.add("x").id
        changes: list[Callable[[int], object]] = [
            *(user.archive, user.forget, user.restore, user.pin, user.verify, user.undo),
            user.links,
            lambda item, user=user: user.link(item, "cleo"),
            lambda item, user=user: user.unlink(item, "cleo"),
            lambda item, user=user: user.add("Mine now", supersedes=item),
            lambda item, user=user, own=own: user.merge([item, own], "Mine now"),
        ]
        for change in changes:
            with pytest.raises(refused):
                change(item_id)
    assert ana.get(item_id) == before
    assert feed(ana) == ["ADD", "LINK"]


@pytest.mark.requirement("sharing.feed")
def test_viewers_learn_of_every_change(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    item_id = ana.add("Bekasi", key="city").id
    ana.link(item_id, "ben")
    ana.add("Jakarta", key="city")
    ana.archive(item_id)
    assert ids(ben) == []
    assert ids(ben, status="archived") == [item_id]
    ana.forget(item_id)
    assert ids(ben, status="deleted") == []
    with pytest.raises(MemoryNotFound):
        ben.get(item_id, include_deleted=True)
    ana.restore(item_id)
    ana.forget(item_id)
    ana.purge(before_time=True)
    assert feed(ben) == ["LINK", "UPDATE", "ARCHIVE", "DELETE", "RESTORE", "DELETE", "PURGE"]
    assert [change.revision for change in ben.changes()] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.requirement("sharing.link")
def test_links_that_make_no_sense(memory: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Has a cat").id
    with pytest.raises(InvalidValue, match="already visible to its owner"):
        ana.link(item_id, "ana")
    with pytest.raises(InvalidValue, match="reserved"):
        ana.link(item_id, "*")
    with pytest.raises(InvalidValue, match="say which user"):
        ana.unlink(item_id)
    with pytest.raises(MemoryNotFound):
        ana.unlink(item_id, "ben")
    assert memory.users() == ("ana",)
    for _ in range(2):  # again changes nothing
        ana.link(item_id, "ben")
        assert (ana.revision(), memory.user("ben").revision()) == (2, 1)
    ana.forget(item_id)
    with pytest.raises(IllegalTransition):
        ana.link(item_id, "cleo")


@pytest.mark.requirement("sharing.global")
def test_global_memories_bridge_the_cold_start(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(backend_url, global_until=2)
    known = memory.global_memories(actor="operator").add("The kitchen closes at nine").id
    ana = memory.user("ana")
    assert ids(ana) == [hit.id for hit in ana.search("kitchen")] == [known]
    assert ana.get(known).user_id == "*"
    own = ana.add("One of my own").id
    assert ids(ana) == [known, own]
    with pytest.raises(NotOwner):
        ana.archive(known)
    ana.add("Soon gone", expires_at=clock() + timedelta(days=1))
    assert known not in ids(ana)
    assert known not in [hit.id for hit in ana.search("kitchen")]
    for refused in (ana.get, ana.archive):
        with pytest.raises(MemoryNotFound):
            refused(known)
    clock.advance(days=1)  # what has expired does not end it
    assert known in ids(ana)
    memory.global_memories().forget(known)
    assert known not in ids(ana)
    with pytest.raises(InvalidValue, match="reserved for global memories"):
        memory.user("*")
