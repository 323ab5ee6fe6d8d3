"""Print everything that users build on, as JSON without prose: to compare before and after.

Public names with their signatures and fields, commands with their options, the JSON of their
answers, HTTP routes with their schemas, and the tools that models are given.
"""

import enum
import inspect
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import typer.main

import ricordo
from ricordo.cli import json_schemas
from ricordo.cli.app import assemble
from ricordo.http.app import create_app
from ricordo.tools import TOOL_SETS
from ricordo.tools.tool import anthropic
from ricordo.wiring import open_memory

PROSE = {"description", "title", "summary", "example", "examples", "operationId"}


def surface() -> dict[str, Any]:
    """All of it."""
    with open_memory(":memory:", run_jobs=False) as memory:
        openapi = create_app(memory).openapi()
    return {
        "python": {name: _described(getattr(ricordo, name)) for name in sorted(ricordo.__all__)},
        "commands": _command(typer.main.get_command(assemble())),
        "answers": _plain(json_schemas.document()),
        "routes": _without_names(_plain(openapi["paths"])),
        "schemas": sorted(
            json.dumps(_without_names(_plain(one)), sort_keys=True)
            for one in openapi["components"]["schemas"].values()
        ),
        "tools": {name: _plain(anthropic(tools)) for name, tools in TOOL_SETS.items()},
    }


def _described(thing: Any) -> Any:
    if isinstance(thing, type):
        if issubclass(thing, enum.Enum):
            return [member.value for member in thing]
        methods = {
            name: _signature(value)
            for name, value in inspect.getmembers(thing, inspect.isfunction)
            if not name.startswith("_")
        }
        own = (
            [_short(f"{one.name}: {one.type}") for one in fields(thing)]
            if is_dataclass(thing)
            else []
        )
        return {
            "bases": [
                base.__name__
                for base in thing.__mro__
                if base.__module__.startswith("ricordo.errors")
            ],
            "fields": own,
            "methods": methods,
        }
    return _signature(thing) if callable(thing) else type(thing).__name__


def _signature(function: Any) -> str:
    return _short(str(inspect.signature(function)))


def _short(text: str) -> str:
    """Without the modules that names are defined in, and without addresses."""
    return re.sub(r"ricordo\.[\w.]+\.(?=\w)| at 0x\w+", "", text)


def _command(command: Any) -> Any:
    inner = getattr(command, "commands", {})
    options = [
        [one.name, sorted([*one.opts, *one.secondary_opts]), one.required] for one in command.params
    ]
    return {
        "options": options,
        "commands": {name: _command(one) for name, one in sorted(inner.items())},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _plain(one)
            for key, one in value.items()
            if key not in PROSE or (not isinstance(one, str | list) and key != "example")
        }
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _without_names(value: Any) -> Any:
    """Schemas of requests may change their names: what they hold is what counts."""
    if isinstance(value, Mapping):
        return {key: "..." if key == "$ref" else _without_names(one) for key, one in value.items()}
    return [_without_names(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    json.dump(surface(), sys.stdout, indent=1, sort_keys=True, default=str)
