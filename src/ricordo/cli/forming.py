"""From what was said to what is known: ``form``, ``summary`` and ``audit``."""

from typing import Annotated

import typer

from ricordo import limits
from ricordo.cli.formation_tables import audit_table, formation_table, summary_text
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Limit, Owner
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import open_user

FormedThread = Annotated[
    str | None,
    typer.Argument(
        metavar="THREAD",
        help="Conversation to form; all of them when not given.",
        autocompletion=completing_names(Named.THREAD),
    ),
]


def form(*, thread: FormedThread = None, owner: Owner) -> None:
    """Form memories now from what is new in a conversation, or in all of them.

    What is sensitive is not stored but proposed: ricordo proposals

    Example: ricordo form monday
    """
    with open_user(owner) as memory, working("Forming memories", wanted=not owner.as_json):
        report = memory.form(thread)
    answer(owner.as_json, report, formation_table)


def summary(*, owner: Owner) -> None:
    """Tell what is known of a user, as one text."""
    with open_user(owner) as memory, working("Summing up", wanted=not owner.as_json):
        found = memory.summary()
    answer(owner.as_json, found, summary_text)


def audit(*, limit: Limit = limits.DEFAULT_PAGE_ITEMS, owner: Owner) -> None:
    """Look over what is stored: duplicates, contradictions, junk, unverified and expired."""
    with open_user(owner) as memory, working("Looking memories over", wanted=not owner.as_json):
        report = memory.audit(limit=limit)
    answer(owner.as_json, report, audit_table)
