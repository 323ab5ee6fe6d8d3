"""What can be read without a tool; never anything of another user's."""

import asyncio
import json
from typing import Any

import pytest
from mcp.types import INVALID_PARAMS

from ricordo import Memory, UserMemory
from ricordo.files.mirror_source import stored_memories
from ricordo.files.mirror_text import body
from ricordo.limits import DEFAULT_PAGE_ITEMS, MAX_MCP_TEXT_BYTES
from ricordo.mcp.library import IS_VERSION_1
from ricordo.mcp.server import ACCESS_DENIED
from ricordo.model.record import plain
from tests.mcp.legs import MCPError, each_mode, in_process, refused, text_at

pytestmark = pytest.mark.requirement("mcp.resources")


def read(user: UserMemory, *uris: str, mode: str = "auto") -> list[str]:
    async def talk() -> list[str]:
        async with in_process(user, mode=mode) as client:
            return [await text_at(client, uri) for uri in uris]

    return asyncio.run(talk())


def templates(user: UserMemory) -> list[str]:
    async def talk() -> list[str]:
        async with in_process(user) as client:
            found = await client.list_resource_templates()
            return [one.uri_template for one in found.resource_templates]

    return asyncio.run(talk())


@each_mode
def test_the_resources_say_what_the_library_says(memory: Memory, mode: str) -> None:
    ana = memory.user("ana")
    first = ana.add("Drinks green tea.", theme="Food")
    ana.add("Two\nlines, and a ⏎ sign.")
    assert templates(ana) == ["ricordo://memories/{id}", "ricordo://changes{?since}"]
    themes, memory_file, changes, later, one = read(
        ana,
        "ricordo://themes",
        "ricordo://memory.md",
        "ricordo://changes",
        "ricordo://changes?since=1",
        f"ricordo://memories/{first.id}",
        mode=mode,
    )
    assert json.loads(themes) == {"themes": plain(ana.themes())}
    assert memory_file == "# Memory\n" + body(
        stored_memories(memory.database, "ana").shown.values(), []
    )
    told = json.loads(changes)
    assert told.pop("next") == "ricordo://changes?since=2"
    assert told == ana.changes().to_dict()
    assert [change["revision"] for change in json.loads(later)["changes"]] == [2]
    assert json.loads(one) == ana.get(first.id).to_dict()


def followed(user: UserMemory) -> list[int]:
    """The revisions that somebody sees who asks for changes until there are no more."""

    async def follow() -> list[int]:
        seen: list[int] = []
        uri, more = "ricordo://changes", True
        async with in_process(user) as client:
            while more:
                text = await text_at(client, uri)
                assert len(text.encode()) < 2 * MAX_MCP_TEXT_BYTES
                told = json.loads(text)
                seen += [change["revision"] for change in told["changes"]]
                uri, more = told["next"], told["more"]
        return seen

    return asyncio.run(follow())


@pytest.mark.slow
def test_who_follows_changes_misses_none_and_gets_none_twice(memory: Memory) -> None:
    """However many they are, and however large."""
    ana, ben = memory.user("ana"), memory.user("ben")
    ana.add_many([{"content": f"Thing {number}"} for number in range(250)])
    assert followed(ana) == list(range(1, 251))
    for number in range(60):
        ben.add(f"{number} {'é' * 7_900}", key="long")
    assert followed(ben) == list(range(1, ben.revision() + 1))


def test_a_huge_memory_is_shown_as_far_as_it_fits(memory: Memory) -> None:
    ana = memory.user("ana")
    count = 2 * MAX_MCP_TEXT_BYTES // 8_000
    ana.add_many([{"content": f"{number:04} {'é' * 3_900}"} for number in range(count)])
    ana.add("The newest.")
    for number in (1, 2):
        ana.archive(number)
    (text,) = read(ana, "ricordo://memory.md")
    assert MAX_MCP_TEXT_BYTES // 2 < len(text.encode()) <= MAX_MCP_TEXT_BYTES
    shown = text.count("- [")
    assert f"Not shown here: {count - 2 + 1 - shown} more, the oldest." in text
    assert "The newest." in text


@each_mode
def test_the_list_comes_in_pages(memory: Memory, mode: str) -> None:
    ana = memory.user("ana")
    added = ana.add_many([f"Thing {number}" for number in range(119)])
    added = (*added, ana.add("Walks to the harbour, " * 20))

    async def listed() -> list[list[Any]]:
        pages, cursor = [], None
        async with in_process(ana, mode=mode) as client:
            while True:
                page = await client.list_resources(cursor=cursor)
                pages.append(page.resources)
                if (cursor := page.next_cursor) is None:
                    return pages

    pages = asyncio.run(listed())
    fixed = ["ricordo://themes", "ricordo://memory.md", "ricordo://changes"]
    assert [one.uri for one in pages[0][:3]] == fixed
    assert [len(page) for page in pages] == [3 + DEFAULT_PAGE_ITEMS, DEFAULT_PAGE_ITEMS, 20]
    uris = [one.uri for page in pages for one in page][3:]
    assert uris == [f"ricordo://memories/{one.id}" for one in reversed(added)]
    assert pages[2][-1].title == "Thing 0"
    assert pages[0][3].title.startswith("Walks to the harbour, Walks")
    assert (len(pages[0][3].title), pages[0][3].title[-1]) == (80, "…")


@pytest.mark.requirement("mcp.isolation")
@each_mode
def test_what_is_anothers_answers_like_what_does_not_exist(memory: Memory, mode: str) -> None:
    theirs = memory.user("ben").add("Ben's secret.").id

    async def talk() -> None:
        async with in_process(memory.user("ana"), mode=mode) as client:
            real = await refused(client, f"ricordo://memories/{theirs}")
            nobodys = await refused(client, "ricordo://memories/987654321")
            for error, number in ((real, theirs), (nobodys, 987_654_321)):
                assert (error.code, error.message) == (INVALID_PARAMS, f"no memory {number}")
                assert error.data["type"] == "MemoryNotFound"
            assert len((await client.list_resources()).resources) == 3
            assert "Ben" not in await text_at(client, "ricordo://memory.md")
            assert json.loads(await text_at(client, "ricordo://changes"))["changes"] == []

    asyncio.run(talk())


def test_addresses_and_cursors_that_are_none(memory: Memory) -> None:
    async def talk() -> None:
        async with in_process(memory.user("ana")) as client:
            for uri, kind in (
                ("ricordo://memories/0", "InvalidValue"),
                (f"ricordo://memories/{10**18 * 9 + 10**18 // 2}", "InvalidValue"),
                ("ricordo://memories/seven", "NotFound"),
                ("ricordo://memories/", "NotFound"),
                ("ricordo://memories/1/../2", "MemoryNotFound" if IS_VERSION_1 else "NotFound"),
                ("ricordo://changes?since=-1", "NotFound"),
                ("ricordo://changes?since=1&limit=2", "NotFound"),
                ("ricordo://elsewhere", "NotFound"),
                ("file:///etc/passwd", "NotFound"),
                *(() if IS_VERSION_1 else (("themes", "NotFound"),)),  # not a URL: not sent
                ("ricordo://" + "x" * 10_000, "NotFound"),
            ):
                error = await refused(client, uri)
                assert (error.code, error.data["type"]) == (INVALID_PARAMS, kind)
                assert len(error.message) < 500
            for ask in (
                client.list_resources,
                client.list_tools,
                client.list_prompts,
                client.list_resource_templates,
            ):
                with pytest.raises(MCPError, match=r"cursor") as caught:
                    await ask(cursor="made up")
                assert caught.value.data["type"] == "InvalidCursor"

    asyncio.run(talk())


@pytest.mark.requirement("mcp.isolation")
def test_an_agent_that_is_kept_to_categories_gets_nothing_beside_them(memory: Memory) -> None:
    ana = memory.user("ana")
    seen = ana.add("Drinks tea.", theme="food")
    unseen = ana.add("Earns much.", theme="money")
    confined = ana.narrow(agent="cook", categories=["food"])

    async def talk() -> None:
        async with in_process(confined) as client:
            for uri in ("ricordo://memory.md", "ricordo://changes", "ricordo://changes?since=1"):
                error = await refused(client, uri)
                assert (error.code, error.data["type"]) == (ACCESS_DENIED, "PermissionMissing")
            listed = [one.uri for one in (await client.list_resources()).resources]
            assert listed == ["ricordo://themes", f"ricordo://memories/{seen.id}"]
            assert "money" not in await text_at(client, "ricordo://themes")
            error = await refused(client, f"ricordo://memories/{unseen.id}")
            assert error.message == f"no memory {unseen.id}"

    asyncio.run(talk())
    assert templates(confined) == ["ricordo://memories/{id}"]


def test_a_store_that_fails_is_told_without_where_it_is(memory: Memory) -> None:
    ana = memory.user("ana")

    async def talk() -> None:
        async with in_process(ana) as client:
            memory.close()
            error = await refused(client, "ricordo://themes")
            assert error.data["type"] == "StorageClosed"
            assert memory.database.backend.location not in str(error)
            result = await client.call_tool("memory_search", {"query": "tea"})
            assert result.is_error
            assert memory.database.backend.location not in str(result)

    asyncio.run(talk())
