"""Whether the text indexes are sound: SQLite's own check does not look into them."""

import sqlalchemy as sa

from ricordo.storage.search_index import INDEXED, Indexed


def text_index_damage(connection: sa.Connection) -> list[str]:
    """One line per text index that is damaged, or does not have the terms that it should have."""
    return [line for kind in INDEXED for line in _damage(connection, kind)]


def _damage(connection: sa.Connection, kind: Indexed) -> list[str]:
    repair = "make it again with: ricordo reindex --all"
    try:
        # Every page of the index is read for it.
        vocabulary = sa.table(f"{kind.name}_vocabulary", sa.column("doc"))
        indexed = connection.execute(sa.select(sa.func.sum(vocabulary.c.doc))).scalar_one() or 0
    except sa.exc.DatabaseError as error:
        return [f"the text index of {kind.name}s is damaged ({_told(error)}); {repair}"]
    rows = connection.execute(sa.select(kind.index.c.terms)).scalars()
    expected = sum(len(set(terms.split())) for terms in rows)
    if indexed != expected:
        return [
            f"the text index of {kind.name}s has {indexed} entries instead of {expected}; {repair}"
        ]
    return []


def _told(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error)
