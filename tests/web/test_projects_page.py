"""Projects on the page: what there are, and of each its days, what was decided, and its files."""

import pytest

from ricordo import limits
from ricordo.memory import Memory
from ricordo.testing import ManualClock
from tests.support.service import Service
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("page.projects")

SHOP, BLOG = "github.com/acme/shop", "github.com/acme/<b>blog</b>"


@pytest.fixture
def filled(site: Service, clock: ManualClock) -> Service:
    memory: Memory = site.memory
    ana = memory.user("ana")
    shop, blog = ana.narrow(project=SHOP), ana.narrow(project=BLOG)
    shop.add("Payments go through the ledger", tags=["decision", "file:src/pay.py"])
    shop.add("Tests run with make test", tags=["command"])
    shop.observe([{"role": "user", "content": "Hello"}], thread="claude-code:1", title="Refunds")
    blog.add("Posts are <i>Markdown</i>", tags=["convention"])
    ana.add("Likes tea", tags=["decision"])
    clock.advance(days=1)
    shop.add("The ledger rounds half to even", tags=["pitfall", "file:src/pay.py"])
    return site


def test_projects_are_listed_with_what_they_have(filled: Service) -> None:
    said = Visit(filled).choose("ana").text("/ui/projects")
    assert f"{SHOP} 3 memories 1 conversation" in said
    assert f"{BLOG} 1 memory 0 conversations" in said
    assert said.index(SHOP) < said.index(BLOG)


def test_a_project_shows_its_days_decisions_and_files(filled: Service) -> None:
    said = Visit(filled).choose("ana").text(f"/ui/projects/project?id={SHOP}")
    decided, _, rest = said.partition("Files")
    files, _, days = rest.partition("Timeline")
    assert "Decisions Payments go through the ledger" in decided
    assert "Commands Tests run with make test" in decided
    assert "Pitfalls The ledger rounds half to even" in decided
    assert "Conventions" not in decided
    assert "src/pay.py 2 memories" in files
    assert files.index("rounds half") < files.index("go through")
    newest, _, before = days.partition("1 Jan 2026")
    assert "2 Jan 2026" in newest and "The ledger rounds half to even" in newest
    assert "Refunds 1 turn" in before and "Tests run with make test" in before
    for elsewhere in ("Likes tea", "Markdown"):
        assert elsewhere not in said


def test_days_before_follow_on_further_pages(site: Service) -> None:
    ana = site.memory.user("ana")
    shop = ana.narrow(project=SHOP)
    shop.add("The first thing")
    ana.add_many([f"About ana, number {number}" for number in range(limits.PAGE_ROWS)])
    shop.add_many([f"About the shop, number {number}" for number in range(limits.PAGE_ROWS - 1)])
    shop.add("The last thing")
    visit = Visit(site).choose("ana")
    path = f"/ui/projects/project?id={SHOP}"
    newest = visit.get(path).text
    assert "The last thing" in newest
    assert "About ana" not in newest and "The first thing" not in newest
    before = limits.PAGE_ROWS + 2
    assert f"before={before}" in newest
    older = visit.partial(f"{path}&before={before}").text
    assert "The first thing" in older and "About" not in older
    assert "To the newest" in visit.text(f"{path}&before={before}")


def test_memories_can_be_filtered_by_project(filled: Service) -> None:
    visit = Visit(filled).choose("ana")
    narrowed = visit.get(f"/ui/memories?project={SHOP}")
    assert narrowed.text.count('class="says"') == 3
    assert f'<option dir="auto" value="{SHOP}" selected>' in narrowed.text
    assert f'title="Of this project" dir="auto">{SHOP}<' in narrowed.text
    found = visit.post("/ui/memories", on="/ui/memories", q="ledger", project=SHOP)
    assert "go through" in found.text and "Likes tea" not in found.text
    talks = visit.text(f"/ui/conversations?project={SHOP}")
    assert "Refunds" in talks and f"About {SHOP}" in talks
    assert "Refunds" not in visit.text("/ui/conversations?project=other")
    first = filled.memory.user("ana").list(project_id=BLOG).items[0].id
    assert f"Project {BLOG}" in visit.text(f"/ui/memories/{first}")


def test_names_of_projects_are_text(filled: Service) -> None:
    visit = Visit(filled).choose("ana")
    for path in ("/ui/projects", "/ui/memories", "/ui/projects/project?id=<script>x</script>"):
        page = visit.get(path).text
        assert "<b>blog" not in page and "<script>x" not in page


def test_a_key_of_some_categories_sees_no_projects(keyed_site: Service) -> None:
    memory: Memory = keyed_site.memory
    memory.user("ana").add("Deploys with make ship", theme="work", project_id=SHOP)
    key = memory.create_key("cook", user="ana", agent="cook", categories=["work"])
    visit = Visit(keyed_site).sign_in(key.secret)
    assert visit.get("/ui/projects").status_code == 403
    assert '/ui/projects"' not in visit.get("/ui/memories").text
