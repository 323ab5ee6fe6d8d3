"""The same fixtures as everywhere, on a SQLite file that is encrypted.

Modules here take over tests of others (``from … import *``): the rules that hold for any store hold
for an encrypted one. The key comes from the environment, as it does for whoever runs ricordo.
"""

import shutil
from pathlib import Path

import pytest

from ricordo.wiring import open_memory
from tests.contract.conftest import searching, searching_store

__all__ = ["searching", "searching_store"]

KEY = 'it\'s "her" key; ключ 🗝'


_OWN = frozenset({"test_keys.py", "test_converting.py"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is about PostgreSQL runs where it comes from; what is taken over is a matrix."""
    here = Path(__file__).parent
    taken_over = [item for item in items if item.path.parent == here and item.path.name not in _OWN]
    of_servers = {"postgres_url", "postgres_database"}
    dropped = {id(one) for one in taken_over if of_servers & set(getattr(one, "fixturenames", ()))}
    for item in taken_over:
        item.add_marker("matrix")
    items[:] = [item for item in items if id(item) not in dropped]


@pytest.fixture(scope="session")
def encrypted_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encrypted") / "ricordo.db"
    open_memory(path, database_key=KEY, run_jobs=False, upkeep=False).close()
    return path


@pytest.fixture
def sqlite_url(encrypted_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RICORDO_DATABASE_KEY", KEY)
    path = tmp_path / "ricordo.db"
    shutil.copy(encrypted_template, path)
    return str(path)


@pytest.fixture
def backend_url(sqlite_url: str) -> str:
    return sqlite_url
