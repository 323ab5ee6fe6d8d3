"""What waits for the user's consent: ``proposals``, ``proposals approve`` and ``… reject``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.formation_tables import proposal_table
from ricordo.cli.options import Acting, Cursor, Limit, Owner, Reason, completing, words
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.model.vocabulary import ProposalState

if TYPE_CHECKING:
    from ricordo.model.item import Added

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
