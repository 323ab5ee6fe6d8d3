"""The page of one memory, over HTTP: what it shows in every state, undo and restore."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from ricordo import limits
from ricordo.errors import IllegalTransition, NothingToUndo
from ricordo.memory import Memory
from ricordo.model.history import Change
from ricordo.model.vocabulary import Event
from ricordo.storage.index_tables import item_index
from ricordo.testing.clock import ManualClock
from ricordo.user_memory import UserMemory
from ricordo.web.lifetime import lifetime
from ricordo.web.wording import differences
from tests.support.service import Service, running
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, field, main_text

pytestmark = pytest.mark.requirement("page.memory")


@pytest.fixture
def ana(site: Service) -> UserMemory:
    return site.memory.user("ana")


@pytest.fixture
def visit(site: Service) -> Visit:
    return Visit(site).choose("ana")


def at(item_id: int, action: str | None = None) -> str:
    return f"/ui/memories/{item_id}" + (f"/{action}" if action else "")


def forms(visit: Visit, item_id: int) -> list[str]:
    """What can be done on the page of a memory."""
    html = visit.get(at(item_id)).text
    return re.findall(rf'action="/ui/memories/{item_id}/(\w+)"', html)


def act(visit: Visit, item_id: int, action: str, **fields: str) -> Any:
    return visit.post(at(item_id, action), on="/ui/who", **fields)


# -- what is shown -------------------------------------------------------------------------


def test_everything_of_a_memory_is_there(ana: UserMemory, visit: Visit) -> None:
    content = "First line\n    indented <b>bold</b> & more\n" + "x" * 7_900
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
    assert "x" * 7_900 in shown.group(1)
    assert 'href="/ui/memories?theme=food-and-drink"' in html
    assert 'href="/ui/memories?tags=slow+food"' in html
    said = visit.text(at(added.id))
    for part in (
        "Type procedure",
        "Status active",
        "Key bread",
        "Importance 5 of 5",
        "Confidence 61 of 100",
        "Pinned yes",
        "Agent kitchen",
        "Who said it ben",
        "From what a tool answered.",
        "as the oven said",
        "Expires 4 Mar 2026, 05:06 UTC",
        "True until no end is known",
        "Noted 1 Jan 2026, 12:00 UTC",
        "Vector embedded words · words-64 · 64 wide",
        "History Noted by ben",
    ):
        assert part in said, part


def test_what_has_an_end_says_so(ana: UserMemory, visit: Visit) -> None:
    begun, ended = datetime(2020, 2, 3, tzinfo=UTC), datetime(2021, 4, 5, tzinfo=UTC)
    said = visit.text(at(ana.add("Lived in Porto", valid_from=begun, valid_to=ended).id))
    assert "True from 3 Feb 2020, 00:00 UTC True until 5 Apr 2021, 00:00 UTC" in said


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
    assert "Formed from a conversation. Well. I love jazz. Good." in visit.text(at(item.id))
    assert "said by ana in A <talk>, turn 6" in visit.text(at(item.id))


def test_a_quote_of_a_long_turn_stands_for_itself(ana: UserMemory, visit: Visit) -> None:
    said = "I love jazz. " + "And so on and on. " * 100
    ana.observe([{"role": "user", "content": said, "id": "m1"}], thread="t")
    ana.form("t")
    (item,) = ana.list(theme=None, contains="jazz", limit=1)
    html = visit.get(at(item.id)).text
    assert "<mark>" not in html
    assert html.count("<blockquote") == 2
    assert "On. " + "And so on and on. " * 80 not in html


@pytest.mark.parametrize("recorded", [True, False])
def test_a_turn_that_is_not_known(ana: UserMemory, visit: Visit, recorded: bool) -> None:
    if recorded:
        ana.observe([{"role": "user", "content": "Hello"}], thread="monday")
    item = ana.narrow(thread="monday").add("Likes jazz", source="conversation")
    html, said = visit.get(at(item.id)).text, visit.text(at(item.id))
    assert ('href="/ui/conversations/thread?id=monday"' in html) == recorded
    assert ("in which turn is not known" in said) == recorded
    assert ("Formed from a conversation, in conversation monday." in said) != recorded


def test_what_is_about_the_same_is_listed(ana: UserMemory, visit: Visit) -> None:
    one = ana.add("Waters the plants on the balcony every evening", theme="home").id
    other = ana.add("Waters the plants in the kitchen every evening", theme="flat").id
    (related,) = ana.related(one)
    html = visit.get(at(one)).text
    assert f'href="/ui/memories/{other}"' in html
    assert (
        f"About the same {related.similarity:.0%} Waters the plants in the kitchen"
        in visit.text(at(one))
    )


def test_the_vector_s_state_is_told(site: Service, ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Prefers tea").id
    for state, words in (("pending", "embedding waits"), ("error", "embedding failed")):
        with site.memory.database.write("ana") as writing:
            row = sa.update(item_index).where(item_index.c.id == item)
            writing.connection.execute(row.values(state=state, error="the <endpoint> says no"))
        assert f"Vector {words}" in visit.text(at(item))
    assert "the <endpoint> says no" in visit.text(at(item))
    ana.link(item, "ben")
    others = Visit(site).choose("ben").text(at(item))
    assert "Vector embedding failed" in others
    assert "endpoint" not in others


def test_no_vectors_are_made(backend_url: str, open_store: Callable[..., Memory]) -> None:
    with running(
        open_store(backend_url, port=0, embedder=None, embedding_provider="none")
    ) as wordy:
        item = wordy.memory.user("ana").add("Prefers tea").id
        assert "Vector words only" in Visit(wordy).text(at(item))


# -- history -------------------------------------------------------------------------------


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
    assert told == [
        "Archived",
        "Found to be still true",
        "Pinned",
        "No longer pinned",
        "Changed",
        "Changed",
        "Noted",
    ]
    assert "said at <dinner>" in said
    assert "done with" in said
    assert "Text Eats no fish Eats everything" in said
    assert "Text Eats no meat Eats no fish" in said
    assert "Importance 2 4" in said
    assert "Tags #food #all" in said
    assert "Pinned no yes" in said
    assert "True from 1 Jan 2026, 12:00 UTC 2 Jan 2026, 12:00 UTC" in said


def test_only_the_latest_of_a_long_history(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Likes tea").id
    for number in range(limits.PAGE_ROWS):
        ana.pin(item, number % 2 == 0)
    html = visit.get(at(item)).text
    assert html.count('<li class="event"') == limits.PAGE_ROWS
    assert f"ricordo history {item}" in html
    ana.purge()
    assert "ricordo history" not in visit.get(at(ana.add("Likes coffee").id)).text


def test_differences_are_those_of_each_update() -> None:
    def update(revision: int, **before: Any) -> Change:
        return Change(
            revision=revision,
            event=Event.UPDATE if before else Event.PIN,
            item_id=1,
            at=datetime(2026, 1, 1, tzinfo=UTC),
            actor="ana",
            before=before or None,
        )

    changes = (update(1, content="a", access_count=3), update(2), update(3, content="b"))
    told = differences(changes, {"content": "c"})
    assert [[(one.old, one.new) for one in step] for step in told] == [
        [("a", "b")],
        [],
        [("b", "c")],
    ]


def test_the_line_of_a_life(ana: UserMemory, clock: ManualClock) -> None:
    now = clock()
    open_ended = ana.get(ana.add("Likes tea").id)
    line = lifetime(open_ended, now)
    assert (line.begins, line.known, line.ends, line.is_open) == (2.0, 2.0, 100.0, True)
    later = lifetime(open_ended, now + timedelta(days=10))
    assert {point.kind: point.x for point in later.points} == {"from": 2, "noted": 2, "now": 88}
    past, soon = now - timedelta(days=10), now + timedelta(days=10)
    planned = ana.get(ana.add("Is away", valid_from=past, valid_to=soon).id)
    line = lifetime(planned, now)
    assert (line.begins, line.known, line.ends, line.is_open) == (2.0, 50.0, 98.0, False)
    to_come = ana.get(ana.add("Will be away", valid_from=soon).id)
    assert lifetime(to_come, now).known == lifetime(to_come, now).begins


# -- states, and what can be done in each ---------------------------------------------------


def test_nothing_can_be_done_to_a_plain_memory(ana: UserMemory, visit: Visit) -> None:
    assert forms(visit, ana.add("Likes tea").id) == []


@pytest.mark.requirement("page.undo")
def test_an_archived_memory_is_restored(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Likes tea").id
    ana.archive(item)
    assert "Archived: kept" in visit.text(at(item))
    assert forms(visit, item) == ["restore"]
    seen = field(visit.get(at(item)).text, "expected_updated_at")
    answer = act(visit, item, "restore", reason="true after all", expected_updated_at=seen)
    assert (answer.status_code, answer.headers["location"]) == (303, at(item))
    said = visit.text(at(item))
    assert said.startswith("Restored.")
    assert "true after all" in said
    assert not visit.text(at(item)).startswith("Restored.")
    assert ana.get(item).status == "active"


@pytest.mark.requirement("page.undo")
def test_a_forgotten_memory_is_restored(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Likes tea").id
    ana.forget(item, reason="no longer")
    said = visit.text(at(item))
    assert "Likes tea" in said
    assert "It is removed for good on 31 Jan 2026, 12:00 UTC." in said
    assert "Removed for good 31 Jan 2026" in said
    assert forms(visit, item) == ["restore"]
    assert act(visit, item, "restore").status_code == 303
    assert ana.get(item).status == "active"


@pytest.mark.requirement("page.undo")
@pytest.mark.parametrize("named", ["old", "new"])
def test_a_replacement_is_undone_on_either_side(ana: UserMemory, visit: Visit, named: str) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    assert f'href="{at(new)}"' in visit.get(at(old)).text
    assert "Superseded by Plays the cello" in visit.text(at(old))
    assert "Took the place of Plays the viola" in visit.text(at(new))
    assert forms(visit, old) == forms(visit, new) == ["undo"]
    answer = act(visit, old if named == "old" else new, "undo")
    assert answer.headers["location"] == at(old)
    assert ("memory that came back" in visit.text(at(old))) == (named == "new")
    assert (ana.get(old).status, ana.get(new).status) == ("active", "archived")
    assert (forms(visit, old), forms(visit, new)) == ([], ["restore"])
    assert "Before and after" not in visit.text(at(old))


@pytest.mark.requirement("page.undo")
def test_an_update_is_undone(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    (former,) = ana.list(status="superseded")
    assert f'href="{at(former.id)}"' in visit.get(at(item)).text
    assert "Superseded by Eats no fish" in visit.text(at(former.id))
    assert forms(visit, item) == forms(visit, former.id) == ["undo"]
    assert act(visit, former.id, "undo").headers["location"] == at(item)
    assert ana.get(item).content == "Eats no meat"
    assert forms(visit, item) == []
    assert visit.get(at(former.id)).status_code == 404
    assert "Undone by ana" in visit.text(at(item))


@pytest.mark.requirement("page.undo")
def test_an_expired_memory_is_restored(ana: UserMemory, visit: Visit, clock: ManualClock) -> None:
    item = ana.add("The pool is closed", expires_at=clock() + timedelta(days=1)).id
    clock.advance(days=2)
    assert "Its time has come" in visit.text(at(item))
    assert forms(visit, item) == ["restore"]
    assert act(visit, item, "restore").status_code == 303
    assert ana.get(item).expires_at is None


def scenario(ana: UserMemory, name: str) -> list[int]:
    """Memories with a past."""
    first = ana.add("Plays the viola", theme="music").id
    if name == "chain":
        second = ana.add("Plays the cello", supersedes=first).id
        return [first, second, ana.add("Plays the harp", supersedes=second).id]
    if name == "merged":
        other = ana.add("Plays the viola in a quartet", theme="music").id
        return [first, other, ana.merge([first, other], "Plays the viola, also in a quartet").id]
    if name == "updated twice":
        kept = ana.add("Eats no meat", key="diet").id
        ana.add("Eats no fish", key="diet")
        ana.add("Eats all", key="diet")
        return [kept, *(one.id for one in ana.list(status="superseded"))]
    if name == "updated and forgotten":
        kept = ana.add("Eats no meat", key="diet").id
        ana.add("Eats no fish", key="diet")
        (former,) = ana.list(status="superseded")
        ana.archive(kept)
        return [kept, former.id]
    if name == "undone":
        second = ana.add("Plays the cello", supersedes=first).id
        ana.undo(second)
        return [first, second]
    if name == "successor purged":
        second = ana.add("Plays the cello", supersedes=first).id
        ana.forget(second)
        ana.purge(before_time=True)
        return [first]
    if name == "former text purged":
        kept = ana.add("Eats no meat", key="diet").id
        ana.add("Eats no fish", key="diet")
        ana.forget(next(iter(ana.list(status="superseded"))).id)
        ana.purge(before_time=True)
        return [kept]
    assert name == "plain"
    return [first]


@pytest.mark.requirement("page.undo")
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    "name",
    [
        "chain",
        "merged",
        "updated twice",
        "updated and forgotten",
        "undone",
        "successor purged",
        "former text purged",
        "plain",
    ],
)
def test_undo_is_offered_exactly_where_it_works(memory: Any, name: str, place: int) -> None:
    ana = memory.user("ana")
    ids = scenario(ana, name)
    item = ana.get(ids[min(place, len(ids) - 1)])
    offered = ana.lineage(item.id).undoable
    try:
        ana.undo(item.id)
    except (NothingToUndo, IllegalTransition):
        assert offered is None
    else:
        assert offered is not None


# -- refusals ------------------------------------------------------------------------------


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
    assert f'href="{at(item)}">Look again' in answer.text
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
        assert f'href="{at(path)}">Look again' in answer.text
    assert ana.get(item).status == "archived"


@pytest.mark.requirement("page.undo")
def test_a_form_from_elsewhere_does_nothing(ana: UserMemory, visit: Visit) -> None:
    item = ana.add("Likes tea").id
    ana.archive(item)
    assert visit.client.post(at(item, "restore"), data={"token": "guessed"}).status_code == 403
    assert visit.client.post(at(item, "restore"), data={"reason": "mine"}).status_code == 403
    assert visit.client.post(at(item, "restore")).status_code == 422  # not even a form
    assert ana.get(item).status == "archived"


@pytest.mark.requirement("page.isolation")
def test_others_memories_are_as_unknown_as_those_that_never_were(
    site: Service, ana: UserMemory, visit: Visit
) -> None:
    ana.add("Likes tea")
    theirs = site.memory.user("ben").add("Likes coffee").id
    other, unknown = visit.get(at(theirs)), visit.get(at(987_654))
    assert other.status_code == unknown.status_code == 404

    def without_number(answer: Any) -> str:
        return re.sub(r"no memory \d+|request \w+", "", main_text(answer))

    assert without_number(other) == without_number(unknown)
    for action in ("undo", "restore"):
        assert visit.post(at(theirs, action), on="/ui/who").status_code == 404


@pytest.mark.parametrize("bad", ["0", "-1", str(2**70), "abc", "1.5", "%00"])
def test_what_is_no_id(ana: UserMemory, visit: Visit, bad: str) -> None:
    ana.add("Likes tea")
    assert visit.get(f"/ui/memories/{bad}").status_code == 404


# -- shared, gone, confined ----------------------------------------------------------------


def test_a_shared_memory_tells_nothing_of_where_it_comes_from(
    site: Service, ana: UserMemory, visit: Visit
) -> None:
    told = ana.narrow(thread="monday", agent="kitchen")
    item = told.add("Likes tea", source="conversation", source_context="my very words").id
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    ana.link(item, "ben")
    ana.link(new, "ben")
    assert "Shared with ben" in visit.text(at(item))
    ben = Visit(site).choose("ben")
    said = ben.text(at(item))
    assert "Shared by ana." in said
    assert "Vector embedded" in said
    assert "History Shared by ana by its owner" in said
    for hidden in ("my very words", "monday", "kitchen", "conversation", "Recalled"):
        assert hidden not in said
    assert "viola" not in ben.text(at(new))
    assert forms(ben, new) == []
    refused = ben.post(at(new, "undo"), on="/ui/who")
    assert refused.status_code == 403
    assert "is shared with you" in main_text(refused)
    ana.unlink(item, "ben")
    assert "no longer there for you" in ben.text(at(item))
    assert "Likes tea" not in ben.text(at(item))


def test_a_memory_for_everybody(site: Service, visit: Visit, ana: UserMemory) -> None:
    item = site.memory.global_memories().add("The office closes at six").id
    said = visit.text(at(item))
    assert "A memory for everybody" in said
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


def test_what_waits_for_a_choice_is_no_memory(ana: UserMemory, visit: Visit) -> None:
    ana.observe([{"role": "user", "content": "I have diabetes."}], thread="t")
    ana.form("t")
    (waiting,) = ana.proposals()
    assert "This is no memory yet" in visit.text(at(waiting.id))
    assert "Waits for a choice by ricordo" in visit.text(at(waiting.id))
    approved = ana.approve(waiting.id)
    assert "Agreed to by ana" in visit.text(at(approved.id))


def test_who_is_kept_to_categories_sees_no_more(keyed_site: Service) -> None:
    ana = keyed_site.memory.user("ana")
    ana.observe([{"role": "user", "content": "I love bread.", "id": "m1"}], thread="kitchen-talk")
    ana.form("kitchen-talk")
    (formed,) = ana.list()
    plants = ana.add("Waters plants every evening", theme="home").id
    ana.add("Waters plants every evening and morning", theme=formed.theme)
    key = keyed_site.memory.create_key(
        "helper", user="ana", agent="kitchen", categories=[formed.theme]
    )
    agent = Visit(keyed_site).sign_in(key.secret)
    html = agent.get(at(formed.id)).text
    assert "bread" in html
    assert "/ui/conversations/thread" not in html
    assert agent.get(at(plants)).status_code == 404
    for related in ana.list(theme=formed.theme):
        assert f'href="{at(plants)}"' not in agent.get(at(related.id)).text


# -- in the browser ------------------------------------------------------------------------


@pytest.mark.requirement("page.undo")
@pytest.mark.parametrize("javascript", [True, False])
def test_a_click_undoes_a_replacement(
    site: Service, ana: UserMemory, browse: Browsing, javascript: bool
) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    page = browse(f"{site.url}{at(new)}", user="ana", javascript=javascript)
    page.get_by_label("Why (if you like)").fill("was <wrong>")
    page.get_by_role("button", name="Undo the replacement").click()
    expect(page.get_by_role("status")).to_have_text("Undone. This is the memory that came back.")
    expect(page).to_have_url(f"{site.url}{at(old)}")
    expect(page.locator(".event").first).to_contain_text("Undone")
    expect(page.locator(".event").first).to_contain_text("was <wrong>")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("status")).to_have_count(0)
    assert (ana.get(old).status, ana.get(new).status) == ("active", "archived")


@pytest.mark.requirement("page.undo")
@pytest.mark.parametrize("javascript", [True, False])
def test_a_click_restores_what_was_forgotten(
    site: Service, ana: UserMemory, browse: Browsing, javascript: bool
) -> None:
    item = ana.add("Likes tea").id
    ana.forget(item)
    page = browse(f"{site.url}/ui/memories?status=deleted", user="ana", javascript=javascript)
    page.get_by_role("link", name="Likes tea").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("status")).to_have_text("Restored.")
    assert ana.get(item).status == "active"


@pytest.mark.requirement("page.undo")
def test_two_people_at_the_same_memory(site: Service, ana: UserMemory, browse: Browsing) -> None:
    """Who comes second is told, and nothing happens twice."""
    item = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    ana.add("Eats everything", key="diet")
    first = browse(f"{site.url}{at(item)}", user="ana")
    second = browse(f"{site.url}{at(item)}", user="ana", javascript=False)
    first.get_by_role("button", name="Undo").click()
    expect(first.get_by_role("status")).to_have_text("Undone.")
    browse.watch(second).expect("412")
    second.get_by_role("button", name="Undo").click()
    expect(second.get_by_role("alert")).to_contain_text("It has changed meanwhile")
    expect(second.locator(".content")).to_have_text("Eats no fish")
    second.get_by_role("link", name="Look again").click()
    second.get_by_role("button", name="Undo").click()
    expect(second.locator(".content")).to_have_text("Eats no meat")
