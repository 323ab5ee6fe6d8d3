"""Conversations: which there are, what was said in them, and what was formed from each turn."""

import html as html_text
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from ricordo import limits
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("page.conversations")

ROWS = limits.PAGE_ROWS
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "I love jazz music.", "id": "m1", "actor": "ana"},
    {"role": "assistant", "content": "Noted, <friend>.", "id": "m2"},
    {"role": "user", "content": "I hate olives. I work as a nurse.", "id": "m3"},
    {"role": "tool", "content": '{"found": 3}', "id": "m4"},
]


def at(thread: str, **more: Any) -> str:
    return f"/ui/conversations/thread?{urlencode({'id': thread, **more})}"


def positions(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="turn-(\d+)"', page)]


def turns(page: str) -> dict[int, str]:
    """The HTML of each turn, by its position."""
    told = page.split('<section class="panel"', maxsplit=1)[0]
    parts = re.split(r'<li class="turn \w+" id="turn-(\d+)">', told)
    return {int(number): part for number, part in zip(parts[1::2], parts[2::2], strict=True)}


def following(page: str) -> str | None:
    found = re.search(r'class="button" href="([^"]+)" hx-get', page)
    return html_text.unescape(found.group(1)) if found else None


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
    assert "replaced" not in said
    old = ana.get(by_turn[1][0])
    ana.add("Loves silence", supersedes=old.id)
    assert ">replaced<" in turns(visit.get(at("monday")).text)[1]


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
    assert "Show earlier turns" not in visit.get(at("long")).text
    part = visit.partial(at("long", **{"from": 100})).text
    assert positions(part) == [100, 101, 102, 103]
    assert "<html" not in part
    assert "There are no later turns" in visit.text(at("long", **{"from": 999}))


def test_how_far_it_is_formed(
    site: Service, ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    ana.observe(SAID, thread="monday")
    assert "Nothing is learned from it yet" in visit.text(at("monday"))
    ana.form("monday")
    formed = visit.text(at("monday"))
    assert "formed up to" not in formed
    assert "no memories formed yet" not in formed
    clock.advance(minutes=1)
    ana.observe([{"role": "user", "content": "And so on"}], thread="monday")
    assert "Memories are learned up to turn 4" in visit.text(at("monday"))
    assert "nothing learned yet from here on" in visit.text(at("monday"))
    with site.memory.database.write("ana") as writing:  # as an import does
        append_turns(writing, "old", None, [NewTurn(role="user", content="Long ago")])
    assert "This conversation was imported" in visit.text(at("old"))


def test_white_space_long_turns_and_tool_calls(ana: UserMemory, visit: Visit) -> None:
    long = "Once upon a time. " * 100 + "THE END"
    call = {"function": {"name": "weather", "arguments": '{"city": "<Turin>"}'}}
    ana.observe(
        [
            {"role": "user", "content": "one\n   two"},
            {"role": "user", "content": long},
            {"role": "assistant", "content": "", "tool_calls": [call, call]},
        ],
        thread="a/b?c&d=e#f",
    )
    parts = turns(visit.get(at("a/b?c&d=e#f")).text)
    assert '<div class="kept" dir="auto">one\n   two</div>' in parts[1]
    assert "<details" not in parts[1]
    assert '<details class="folded"' in parts[2]
    assert "THE END" not in parts[2].split("</summary>")[0]
    assert parts[2].count("THE END") == 1
    assert "<summary>2 tool calls</summary>" in parts[3]
    assert "&lt;Turin&gt;" in parts[3]


def test_what_was_decided_is_listed_with_its_reason(ana: UserMemory, visit: Visit) -> None:
    ana.observe([{"role": "user", "content": "Remember: how far is the moon?"}], thread="monday")
    ana.observe([{"role": "user", "content": "I hate olives."}], thread="other")
    assert "What was decided" not in visit.text(at("monday"))
    ana.form()
    said = visit.text(at("monday"))
    assert "not_kept: a question or a task" in said
    assert "new" not in said.split("What was decided")[1]


def test_what_was_proposed_before_links_to_the_proposals(ana: UserMemory, visit: Visit) -> None:
    for thread in ("one", "two"):
        ana.observe([{"role": "user", "content": "I'm allergic to eggs."}], thread=thread)
        ana.form(thread)
    assert '<a href="/ui/proposals">proposal' in visit.get(at("two")).text
