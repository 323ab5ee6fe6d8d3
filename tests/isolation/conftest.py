"""A store of two users with a row in every table, seen by the application's role."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from ricordo import Memory
from ricordo.storage.database import Database
from tests.isolation.rows import rows_of
from tests.support import postgres

PEOPLE = ("ana", "ben")


@pytest.fixture
def owner(postgres_url: str) -> Iterator[sa.Engine]:
    """Connections of the role that owns the tables, which nothing is hidden from."""
    engine = connected(postgres.as_owner(postgres_url))
    yield engine
    engine.dispose()


@pytest.fixture
def app(postgres_url: str) -> Iterator[sa.Engine]:
    """Connections of the application's role, with no ricordo in between."""
    engine = connected(postgres_url)
    yield engine
    engine.dispose()


@pytest.fixture
def filled(owner: sa.Engine) -> None:
    """A row of ana's and a row of ben's in every table."""
    with owner.begin() as connection:
        for user_id in PEOPLE:
            for table, row in rows_of(user_id):
                connection.execute(sa.insert(table), row)


@pytest.fixture
def database(postgres_url: str, open_store: Callable[..., Memory]) -> Database:
    return open_store(postgres_url).database


def connected(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
