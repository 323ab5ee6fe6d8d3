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
from ricordo.tools.formats import FORMS

EVERY_TOOL = chosen(*TOOL_SETS)
NAMES = {
    "standard": (
        "memory_search",
        "memory_add",
        "memory_get",
        "memory_archive",
        "memory_list_themes",
    ),
    "single": ("memory",),
    "query": ("memory_query",),
    "profile": ("memory_store", "memory_search", "memory_forget", "update_user_profile"),
}
READING = {"memory_search", "memory_get", "memory_list_themes", "memory_query"}
TAKING_AWAY = {"memory_archive", "memory", "memory_forget", "memory_store", "update_user_profile"}
REPEATABLE = {*READING, "memory_add", "memory_store"}
SAID_OF = {
    "standard": "memory_add keeps",
    "single": 'action "save" keeps',
    "query": "memory_query asks",
    "profile": "update_user_profile for",
}
MAX_SET_TOKENS = 1_500  # by an estimate that never counts too few

named = pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)


@pytest.mark.requirement("tools.sets")
def test_the_sets_are_those_of_the_specification() -> None:
    assert {name: tuple(tool.name for tool in tools) for name, tools in TOOL_SETS.items()} == NAMES


@pytest.mark.requirement("tools.sets")
def test_the_words_for_sets_and_forms_are_those_that_there_are() -> None:
    assert set(ToolSet) == set(TOOL_SETS)
    assert set(SchemaForm) == set(FORMS)


@pytest.mark.requirement("tools.sets")
def test_several_sets_are_put_together_with_each_tool_once() -> None:
    names = [tool.name for tool in chosen("profile", "standard", "profile")]
    assert names == [*NAMES["profile"], *(n for n in NAMES["standard"] if n != "memory_search")]
    assert chosen() == TOOL_SETS["standard"]


@pytest.mark.requirement("tools.sets")
def test_a_set_that_does_not_exist_is_refused_with_those_that_do() -> None:
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
    json.dumps(schema)


@named
@pytest.mark.requirement("tools.schemas")
def test_what_a_tool_does_to_memory_is_said(tool: Tool) -> None:
    assert tool.reads_only == (tool.name in READING)
    assert tool.destructive == (tool.name in TAKING_AWAY)
    assert tool.idempotent == (tool.name in REPEATABLE)
    assert tool.description.endswith(".")
    assert len(tool.description) <= 500
    assert tool.title


@pytest.mark.requirement("tools.schemas")
@pytest.mark.parametrize("sets", [*([name] for name in TOOL_SETS), list(TOOL_SETS)])
def test_each_provider_gets_its_own_form(memory: Memory, sets: list[str]) -> None:
    tools = Tools(memory.user("ana"), *sets)
    chat, responses, messages = tools.openai(), tools.openai_responses(), tools.anthropic()
    for tool, for_chat, for_responses, for_messages in zip(
        tools.tools, chat, responses, messages, strict=True
    ):
        told: dict[str, Any] = {"name": tool.name, "description": tool.description}
        schema = tool.input_schema()
        assert for_chat == {"type": "function", "function": {**told, "parameters": schema}}
        assert for_responses == {
            "type": "function",
            **told,
            "parameters": schema,
            "strict": False,
        }
        assert for_messages == {**told, "input_schema": schema}


@pytest.mark.requirement("tools.lean")
@pytest.mark.parametrize("name", TOOL_SETS)
def test_a_set_takes_few_tokens_of_a_request(memory: Memory, name: str) -> None:
    told = json.dumps(Tools(memory.user("ana"), name).openai(), ensure_ascii=False)
    assert estimate_tokens(told) <= MAX_SET_TOKENS


@named
@pytest.mark.requirement("tools.sets")
def test_every_tool_is_a_function_of_python_too(memory: Memory, tool: Tool) -> None:
    function = Tools(memory.user("ana"), *TOOL_SETS).functions()[tool.name]
    signature = inspect.signature(function)
    assert function.__name__ == tool.name
    assert function.__doc__ == tool.description
    assert list(signature.parameters) == [one.name for one in tool.parameters]
    required = {
        name for name, one in signature.parameters.items() if one.default is inspect.Parameter.empty
    }
    assert required == set(tool.input_schema().get("required", ()))


@pytest.mark.requirement("tools.guide")
@pytest.mark.parametrize("sets", [*([name] for name in TOOL_SETS), list(TOOL_SETS)])
def test_the_guide_names_the_tools_and_themes_but_no_content(
    memory: Memory, sets: list[str]
) -> None:
    ana = memory.user("ana")
    for number in range(40):
        ana.add(f"Secret {number}", theme=f"a rather long name of a theme {number}")
    tools = Tools(ana, *sets)
    guide = tools.guide()
    assert len(guide.encode()) <= 2_048
    assert "Secret" not in guide
    assert "a-rather-long-name-of-a-theme" in guide
    offered = {tool.name for tool in EVERY_TOOL}
    mentioned = set(re.findall(r"\b(?:memory(?:_[a-z_]+)?|update_user_profile)\b", guide)) & offered
    assert mentioned - {"memory"} <= set(tools.names)
    for name in sets:
        assert SAID_OF[name] in guide
    assert "Do not invent memories" in guide or sets == ["query"]


@pytest.mark.requirement("tools.guide")
def test_a_guide_without_a_store_says_that_memory_is_unavailable(memory: Memory) -> None:
    tools = Tools(memory.user("ana"))
    memory.close()
    assert "unavailable" in tools.guide()
