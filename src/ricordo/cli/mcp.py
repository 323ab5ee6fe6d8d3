"""The server for one client of the Model Context Protocol: ``mcp``."""

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.options import Place, Whose, completing, words
from ricordo.cli.serve import fitting_format
from ricordo.cli.session import is_debugging
from ricordo.model.vocabulary import ToolSet

if TYPE_CHECKING:
    from ricordo.mcp.binding import Who
    from ricordo.memory import Memory

ToolSets = Annotated[
    list[str] | None,
    typer.Option(
        "--tools",
        metavar="NAME",
        autocompletion=completing(ToolSet),
        help=f"Set of tools to offer, may be given again: {words(ToolSet)}"
        " (default: those of the setting mcp_tools).",
    ),
]
Agent = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Agent that acts; kept to the categories that the policy file allows it.",
    ),
]


def mcp(*, tools: ToolSets = None, agent: Agent = None, place: Place, whose: Whose) -> None:
    """Serve a user's memory over MCP on standard input and output, for desktop clients.

    Clients start this themselves. It ends when they do, or with Ctrl-C; the log goes to standard
    error. Any number may run on one store, beside all other commands.

    Example: ricordo mcp -u ana --tools standard --tools profile
    """
    from ricordo.mcp.binding import default_sets
    from ricordo.mcp.server import server_for
    from ricordo.mcp.stdio import serve_streams
    from ricordo.observing.logs import configure_logging
    from ricordo.tools.sets import chosen_sets
    from ricordo.wiring import open_memory

    with open_memory(**place.settings()) as memory:
        sets = chosen_sets(*tools) if tools else default_sets(memory.settings.mcp_tools)
        level = logging.INFO if is_debugging() else logging.WARNING
        configure_logging(memory.settings.log_format or fitting_format(), level=level)
        who = _bound(memory, whose, agent, sets)
        serve_streams(server_for(who, threads=memory.settings.service_threads))


def _bound(memory: "Memory", whose: Whose, agent: str | None, sets: tuple[str, ...]) -> "Who":
    """Whom every request is about; what the policy file allows its agent is looked up each time.

    Raises:
        InvalidValue: nobody can have that name.
        InvalidPolicy: the policy file is not valid.
    """
    from ricordo.mcp.binding import Asked, Binding

    whole = memory.global_memories() if whose.of_everyone else memory.user(whose.user)

    def bind() -> Binding:
        allowed = memory.parts.access.current().allowed(agent, None)
        return Binding(whole.narrow(agent=agent, categories=allowed), sets)

    bind()  # so that a mistake is told before anything is spoken

    def who(_asked: Asked) -> Binding:
        return bind()

    return who
