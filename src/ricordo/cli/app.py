"""All commands put together, under what they are for."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ricordo.cli import (
    adding,
    administration,
    changing,
    conversations,
    doctor,
    jobs,
    migrating,
    reading,
    sharing,
    transfer,
)
from ricordo.cli.groups import expanded
from ricordo.version import __version__

NAME: Final = "ricordo"
_MAX_SUMMARY_CHARS: Final = 100
_HELP_OPTIONS: Final = ["-h", "--help"]


class ByTopic(TyperGroup):
    """Commands that ``--help`` lists under their topics."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        for topic, commands in COMMANDS.items():
            with formatter.section(topic):
                formatter.write_dl([(name, self._summary(ctx, name)) for name in commands])

    def _summary(self, ctx: Any, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(_MAX_SUMMARY_CHARS)


class ListsByDefault(TyperGroup):
    """Commands of which ``list`` is run when none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, with what is understood put in its place."""
        is_named = bool(args) and (args[0] in _HELP_OPTIONS or not args[0].startswith("-"))
        return super().parse_args(ctx, args if is_named else ["list", *args])


Commands = dict[str, Callable[..., None]]
JOB_COMMANDS: Final[Commands] = {
    "list": jobs.list_jobs,
    "run": jobs.run_jobs,
    "retry": jobs.retry_job,
}
COMMANDS: Final[dict[str, dict[str, Callable[..., None] | Commands]]] = {
    "Remember and recall": {
        "add": adding.add,
        "get": reading.get,
        "list": reading.list_memories,
        "themes": reading.themes,
        "history": reading.history,
        "changes": reading.changes,
    },
    "Change": {
        "archive": changing.archive,
        "restore": changing.restore,
        "forget": changing.forget,
        "pin": changing.pin,
        "verify": changing.verify,
        "merge": adding.merge,
        "undo": changing.undo,
        "theme": changing.theme,
        "purge": changing.purge,
    },
    "Share": {"link": sharing.link, "unlink": sharing.unlink, "links": sharing.links},
    "Conversations": {"threads": conversations.threads, "turns": conversations.turns},
    "Files": {"export": transfer.export, "import": transfer.import_file},
    "Administration": {
        "users": administration.users,
        "erase": administration.erase,
        "jobs": JOB_COMMANDS,
        "migrate": migrating.migrate,
        "doctor": doctor.doctor,
        "version": administration.version,
    },
}


def assemble() -> typer.Typer:
    """The whole command line."""
    # typer's rich help takes longer to load than all the rest of --help.
    app = typer.Typer(
        cls=ByTopic,
        callback=_root,
        context_settings={"help_option_names": _HELP_OPTIONS},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for commands in COMMANDS.values():
        for name, command in commands.items():
            if isinstance(command, dict):
                app.add_typer(_job_commands(command), name=name)
            else:
                app.command(name)(expanded(command))
    return app


def _job_commands(commands: Commands) -> typer.Typer:
    app = typer.Typer(
        cls=ListsByDefault, help="List, run and retry background jobs.", rich_markup_mode=None
    )
    for name, command in commands.items():
        app.command(name)(expanded(command))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Long-term memory for AI assistants and agents.

    Begin with: ricordo add "Prefers tea to coffee" and then: ricordo list
    """
