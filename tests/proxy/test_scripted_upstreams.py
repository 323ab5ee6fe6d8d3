"""The scripted models are themselves tested, with the clients that others will use."""

import threading

import anthropic
import httpx2
import openai
import pytest

from ricordo.testing.anthropic_server import AnthropicServer
from ricordo.testing.model_server import ModelServer
from tests.proxy.test_anthropic_sdk import ask as ask_claude
from tests.proxy.test_openai_sdk import ask


@pytest.mark.requirement("proxy.anthropic")
def test_answers_of_claude_in_turn_and_then_computed(claude: AnthropicServer) -> None:
    claude.answer("Tea.")
    claude.answer_with(lambda body: str(body["max_tokens"]))
    with anthropic.Anthropic(api_key="k", base_url=claude.root, max_retries=0) as client:
        assert [ask_claude(client).content[0].text for _ in range(2)] == ["Tea.", "100"]
        claude.required_key = "other"
        with pytest.raises(anthropic.AuthenticationError):
            ask_claude(client)


@pytest.mark.requirement("proxy.anthropic")
def test_claude_without_a_script_or_with_an_answer_that_breaks_off(
    claude: AnthropicServer,
) -> None:
    with anthropic.Anthropic(api_key="k", base_url=claude.root, max_retries=0) as client:
        with pytest.raises(anthropic.InternalServerError, match="no answer is scripted"):
            ask_claude(client)
        claude.answer_broken("This is never read to its end.", times=2)
        with pytest.raises(anthropic.APIConnectionError):
            ask_claude(client)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(ask_claude(client, stream=True))
    assert httpx2.post(f"{claude.root}/v1/messages", content=b"{").status_code == 400
    assert httpx2.post(f"{claude.root}/v2", content=b"{}").status_code == 404


@pytest.mark.requirement("proxy.openai")
@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_is_called(model: ModelServer, streams: bool) -> None:
    model.answer_calling("weather", {"city": "Turin"}, call_id="c7", content="Well")
    with openai.OpenAI(api_key="k", base_url=model.base_url, max_retries=0) as client:
        if streams:
            with client.chat.completions.stream(model="m", messages=[]) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = ask(client).choices[0].message
    (call,) = message.tool_calls or []
    assert (message.content, call.id, call.function.name) == ("Well", "c7", "weather")
    assert call.function.arguments == '{"city": "Turin"}'


@pytest.mark.requirement("proxy.stream")
def test_bytes_as_they_are_and_clients_that_hang_up(model: ModelServer) -> None:
    model.answer_bytes([b"a", b"", b"bc"], status=418, content_type="text/x", headers={"X-A": "1"})
    answer = httpx2.post(f"{model.base_url}/any", content=b"\xff")
    assert (answer.status_code, answer.content) == (418, b"abc")
    assert (answer.headers["content-type"], answer.headers["x-a"]) == ("text/x", "1")
    assert (model.requests[-1].content, model.requests[-1].body) == (b"\xff", None)
    assert (model.requests[-1].header("HOST"), model.requests[-1].header("X-B")) == (
        f"127.0.0.1:{model.port}",
        None,
    )
    model.answer_bytes([b"abc"], is_broken=True)
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(f"{model.base_url}/any")
    seen = threading.Event()
    model.answer_bytes([b"x" * 100_000] * 1_000, before_part=lambda _number: seen.set())
    with httpx2.stream("POST", f"{model.base_url}/any"):
        assert seen.wait(60)
    assert model.wait_for_given_up() and model.given_up == ["/v1/any"]
