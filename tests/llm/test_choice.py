"""Choosing a model, and trying it out."""

from collections.abc import Callable

import pytest

from ricordo.errors import InvalidValue
from ricordo.providers import chat
from ricordo.providers.chat_model import PROVIDERS, ModelChoice
from tests.llm.conftest import Asker
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("formation.model-layer")

Make = Callable[..., Asker]


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
        ("openai", {}, "api_key: openai needs one"),
        ("openai", {"api_key": "a\nX-Evil: 1"}, "api_key: expected 1 to"),
        ("custom_http", {"base_url": "http://box/v1"}, "model: custom_http needs the name"),
        ("custom_http", {"model": "m"}, "base_url: custom_http needs the address"),
        ("ollama", {"model": " m"}, "model: expected 1 to"),
        ("ollama", {"base_url": "http://ana:pw@box/v1"}, "must not contain a name or password"),
        ("ollama", {"base_url": "http://box/v1/chat/completions"}, "leave out the final"),
    ],
)
def test_what_is_not_allowed(provider: str, given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem) as caught:
        ModelChoice.parse(provider, **given)
    assert "Evil" not in str(caught.value)


def test_the_key_is_in_no_representation() -> None:
    assert "sk-secret" not in repr(ModelChoice.parse("openai", api_key="sk-secret"))


def test_all_is_well(server: FaultyModel, asker: Make) -> None:
    server.refuse_schema()
    server.answer({"hour": 9, "destination": "the coast"})
    moments = iter([1.0, 1.25])
    report = chat.test_model(asker().model, monotonic=lambda: next(moments))
    assert (report.ok, report.problem, report.structured_output) == (True, None, "json_object")
    assert (report.provider, report.model) == ("custom_http", "test-model")
    assert (report.latency_ms, report.completion_tokens) == (250.0, 5)
    assert report.prompt_tokens > 50  # those of the refused request as well


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (lambda server: server.fail_next(status=401), "answered 401"),
        (lambda server: server.fail_next(9, status=503), "not available: answered 503"),
        (FaultyModel.answer_nonsense, "no usable answer"),
        (FaultyModel.answer_html, "an HTML page"),
    ],
)
def test_a_problem_is_one_line(
    server: FaultyModel, asker: Make, fault: Callable[[FaultyModel], None], problem: str
) -> None:
    fault(server)
    report = chat.test_model(asker().model)
    assert report.problem is not None
    assert problem in report.problem
    assert "\n" not in report.problem
    assert (report.ok, report.structured_output, report.latency_ms) == (False, None, None)
    assert report.prompt_tokens > 0
