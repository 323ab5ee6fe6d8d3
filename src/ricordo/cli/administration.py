"""The store as a whole: ``users``, ``erase`` and ``version``."""

import platform
import sqlite3
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.confirming import confirm
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Limit, Store, Yes
from ricordo.cli.progress import working
from ricordo.cli.render import Listing, answer
from ricordo.cli.session import open_store, untouched_database
from ricordo.cli.shapes import Versions
from ricordo.version import __version__

if TYPE_CHECKING:
    from ricordo.model.reports import ErasureReceipt

After = Annotated[str, typer.Option(metavar="NAME", help="Last user of the page before.")]
Erased = Annotated[
    str,
    typer.Argument(
        metavar="USER",
        help="Whose every trace is removed.",
        autocompletion=completing_names(Named.USER),
    ),
]


def users(*, limit: Limit = limits.DEFAULT_PAGE_ITEMS, after: After = "", store: Store) -> None:
    """List the users who have anything stored."""
    with open_store(store) as memory:
        names = memory.users(limit=limit, after=after)
    empty = "No users yet. Add a memory: ricordo add -u NAME 'TEXT'"
    answer(store.as_json, names, tables.name_table("User", empty))


def erase(*, user_id: Erased, yes: Yes = False, store: Store) -> None:
    """Remove every trace of a user, for good, and show the receipt."""
    if not yes:
        confirm(f"removes everything of user {user_id!r} for good", user_id)
    with open_store(store) as memory, working("Erasing", wanted=not store.as_json):
        receipt = memory.erase_user(user_id)
    answer(store.as_json, receipt, _receipt)


def version(store: Store) -> None:
    """Show the versions in use, and where the database is."""
    with untouched_database(store) as database:
        location = database.backend.location
    found = Versions(
        version=__version__,
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        database=location,
    )
    rows = [[name, str(value)] for name, value in found.items()]
    answer(store.as_json, found, lambda _: Listing([], rows))


def _receipt(receipt: "ErasureReceipt") -> str:
    moment = receipt.erased_at.isoformat(sep=" ", timespec="seconds")
    rows = ", ".join(f"{table} {count}" for table, count in receipt.removed.items())
    later = "" if receipt.scrubbed else "\nFreed space is overwritten later: ricordo jobs run"
    return f"Erased user {receipt.user_id!r} at {moment}. Removed: {rows}.{later}"
