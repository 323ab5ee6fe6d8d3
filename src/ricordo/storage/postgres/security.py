"""Row-level security: policies, and the roles that they bind.

Each transaction sets the users it acts for, and no statement can then reach anybody else's rows,
whatever its WHERE clause. Without that it reaches nothing. The settings end with the transaction.
The policies bind every role except the tables' owner and superusers.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import sqlalchemy as sa
from psycopg import sql

from ricordo.errors import AccessDenied, InvalidValue, RoleNotConfined
from ricordo.frozen import dataclass
from ricordo.model.vocabulary import GLOBAL_OWNER, GroupRole
from ricordo.storage.migration import VERSION_TABLE
from ricordo.storage.sql import driver_of
from ricordo.storage.tables import (
    ID_SERIES,
    INDEXED,
    OWNED_TABLES,
    Indexed,
    api_keys,
    checked_pairs,
    events,
    grant_tokens,
    grants,
    group_members,
    groups,
    history,
    item_index,
    items,
    jobs,
    kept_answers,
    link_offers,
    links,
    metadata,
    proposals,
    relations,
    summaries,
    tallies,
    themes,
    upkeep,
    users,
)

ACT_FOR: Final = "SELECT set_config('ricordo.users', %s, true)"
"""Act for these users (see :func:`array_of`) until the end of the transaction."""

ACT_FOR_ALL: Final = "SELECT set_config('ricordo.all_users', %s, true)"
"""Act for everybody (``on``), or stop it, until the end of the transaction."""

# In sub-selects, which are evaluated once per statement, not per row. A setting from an earlier
# transaction of the connection exists, but is empty.
_SETTING: Final = "nullif(current_setting('ricordo.users', true), '')"
ACTING: Final = f"(SELECT coalesce({_SETTING}, '{{}}')::text[])::text[]"
"""The users the transaction acts for, as an SQL expression."""

ALL: Final = "(SELECT coalesce(current_setting('ricordo.all_users', true) = 'on', false))"
"""Whether it acts for everybody, as an SQL expression."""

_FOR_ANYBODY: Final = f"(SELECT {_SETTING} IS NOT NULL)"
_OWN: Final = f"user_id = ANY ({ACTING}) OR {ALL}"
_GLOBAL: Final = f"user_id = '{GLOBAL_OWNER}' AND {_FOR_ANYBODY}"
_LINKED: Final = (
    f"(user_id, id) IN (SELECT owner_id, item_id FROM links WHERE links.user_id = ANY ({ACTING}))"  # noqa: S608
)
_GRANTED: Final = f"owner_id = ANY ({ACTING})"
_SPACES: Final = "ricordo_spaces"
"""The function that finds the spaces of the groups in which those the transaction acts for have one
of some roles. The policies of ``group_members`` cannot ask that table themselves."""


def _spaces(needed: GroupRole, schema: str = "") -> str:
    """The spaces in which a role is enough, as an SQL expression that is evaluated once."""
    roles = ",".join(role.value for role in GroupRole if role.allows(needed))
    return f"(SELECT {schema}{_SPACES}('{{{roles}}}'))::text[]"


SHARED_TABLES: Final = (
    items,
    item_index,
    relations,
    themes,
    history,
    users,
    proposals,
    summaries,
    jobs,
    events,
    tallies,
    upkeep,
    checked_pairs,
    kept_answers,
)
"""What members read and write in the space of their group. Conversations, states of programs and
settings belong to users alone."""

UNKNOWN_BEFORE: Final = (api_keys, grants, grant_tokens)
"""Tables whose user is known only when the row is found."""
_TABLES: Final = [table.name for table in OWNED_TABLES]
# A role has the rights of every role it is a member of, at least after SET ROLE. Tables are
# resolved by the search path.
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
# What PostgreSQL adds to an expression: brackets, column aliases, text casts, table prefixes.
_ADDED: Final = re.compile(r'[\s()]|\bas "?[?\w]+"?|::text(\[\])?|\b\w+\.', re.IGNORECASE)
_SPACES_FUNCTION: Final = """
    SELECT prosrc, prosecdef, array_to_string(proconfig, ',')
    FROM pg_proc WHERE proname = %s AND pg_function_is_visible(oid)
"""
_READERS: Final = """
    SELECT DISTINCT quote_ident(grantee) FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND table_name = %s AND privilege_type = 'SELECT'
      AND grantee <> 'PUBLIC'
"""
_PLACE_OF_MEMBERS: Final = """
    SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = 'group_members'::regclass
"""
_OWN_SEARCH_PATH: Final = "search_path=pg_catalog, pg_temp"

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

_MAX_NAME_BYTES: Final = 63  # PostgreSQL cuts longer names off, which would make them another's
_CREATE: Final = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE")
_ROWS: Final = sql.SQL("SELECT, INSERT, UPDATE, DELETE")
_NUMBERS: Final = sql.SQL("USAGE, UPDATE")  # an import keeps its numbers: UPDATE
_CALLS: Final = sql.SQL("EXECUTE")


@dataclass(frozen=True, slots=True)
class RowPolicy:
    table: str
    name: str
    command: str
    rows: str

    @property
    def clauses(self) -> tuple[str, str]:
        """The USING and WITH CHECK expressions; if empty, the same."""
        return ("", self.rows) if self.command == "INSERT" else (self.rows, "")

    @property
    def statement(self) -> str:
        clause = "WITH CHECK" if self.command == "INSERT" else "USING"
        return (
            f"CREATE POLICY {self.name} ON {self.table} FOR {self.command} {clause} ({self.rows})"
        )


def array_of(users: Iterable[str]) -> str:
    """An array literal of texts, each quoted against injection."""
    escaped = (name.replace("\\", "\\\\").replace('"', '\\"') for name in sorted(users))
    return "{" + ",".join(f'"{name}"' for name in escaped) + "}"


def policies() -> Iterator[RowPolicy]:
    """All policies; every table with users' rows has one."""
    for table in OWNED_TABLES:
        if table in UNKNOWN_BEFORE:
            yield RowPolicy(table.name, "ricordo_all", "ALL", ALL)
        elif table in (links, link_offers):  # both sides see one and can remove it
            for command in ("SELECT", "DELETE"):
                rows = f"{_OWN} OR {_GRANTED}"
                yield RowPolicy(table.name, f"ricordo_either_{command.lower()}", command, rows)
        elif table is group_members:
            yield from _of_members()
        else:
            yield RowPolicy(table.name, "ricordo_own", "ALL", _OWN)
    yield from _in_spaces()
    for command in ("INSERT", "UPDATE"):
        # It takes both to create a link; only the viewer creates or decides an offer.
        rows = f"(user_id = ANY ({ACTING}) AND {_GRANTED}) OR {ALL}"
        yield RowPolicy(links.name, f"ricordo_both_{command.lower()}", command, rows)
        yield RowPolicy(link_offers.name, f"ricordo_viewer_{command.lower()}", command, _OWN)
    # PostgreSQL evaluates the policy last in the alphabet first: "own" decides nearly every row
    # without reading links.
    for table in (items, item_index):
        yield RowPolicy(table.name, "ricordo_lent", "SELECT", f"({_GLOBAL}) OR {_LINKED}")
    # Searching the global memories needs the state of their index.
    yield RowPolicy(users.name, "ricordo_lent", "SELECT", _GLOBAL)


def _of_members() -> Iterator[RowPolicy]:
    """Members see one another. Who manages them changes them, and anybody can leave."""
    managed = f"space_id = ANY ({_spaces(GroupRole.MANAGE)}) OR {ALL}"
    shown = f"{_OWN} OR space_id = ANY ({_spaces(GroupRole.READ)})"
    yield RowPolicy(group_members.name, "ricordo_member_select", "SELECT", shown)
    yield RowPolicy(group_members.name, "ricordo_member_delete", "DELETE", f"{_OWN} OR {managed}")
    for command in ("INSERT", "UPDATE"):
        yield RowPolicy(group_members.name, f"ricordo_member_{command.lower()}", command, managed)


def _in_spaces() -> Iterator[RowPolicy]:
    """Members read what their group shares; with a role that allows it they write it."""
    for table in (*SHARED_TABLES, groups):
        shared = f"user_id = ANY ({_spaces(GroupRole.READ)})"
        yield RowPolicy(table.name, "ricordo_group_select", "SELECT", shared)
    for table in SHARED_TABLES:
        shared = f"user_id = ANY ({_spaces(GroupRole.WRITE)})"
        for command in ("INSERT", "UPDATE", "DELETE"):
            yield RowPolicy(table.name, f"ricordo_group_{command.lower()}", command, shared)


def rows_within_reach(index: sa.Table, schema: str = "") -> str:
    """The rows of a search index that the transaction may find, as SQL.

    Without linked ones: they are few, and read separately. ``schema`` goes before the names of our
    functions.
    """
    if index is not item_index:
        return _OWN
    return f"{_OWN} OR ({_GLOBAL}) OR user_id = ANY ({_spaces(GroupRole.READ, schema)})"


def secure(connection: sa.Connection) -> None:
    """Enable row-level security on every table with users' rows, with exactly these policies.

    Runs after the migrations and replaces existing policies.
    """
    present = connection.exec_driver_sql(
        "SELECT quote_ident(polname), quote_ident(relname)"
        " FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid"
        " WHERE relnamespace = current_schema()::regnamespace AND relname = ANY (%s)",
        ([table.name for table in OWNED_TABLES],),
    )
    for name, table_name in present.all():
        connection.exec_driver_sql(f"DROP POLICY {name} ON {table_name}".replace("%", "%%"))
    make_spaces_function(connection)
    for reader in connection.exec_driver_sql(_READERS, (items.name,)).scalars().all():
        grant = f"GRANT EXECUTE ON FUNCTION {_SPACES}(text[]) TO {reader}"
        connection.exec_driver_sql(grant.replace("%", "%%"))
    for table in OWNED_TABLES:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY")
    for policy in policies():
        connection.exec_driver_sql(policy.statement)


def confinement_problem(connection: sa.Connection) -> str | None:
    """Why row-level security does not bind the connected role, in a sentence; None if it does.

    Call it before the transaction sets the users it acts for.
    """
    # A session can return to its original role.
    for role in connection.exec_driver_sql("SELECT current_user, session_user").one():
        freedom = freedom_of(connection, role)
        if freedom is not None:
            return freedom
    given_before = connection.exec_driver_sql(_GIVEN).scalars().all()
    if given_before:
        return f"every session begins with {' and '.join(given_before)} set"
    return security_problem(connection)


def security_problem(connection: sa.Connection) -> str | None:
    """How the row-level security differs from the expected one; None if it does not."""
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
    function = connection.exec_driver_sql(_SPACES_FUNCTION, (_SPACES,)).all()
    if [tuple(one) for one in function] != [(_spaces_body(connection), True, _OWN_SEARCH_PATH)]:
        return f"the function {_SPACES} is not that of this ricordo"
    return None


def make_spaces_function(connection: sa.Connection) -> None:
    _make(connection, f"{_SPACES}(roles text[])", _spaces_body(connection), "text[]")


def _spaces_body(connection: sa.Connection) -> str:
    return (
        "SELECT coalesce(array_agg(space_id), '{}')"  # noqa: S608 - ours
        f" FROM {connection.exec_driver_sql(_PLACE_OF_MEMBERS).scalar_one()}.{group_members.name}"
        f" WHERE user_id = ANY ({ACTING}) AND role = ANY (roles)"
    )


def _schema(connection: sa.Connection) -> str:
    return str(connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one())


def _bare(expression: str) -> str:
    return _ADDED.sub("", expression).lower()


def freedom_of(connection: sa.Connection, role: str) -> str | None:
    """Why row-level security does not bind a role, in a sentence; None if it does."""
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
    """Require that the connected role owns the tables. Raises AccessDenied: they belong to another
    role."""
    owner = owner_elsewhere(connection)
    if owner is not None:
        raise AccessDenied(f"only the role that owns the tables, {owner!r}, can {action}")


# These functions run with the rights of the tables' owner, which the policies do not bind. So each
# checks itself for whom the transaction acts, and returns only ids and counts. Only roles with a
# grant can call them.


def matching_ids(kind: Indexed) -> str:
    """The function that finds the rows of a text query among those the transaction may reach."""
    return f"ricordo_{kind.name}_matches"


def matching_counts(kind: Indexed) -> str:
    """The function that counts them, for each of several queries in order."""
    return f"ricordo_{kind.name}_counts"


SIGNATURES: Final = (
    f"{_SPACES}(text[])",
    *(
        signature
        for kind in INDEXED
        for signature in (f"{matching_ids(kind)}(tsquery)", f"{matching_counts(kind)}(tsquery[])")
    ),
)


_NUMBERED: Final = "SETOF bigint"


def make_functions(connection: sa.Connection, kind: Indexed) -> None:
    """Create or replace the functions of an index; grants stay. They ask ``ricordo_spaces``."""
    make_spaces_function(connection)
    schema = _schema(connection)
    reach = rows_within_reach(kind.index, f"{schema}.")
    found = f"{schema}.{kind.index.name} WHERE lexemes @@ query AND ({reach})"
    ids = f"SELECT id FROM {found}"  # noqa: S608 - ours
    _make(connection, f"{matching_ids(kind)}(query tsquery)", ids, _NUMBERED)
    _make(
        connection,
        f"{matching_counts(kind)}(queries tsquery[])",
        f"SELECT (SELECT count(*) FROM {found})"  # noqa: S608
        " FROM unnest(queries) WITH ORDINALITY AS given(query, place) ORDER BY place",
        _NUMBERED,
    )


def _make(connection: sa.Connection, signature: str, body: str, returns: str) -> None:
    # Look up names in pg_catalog only: otherwise a role that may create in the tables' schema could
    # plant, say, an "unnest" that runs with the owner's rights.
    connection.execute(
        sa.text(
            f"CREATE OR REPLACE FUNCTION {signature} RETURNS {returns}"
            f" LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
            f" AS $function${body}$function$".replace(":", r"\:")
        )
    )
    connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")


# The application's role owns nothing, so that row-level security binds it. The role that created
# the tables owns and migrates them, and grants the application's role what it needs.


def checked_role(name: str) -> str:
    """Validate the name of a role. Raises InvalidValue: it is empty, too long, or has control
    characters."""
    if not name or len(name.encode("utf-8")) > _MAX_NAME_BYTES or not name.isprintable():
        problem = f"must be 1 to {_MAX_NAME_BYTES} bytes without control characters"
        raise InvalidValue("role", problem)
    return name


def role_exists(connection: sa.Connection, name: str) -> bool:
    wanted = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)"
    return bool(connection.exec_driver_sql(wanted, (name,)).scalar_one())


def statements(connection: sa.Connection, name: str) -> list[str]:
    """The SQL that prepares the application's role; idempotent."""
    role = sql.Identifier(checked_role(name))
    made = [] if role_exists(connection, name) else [_CREATE.format(role)]
    schema: str = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    driver = driver_of(connection)
    return [one.as_string(driver) for one in (*made, *_grants(role, sql.Identifier(schema)))]


def set_up_role(connection: sa.Connection, name: str, password: str | None) -> bool:
    """Prepare the application's role, creating it where it is missing; whether it was.

    A password replaces the role's old one. It is hashed before it is sent, so it cannot appear in a
    server log.

    Raises:
        InvalidValue: no role can have this name.
        RoleNotConfined: the role could read past row-level security; nothing was changed.
        AccessDenied: the tables belong to another role than the one that is connected.
    """
    is_new = not role_exists(connection, checked_role(name))
    require_owner(connection, "let another role use them")
    for statement in statements(connection, name):
        connection.exec_driver_sql(statement.replace("%", "%%"))
    if password is not None:
        driver = driver_of(connection)
        sealed = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
        change = sql.SQL("ALTER ROLE {} PASSWORD {}")
        driver.execute(change.format(sql.Identifier(name), sealed.decode()))
    freedom = freedom_of(connection, name)
    if freedom is not None:
        raise RoleNotConfined(f"{freedom}: choose another role for the application")
    return is_new


def _grants(role: sql.Identifier, schema: sql.Identifier) -> Iterator[sql.Composed]:
    tables = sql.SQL(", ").join(sql.Identifier(table.name) for table in metadata.sorted_tables)
    series = sql.SQL(", ").join(map(sql.Identifier, ID_SERIES))
    functions = sql.SQL(", ").join(map(sql.SQL, SIGNATURES))
    version = sql.Identifier(VERSION_TABLE)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role)
    yield sql.SQL("GRANT {} ON {} TO {}").format(_ROWS, tables, role)
    yield sql.SQL("GRANT SELECT ON {} TO {}").format(version, role)
    yield sql.SQL("GRANT {} ON SEQUENCE {} TO {}").format(_NUMBERS, series, role)
    yield sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(functions, role)
    # Tables of later versions are granted when they are created.
    later = sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT {} ON {} TO {}")
    for rights, what in ((_ROWS, "TABLES"), (_NUMBERS, "SEQUENCES"), (_CALLS, "FUNCTIONS")):
        yield later.format(schema, rights, sql.SQL(what), role)
