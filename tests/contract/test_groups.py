"""Groups: who reads, writes and manages what their members share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ricordo import (
    Conflict,
    GroupNotFound,
    GroupRole,
    ImportFailed,
    InvalidValue,
    Memory,
    MemoryNotFound,
    NotOwner,
    PermissionMissing,
    RicordoError,
    ScopeWidened,
    UserMemory,
    limits,
)
from ricordo.operations.operation import USER_OPERATIONS
from ricordo.testing import ManualClock
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("groups.roles")

Act = Callable[[UserMemory, int], Any]


def ids(user: UserMemory, **filters: Any) -> list[int]:
    return sorted(item.id for item in user.list(**filters))


@pytest.fixture
def payments(memory: Memory) -> int:
    """A group with a member in each role, and a memory of theirs."""
    memory.create_group("payments", title="The payments team", manager="ana")
    memory.set_member("payments", "ben", "write")
    memory.set_member("payments", "cleo", "read")
    return (
        memory.user("ana", group="payments").add("Refunds go through the ledger", theme="work").id
    )


def test_members_see_what_the_group_shares_beside_their_own(memory: Memory, payments: int) -> None:
    cleo, dan = memory.user("cleo"), memory.user("dan")
    own = cleo.add("Drinks green tea").id
    assert ids(cleo) == sorted([payments, own])
    assert [hit.id for hit in cleo.search("how do refunds go?")][:1] == [payments]
    assert [hit.owner_id for hit in cleo.search("refunds ledger", threshold=0.2)] == ["*payments"]
    item = cleo.get(payments)
    assert (item.content, item.user_id) == ("Refunds go through the ledger", "*payments")
    assert item.actor_id is None
    assert [(one.slug, one.active_count) for one in cleo.themes()] == [("general", 1), ("work", 1)]
    bullets = cleo.query(None, "where do refunds go?", threshold=0).bullets
    assert 'group payments wrote (fact): "Refunds' in " ".join(one.text for one in bullets)
    assert ids(dan) == [hit.id for hit in dan.search("refunds")] == []
    with pytest.raises(MemoryNotFound):
        dan.get(payments)
    with pytest.raises(MemoryNotFound):
        dan.history(payments)


def test_removal_takes_effect_at_the_next_read(memory: Memory, payments: int) -> None:
    ben, space = memory.user("ben"), memory.user("ben", group="payments")
    assert ids(ben) == ids(space) == [payments]
    memory.user("ana").remove_member("payments", "ben")
    assert ids(ben) == [hit.id for hit in ben.search("refunds ledger")] == []
    with pytest.raises(GroupNotFound):
        space.search("refunds")
    with pytest.raises(GroupNotFound):
        space.add("I was here")


def test_history_names_the_member_who_acts(memory: Memory, payments: int) -> None:
    ben = memory.user("ben", group="payments")
    ben.pin(payments)
    memory.user("ben", agent="planner", group="payments").verify(payments)
    assert [one.actor for one in ben.history(payments)] == ["ana", "ben", "ben"]
    assert ben.get(payments).actor_id == "ana"
    with pytest.raises(ScopeWidened):
        memory.user("ben", actor="ana", group="payments")
    with pytest.raises(ScopeWidened):
        ben.narrow(actor="ana")
    with pytest.raises(ScopeWidened):
        ben.add("Signed by somebody else", actor_id="ana")


EXAMPLES: dict[str, Act] = {
    "add": lambda user, _: user.add("Deploys are on Tuesdays"),
    "add_many": lambda user, _: user.add_many(["One more"]),
    "list": lambda user, _: user.list(),
    "get_many": lambda user, one: user.get_many([one]),
    "get": lambda user, one: user.get(one),
    "history": lambda user, one: user.history(one),
    "lineage": lambda user, one: user.lineage(one),
    "archive": lambda user, one: user.archive(one),
    "restore": lambda user, one: user.restore(one),
    "pin": lambda user, one: user.pin(one),
    "verify": lambda user, one: user.verify(one),
    "rate": lambda user, one: user.rate(one, "used"),
    "undo": lambda user, one: user.undo(one),
    "forget": lambda user, one: user.forget(one),
    "merge": lambda user, one: user.merge([one, one + 1], "Both in one"),
    "purge": lambda user, _: user.purge(),
    "themes": lambda user, _: user.themes(),
    "describe_theme": lambda user, _: user.describe_theme("work", description="Work"),
    "changes": lambda user, _: user.changes(),
    "revision": lambda user, _: user.revision(),
    "search": lambda user, _: user.search("refunds"),
    "related": lambda user, one: user.related(one),
    "relation_graph": lambda user, _: user.relation_graph(),
    "query": lambda user, _: user.query(None, "refunds"),
    "proposals": lambda user, _: user.proposals(),
    "approve": lambda user, _: user.approve(999),
    "reject": lambda user, _: user.reject(999),
    "events": lambda user, _: user.events(),
    "counters": lambda user, _: user.counters(),
    "daily": lambda user, _: user.daily(),
    "embedding_states": lambda user, one: user.embedding_states([one]),
    "export_lines": lambda user, _: list(user.export_lines()),
    "export": lambda user, _: user.export(Path("group.jsonl")),
    "groups": lambda user, _: user.groups(),
    "members": lambda user, _: user.members("payments"),
    "set_member": lambda user, _: user.set_member("payments", "eve", "read"),
    "remove_member": lambda user, _: user.remove_member("payments", "ana"),
}
OPEN_TO_NOBODY = ("groups",)
"""What is about the member, who need not be one."""


def test_every_operation_says_which_role_it_needs() -> None:
    in_groups = {name for name, one in USER_OPERATIONS.items() if one.in_group is not None}
    assert in_groups == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_roles(
    memory: Memory, payments: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = USER_OPERATIONS[name].in_group
    assert needed is not None
    if name == "remove_member":
        needed = GroupRole.MANAGE  # of somebody else
    roles = {"cleo": GroupRole.READ, "ben": GroupRole.WRITE, "ana": GroupRole.MANAGE}
    memory.user("ana", group="payments").add("A second one", theme="work")
    before = memory.user("ana", group="payments").changes()
    for member in ("dan", "cleo", "ben", "ana"):
        role = roles.get(member)
        try:
            EXAMPLES[name](memory.user(member, group="payments"), payments)
            refused = None
        except RicordoError as error:
            refused = error
        if role is None and name not in OPEN_TO_NOBODY:
            assert isinstance(refused, GroupNotFound), (member, refused)
        elif role is not None and not role.allows(needed):
            assert isinstance(refused, PermissionMissing), (member, refused)
            assert f"needs the role {needed.value}" in str(refused)
            assert memory.user("ana", group="payments").changes() == before
        else:
            assert not isinstance(refused, GroupNotFound | PermissionMissing), (member, refused)
            break


@pytest.mark.parametrize(
    "act",
    [
        lambda user: user.observe([{"role": "user", "content": "Hi"}], thread="monday"),
        lambda user: user.context("Hi"),
        lambda user: user.user_profile(),
        lambda user: user.form(),
        lambda user: user.set_embeddings("none"),
        lambda user: user.link(1, "dan"),
        lambda user: user.save_checkpoint("monday", {}),
        lambda user: user.upkeep(),
    ],
)
def test_what_is_about_one_person_is_refused(memory: Memory, payments: int, act: Any) -> None:
    with pytest.raises(InvalidValue, match="is the space of a group"):
        act(memory.user("ana", group="payments"))


def test_a_member_changes_nothing_of_the_group_in_their_own_name(
    memory: Memory, payments: int
) -> None:
    ana = memory.user("ana")
    for change in (ana.archive, ana.pin, ana.forget, ana.undo):
        with pytest.raises(NotOwner, match="of group 'payments'"):
            change(payments)
    with pytest.raises(NotOwner):
        ana.link(payments, "dan")


@pytest.mark.requirement("groups.members")
def test_managers_manage_members(memory: Memory, payments: int) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    made = ana.set_member("payments", "dan", "read")
    assert (made.user_id, made.role, made.added_by) == ("dan", "read", "ana")
    assert memory.user("dan").groups()[0].to_dict() | {"since": None} == {
        "group": "payments",
        "title": "The payments team",
        "role": "read",
        "members": 4,
        "since": None,
    }
    assert ana.set_member("payments", "dan", "write").added_by == "ana"
    for act in (
        lambda: ben.set_member("payments", "eve", "read"),
        lambda: ben.set_member("payments", "ben", "manage"),
        lambda: ben.remove_member("payments", "cleo"),
    ):
        with pytest.raises(PermissionMissing):
            act()
    with pytest.raises(GroupNotFound, match="no member 'eve'"):
        ana.remove_member("payments", "eve")
    assert [one.user_id for one in ben.members("payments")] == ["ana", "ben", "cleo", "dan"]
    with pytest.raises(GroupNotFound):
        memory.user("eve").members("payments")
    with pytest.raises(GroupNotFound):
        ana.members("nothing")


@pytest.mark.requirement("groups.members")
def test_anybody_leaves_but_for_the_last_who_manages(memory: Memory, payments: int) -> None:
    for name in ("ben", "cleo"):
        memory.user(name).remove_member("payments", name)
        assert memory.user(name).groups() == ()
        with pytest.raises(GroupNotFound):
            memory.user(name).remove_member("payments", name)
    ana = memory.user("ana")
    for act in (
        lambda: ana.remove_member("payments", "ana"),
        lambda: ana.set_member("payments", "ana", "write"),
    ):
        with pytest.raises(Conflict, match="the only one who manages"):
            act()
    ana.set_member("payments", "ben", "manage")
    ana.remove_member("payments", "ana")
    memory.remove_member("payments", "ben")  # the operator may
    assert memory.members("payments") == ()
    assert memory.groups()[0].members == 0


@pytest.mark.requirement("groups.members")
def test_an_agent_decides_about_no_members(memory: Memory, payments: int) -> None:
    from dataclasses import replace

    ana = memory.user("ana", agent="planner")
    agent = UserMemory(ana.parts, replace(ana.scope, is_agent=True))
    with pytest.raises(PermissionMissing):
        agent.set_member("payments", "dan", "read")
    with pytest.raises(PermissionMissing):
        agent.remove_member("payments", "ben")


@pytest.mark.requirement("groups.members")
def test_a_group_is_made_once_within_limits(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_GROUPS", 3)
    monkeypatch.setattr(limits, "MAX_MEMBERS_PER_GROUP", 2)
    monkeypatch.setattr(limits, "MAX_GROUPS_PER_USER", 2)
    for name in ("one", "two", "three"):
        memory.create_group(name)
    with pytest.raises(Conflict, match="most allowed"):
        memory.create_group("four")
    with pytest.raises(Conflict, match="already"):
        memory.create_group("one")
    memory.set_member("one", "ana", "manage")
    memory.user("ana").set_member("one", "ben", "manage")
    memory.user("ana").set_member("one", "ben", "read")  # no new member
    with pytest.raises(Conflict, match="has 2 members"):
        memory.set_member("one", "cleo", "read")
    memory.set_member("two", "ben", "read")
    memory.set_member("three", "cleo", "manage")
    with pytest.raises(Conflict, match="is in 2 groups"):
        memory.user("cleo").set_member("three", "ben", "read")
    assert [one.name for one in memory.groups(limit=2)] == ["one", "three"]
    assert [one.name for one in memory.groups(after="three")] == ["two"]
    for name in ("", "*", "Payments", "a b", "-a", "a" * 65, "a/b", "a,b"):
        with pytest.raises(InvalidValue):
            memory.create_group(name)
    with pytest.raises(InvalidValue, match="reserved"):
        memory.user("*one")


@pytest.mark.requirement("groups.erase")
def test_a_deleted_group_leaves_nothing(memory: Memory, payments: int) -> None:
    receipt = memory.delete_group("payments")
    assert (receipt.removed["items"], receipt.removed["group_members"]) == (1, 3)
    assert ids(memory.user("cleo")) == [] == list(memory.groups())
    assert memory.user("cleo").groups() == ()
    assert list(memory.list(status="any")) == []
    with pytest.raises(GroupNotFound):
        memory.delete_group("payments")
    memory.create_group("payments", manager="dan")
    assert ids(memory.user("dan")) == []


@pytest.mark.requirement("groups.erase")
def test_an_erased_user_is_no_member_and_not_named(memory: Memory, payments: int) -> None:
    memory.user("ana").set_member("payments", "dan", "write")
    memory.erase_user("ana")
    ben = memory.user("ben", group="payments")
    assert [one.user_id for one in memory.members("payments")] == ["ben", "cleo", "dan"]
    assert {one.added_by for one in memory.members("payments")} == {None}
    assert [one.actor for one in ben.history(payments)] == ["former member"]
    assert ben.get(payments).actor_id is None
    assert not any("ana" in line for line in memory.export_lines())


def test_it_is_in_a_prompt_as_the_groups(memory: Memory, payments: int) -> None:
    memory.user("cleo").add("Refunds annoy Cleo")
    prompt = memory.user("cleo").context("how do refunds go?", modes="recall", threshold=0).system
    assert "From groups that the user is in" in prompt
    assert 'group payments wrote (fact): "Refunds go through the ledger"' in prompt


def test_nobody_tends_a_group_unasked(memory: Memory, payments: int, clock: ManualClock) -> None:
    clock.advance(days=800)
    memory.parts.upkeep.run_round("*payments")
    assert ids(memory.user("ben", group="payments")) == [payments]


numbers = st.integers(0, 3)
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "put", "drop", "link", "forget", "theme"]),
        st.sampled_from(["ana", "ben", "cleo"]),
        st.sampled_from(["one", "two"]),
        st.sampled_from([*GroupRole]),
    ),
    max_size=14,
)


@pytest.mark.requirement("recall.isolation")
@settings(max_examples=12, phases=[Phase.explicit, Phase.generate], deadline=None)
@given(taken=steps)
def test_one_sees_ones_own_and_that_of_ones_groups(
    memory: Memory, taken: list[tuple[str, str, str, GroupRole]]
) -> None:
    people = ("ana", "ben", "cleo")
    for person in people:
        memory.erase_user(person) if person in memory.users() else None
    for one in memory.groups():
        memory.delete_group(one.name)
    for name in ("one", "two"):
        memory.create_group(name)
    roles: dict[tuple[str, str], GroupRole] = {}
    written: dict[str, set[int]] = {}
    for place, (action, person, group, role) in enumerate(taken):
        held = roles.get((person, group))
        if action == "put":
            memory.set_member(group, person, role)
            roles[person, group] = role
        elif action == "drop" and held is not None:
            memory.remove_member(group, person)
            del roles[person, group]
        elif action == "theme":
            made = memory.user(person).add(f"Harbour note {place}")
            written.setdefault(person, set()).add(made.id)
        elif action == "add":
            try:
                made = memory.user(person, group=group).add(f"Harbour rule {place}")
            except (GroupNotFound, PermissionMissing):
                assert held is None or not held.allows(GroupRole.WRITE)
            else:
                assert held is not None and held.allows(GroupRole.WRITE)
                written.setdefault(f"*{group}", set()).add(made.id)
    for person in people:
        mine = {person} | {f"*{group}" for who, group in roles if who == person}
        expected = set().union(*(written.get(owner, set()) for owner in mine))
        user = memory.user(person)
        assert set(ids(user, limit=200)) == expected
        assert {hit.id for hit in user.search("harbour rule note", limit=50)} == expected
        for others in written.keys() - mine:
            for item_id in written[others]:
                with pytest.raises(MemoryNotFound):
                    user.get(item_id)
        assert {one.group for one in user.groups()} == {owner[1:] for owner in mine - {person}}


def test_linked_and_global_memories_are_seen_beside_those_of_groups(
    memory: Memory, payments: int
) -> None:
    tip = memory.global_memories().add("Ask for anything").id
    shared = memory.user("dan").add("The harbour is closed").id
    share(memory.user("dan"), shared, "cleo")
    cleo = memory.user("cleo")
    assert ids(cleo) == sorted([payments, tip, shared])
    assert {hit.id for hit in cleo.search("*")} == {payments, tip, shared}
    assert ids(memory.user("ana", group="payments")) == [payments]  # no person, no advice
    cleo.unlink(shared)
    assert ids(cleo) == sorted([payments, tip])


@pytest.mark.requirement("groups.transfer")
def test_an_export_of_the_store_brings_groups_along(
    memory: Memory, payments: int, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory.create_group("empty", title="Nobody yet")
    memory.user("ana").set_member("payments", "dan", "read")
    memory.export(tmp_path / "all.jsonl")
    other = open_store(str(tmp_path / "other.db"))
    other.import_file(tmp_path / "all.jsonl")
    assert other.groups() == memory.groups()
    assert other.members("payments") == memory.members("payments")
    assert ids(other.user("dan")) == [payments]
    assert list(other.export_lines()) == list(memory.export_lines())
    again = other.import_file(tmp_path / "all.jsonl")  # merged, and nobody is let in
    assert again.skipped["members of groups"] == 4


@pytest.mark.requirement("groups.transfer")
def test_a_members_own_file_lets_nobody_into_a_group(
    memory: Memory, payments: int, tmp_path: Path
) -> None:
    memory.user("ana", group="payments").export(tmp_path / "group.jsonl")
    lines = (tmp_path / "group.jsonl").read_text(encoding="utf-8")
    dan = memory.user("dan")
    dan.import_file(tmp_path / "group.jsonl")
    assert [item.user_id for item in dan.list()] == ["dan"]
    assert dan.groups() == ()
    memory.user("ben").add("Has a cat")
    assert not any("payments" in line for line in memory.user("ben").export_lines())
    (tmp_path / "forged.jsonl").write_text(lines.replace('"*payments"', '"eve"'), encoding="utf-8")
    with pytest.raises(ImportFailed, match="a space has one"):
        memory.import_file(tmp_path / "forged.jsonl")
