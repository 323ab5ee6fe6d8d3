"""All commands put together, under what they are for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ricordo.cli import (
    activity,
    adding,
    administration,
    bench,
    celery,
    changing,
    chat,
    checkpoints,
    conversations,
    database,
    doctor,
    embeddings,
    forming,
    init,
    jobs,
    keys,
    migrating,
    mirror,
    profile,
    prompting,
    proposals,
    reading,
    reindexing,
    searching,
    serve,
    sharing,
    transfer,
    upkeeping,
    windows,
    worker,
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


Command = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that go by two words, such as ``jobs run``.

    The ``default`` is run when only the first word is given; without one, that is a mistake.
    """

    summary: str
    commands: dict[str, Command]
    default: str | None = None


COMMANDS: Final[dict[str, dict[str, Command | Group]]] = {
    "Remember and recall": {
        "add": adding.add,
        "search": searching.search,
        "related": searching.related,
        "query": searching.query,
        "context": prompting.context,
        "feedback": prompting.feedback,
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
        "consolidate": upkeeping.consolidate,
        "upkeep": upkeeping.upkeep,
    },
    "Share": {"link": sharing.link, "unlink": sharing.unlink, "links": sharing.links},
    "Conversations and what they give": {
        "observe": conversations.observe,
        "search-turns": conversations.search_turns,
        "threads": conversations.threads,
        "turns": conversations.turns,
        "chat": chat.chat,
        "window": windows.window,
        "compact": windows.compact,
        "resume": windows.resume,
        "log": windows.log,
        "form": forming.form,
        "summary": forming.summary,
        "audit": forming.audit,
        "proposals": Group(
            "See and decide what waits for consent.",
            {
                "list": proposals.list_proposals,
                "approve": proposals.approve,
                "reject": proposals.reject,
            },
            default="list",
        ),
    },
    "Profile": {
        "profile": Group(
            "See and change what is said of a user in every prompt.",
            {
                "show": profile.show,
                "set": profile.set_fields,
                "unset": profile.unset_fields,
            },
            default="show",
        ),
    },
    "States of programs": {
        "checkpoint": Group(
            "Save, load, list and delete the state of a program per conversation.",
            {
                "list": checkpoints.list_checkpoints,
                "save": checkpoints.save,
                "load": checkpoints.load,
                "delete": checkpoints.delete,
            },
            default="list",
        ),
    },
    "Files": {
        "init": init.init,
        "mirror": Group(
            "Keep memories in a file that can be read and edited: MEMORY.md.",
            {"status": mirror.status, "sync": mirror.sync, "watch": mirror.watch},
            default="status",
        ),
        "export": transfer.export,
        "import": transfer.import_file,
    },
    "Serve": {"serve": serve.serve},
    "Administration": {
        "users": administration.users,
        "erase": administration.erase,
        "jobs": Group(
            "List, count, run, retry and cancel background jobs.",
            {
                "list": jobs.list_jobs,
                "stats": jobs.job_stats,
                "run": jobs.run_jobs,
                "retry": jobs.retry_job,
                "cancel": jobs.cancel_job,
            },
            default="list",
        ),
        "keys": Group(
            "Make, list, revoke and check keys of the service.",
            {
                "list": keys.list_keys,
                "create": keys.create,
                "revoke": keys.revoke,
                "check": keys.check,
            },
            default="list",
        ),
        "worker": worker.worker,
        "celery": Group(
            "Run Celery workers over Redis or RabbitMQ, and look at them.",
            {"worker": celery.worker, "beat": celery.beat, "status": celery.status},
        ),
        "embeddings": Group(
            "See, try and change where vectors are made.",
            {
                "status": embeddings.status,
                "test": embeddings.test,
                "set": embeddings.set_provider,
                "rebuild": embeddings.rebuild,
                "backfill": embeddings.backfill,
            },
            default="status",
        ),
        "events": activity.events,
        "counters": activity.counters,
        "model": Group(
            "Try the language model that reads conversations.", {"test": activity.test_model}
        ),
        "reindex": reindexing.reindex,
        "migrate": migrating.migrate,
        "database": Group(
            "Let roles use a PostgreSQL database, bound by row-level security.",
            {"grant": database.grant},
        ),
        "doctor": doctor.doctor,
        "bench": Group(
            "Measure how well and how fast things are found.",
            {"recall": bench.recall, "speed": bench.speed},
        ),
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
            if isinstance(command, Group):
                app.add_typer(_grouped(command), name=name)
            else:
                app.command(name)(expanded(command))
    return app


def _grouped(group: Group) -> typer.Typer:
    kind = TyperGroup if group.default is None else _running_by_default(group.default)
    app = typer.Typer(cls=kind, help=group.summary, rich_markup_mode=None)
    for name, command in group.commands.items():
        app.command(name)(expanded(command))
    return app


def _running_by_default(default: str) -> type[TyperGroup]:
    class RunsByDefault(TyperGroup):
        """Commands of which one is run when none is named."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the command line, with what is understood put in its place."""
            is_named = bool(args) and (args[0] in _HELP_OPTIONS or not args[0].startswith("-"))
            return super().parse_args(ctx, args if is_named else [default, *args])

    return RunsByDefault


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

    Begin with: ricordo add "Prefers tea to coffee" and then: ricordo search tea
    """
