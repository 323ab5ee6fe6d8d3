"""A scope that is kept to some categories: nothing else is there for it."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import (
    CategoryNotAllowed,
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
from ricordo.user_memory.confining import OPEN_TO_CONFINED
from tests.integrations.graphs import config

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


# -- what is open, and what is not ---------------------------------------------------------


def public_methods() -> dict[str, Callable[..., object]]:
    found = inspect.getmembers(UserMemory, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


def test_what_is_open_exists() -> None:
    assert set(public_methods()) >= OPEN_TO_CONFINED


@pytest.mark.parametrize("name", sorted(set(public_methods()) - OPEN_TO_CONFINED))
def test_whatever_is_not_in_the_list_is_refused(kept: Kept, name: str) -> None:
    needed = [
        parameter
        for parameter in list(inspect.signature(public_methods()[name]).parameters.values())[1:]
        if parameter.default is inspect.Parameter.empty
    ]
    before = kept.ana.revision()
    with pytest.raises(PermissionMissing, match=rf"{name} is about .*: the categories work"):
        getattr(kept.worker, name)(*(object() for _ in needed))
    assert kept.ana.revision() == before


@pytest.mark.parametrize(
    "name",
    [
        "changes",
        "revision",
        "threads",
        "thread",
        "turns",
        "formed_turns",
        "source_turn",
        "search_turns",
        "window",
        "compact",
        "resume",
        "day_log",
        "form",
        "proposals",
        "approve",
        "reject",
        "user_profile",
        "update_user_profile",
        "summary",
        "audit",
        "events",
        "counters",
        "daily",
        "set_embeddings",
        "save_checkpoint",
        "load_checkpoint",
        "checkpoints",
        "delete_checkpoint",
        "export",
        "export_lines",
        "import_file",
        "upkeep",
        "consolidate",
        "purge",
        "sync_mirror",
        "mirror_status",
    ],
)
def test_what_is_filed_under_no_theme_is_not_open(name: str) -> None:
    assert name in public_methods()
    assert name not in OPEN_TO_CONFINED


def test_integrations_do_not_go_around(kept: Kept) -> None:
    with pytest.raises(PermissionMissing):
        RicordoStore(kept.worker)
    with pytest.raises(PermissionMissing):
        RicordoSaver(kept.worker).get_tuple(config("thread"))


def test_reporting_what_was_said_is_open(kept: Kept) -> None:
    seen = kept.worker.observe([{"role": "user", "content": "I like tea"}], thread="t1")
    assert seen.recorded == 1
    assert len(kept.ana.turns("t1")) == 1


# -- narrowing -----------------------------------------------------------------------------


def test_a_scope_only_ever_loses_categories(memory: Memory) -> None:
    ana = memory.user("ana")
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
    assert nobody.list(status="any").items == ()
    assert list(nobody.search("harbour")) == list(nobody.search()) == []
    assert nobody.themes() == ()
    assert nobody.context("harbour", modes="tools,recall,summary").memories == ()
    with pytest.raises(MemoryNotFound):
        nobody.get(kept.inside)
    with pytest.raises(CategoryNotAllowed, match="categories allowed: none"):
        nobody.query(None, "harbour")
    with pytest.raises(CategoryNotAllowed):
        nobody.add("Anything")


# -- reading -------------------------------------------------------------------------------


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


def test_one_memory_by_its_id(kept: Kept) -> None:
    worker, outside = kept.worker, kept.outside
    never = kept.memory.user("ben").add("Ben's own", theme="work").id
    for read in (
        worker.get,
        worker.history,
        worker.related,
        worker.links,
        lambda item_id: worker.get(item_id, include_deleted=True),
        lambda item_id: worker.feedback([item_id], used=[]),
    ):
        assert read(kept.inside) is not None
        messages = []
        for item_id in (outside, never, 999):
            with pytest.raises(MemoryNotFound) as refusal:
                read(item_id)
            messages.append(str(refusal.value).replace(str(item_id), "N"))
        assert len(set(messages)) == 1


def test_what_is_gone_and_whose_theme_nobody_knows(kept: Kept) -> None:
    kept.ana.forget(kept.inside)
    kept.ana.forget(kept.outside)
    assert len(kept.worker.history(kept.inside)) == 2
    assert kept.worker.feedback([kept.inside], used=[kept.inside]).hit_rate == 1.0
    for gone in (kept.worker.history, lambda item_id: kept.worker.feedback([item_id], used=[])):
        with pytest.raises(MemoryNotFound):
            gone(kept.outside)
    kept.ana.purge(before_time=True)
    assert kept.ana.history(kept.inside)
    with pytest.raises(MemoryNotFound):
        kept.worker.history(kept.inside)


def test_related_memories_stay_inside(memory: Memory) -> None:
    ana = memory.user("ana")
    one = ana.add("The harbour bridge is painted green", theme="work").id
    ana.add("The harbour bridge is painted green today", theme="health")
    near = ana.add("The harbour bridge was painted green", theme="work").id
    memory.run_jobs()
    worker = ana.narrow(categories="work")
    assert len(ana.related(one)) == 2
    assert [found.id for found in worker.related(one)] == [near]
    answer = worker.query(None, "harbour bridge painted", top_k=1, related=2)
    assert {found.category for found in (*answer.bullets, *answer.related)} == {"work"}
    assert answer.related


def test_what_others_share_counts_by_its_theme_too(memory: Memory) -> None:
    ben, ana = memory.user("ben"), memory.user("ana")
    inside = ben.add("The quay opens at nine", theme="work").id
    outside = ben.add("The quay clinic opens at ten", theme="health").id
    for item_id in (inside, outside):
        ben.link(item_id, "ana")
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


# -- writing -------------------------------------------------------------------------------


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


def test_changing_by_id(kept: Kept) -> None:
    worker, ana = kept.worker, kept.ana
    more = ana.add("Works at night", theme="work").id
    before = ana.revision()
    for change in (
        worker.archive,
        worker.restore,
        worker.forget,
        worker.pin,
        worker.verify,
        worker.undo,
        lambda item_id: worker.link(item_id, "ben"),
        lambda item_id: worker.unlink(item_id, "ben"),
        lambda item_id: worker.add("Instead", theme="work", supersedes=item_id),
        lambda item_id: worker.merge([more, item_id], "Both"),
    ):
        messages = []
        for item_id in (kept.outside, 999):
            with pytest.raises(MemoryNotFound) as refusal:
                change(item_id)
            messages.append(str(refusal.value).replace(str(item_id), "N"))
        assert len(set(messages)) == 1
    assert ana.revision() == before
    assert worker.pin(kept.inside).pinned
    assert worker.restore(worker.archive(kept.inside).id).id == kept.inside
    merged = worker.merge([kept.inside, more], "Works on the bridge at night")
    assert ana.get(merged.id).theme == "work"
    with pytest.raises(CategoryNotAllowed):
        worker.merge(
            [merged.id, ana.add("Works late", theme="work").id], {"content": "x", "theme": "z"}
        )


def test_undoing_reaches_no_further(memory: Memory) -> None:
    ana = memory.user("ana")
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


def test_forgetting_by_key_leaves_other_themes_alone(memory: Memory) -> None:
    ana = memory.user("ana")
    ids = {theme: ana.add(f"In {theme}", theme=theme, key="where").id for theme in ("a", "b", "c")}
    gone = ana.narrow(categories=["a", "b"]).forget(key="where")
    assert {item.id for item in gone} == {ids["a"], ids["b"]}
    assert [item.id for item in ana.list()] == [ids["c"]]
    with pytest.raises(MemoryNotFound):
        ana.narrow(categories="a").forget(key="where")


# -- prompts -------------------------------------------------------------------------------


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
    # What an allowlist says is for prompts and queries; the scope itself has both.
    assert {item.theme for item in asking.list()} == {"work", "health"}
    muted = ana.narrow(categories=["work"], agent="muted")
    assert muted.context("harbour", modes="recall").memories == ()
    with pytest.raises(CategoryNotAllowed):
        muted.query(None, "harbour")
