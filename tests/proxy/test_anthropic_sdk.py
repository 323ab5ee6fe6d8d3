"""The Anthropic SDK through the proxy, as its users use it."""

from typing import Any

import anthropic
import pytest

from ricordo import UserMemory
from ricordo.testing.anthropic_server import AnthropicServer
from tests.proxy.test_openai_sdk import has_turns, texts
from tests.support.waiting import wait_until

QUESTION: Any = {"role": "user", "content": "What does the user drink in the morning?"}
TOOL: Any = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}
CACHED = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}


def ask(client: anthropic.Anthropic, *messages: Any, **options: Any) -> Any:
    return client.messages.create(
        model="m", max_tokens=100, messages=list(messages) or [QUESTION], **options
    )


@pytest.mark.requirement("proxy.anthropic")
@pytest.mark.requirement("proxy.memories")
@pytest.mark.requirement("proxy.observes")
def test_a_chat(
    anthropic_client: anthropic.Anthropic, claude: AnthropicServer, ana: UserMemory
) -> None:
    claude.answer("Green tea.")
    done = ask(anthropic_client, system=[CACHED], extra_headers={"X-Ricordo-Thread": "t"})
    assert done.content[0].text == "Green tea."
    assert [one["theme"] for one in done.model_extra["memories"]] == ["drinks"]
    theirs, ours = claude.asked[0]["system"]
    assert theirs == CACHED
    assert ours["type"] == "text" and "green tea" in ours["text"]
    assert claude.asked[0]["messages"] == [QUESTION]
    sent = {name.lower(): value for name, value in claude.requests[0].headers.items()}
    assert "sk-caller" in sent["authorization"] and "anthropic-version" in sent
    assert not [name for name in sent if name.startswith("x-ricordo")]
    wait_until(lambda: has_turns(ana, 2))
    assert texts(ana, "t") == [("user", QUESTION["content"]), ("assistant", "Green tea.")]


@pytest.mark.requirement("proxy.anthropic")
@pytest.mark.requirement("proxy.stream")
@pytest.mark.requirement("proxy.memories")
def test_the_stream_helper(
    anthropic_client: anthropic.Anthropic, claude: AnthropicServer, ana: UserMemory
) -> None:
    claude.answer("Green tea, as always.")
    with anthropic_client.messages.stream(model="m", max_tokens=9, messages=[QUESTION]) as stream:
        events: Any = list(stream)
        final: Any = stream.get_final_message()
    assert final.content[0].text == "Green tea, as always."
    start = next(one for one in events if one.type == "message_start")
    assert [one["theme"] for one in start.model_extra["memories"]] == ["drinks"]
    wait_until(lambda: has_turns(ana, 2))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id)[1] == ("assistant", "Green tea, as always.")


@pytest.mark.requirement("proxy.anthropic")
@pytest.mark.requirement("proxy.observes")
@pytest.mark.parametrize("streams", [False, True])
def test_a_round_trip_with_a_tool(
    anthropic_client: anthropic.Anthropic, claude: AnthropicServer, ana: UserMemory, streams: bool
) -> None:
    claude.answer_calling("weather", {"city": "Turin"}, content="I look it up.")
    asked: Any = {"role": "user", "content": "Do I need an umbrella?"}
    if streams:
        with anthropic_client.messages.stream(
            model="m", max_tokens=9, messages=[asked], tools=[TOOL]
        ) as stream:
            first: Any = stream.get_final_message()
    else:
        first = ask(anthropic_client, asked, tools=[TOOL])
    text, call = first.content
    assert (call.name, call.input) == ("weather", {"city": "Turin"})
    calling = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": text.text},
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input},
        ],
    }
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "Rain at noon"}
    claude.answer("Yes, at noon.")
    answered = {"role": "user", "content": [result]}
    done = ask(anthropic_client, asked, calling, answered, tools=[TOOL])
    assert done.content[0].text == "Yes, at noon."
    assert claude.asked[-1]["messages"] == [asked, calling, answered]
    wait_until(lambda: has_turns(ana, 4))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [
        ("user", "Do I need an umbrella?"),
        ("assistant", "I look it up."),
        ("tool", "Rain at noon"),
        ("assistant", "Yes, at noon."),
    ]
    (stored,) = list(ana.turns(thread.thread_id))[1].tool_calls or []
    assert (stored["name"], stored["input"]) == ("weather", {"city": "Turin"})


@pytest.mark.requirement("proxy.anthropic")
def test_a_system_text_and_the_user_in_the_body(
    proxy_url: str, claude: AnthropicServer, ana: UserMemory
) -> None:
    claude.answer("Tea.")
    with anthropic.Anthropic(api_key="sk", base_url=proxy_url, max_retries=0) as client:
        done = ask(client, system="Be brief.", metadata={"user_id": "ana"}, extra_body={"x": [1]})
    assert len(done.model_extra["memories"]) == 1
    asked = claude.asked[0]
    assert asked["system"][0] == {"type": "text", "text": "Be brief."}
    assert (asked["x"], asked["metadata"]) == ([1], {"user_id": "ana"})
    wait_until(lambda: has_turns(ana, 2))


@pytest.mark.requirement("proxy.errors")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ],
)
def test_errors_of_the_upstream(
    anthropic_client: anthropic.Anthropic,
    claude: AnthropicServer,
    ana: UserMemory,
    status: int,
    error: type[anthropic.APIStatusError],
) -> None:
    body = b'{"type": "error", "error": {"type": "t", "message": "not today"}}'
    claude.fail_next(status=status, body=body, headers={"retry-after": "7", "request-id": "r1"})
    with pytest.raises(error, match="not today") as caught:
        ask(anthropic_client)
    assert caught.value.response.content == body
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.request_id == "r1"
    assert list(ana.threads()) == []


@pytest.mark.requirement("proxy.anthropic")
def test_models(anthropic_client: anthropic.Anthropic, claude: AnthropicServer) -> None:
    assert [one.id for one in anthropic_client.models.list()] == [claude.model]
