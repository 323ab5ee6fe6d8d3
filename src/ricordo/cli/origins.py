"""Where memories come from: ``source`` and ``formed``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.conversations import ThreadId
from ricordo.cli.options import Cursor, Limit, MemoryId, Owner
from ricordo.cli.render import Listing, Shown, answer
from ricordo.cli.session import open_user
from ricordo.cli.tables import memory_text, moment_text, more_text

if TYPE_CHECKING:
    from ricordo.model.record import Page
    from ricordo.model.thread import FormedTurn, Turn

FromPosition = Annotated[
    int | None, typer.Option(metavar="N", help="Number of the turn to begin with.")
]


def source(*, memory_id: MemoryId, owner: Owner) -> None:
    """Show what was said that a memory was formed from."""
    with open_user(owner) as memory:
        found = memory.source_turn(memory_id)
    answer(owner.as_json, found, _source_table)


def formed(
    *,
    thread_id: ThreadId,
    from_position: FromPosition = None,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """Show what was said in a conversation, and below each turn the memories that came from it.

    Example: ricordo formed monday --from-position 20
    """
    with open_user(owner) as memory:
        page = memory.formed_turns(
            thread_id, from_position=from_position, limit=limit, cursor=cursor
        )
    answer(owner.as_json, page, _formed_table)


def _source_table(turn: "Turn | None") -> Shown:
    if turn is None:
        return "No recorded turn can be told to be its source."
    row = [turn.thread_id, *_said(turn)]
    return Listing(["Thread", "", "At (UTC)", "Who", "Said"], [row])


def _formed_table(page: "Page[FormedTurn]") -> Shown:
    if not page.items:
        return "Nothing was said in this conversation from there on."
    rows = []
    for one in page:
        rows.append(_said(one.turn))
        rows += [["", "", "", f"→ {item.id} {memory_text(item)}"] for item in one.memories]
    return Listing(["", "At (UTC)", "Who", "Said"], rows, more_text(page.next_cursor))


def _said(turn: "Turn") -> list[str]:
    return [str(turn.position), moment_text(turn.at), turn.actor or turn.role, turn.content]
