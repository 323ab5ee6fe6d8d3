"""Row-level security: PostgreSQL itself keeps every user's rows apart.

Each transaction says for whom it acts, and then no statement of it can reach a row of anybody else,
whatever its WHERE clause says. A transaction that has not said so reaches nothing. It is said by
settings that end with the transaction, so a connection never carries them into the next one.

The policies bind every role but the owner of the tables and superusers; ``confinement.py`` looks
whether a role is bound.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.index_tables import item_index
from ricordo.storage.service_tables import api_keys
from ricordo.storage.sharing_tables import link_offers
from ricordo.storage.tables import OWNED_TABLES, items, links, users

ACT_FOR: Final = "SELECT set_config('ricordo.users', %s, true)"
"""Act for these users (see :func:`array_of`) from now to the end of the transaction."""

ACT_FOR_ALL: Final = "SELECT set_config('ricordo.all_users', %s, true)"
"""Act for everybody (``on``), or no longer, from now to the end of the transaction."""

# In sub-selects, which are worked out once for a statement and not for every row. A setting that
# was made in an earlier transaction of the connection is there, but empty.
_SETTING: Final = "nullif(current_setting('ricordo.users', true), '')"
ACTING: Final = f"(SELECT coalesce({_SETTING}, '{{}}')::text[])::text[]"
"""For whom the transaction acts, as an SQL expression."""

ALL: Final = "(SELECT coalesce(current_setting('ricordo.all_users', true) = 'on', false))"
"""Whether it acts for everybody, as an SQL expression."""

_FOR_ANYBODY: Final = f"(SELECT {_SETTING} IS NOT NULL)"
_OWN: Final = f"user_id = ANY ({ACTING}) OR {ALL}"
_GLOBAL: Final = f"user_id = '{GLOBAL_OWNER}' AND {_FOR_ANYBODY}"
_LINKED: Final = (
    f"(user_id, id) IN (SELECT owner_id, item_id FROM links WHERE links.user_id = ANY ({ACTING}))"  # noqa: S608
)
_GRANTED: Final = f"owner_id = ANY ({ACTING})"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of a table: which rows a command may reach."""

    table: str
    name: str
    command: str
    rows: str

    @property
    def clauses(self) -> tuple[str, str]:
        """Which rows may be touched, and which may be made (nothing said: the same)."""
        return ("", self.rows) if self.command == "INSERT" else (self.rows, "")

    @property
    def statement(self) -> str:
        """The statement that makes it."""
        clause = "WITH CHECK" if self.command == "INSERT" else "USING"
        return (
            f"CREATE POLICY {self.name} ON {self.table} FOR {self.command} {clause} ({self.rows})"
        )


def array_of(users: Iterable[str]) -> str:
    """Names as PostgreSQL writes an array of texts; each in quotes, so that none can be more."""
    escaped = (name.replace("\\", "\\\\").replace('"', '\\"') for name in sorted(users))
    return "{" + ",".join(f'"{name}"' for name in escaped) + "}"


def policies() -> Iterator[Policy]:
    """Every policy that there is; no table with users' rows is left out."""
    for table in OWNED_TABLES:
        if table is api_keys:  # whoever shows a key is not known before it is found
            yield Policy(table.name, "ricordo_all", "ALL", ALL)
        elif table is links:
            yield from _of_links()
        elif table is link_offers:
            yield from _of_offers()
        else:
            yield Policy(table.name, "ricordo_own", "ALL", _OWN)
    # PostgreSQL looks at the policy first whose name is last in the alphabet: for nearly every row
    # it is decided by "own", and links are not looked at.
    for table in (items, item_index):
        yield Policy(table.name, "ricordo_lent", "SELECT", f"({_GLOBAL}) OR {_LINKED}")
    # How far the index of the global memories has come is needed to search them.
    yield Policy(users.name, "ricordo_lent", "SELECT", _GLOBAL)


def rows_within_reach(index: sa.Table) -> str:
    """Which rows of a search index can be found by whom a transaction acts for, as SQL.

    Those that are linked to them are left out: they are few, and read otherwise.
    """
    return f"{_OWN} OR ({_GLOBAL})" if index is item_index else _OWN


def _of_links() -> Iterator[Policy]:
    """Both sides see a link and can end it, and both must be there to make one: neither the owner
    of a memory can put it before somebody, nor can anybody take it."""
    for command in ("SELECT", "DELETE"):
        rows = f"{_OWN} OR {_GRANTED}"
        yield Policy(links.name, f"ricordo_either_{command.lower()}", command, rows)
    for command in ("INSERT", "UPDATE"):
        rows = f"(user_id = ANY ({ACTING}) AND {_GRANTED}) OR {ALL}"
        yield Policy(links.name, f"ricordo_both_{command.lower()}", command, rows)


def _of_offers() -> Iterator[Policy]:
    """Both sides see an offer and can end it; only where its viewer is there, it is made or
    decided."""
    for command in ("SELECT", "DELETE"):
        rows = f"{_OWN} OR {_GRANTED}"
        yield Policy(link_offers.name, f"ricordo_either_{command.lower()}", command, rows)
    for command in ("INSERT", "UPDATE"):
        yield Policy(link_offers.name, f"ricordo_viewer_{command.lower()}", command, _OWN)


def secure(connection: sa.Connection) -> None:
    """Switch row-level security on for every table with users' rows, with just these policies.

    Not a step of the migrations, but done after them: what is there before is made anew, so the
    policies are always those of this description.
    """
    present = connection.exec_driver_sql(
        "SELECT quote_ident(polname), quote_ident(relname)"
        " FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid"
        " WHERE relnamespace = current_schema()::regnamespace AND relname = ANY (%s)",
        ([table.name for table in OWNED_TABLES],),
    )
    for name, table_name in present.all():
        connection.exec_driver_sql(f"DROP POLICY {name} ON {table_name}".replace("%", "%%"))
    for table in OWNED_TABLES:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY")
    for policy in policies():
        connection.exec_driver_sql(policy.statement)
