"""The page of one memory, over HTTP: what it shows in every state, undo and restore."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo.storage.tables import item_index
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.visiting import Visit, field, main_text

pytestmark = pytest.mark.requirement("page.memory")


def at(item_id: int, action: str | None = None) -> str:
    return f"/ui/memories/{item_id}" + (f"/{action}" if action else "")


def forms(visit: Visit, item_id: int) -> list[str]:
    """What can be done on the page of a memory, beside rating and marking it."""
    html = visit.get(at(item_id)).text
    found = re.findall(rf'action="/ui/memories/{item_id}/(\w+)"', html)
    return [one for one in found if one not in ("rate", "pin", "tags", "archive", "forget")]


def act(visit: Visit, item_id: int, action: str, **fields: str) -> Any:
    return visit.post(at(item_id, action), on="/ui/who", **fields)


def test_everything_of_a_memory_is_there(ana: UserMemory, visit: Visit) -> None:
    content = "First line\n    indented <b>bold</b> & more\n" + "Knead it, and let it rest.\n" * 290
    added = ana.narrow(agent="kitchen", actor="ben").add(
        content,
        theme="Food and drink",
        type="procedure",
        key="bread",
        tags=["baking", "slow food"],
        importance=5,
        confidence=61,
        pinned=True,
        source="tool_call",
        source_context="as the oven said",
        expires_at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC),
    )
    html = visit.get(at(added.id)).text
    shown = re.search(r'<div class="panel content kept" dir="auto">(.*?)</div>', html, re.DOTALL)
    assert shown is not None
    assert shown.group(1).startswith(
        "First line\n    indented &lt;b&gt;bold&lt;/b&gt; &amp; more\n"
    )
    assert ("Knead it, and let it rest.\n" * 290).strip() in shown.group(1)
    assert 'href="/ui/memories?theme=food-and-drink"' in html
    assert 'href="/ui/memories?tags=slow+food"' in html
    said = visit.text(at(added.id))
    for part in (
        *("procedure pinned", "Status active", "Key bread", "Importance 5 of 5"),
        *("Confidence 61 of 100", "Agent kitchen", "Who said it ben", "as the oven said"),
        *("From the result of a tool.", "Expires 4 Mar 2026, 05:06 UTC", "History Learned by ben"),
        *("Valid until open", "Search found by meaning and words words · words-64 · 64 dimensions"),
    ):
        assert part in said, part


def test_a_memory_leads_to_the_turn_that_it_came_from(ana: UserMemory, visit: Visit) -> None:
    turns = [f"Nothing of note, part {number}." for number in range(5)]
    said = [{"role": "assistant", "content": text} for text in turns]
    loved = {"role": "user", "content": "Well. I love jazz. Good.", "actor": "ana", "id": "m6"}
    ana.observe([*said, loved], thread="on / Monday?", title="A <talk>")
    ana.form("on / Monday?")
    (item,) = ana.list()
    html = visit.get(at(item.id)).text
    assert 'href="/ui/conversations/thread?id=on+%2F+Monday%3F&amp;from=4#turn-6"' in html
    assert "Well. <mark>I love jazz</mark>. Good." in html
    assert "Learned from a conversation. Well. I love jazz. Good." in visit.text(at(item.id))
    assert "said by ana in A <talk>, turn 6" in visit.text(at(item.id))


def test_the_vector_s_state_is_told(site: Service, ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Prefers tea").id
    for state, words in (("pending", "vector pending"), ("error", "vector failed")):
        with site.memory.database.write("ana") as writing:
            row = sa.update(item_index).where(item_index.c.id == item)
            writing.connection.execute(row.values(state=state, error="the <endpoint> says no"))
        assert f"Search {words}" in visit.text(at(item))
    assert "the <endpoint> says no" in visit.text(at(item))
    share(ana, item, "ben")
    others = Visit(site).choose("ben").text(at(item))
    assert "Search vector failed" in others
    assert "endpoint" not in others


def test_history_is_told_newest_first_with_what_was_replaced(
    ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    item = ana.add("Eats no meat", key="diet", tags=["food"], importance=2).id
    clock.advance(days=1)
    ana.add("Eats no fish", key="diet", importance=4, reason="said at <dinner>")
    clock.advance(days=1)
    ana.add("Eats everything", key="diet", pinned=True, tags=["all"])
    ana.pin(item, False)
    ana.pin(item)
    ana.verify(item)
    ana.archive(item, reason="done with")
    said = visit.text(at(item))
    told = re.findall(
        r"<strong>([^<]+)</strong> <span class=\"quiet\">by", visit.get(at(item)).text
    )
    events = "Archived, Verified, Pinned, No longer pinned, Replaced, Replaced, Learned"
    assert told == events.split(", ")
    assert "said at <dinner>" in said
    assert "done with" in said
    assert "Text Eats no fish Eats everything" in said
    assert "Text Eats no meat Eats no fish" in said
    assert "Importance 2 4" in said
    assert "Tags #food #all" in said
    assert "Pinned no yes" in said
    assert "Valid from 1 Jan 2026, 12:00 UTC 2 Jan 2026, 12:00 UTC" in said


@pytest.mark.requirement("page.undo")
def test_an_outdated_page_does_nothing(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    seen = field(visit.get(at(item)).text, "expected_updated_at")
    ana.add("Eats everything", key="diet")
    answer = act(visit, item, "undo", expected_updated_at=seen)
    assert answer.status_code == 412
    assert "It has changed meanwhile" in main_text(answer)
    assert "Eats everything" in main_text(answer)
    assert f'href="{at(item)}">Reload' in answer.text
    assert ana.get(item).content == "Eats everything"


@pytest.mark.requirement("page.undo")
def test_what_is_refused_is_told_with_a_way_back(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Eats no meat", key="diet").id
    ana.archive(item)
    taken = ana.add("Eats no fish", key="diet").id
    for path, action, fields, status, words in (
        (item, "restore", {}, 409, f"memory {taken} already has this key"),
        (taken, "undo", {}, 409, "no change that can be undone"),
        (taken, "restore", {}, 409, "cannot become active"),
        (item, "restore", {"reason": "x" * 501}, 422, "reason"),
        (item, "restore", {"expected_updated_at": "soon"}, 422, "expected_updated_at"),
    ):
        answer = act(visit, path, action, **fields)
        assert answer.status_code == status
        assert f"Nothing was done: {words}" in main_text(answer) or words in main_text(answer)
        assert f'href="{at(path)}">Reload' in answer.text
    assert ana.get(item).status == "archived"


def test_a_shared_memory_tells_nothing_of_where_it_comes_from(
    site: Service, ana: UserMemory, visit: Visit
) -> None:
    told = ana.narrow(thread="monday", agent="kitchen")
    item = told.add("Likes tea", source="conversation", source_context="my very words").id
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    share(ana, item, "ben")
    share(ana, new, "ben")
    assert "Shared with ben" in visit.text(at(item))
    ben = Visit(site).choose("ben")
    said = ben.text(at(item))
    assert "Shared with ben by ana, who alone can change it." in said
    assert "Search found by meaning and words" in said
    assert "History Shared by ana, accepted by ben" in said
    for hidden in ("my very words", "monday", "kitchen", "conversation", "Recalled"):
        assert hidden not in said
    assert "viola" not in ben.text(at(new))
    assert forms(ben, new) == []
    refused = ben.post(at(new, "undo"), on="/ui/who")
    assert refused.status_code == 403
    assert "is shared with you" in main_text(refused)
    ana.unlink(item, "ben")
    assert "no longer shared with ben" in ben.text(at(item))
    assert "Likes tea" not in ben.text(at(item))


def test_a_memory_for_everybody(site: Service, visit: Visit, ana: UserMemory) -> None:
    item = site.memory.global_memories().add("The office closes at six").id
    said = visit.text(at(item))
    assert "A global memory" in said
    assert "History" not in said
    assert forms(visit, item) == []


def test_of_a_purged_memory_only_history_is_left(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Likes secret tea", reason="overheard").id
    ana.forget(item, reason="too private")
    ana.purge(before_time=True)
    said = visit.text(at(item))
    assert "removed for good" in said
    assert "Removed for good by ricordo" in said
    for gone in ("secret", "overheard", "too private"):
        assert gone not in said
    assert forms(visit, item) == []


def test_a_proposal_is_no_memory(ana: UserMemory, visit: Visit) -> None:
    ana.observe([{"role": "user", "content": "I have diabetes."}], thread="t")
    ana.form("t")
    (waiting,) = ana.proposals()
    assert "This is not a memory but a proposal" in visit.text(at(waiting.id))
    assert "Proposed by ricordo" in visit.text(at(waiting.id))
    approved = ana.approve(waiting.id)
    assert "Approved by ana" in visit.text(at(approved.id))


@pytest.mark.requirement("page.undo")
def test_what_was_archived_forgotten_or_expired_is_restored(
    ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    archived, forgotten = ana.add("Likes tea").id, ana.add("Likes jazz").id
    expired = ana.add("The pool is closed", expires_at=clock() + timedelta(days=1)).id
    assert forms(visit, archived) == []
    ana.archive(archived)
    ana.forget(forgotten, reason="no longer")
    assert "It is removed for good on 31 Jan 2026, 12:00 UTC." in visit.text(at(forgotten))
    clock.advance(days=2)
    for item, words in (
        (archived, "Archived: found only when"),
        (forgotten, "Likes jazz"),
        (expired, "Expired: no search"),
    ):
        assert words in visit.text(at(item))
        assert forms(visit, item) == ["restore"]
        answer = act(visit, item, "restore", reason="true after all")
        assert (answer.status_code, answer.headers["location"]) == (303, at(item))
        said = visit.text(at(item))
        assert said.startswith("Restored.")
        assert "true after all" in said
        assert not visit.text(at(item)).startswith("Restored.")
        assert ana.get(item).status == "active"


@pytest.mark.requirement("page.undo")
def test_a_replacement_is_undone_on_either_side(ana: UserMemory, visit: Visit) -> None:
    for named in ("old", "new"):
        old = ana.add(f"Plays the viola, {named}").id
        new = ana.add(f"Plays the cello, {named}", supersedes=old).id
        assert f'href="{at(new)}"' in visit.get(at(old)).text
        assert "Replaced by Plays the cello" in visit.text(at(old))
        assert "Replaces Plays the viola" in visit.text(at(new))
        assert forms(visit, old) == forms(visit, new) == ["undo"]
        answer = act(visit, old if named == "old" else new, "undo")
        assert answer.headers["location"] == at(old)
        assert ("the restored memory" in visit.text(at(old))) == (named == "new")
        assert (ana.get(old).status, ana.get(new).status) == ("active", "archived")
        assert (forms(visit, old), forms(visit, new)) == ([], ["restore"])


PRESSED = r'value="(\w+)" aria-pressed="true"'


@pytest.mark.requirement("page.ratings")
def test_a_memory_is_rated_on_its_page(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Eats no meat").id
    bot = ana.narrow(agent="kitchen")
    bot.rate(item, "outdated", reason="ordered <steak>", query="what to cook?")
    seen = field(visit.get(at(item)).text, "expected_updated_at")
    told = "Outdated, says kitchen (agent)"
    assert told in visit.text(at(item))
    assert "asked what to cook? ordered <steak>" in visit.text(at(item))
    assert act(visit, item, "rate", verdict="used", expected_updated_at=seen).status_code == 303
    html = visit.get(at(item)).text
    assert re.findall(PRESSED, html) == ["used"]
    assert "Said to have helped by ana" in main_text(visit.get(at(item)))
    answer = act(visit, item, "rate", verdict="wrong", expected_updated_at=seen)
    assert (answer.status_code, ana.get(item).status) == (412, "active")
    act(visit, item, "rate", verdict="wrong")
    assert "No longer true: called wrong by ana." in visit.text(at(item))
    assert "Make it current again." in visit.text(at(item))
    act(visit, item, "rate", verdict="withdrawn")
    assert ana.get(item).status == "active"
    assert "Take back" not in visit.get(at(item)).text
    assert act(visit, item, "rate", verdict="great").status_code == 422


@pytest.mark.requirement("page.ratings")
def test_only_ones_own_memories_are_rated(
    site: Service, ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    shared, gone = ana.add("Eats no meat").id, ana.add("Eats no fish").id
    share(ana, shared, "ben")
    ana.rate(shared, "used", reason="between us")
    ben = Visit(site).choose("ben")
    for hidden in ("/rate", "between us", "It helped"):
        assert hidden not in ben.get(at(shared)).text
    assert ben.post(at(shared, "rate"), on="/ui/who", verdict="wrong").status_code == 403
    ana.forget(gone)
    assert "/rate" not in visit.get(at(gone)).text
