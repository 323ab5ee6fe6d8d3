"""One embedder for each choice, a bounded number of them, and nothing shared with a fork."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ricordo.embedding.choice import EmbedderRegistry, EmbeddingChoice
from ricordo.embedding.local import LocalEmbedder
from ricordo.errors import EmbedderUnavailable, InvalidValue, TargetRefused
from ricordo.limits import MAX_CACHED_EMBEDDERS
from ricordo.testing.embedding_server import EmbeddingServer
from tests.endpoints.forking import succeeds_in_child
from tests.endpoints.surroundings import SteppingTime

parse = EmbeddingChoice.parse


@pytest.fixture
def registry(time: SteppingTime) -> Iterator[EmbedderRegistry]:
    made = EmbedderRegistry(threads=1, max_width=1024, allow_private=False, timing=time.timing)
    yield made
    made.close()


def at(server: EmbeddingServer, **options: object) -> EmbeddingChoice:
    values = {"model": server.model, "base_url": server.base_url, **options}
    return parse("custom_http", **values)  # type: ignore[arg-type]


def test_none_is_none(registry: EmbedderRegistry) -> None:
    assert registry.get(parse("none")) is None


def test_local_ones(registry: EmbedderRegistry, tmp_path: Path) -> None:
    shipped, other = registry.get(parse("local")), registry.get(parse(f"local:{tmp_path}"))
    assert isinstance(shipped, LocalEmbedder)
    assert shipped.model == "ricordo-minilm@e4050eb4"
    assert repr(other) == f"LocalEmbedder(folder={tmp_path!r}, threads=1)"


def test_the_same_choice_is_the_same_embedder(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    with ThreadPoolExecutor(max_workers=16) as threads:
        made = list(threads.map(lambda _: registry.get(at(server)), range(64)))
    assert len({id(embedder) for embedder in made}) == 1
    assert registry.get(at(server, api_key="k")) is not made[0]


def test_only_those_used_last_are_kept(registry: EmbedderRegistry, server: EmbeddingServer) -> None:
    choices = [at(server, api_key=f"k{number}") for number in range(MAX_CACHED_EMBEDDERS)]
    first, second = registry.get(choices[0]), registry.get(choices[1])
    assert second is not None
    second.embed(["tea"])
    for choice in choices[2:]:
        registry.get(choice)
    assert registry.get(choices[0]) is first
    registry.get(at(server, api_key="one-more"))
    assert registry.get(choices[0]) is first
    assert second.embed(["tea"]).shape == (1, server.width)  # who still has it can use it
    second.close()
    assert registry.get(choices[1]) is not second


def test_users_are_kept_from_our_own_network(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    operators, users = registry.get(at(server)), registry.get(at(server, from_user=True))
    assert operators is not None
    assert users is not None
    assert operators.embed(["tea"]).shape == (1, server.width)
    with pytest.raises(TargetRefused):
        users.embed(["tea"])


def test_unless_the_operator_allows_it(server: EmbeddingServer) -> None:
    registry = EmbedderRegistry(threads=1, max_width=1024, allow_private=True)
    users = registry.get(at(server, from_user=True))
    assert users is not None
    assert users.embed(["tea"]).shape == (1, server.width)
    registry.close()


def test_wide_vectors_are_asked_for_in_a_width_that_fits(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    choice = parse("openai", api_key="k", base_url=server.base_url)
    embedder = registry.get(choice)
    assert embedder is not None
    assert (embedder.model, embedder.width) == ("text-embedding-3-small@1024", 1024)
    assert embedder.embed(["tea"]).shape == (1, 1024)
    narrow = EmbedderRegistry(threads=1, max_width=2000, allow_private=False).get(choice)
    assert narrow is not None
    assert (narrow.model, narrow.width) == ("text-embedding-3-small", 1536)


def test_each_preset_asks_for_a_width_in_its_own_way(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    server.answer_width(256)
    for provider, name in (("mistral", "output_dimension"), ("gemini", "dimensions")):
        embedder = registry.get(
            parse(provider, api_key="k", base_url=server.base_url, dimensions=256)
        )
        assert embedder is not None
        embedder.embed(["tea"])
        assert server.requests[-1].body[name] == 256


def test_a_width_that_the_database_cannot_hold(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    with pytest.raises(InvalidValue, match="dimensions: 2048; the database takes at most 1024"):
        registry.get(at(server, dimensions=2048))


def test_what_is_down_is_known_for_each_place_and_key(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    server.fail_next(5)
    down = registry.get(at(server, api_key="k"))
    assert down is not None
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable):
            down.embed(["tea"])
    same_place = registry.get(at(server, api_key="k", dimensions=8))
    other_key = registry.get(at(server, api_key="other"))
    assert same_place is not None
    assert other_key is not None
    with pytest.raises(EmbedderUnavailable, match="in a row"):
        same_place.embed(["tea"])
    assert other_key.embed(["tea"]).shape == (1, server.width)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_makes_its_own(registry: EmbedderRegistry, server: EmbeddingServer) -> None:
    mine = registry.get(at(server))

    def has_its_own() -> bool:
        own = registry.get(at(server))
        return own is not None and own is not mine and len(own.embed(["tea"])) == 1

    assert succeeds_in_child(has_its_own)
    assert registry.get(at(server)) is mine
