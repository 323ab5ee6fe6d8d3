"""Sharing: links to other users, and global memories for the cold start."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import (
    AlreadyDecided,
    IllegalTransition,
    InvalidValue,
    LinkState,
    Memory,
    MemoryNotFound,
    NotOwner,
    OfferRefused,
    Ownership,
    PermissionMissing,
    ProposalKind,
    ProposalNotFound,
    ProposalState,
    UserMemory,
    limits,
)
from ricordo.testing import ManualClock
from tests.support.sharing import link_of_old, share
from tests.support.unasked import stored


def ids(user: UserMemory, **filters: object) -> list[int]:
    return sorted(item.id for item in user.list(**filters))  # type: ignore[arg-type]


def feed(user: UserMemory) -> list[str]:
    return [change.event.value for change in user.changes()]


@pytest.mark.requirement("sharing.link")
def test_a_linked_memory_is_seen_until_it_is_unlinked(memory: Memory) -> None:
    ana, ben, cleo = (memory.user(name) for name in ("ana", "ben", "cleo"))
    shared = ana.add("The door code is on the fridge", theme="flat", agent_id="x").id
    private = ana.add("Dislikes the neighbour").id
    share(ana, shared, "ben")
    share(ana, shared, "cleo")
    assert [one.user_id for one in ana.links(shared)] == ["ben", "cleo"]
    assert {one.state for one in ana.links(shared)} == {LinkState.ACCEPTED}
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
    shared_with = ["CONSENT", "LINK", "CONSENT", "LINK"]
    assert feed(ana) == ["ADD", "ADD", *shared_with, "UNLINK", "UNLINK"]
    assert feed(ben) == feed(cleo) == ["LINK", "UNLINK"]


@pytest.mark.requirement("sharing.provenance")
def test_a_viewer_sees_what_it_says_not_where_it_came_from(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    fields = ("thread_id", "message_id", "agent_id", "run_id", "actor_id", "role", "source_context")
    item_id = ana.add("Has a cat", reason="said so", **dict.fromkeys(fields, "x")).id
    share(ana, item_id, "ben")
    seen = ben.get(item_id)
    assert (seen.content, seen.user_id) == ("Has a cat", "ana")
    assert {getattr(seen, field) for field in fields} == {None}
    assert ids(ben, thread_id="x") == ids(ben, agent_id="x") == []
    ana.pin(item_id)
    accepted, pinned = ben.changes()
    assert (accepted.actor, pinned.actor) == ("ben", "owner")
    assert {accepted.reason, pinned.reason} == {None}
    assert [change.event for change in ben.history(item_id)] == ["LINK", "PIN"]


@pytest.mark.requirement("sharing.read-only")
def test_a_viewer_cannot_change_it(memory: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Has a cat").id
    share(ana, item_id, "ben")
    before = ana.get(item_id)
    for name, refused in (("ben", NotOwner), ("dora", MemoryNotFound)):
        user = memory.user(name)
        own = user.add("x").id
        changes: list[Callable[[int], object]] = [
            *(user.archive, user.forget, user.restore, user.pin, user.verify, user.undo),
            user.links,
            lambda item, user=user: user.rate(item, "used"),
            lambda item, user=user: user.link(item, "cleo"),
            lambda item, user=user: user.unlink(item, "cleo"),
            lambda item, user=user: user.add("Mine now", supersedes=item),
            lambda item, user=user, own=own: user.merge([item, own], "Mine now"),
        ]
        for change in changes:
            with pytest.raises(refused):
                change(item_id)
    assert ana.get(item_id) == before
    assert feed(ana) == ["ADD", "CONSENT", "LINK"]


@pytest.mark.requirement("sharing.feed")
def test_viewers_learn_of_every_change(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    item_id = ana.add("Bekasi", key="city").id
    share(ana, item_id, "ben")
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
        assert (ana.revision(), memory.user("ben").revision()) == (2, 0)
    for away in (ana.archive, ana.forget):  # nobody could accept it
        away(item_id)
        with pytest.raises(IllegalTransition, match="only an active memory can be shared"):
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


@pytest.mark.requirement("sharing.consent")
def test_an_offer_says_what_the_memory_says_now(
    memory: Memory, ana: UserMemory, clock: ManualClock
) -> None:
    ben = memory.user("ben")
    item_id = stored(ana, "Bekasi", key="city", agent_id="x").id
    made = ana.link(item_id, "ben")
    assert (made.state, made.user_id) == (LinkState.OFFERED, "ben")
    assert ana.links(item_id) == (made,)
    (waiting,) = ben.proposals()
    assert (waiting.id, waiting.kind, waiting.owner_id) == (item_id, ProposalKind.SHARE, "ana")
    assert (waiting.content, waiting.expires_at) == ("Bekasi", made.expires_at)
    ana.add("Jakarta", key="city")
    assert [one.content for one in ben.proposals()] == ["Jakarta"]
    for away, back in ((ana.archive, ana.restore), (ana.forget, ana.restore)):
        away(item_id)
        assert ben.proposals().items == ()
        with pytest.raises(AlreadyDecided, match="no longer has this memory"):
            ben.approve(item_id)
        back(item_id)
        assert len(ben.proposals()) == 1
    assert memory.user("cleo").proposals().items == ()
    with pytest.raises(ProposalNotFound):
        memory.user("cleo").approve(item_id)
    assert ids(ben) == []
    assert ben.revision() == 0
    said = ben.approve(item_id, reason="as we agreed")
    assert (said.id, said.status) == (item_id, "active")
    assert [one.state for one in ben.proposals(state="any")] == [ProposalState.APPROVED]
    assert [one.content for one in ben.proposals(state="any")] == [None]
    assert ids(ben) == [item_id]
    with pytest.raises(AlreadyDecided):
        ben.approve(item_id)
    ana.unlink(item_id, "ben")
    assert ben.proposals(state="any").items == ()
    ana.link(item_id, "ben")  # the owner's own unlinking refuses nothing
    ana.unlink(item_id, "ben")
    assert ben.proposals().items == ana.links(item_id) == ()
    with pytest.raises(ProposalNotFound):
        ben.approve(item_id)
    steps = [change.meta.get("consent") for change in ana.history(item_id)]
    assert steps.count("offered") == 2
    assert steps.count("withdrawn") == 1


@pytest.mark.requirement("sharing.consent")
def test_offers_end(memory: Memory, ana: UserMemory, clock: ManualClock) -> None:
    ben = memory.user("ben")
    lapsing, purged, erased = (ana.add(f"Note {number}").id for number in range(3))
    made = ana.link(lapsing, "ben")
    assert made.expires_at is not None
    clock.set(made.expires_at)
    assert (ben.proposals().items, ana.links(lapsing)) == ((), ())
    assert [one.state for one in ben.proposals(state="expired")] == [ProposalState.EXPIRED]
    with pytest.raises(AlreadyDecided, match="expired"):
        ben.approve(lapsing)
    again = ana.link(lapsing, "ben")  # not turned down, only forgotten
    assert again.expires_at is not None
    assert again.expires_at > clock()
    ana.link(purged, "ben")
    ana.forget(purged)
    ana.purge(before_time=True)
    ana.link(erased, "ben")
    assert [one.id for one in ben.proposals(state="any")] == [lapsing, erased]
    memory.erase_user("ana")
    assert ben.proposals(state="any").items == ()
    assert memory.erase_user("ben").removed["link_offers"] == 0


@pytest.mark.requirement("sharing.refusal")
def test_what_nobody_wants_does_not_come_back(memory: Memory, ana: UserMemory) -> None:
    ben = memory.user("ben")
    turned_down, unlinked, new = (ana.add(f"Note {number}").id for number in range(3))
    ana.link(turned_down, "ben")
    assert ben.reject(turned_down, reason="no").owner_id == "ana"
    share(ana, unlinked, "ben")
    ben.unlink(unlinked)
    for item_id in (turned_down, unlinked):
        with pytest.raises(OfferRefused, match="cannot be offered to them again"):
            ana.link(item_id, "ben")
    share(ana, turned_down, "cleo")  # somebody else may want it
    assert [change.reason for change in ana.history(turned_down)] == [None] * 5
    kept = share_all(ana, "ben", "Kept")
    ana.link(new, "ben")
    blocked = ben.block_sender("ana")
    assert ben.block_sender("ana") == blocked
    assert ben.blocked_senders() == (blocked,)
    assert (ids(ben), ben.proposals().items) == ([], ())
    for item_id in (kept, new, ana.add("Another").id):
        with pytest.raises(OfferRefused, match="has blocked you"):
            ana.link(item_id, "ben")
    ben.unblock_sender("ana")
    ben.unblock_sender("ana")
    assert ben.blocked_senders() == ()
    share_all(ana, "ben", "Again friends")
    assert len(ids(ben)) == 1
    with pytest.raises(InvalidValue, match="cannot block yourself"):
        ben.block_sender("ben")
    ben.block_sender("ana")
    memory.erase_user("ana")  # nothing of her is left, not even that she is blocked
    assert ben.blocked_senders() == ()


@pytest.mark.requirement("sharing.refusal")
def test_many_senders_cannot_flood_one_viewer(
    memory: Memory, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OFFERS_PER_VIEWER", 3)
    for number in range(3):
        sender = memory.user(f"sender {number}")
        sender.link(sender.add("Look at this").id, "ana")
    ben = memory.user("ben")
    with pytest.raises(OfferRefused, match="3 memories wait for user 'ana', the most allowed"):
        ben.link(ben.add("Look at this").id, "ana")
    ana.reject(ana.proposals().items[0].id)
    assert ben.link(ben.list().items[0].id, "ana").state is LinkState.OFFERED


@pytest.mark.requirement("sharing.permission")
def test_a_scope_of_some_categories_does_not_share(memory: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Has a cat", theme="home").id
    share(ana, item_id, "ben")
    confined = memory.user("ana", categories=["home"])
    with pytest.raises(PermissionMissing, match="permission share"):
        confined.link(item_id, "cleo")
    for refused in (
        lambda: confined.block_sender("ben"),
        lambda: confined.unblock_sender("ben"),
        confined.blocked_senders,
        confined.proposals,
        lambda: confined.approve(1),
    ):
        with pytest.raises(PermissionMissing):
            refused()


@pytest.mark.requirement("sharing.consent")
def test_links_and_refusals_in_files(
    memory: Memory, ana: UserMemory, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    ben = memory.user("ben")
    kept, unwanted = share_all(ana, "ben", "Kept"), ana.add("Unwanted").id
    ana.link(unwanted, "ben")
    ben.reject(unwanted)
    ben.block_sender("cleo")
    memory.export(tmp_path / "all.jsonl")
    ana.export(tmp_path / "ana.jsonl")
    # An operator's import has the links; what ben does not want stays so.
    other = open_store(str(tmp_path / "other.db"))
    other.import_file(tmp_path / "all.jsonl")
    assert [one.user_id for one in other.user("ana").links(kept)] == ["ben"]
    assert other.user("ben").get(kept).content == "Kept"
    assert [one.user_id for one in other.user("ben").blocked_senders()] == ["cleo"]
    with pytest.raises(OfferRefused):
        other.user("ana").link(unwanted, "ben")
    # A user's own import offers.
    third = open_store(str(tmp_path / "third.db"))
    third.user("ana").import_file(tmp_path / "ana.jsonl")
    assert ids(third.user("ben")) == []
    assert [one.id for one in third.user("ben").proposals()] == [kept]
    # Nobody gets links to whom blocks them, from no file.
    fourth = open_store(str(tmp_path / "fourth.db"))
    fourth.user("ben").block_sender("ana")
    for put_back in (fourth, fourth.user("copy")):
        report = put_back.import_file(tmp_path / "ana.jsonl")
        assert report.restored_rows
    assert ids(fourth.user("ben")) == []
    assert fourth.user("ana").links(kept) == ()


@pytest.mark.requirement("sharing.consent")
def test_links_from_before_there_were_offers_stay(memory: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Has a cat").id
    link_of_old(ana, item_id, "ben")
    ben = memory.user("ben")
    assert ids(ben) == [item_id]
    assert [one.state for one in ana.links(item_id)] == [LinkState.ACCEPTED]
    ben.unlink(item_id)
    with pytest.raises(OfferRefused):
        ana.link(item_id, "ben")


def share_all(owner: UserMemory, viewer: str, content: str) -> int:
    item_id = owner.add(content).id
    share(owner, item_id, viewer)
    return item_id


@pytest.mark.requirement("sharing.ownership")
def test_reads_keep_to_whose_memories_are_wanted(searching_store: Memory) -> None:
    memory = searching_store
    ana, ben = memory.user("ana"), memory.user("ben")
    memory.create_group("payments", manager="ana")
    found = {
        Ownership.OWN: ana.add("Drinks green tea").id,
        Ownership.SHARED: ana.add("The tea is in the left cupboard").id,
        Ownership.RECEIVED: ben.add("Tea at four on Sundays").id,
        Ownership.GROUP: memory.user("ana", group="payments").add("Tea money is in the jar").id,
        Ownership.GLOBAL: memory.global_memories().add("Tea is free in the lobby").id,
    }
    share(ana, found[Ownership.SHARED], "ben")
    ana.link(found[Ownership.OWN], "ben")  # only offered
    share(ben, found[Ownership.RECEIVED], "ana")
    of_others = ben.add("Keeps tea for himself").id
    mine = {found[Ownership.OWN], found[Ownership.SHARED]}
    for whose, item_id in found.items():
        expected = mine if whose is Ownership.OWN else {item_id}
        assert set(ids(ana, ownership=whose)) == expected, whose
        for query in ("tea", "*"):
            assert {hit.id for hit in ana.search(query, ownership=whose.value)} == expected, whose
    both = ids(ana, ownership=["received", "global"])
    assert both == sorted([found[Ownership.RECEIVED], found[Ownership.GLOBAL]])
    assert ids(ana, ownership="received", theme="work") == []
    assert ids(ben, ownership="own") == sorted([found[Ownership.RECEIVED], of_others])
    assert ids(memory.user("ana", group="payments"), ownership="own") == [found[Ownership.GROUP]]
    everybodys = {whose: [one.id for one in memory.list(ownership=whose)] for whose in Ownership}
    assert set(everybodys[Ownership.OWN]) == {*mine, found[Ownership.RECEIVED], of_others}
    shared = {found[Ownership.SHARED], found[Ownership.RECEIVED]}
    assert set(everybodys[Ownership.SHARED]) == set(everybodys[Ownership.RECEIVED]) == shared
    assert everybodys[Ownership.GROUP] == [found[Ownership.GROUP]]
    assert everybodys[Ownership.GLOBAL] == [found[Ownership.GLOBAL]]
    with pytest.raises(InvalidValue, match="own, shared, received, group, global"):
        ana.list(ownership="mine")


@pytest.mark.requirement("sharing.ownership")
def test_with_whom_several_memories_are_shared(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    alone, shared, offered = (ana.add(text).id for text in ("Likes tea", "Has a dog", "Sails"))
    theirs = ben.add("Likes coffee").id
    share(ben, theirs, "ana")
    share(ana, shared, "cleo")
    share(ana, shared, "ben")
    ana.link(offered, "ben")
    links = ana.links_of([offered, alone, shared, theirs, 999])
    told = [(one.id, one.user_id, one.state.value) for one in links]
    assert told == [
        (offered, "ben", "offered"),
        (shared, "ben", "accepted"),
        (shared, "cleo", "accepted"),
    ]
    assert links == (*ana.links(offered), *ana.links(shared))
    assert ben.links_of([shared]) == ()
