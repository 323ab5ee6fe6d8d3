"""All commands put together, under what they are for."""

from typing import Annotated, Final

import typer

from ricordo.cli import (
    activity,
    adding,
    administration,
    backups,
    bench,
    celery,
    changing,
    chat,
    checkpoints,
    completion,
    conversations,
    database,
    doctor,
    embeddings,
    encrypting,
    forming,
    graphing,
    init,
    jobs,
    keys,
    mcp,
    migrating,
    mirror,
    origins,
    profile,
    prompting,
    proposals,
    reading,
    reindexing,
    searching,
    serve,
    sharing,
    tools,
    transfer,
    upkeeping,
    windows,
    worker,
)
from ricordo.cli.assembling import Command, Group, assembled
from ricordo.version import __version__

NAME: Final = "ricordo"

COMMANDS: Final[dict[str, dict[str, Command | Group]]] = {
    "Remember and recall": {
        "add": adding.add,
        "search": searching.search,
        "related": searching.related,
        "graph": graphing.graph,
        "query": searching.query,
        "context": prompting.context,
        "feedback": prompting.feedback,
        "get": reading.get,
        "list": reading.list_memories,
        "themes": reading.themes,
        "history": reading.history,
        "lineage": reading.lineage,
        "source": origins.source,
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
    "Share": {
        "link": sharing.link,
        "unlink": sharing.unlink,
        "links": sharing.links,
        "senders": Group(
            "See and decide whom to take nothing from.",
            {
                "blocked": sharing.blocked,
                "block": sharing.block,
                "unblock": sharing.unblock,
            },
            default="blocked",
        ),
    },
    "Conversations and what they give": {
        "observe": conversations.observe,
        "search-turns": conversations.search_turns,
        "threads": conversations.threads,
        "thread": conversations.thread,
        "turns": conversations.turns,
        "redact": conversations.redact,
        "formed": origins.formed,
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
    "Tools of agents": {
        "tools": Group(
            "Show and call the tools that a model reaches memory with.",
            {"list": tools.list_tools, "call": tools.call, "guide": tools.guide},
            default="list",
        ),
    },
    "Serve": {"serve": serve.serve, "mcp": mcp.mcp},
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
            "Make, list, show, revoke and check keys of the service.",
            {
                "list": keys.list_keys,
                "show": keys.show,
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
                "states": embeddings.states,
                "test": embeddings.test,
                "set": embeddings.set_provider,
                "rebuild": embeddings.rebuild,
                "backfill": embeddings.backfill,
            },
            default="status",
        ),
        "events": activity.events,
        "counters": activity.counters,
        "daily": activity.daily,
        "model": Group(
            "Try the language model that reads conversations.", {"test": activity.test_model}
        ),
        "backup": Group(
            "Back up a whole store to one file, check such a file, and restore it.",
            {"make": backups.make, "check": backups.check, "restore": backups.restore},
        ),
        "reindex": reindexing.reindex,
        "migrate": migrating.migrate,
        "database": Group(
            "Encrypt a SQLite file; let roles use a PostgreSQL database.",
            {
                "encrypt": encrypting.encrypt,
                "decrypt": encrypting.decrypt,
                "rekey": encrypting.rekey,
                "grant": database.grant,
            },
        ),
        "doctor": doctor.doctor,
        "bench": Group(
            "Measure how well and how fast things are found.",
            {"recall": bench.recall, "speed": bench.speed},
        ),
        "completion": completion.completion,
        "version": administration.version,
    },
}


def assemble() -> typer.Typer:
    """The whole command line."""
    return assembled(COMMANDS, _root)


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
