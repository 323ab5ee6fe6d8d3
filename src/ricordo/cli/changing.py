"""Changing what is remembered, from ``archive`` to ``purge``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli import tables
from ricordo.cli.confirming import confirm
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import (
    Acting,
    Actor,
    AllUsers,
    MemoryId,
    Owner,
    Reason,
    Yes,
    completing,
    words,
)
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import open_store, open_user
from ricordo.cli.shapes import Purged
from ricordo.model.vocabulary import ContextPolicy

if TYPE_CHECKING:
    from ricordo.model.item import Item

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
            slug,
            display_name=name,
            description=description,
            context=context,
            rag_length=rag_length,
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
