"""Recalling: ``get``, ``list``, ``themes``, ``history``, ``lineage`` and ``changes``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.filtering import Filters
from ricordo.cli.options import (
    AllUsers,
    Cursor,
    Limit,
    MemoryId,
    MemoryIds,
    Owner,
    completing,
    words,
)
from ricordo.cli.render import Listing, Shown, answer
from ricordo.cli.session import open_store, open_user
from ricordo.model.filters import SortColumn

if TYPE_CHECKING:
    from ricordo.model.item import Item, Lineage

IncludeDeleted = Annotated[
    bool, typer.Option("--include-deleted", help="Also when it was forgotten but not purged yet.")
]
SortBy = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help=f"Order by one of: {words(SortColumn)}.",
        autocompletion=completing(SortColumn),
    ),
]
Order = Annotated[str, typer.Option(metavar="ORDER", help="asc or desc.")]
Since = Annotated[int, typer.Option(metavar="REVISION", help="Revision after which to begin.")]
ChangeLimit = Annotated[
    int, typer.Option("--limit", metavar="N", help=f"How many at most (1 to {limits.MAX_CHANGES}).")
]


def get(*, ids: MemoryIds, include_deleted: IncludeDeleted = False, owner: Owner) -> None:
    """Show one memory with everything that is known of it, or several in a list.

    Of several, those that do not exist are left out.
    """
    with open_user(owner) as memory:
        if len(ids) == 1:
            item = memory.get(ids[0], include_deleted=include_deleted)
            answer(owner.as_json, item, tables.memory_card)
            return
        found = memory.get_many(ids, include_deleted=include_deleted)
    answer(owner.as_json, found, _several)


def lineage(*, memory_id: MemoryId, owner: Owner) -> None:
    """Show what took the place of a memory, whose place it took, and what undo would take back."""
    with open_user(owner) as memory:
        found = memory.lineage(memory_id)
    answer(owner.as_json, found, _lineage_table)


def list_memories(
    *,
    filters: Filters,
    sort: SortBy = "created_at",
    order: Order = "desc",
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """List memories, the newest first.

    Example: ricordo list --theme drinks --contains tea --sort importance
    """
    given = filters.given()
    paging: dict[str, Any] = {"sort": sort, "order": order, "limit": limit, "cursor": cursor}
    if all_users:
        with open_store(owner) as store:
            page = store.list(**paging, **given)
    else:
        with open_user(owner) as memory:
            page = memory.list(**paging, **given)
    answer(
        owner.as_json,
        page,
        lambda found: tables.memory_table(found, with_owner=all_users, filtered=bool(given)),
    )


def themes(owner: Owner) -> None:
    """List the headings of memories, the most used first."""
    with open_user(owner) as memory:
        found = memory.themes()
    answer(owner.as_json, found, tables.theme_table)


def history(
    *, memory_id: MemoryId, limit: ChangeLimit = limits.DEFAULT_CHANGES, owner: Owner
) -> None:
    """Show what happened to a memory, also to one that is gone."""
    with open_user(owner) as memory:
        found = memory.history(memory_id, limit=limit)
    answer(owner.as_json, found, tables.history_table)


def changes(*, since: Since = 0, limit: ChangeLimit = limits.DEFAULT_CHANGES, owner: Owner) -> None:
    """Show what happened to all memories of a user, the oldest first.

    Every write is one revision; the answer says at which one the user is now.
    """
    with open_user(owner) as memory:
        found = memory.changes(since, limit=limit)
    answer(owner.as_json, found, tables.changes_table)


def _several(found: "tuple[Item, ...]") -> Shown:
    from ricordo.model.record import Page

    return tables.memory_table(Page(found), with_owner=False, filtered=True)


def _lineage_table(found: "Lineage") -> Shown:
    rows = [] if found.successor is None else [_lineage_row("Replaced by", found.successor)]
    rows += [_lineage_row("Took the place of", former) for former in found.predecessors]
    undo = (
        "Nothing to undo."
        if found.undoable is None
        else f"ricordo undo takes back the last {found.undoable}."
    )
    if not rows:
        return f"It took no other memory's place, and none took its. {undo}"
    return Listing(["", "ID", "Memory"], rows, undo)


def _lineage_row(how: str, item: "Item") -> list[str]:
    return [how, str(item.id), tables.memory_text(item)]
