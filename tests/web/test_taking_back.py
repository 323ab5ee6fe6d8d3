"""What is done on the page is taken back by the button beside what is said of it."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from ricordo.model.item import Item
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.taking_back")


def offered(visit: Visit, page: str) -> tuple[str, dict[str, str]] | None:
    """Where the button beside the notice leads, with its fields."""
    found = re.search(r'<div class="notice done">(.*?)</div>', visit.get(page).text, re.DOTALL)
    assert found is not None, "nothing is said of it"
    form = re.search(r'<form method="post" action="([^"]+)">(.*?)</form>', found[1])
    if form is None:
        return None
    fields = re.findall(r'name="(\w+)" value="([^"]*)"', html.unescape(form[2]))
    return form[1], dict(fields)


def take_back(visit: Visit, page: str) -> Any:
    button = offered(visit, page)
    assert button is not None, "there is no button"
    return visit.client.post(button[0], data=button[1])


def at(item_id: int, action: str = "") -> str:
    return f"/ui/memories/{item_id}{'/' if action else ''}{action}"


def state(ana: UserMemory) -> list[dict[str, Any]]:
    """All that ana has, without when it changed."""
    found = []
    for item in ana.list(status=["active", "archived", "superseded", "deleted"], sort="updated_at"):
        values = item.to_dict()
        for name in ("updated_at", "purge_at", "embedding"):
            values.pop(name, None)
        for rating in values["ratings"]:
            del rating["at"]
        found.append(values)
    return sorted(found, key=lambda one: one["id"])


def active(ana: UserMemory) -> Item:
    return ana.get(ana.add("Likes tea", key="drink", tags=["hot"]).id)


def pinned(ana: UserMemory) -> Item:
    return ana.pin(active(ana).id)


def rated(ana: UserMemory) -> Item:
    return ana.rate(active(ana).id, "used")


def outdated(ana: UserMemory) -> Item:
    return ana.rate(active(ana).id, "outdated")


def archived(ana: UserMemory) -> Item:
    return ana.archive(active(ana).id)


def forgotten(ana: UserMemory) -> Item:
    ana.add("Likes coffee", key="drink")
    return ana.forget(active(ana).id)[0]


@pytest.mark.parametrize(
    ("prepare", "action", "fields"),
    [
        (active, "pin", {"pinned": "1"}),
        (pinned, "pin", {}),
        (active, "tags", {"tags": "cold, sweet"}),
        (active, "archive", {}),
        (active, "forget", {}),
        (archived, "restore", {}),
        (forgotten, "restore", {}),
        (active, "rate", {"verdict": "wrong"}),
        (rated, "rate", {"verdict": "outdated"}),
        (rated, "rate", {"verdict": "withdrawn"}),
        (outdated, "rate", {"verdict": "withdrawn"}),
    ],
)
def test_it_is_as_before(
    prepare: Callable[[UserMemory], Item],
    action: str,
    fields: dict[str, str],
    ana: UserMemory,
    visit: Visit,
) -> None:
    item = prepare(ana)
    before = state(ana)
    done = visit.post(at(item.id, action), on="/ui/who", **fields)
    assert done.status_code == 303
    after = state(ana)
    assert after != before
    back = take_back(visit, done.headers["location"])
    assert back.status_code == 303
    assert state(ana) == before
    assert visit.get(back.headers["location"]).text.count('class="notice done"') == 1
    assert 'class="notice done"' not in visit.get(back.headers["location"]).text


def test_what_changed_meanwhile_is_not_taken_back(ana: UserMemory, visit: Visit) -> None:
    item = active(ana)
    visit.post(at(item.id, "archive"), on="/ui/who")
    button = offered(visit, at(item.id))
    assert button is not None
    ana.restore(item.id)
    ana.pin(item.id)
    before = state(ana)
    refused = visit.client.post(button[0], data=button[1])
    assert refused.status_code == 412
    assert "It has changed meanwhile, so nothing was done" in main_text(refused)
    assert state(ana) == before
    ana.forget(item.id)
    ana.purge(before_time=True)
    assert visit.client.post(button[0], data=button[1]).status_code == 404
    again = visit.client.post(button[0], data={**button[1], "token": "x" * 32})
    assert again.status_code == 403


def propose(ana: UserMemory, text: str) -> int:
    ana.observe([{"role": "user", "content": text}], thread=text)
    ana.form(text)
    return max(one.id for one in ana.proposals())


def test_approvals_are_taken_back(site: Service, ana: UserMemory, visit: Visit) -> None:
    number = propose(ana, "I am allergic to birch pollen")
    approve = f"/ui/proposals/{number}/approve"
    visit.post(approve, on="/ui/proposals")
    assert len(ana.list()) == 1
    take_back(visit, "/ui/proposals")
    assert not ana.list()
    ben = site.memory.user("ben")
    boat = ben.add("Owns a boat").id
    ben.link(boat, "ana")
    visit.post(f"/ui/proposals/{boat}/approve", on="/ui/proposals")
    assert [one.id for one in ana.list()] == [boat]
    back = take_back(visit, "/ui/proposals")
    assert "cannot be offered again" in visit.text(back.headers["location"])
    assert not ana.list()


def test_what_cannot_be_taken_back_asks_first(site: Service, ana: UserMemory, visit: Visit) -> None:
    ben = site.memory.user("ben")
    share(ben, ben.add("Owns a boat").id, "ana")
    ben.link(ben.add("Sails on Sundays").id, "ana")
    number = propose(ana, "I am allergic to birch pollen")
    page = visit.get("/ui/proposals").text
    folded = "".join(re.findall(r"<details.*?</details>", page, re.DOTALL))
    plain = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    for action in (f"/ui/proposals/{number}/reject", "/ui/proposals/senders/block"):
        assert action in folded
        assert action not in plain
    visit.post(f"/ui/proposals/{number}/reject", on="/ui/proposals")
    assert offered(visit, "/ui/proposals") is None
    drink = active(ana).id
    ana.add("Likes coffee", key="drink")
    page = visit.get(at(drink)).text
    assert at(drink, "undo") in "".join(re.findall(r"<details.*?</details>", page, re.DOTALL))
    assert at(drink, "undo") not in re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)


def test_unblocking_is_taken_back(ana: UserMemory, visit: Visit) -> None:
    ana.block_sender("ben")
    visit.post("/ui/proposals/senders/unblock", on="/ui/proposals", sender="ben")
    assert not ana.blocked_senders()
    take_back(visit, "/ui/proposals")
    assert [one.user_id for one in ana.blocked_senders()] == ["ben"]


@pytest.mark.browser
def test_a_click_takes_back(site: Service, ana: UserMemory, browse: Browsing) -> None:
    item = active(ana)
    page = browse(f"{site.url}{at(item.id)}", user="ana")
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("status").first).to_have_text("Forgotten.")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("status").first).to_have_text("Restored.")
    assert ana.get(item.id).status == "active"
