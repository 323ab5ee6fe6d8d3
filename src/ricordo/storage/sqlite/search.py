"""Search inside a SQLite file: FTS5 for the terms, numpy over the stored vectors.

Every term in the text index has a prefix for its owner, so that a search reads one user's postings
only. The terms come from the analyser; FTS5 only stores them.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import sqlalchemy as sa

from ricordo.model.embedding import VectorModel
from ricordo.storage.backend import Matches, TermRows
from ricordo.storage.sql import Condition, Row, dot_products, driver_of, matrix_of, vector_bytes
from ricordo.storage.tables import INDEXED, Indexed

_MARK_CHARS: Final = 8
_TERM_PUNCTUATION: Final = "!#$%&()*+,-./;<=>?@[\\]^_{|}~"
_SCAN_ROWS: Final = 1_024  # vectors in memory at a time: 1.5 MB of a small model, reused


class SqliteSearch:
    def create(self, connection: sa.Connection) -> None:
        for kind in INDEXED:
            connection.exec_driver_sql(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {kind.name}_fts USING fts5(terms, content='',"
                f" detail=none, tokenize=\"ascii tokenchars '{_TERM_PUNCTUATION}'\")"
            )
            connection.exec_driver_sql(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {kind.name}_vocabulary"
                f" USING fts5vocab({kind.name}_fts, row)"
            )

    def rebuild(self, connection: sa.Connection) -> None:
        for kind in INDEXED:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {kind.name}_vocabulary")
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {kind.name}_fts")
        self.create(connection)
        for kind in INDEXED:
            owners = connection.execute(sa.select(kind.index.c.user_id).distinct()).scalars().all()
            for user_id in owners:
                for rows in _stored_terms(connection, kind, user_id):
                    self.put(connection, kind, user_id, rows)

    def put(self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows) -> None:
        driver_of(connection).executemany(
            f"INSERT INTO {kind.name}_fts (rowid, terms) VALUES (?, ?)",
            [(row_id, _marked(user_id, terms)) for row_id, terms in rows],
        )

    def drop(self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows) -> None:
        driver_of(connection).executemany(
            f"INSERT INTO {kind.name}_fts ({kind.name}_fts, rowid, terms) VALUES ('delete', ?, ?)",
            [(row_id, _marked(user_id, terms)) for row_id, terms in rows],
        )

    def drop_owner(self, connection: sa.Connection, kind: Indexed, user_id: str) -> None:
        for rows in _stored_terms(connection, kind, user_id):
            self.drop(connection, kind, user_id, rows)

    def matches(
        self,
        connection: sa.Connection,
        kind: Indexed,
        owners: Collection[str],
        terms: Sequence[str],
        where: Condition,
        limit: int,
    ) -> Matches:
        marks = [_mark(owner) for owner in sorted(owners)]
        driver = driver_of(connection)
        places = ", ".join("?" * len(marks))
        count = f"SELECT coalesce(sum(doc), 0) FROM {kind.name}_vocabulary WHERE term IN ({places})"
        frequency = {
            term: int(driver.execute(count, [mark + term for mark in marks]).fetchone()[0])
            for term in terms
        }
        present = [term for term in terms if frequency[term]]
        if not present:
            return Matches({}, frequency)
        wanted = " OR ".join(f'"{mark}{term}"' for term in present for mark in marks)
        found = sa.text(
            f"SELECT rowid AS id, rank AS rank FROM {kind.name}_fts"
            f" WHERE {kind.name}_fts MATCH :wanted"
        )
        hits = found.columns(sa.column("id", sa.BigInteger), sa.column("rank", sa.Float)).subquery()
        statement = (
            sa.select(kind.index.c.id, kind.index.c.terms)
            .select_from(kind.joined().join(hits, hits.c.id == kind.index.c.id))
            .where(kind.index.c.user_id.in_(sorted(owners)), where)
            .order_by(hits.c.rank, kind.index.c.id.desc())
            .limit(limit)
        )
        rows = connection.execute(statement, {"wanted": wanted})
        return Matches({row.id: row.terms for row in rows}, frequency)

    def vocabulary(self, connection: sa.Connection, kind: Indexed, user_id: str) -> list[str]:
        mark = _mark(user_id)
        beyond = mark[:-1] + chr(ord(mark[-1]) + 1)
        rows = driver_of(connection).execute(
            f"SELECT term FROM {kind.name}_vocabulary WHERE term >= ? AND term < ?", (mark, beyond)
        )
        return [row[0][_MARK_CHARS:] for row in rows]

    def nearest(
        self,
        connection: sa.Connection,
        kind: Indexed,
        model: VectorModel,
        query: Row,
        where: Condition,
        limit: int,
    ) -> list[tuple[int, float]]:
        statement = (
            sa.select(kind.index.c.id, vector_bytes(kind.index.c.vector))
            .select_from(kind.joined())
            .where(kind.has_vector(model), kind.index.c.dimensions == len(query), where)
        )
        best: list[tuple[int, float]] = []
        for rows in connection.execute(statement).partitions(_SCAN_ROWS):
            cosines = dot_products(matrix_of(connection, [row[1] for row in rows]), query)
            ids = np.array([row[0] for row in rows])
            top = np.lexsort((-ids, -cosines))[:limit]
            best += [(rows[place][0], float(cosines[place])) for place in top]
            best = sorted(best, key=lambda one: (-one[1], -one[0]))[:limit]
        return best

    def compact(self, connection: sa.Connection) -> None:
        for kind in INDEXED:
            driver_of(connection).execute(
                f"INSERT INTO {kind.name}_fts ({kind.name}_fts) VALUES ('optimize')"
            )


@lru_cache(maxsize=1024)
def _mark(user_id: str) -> str:
    """A short prefix for an owner. Two may collide: reads check the owner of a row."""
    digest = hashlib.blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=_MARK_CHARS)
    return "".join(chr(ord("a") + byte % 26) for byte in digest.digest())


def _marked(user_id: str, terms: str) -> str:
    mark = _mark(user_id)
    return mark + terms.replace(" ", f" {mark}") if terms else ""


def _stored_terms(connection: sa.Connection, kind: Indexed, user_id: str) -> Iterator[TermRows]:
    """A user's rows with their terms, some thousands at a time."""
    statement = sa.select(kind.index.c.id, kind.index.c.terms).where(
        kind.index.c.user_id == user_id
    )
    for rows in connection.execute(statement).partitions(_SCAN_ROWS):
        yield [(row.id, row.terms) for row in rows]
