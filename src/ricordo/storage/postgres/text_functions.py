"""The two functions through which text search reaches the GIN index under row-level security.

They run with the rights of the owner of the tables, which the policies do not bind. So each asks by
itself for whom the transaction acts, in the words of the policies, and gives away no more than ids
and counts. Only roles to which they are granted can call them.
"""

from typing import Final

import sqlalchemy as sa

from ricordo.storage.postgres.isolation import rows_within_reach
from ricordo.storage.search_index import INDEXED, Indexed


def matching_ids(kind: Indexed) -> str:
    """The function that finds the rows of a text query, among those of whom one acts for."""
    return f"ricordo_{kind.name}_matches"


def matching_counts(kind: Indexed) -> str:
    """The function that counts them, for each of several queries in order."""
    return f"ricordo_{kind.name}_counts"


SIGNATURES: Final = tuple(
    signature
    for kind in INDEXED
    for signature in (f"{matching_ids(kind)}(tsquery)", f"{matching_counts(kind)}(tsquery[])")
)


def make_functions(connection: sa.Connection, kind: Indexed) -> None:
    """Make the functions of an index, or make them anew; those who may call them still may."""
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one()
    found = (
        f"{schema}.{kind.index.name} WHERE lexemes @@ query AND ({rows_within_reach(kind.index)})"
    )
    _make(connection, f"{matching_ids(kind)}(query tsquery)", f"SELECT id FROM {found}")  # noqa: S608
    _make(
        connection,
        f"{matching_counts(kind)}(queries tsquery[])",
        f"SELECT (SELECT count(*) FROM {found})"  # noqa: S608
        " FROM unnest(queries) WITH ORDINALITY AS asked(query, place) ORDER BY place",
    )


def _make(connection: sa.Connection, signature: str, body: str) -> None:
    # Names are looked up among PostgreSQL's own alone. Who may create in the schema of the tables
    # could otherwise slip in, say, an "unnest" that fits better, to be run with the owner's rights.
    connection.execute(
        sa.text(
            f"CREATE OR REPLACE FUNCTION {signature} RETURNS SETOF bigint"
            f" LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
            f" AS $function${body}$function$".replace(":", r"\:")
        )
    )
    connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
