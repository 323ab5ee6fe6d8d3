"""Whether the role that is connected is bound by row-level security, and who could change that."""

import re
from typing import Final

import sqlalchemy as sa

from ricordo.errors import AccessDenied
from ricordo.storage.postgres.isolation import policies
from ricordo.storage.tables import OWNED_TABLES

_TABLES: Final = [table.name for table in OWNED_TABLES]

# A role can do what any role can that it belongs to, at least after SET ROLE. The tables are those
# to which their names alone lead, on the search path.
_LIBERTIES: Final = """
    SELECT role.rolname,
           role.rolsuper,
           role.rolbypassrls,
           role.rolcreaterole,
           role.rolreplication,
           role.rolname IN (
               'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'
           ),
           role.oid IN (
               SELECT unnest(ARRAY[relowner, nspowner])
               FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE relname = ANY (%(tables)s) AND relkind IN ('r', 'p')
                 AND pg_table_is_visible(pg_class.oid)
           ),
           EXISTS (
               SELECT FROM pg_class
               WHERE relname = ANY (%(tables)s) AND relkind IN ('r', 'p')
                 AND pg_table_is_visible(oid)
                 AND has_table_privilege(role.oid, oid, 'TRUNCATE, TRIGGER')
           ),
           EXISTS (
               SELECT FROM pg_class CROSS JOIN pg_partition_tree(pg_class.oid) AS piece
               WHERE relname = ANY (%(tables)s) AND relkind = 'p' AND pg_table_is_visible(oid)
                 AND piece.relid <> pg_class.oid
                 AND has_table_privilege(
                     role.oid, piece.relid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER'
                 )
           )
    FROM pg_roles AS role
    WHERE pg_has_role(%(role)s, role.oid, 'MEMBER')
    ORDER BY role.rolname <> %(role)s, role.rolname
"""
_FREEDOMS: Final = (
    "is a superuser",
    "has BYPASSRLS",
    "has CREATEROLE",  # up to PostgreSQL 15 it can give itself any role
    "has REPLICATION",  # it can copy the whole server
    "reaches the files of the server",
    "owns tables of ricordo or their schema",
    "may empty tables of ricordo or set triggers on them",  # policies do not ask about either
    "may use partitions of ricordo's tables directly",  # policies bind who goes through the table
)
_SECURED: Final = """
    SELECT relname FROM pg_class
    WHERE relname = ANY (%(tables)s) AND relkind IN ('r', 'p') AND pg_table_is_visible(oid)
      AND relrowsecurity
"""
_POLICIES: Final = """
    SELECT relname, polname, polcmd, polpermissive AND polroles = '{0}',
           coalesce(pg_get_expr(polqual, polrelid), ''),
           coalesce(pg_get_expr(polwithcheck, polrelid), '')
    FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
    WHERE relname = ANY (%(tables)s) AND pg_table_is_visible(pg_class.oid)
"""
_COMMANDS: Final = {"ALL": "*", "SELECT": "r", "INSERT": "a", "UPDATE": "w", "DELETE": "d"}
# What PostgreSQL adds or changes when it shows an expression: brackets, names of columns that have
# none, the type of each text, the table of each column.
_ADDED: Final = re.compile(r'[\s()]|\bas "?[?\w]+"?|::text(\[\])?|\b\w+\.', re.IGNORECASE)
_GIVEN: Final = """
    SELECT name FROM unnest(ARRAY['ricordo.users', 'ricordo.all_users']) AS name
    WHERE current_setting(name, true) <> ''
"""
_OWNER: Final = """
    SELECT pg_get_userbyid(relowner) FROM pg_class
    WHERE relname = ANY (%(tables)s) AND relkind IN ('r', 'p') AND pg_table_is_visible(oid)
      AND NOT pg_has_role(current_user, relowner, 'USAGE')
    ORDER BY 1 LIMIT 1
"""


def confinement_problem(connection: sa.Connection) -> str | None:
    """What would let the connected role past row-level security, in a sentence; None if nothing.

    To be asked in a transaction that has not yet said for whom it acts.
    """
    # A session that has changed its role can change it back.
    for role in connection.exec_driver_sql("SELECT current_user, session_user").one():
        freedom = freedom_of(connection, role)
        if freedom is not None:
            return freedom
    given_before = connection.exec_driver_sql(_GIVEN).scalars().all()
    if given_before:
        return f"every session begins with {' and '.join(given_before)} set"
    return security_problem(connection)


def security_problem(connection: sa.Connection) -> str | None:
    """In what the row-level security of the tables is not as it should be; None if in nothing."""
    given = {"tables": _TABLES}
    secured = connection.exec_driver_sql(_SECURED, given).scalars()
    open_tables = sorted(set(_TABLES).difference(secured))
    if open_tables:
        return f"row-level security is off for {', '.join(open_tables)}"
    wanted = {
        (one.table, one.name, _COMMANDS[one.command], True, *map(_bare, one.clauses))
        for one in policies()
    }
    present = {
        (*policy, _bare(seen), _bare(made))
        for *policy, seen, made in connection.exec_driver_sql(_POLICIES, given)
    }
    differing = sorted({str(policy[0]) for policy in wanted ^ present})
    if differing:
        return f"the row-level security of {', '.join(differing)} is not that of this ricordo"
    return None


def _bare(expression: str) -> str:
    """An expression of a policy without what differs between writing and showing it."""
    return _ADDED.sub("", expression).lower()


def freedom_of(connection: sa.Connection, role: str) -> str | None:
    """What would let a role past row-level security, in a sentence; None if nothing."""
    given = {"tables": _TABLES, "role": role}
    liberties = connection.exec_driver_sql(_LIBERTIES, given).all()
    for place, freedom in enumerate(_FREEDOMS, start=1):
        for name in (row[0] for row in liberties if row[place]):
            which = repr(name) if name == role else f"{name!r}, to which {role!r} belongs,"
            return f"the role {which} {freedom}"
    return None


def owner_elsewhere(connection: sa.Connection) -> str | None:
    """The role that owns the tables, where the connected one may not act as it."""
    found: str | None = connection.exec_driver_sql(_OWNER, {"tables": _TABLES}).scalar()
    return found


def require_owner(connection: sa.Connection, action: str) -> None:
    """Refuse what only the owner of the tables can do.

    Raises:
        AccessDenied: they belong to another role.
    """
    owner = owner_elsewhere(connection)
    if owner is not None:
        raise AccessDenied(f"only the role that owns the tables, {owner!r}, can {action}")
