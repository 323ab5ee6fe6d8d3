"""A scope that is kept to some categories: nothing else is there for it."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ricordo import (
    CategoryNotAllowed,
    InvalidPolicy,
    InvalidValue,
    Memory,
    MemoryNotFound,
    PermissionMissing,
    Scope,
    ScopeWidened,
    ThemeNotFound,
    UserMemory,
)
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.model.vocabulary import SharingRight
from ricordo.operations.operation import USER_OPERATIONS
from tests.contract.conftest import on_sqlite
from tests.integrations.graphs import config
from tests.support.confined import OPEN_TO_CONFINED
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("access.categories")

POLICY = """
categories:
  work: {context: all}
  goals: {}
allowlists:
  planner: [work, goals]
  muted: []
"""


class Kept:
    """Ana's memories of two themes, and her memory as somebody kept to ``work`` has it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ana = memory.user("ana")
        self.inside = self.ana.add("Works on the harbour bridge", theme="work").id
        self.outside = self.ana.add("Sees a doctor about the harbour", theme="health").id
        self.worker = memory.user("ana", agent="worker", categories=["Work"])


@pytest.fixture
def kept(memory: Memory) -> Kept:
    return Kept(memory)


def public_methods() -> dict[str, Callable[..., object]]:
    found = inspect.getmembers(UserMemory, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


def test_an_operation_must_say_what_a_confined_scope_may_do() -> None:
    with pytest.raises(TypeError, match="listed has no description"):
        type("Forgetful", (UserMemory,), {"listed": lambda self: self})


@on_sqlite
def test_whatever_is_not_in_the_list_is_refused(kept: Kept) -> None:
    methods = public_methods()
    opened = {name for name, one in USER_OPERATIONS.items() if one.within_categories}
    assert opened | {"narrow"} == OPEN_TO_CONFINED | {"narrow"}
    assert {"changes", "turns", "form", "export", "load_checkpoint"} <= set(methods)
    before = kept.ana.revision()
    for name in set(methods) - OPEN_TO_CONFINED:
        needed = [
            parameter
            for parameter in list(inspect.signature(methods[name]).parameters.values())[1:]
            if parameter.default is inspect.Parameter.empty
        ]
        with pytest.raises(PermissionMissing, match=rf"{name} is about .*: the categories work"):
            getattr(kept.worker, name)(*(object() for _ in needed))
    assert kept.ana.revision() == before
    assert kept.worker.observe([{"role": "user", "content": "Hi"}], thread="t1").recorded == 1


def test_integrations_do_not_go_around(kept: Kept) -> None:
    with pytest.raises(PermissionMissing):
        RicordoStore(kept.worker)
    with pytest.raises(PermissionMissing):
        RicordoSaver(kept.worker).get_tuple(config("thread"))


def test_a_scope_only_ever_loses_categories(memory: Memory, ana: UserMemory) -> None:
    assert ana.scope.categories is None
    two = ana.narrow(categories=["Work", "Home life"])
    assert two.scope.categories == {"work", "home-life"}
    assert two.narrow(agent="x").scope.categories == {"work", "home-life"}
    one = two.narrow(categories="work")
    assert one.scope.categories == {"work"}
    assert one.narrow(categories=[]).scope.categories == frozenset()
    for wider in (["work", "health"], ["health"], "home-life"):
        with pytest.raises(ScopeWidened, match="categories work; it cannot get"):
            one.narrow(categories=wider)
    with pytest.raises(ScopeWidened, match="categories none; it cannot get work"):
        one.narrow(categories=[]).narrow(categories=["work"])
    for bad in (["!"], [""], [1], 1, ["x" * 65], [f"c{n}" for n in range(101)]):
        with pytest.raises(InvalidValue):
            ana.narrow(categories=bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidValue):
            memory.user("ana", categories=bad)  # type: ignore[arg-type]
    assert Scope("ana", categories=frozenset({"Home life"})).categories == {"home-life"}


def test_no_categories_at_all_is_nothing_and_not_everything(kept: Kept) -> None:
    nobody = kept.memory.user("ana", categories=())
    assert nobody.list(status="any").items == nobody.themes() == ()
    assert list(nobody.search("harbour")) == list(nobody.search()) == []
    assert nobody.context("harbour", modes="tools,recall,summary").memories == ()
    with pytest.raises(MemoryNotFound):
        nobody.get(kept.inside)
    with pytest.raises(CategoryNotAllowed, match="categories allowed: none"):
        nobody.query(None, "harbour")
    with pytest.raises(CategoryNotAllowed):
        nobody.add("Anything")


def test_finding_and_listing(kept: Kept) -> None:
    worker = kept.worker
    assert [item.id for item in worker.list()] == [kept.inside]
    assert [item.id for item in worker.list(theme="work", status="any")] == [kept.inside]
    assert [hit.id for hit in worker.search("harbour", explain=True)] == [kept.inside]
    assert [hit.id for hit in worker.search()] == [kept.inside]
    assert [theme.slug for theme in worker.themes()] == ["work"]
    assert [one.id for one in worker.query(None, "harbour").bullets] == [kept.inside]
    for ask in (
        lambda: worker.list(theme="health"),
        lambda: worker.list(category=["work", "health"]),
        lambda: worker.search("harbour", theme="health"),
        lambda: worker.query(None, "harbour", categories=["work", "health"]),
        lambda: worker.query(None, "harbour", filters={"category": "health"}),
    ):
        with pytest.raises(CategoryNotAllowed) as refusal:
            ask()
        assert (refusal.value.agent, refusal.value.refused) == ("worker", ["health"])
        assert refusal.value.allowed == ["work"]
    with pytest.raises(CategoryNotAllowed) as refusal:
        kept.memory.user("ana", categories="work").list(theme="health")
    assert refusal.value.agent == "ana"


def test_what_others_share_counts_by_its_theme_too(memory: Memory) -> None:
    ben, ana = memory.user("ben"), memory.user("ana")
    inside = ben.add("The quay opens at nine", theme="work").id
    outside = ben.add("The quay clinic opens at ten", theme="health").id
    for item_id in (inside, outside):
        share(ben, item_id, "ana")
    everybody = memory.global_memories().add("The quay is public", theme="health").id
    worker = ana.narrow(categories="work")
    assert [hit.id for hit in worker.search("quay")] == [inside]
    assert worker.get(inside).theme == "work"
    for item_id in (outside, everybody):
        for touch in (worker.get, worker.history, worker.archive, worker.unlink):
            with pytest.raises(MemoryNotFound):
                touch(item_id)
    assert len(list(ana.search("quay"))) == 3
    worker.unlink(inside)
    assert len(list(ana.search("quay"))) == 2


def test_adding_goes_nowhere_else(kept: Kept) -> None:
    before = kept.ana.revision()
    for add in (
        lambda: kept.worker.add("Has a cold", theme="health"),
        lambda: kept.worker.add("Has no theme"),
        lambda: kept.worker.add("Was a bridge", supersedes=kept.inside, theme="health"),
        lambda: kept.worker.add_many(["No theme", {"content": "x", "theme": "work"}]),
        lambda: kept.worker.add_many(
            [*({"content": f"{n}", "theme": "work"} for n in range(600)), "No theme"]
        ),
        lambda: kept.worker.describe_theme("health", description="x"),
        lambda: kept.worker.forget(key="none", theme="health"),
    ):
        with pytest.raises(CategoryNotAllowed):
            add()
    assert kept.ana.revision() == before
    added = kept.worker.add("Left the bridge", supersedes=kept.inside)
    assert kept.ana.get(added.id).theme == "work"
    assert kept.worker.describe_theme("work", description="Bridges").description == "Bridges"
    with pytest.raises(ThemeNotFound):
        kept.ana.narrow(categories="other").describe_theme("other", description="x")


def test_reading_and_changing_by_id(kept: Kept) -> None:
    worker, ana = kept.worker, kept.ana
    permitted = UserMemory(worker.parts, replace(worker.scope, sharing=SharingRight.OFFER))
    more = ana.add("Works at night", theme="work").id
    never = kept.memory.user("ben").add("Ben's own", theme="work").id
    reads: list[Callable[[int], object]] = [
        *(worker.get, worker.history, worker.related, worker.links),
        lambda item_id: worker.get(item_id, include_deleted=True),
        lambda item_id: worker.feedback([item_id], used=[]),
    ]
    changes: list[Callable[[int], object]] = [
        *(worker.archive, worker.restore, worker.forget, worker.pin, worker.verify, worker.undo),
        lambda item_id: worker.rate(item_id, "wrong"),
        lambda item_id: permitted.link(item_id, "ben"),
        lambda item_id: worker.unlink(item_id, "ben"),
        lambda item_id: worker.add("Instead", theme="work", supersedes=item_id),
        lambda item_id: worker.merge([more, item_id], "Both"),
    ]
    before = ana.revision()
    for call in (*reads, *changes):
        messages = set()
        for item_id in (kept.outside, never, 999):
            with pytest.raises(MemoryNotFound) as refusal:
                call(item_id)
            messages.add(str(refusal.value).replace(str(item_id), "N"))
        assert len(messages) == 1
    assert all(read(kept.inside) is not None for read in reads)
    assert ana.revision() == before
    assert worker.pin(kept.inside).pinned
    assert worker.restore(worker.archive(kept.inside).id).id == kept.inside
    merged = worker.merge([kept.inside, more], "Works on the bridge at night")
    assert ana.get(merged.id).theme == "work"
    late = ana.add("Works late", theme="work").id
    with pytest.raises(CategoryNotAllowed):
        worker.merge([merged.id, late], {"content": "x", "theme": "z"})


def test_undoing_reaches_no_further(ana: UserMemory) -> None:
    worker = ana.narrow(categories="work")
    old = ana.add("Was at the harbour", theme="work").id
    moved = ana.add("Sees a doctor instead", theme="health", supersedes=old).id
    sick = ana.add("Was ill", theme="health").id
    well = ana.add("Is well and works", theme="work", supersedes=sick).id
    parts = [ana.add("A", theme="work").id, ana.add("B", theme="health").id]
    merged = ana.merge(parts, {"content": "A and B", "theme": "work"}).id
    before = ana.revision()
    for item_id in (old, well, parts[0], merged):
        with pytest.raises(MemoryNotFound):
            worker.undo(item_id)
    assert ana.revision() == before
    assert ana.undo(moved).id == old
    assert ana.undo(well).id == sick
    assert ana.undo(merged).id in parts
    newer = worker.add("Left the harbour", supersedes=old).id
    assert worker.undo(newer).id == old


def test_forgetting_by_key_leaves_other_themes_alone(ana: UserMemory) -> None:
    ids = {theme: ana.add(f"In {theme}", theme=theme, key="where").id for theme in ("a", "b", "c")}
    gone = ana.narrow(categories=["a", "b"]).forget(key="where")
    assert {item.id for item in gone} == {ids["a"], ids["b"]}
    assert [item.id for item in ana.list()] == [ids["c"]]
    with pytest.raises(MemoryNotFound):
        ana.narrow(categories="a").forget(key="where")


def test_a_prompt_shows_nothing_else(kept: Kept) -> None:
    ana, worker = kept.ana, kept.worker
    ana.update_user_profile({"city": "Bekasi"}, explicit=True)
    ana.observe([{"role": "user", "content": "My doctor is at the harbour"}], thread="t1")
    modes = "tools,recall,summary"
    worker.context("harbour", thread="t1", modes=modes)  # which has looked now
    ana.add("Takes pills at the harbour", theme="health")
    inside = ana.add("Paints the harbour bridge", theme="work").id
    everything = ana.context("harbour", thread="t2", modes=modes)
    assert "doctor" in everything.system
    shown = worker.context("harbour", thread="t1", modes=modes)
    assert {one.theme for one in shown.memories} == {"work"}
    assert shown.quotes == ()
    assert [line for line in shown.delta if f"#{inside}" not in line] == []
    assert len(shown.messages) == 2  # without the turns of the thread
    told = str(shown.to_dict())
    for hidden in ("doctor", "pills", "health", "Bekasi", "profile"):
        assert hidden not in told
    both = ana.narrow(categories=["work", "profile"]).context("harbour", modes=modes)
    assert "Bekasi" in both.system
    assert "doctor" not in both.system


@pytest.fixture
def with_policy(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Memory:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return open_store(backend_url, policy_file=path)


def test_the_policy_file_and_the_scope_both_hold(with_policy: Memory) -> None:
    ana = with_policy.user("ana")
    for theme in ("work", "goals", "health"):
        ana.add(f"The harbour of {theme}", theme=theme)
    asking = ana.narrow(categories=["work", "health"], agent="planner")
    assert [one.category for one in asking.query(None, "harbour").bullets] == ["work"]
    assert {one.theme for one in asking.context("harbour", modes="recall").memories} == {"work"}
    for category in ("goals", "health"):
        with pytest.raises(CategoryNotAllowed) as refusal:
            asking.query(None, "harbour", categories=[category])
        assert refusal.value.allowed == ["work"]
    assert {item.theme for item in asking.list()} == {"work"}
    muted = ana.narrow(categories=["work"], agent="muted")
    assert muted.context("harbour", modes="recall").memories == ()
    with pytest.raises(CategoryNotAllowed):
        muted.query(None, "harbour")


@pytest.mark.requirement("access.policy-everywhere")
def test_an_agents_scope_is_kept_to_its_allowlist_and_follows_an_edit(
    with_policy: Memory, tmp_path: Path
) -> None:
    ana = with_policy.user("ana")
    work, health = (ana.add(f"The harbour of {one}", theme=one).id for one in ("work", "health"))
    planner = with_policy.user("ana", agent="planner")
    assert [item.id for item in planner.list()] == [work]
    assert [hit.id for hit in planner.search("harbour")] == [work]
    assert [theme.slug for theme in planner.themes()] == ["work"]
    with pytest.raises(MemoryNotFound):
        planner.get(health)
    for refused in (
        lambda: planner.add("Has a cold", theme="health"),
        lambda: planner.search("harbour", theme="health"),
    ):
        with pytest.raises(CategoryNotAllowed):
            refused()
    for whole in (planner.changes, planner.revision):
        with pytest.raises(PermissionMissing):
            whole()
    for nobody in (with_policy.user("ana", agent="muted"), ana.narrow(agent="stranger")):
        assert nobody.list().items == ()
    assert len(ana.list().items) == 2  # the owner has no list
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("[work, goals]", '["*"]'), encoding="utf-8")
    assert {item.id for item in planner.list()} == {work, health}
    policy.unlink()
    with pytest.raises(InvalidPolicy):
        planner.list()


@pytest.mark.requirement("access.policy-everywhere")
def test_themes_are_as_the_policy_describes_them(with_policy: Memory, tmp_path: Path) -> None:
    ana = with_policy.user("ana")
    ana.add("The harbour", theme="work")
    ana.add("The doctor", theme="health")
    (tmp_path / "policy.yaml").write_text(
        "categories:\n  work: {display_name: Work, context: rag, rag_length: 7}\nallowlists: {}\n",
        encoding="utf-8",
    )
    told = ana.describe_theme("work", context="all", description="What is done for money")
    ana.describe_theme("health", context="all")
    assert (told.context, told.rag_length) == ("rag", 7)
    assert (told.display_name, told.description) == ("Work", "What is done for money")
    themes = {theme.slug: theme for theme in ana.themes()}
    assert themes["work"] == told
    assert (themes["health"].context, themes["health"].rag_length) == ("all", None)


@pytest.mark.requirement("access.policy-everywhere")
@pytest.mark.parametrize("text", [None, "", "allowlists: [", "categories: [work]"])
def test_a_store_is_not_opened_without_its_policy(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "policy.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidPolicy, match=r"policy\.yaml"):
        open_store(backend_url, policy_file=path)
