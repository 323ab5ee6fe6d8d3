"""Projects: what is written in one is seen in it alone, what is in none is seen in all."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import (
    InvalidValue,
    Memory,
    MemoryNotFound,
    OtherProject,
    PermissionMissing,
    ProposalNotFound,
    ScopeWidened,
    ThreadNotFound,
    UserMemory,
)
from ricordo.operations.operation import USER_OPERATIONS
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support.projects import OPEN_TO_PROJECTS
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("projects.bound")

SHOP, BLOG = "github.com/acme/shop", "github.com/acme/blog"


class Work:
    """Ana's memories in two projects, and those about herself."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ana = memory.user("ana")
        self.shop = memory.user("ana", project=SHOP)
        self.blog = self.ana.narrow(project=BLOG)
        self.in_shop = self.shop.add("Deploys the harbour with make ship").id
        self.in_blog = self.blog.add("Deploys the harbour with rsync").id
        self.in_none = self.ana.add("Likes the harbour at night").id


@pytest.fixture
def work(memory: Memory) -> Work:
    return Work(memory)


def ids(found: object) -> set[int]:
    return {one.id for one in found}  # type: ignore[attr-defined]


def test_a_project_sees_its_own_and_what_is_in_none(work: Work) -> None:
    seen = {work.in_shop, work.in_none}
    assert ids(work.shop.list()) == seen
    assert ids(work.shop.search("harbour")) == seen
    assert ids(work.shop.search("*")) == seen
    assert ids(work.shop.get_many([work.in_shop, work.in_blog, work.in_none])) == seen
    shown = work.shop.context("How is the harbour deployed?", modes="recall", threshold=0.0)
    told = shown.system
    assert "make ship" in told and "rsync" not in told
    with pytest.raises(MemoryNotFound):
        work.shop.get(work.in_blog)
    assert work.shop.get(work.in_shop).project_id == SHOP
    assert work.shop.get(work.in_none).project_id is None


def test_without_a_project_all_is_seen_and_can_be_filtered(work: Work) -> None:
    assert ids(work.ana.list()) == {work.in_shop, work.in_blog, work.in_none}
    assert ids(work.ana.list(project_id=BLOG)) == {work.in_blog}
    assert ids(work.ana.search("harbour", project_id=SHOP)) == {work.in_shop}
    assert ids(work.shop.list(project_id=BLOG)) == set()


@pytest.mark.requirement("projects.same")
def test_the_same_text_or_key_in_two_projects_is_two_memories(work: Work) -> None:
    text = "Tests run with pytest"
    one, two = work.shop.add(text), work.blog.add(text)
    mine = work.ana.add(text)
    assert one.is_new and two.is_new and mine.is_new
    assert work.blog.add(text).duplicate and work.ana.add(text).duplicate
    keyed = work.shop.add("make test", key="test command")
    other = work.blog.add("pytest -q", key="test command")
    assert keyed.is_new and other.is_new
    changed = work.blog.add("pytest -x", key="test command")
    assert (changed.id, changed.updated) == (other.id, True)
    assert work.shop.get(keyed.id).content == "make test"
    batch = work.ana.add_many(
        [{"content": text, "project_id": SHOP}, {"content": text, "project_id": "third"}, text]
    )
    assert [one.duplicate for one in batch] == [True, False, True]
    work.shop.archive(one.id)
    assert work.shop.restore(one.id).project_id == SHOP
    with pytest.raises(MemoryNotFound):
        work.shop.forget(other.id)
    assert ids(work.shop.forget(key="test command")) == {keyed.id}
    assert work.blog.get(other.id).content == "pytest -x"


def test_a_scope_stays_in_its_project(work: Work) -> None:
    with pytest.raises(ScopeWidened, match=f"project_id '{SHOP}'"):
        work.shop.narrow(project=BLOG)
    with pytest.raises(ScopeWidened):
        work.shop.add("Elsewhere", project_id=BLOG)
    with pytest.raises(ScopeWidened):
        work.shop.add("Elsewhere", supersedes=work.in_shop, project_id=BLOG)
    for change in (work.shop.archive, work.shop.pin, work.shop.undo, work.shop.history):
        with pytest.raises(MemoryNotFound):
            change(work.in_blog)
    with pytest.raises(InvalidValue, match="project_id"):
        work.ana.narrow(project="")


@pytest.mark.requirement("projects.same")
def test_what_takes_a_place_stays_in_its_project(work: Work) -> None:
    better = work.shop.add("Deploys with make release", supersedes=work.in_shop)
    assert work.shop.get(better.id).project_id == SHOP
    of_all = work.shop.add("Loves the harbour at night", supersedes=work.in_none)
    assert work.blog.get(of_all.id).project_id is None
    both = work.shop.merge([better.id, of_all.id], "Deploys at night")
    assert work.shop.get(both.id).project_id == SHOP
    moved = work.ana.add("Rsync is for the shop", supersedes=work.in_blog, project_id=SHOP)
    assert work.shop.get(moved.id).project_id == SHOP
    assert work.ana.get(work.in_blog).status == "superseded"


def test_what_others_share_is_not_bound_and_tells_no_project(work: Work) -> None:
    ben = work.memory.user("ben")
    share(work.shop, work.in_shop, "ben")
    seen = ben.narrow(project="another").get(work.in_shop)
    assert (seen.content, seen.project_id) == ("Deploys the harbour with make ship", None)
    assert ids(ben.list(project_id=SHOP)) == set()


@pytest.mark.requirement("projects.conversations")
def test_a_conversation_is_of_the_project_that_it_began_in(work: Work) -> None:
    turn = {"role": "user", "content": "Deploy the harbour now"}
    work.shop.observe([turn], thread="t1")
    work.ana.observe([turn], thread="t2")
    work.ana.observe([turn], thread="t1")  # who is in no project goes on with any
    assert work.shop.thread("t1").project_id == SHOP
    assert {one.thread_id for one in work.shop.threads()} == {"t1", "t2"}
    assert {one.thread_id for one in work.blog.threads()} == {"t2"}
    assert len(work.shop.turns("t1")) == 2
    assert [one.thread_id for one in work.ana.threads(project_id=SHOP)] == ["t1"]
    assert list(work.blog.threads(project_id=SHOP)) == []
    for elsewhere in ("t1", "t2"):
        with pytest.raises(OtherProject, match=f"'{elsewhere}' began in another project"):
            work.blog.observe([turn], thread=elsewhere)
    for read in (work.blog.thread, work.blog.turns, work.blog.formed_turns, work.blog.compact):
        with pytest.raises(ThreadNotFound):
            read("t1")
    for look in (work.blog.window, work.blog.resume, work.blog.form):
        with pytest.raises(OtherProject):
            look("t1")
    with pytest.raises(OtherProject):
        work.blog.context("Hello", thread="t1")
    assert {hit.thread_id for hit in work.shop.search_turns("deploy the harbour")} == {"t1", "t2"}
    assert {hit.thread_id for hit in work.blog.search_turns("deploy the harbour")} == {"t2"}


def test_the_feed_leaves_out_other_projects(work: Work) -> None:
    work.blog.archive(work.in_blog, reason="rsync is gone")
    feed = work.shop.changes()
    assert {one.item_id for one in feed} == {work.in_shop, work.in_none}
    assert feed.revision == work.ana.revision()
    work.shop.context("", thread="t")
    work.blog.add("Something of the blog")
    work.shop.add("Something of the shop")
    (told,) = work.shop.context("", thread="t").delta
    assert told.startswith("+created")


def test_a_reason_that_may_quote_another_project_is_left_out(work: Work) -> None:
    why = "the shop does as the blog with rsync"
    work.ana.add("Rsync for all", supersedes=work.in_shop, project_id=BLOG, reason=why)
    assert [one.reason for one in work.ana.history(work.in_shop)] == [None, why]
    assert [one.reason for one in work.shop.history(work.in_shop)] == [None, None]
    assert all(one.reason is None for one in work.shop.changes())
    assert why in [one.reason for one in work.ana.changes()]
    assert work.shop.lineage(work.in_shop).successor is None


def test_the_log_of_a_day_leaves_out_other_projects(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, window_turns=4, window_kept_turns=1)
    for project in (SHOP, BLOG):
        one = memory.user("ana", project=project)
        said = [{"role": "user", "content": f"About {project}, part {n}"} for n in range(8)]
        one.observe(said, thread=project)
        assert one.compact(project).compactions
    day = memory.user("ana", project=SHOP).day_log()
    assert {entry.thread_id for entry in day.entries} == {SHOP}
    assert {entry.thread_id for entry in memory.user("ana").day_log().entries} == {SHOP, BLOG}


def test_proposals_are_of_a_project(work: Work) -> None:
    given = {"source": "conversation", "theme": "health"}
    waiting = work.blog.add("Ana takes medication for depression", **given)
    number = waiting.proposal_id  # type: ignore[union-attr]
    assert number is not None
    assert [one.id for one in work.blog.proposals()] == [number]
    assert list(work.shop.proposals()) == []
    with pytest.raises(ProposalNotFound):
        work.shop.approve(number)
    with pytest.raises(ProposalNotFound):
        work.shop.reject(number)


@pytest.mark.requirement("projects.listed")
def test_projects_are_listed_with_what_they_have(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    shop, blog = ana.narrow(project=SHOP), ana.narrow(project=BLOG)
    assert ana.projects() == ()
    first = shop.add("Deploys with make ship").id
    shop.archive(first)
    shop.add("Tests with make test")
    ana.add("Likes tea")
    clock.advance(minutes=1)
    blog.observe([{"role": "user", "content": "Hello"}], thread="t1")
    said = clock()
    listed = [(one.project_id, one.memories, one.threads) for one in ana.projects()]
    assert listed == [(BLOG, 0, 1), (SHOP, 1, 0)]
    assert ana.projects()[0].last_activity == said
    assert [one.project_id for one in shop.projects()] == [SHOP]
    clock.advance(minutes=1)
    shop.add("Builds with make")
    assert [one.project_id for one in ana.projects()] == [SHOP, BLOG]


def test_who_somebody_is_does_not_differ_between_projects(work: Work) -> None:
    work.shop.update_user_profile({"name": "Ana"}, explicit=True)
    assert [field.value for field in work.blog.user_profile().fields] == ["Ana"]
    assert work.shop.summary() == work.ana.summary()
    assert "make ship" not in (work.ana.summary() or object()).content  # type: ignore[union-attr]


@on_sqlite
@pytest.mark.requirement("projects.refused")
def test_what_cannot_be_cut_along_projects_is_refused(work: Work) -> None:
    opened = {name for name, one in USER_OPERATIONS.items() if one.within_project}
    assert opened | {"narrow"} == OPEN_TO_PROJECTS
    methods = dict(inspect.getmembers(UserMemory, inspect.isfunction))
    public = {name for name in methods if not name.startswith("_")}
    assert {"export", "audit", "load_checkpoint", "sync_mirror"} <= public - OPEN_TO_PROJECTS
    for name in public - OPEN_TO_PROJECTS:
        needed = [
            parameter
            for parameter in list(inspect.signature(methods[name]).parameters.values())[1:]
            if parameter.default is inspect.Parameter.empty
        ]
        with pytest.raises(PermissionMissing, match=rf"{name} is about all .* project '{SHOP}'"):
            getattr(work.shop, name)(*(object() for _ in needed))


@pytest.mark.requirement("projects.kept")
def test_an_export_keeps_projects(
    work: Work, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    work.shop.observe([{"role": "user", "content": "Hello"}], thread="t1")
    kept = tmp_path / "ana.jsonl"
    work.ana.export(kept)
    with open_store(str(tmp_path / "other.db")) as other:
        ana = other.user("ana")
        assert ana.import_file(kept).restored_rows
        assert {one.project_id for one in ana.list()} == {SHOP, BLOG, None}
        assert ana.thread("t1").project_id == SHOP
        assert ana.import_file(kept).duplicates == 3
        ben = other.user("ben")
        with pytest.raises(InvalidValue, match="says itself of which project"):
            ben.narrow(project=SHOP).import_file(kept)


def test_an_import_into_a_project_is_of_it(work: Work, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("- The shop sells anchors\n")
    work.shop.import_file(notes, consented=True)
    (found,) = work.shop.list(contains="anchors")
    assert found.project_id == SHOP
