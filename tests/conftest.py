"""Fixtures: a store on each database, emptied for every test, with a clock that tests can set."""

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo.memory import Memory
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.wiring import open_memory
from tests.support import certificates, postgres, scratch, tiers

BACKENDS = ("sqlite", "postgresql")
_running = contextlib.ExitStack()
# Hundreds of processes are started: none should have to compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    tiers.configure(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # once, not in every worker
        scratch.keep_in_memory()
        _running.enter_context(postgres.server())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tiers.mark_other_databases(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """For ``-n auto``: half as many again as there are cores, because many tests wait for others:
    for PostgreSQL, for a process that they have started, for a server that stops."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # somebody knows better
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) * 3 // 2


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _running.close()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the home folder of whoever runs it."""
    home = tmp_path / "home"
    monkeypatch.setenv("RICORDO_HOME", str(home))
    monkeypatch.delenv("RICORDO_URL", raising=False)
    monkeypatch.delenv("RICORDO_USER", raising=False)
    monkeypatch.setenv("RICORDO_UPKEEP", "0")
    # On a busy machine the model may take its time: a search must not go by words alone.
    monkeypatch.setenv("RICORDO_EMBEDDING_DEADLINE_SECONDS", "60")
    monkeypatch.setenv("RICORDO_RERANK_MS", "60000")
    return home


@pytest.fixture(autouse=True)
def no_pauses_between_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that fails is asked again at once; the pauses themselves have tests of their own."""
    monkeypatch.setattr("ricordo.providers.timing.MODEL_BACKOFF_BASE_SECONDS", 0.001)


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    with certificates.read_once():
        yield


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "ricordo.db"
    open_memory(path, run_jobs=False, upkeep=False).close()
    return path


@pytest.fixture(scope="session")
def postgres_database(worker_id: str) -> Iterator[str]:
    """A database that its owner has made; its address is that of an application's role, so that
    every test proves that all works under row-level security."""
    with postgres.database(f"ricordo_{worker_id}") as url:
        open_memory(url, run_jobs=False, upkeep=False).close()
        yield postgres.let_app_in(url)


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "ricordo.db"
    shutil.copy(sqlite_template, path)
    return str(path)


@pytest.fixture
def postgres_url(postgres_database: str) -> str:
    postgres.empty(postgres_database)
    return postgres_database


@pytest.fixture(params=BACKENDS)
def backend_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store, once on each database."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
def owner_url(backend_url: str) -> str:
    """The address of the same store for whoever may change its tables."""
    is_file = not backend_url.startswith("postgresql")
    return backend_url if is_file else postgres.as_owner(backend_url)


@pytest.fixture
def open_store(clock: ManualClock) -> Iterator[Callable[..., Memory]]:
    """Opens stores that are closed, and checked for leaked connections, at the end."""
    opened: list[Memory] = []

    def open_one(url: str, **settings: object) -> Memory:
        # Vectors of words unless a test is about the real model, which takes its time, and no
        # jobs that come by themselves unless a test is about upkeep.
        chosen = {"run_jobs": False, "upkeep": False, "embedder": WordEmbedder(), **settings}
        memory = open_memory(url, clock=clock, **chosen)
        opened.append(memory)
        return memory

    yield open_one
    leaked = [memory.database.backend.connections_in_use() for memory in opened]
    for memory in opened:
        memory.close()
    assert leaked == [0] * len(opened)


@pytest.fixture
def memory(backend_url: str, open_store: Callable[..., Memory]) -> Memory:
    return open_store(backend_url)
