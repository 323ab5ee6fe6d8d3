"""Settings become a whole choice, or an error that names the field; one embedder for each."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ricordo.errors import EmbedderUnavailable, InvalidValue, TargetRefused
from ricordo.limits import MAX_CACHED_EMBEDDERS
from ricordo.providers import embedding_choice, local_embedder
from ricordo.providers.embedding_choice import (
    PRESETS,
    PROVIDERS,
    EmbedderRegistry,
    EmbeddingChoice,
    EmbeddingTest,
    effective,
)
from ricordo.providers.endpoint import split_url
from ricordo.providers.local_embedder import LocalEmbedder, OnnxModel
from ricordo.providers.remote_embedder import RemoteEmbedder
from tests.endpoints.forking import succeeds_in_child
from tests.endpoints.surroundings import SteppingTime
from tests.support.endpoints import EmbeddingServer

parse = EmbeddingChoice.parse


def test_defaults_are_filled_in() -> None:
    assert parse("openai", api_key="k") == EmbeddingChoice(
        "openai", "text-embedding-3-small", "https://api.openai.com/v1", "k"
    )
    assert parse("mistral", api_key="k").base_url == "https://api.mistral.ai/v1"
    gemini = parse("gemini", api_key="k")
    assert gemini.base_url == "https://generativelanguage.googleapis.com/v1beta/openai"
    assert parse("ollama").base_url == "http://127.0.0.1:11434/v1"
    assert parse("llamacpp", model="m").base_url == "http://127.0.0.1:8080/v1"
    given = parse(
        "ollama", model="bge-m3", base_url="https://e.example/v1/", api_key="sk-1", dimensions=256
    )
    assert given == EmbeddingChoice("ollama", "bge-m3", "https://e.example/v1", "sk-1", 256)
    assert "sk-1" not in repr(given)


def test_presets_are_whole() -> None:
    assert set(PRESETS) < set(PROVIDERS)
    for preset in PRESETS.values():
        if preset.base_url is not None:
            split_url(preset.base_url)
            assert not preset.base_url.endswith("/")
        assert preset.default_model is None or preset.default_model in preset.widths
        assert preset.shortens <= set(preset.widths)


@pytest.mark.parametrize("provider", ["local", "none"])
def test_what_takes_no_options(provider: str) -> None:
    assert parse(provider, from_user=True) == EmbeddingChoice(provider, from_user=True)
    for options in ({"model": "m"}, {"base_url": "x"}, {"api_key": "k"}, {"dimensions": 1}):
        (name,) = options
        with pytest.raises(InvalidValue, match=f"{name}: is not used by '{provider}'"):
            parse(provider, **options)  # type: ignore[arg-type]


def test_a_model_folder_is_for_operators() -> None:
    assert parse("local:/models/mine").local_folder == Path("/models/mine")
    assert parse("local").local_folder is None
    with pytest.raises(InvalidValue, match="provider: only the operator may name a model folder"):
        parse("local:/models/mine", from_user=True)


@pytest.mark.parametrize("provider", ["", "OpenAI", "local:", "localhost", "cohere", "x" * 500])
def test_unknown_providers(provider: str) -> None:
    with pytest.raises(InvalidValue, match="is not one of: local, llamacpp, .*local:FOLDER$"):
        parse(provider)
    with pytest.raises(InvalidValue, match="none$"):
        parse(provider, from_user=True)


@pytest.mark.parametrize(
    ("provider", "options", "problem"),
    [
        ("openai", {}, "api_key: openai needs one"),
        ("custom_http", {"model": "m"}, "base_url: custom_http needs"),
        ("custom_http", {"base_url": "http://e.example"}, "model: custom_http needs"),
        ("llamacpp", {}, "model: llamacpp needs the id that its /v1/models lists"),
        ("ollama", {"base_url": "e.example"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://e.example/v1/embeddings/"}, "final /embeddings"),
        ("ollama", {"api_key": "a b"}, "api_key: expected"),
        ("ollama", {"model": " m"}, "model: expected"),
        ("ollama", {"dimensions": 0}, "dimensions: expected"),
        ("ollama", {"dimensions": 16_001}, "dimensions: expected"),
        ("ollama", {"dimensions": True}, "dimensions: expected"),
    ],
)
def test_what_is_wrong_is_said(provider: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem) as caught:
        parse(provider, **options)  # type: ignore[arg-type]
    assert "a b" not in str(caught.value)


def test_who_has_the_say() -> None:
    operator, detected, own = parse("none"), parse("llamacpp", model="m"), parse("ollama")
    assert effective(operator, detected, own) is operator
    assert effective(None, detected, own) is detected
    assert effective(None, None, own) is own
    assert effective(None, None, None) == EmbeddingChoice("local")


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_without_the_packages_there_is_none(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert effective(None, None, None) == EmbeddingChoice("none")
    with pytest.raises(EmbedderUnavailable, match=f"{missing} cannot be loaded"):
        OnnxModel(local_embedder.SHIPPED, threads=1)


@pytest.fixture
def registry(time: SteppingTime) -> Iterator[EmbedderRegistry]:
    made = EmbedderRegistry(threads=1, max_width=1024, allow_private=False, timing=time.timing)
    yield made
    made.close()


def at(server: EmbeddingServer, **options: object) -> EmbeddingChoice:
    values = {"model": server.model, "base_url": server.base_url, **options}
    return parse("custom_http", **values)  # type: ignore[arg-type]


def test_none_and_local_ones(registry: EmbedderRegistry, tmp_path: Path) -> None:
    assert registry.get(parse("none")) is None
    shipped, other = registry.get(parse("local")), registry.get(parse(f"local:{tmp_path}"))
    assert isinstance(shipped, LocalEmbedder)
    assert shipped.model == "ricordo-multi@11b2660f"
    assert repr(other) == f"LocalEmbedder(folder={tmp_path!r}, threads=1)"


def test_users_are_kept_from_our_own_network_unless_the_operator_allows_it(
    registry: EmbedderRegistry, server: EmbeddingServer
) -> None:
    operators, users = registry.get(at(server)), registry.get(at(server, from_user=True))
    assert operators is not None
    assert users is not None
    assert operators.embed(["tea"]).shape == (1, server.width)
    with pytest.raises(TargetRefused):
        users.embed(["tea"])
    open_registry = EmbedderRegistry(threads=1, max_width=1024, allow_private=True)
    users = open_registry.get(at(server, from_user=True))
    assert users is not None
    assert users.embed(["tea"]).shape == (1, server.width)
    open_registry.close()


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
    with pytest.raises(InvalidValue, match="dimensions: 2048; the database takes at most 1024"):
        registry.get(at(server, dimensions=2048))


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


def test_an_embedder_that_works_is_tried_out() -> None:
    moments = iter([5.0, 5.004])
    result = embedding_choice.test_embedder(LocalEmbedder(), monotonic=lambda: next(moments))
    assert result.latency_ms == pytest.approx(4.0)
    assert (result.ok, result.problem, result.dimensions) == (True, None, 384)
    assert (result.provider, result.model) == ("local", "ricordo-multi@11b2660f")


def test_an_embedder_that_fails_says_why_in_one_line(
    server: EmbeddingServer, remote: Callable[..., RemoteEmbedder], tmp_path: Path
) -> None:
    server.fail_next(status=404, body=b'{"error": "no such\\nmodel"}')
    problem = f"custom_http ({server.base_url}) answered 404: no such model"
    expected = EmbeddingTest(False, "custom_http", "test-model", None, None, problem)
    assert embedding_choice.test_embedder(remote()) == expected
    result = embedding_choice.test_embedder(LocalEmbedder(tmp_path / "nowhere"))
    assert (result.ok, result.model) == (False, None)
    assert "there is no folder" in (result.problem or "")
