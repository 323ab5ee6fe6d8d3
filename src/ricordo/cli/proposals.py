"""Proposals and sharing: ``proposals``, ``link``, ``unlink``, ``links`` and ``senders``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.options import (
    Acting,
    Actor,
    Cursor,
    Limit,
    MemoryId,
    Named,
    Owner,
    Reason,
    completing,
    completing_names,
    words,
)
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.cli.shapes import Unblocked, Unlinked
from ricordo.cli.tables import proposal_table
from ricordo.model.vocabulary import LinkState, ProposalState

if TYPE_CHECKING:
    from ricordo.model.item import Added
    from ricordo.model.proposal import Link

ProposalId = Annotated[int, typer.Argument(metavar="ID", help="Number of the proposal.")]
State = Annotated[
    str,
    typer.Option(
        metavar="STATE",
        help=f"Only those: {words(ProposalState)}, or any.",
        autocompletion=completing(ProposalState),
    ),
]
Decider = Annotated[
    str | None, typer.Option("--actor", metavar="NAME", help="Who decides, as history names them.")
]


def list_proposals(
    *,
    state: State = ProposalState.OPEN.value,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """List what waits: what was said, for consent or for being said again; what others offer."""
    with open_user(owner) as memory:
        page = memory.proposals(state=state, limit=limit, cursor=cursor)
    answer(owner.as_json, page, proposal_table)


def approve(
    *, proposal_id: ProposalId, reason: Reason = None, actor: Decider = None, owner: Owner
) -> None:
    """Store what was proposed, or begin to see what another user offers."""
    with open_user(owner, Acting(actor=actor)) as memory:
        added = memory.approve(proposal_id, reason=reason)
    answer(owner.as_json, added, _approved)


def reject(
    *, proposal_id: ProposalId, reason: Reason = None, actor: Decider = None, owner: Owner
) -> None:
    """Turn down what was proposed: it is forgotten, and not proposed again for long."""
    with open_user(owner, Acting(actor=actor)) as memory:
        proposal = memory.reject(proposal_id, reason=reason)
    answer(owner.as_json, proposal, lambda one: f"Proposal {one.id} is turned down and forgotten.")


def _approved(added: "Added") -> str:
    if added.duplicate:
        return f"Approved; memory {added.id} says so already."
    return f"Approved; {'updated' if added.updated else 'stored as'} memory {added.id}."


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
