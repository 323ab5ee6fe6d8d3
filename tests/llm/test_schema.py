"""Schemas that every endpoint with structured output takes."""

import json
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from ricordo.providers.chat import schema_name, strict_schema

pytestmark = pytest.mark.requirement("formation.structured-output")

KNOWN = {"type", "enum", "description", "properties", "required", "items", "anyOf"}
KNOWN.add("additionalProperties")


class Kind(StrEnum):
    FACT = "fact"
    PLAN = "plan"


class Note(BaseModel):
    """A note."""

    text: str = Field(min_length=1, max_length=280, pattern=r"^\S", description="What it says.")
    kind: Kind = Field(default=Kind.FACT, description="What it is.")
    mood: Literal["glad"] = "glad"
    weight: Annotated[int, Field(ge=1, le=5)] | None = None


class Notes(BaseModel):
    notes: list[Note] = Field(max_length=5)
    on: date | None = None
    first: Note | None = None


def nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [node for entry in schema for node in nodes(entry)]
    if not schema:
        return []
    inner = [
        *nodes(list(schema.get("properties", {}).values())),
        *nodes(schema.get("anyOf", [])),
        *nodes(schema.get("items", {})),
    ]
    return [schema, *inner]


@pytest.mark.parametrize("keep_bounds", [False, True])
def test_only_words_that_all_endpoints_know(keep_bounds: bool) -> None:
    bounds = {"minimum", "maximum", "minItems", "maxItems"} if keep_bounds else set()
    found = nodes(strict_schema(Notes, keep_bounds=keep_bounds))
    assert len(found) > 10
    for node in found:
        assert set(node) <= KNOWN | bounds
        if node.get("type") == "object":
            assert keep_bounds or node["required"] == list(node["properties"])
            assert node["additionalProperties"] is False
    assert "$ref" not in json.dumps(found)


def test_bounds_are_said_in_words() -> None:
    note = strict_schema(Notes)["properties"]["notes"]["items"]
    text = note["properties"]["text"]
    expected = r"What it says. (at least 1 characters, at most 280 characters, matching ^\S)"
    assert text == {"type": "string", "description": expected}
    assert strict_schema(Notes)["properties"]["notes"]["description"] == "(at most 5 entries)"


def test_bounds_of_lists_and_numbers_can_be_kept() -> None:
    schema = strict_schema(Notes, keep_bounds=True)["properties"]["notes"]
    assert schema["maxItems"] == 5
    weight = schema["items"]["properties"]["weight"]["anyOf"]
    assert {"type": "integer", "minimum": 1, "maximum": 5}.items() <= weight[0].items()
    assert weight[1] == {"type": "null"}


def test_where_a_grammar_is_made_of_it_a_field_with_a_default_may_be_left_out() -> None:
    assert strict_schema(Note, keep_bounds=True)["required"] == ["text"]
    assert strict_schema(Notes, keep_bounds=True)["required"] == ["notes"]


def test_types_of_their_own_are_written_out() -> None:
    fields = strict_schema(Note)["properties"]
    assert fields["kind"]["enum"] == ["fact", "plan"]
    assert fields["kind"]["description"] == "What it is."
    assert fields["mood"] == {"type": "string", "enum": ["glad"]}


class Open(BaseModel):
    values: dict[str, int]


class Anything(BaseModel):
    value: Any


class AnyList(BaseModel):
    values: list[Any]


class Tree(BaseModel):
    below: list["Tree"]


class Nothing(BaseModel):
    pass


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (Open, "Open.values: every field must have a name"),
        (Anything, "Anything.value: a value of any kind"),
        (AnyList, "AnyList.values: a list must say"),
        (Tree, "Tree contains itself"),
        (Nothing, "Nothing: every field must have a name"),
    ],
)
def test_what_cannot_be_described(model: type[BaseModel], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        strict_schema(model)


def test_names_in_plain_characters() -> None:
    generic = type("Answer[ä b]" + "x" * 100, (BaseModel,), {})
    assert schema_name(Note) == "Note"
    assert schema_name(generic) == ("Answer_b_" + "x" * 100)[:64]
