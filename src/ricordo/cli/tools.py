"""Memory as tools for a model: ``tools list``, ``call`` and ``guide``."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo.cli.options import STANDARD_STREAM, Acting, AsJson, Owner, completing, words
from ricordo.cli.render import TableListing, answer
from ricordo.cli.session import open_user
from ricordo.model.vocabulary import SchemaForm, ToolSet

if TYPE_CHECKING:
    from ricordo.tools import Tool

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME",
        autocompletion=completing(ToolSet),
        help=f"Set of tools, may be given again: {words(ToolSet)}.",
    ),
]
WantedForm = Annotated[
    SchemaForm | None,
    typer.Option(
        "--form",
        metavar="NAME",
        autocompletion=completing(SchemaForm),
        help=f"Print JSON schemas for this interface: {words(SchemaForm)}.",
    ),
]
ToolName = Annotated[str, typer.Argument(metavar="NAME", help="The tool, such as memory_search.")]
CallArguments = Annotated[
    str, typer.Argument(metavar="JSON", help="Its arguments as a JSON object; - is standard input.")
]


def list_tools(*, sets: Sets = None, form: WantedForm = None, as_json: AsJson = False) -> None:
    """List the tools that a model can be given, or print their JSON schemas.

    Example: ricordo tools list --set profile --form anthropic
    """
    from ricordo.tools import chosen, tool

    tools = chosen(*(sets or ToolSet))
    if form is not None:
        answer(True, tuple(tool.FORMS[form](tools)), str)
        return
    answer(as_json, tuple(tool.anthropic(tools)), lambda _: _table(tools))


def call(
    *,
    name: ToolName,
    arguments: CallArguments = "{}",
    sets: Sets = None,
    owner: Owner,
    acting: Acting,
) -> None:
    """Call a tool as a model would, and show what the model would be told.

    Example: ricordo tools call memory_search '{"query": "tea"}'
    """
    from ricordo.tools import Tools

    given = sys.stdin.read() if arguments == STANDARD_STREAM else arguments
    with open_user(owner, acting) as memory:
        result = Tools(memory, *(sets or ToolSet)).run(name, given)
    if result.error is not None:
        raise result.error
    answer(owner.as_json, result.value, _indented)


def guide(*, sets: Sets = None, owner: Owner) -> None:
    """Print how a model should use the tools, for a system prompt."""
    from ricordo.tools import Tools

    with open_user(owner) as memory:
        text = Tools(memory, *(sets or ())).guide()
    answer(owner.as_json, {"guide": text}, lambda _: text)


def _table(tools: "tuple[Tool, ...]") -> TableListing:
    rows = [
        (tool.name, ", ".join(one.name for one in tool.parameters), tool.description)
        for tool in tools
    ]
    return TableListing(("tool", "arguments", "what it is for"), rows)


def _indented(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
