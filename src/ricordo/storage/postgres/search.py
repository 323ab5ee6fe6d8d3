"""Search inside PostgreSQL: a GIN index over the terms, pgvector over the vectors.

Every row of the text index has a lexeme for its owner, so that a search reads one user's postings
only. Few vectors are compared exactly; beyond ``exact_rows`` the HNSW index is scanned until enough
rows have passed the filter.

Under row-level security PostgreSQL cannot use the GIN index, since ``@@`` must not run on rows that
the policies hide. So two functions query it with the rights of the tables' owner and apply the
policies themselves (``security.py``).
"""

from collections.abc import Collection, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ricordo.model.embedding import VectorModel
from ricordo.storage.backend import Matches, TermRows
from ricordo.storage.postgres.security import (
    make_functions,
    matching_counts,
    matching_ids,
    require_owner,
)
from ricordo.storage.sql import Condition, Row, vector_text
from ricordo.storage.tables import INDEXED, Indexed

_OWNER: Final = "@"  # no term of the analyser begins with it
_INDEXED_WIDTHS: Final = (384,)
_EF_SEARCH: Final = 200
_FEW_MATCHES: Final = 5_000
"""Up to this many rows, single lookups are faster than scanning all of a user's rows."""

_TSQUERY: Final = postgresql.TSQUERY()
_PIECES: Final = (
    "SELECT coalesce(inhrelid, pg_class.oid)::regclass::text"
    " FROM pg_class LEFT JOIN pg_inherits ON inhparent = pg_class.oid"
    " WHERE pg_class.oid = to_regclass(%s)"
)


class PostgresSearch:
    def __init__(self, exact_rows: int) -> None:
        self._exact_rows = exact_rows

    def create(self, connection: sa.Connection) -> None:
        for kind in INDEXED:
            table = kind.index.name
            connection.exec_driver_sql(
                f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS lexemes tsvector GENERATED ALWAYS AS"
                " (array_to_tsvector(array_append(array_remove(string_to_array(terms, ' '), ''),"
                f" '{_OWNER}' || user_id))) STORED"
            )
            connection.exec_driver_sql(
                f"CREATE INDEX IF NOT EXISTS ix_{table}_lexemes ON {table} USING gin (lexemes)"
            )
            make_functions(connection, kind)
            for width in _INDEXED_WIDTHS:
                connection.exec_driver_sql(
                    f"CREATE INDEX IF NOT EXISTS ix_{table}_hnsw_{width} ON {table} USING hnsw"
                    f" ((vector::vector({width})) vector_cosine_ops) WHERE dimensions = {width}"
                )

    def rebuild(self, connection: sa.Connection) -> None:
        require_owner(connection, "make their indexes again")
        for kind in INDEXED:
            # A partitioned table cannot be reindexed in a transaction; its partitions can.
            for table in connection.exec_driver_sql(_PIECES, (kind.index.name,)).scalars().all():
                connection.exec_driver_sql(f"REINDEX TABLE {table}")

    def put(self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows) -> None:
        pass  # the lexemes are a generated column

    def drop(self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows) -> None:
        pass  # the lexemes are a generated column

    def drop_owner(self, connection: sa.Connection, kind: Indexed, user_id: str) -> None:
        pass  # the lexemes are a generated column

    def matches(
        self,
        connection: sa.Connection,
        kind: Indexed,
        owners: Collection[str],
        terms: Sequence[str],
        where: Condition,
        limit: int,
    ) -> Matches:
        if not terms:
            return Matches({}, {})
        # Rare terms weigh more, so count them among the owners' rows before filtering.
        counted = sa.text(f"SELECT {matching_counts(kind)}(CAST(:queries AS tsquery[]))")
        queries = [_any_of(owners, [term]) for term in terms]
        counts = connection.execute(counted, {"queries": queries}).scalars()
        frequency = dict(zip(terms, counts, strict=True))
        present = [term for term in terms if frequency[term]]
        if not present:
            return Matches({}, frequency)
        query = sa.cast(sa.literal(_any_of(owners, present)), _TSQUERY)
        if sum(frequency.values()) <= _FEW_MATCHES:
            found = getattr(sa.func, matching_ids(kind))(query).column_valued("found")
            wanted = kind.index.c.id.in_(sa.select(found))
        else:
            wanted = sa.literal_column(f"{kind.index.name}.lexemes").op("@@")(query)
        # The sum over the terms of a row: the rarer, the more.
        by_weight = sa.text(
            "(SELECT sum(term.weight)"
            " FROM unnest(CAST(:lexemes AS tsquery[]), CAST(:weights AS float8[]))"
            f" AS term(lexeme, weight) WHERE {kind.index.name}.lexemes @@ term.lexeme) DESC"
        )
        statement = (
            sa.select(kind.index.c.id, kind.index.c.terms)
            .select_from(kind.joined())
            .where(wanted, kind.index.c.user_id.in_(sorted(owners)), where)
            .order_by(by_weight, kind.index.c.id.desc())
            .limit(limit)
        )
        given = {
            "lexemes": [_quoted(term) for term in present],
            "weights": [1.0 / (1 + frequency[term]) for term in present],
        }
        rows = connection.execute(statement, given)
        return Matches({row.id: row.terms for row in rows}, frequency)

    def vocabulary(self, connection: sa.Connection, kind: Indexed, user_id: str) -> list[str]:
        words = sa.func.unnest(sa.func.string_to_array(kind.index.c.terms, " ")).label("term")
        rows = sa.select(words).where(kind.index.c.user_id == user_id).subquery()
        statement = sa.select(rows.c.term).where(rows.c.term != "").distinct()
        return list(connection.execute(statement).scalars())

    def nearest(
        self,
        connection: sa.Connection,
        kind: Indexed,
        model: VectorModel,
        query: Row,
        where: Condition,
        limit: int,
    ) -> list[tuple[int, float]]:
        comparable = sa.and_(
            kind.has_vector(model),
            kind.index.c.dimensions == sa.literal_column(str(len(query))),
            where,
        )
        if len(query) in _INDEXED_WIDTHS and self._is_large(connection, kind, comparable):
            # Continue the index scan until enough rows have passed the filter; a plain scan stops
            # after a few hundred, of any owner.
            connection.exec_driver_sql("SET LOCAL hnsw.iterative_scan = strict_order")
            connection.exec_driver_sql("SET LOCAL hnsw.max_scan_tuples = 2000000")
            connection.exec_driver_sql(f"SET LOCAL hnsw.ef_search = {_EF_SEARCH}")
            column: sa.ColumnElement[str] = sa.literal_column(
                f"({kind.index.name}.vector::vector({len(query)}))"
            )
            near = _nearest(connection, kind, column, query, comparable, limit)
            if len(near) == limit:
                return near
            # The scan ended early: out of memory, or nothing more was reachable.
        plain: sa.ColumnElement[str] = sa.literal_column(f"{kind.index.name}.vector")
        return _nearest(connection, kind, plain, query, comparable, limit, newest_first=True)

    def compact(self, connection: sa.Connection) -> None:
        pass  # vacuum does it

    def _is_large(self, connection: sa.Connection, kind: Indexed, comparable: Condition) -> bool:
        some = (
            sa.select(kind.index.c.id)
            .select_from(kind.joined())
            .where(comparable)
            .limit(self._exact_rows + 1)
            .subquery()
        )
        count = connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
        return count > self._exact_rows


def _nearest(
    connection: sa.Connection,
    kind: Indexed,
    column: sa.ColumnElement[str],
    query: Row,
    comparable: Condition,
    limit: int,
    *,
    newest_first: bool = False,
) -> list[tuple[int, float]]:
    """The nearest rows. A second ORDER BY column would prevent the use of the vector index."""
    given = sa.literal(vector_text(query)).op("::")(sa.literal_column("vector"))
    distance = column.op("<=>")(given)
    order = [sa.column("distance"), *([kind.index.c.id.desc()] if newest_first else [])]
    statement = (
        sa.select(kind.index.c.id, distance.label("distance"))
        .select_from(kind.joined())
        .where(comparable)
        .order_by(*order)
        .limit(limit)
    )
    return [(row.id, 1.0 - row.distance) for row in connection.execute(statement)]


def _any_of(owners: Collection[str], terms: Sequence[str]) -> str:
    whose = " | ".join(_quoted(_OWNER + owner) for owner in sorted(owners))
    what = " | ".join(map(_quoted, terms))
    return f"({whose}) & ({what})"


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
