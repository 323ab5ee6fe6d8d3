"""The service and the MCP server: ``serve`` and ``mcp``."""

import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from ricordo.cli.json_answers import KeyFile, Serving, ServingEnded
from ricordo.cli.render import answer
from ricordo.cli.store import Place, Store, UserOption, completing, is_debugging, words
from ricordo.errors import InvalidInput, StorageUnavailable, needs_extra
from ricordo.model.vocabulary import ToolSet

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.model.scope import CreatedKey
    from ricordo.settings import Settings

Host = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Where to listen (default: RICORDO_HOST, or 127.0.0.1)."),
]
Port = Annotated[
    int | None, typer.Option(metavar="N", help="Port (default: RICORDO_PORT, or 8377); 0: any.")
]
UpstreamUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="OpenAI-compatible endpoint behind the chat proxy, such as https://…/v1.",
    ),
]
FIRST_KEY: Final = "first"


Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Processes that answer (default: RICORDO_WORKERS, or 1); one per core."
    ),
]


def serve(
    *,
    host: Host = None,
    port: Port = None,
    upstream_url: UpstreamUrl = None,
    workers: Workers = None,
    store: Store,
) -> None:
    """Serve memories over HTTP, with a chat proxy and a web page, until it is stopped.

    On a loopback address no keys are needed; at any other there must be one (ricordo keys create).

    Example: ricordo serve --port 8377
    """
    from ricordo.wiring import open_memory

    with _needing("ricordo serve", "server"):
        from ricordo.http.local_calls import answering_commands, socket_path
        from ricordo.http.server import check_may_serve, serving
        from ricordo.http.supervisor import check_may_share
        from ricordo.observability.logs import configure_logging
        from ricordo.web.site import create_site

    given = {"host": host, "port": port, "upstream_url": upstream_url, "workers": workers}
    named = {name: value for name, value in given.items() if value is not None}
    chosen = serving_settings({**store.settings(), **named})
    for_commands = socket_path(store.db, store.home, os.environ)
    is_alone = chosen["workers"] == 1
    with open_memory(**(chosen if is_alone else {**chosen, "run_jobs": False})) as memory:
        configure_logging(memory.settings.log_format or fitting_format())
        check_may_share(memory.settings)
        check_may_serve(memory)
        _show_first_key(memory, store.as_json)
        settings, location = memory.settings, memory.database.backend.location

        def show_address(address: str) -> None:
            answer(
                store.as_json,
                Serving(listening=address, database=location),
                lambda _: (
                    f"Serving {location} at {address} (open it in a browser; Ctrl-C stops it)."
                ),
            )
            sys.stdout.flush()

        if is_alone:
            with answering_commands(memory, for_commands):
                serving(memory, show_address, create_site).run()
    if not is_alone:  # closed here, so that nothing open is inherited
        _serve_together(settings, chosen, show_address, for_commands)
    answer(store.as_json, ServingEnded(stopped=True), lambda _: "Stopped.")


def serving_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of the service, where some defaults differ from those of a program."""
    from ricordo.wiring import read_settings

    settings = read_settings(os.environ, given)
    threads = settings.embedding_threads or 1  # several texts come at once, which share the cores
    return {**given, "workers": settings.workers, "embedding_threads": threads}


def _serve_together(
    settings: "Settings",
    chosen: dict[str, Any],
    show_address: Callable[[str], None],
    for_commands: Path | None,
) -> None:
    """Serve in several processes until they are told to stop. Raises StorageUnavailable: they could
    not begin."""
    from ricordo.http.local_calls import answering_commands
    from ricordo.http.protocol import Room
    from ricordo.http.server import address_of, listener_for, serving
    from ricordo.http.supervisor import Place, Supervisor
    from ricordo.observability.metrics import forget_process, share_among_processes
    from ricordo.web.site import create_site
    from ricordo.wiring import open_memory

    with (
        tempfile.TemporaryDirectory(prefix="ricordo-metrics-") as folder,
        listener_for(settings, Room.from_settings(settings).waiting) as listener,
    ):

        def work(place: Place) -> None:
            share_among_processes(folder)
            with open_memory(**chosen) as memory:
                service = serving(memory, lambda _: place.is_ready(), create_site, listener)
                place.on_orphaned(service.stop)
                with answering_commands(memory, for_commands):
                    service.run()

        supervisor = Supervisor(
            settings.workers,
            work,
            on_ready=lambda: show_address(address_of(settings, listener)),
            on_stopping=listener.close,
            on_ended=lambda pid: forget_process(folder, pid),
        )
        if not supervisor.run():
            raise StorageUnavailable("the workers could not open the store; the log says why")


@contextmanager
def _needing(command: str, extra: str) -> Iterator[None]:
    """Imports that a command needs an extra for. Raises InvalidInput: one of its packages is not
    installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise InvalidInput(needs_extra(command, extra)) from missing


def fitting_format() -> Literal["json", "text"]:
    """ "text" on a terminal, otherwise "json"."""
    return "text" if sys.stderr.isatty() else "json"


def _show_first_key(memory: "Memory", as_json: bool) -> None:
    """Where keys are required and there are none, create one and show it once: on a terminal,
    otherwise in a file readable by its owner only, because the output of a service is logged."""
    from ricordo.http.app import keys_are_required
    from ricordo.model.vocabulary import Permission

    if not keys_are_required(memory.settings) or memory.has_keys():
        return
    made = memory.create_key(FIRST_KEY, permissions=(Permission.READ_ALL, Permission.MANAGE))
    if not sys.stdout.isatty():
        written = _write_key(memory, made)
        answer(
            as_json,
            written,
            lambda _: (
                "The first key, for all users and with all permissions, is in"
                f" {written['file']}\nMove it to where you keep secrets, and remove the file."
            ),
        )
        return
    answer(
        as_json,
        made,
        lambda _: (
            f"The first key, for all users, to read all and manage: {made.secret}\n"
            "It is not shown again; `ricordo keys` lists and revokes keys."
        ),
    )


def _write_key(memory: "Memory", made: "CreatedKey") -> KeyFile:
    """Write a new key to a file; if that fails, revoke it and raise FilesUnavailable."""
    from ricordo.errors import FilesUnavailable
    from ricordo.files.disk import make_folder, replace_file

    path = memory.settings.home.expanduser() / f"first-key-{made.key.id}"
    try:
        make_folder(path.parent)
        replace_file(path, f"{made.secret}\n".encode())
    except FilesUnavailable:
        memory.revoke_key(made.key.id)
        raise
    return KeyFile(key_id=made.key.id, file=str(path))


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
        metavar="ID", help="Agent that acts; kept to the categories that the policy file allows it."
    ),
]


def mcp(*, tools: ToolSets = None, agent: Agent = None, place: Place, whose: UserOption) -> None:
    """Serve a user's memory over MCP on standard input and output, for desktop clients.

    Clients start this themselves. It ends when they do, or with Ctrl-C; the log goes to standard
    error. Any number may run on one store, beside all other commands.

    Example: ricordo mcp -u ana --tools standard --tools profile
    """
    with _needing("ricordo mcp", "mcp"):
        from ricordo.mcp.server import serve_streams, server_for
    from ricordo.mcp.session import Binding, default_sets
    from ricordo.observability.logs import configure_logging
    from ricordo.tools.sets import chosen_sets
    from ricordo.wiring import open_memory

    with open_memory(**place.settings()) as memory:
        sets = chosen_sets(*tools) if tools else default_sets(memory.settings.mcp_tools)
        level = logging.INFO if is_debugging() else logging.WARNING
        configure_logging(memory.settings.log_format or fitting_format(), level=level)
        bound = Binding(whose.memory_in(memory).narrow(agent=agent), sets)
        serve_streams(server_for(lambda _: bound, threads=memory.settings.service_threads))
