"""Conversations: which there are, what was said in them, and what was formed from each turn."""

import html as html_text
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from ricordo import limits
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.testing.clock import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.conversations")

ROWS = limits.PAGE_ROWS
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "I love jazz music.", "id": "m1", "actor": "ana"},
    {"role": "assistant", "content": "Noted, <friend>.", "id": "m2"},
    {"role": "user", "content": "I hate olives. I work as a nurse.", "id": "m3"},
    {"role": "tool", "content": '{"found": 3}', "id": "m4"},
]


@pytest.fixture
def ana(site: Service) -> UserMemory:
    return site.memory.user("ana")


@pytest.fixture
def visit(site: Service) -> Visit:
    return Visit(site).choose("ana")


def at(thread: str, **more: Any) -> str:
    return f"/ui/conversations/thread?{urlencode({'id': thread, **more})}"


def positions(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="turn-(\d+)"', page)]


def turns(page: str) -> dict[int, str]:
    """The HTML of each turn, by its position."""
    parts = re.split(r'<li class="turn \w+" id="turn-(\d+)">', page)
    return {int(number): part for number, part in zip(parts[1::2], parts[2::2], strict=True)}


def following(page: str) -> str | None:
    found = re.search(r'class="button" href="([^"]+)" hx-get', page)
    return html_text.unescape(found.group(1)) if found else None


# -- the list ------------------------------------------------------------------------------


def test_a_newcomer_is_told_how_to_begin(visit: Visit) -> None:
    said = visit.text("/ui/conversations")
    assert "No conversation is recorded yet" in said
    assert "ricordo chat --user ana" in said
    assert "/v1" in said
    assert "POST /v1/threads/…/turns" in said


def test_conversations_are_listed_the_latest_first(
    ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    ana.observe([{"role": "user", "content": "Hello"}], thread="first / one?", title="A <talk>")
    clock.advance(days=1)
    ana.observe([{"role": "user", "content": "Hello"}], thread="second")
    clock.advance(days=1)
    ana.observe([{"role": "assistant", "content": "Hi"}], thread="second")
    page, said = visit.get("/ui/conversations").text, visit.text("/ui/conversations")
    shown = re.findall(r'class="says" href="([^"]+)"[^>]*>([^<]+)<', page)
    assert shown == [(at("second"), "second"), (at("first / one?"), "A &lt;talk&gt;")]
    assert "second 2 turns 2 Jan 2026, 12:00 UTC – 3 Jan 2026, 12:00 UTC" in said
    assert "A <talk> first / one? 1 turn 1 Jan 2026, 12:00 UTC" in said


def test_pages_make_up_the_whole(ana: UserMemory, visit: Visit) -> None:
    names = [f"talk {number}" for number in range(ROWS + 3)]
    for name in names:
        ana.observe([{"role": "user", "content": "Hello"}], thread=name)
    first = visit.get("/ui/conversations").text
    address = following(first)
    assert address is not None
    rest = visit.get(address).text
    part = visit.partial(address).text
    assert "<html" not in part
    shown = [re.findall(r'class="says"[^>]*>([^<]+)<', page) for page in (first, rest, part)]
    assert (len(shown[0]), len(shown[1])) == (ROWS, 3)
    assert shown[1] == shown[2]
    assert sorted(shown[0] + shown[1]) == sorted(names)
    assert following(rest) is None


# -- one conversation ----------------------------------------------------------------------


def test_turns_are_told_with_what_came_of_each(ana: UserMemory, visit: Visit) -> None:
    ana.observe(SAID, thread="monday", title="A <talk>")
    ana.form("monday")
    page, said = visit.get(at("monday")).text, visit.text(at("monday"))
    assert positions(page) == [1, 2, 3, 4]
    assert '<h1 dir="auto">A &lt;talk&gt;</h1>' in page
    assert "4 turns" in said
    parts = turns(page)
    assert "I love jazz music." in parts[1]
    assert "<bdi>ana</bdi>" in parts[1]
    assert "Noted, &lt;friend&gt;." in parts[2]
    assert re.findall(r'<li class="turn (\w+)"', page) == ["mine", "theirs", "mine", "other"]
    by_turn = {
        formed.turn.position: [item.id for item in formed.memories]
        for formed in ana.formed_turns("monday")
    }
    assert by_turn[1]
    assert len(by_turn[3]) == 2
    for position, ids in by_turn.items():
        assert [
            int(one) for one in re.findall(r'href="/ui/memories/(\d+)"', parts[position])
        ] == ids
    assert "preference" in parts[1]
    assert "superseded" not in said
    old = ana.get(by_turn[1][0])
    ana.add("Loves silence", supersedes=old.id)
    assert ">superseded<" in turns(visit.get(at("monday")).text)[1]


def test_odd_names(ana: UserMemory, visit: Visit) -> None:
    for name in ("a/b?c&d=e#f", "così è", "x" * 200, "<b>", "..", "%00"):
        ana.observe([{"role": "user", "content": f"Hello {len(name)}"}], thread=name)
        assert f"Hello {len(name)}" in visit.text(at(name))


def test_white_space_is_kept_and_long_turns_are_folded(ana: UserMemory, visit: Visit) -> None:
    long = "Once upon a time. " * 100 + "THE END"
    ana.observe(
        [{"role": "user", "content": "one\n   two"}, {"role": "user", "content": long}], thread="t"
    )
    parts = turns(visit.get(at("t")).text)
    assert '<div class="kept" dir="auto">one\n   two</div>' in parts[1]
    assert "<details" not in parts[1]
    assert '<details class="folded"' in parts[2]
    assert f"All {len(long):,} characters".replace(",", "\N{NARROW NO-BREAK SPACE}") in parts[2]
    assert parts[2].count("THE END") == 1
    assert "THE END" not in parts[2].split("</summary>")[0]


def test_tool_calls_are_shown_as_json(ana: UserMemory, visit: Visit) -> None:
    call = {"function": {"name": "weather", "arguments": '{"city": "<Turin>"}'}}
    ana.observe([{"role": "assistant", "content": "", "tool_calls": [call, call]}], thread="t")
    part = turns(visit.get(at("t")).text)[1]
    assert "<summary>2 tool calls</summary>" in part
    code = re.search(r"<pre><code>(.*?)</code></pre>", part, re.DOTALL)
    assert code is not None
    assert "&lt;Turin&gt;" in code.group(1)
    assert '\n    "function": {' in html_text.unescape(code.group(1))


def test_long_conversations_come_in_pages(ana: UserMemory, visit: Visit) -> None:
    total = ROWS * 2 + 3
    ana.observe(
        [{"role": "user", "content": f"Part {number}"} for number in range(1, total + 1)],
        thread="long",
    )
    seen, address = [], at("long")
    while address:
        page = visit.get(address).text
        seen += positions(page)
        address = following(page) or ""
    assert seen == list(range(1, total + 1))
    middle = visit.get(at("long", **{"from": 60})).text
    assert positions(middle) == list(range(60, 104))
    assert f'href="{html_text.escape(at("long", **{"from": 10}))}"' in middle
    near = visit.get(at("long", **{"from": 20})).text
    assert f'href="{html_text.escape(at("long", **{"from": 1}))}"' in near
    assert "Show what came before" not in visit.get(at("long")).text
    part = visit.partial(at("long", **{"from": 100})).text
    assert positions(part) == [100, 101, 102, 103]
    assert "<html" not in part
    assert "Nothing was said from here on" in visit.text(at("long", **{"from": 999}))


def test_how_far_it_is_formed(
    site: Service, ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    ana.observe(SAID, thread="monday")
    assert "No memories are formed from it yet" in visit.text(at("monday"))
    ana.form("monday")
    formed = visit.text(at("monday"))
    assert "formed up to" not in formed
    assert "no memories formed yet" not in formed
    clock.advance(minutes=1)
    ana.observe([{"role": "user", "content": "And so on"}], thread="monday")
    assert "Memories are formed up to turn 4" in visit.text(at("monday"))
    assert "no memories formed yet from here on" in visit.text(at("monday"))
    with site.memory.database.write("ana") as writing:  # as an import does
        append_turns(writing, "old", None, [NewTurn(role="user", content="Long ago")])
    assert "This conversation was imported" in visit.text(at("old"))


def test_what_waits_for_a_choice_is_counted(ana: UserMemory, visit: Visit) -> None:
    for thread, content in (("t", "I have diabetes. I have asthma."), ("u", "I have migraines.")):
        ana.observe([{"role": "user", "content": content}], thread=thread)
        ana.form(thread)
    here = sum(proposal.thread_id == "t" for proposal in ana.proposals())
    assert 0 < here < len(ana.proposals())
    assert f"{here} thing" in visit.text(at("t"))
    assert 'href="/ui/choices">choose' in visit.get(at("t")).text
    ana.observe([{"role": "user", "content": "Hello"}], thread="v")
    assert "for you" not in visit.text(at("v"))


# -- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("id=nowhere", 404),
        ("", 404),
        ("id=monday&from=0", 422),
        ("id=monday&from=-1", 422),
        ("id=monday&from=x", 404),
        ("id=monday&cursor=nonsense", 422),
        (f"id={'x' * 201}", 422),
        ("id=%00", 422),
    ],
)
def test_what_is_no_conversation(ana: UserMemory, visit: Visit, query: str, status: int) -> None:
    ana.observe(SAID, thread="monday")
    assert visit.get(f"/ui/conversations/thread?{query}").status_code == status


def test_a_bad_cursor_of_the_list(visit: Visit) -> None:
    answer = visit.get("/ui/conversations?cursor=nonsense")
    assert answer.status_code == 422
    assert "cursor" in main_text(answer)


@pytest.mark.requirement("page.isolation")
def test_others_conversations_are_as_unknown_as_those_that_never_were(
    site: Service, ana: UserMemory, visit: Visit
) -> None:
    site.memory.user("ben").observe(SAID, thread="theirs")
    assert "theirs" not in visit.text("/ui/conversations")
    for name in ("theirs", "nobodys"):
        answer = visit.get(at(name))
        assert answer.status_code == 404
        assert f"no thread '{name}'" in main_text(answer)


def test_who_is_kept_to_categories_is_told_so(keyed_site: Service) -> None:
    keyed_site.memory.user("ana").observe(SAID, thread="monday", title="Secret talk")
    key = keyed_site.memory.create_key("helper", user="ana", agent="kitchen", categories=["food"])
    agent = Visit(keyed_site).sign_in(key.secret)
    for path in ("/ui/conversations", at("monday"), at("nowhere")):
        refused = agent.get(path)
        assert refused.status_code == 403
        assert "is about a user's whole memory" in main_text(refused)
        assert "Secret" not in main_text(refused)


# -- in the browser ------------------------------------------------------------------------


@pytest.mark.parametrize("javascript", [True, False])
def test_from_a_conversation_to_a_memory_and_back(
    site: Service, ana: UserMemory, browse: Browsing, javascript: bool
) -> None:
    filler = [{"role": "assistant", "content": f"Part {number}"} for number in range(20)]
    ana.observe([*filler, SAID[0]], thread="on / Monday?", title="A long talk")
    ana.form("on / Monday?")
    page = browse(f"{site.url}/ui/conversations", user="ana", javascript=javascript)
    page.get_by_role("link", name="A long talk").click()
    expect(page.locator("h1")).to_have_text("A long talk")
    page.locator(".formed a").click()
    expect(page.locator("h1")).to_contain_text("Memory")
    page.get_by_role("link", name="A long talk, turn 21").click()
    expect(page.locator("#turn-21")).to_be_in_viewport()
    expect(page.locator("#turn-21")).to_contain_text("I love jazz music.")
    expect(page.locator("#turn-19")).to_be_visible()
    page.get_by_role("link", name="Show what came before").click()
    expect(page.locator("#turn-1")).to_be_visible()


def test_what_follows_comes_below(site: Service, ana: UserMemory, browse: Browsing) -> None:
    said = [{"role": "user", "content": f"Part {number}"} for number in range(ROWS + 4)]
    ana.observe(said, thread="long")
    page = browse(f"{site.url}{at('long')}", user="ana")
    page.get_by_role("link", name="Show what follows").click()
    expect(page.locator(".turn")).to_have_count(ROWS + 4)
    expect(page.locator(".turn").last).to_contain_text(f"Part {ROWS + 3}")


def test_long_turns_unfold_without_script(site: Service, ana: UserMemory, browse: Browsing) -> None:
    long = "Once upon a time. " * 100 + "THE END"
    ana.observe([{"role": "user", "content": long}], thread="t")
    page = browse(f"{site.url}{at('t')}", user="ana", javascript=False)
    expect(page.get_by_text("THE END")).to_be_hidden()
    page.get_by_text("All 1", exact=False).click()
    expect(page.get_by_text("THE END")).to_be_visible()
