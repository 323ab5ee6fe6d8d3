"""Settings become a whole choice, or an error that names the field; and who has the say."""

import sys
from pathlib import Path

import pytest

from ricordo.embedding import model_files
from ricordo.embedding.choice import PROVIDERS, EmbeddingChoice, effective
from ricordo.embedding.onnx_model import OnnxModel
from ricordo.embedding.presets import PRESETS
from ricordo.endpoints.addresses import split_url
from ricordo.errors import EmbedderUnavailable, InvalidValue

parse = EmbeddingChoice.parse


def test_the_providers() -> None:
    assert PROVIDERS == (
        "local",
        "llamacpp",
        "ollama",
        "openai",
        "mistral",
        "gemini",
        "custom_http",
        "none",
    )


def test_defaults_are_filled_in() -> None:
    assert parse("openai", api_key="k") == EmbeddingChoice(
        "openai", "text-embedding-3-small", "https://api.openai.com/v1", "k"
    )
    assert parse("mistral", api_key="k").base_url == "https://api.mistral.ai/v1"
    gemini = parse("gemini", api_key="k")
    assert gemini.base_url == "https://generativelanguage.googleapis.com/v1beta/openai"
    assert parse("ollama").base_url == "http://127.0.0.1:11434/v1"
    assert parse("llamacpp", model="m").base_url == "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize("provider", PRESETS)
def test_presets_are_whole(provider: str) -> None:
    preset = PRESETS[provider]
    if preset.base_url is not None:
        split_url(preset.base_url)
        assert not preset.base_url.endswith("/")
    if preset.default_model is not None:
        assert preset.default_model in preset.widths
    assert preset.shortens <= set(preset.widths)


def test_what_is_given_counts() -> None:
    choice = parse(
        "ollama",
        model="bge-m3",
        base_url="https://e.example/v1/",
        api_key="k",
        dimensions=256,
        from_user=True,
    )
    assert choice == EmbeddingChoice("ollama", "bge-m3", "https://e.example/v1", "k", 256, True)


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(parse("openai", api_key="sk-secret"))


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
        ("mistral", {}, "api_key: mistral needs one"),
        ("gemini", {}, "api_key: gemini needs one"),
        ("custom_http", {"model": "m"}, "base_url: custom_http needs"),
        ("custom_http", {"base_url": "http://e.example"}, "model: custom_http needs"),
        ("llamacpp", {}, "model: llamacpp needs the id that its /v1/models lists"),
        ("ollama", {"base_url": "e.example"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://e.example/v1/embeddings/"}, "final /embeddings"),
        ("ollama", {"base_url": "http://a:b@e.example"}, "use api_key"),
        ("ollama", {"api_key": ""}, "api_key: expected"),
        ("ollama", {"api_key": "a b"}, "api_key: expected"),
        ("ollama", {"api_key": "a\r\nX: 1"}, "api_key: expected"),
        ("ollama", {"api_key": "ключ"}, "api_key: expected"),
        ("ollama", {"api_key": "x" * 1_001}, "api_key: expected"),
        ("ollama", {"model": ""}, "model: expected"),
        ("ollama", {"model": " m"}, "model: expected"),
        ("ollama", {"model": "a\nb"}, "model: expected"),
        ("ollama", {"model": "x" * 201}, "model: expected"),
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
        OnnxModel(model_files.SHIPPED, threads=1)
