"""All commands, by topic."""

from typing import Annotated, Final

import typer

from ricordo.cli import (
    agents,
    bench,
    chat,
    completion,
    conversations,
    database,
    doctor,
    embeddings,
    jobs,
    memories,
    recall,
    serve,
    service,
    sharing,
    transfer,
)
from ricordo.cli.commands import Command, Group, Topics, assembled, by_words
from ricordo.cli.derived import command_of, operation_of
from ricordo.cli.tables import anything
from ricordo.operations.operation import STORE_OPERATIONS, USER_OPERATIONS
from ricordo.version import __version__

NAME: Final = "ricordo"

COMMANDS: Final[dict[str, dict[str, Command | Group]]] = {
    "Remember and recall": {
        "add": memories.add,
        "search": recall.search,
        "related": recall.related,
        "graph": recall.graph,
        "query": recall.query,
        "context": recall.context,
        "feedback": recall.feedback,
        "get": memories.get,
        "list": memories.list_memories,
        "themes": memories.themes,
        "projects": memories.projects,
        "history": memories.history,
        "lineage": memories.lineage,
        "source": conversations.source,
        "changes": memories.changes,
    },
    "Change": {
        "archive": memories.archive,
        "restore": memories.restore,
        "forget": memories.forget,
        "pin": memories.pin,
        "verify": memories.verify,
        "rate": memories.rate,
        "merge": memories.merge,
        "undo": memories.undo,
        "theme": memories.theme,
        "purge": memories.purge,
        "consolidate": jobs.consolidate,
        "upkeep": jobs.upkeep,
    },
    "Share": {
        "link": sharing.link,
        "unlink": sharing.unlink,
        "links": sharing.links,
        "links-of": sharing.links_of,
        "senders": Group(
            "List, block and unblock users who offer memories.",
            {"blocked": sharing.blocked, "block": sharing.block, "unblock": sharing.unblock},
            default="blocked",
        ),
    },
    "Groups": {
        "groups": Group(
            "See and change who shares memories in a group.",
            {
                "list": sharing.list_groups,
                "members": sharing.members,
                "set": sharing.set_member,
                "remove": sharing.remove,
                "create": sharing.create,
                "delete": sharing.delete,
            },
            default="list",
        ),
    },
    "Conversations and what they give": {
        "observe": conversations.observe,
        "search-turns": conversations.search_turns,
        "threads": conversations.threads,
        "thread": conversations.thread,
        "turns": conversations.turns,
        "redact": conversations.redact,
        "formed": conversations.formed,
        "chat": chat.chat,
        "window": conversations.window,
        "compact": conversations.compact,
        "resume": conversations.resume,
        "log": conversations.log,
        "form": conversations.form,
        "summary": conversations.summary,
        "audit": conversations.audit,
        "proposals": Group(
            "List, approve and reject proposals.",
            {
                "list": sharing.list_proposals,
                "approve": sharing.approve,
                "reject": sharing.reject,
            },
            default="list",
        ),
    },
    "Profile": {
        "profile": Group(
            "Show and change the profile, which is in every prompt.",
            {"show": sharing.show, "set": sharing.set_fields, "unset": sharing.unset_fields},
            default="show",
        )
    },
    "States of programs": {
        "checkpoint": Group(
            "Save, load, list and delete the state of a program per conversation.",
            {
                "list": conversations.list_checkpoints,
                "save": conversations.save,
                "load": conversations.load,
                "delete": conversations.delete,
            },
            default="list",
        )
    },
    "Files": {
        "init": transfer.init,
        "mirror": Group(
            "Keep memories in a file that can be read and edited: MEMORY.md.",
            {"status": transfer.status, "sync": transfer.sync, "watch": transfer.watch},
            default="status",
        ),
        "export": transfer.export,
        "import": transfer.import_file,
    },
    "Coding agents": {
        "agents": Group(
            "Let coding agents remember: install hooks, see how they stand, turn projects off.",
            {
                "status": agents.status,
                "install": agents.install,
                "uninstall": agents.uninstall,
                "off": agents.off,
                "on": agents.on,
                "drain": agents.drain,
                "mcp": agents.mcp,
            },
            default="status",
        )
    },
    "Tools of agents": {
        "tools": Group(
            "Show and call the tools that a model reaches memory with.",
            {"list": agents.list_tools, "call": agents.call, "guide": agents.guide},
            default="list",
        )
    },
    "Serve": {"serve": serve.serve, "mcp": serve.mcp},
    "Administration": {
        "users": database.users,
        "erase": database.erase,
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
            "Create, list, show, revoke and check keys of the service.",
            {
                "list": service.list_keys,
                "show": service.show_key,
                "create": service.create_key,
                "revoke": service.revoke,
                "check": service.check,
            },
            default="list",
        ),
        "programs": Group(
            "List and disconnect the programs that a user let in with OAuth.",
            {"list": service.programs, "revoke": service.revoke_program},
            default="list",
        ),
        "webhooks": Group(
            "Deliver changes to addresses, and follow the deliveries.",
            {
                "list": service.list_webhooks,
                "show": service.show_webhook,
                "create": service.create_webhook,
                "update": service.update,
                "rotate": service.rotate,
                "test": service.test,
                "deliveries": service.deliveries,
                "delete": service.delete,
            },
            default="list",
        ),
        "worker": jobs.worker,
        "celery": Group(
            "Run Celery workers over Redis or RabbitMQ, and look at them.",
            {"worker": jobs.celery_worker, "beat": jobs.beat, "status": jobs.status},
        ),
        "embeddings": Group(
            "Show, test and change where vectors are computed.",
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
        "events": jobs.events,
        "counters": jobs.counters,
        "daily": jobs.daily,
        "model": Group(
            "Try the language model that reads conversations.", {"test": jobs.test_model}
        ),
        "backup": Group(
            "Back up a whole store to one file, check such a file, and restore it.",
            {"make": database.make, "check": database.check, "restore": database.restore},
        ),
        "reindex": jobs.reindex,
        "migrate": database.migrate,
        "database": Group(
            "Encrypt a SQLite file; let roles use a PostgreSQL database.",
            {
                "encrypt": database.encrypt,
                "decrypt": database.decrypt,
                "rekey": database.rekey,
                "grant": database.grant,
            },
        ),
        "doctor": doctor.doctor,
        "bench": Group(
            "Measure how well and how fast memories are formed and found.",
            {
                "recall": bench.recall,
                "answers": bench.answers,
                "formation": bench.formation,
                "speed": bench.speed,
            },
        ),
        "completion": completion.completion,
        "version": database.version,
    },
}


_INSIDE_OTHERS: Final = {
    *("add_many", "get", "revision", "fill_embeddings", "reset_embeddings"),
    *("has_keys", "authenticate", "export", "export_lines"),
}
"""Operations that a command does beside another one, or that take no options."""


def topics() -> Topics:
    """All commands by topic. An operation that has no place of its own has one under "More"."""
    operations = map(operation_of, by_words(COMMANDS).values())
    placed = _INSIDE_OTHERS | {one.name for one in operations if one is not None}
    more: dict[str, Command | Group] = {
        operation.name.replace("_", "-"): command_of(operation, anything)
        for operation in (*USER_OPERATIONS.values(), *STORE_OPERATIONS.values())
        if operation.name not in placed
    }
    return {**COMMANDS, "More": more} if more else COMMANDS


def assemble() -> typer.Typer:
    return assembled(topics(), _root)


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
