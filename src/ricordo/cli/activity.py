"""What happened in the background: ``events``, ``counters``, ``daily``; and ``model test``."""

from typing import Annotated

import typer

from ricordo import limits
from ricordo.cli.exit_codes import MODEL_ERROR
from ricordo.cli.formation_tables import counter_table, daily_table, event_table, model_lines
from ricordo.cli.options import AllUsers, Cursor, Limit, Owner, Store
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import open_store, open_user

Days = Annotated[int | None, typer.Option(metavar="N", help="Only the last days, today included.")]
LastDays = Annotated[
    int,
    typer.Option(
        "--days",
        metavar="N",
        help=f"How many, today included (1 to {limits.MAX_DAILY_DAYS}).",
    ),
]


def events(
    *, limit: Limit = limits.DEFAULT_PAGE_ITEMS, cursor: Cursor = None, owner: Owner
) -> None:
    """List what background work did for a user, the latest first."""
    with open_user(owner) as memory:
        page = memory.events(limit=limit, cursor=cursor)
    answer(owner.as_json, page, event_table)


def counters(*, days: Days = None, all_users: AllUsers = False, owner: Owner) -> None:
    """Show how many memories there are, and how often what happened."""
    if all_users:
        with open_store(owner) as memory:
            found = memory.counters(days=days)
    else:
        with open_user(owner) as user_memory:
            found = user_memory.counters(days=days)
    answer(owner.as_json, found, counter_table)


def daily(
    *,
    days: LastDays = limits.DEFAULT_DAILY_DAYS,
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """Show what happened on each of the last days (UTC), today last."""
    if all_users:
        with open_store(owner) as memory:
            found = memory.daily(days=days)
    else:
        with open_user(owner) as user_memory:
            found = user_memory.daily(days=days)
    answer(owner.as_json, found, daily_table)


def test_model(*, store: Store) -> None:
    """Ask the language model something small: what it can do, or what is wrong.

    The exit code is 0 when it answers well.
    """
    with open_store(store) as memory, working("Asking the model", wanted=not store.as_json):
        report = memory.test_model()
    answer(store.as_json, report, model_lines)
    if not report.ok:
        raise typer.Exit(MODEL_ERROR)
