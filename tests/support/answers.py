"""Holding what commands answer in JSON against the schema that is documented."""

import functools
import json
from collections.abc import Sequence
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ricordo.cli.app import COMMANDS
from ricordo.cli.commands import Group, by_words
from ricordo.cli.json_schemas import ANSWERS
from tests.docs.markdown import DOCS

SCHEMA = DOCS / "reference" / "cli.schema.json"


@functools.cache
def document() -> dict[str, Any]:
    """The schema as it stands in the documentation."""
    found: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def commands() -> list[str]:
    """The words of every command."""
    return list(by_words(COMMANDS))


def command_of(arguments: Sequence[str]) -> str | None:
    """The words of the command that these arguments run; None where they run none."""
    listed = {name: one for commands in COMMANDS.values() for name, one in commands.items()}
    if not arguments or arguments[0] not in listed:
        return None
    command = listed[arguments[0]]
    if not isinstance(command, Group):
        return arguments[0]
    inner = arguments[1] if len(arguments) > 1 else None
    chosen = inner if inner in command.commands else command.default
    return None if chosen is None else f"{arguments[0]} {chosen}"


def check_answer(command: str, printed: str) -> None:
    """Fail unless what a command printed is what its documentation says."""
    answer = ANSWERS[command]
    if not answer.types:
        return
    said = printed.splitlines() if answer.on_lines else [printed]
    for one in said:
        _validator(command).validate(json.loads(one))


def check_error(printed: str) -> None:
    """Fail unless standard error is the one JSON object that is documented."""
    Draft202012Validator(document()["error"]).validate(json.loads(printed))


@functools.cache
def _validator(command: str) -> Draft202012Validator:
    whole = document()
    return Draft202012Validator({**whole["commands"][command], "$defs": whole["$defs"]})
