"""A store of its owner's on each database, as backups need one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.testing import ManualClock
from ricordo.wiring import restore_backup
from tests.support import postgres

Restore = Callable[..., object]


@pytest.fixture
def owned(owner_url: str, open_store: Callable[..., Memory]) -> Memory:
    """The store, opened by whoever may see all of it."""
    return open_store(owner_url)


@pytest.fixture
def backup_path(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder / "monday.backup"


@pytest.fixture
def restored(
    clock: ManualClock, tmp_path: Path, open_store: Callable[..., Memory]
) -> Callable[..., Memory]:
    """Restores a backup into a new file and opens that."""
    count = 0

    def restore(path: Path, **settings: object) -> Memory:
        nonlocal count
        count += 1
        url = tmp_path / f"restored-{count}.db"
        restore_backup(path, url, clock=clock, **settings)
        return open_store(str(url), **settings)

    return restore


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.matrix)])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where to restore to: a file that is not there yet, or an empty database of the owner's."""
    if request.param == "sqlite":
        return str(tmp_path / "elsewhere" / "ricordo.db")
    url: str = request.getfixturevalue("postgres_url")
    return postgres.as_owner(url)
