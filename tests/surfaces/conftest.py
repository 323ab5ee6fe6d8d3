"""The shipped model takes a third of a second to load; only tests about search wait for it."""

import pytest

ABOUT_VECTORS = ("test_cli_embeddings", "test_cli_search")


@pytest.fixture(autouse=True)
def without_vectors(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, own_home: object
) -> None:
    if request.module.__name__.rpartition(".")[2] not in ABOUT_VECTORS:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
