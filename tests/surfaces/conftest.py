"""The library beside the command, on the same database.

The shipped model takes a third of a second to load; only tests about search wait for it.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ricordo.formation.extraction  # before a test that needs it is measured
from ricordo import Memory, UserMemory
from ricordo.http.local_calls import answering_commands, socket_path
from ricordo.wiring import open_memory
from tests.support.commandline import ABOUT_THE_STORE, Ran, ricordo

ABOUT_VECTORS = ("test_cli_embeddings", "test_cli_search")


@pytest.fixture(autouse=True)
def without_vectors(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, own_home: object
) -> None:
    if request.module.__name__.rpartition(".")[2] not in ABOUT_VECTORS:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    """The library as the commands open it, to compare with."""
    with open_memory(backend_url, run_jobs=False, index_cache_mb=0, port=0) as memory:
        yield memory


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


@pytest.fixture
def socket_of_a_service(backend_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where commands look for one, in a home folder whose name is short enough for an address."""
    with tempfile.TemporaryDirectory(prefix="r-", dir="/tmp") as home:
        monkeypatch.setenv("RICORDO_HOME", home)
        path = socket_path(backend_url, None, os.environ)
        assert path is not None
        yield path


@pytest.fixture(params=["here", pytest.param("served", marks=pytest.mark.slow)])
def cli(
    request: pytest.FixtureRequest, backend_url: str, store: Memory
) -> Iterator[Callable[..., Ran]]:
    """Commands for user ana on that database, which they open or ask a running service for."""
    is_served = request.param == "served"
    path = request.getfixturevalue("socket_of_a_service") if is_served else None
    with answering_commands(store, path):
        yield _commands(backend_url)


def _commands(backend_url: str) -> Callable[..., Ran]:
    def run(*arguments: object, **settings: Any) -> Ran:
        whose = () if arguments[0] in ABOUT_THE_STORE else ("-u", "ana")
        return ricordo(*arguments, "--db", backend_url, *whose, **settings)

    return run
