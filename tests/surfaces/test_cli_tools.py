"""The commands about tools."""

import json

import pytest

from ricordo.tools import TOOL_SETS, chosen, formats
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("tools.surfaces")


def test_tools_are_listed_for_people_and_as_schemas() -> None:
    shown = ricordo("tools")
    for tool in chosen(*TOOL_SETS):
        assert tool.name in shown.out
    for form, made in (
        ("openai", formats.openai_chat),
        ("openai_responses", formats.openai_responses),
        ("anthropic", formats.anthropic),
    ):
        ran = ricordo("tools", "list", "--set", "query", "--set", "single", "--form", form)
        assert json.loads(ran.out) == made(chosen("query", "single"))
    assert ricordo("tools", "list", "--json").json == formats.anthropic(chosen(*TOOL_SETS))


def test_a_tool_is_called_with_json_from_the_line_or_from_standard_input(backend_url: str) -> None:
    where = ("--db", backend_url, "-u", "ana")
    added = ricordo("tools", "call", "memory_add", '{"content": "Has a cat"}', *where, "--json")
    assert added.json == {"id": 1, "status": "active"}
    found = ricordo("tools", "call", "memory_search", "-", *where, stdin='{"query": "*"}')
    assert json.loads(found.out)["results"][0]["content"] == "Has a cat"
    stamped = ricordo(
        "tools", "call", "memory_add", '{"content": "Runs"}', *where, "--agent", "coach"
    )
    assert stamped.code == 0
    themes = ricordo("tools", "call", "memory_list_themes", *where, "--json")
    with open_memory(backend_url, run_jobs=False) as memory:
        assert memory.user("ana").get(2).agent_id == "coach"
    assert themes.json == {"themes": [{"theme": "general", "memories": 2}]}


def test_what_goes_wrong_is_told_as_by_every_command(backend_url: str) -> None:
    where = ("--db", backend_url, "-u", "ana")
    missing = ricordo("tools", "call", "memory_get", '{"id": 9}', *where, "--json")
    assert missing.code == 3
    assert json.loads(missing.err)["message"] == "no memory 9"
    assert ricordo("tools", "call", "memory_get", "{oops", *where).code == 2
    assert ricordo("tools", "call", "memory_eat", *where).code == 2
    assert "allowed: standard" in ricordo("tools", "list", "--set", "all").err
    offered = ricordo("tools", "call", "memory_store", "{}", "--set", "query", *where)
    assert "unknown tool 'memory_store'; allowed: memory_query" in offered.err


def test_the_guide_is_the_one_of_the_library(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Has a cat", theme="pets")
    shown = ricordo("tools", "guide", "--db", backend_url, "-u", "ana")
    assert "- pets (1)" in shown.out
    assert ricordo("tools", "guide", "--set", "query", "--json").json["guide"].startswith("##")
