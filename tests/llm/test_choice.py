"""Choosing a model: what is filled in, and what is refused."""

import pytest

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_API_KEY_CHARS, MAX_MODEL_NAME_CHARS, MAX_URL_CHARS
from ricordo.llm.choice import PROVIDERS, ModelChoice


@pytest.mark.requirement("formation.model-layer")
def test_the_providers() -> None:
    assert PROVIDERS == ("openai", "mistral", "gemini", "ollama", "llamacpp", "custom_http")


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "custom_http"])
def test_a_provider_brings_what_is_not_given(provider: str) -> None:
    choice = ModelChoice.parse(provider, api_key="sk-1")
    assert choice.model == choice.preset.default_model
    assert choice.base_url == choice.preset.base_url
    expected = "max_completion_tokens" if provider == "openai" else "max_tokens"
    assert choice.preset.max_tokens_field == expected


def test_what_is_given_stands() -> None:
    choice = ModelChoice.parse("ollama", model="qwen3", base_url="http://box:1/v1/", api_key="k")
    assert (choice.model, choice.base_url, choice.api_key) == ("qwen3", "http://box:1/v1", "k")


@pytest.mark.parametrize(
    ("provider", "given", "problem"),
    [
        ("gpt", {}, "provider: 'gpt' is not one of: openai, mistral, gemini, ollama, llamacpp"),
        ("", {}, "provider: '' is not one of"),
        ("openai", {}, "api_key: openai needs one"),
        ("mistral", {}, "api_key: mistral needs one"),
        ("gemini", {}, "api_key: gemini needs one"),
        ("openai", {"api_key": ""}, "api_key: expected 1 to"),
        ("openai", {"api_key": "a b"}, "api_key: expected 1 to"),
        ("openai", {"api_key": "a\nX-Evil: 1"}, "api_key: expected 1 to"),
        ("openai", {"api_key": "k" * (MAX_API_KEY_CHARS + 1)}, "api_key: expected 1 to"),
        ("custom_http", {"base_url": "http://box/v1"}, "model: custom_http needs the name"),
        ("custom_http", {"model": "m"}, "base_url: custom_http needs the address"),
        ("ollama", {"model": ""}, "model: expected 1 to"),
        ("ollama", {"model": " m"}, "model: expected 1 to"),
        ("ollama", {"model": "m" * (MAX_MODEL_NAME_CHARS + 1)}, "model: expected 1 to"),
        ("ollama", {"base_url": "box:11434"}, "base_url: expected http"),
        ("ollama", {"base_url": "ftp://box"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://box:99999"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://[::1"}, "base_url: expected http"),
        ("ollama", {"base_url": "http://b ox"}, "base_url: only plain ASCII"),
        ("ollama", {"base_url": "http://ana:pw@box/v1"}, "must not contain a name or password"),
        ("ollama", {"base_url": "http://box/v1?a=1"}, r"must not contain \? or #"),
        ("ollama", {"base_url": "http://box/v1/chat/completions"}, "leave out the final"),
        ("ollama", {"base_url": "http://" + "b" * MAX_URL_CHARS}, "base_url: .* at most"),
    ],
)
def test_what_is_not_allowed(provider: str, given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem) as caught:
        ModelChoice.parse(provider, **given)
    assert "Evil" not in str(caught.value)


@pytest.mark.requirement("formation.model-layer")
def test_the_key_is_in_no_representation() -> None:
    assert "sk-secret" not in repr(ModelChoice.parse("openai", api_key="sk-secret"))
