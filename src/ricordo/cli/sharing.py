"""Sharing memories with other users: ``link``, ``unlink`` and ``links``."""

from typing import Annotated

import typer

from ricordo.cli import tables
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Acting, Actor, MemoryId, Owner
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.cli.shapes import Unlinked

Viewer = Annotated[
    str,
    typer.Argument(
        metavar="USER", help="Who shall see it.", autocompletion=completing_names(Named.USER)
    ),
]
FormerViewer = Annotated[
    str | None,
    typer.Argument(
        metavar="USER",
        help="Who shall no longer see it (default: you yourself).",
        autocompletion=completing_names(Named.USER),
    ),
]


def link(*, memory_id: MemoryId, with_user: Viewer, actor: Actor = None, owner: Owner) -> None:
    """Let another user see a memory."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.link(memory_id, with_user)
    answer(owner.as_json, item, tables.done(f"Shared with {with_user}:"))


def unlink(
    *, memory_id: MemoryId, with_user: FormerViewer = None, actor: Actor = None, owner: Owner
) -> None:
    """Take a shared memory out of a user's sight."""
    with open_user(owner, Acting(actor=actor)) as memory:
        memory.unlink(memory_id, with_user)
    viewer = with_user or owner.user
    answer(
        owner.as_json,
        Unlinked(id=memory_id, unlinked=viewer),
        lambda _: f"{viewer} no longer sees {memory_id}.",
    )


def links(memory_id: MemoryId, owner: Owner) -> None:
    """List the users whom a memory is shared with."""
    with open_user(owner) as memory:
        viewers = memory.links(memory_id)
    empty = f"Shared with nobody. Share it: ricordo link {memory_id} USER"
    answer(owner.as_json, viewers, tables.name_table("User", empty))
