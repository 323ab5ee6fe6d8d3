"""Which tools there are, and how models are told of them."""

import inspect
import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ricordo import InvalidValue, Memory
from ricordo.model.vocabulary import SchemaForm, ToolSet
from ricordo.text.tokens import estimate_tokens
from ricordo.tools import TOOL_SETS, Tool, Tools, chosen
from ricordo.tools.tool import FORMS

EVERY_TOOL = chosen(*TOOL_SETS)
NAMES = {
    "standard": (
        "memory_search",
        "memory_add",
        "memory_get",
        "memory_archive",
        "memory_rate",
        "memory_list_themes",
    ),
    "single": ("memory",),
    "query": ("memory_query",),
    "profile": ("memory_store", "memory_search", "memory_forget", "update_user_profile"),
}
READING = {"memory_search", "memory_get", "memory_list_themes", "memory_query"}
TAKING_AWAY = {"memory_archive", "memory", "memory_forget", "memory_store", "update_user_profile"}
REPEATABLE = {*READING, "memory_add", "memory_rate", "memory_store"}
SAID_OF = {
    "standard": "memory_add keeps",
    "single": 'action "save" keeps',
    "query": "memory_query asks",
    "profile": "update_user_profile for",
}
MAX_SET_TOKENS = 1_750  # by an estimate that never counts too few

named = pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)


@pytest.mark.requirement("tools.sets")
def test_the_sets_are_those_of_the_specification() -> None:
    assert {name: tuple(tool.name for tool in tools) for name, tools in TOOL_SETS.items()} == NAMES
    assert set(ToolSet) == set(TOOL_SETS)
    assert set(SchemaForm) == set(FORMS)


@pytest.mark.requirement("tools.sets")
def test_several_sets_are_put_together_with_each_tool_once() -> None:
    names = [tool.name for tool in chosen("profile", "standard", "profile")]
    assert names == [*NAMES["profile"], *(n for n in NAMES["standard"] if n != "memory_search")]
    assert chosen() == TOOL_SETS["standard"]
    with pytest.raises(InvalidValue, match="'all'; allowed: standard, single, query, profile"):
        chosen("standard", "all")
    with pytest.raises(InvalidValue, match="allowed: standard"):
        chosen(["standard"])  # type: ignore[arg-type]
    with pytest.raises(InvalidValue) as refused:
        chosen("x" * 100_000)
    assert len(str(refused.value)) < 200


@named
@pytest.mark.requirement("tools.schemas")
def test_every_schema_is_valid_and_says_what_each_argument_is(tool: Tool) -> None:
    schema = tool.input_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    for name, argument in schema["properties"].items():
        assert re.fullmatch(r"[a-z_]+", name)
        assert argument["description"].endswith(".")
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)  # what the providers allow
    assert tool.reads_only == (tool.name in READING)
    assert tool.destructive == (tool.name in TAKING_AWAY)
    assert tool.idempotent == (tool.name in REPEATABLE)
    assert tool.description.endswith(".")
    assert len(tool.description) <= 500
    told: dict[str, Any] = {"name": tool.name, "description": tool.description}
    called = {**told, "parameters": schema}
    assert json.loads(json.dumps(schema)) == schema
    assert FORMS["openai"]([tool]) == [{"type": "function", "function": called}]
    assert FORMS["openai_responses"]([tool]) == [{"type": "function", **called, "strict": False}]
    assert FORMS["anthropic"]([tool]) == [{**told, "input_schema": schema}]


@pytest.mark.requirement("tools.lean")
@pytest.mark.requirement("tools.schemas")
def test_a_set_takes_few_tokens_of_a_request(memory: Memory) -> None:
    for name in TOOL_SETS:
        tools = Tools(memory.user("ana"), name)
        assert tools.openai() == FORMS["openai"](tools.tools)
        assert tools.openai_responses() == FORMS["openai_responses"](tools.tools)
        assert tools.anthropic() == FORMS["anthropic"](tools.tools)
        assert estimate_tokens(json.dumps(tools.openai(), ensure_ascii=False)) <= MAX_SET_TOKENS


@pytest.mark.requirement("tools.sets")
def test_every_tool_is_a_function_of_python_too(memory: Memory) -> None:
    tools = Tools(memory.user("ana"), *TOOL_SETS)
    for tool in tools.tools:
        function = tools.functions()[tool.name]
        parameters = inspect.signature(function).parameters
        assert (function.__name__, function.__doc__) == (tool.name, tool.description)
        assert list(parameters) == [one.name for one in tool.parameters]
        empty = inspect.Parameter.empty
        required = {name for name, one in parameters.items() if one.default is empty}
        assert required == set(tool.input_schema().get("required", ()))


@pytest.mark.requirement("tools.guide")
def test_the_guide_names_the_tools_and_themes_but_no_content(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add_many(
        {"content": f"Secret {number}", "theme": f"a rather long name of a theme {number}"}
        for number in range(40)
    )
    offered = {tool.name for tool in EVERY_TOOL}
    for sets in (*([name] for name in TOOL_SETS), list(TOOL_SETS)):
        tools = Tools(ana, *sets)
        guide = tools.guide()
        assert len(guide.encode()) <= 2_048
        assert "Secret" not in guide
        assert "a-rather-long-name-of-a-theme" in guide
        words = re.findall(r"\b(?:memory(?:_[a-z_]+)?|update_user_profile)\b", guide)
        assert (set(words) & offered) - {"memory"} <= set(tools.names)
        for name in sets:
            assert SAID_OF[name] in guide
        assert "Do not invent memories" in guide or sets == ["query"]
    memory.close()
    assert "unavailable" in Tools(ana).guide()
