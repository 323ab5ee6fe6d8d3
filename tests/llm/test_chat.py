"""A model that answers: what is sent, what is made of it, and what is remembered."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo.errors import BadAnswer, ModelRefused
from ricordo.limits import DEFAULT_ANSWER_TOKENS, MAX_CORRECTIONS, MAX_REPEATED_ANSWER_CHARS
from ricordo.providers.chat import strict_schema
from ricordo.providers.chat_model import Message, Usage, estimated_tokens
from ricordo.version import __version__
from tests.endpoints.forking import succeeds_in_child
from tests.llm.conftest import QUESTION, TEA, Asker, Drink
from tests.support.endpoints import FaultyModel

Make = Callable[..., Asker]


@pytest.mark.requirement("formation.structured-output")
def test_a_structured_answer(server: FaultyModel, asker: Make) -> None:
    server.answer(TEA)
    ana = asker()
    assert ana.ask() == Drink(drink="tea", cups=2)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    schema = {"name": "Drink", "strict": True, "schema": strict_schema(Drink)}
    assert request.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What does ana drink?"},
        ],
        "max_tokens": DEFAULT_ANSWER_TOKENS,
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    assert ana.used == [Usage(prompt_tokens=6, completion_tokens=4, failed=False)]


@pytest.mark.requirement("formation.model-layer")
def test_a_plain_answer(server: FaultyModel, asker: Make) -> None:
    server.answer("<think>What is it?</think>\n Tea, mostly.\n")
    assert asker().reply() == "Tea, mostly."
    assert "response_format" not in server.requests[0].body


def test_the_name_of_the_limit_is_the_providers(server: FaultyModel, asker: Make) -> None:
    server.answer("Tea.", times=2)
    for provider, name in (("openai", "max_completion_tokens"), ("llamacpp", "max_tokens")):
        asker(provider=provider, api_key="sk-1").reply()
        body = server.requests[-1].body
        assert {key: body[key] for key in body if key.startswith("max")} == {
            name: DEFAULT_ANSWER_TOKENS
        }


@pytest.mark.requirement("formation.model-layer")
def test_nothing_is_sent_that_was_not_set(
    server: FaultyModel, asker: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client library reads these of its own accord."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-env")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-env")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Env: env\nAuthorization: Bearer env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/env")
    server.answer("Tea.", times=2)
    asker().reply()
    asker(api_key="sk-own").reply()
    without, with_key = ({k.lower(): v for k, v in r.headers.items()} for r in server.requests)
    assert "authorization" not in without
    assert with_key["authorization"] == "Bearer sk-own"
    assert without["user-agent"] == f"ricordo/{__version__}"
    usual = "host accept accept-encoding connection content-type content-length user-agent"
    assert set(without) == set(usual.split())
    assert "env" not in str(server.requests)


@pytest.mark.requirement("formation.model-layer")
def test_a_proxy_is_for_the_outside_world_only(
    server: FaultyModel, asker: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.answer("Tea.")
    assert asker().reply() == "Tea."
    monkeypatch.setenv("HTTP_PROXY", server.root)
    with pytest.raises(ModelRefused, match="answered 404"):
        asker(base_url="http://model.example.org/v1").reply()
    assert server.requests[-1].path == "http://model.example.org/v1/chat/completions"


@pytest.mark.requirement("formation.structured-output")
@pytest.mark.parametrize(
    ("refusing", "structure", "formats"),
    [
        ([], "json_schema", ["json_schema"]),
        (["refuse_schema"], "json_object", ["json_schema", "json_object"]),
        (["refuse_schema", "refuse_json_mode"], "plain", ["json_schema", "json_object", None]),
    ],
)
def test_the_ladder_and_its_memory(
    server: FaultyModel, asker: Make, refusing: list[str], structure: str, formats: list[str | None]
) -> None:
    for refuse in refusing:
        getattr(server, refuse)()
    server.answer(TEA, times=2)
    ana = asker()
    assert (ana.ask().drink, ana.model.structure) == ("tea", structure)
    ana.ask()
    sent = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert sent == [*formats, formats[-1]]  # the second call begins with what works
    assert ana.failed == [True] * len(refusing) + [False, False]
    described = [asked[0]["content"].startswith("Be brief.\n\n") for asked in server.prompts]
    assert described == [format_type != "json_schema" for format_type in sent]


def test_the_shape_is_described_without_a_system_message(server: FaultyModel, asker: Make) -> None:
    server.refuse_schema()
    server.answer(TEA)
    question = [Message("user", "a\ud800b \U0001f375?")]  # half a character is not sent
    asker().model.ask(question, Drink, on_usage=lambda _: None)
    system, user = server.prompts[-1]
    assert system["role"] == "system"
    assert "JSON" in system["content"]
    assert '"cups"' in system["content"]
    assert user == {"role": "user", "content": "a?b \U0001f375?"}


def test_how_endpoints_say_that_they_do_not_know_schemas(server: FaultyModel, asker: Make) -> None:
    for status, message in (
        (400, "Unknown parameter: 'response_format'"),
        (422, "response_format: extra fields not permitted"),
        (404, "This model does not support structured outputs"),
        (501, "json_schema is not a valid type"),
        (400, "failed to parse grammar"),
        (400, "Invalid schema for response_format 'Drink'"),
    ):
        server.fail_next(status=status, body=f'{{"error": {{"message": "{message}"}}}}'.encode())
        server.answer(TEA)
        ana = asker()
        ana.ask()
        assert ana.model.structure == "json_object", message


def test_other_refusals_are_refusals_and_not_remembered(server: FaultyModel, asker: Make) -> None:
    for status, message, asked in (
        (404, "The model `x` does not exist", 1),
        (404, "Invalid API key", 1),
        (400, "response_format is wrong", 3),  # and nothing else worked either
    ):
        body = f'{{"error": {{"message": "{message}"}}}}'.encode()
        server.fail_next(asked, status=status, body=body)
        ana, before = asker(), len(server.requests)
        with pytest.raises(ModelRefused, match=f"answered {status}: {message}"):
            ana.ask()
        assert (len(server.requests) - before, ana.model.structure) == (asked, "json_schema")


def test_models_that_take_no_temperature_or_another_limit(server: FaultyModel, asker: Make) -> None:
    for message in (
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    ):
        server.fail_next(status=400, body=f'{{"error": {{"message": "{message}"}}}}'.encode())
    server.answer(TEA, times=2)
    ana = asker()
    ana.ask()
    ana.ask()
    assert len(server.requests) == 4
    for request in server.requests[-2:]:
        assert "temperature" not in request.body
        assert "max_tokens" not in request.body
        assert request.body["max_completion_tokens"] == DEFAULT_ANSWER_TOKENS
    server.fail_next(9, status=400, body=b'{"error": {"message": "max_tokens is too large"}}')
    with pytest.raises(ModelRefused, match="max_tokens is too large"):
        asker().reply()
    assert len(server.requests) == 4 + 2  # under both names


@pytest.mark.requirement("formation.structured-output")
def test_a_wrong_answer_is_corrected_in_the_same_conversation(
    server: FaultyModel, asker: Make
) -> None:
    server.answer("Tea, I think.")
    server.answer({"drink": "tea", "cups": 12})
    server.answer(TEA)
    ana = asker()
    assert ana.ask().cups == 2
    assert ana.failed == [True, True, False]
    first, second, third = server.prompts
    assert first == second[:2] == third[:2]
    assert second == third[:4]
    assert second[2] == {"role": "assistant", "content": "Tea, I think."}
    assert "it is not a JSON object" in second[3]["content"]
    assert '"cups"' in second[3]["content"]  # the model may never have seen the schema
    assert [message["role"] for message in third[2:]] == ["assistant", "user"] * 2
    assert "cups: Input should be less than or equal to 9" in third[5]["content"]
    assert '"cups"' not in third[5]["content"]


@pytest.mark.requirement("formation.model-faults")
def test_corrections_are_bounded_and_errors_do_not_repeat_what_was_said(
    server: FaultyModel, asker: Make
) -> None:
    server.answer({"drink": "tea", "cups": "a secret"}, times=9)
    ana = asker()
    with pytest.raises(BadAnswer, match="cups: Input should be a valid integer") as caught:
        ana.ask()
    assert "secret" not in str(caught.value)
    assert len(server.requests) == 1 + MAX_CORRECTIONS
    assert ana.failed == [True] * (1 + MAX_CORRECTIONS)


def test_a_long_wrong_answer_is_not_repeated_in_full(server: FaultyModel, asker: Make) -> None:
    server.answer("x" * 3 * MAX_REPEATED_ANSWER_CHARS)
    server.answer(TEA)
    asker().ask()
    assert server.prompts[1][2]["content"] == "x" * MAX_REPEATED_ANSWER_CHARS


@pytest.mark.requirement("formation.model-layer")
def test_usage_is_estimated_where_none_is_given(asker: Make, server: FaultyModel) -> None:
    server.gives_usage = False
    server.answer("Green tea.")
    ana = asker()
    ana.reply()
    (usage,) = ana.used
    assert 0 < estimated_tokens([]) < estimated_tokens(QUESTION[:1]) < estimated_tokens(QUESTION)
    assert usage.prompt_tokens == estimated_tokens(QUESTION) == ana.model.estimated_tokens(QUESTION)
    assert (usage.completion_tokens > 0, usage.failed) == (True, False)


def test_who_counts_may_call_it_off(server: FaultyModel, asker: Make) -> None:
    class Enough(Exception):
        pass

    def stop(usage: Usage) -> None:
        raise Enough

    server.answer_nonsense()
    with pytest.raises(Enough):
        asker().model.ask(QUESTION, Drink, on_usage=stop)
    assert len(server.requests) == 1


@pytest.mark.requirement("formation.model-layer")
def test_the_key_is_shown_nowhere(
    server: FaultyModel, asker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ana = asker(api_key="sk-very-secret")
    server.required_key = "sk-right"
    server.fail_next(status=401, body=b'{"error": {"message": "bad key sk-very-secret"}}')
    for expected in (r"bad key \[key\]", "Incorrect API key"):
        with pytest.raises(ModelRefused, match=expected) as caught:
            ana.ask()
        assert "very-secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    assert "very-secret" not in repr(ana.model) + caplog.text
    assert "Bearer" not in caplog.text


def test_many_threads_share_a_model(server: FaultyModel, asker: Make) -> None:
    server.refuse_schema()
    server.answer_with(lambda body: {"drink": body["messages"][-1]["content"], "cups": 1})
    model = asker(is_real_time=True).model
    used: list[Usage] = []

    def ask(name: str) -> str:
        question = [Message("user", name)]
        return model.ask(question, Drink, on_usage=used.append).drink

    names = [f"tea {number}" for number in range(40)]
    with ThreadPoolExecutor(max_workers=16) as threads:
        assert list(threads.map(ask, names)) == names
    assert len(used) == len(server.requests)
    assert sum(not usage.failed for usage in used) == len(names)
    assert model.structure == "json_object"


def test_closing_does_not_hurt_who_is_still_waiting(server: FaultyModel, asker: Make) -> None:
    ana, gate = asker(is_real_time=True), threading.Event()
    server.hang_until(gate)
    server.answer("Tea.", times=2)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(ana.reply)
        assert server.wait_for_requests(1)
        ana.model.close()
        gate.set()
        assert waiting.result() == "Tea."
    assert ana.reply() == "Tea."  # with new connections
    ana.model.close()
    ana.model.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_connections_of_its_own(server: FaultyModel, asker: Make) -> None:
    server.answer("Tea.", times=9)
    ana = asker(is_real_time=True)
    assert ana.reply() == "Tea."

    def ask_and_close() -> bool:
        answer = ana.reply()
        ana.model.close()
        return answer == "Tea."

    assert succeeds_in_child(ask_and_close)
    assert ana.reply() == "Tea."
    first, childs, last = (request.client_port for request in server.requests)
    assert first == last != childs


@pytest.mark.requirement("formation.model-layer")
def test_the_client_library_is_loaded_only_when_it_is_used() -> None:
    program = (
        "import sys, ricordo.providers.chat, ricordo.providers.chat\n"
        "sys.exit(bool({'openai', 'httpx2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
