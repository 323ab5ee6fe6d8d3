"""Sharing memories with other users: ``link``, ``unlink``, ``links`` and ``senders``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli import tables
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Acting, Actor, MemoryId, Owner
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.cli.shapes import Unblocked, Unlinked
from ricordo.model.vocabulary import LinkState

if TYPE_CHECKING:
    from ricordo.model.proposal import Link

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
Sender = Annotated[
    str,
    typer.Argument(
        metavar="USER", help="The other user.", autocompletion=completing_names(Named.USER)
    ),
]


def link(*, memory_id: MemoryId, with_user: Viewer, actor: Actor = None, owner: Owner) -> None:
    """Offer a memory to another user, who sees it once they have accepted it."""
    with open_user(owner, Acting(actor=actor)) as memory:
        made = memory.link(memory_id, with_user)
    answer(owner.as_json, made, _linked)


def unlink(
    *, memory_id: MemoryId, with_user: FormerViewer = None, actor: Actor = None, owner: Owner
) -> None:
    """Take a shared memory out of a user's sight, or withdraw the offer of it."""
    with open_user(owner, Acting(actor=actor)) as memory:
        memory.unlink(memory_id, with_user)
    viewer = with_user or owner.user
    answer(
        owner.as_json,
        Unlinked(id=memory_id, unlinked=viewer),
        lambda _: f"{viewer} no longer sees {memory_id}.",
    )


def links(memory_id: MemoryId, owner: Owner) -> None:
    """List the users whom a memory is shared with or offered to."""
    with open_user(owner) as memory:
        found = memory.links(memory_id)
    empty = f"Shared with nobody. Offer it: ricordo link {memory_id} USER"
    answer(owner.as_json, found, tables.link_table(empty))


def blocked(owner: Owner) -> None:
    """List the users who can offer you nothing."""
    with open_user(owner) as memory:
        found = memory.blocked_senders()
    answer(owner.as_json, found, tables.blocked_table)


def block(*, sender: Sender, owner: Owner) -> None:
    """Want nothing of another user: what they offer and share ends, and nothing new comes."""
    with open_user(owner) as memory:
        made = memory.block_sender(sender)
    answer(owner.as_json, made, lambda one: f"{one.user_id} can offer you nothing any more.")


def unblock(*, sender: Sender, owner: Owner) -> None:
    """Let another user offer memories again."""
    with open_user(owner) as memory:
        memory.unblock_sender(sender)
    answer(
        owner.as_json,
        Unblocked(unblocked=sender),
        lambda _: f"{sender} can offer you memories again.",
    )


def _linked(made: "Link") -> str:
    if made.state is LinkState.ACCEPTED:
        return f"Memory {made.id} is shared with {made.user_id}."
    return f"Memory {made.id} is offered to {made.user_id}, who sees it once they accept it."
