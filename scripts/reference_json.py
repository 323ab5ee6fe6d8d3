"""Pages about JSON: what commands answer, and what tools take."""

import json
from typing import Any, Final

from reference_parts import page, table

from ricordo.cli import json_schemas
from ricordo.cli.app import topics
from ricordo.cli.commands import by_words
from ricordo.tools import TOOL_SETS

SCHEMA_FILE: Final = "cli.schema.json"


def cli_json_page() -> str:
    """What every command answers with ``--json``, and every type that is in it."""
    document = json_schemas.document()
    parts = [
        "With `--json` a command writes JSON to standard output and nothing else. Where the table"
        " says *on lines*, every line is a document of its own and any number may come; otherwise"
        " it is one document. What people would be told beside the answer is left out.",
        f"The same as JSON Schema for programs: [{SCHEMA_FILE}]({SCHEMA_FILE}), by the words of"
        " each command under `commands`. [How to use it](../howto/command-line.md).",
        "Fields are always there; what is not known is `null`. New fields may come with any"
        " version, so programs should pass over those that they do not know. Times are ISO 8601"
        " with an offset.",
        "## Errors",
        "A command that fails writes one JSON object to standard error, nothing to standard output,"
        " and ends with [an exit code](errors.md#exit-codes) other than 0."
        " Commands that look whether something is well (`doctor`, `model test`,"
        " `embeddings test`, `celery status`, `migrate --check`) answer first, and then end with"
        " such a code where it is not.",
        _schema_table(json_schemas.ERROR),
    ]
    for topic, commands in topics().items():
        rows = []
        for path in by_words({topic: commands}):
            answer = json_schemas.ANSWERS[path]
            shown = [
                _shown_answer(kind, when, answer.on_lines) for when, kind in answer.types.items()
            ]
            rows.append([f"`ricordo {path}`", "; ".join([*shown, *filter(None, [answer.instead])])])
        parts += [f"## Commands: {topic}", table(["Command", "Answers"], rows)]
    parts.append("## Types")
    for name, schema in document["$defs"].items():
        parts += [f"### `{name}`", schema["description"], _schema_table(schema)]
    return page("JSON of the command line", *parts)


def _shown_answer(kind: Any, when: str, on_lines: bool) -> str:
    shown = _schema_type(json_schemas.Shapes().schema(kind))
    return f"{when}: {shown}" if when else f"{shown}{', on lines' if on_lines else ''}"


def _schema_table(schema: dict[str, Any]) -> str:
    is_described = any("description" in one for one in schema["properties"].values())
    rows = [
        [f"`{name}`", _schema_type(one), *([one.get("description", "")] if is_described else [])]
        for name, one in schema["properties"].items()
    ]
    return table(["Field", "Type", *(["Meaning"] if is_described else [])], rows)


def _schema_type(schema: dict[str, Any]) -> str:
    """A schema in a few words, with links to types that have fields."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(_schema_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(word)}`" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_schema_type(schema['items'])}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        if isinstance(inner, dict) and inner:
            return f"object of {_schema_type(inner)} by name"
        inside = ", ".join(f"`{name}`" for name in schema.get("properties", ()))
        return f"object with {inside}" if inside else "object"
    if isinstance(schema.get("type"), list):
        return " or ".join(_schema_type({"type": one}) for one in schema["type"])
    formats = {"date-time": "time", "date": "date"}
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "`true` or `false`",
        "null": "`null`",
    }
    return formats.get(schema.get("format", "")) or names.get(schema.get("type", ""), "any JSON")


def _anchor(name: str) -> str:
    """Where a type is explained. No other heading of the page has a name of one word like it."""
    return name.lower()


def cli_schema() -> str:
    """The JSON Schema of all answers."""
    return f"{json.dumps(json_schemas.document(), indent=2, ensure_ascii=False)}\n"


# -- Tools ---------------------------------------------------------------------------------------


def tools_page() -> str:
    """Every tool that a model can be given, with what it takes."""
    parts = [
        "What a model is given to reach memory: named sets of tools, the same on every surface."
        " Descriptions are those that models read. `ricordo tools list --form NAME` prints the"
        " schemas as an interface wants them.",
    ]
    for name, tools in TOOL_SETS.items():
        listed = ", ".join(f"[`{tool.name}`](#{tool.name})" for tool in tools)
        parts.append(f"- `{name}`: {listed}")
    parts = [parts[0], "\n".join(parts[1:])]
    for tool in _every_tool():
        marks = [
            word
            for word, holds in (
                ("only reads", tool.reads_only),
                ("removes or replaces", tool.destructive),
                ("can be repeated without harm", tool.idempotent),
            )
            if holds
        ]
        schema = tool.input_schema()
        rows = [
            [
                f"`{name}`" + (" (required)" if name in schema.get("required", ()) else ""),
                _schema_type(one),
                one.get("description", ""),
            ]
            for name, one in schema["properties"].items()
        ]
        parts += [
            f"## `{tool.name}`",
            " ".join(tool.description.split()),
            f"{', '.join(marks).capitalize()}." if marks else "",
            table(["Parameter", "Type", "Meaning"], rows) if rows else "It takes nothing.",
        ]
    return page("Tools", *parts)


def _every_tool() -> list[Any]:
    """Each tool once, though it is in several sets."""
    found: dict[str, Any] = {}
    for tools in TOOL_SETS.values():
        found |= {tool.name: tool for tool in tools if tool.name not in found}
    return list(found.values())
