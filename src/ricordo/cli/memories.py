"""Memories: ``add``, ``merge``, ``get``, ``list``, ``history``, and ``archive`` to ``purge``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.input import read_batch, read_text
from ricordo.cli.options import (
    Acting,
    Actor,
    AllUsers,
    Cursor,
    Filters,
    Limit,
    MemoryId,
    MemoryIds,
    MemoryOptions,
    Named,
    Owner,
    Reason,
    Yes,
    completing,
    completing_names,
    words,
)
from ricordo.cli.render import Shown, TableListing, answer, confirm, working
from ricordo.cli.session import open_store, open_user
from ricordo.cli.shapes import Purged
from ricordo.errors import InvalidValue
from ricordo.model.filters import SortColumn
from ricordo.model.vocabulary import ContextPolicy

if TYPE_CHECKING:
    from ricordo.model.item import Added, Item, Lineage

Content = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")
]
Batch = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Add many: a JSON object or a text on each line; - reads standard input."
        " The other options hold for what a line leaves open.",
    ),
]
Supersedes = Annotated[
    int | None, typer.Option(metavar="ID", help="Memory that this takes the place of.")
]
Into = Annotated[
    str, typer.Option("--into", metavar="TEXT", help="What they become; - reads standard input.")
]
MergedIds = Annotated[
    list[int], typer.Argument(metavar="ID", help="Numbers of the memories to merge.")
]


def add(
    *,
    content: Content = None,
    batch: Batch = None,
    draft: MemoryOptions,
    supersedes: Supersedes = None,
    reason: Reason = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Remember something, or many things.

    The same text in the same theme is not stored twice. What has the same --key is updated.

    Example: ricordo add "Prefers tea to coffee" --theme drinks --type preference
    """
    if batch is not None:
        _add_batch(batch, draft, acting, owner, reason, (content, supersedes))
        return
    if content is None:
        raise InvalidValue("content", "is missing; say what to remember: ricordo add 'TEXT'")
    text = read_text(content)
    with open_user(owner, acting) as memory:
        added = memory.add(text, supersedes=supersedes, reason=reason, **draft.given())
    answer(owner.as_json, added, _sentence)


def merge(
    *,
    ids: MergedIds,
    into: Into,
    draft: MemoryOptions,
    reason: Reason = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Put one memory in the place of several; those are kept as history.

    Example: ricordo merge 3 5 --into "Prefers green tea, without sugar"
    """
    text = read_text(into)
    with open_user(owner, acting) as memory:
        added = memory.merge(ids, {"content": text, **draft.given()}, reason=reason)
    answer(owner.as_json, added, _sentence)


def _add_batch(
    path: Path,
    draft: MemoryOptions,
    acting: Acting,
    owner: Owner,
    reason: str | None,
    singular: tuple[str | None, int | None],
) -> None:
    if singular != (None, None):
        raise InvalidValue("batch", "takes its memories from the file: no TEXT, no --supersedes")
    drafts = read_batch(path, draft.given())
    with open_user(owner, acting) as memory, working("Adding", wanted=not owner.as_json):
        added = memory.add_many(drafts, reason=reason)
    answer(owner.as_json, added, _summary)


def _sentence(added: "Added") -> str:
    if added.duplicate:
        return f"Known already, as {added.id}."
    return f"Updated {added.id}." if added.updated else f"Remembered as {added.id}."


def _summary(added: "Sequence[Added]") -> str:
    outcomes = Counter(
        "known" if one.duplicate else "updated" if one.updated else "new" for one in added
    )
    return (
        f"Remembered {outcomes['new']}, updated {outcomes['updated']},"
        f" known already {outcomes['known']}."
    )


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
    return TableListing(["", "ID", "Memory"], rows, undo)


def _lineage_row(how: str, item: "Item") -> list[str]:
    return [how, str(item.id), tables.memory_text(item)]


OptionalId = Annotated[int | None, typer.Argument(metavar="ID", help="Number of the memory.")]
Key = Annotated[
    str | None, typer.Option(metavar="NAME", help="Instead of a number: what has this key.")
]
KeyTheme = Annotated[
    str | None,
    typer.Option(
        "--theme",
        "--category",
        metavar="NAME",
        help="Only the key in this theme.",
        autocompletion=completing_names(Named.THEME),
    ),
]
Expect = Annotated[
    str | None,
    typer.Option(
        metavar="MOMENT", help="Only if it was last changed exactly then (its updated_at)."
    ),
]
Off = Annotated[bool, typer.Option("--off", help="Stop protecting it.")]
Slug = Annotated[
    str,
    typer.Argument(
        metavar="THEME",
        help="The theme, in any spelling.",
        autocompletion=completing_names(Named.THEME),
    ),
]
DisplayName = Annotated[
    str | None, typer.Option("--name", metavar="TEXT", help="What it is called.")
]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="What belongs under it.")]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        help="Note for whoever builds prompts: all of it, or what is relevant"
        f" ({words(ContextPolicy)}).",
        autocompletion=completing(ContextPolicy),
    ),
]
RagLength = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Note for whoever builds prompts: how many of its memories to show."
    ),
]
Now = Annotated[bool, typer.Option("--now", help="Also those whose time has not come.")]


def archive(
    *,
    memory_id: MemoryId,
    reason: Reason = None,
    expect: Expect = None,
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Put a memory aside: kept, but out of lists unless asked for with --status."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.archive(memory_id, reason=reason, expected_updated_at=expect)
    answer(owner.as_json, item, tables.done("Archived"))


def restore(
    *,
    memory_id: MemoryId,
    reason: Reason = None,
    expect: Expect = None,
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Bring back a memory that was archived or forgotten."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.restore(memory_id, reason=reason, expected_updated_at=expect)
    answer(owner.as_json, item, tables.done("Restored"))


def forget(
    *,
    memory_id: OptionalId = None,
    key: Key = None,
    theme: KeyTheme = None,
    reason: Reason = None,
    expect: Expect = None,
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Forget a memory, by its number or by its key.

    It can be restored for a while, and is then removed for good.

    Example: ricordo forget --key home --theme places
    """
    with open_user(owner, Acting(actor=actor)) as memory:
        items = memory.forget(
            memory_id, key=key, theme=theme, reason=reason, expected_updated_at=expect
        )
    answer(owner.as_json, items, _forgotten)


def pin(
    *,
    memory_id: MemoryId,
    off: Off = False,
    expect: Expect = None,
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Mark a memory as one to keep, or take the mark away."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.pin(memory_id, not off, expected_updated_at=expect)
    answer(owner.as_json, item, tables.done("No longer pinned:" if off else "Pinned"))


def verify(
    *, memory_id: MemoryId, expect: Expect = None, actor: Actor = None, owner: Owner
) -> None:
    """Note that a memory was found to be still true."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.verify(memory_id, expected_updated_at=expect)
    answer(owner.as_json, item, tables.done("Verified"))


def undo(
    *,
    memory_id: MemoryId,
    reason: Reason = None,
    expect: Expect = None,
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Bring back a memory that was superseded or merged, or take back its last update."""
    with open_user(owner, Acting(actor=actor)) as memory:
        item = memory.undo(memory_id, reason=reason, expected_updated_at=expect)
    answer(owner.as_json, item, tables.done("Back again:"))


def theme(
    *,
    slug: Slug,
    name: DisplayName = None,
    description: Description = None,
    context: Context = None,
    rag_length: RagLength = None,
    owner: Owner,
) -> None:
    """Change the name, description and context policy of a theme.

    Example: ricordo theme drinks --name "Food and drink" --context all
    """
    with open_user(owner) as memory:
        changed = memory.describe_theme(
            slug, display_name=name, description=description, context=context, rag_length=rag_length
        )
    answer(owner.as_json, changed, lambda found: tables.theme_table([found]))


def purge(*, now: Now = False, all_users: AllUsers = False, yes: Yes = False, owner: Owner) -> None:
    """Remove forgotten memories for good whose time has come."""
    if now and not yes:
        whose = "all users" if all_users else owner.name
        confirm(f"removes every forgotten memory of {whose} for good", "purge")
    with working("Removing for good", wanted=not owner.as_json):
        if all_users:
            with open_store(owner) as store:
                count = store.purge(before_time=now)
        else:
            with open_user(owner) as memory:
                count = memory.purge(before_time=now)
    answer(owner.as_json, Purged(purged=count), lambda _: f"Removed for good: {count}.")


def _forgotten(items: "Sequence[Item]") -> str:
    return "\n".join(tables.done("Forgotten")(item) for item in items)
