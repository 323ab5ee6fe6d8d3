"""Whose memories a page shows: marks, filters, the global ones, and words for who reads them."""

import re

import pytest

from ricordo.memory import Memory
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.addresses import known_states
from tests.web.conftest import LivedIn
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.ownership")

OF_THE_READER = ("/ui/settings/keys", "/ui/settings/keys/{id}", "/ui/who")
"""Pages that are about who reads them, not about whose memories are shown."""
QUOTING = "/ui/conversations/thread"
"""Here people say you to one another."""


@pytest.fixture
def everything(site: Service, ana: UserMemory) -> dict[str, int]:
    """A memory of each kind that ana sees."""
    memory: Memory = site.memory
    memory.create_group("payments", manager="ana")
    ben = memory.user("ben")
    found = {
        "own": ana.add("Drinks green tea").id,
        "shared": ana.add("The tea is in the left cupboard", tags=["kitchen", "tea"]).id,
        "received": ben.add("Tea at four on Sundays", tags=["sunday"], pinned=True).id,
        "group": memory.user("ana", group="payments").add("Tea money is in the jar").id,
        "global": memory.global_memories().add("Tea is free in the lobby").id,
    }
    share(ana, found["shared"], "ben")
    share(ana, found["shared"], "cleo")
    ana.link(found["own"], "ben")
    share(ben, found["received"], "ana")
    return found


def test_whose_a_memory_is_stands_wherever_it_is_shown(
    everything: dict[str, int], visit: Visit
) -> None:
    marks = {
        "own": "offered to ben",
        "shared": "shared with 2 users",
        "received": "shared by ben",
        "group": "from group payments",
        "global": "global",
    }
    searched = main_text(visit.post("/ui/memories", on="/ui/memories", q="tea", unlikely="1"))
    for said in (visit.text("/ui/memories"), searched):
        for mark in marks.values():
            assert mark in said
        for sign in ("#kitchen", "#tea", "#sunday", "pinned"):
            assert sign in said
    for name, item_id in everything.items():
        assert marks[name] in visit.text(f"/ui/memories/{item_id}"), name


def test_the_list_is_narrowed_to_whose_memories_are_wanted(
    everything: dict[str, int], visit: Visit
) -> None:
    for name, item_id in everything.items():
        page = visit.get(f"/ui/memories?ownership={name}").text
        shown = {int(one) for one in re.findall(r'class="says" href="/ui/memories/(\d+)"', page)}
        also = {everything["shared"]} if name == "own" else set()
        assert shown == {item_id, *also}, name
        assert f'<option value="{name}" selected>' in page
    refused = visit.get("/ui/memories?ownership=mine")
    assert refused.status_code == 422
    assert "own, shared, received, group, global" in main_text(refused)


def test_pins_and_tags_are_changed_on_the_page(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Drinks green tea", tags=["tea"], importance=4, key="drink")
    path = f"/ui/memories/{item.id}"
    assert visit.post(f"{path}/pin", on=path, pinned="1").status_code == 303
    assert visit.text(path).startswith("Pinned.")
    seen = re.search(r'name="expected_updated_at" value="([^"]+)"', visit.get(path).text)
    assert seen is not None
    tags = 'hot, "cup, large"'
    sent = visit.post(f"{path}/tags", on=path, tags=tags, expected_updated_at=seen[1])
    assert (sent.status_code, sent.headers["location"]) == (303, path)
    changed = ana.get(item.id)
    assert changed.tags == ("hot", "cup, large")
    assert (changed.pinned, changed.importance, changed.key) == (True, 4, "drink")
    stale = visit.post(f"{path}/tags", on=path, tags="x", expected_updated_at=seen[1])
    assert stale.status_code == 412
    assert visit.post(f"{path}/tags", on=path).status_code == 303
    assert visit.post(f"{path}/pin", on=path).status_code == 303
    assert (ana.get(item.id).tags, ana.get(item.id).pinned) == ((), False)
    ana.undo(item.id)
    assert ana.get(item.id).tags == ("hot", "cup, large")


def test_who_reads_everything_opens_the_global_memories(keyed_site: Service) -> None:
    memory: Memory = keyed_site.memory
    tip = memory.global_memories().add("The office closes at six").id
    memory.user("ana").add("Likes tea")
    path = f"/ui/memories/{tip}"
    keys = {
        given: memory.create_key("key", permissions=list(given)).secret
        for given in ((), ("read_all",), ("read_all", "manage"))
    }
    for given, key in keys.items():
        visit = Visit(keyed_site).sign_in(key)
        opened = visit.post("/ui/who", on="/ui/who", user="*")
        if not given:
            assert opened.status_code == 422
            assert "Global memories" not in visit.text("/ui/who")
            continue
        said = visit.text("/ui/memories")
        assert said.startswith("Global memories")
        assert "The office closes at six" in said
        assert "Likes tea" not in said
        searched = visit.post("/ui/memories", on="/ui/memories", q="office")
        assert "The office closes at six" in main_text(searched)
        for place in ("/ui/themes", "/ui/changes", "/ui/graph"):
            assert visit.get(place).status_code == 200
        asked = visit.get("/ui/conversations")
        assert asked.headers["location"].startswith("/ui/who?")
        assert ("/pin" in visit.get(path).text) == ("manage" in given)
        expected = 303 if "manage" in given else 403
        assert visit.post(f"{path}/pin", on="/ui/who", pinned="1").status_code == expected
    assert memory.global_memories().get(tip).pinned
    mine = memory.create_key("mine", user="ana").secret
    visit = Visit(keyed_site).sign_in(mine)
    assert "The office closes at six pinned global" in visit.text("/ui/memories")
    assert visit.get(path).status_code == 200


def test_who_reads_of_somebody_else_is_not_called_you(lived_in_sqlite: LivedIn) -> None:
    visit = Visit(lived_in_sqlite.service)
    assert visit.text("/ui/memories").startswith("Memories")
    visit.choose("ana")
    assert visit.text("/ui/memories").startswith("ana's memories")
    for name, page in known_states().items():
        said = main_text(visit.get(page.path(lived_in_sqlite.life)))
        if name not in (*OF_THE_READER, QUOTING):
            assert not re.search(r"\b(you|your|yours)\b", said, re.IGNORECASE), (name, said)
