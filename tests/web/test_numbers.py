"""Pages that count the same thing say the same number."""

import re
from datetime import timedelta

import pytest

from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("page.numbers")

SHOP = "acme/shop"


@pytest.fixture
def lived(site: Service, ana: UserMemory, clock: ManualClock) -> Visit:
    """Ana has memories in every state, and sees some of ben and of everybody."""
    ben = site.memory.user("ben")
    kept = ana.narrow(project=SHOP)
    kept.add("Tests run with make test", theme="work")
    kept.archive(kept.add("Tests run with pytest", theme="work").id)
    kept.observe([{"role": "user", "content": "Let us ship it"}], thread="monday")
    ana.add("Plays the cello", supersedes=ana.add("Plays the viola", theme="music").id)
    ana.add("Lives in Jakarta", key="home")
    ana.add("Lives in Bekasi", key="home")
    ana.forget(ana.add("Likes tea", theme="food").id)
    ana.add("The pool is closed", theme="food", expires_at=clock() + timedelta(days=1))
    ana.narrow(agent="planner").add("Has diabetes", theme="health", source="conversation")
    share(ben, ben.add("Ana's bike is red", theme="things", project_id=SHOP).id, "ana")
    ben.link(ben.add("The bike has a lock").id, "ana")
    site.memory.global_memories().add("The office opens at nine", theme="work")
    clock.advance(days=2)
    return Visit(site).choose("ana")


def number(page: str, pattern: str) -> int:
    found = re.search(pattern, page)
    assert found is not None, pattern
    return int(found[1])


def test_active_memories_are_as_many_on_every_page(lived: Visit) -> None:
    memories = lived.get("/ui/memories").text
    listed = memories.count('class="says"')
    assert listed == 5  # one of ben's, one of everybody's
    assert number(memories, r"(\d+) active memories in") == listed
    themes = lived.get("/ui/themes").text
    assert number(themes, r"(\d+) active memories in") == listed
    by_theme = dict(
        re.findall(r'theme=(\w+)" dir="auto">.*?<strong>(\d+)</strong>', themes, re.DOTALL)
    )
    assert sum(map(int, by_theme.values())) == listed
    options = re.findall(r'<option dir="auto" value="(\w+)">[^<]*\((\d+)\)', memories)
    assert dict(options) == by_theme
    drawn = re.findall(
        r'<option dir="auto" value="(\w+)">[^<]*\((\d+)\)', lived.get("/ui/graph").text
    )
    assert dict(drawn) == by_theme
    for theme, count in by_theme.items():
        assert lived.get(f"/ui/memories?theme={theme}").text.count('class="says"') == int(count)
    assert number(lived.get("/ui/activity").text, r"<dt>Memories</dt><dd>(\d+)</dd>") == listed


def test_as_many_were_added_as_were_learned(lived: Visit, site: Service, ana: UserMemory) -> None:
    learned = lived.get("/ui/changes?kind=learned").text.count('id="change-')
    added = sum(day.memories_added for day in ana.daily())
    assert added == learned == 7
    everybodys = site.memory.daily()
    assert sum(day.memories_added for day in everybodys) == learned + 3
    assert number(lived.get("/ui/activity").text, r"Added <strong>(\d+)") == learned


def test_projects_count_what_their_pages_list(lived: Visit) -> None:
    projects = lived.get("/ui/projects").text
    memories, threads = re.findall(r">(\d+) (?:memory|memories|conversations?)</a>", projects)
    listed = lived.get(f"/ui/memories?project={SHOP}").text
    assert listed.count('class="says"') == int(memories)
    assert f">{SHOP} ({memories})</option>" in listed
    assert lived.get(f"/ui/conversations?project={SHOP}").text.count('class="says"') == int(threads)
    shown = lived.get(f"/ui/projects/project?id={SHOP}").text
    assert re.findall(r">(\d+) (?:memory|memories|conversations?)</a>", shown)[:2] == [
        memories,
        threads,
    ]


def test_proposals_and_changes_count_what_is_listed(lived: Visit, ana: UserMemory) -> None:
    proposals = lived.get("/ui/proposals").text
    assert number(proposals, r'class="count">(\d+)') == proposals.count("/approve") == 2
    changes = lived.get("/ui/changes").text
    assert number(changes, r"(\d+) changes so far") == ana.revision()
    assert changes.count('id="change-') == ana.revision()
