"""The scripted model is itself tested, with the client that others will use."""

from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("formation.scripted-server")

MESSAGES = [{"role": "user", "content": "What does ana drink?"}]


@pytest.fixture
def client(server: FaultyModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="sk-1", base_url=server.base_url, max_retries=0) as opened:
        yield opened


def create(client: openai.OpenAI, **options: object) -> object:
    return client.chat.completions.create(model="m", messages=MESSAGES, **options)  # type: ignore[call-overload]


def test_answers_in_turn_and_then_computed(server: FaultyModel, client: openai.OpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="no answer is scripted"):
        create(client)
    server.answer("Tea.", times=2)
    server.answer({"drink": "tea"})
    server.answer_with(lambda body: body["messages"][0]["content"].upper())
    contents = [create(client).choices[0].message.content for _ in range(5)]  # type: ignore[attr-defined]
    computed = "WHAT DOES ANA DRINK?"
    assert contents == ["Tea.", "Tea.", '{"drink": "tea"}', computed, computed]
    assert server.prompts == [MESSAGES] * 6


@pytest.mark.parametrize("with_usage", [True, False])
def test_a_streamed_answer(server: FaultyModel, client: openai.OpenAI, with_usage: bool) -> None:
    text = 'Green tea, with a "bit" of honey \U0001f375.\n'
    server.answer(text)
    options = {"stream_options": {"include_usage": True}} if with_usage else {}
    chunks = list(create(client, stream=True, **options))  # type: ignore[call-overload]
    deltas = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert deltas[0].delta.role == "assistant"
    assert "".join(choice.delta.content or "" for choice in deltas) == text
    assert len(deltas) > 4
    assert [choice.finish_reason for choice in deltas] == [None] * (len(deltas) - 1) + ["stop"]
    usage = [chunk.usage for chunk in chunks if chunk.usage is not None]
    assert len(usage) == int(with_usage)
    if with_usage:
        assert (chunks[-1].choices, usage[0].prompt_tokens) == ([], 4)


def test_a_stream_that_is_cut_off_or_breaks(server: FaultyModel, client: openai.OpenAI) -> None:
    server.answer_truncated("Green te", times=1)
    server.answer_refusal(times=1)
    server.answer_broken(times=1)
    assert list(create(client, stream=True))[-1].choices[0].finish_reason == "length"  # type: ignore[call-overload]
    refused = [c.choices[0].delta.refusal for c in create(client, stream=True)]  # type: ignore[attr-defined]
    assert any(refused)
    with pytest.raises((httpx2.TransportError, openai.APIConnectionError)):
        list(create(client, stream=True))  # type: ignore[call-overload]


def test_formats_can_be_refused(server: FaultyModel, client: openai.OpenAI) -> None:
    server.refuse_schema()
    server.refuse_json_mode()
    server.answer_with(lambda _: "Tea.")
    schema = {"name": "x", "schema": {"type": "object"}}
    for wanted in (
        {"type": "json_schema", "json_schema": schema},
        {"type": "json_object"},
    ):
        with pytest.raises(openai.BadRequestError, match="response_format"):
            create(client, response_format=wanted)
    create(client)
    server.answer_rightly()
    create(client, response_format={"type": "json_object"})


def test_what_the_hook_raises_is_raised_when_the_server_is_left() -> None:
    def fail() -> None:
        raise AssertionError("a transaction is open")

    with pytest.raises(AssertionError, match="a transaction is open"), FaultyModel() as server:
        server.before_answer = fail
        server.answer("Tea.")
        url = f"{server.base_url}/chat/completions"
        answer = httpx2.post(url, json={"messages": MESSAGES})
        assert answer.status_code == 500


def test_faults_hold_until_they_are_forgotten(server: FaultyModel, client: openai.OpenAI) -> None:
    server.answer("Tea.")
    server.answer_nonsense()
    for _ in range(3):
        assert "fox" in create(client).choices[0].message.content  # type: ignore[attr-defined]
    server.fail_next(5)
    server.answer_rightly()
    assert create(client).choices[0].message.content == "Tea."  # type: ignore[attr-defined]


def test_models_keys_and_unknown_pages(server: FaultyModel) -> None:
    assert httpx2.get(f"{server.base_url}/models").json()["data"] == [{"id": "test-model"}]
    assert httpx2.get(f"{server.root}/elsewhere").status_code == 404
    assert httpx2.post(f"{server.root}/elsewhere", json={}).status_code == 404
    assert server.prompts == []
    server.required_key = "sk-1"
    assert httpx2.post(f"{server.base_url}/chat/completions", json={}).status_code == 401


@pytest.mark.requirement("proxy.responses")
def test_responses_whole_and_streamed(server: FaultyModel, client: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "input": "What does ana drink?"}

    def streamed() -> Any:
        return list(client.responses.create(**asked, stream=True))[-1].response

    for respond in (lambda: client.responses.create(**asked), streamed):
        server.answer_calling("weather", {"city": "Turin"}, content="I look it up.")
        server.answer_refusal(times=1)
        server.answer_truncated("Green te", times=1)
        calling, refusing, cut = (respond() for _ in range(3))
        assert calling.output_text == "I look it up."
        assert (calling.output[1].name, calling.output[1].arguments) == (
            "weather",
            '{"city": "Turin"}',
        )
        assert "can't help" in refusing.output[0].content[0].refusal
        assert (cut.output_text, cut.status) == ("Green te", "incomplete")
    assert server.prompts == [MESSAGES] * 6
