"""What search rests on: the engine, the terms, the vectors."""

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from ricordo.cli.finding import CheckFinding, ok, problem, warning

if TYPE_CHECKING:
    import sqlalchemy as sa

    from ricordo.cli.examining.models import MadeVectors
    from ricordo.settings import Settings
    from ricordo.storage.database import Database


def engine(database: "Database", schema: str | None) -> CheckFinding:
    """Whether the database can search at all."""
    if database.backend.name == "sqlite":
        return _fts5()
    return _pgvector(database, schema)


def _fts5() -> CheckFinding:
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(terms)")
    except sqlite3.Error as error:
        advice = "use a Python whose SQLite has FTS5"
        return problem("search", f"SQLite has no FTS5 ({error})", advice)
    return ok("search", "SQLite has FTS5")


def _pgvector(database: "Database", schema: str | None) -> CheckFinding:
    wanted = "SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'"
    with database.read_all() as reading:
        row = reading.connection.exec_driver_sql(wanted).one_or_none()
    if row is None:
        advice = "install pgvector on the database server"
        return problem("search", "the server has no pgvector", advice)
    if row[0] is not None:
        return ok("search", f"pgvector {row[0]}")
    if schema is None:
        return ok("search", "pgvector is switched on when first needed")
    advice = "as its owner, in that database: CREATE EXTENSION vector"
    return problem("search", "pgvector is not switched on", advice)


def terms(database: "Database") -> CheckFinding:
    """Whether all terms are there, and made by the analyser of now."""
    from ricordo.index.rebuild import outdated

    count = outdated(database)
    if not count:
        return ok("terms", f"search knows the words of everything ({_analyser(database)})")
    found = (
        f"search does not know the words of {count} memories and turns, or not as"
        f" {_analyser(database)} makes them"
    )
    return warning("terms", found, "ricordo reindex")


def _analyser(database: "Database") -> str:
    return f"analyser {database.analyser.fingerprint}"


def vectors(database: "Database") -> CheckFinding:
    """How far the vectors are."""
    import sqlalchemy as sa

    from ricordo.model.vocabulary import VectorState
    from ricordo.storage.backend import INDEXED

    counts = dict.fromkeys(VectorState, 0)
    with database.read_all() as reading:
        for kind in INDEXED:
            state = kind.index.c.state
            found = sa.select(state, sa.func.count()).group_by(state)
            for name, count in reading.connection.execute(found):
                counts[VectorState(name)] += count
    message = ", ".join(f"{state} {count}" for state, count in counts.items())
    if counts[VectorState.ERROR]:
        advice = "ricordo embeddings status -u USER says why; ricordo embeddings backfill -u USER"
        return warning("vectors", message, advice)
    waiting = "ricordo jobs run makes what is pending" if counts[VectorState.PENDING] else None
    return ok("vectors", message, waiting)


def fingerprints(database: "Database", settings: "Settings", made: "MadeVectors") -> CheckFinding:
    """Whether the stored vectors are of the model that makes them now, and as wide."""
    import sqlalchemy as sa

    from ricordo.model.vocabulary import VectorState
    from ricordo.storage.backend import INDEXED

    of_others = wrong_width = 0
    with database.read_all() as reading:
        for kind in INDEXED:
            index = kind.index.c
            same = sa.and_(index.provider == made.model.provider, index.model == made.model.model)
            ready = sa.and_(index.state == VectorState.READY.value, _by_the_store(index, settings))
            of_others += _count(reading.connection, kind.index, sa.and_(ready, sa.not_(same)))
            narrow = sa.and_(ready, same, index.dimensions != made.width)
            wrong_width += _count(reading.connection, kind.index, narrow)
    named = f"{made.model.provider} {made.model.model}"
    if wrong_width:
        found = f"{wrong_width} vectors of {named} are not {made.width} wide, as it makes them now"
        return problem("fingerprints", found, "ricordo embeddings rebuild -u USER")
    if of_others:
        found = f"{of_others} vectors are of another model than {named}, and not used"
        return warning("fingerprints", found, "ricordo embeddings backfill -u USER")
    return ok("fingerprints", f"all vectors are of {named}, {made.width} wide")


def _count(connection: "sa.Connection", table: "sa.Table", where: "sa.ColumnElement[bool]") -> int:
    import sqlalchemy as sa

    counted = sa.select(sa.func.count()).select_from(table).where(where)
    return int(connection.execute(counted).scalar_one())


def _by_the_store(
    index: "sa.ColumnCollection[str, sa.Column[object]]", settings: "Settings"
) -> "sa.ColumnElement[bool]":
    """Only rows of users who have not chosen for themselves, where they may."""
    import sqlalchemy as sa

    from ricordo.storage.tables import embedding_settings

    if settings.embedding_provider is not None:
        return sa.true()
    return index.user_id.not_in(sa.select(embedding_settings.c.user_id))
