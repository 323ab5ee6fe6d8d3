"""What was said: ``threads`` and ``turns``."""

from typing import Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.options import Cursor, Limit, Owner
from ricordo.cli.render import answer
from ricordo.cli.session import open_user

ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="Name of the conversation.")]


def threads(
    *, limit: Limit = limits.DEFAULT_PAGE_ITEMS, cursor: Cursor = None, owner: Owner
) -> None:
    """List conversations, the latest first."""
    with open_user(owner) as memory:
        page = memory.threads(limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.thread_table)


def turns(
    *,
    thread_id: ThreadId,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """Show what was said in a conversation."""
    with open_user(owner) as memory:
        page = memory.turns(thread_id, limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.turn_table)
