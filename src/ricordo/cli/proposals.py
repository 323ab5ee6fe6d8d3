"""Proposals and sharing: ``proposals``, ``link``, ``unlink``, ``links`` and ``senders``."""

from typing import TYPE_CHECKING

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import Unblocked, Unlinked
from ricordo.cli.options import Acting, Actor, Owner
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.model.vocabulary import LinkState
from ricordo.operations import proposals as describe

if TYPE_CHECKING:
    from ricordo.model.item import Added
    from ricordo.model.proposal import Link


def unlink(
    *,
    given: Given = options_of(describe.unlink, with_user="USER"),
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Take a shared memory out of a user's sight, or withdraw the offer of it.

    Without USER, out of your own sight.
    """
    with open_user(owner, Acting(actor=actor)) as memory:
        memory.unlink(**given)
    done = Unlinked(id=given["id"], unlinked=given.get("with_user", owner.user))
    answer(owner.as_json, done, lambda _: f"{done['unlinked']} no longer sees {done['id']}.")


def links(*, given: Given = options_of(describe.links), owner: Owner) -> None:
    """List the users whom a memory is shared with or offered to."""
    with open_user(owner) as memory:
        found = memory.links(**given)
    empty = f"Shared with nobody. Offer it: ricordo link {given['id']} USER"
    answer(owner.as_json, found, tables.link_table(empty))


def unblock(
    *, given: Given = options_of(describe.unblock_sender, sender="USER"), owner: Owner
) -> None:
    """Let another user offer memories again."""
    with open_user(owner) as memory:
        memory.unblock_sender(**given)
    done = Unblocked(unblocked=given["sender"])
    answer(owner.as_json, done, lambda _: f"{given['sender']} can offer you memories again.")


def _approved(added: "Added") -> str:
    if added.duplicate:
        return f"Approved; memory {added.id} says so already."
    return f"Approved; {'updated' if added.updated else 'stored as'} memory {added.id}."


def _linked(made: "Link") -> str:
    if made.state is LinkState.ACCEPTED:
        return f"Memory {made.id} is shared with {made.user_id}."
    return f"Memory {made.id} is offered to {made.user_id}, who sees it once they accept it."


list_proposals = command_of(describe.proposals, tables.proposal_table)
approve = command_of(describe.approve, _approved, names_actor=True)
reject = command_of(
    describe.reject,
    lambda one: f"Proposal {one.id} is turned down and forgotten.",
    names_actor=True,
)
link = command_of(describe.link, _linked, names_actor=True, with_user="USER")
blocked = command_of(describe.blocked_senders, tables.blocked_table)
block = command_of(
    describe.block_sender,
    lambda one: f"{one.user_id} can offer you nothing any more.",
    sender="USER",
)
