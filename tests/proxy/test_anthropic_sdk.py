"""The Anthropic SDK through the proxy, as its users use it."""

from typing import Any

import anthropic
import httpx2
import pytest

from ricordo import UserMemory
from tests.proxy.test_openai_sdk import has_turns, texts
from tests.support.endpoints import FaultyModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.anthropic")

QUESTION: Any = {"role": "user", "content": "What does the user drink in the morning?"}
TOOL: Any = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}
CACHED = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}


def ask(client: anthropic.Anthropic, *messages: Any, **options: Any) -> Any:
    return client.messages.create(
        model="m", max_tokens=100, messages=list(messages) or [QUESTION], **options
    )


@pytest.mark.requirement("proxy.memories")
@pytest.mark.requirement("proxy.observes")
def test_a_chat(
    anthropic_client: anthropic.Anthropic, claude: FaultyModel, ana: UserMemory
) -> None:
    claude.answer("Green tea.")
    done = ask(anthropic_client, system=[CACHED], extra_headers={"X-Ricordo-Thread": "t"})
    assert done.content[0].text == "Green tea."
    assert [one["theme"] for one in done.model_extra["memories"]] == ["drinks"]
    theirs, ours = claude.bodies[0]["system"]
    assert theirs == CACHED
    assert ours["type"] == "text" and "green tea" in ours["text"]
    assert claude.bodies[0]["messages"] == [QUESTION]
    sent = {name.lower(): value for name, value in claude.requests[0].headers.items()}
    assert "sk-caller" in sent["authorization"] and "anthropic-version" in sent
    assert not [name for name in sent if name.startswith("x-ricordo")]
    wait_until(lambda: has_turns(ana, 2))
    assert texts(ana, "t") == [("user", QUESTION["content"]), ("assistant", "Green tea.")]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.requirement("proxy.observes")
@pytest.mark.parametrize("streams", [pytest.param(False, marks=pytest.mark.matrix), True])
def test_a_round_trip_with_a_tool(
    anthropic_client: anthropic.Anthropic, claude: FaultyModel, ana: UserMemory, streams: bool
) -> None:
    claude.answer_calling("weather", {"city": "Turin"}, content="I look it up.")
    asked: Any = {"role": "user", "content": "What does the user drink in the rain?"}
    if streams:
        with anthropic_client.messages.stream(
            model="m", max_tokens=9, messages=[asked], tools=[TOOL]
        ) as stream:
            events: Any = list(stream)
            first: Any = stream.get_final_message()
        start = next(one for one in events if one.type == "message_start")
        for shown in (start, start.message, first):
            assert [one["theme"] for one in shown.model_extra["memories"]] == ["drinks"]
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
    assert claude.bodies[-1]["messages"] == [asked, calling, answered]
    wait_until(lambda: has_turns(ana, 4))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [
        ("user", asked["content"]),
        ("assistant", "I look it up."),
        ("tool", "Rain at noon"),
        ("assistant", "Yes, at noon."),
    ]
    (stored,) = list(ana.turns(thread.thread_id))[1].tool_calls or []
    assert (stored["name"], stored["input"]) == ("weather", {"city": "Turin"})


@pytest.mark.requirement("proxy.counts")
def test_tokens_are_counted_with_those_of_memory(
    anthropic_client: anthropic.Anthropic, claude: FaultyModel, ana: UserMemory
) -> None:
    in_thread: Any = {"extra_headers": {"X-Ricordo-Thread": "t"}}
    claude.answer("Hello.")
    ask(anthropic_client, {"role": "user", "content": "Hello"}, **in_thread)
    wait_until(lambda: has_turns(ana, 2))
    ana.add("The user moved to Turin", theme="home")
    claude.answer_bytes([b'{"input_tokens":  42}'])
    counted = anthropic_client.messages.count_tokens(
        model="m", system="Be brief.", messages=[QUESTION], **in_thread
    )
    assert counted.to_dict() == {"input_tokens": 42}
    request = claude.requests[-1]
    assert request.path == "/v1/messages/count_tokens"
    theirs, ours = request.body["system"]
    assert theirs["text"] == "Be brief." and "green tea" in ours["text"]
    # Nothing is recorded, and what is new is news to the chat all the same.
    assert [turn.content for turn in ana.turns("t")] == ["Hello", "Hello."]
    claude.answer("Green tea.")
    ask(anthropic_client, **in_thread)
    assert "+created: [home]" in str(claude.bodies[-1]["system"])


@pytest.mark.requirement("proxy.errors")
def test_errors_of_the_upstream(
    anthropic_client: anthropic.Anthropic, claude: FaultyModel, ana: UserMemory
) -> None:
    body = b'{"type": "error", "error": {"type": "t", "message": "not today"}}'
    claude.fail_next(status=429, body=body, headers={"retry-after": "7", "request-id": "r1"})
    with pytest.raises(anthropic.RateLimitError, match="not today") as caught:
        ask(anthropic_client)
    assert caught.value.response.content == body
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.request_id == "r1"
    assert list(ana.threads()) == []
    assert [one.id for one in anthropic_client.models.list()] == [claude.model]


def test_the_scripted_claude_itself(claude: FaultyModel) -> None:
    claude.answer("Tea.")
    with anthropic.Anthropic(api_key="k", base_url=claude.root, max_retries=0) as client:
        assert ask(client).content[0].text == "Tea."
        with pytest.raises(anthropic.InternalServerError, match="no answer is scripted"):
            ask(client)
        claude.answer_broken(times=2)
        with pytest.raises(anthropic.APIConnectionError):
            ask(client)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(ask(client, stream=True))
        claude.answer_with(lambda body: str(body["max_tokens"]))
        assert ask(client).content[0].text == "100"
        assert httpx2.post(f"{claude.root}/v1/messages", content=b"{").status_code == 400
        assert httpx2.post(f"{claude.root}/v2", content=b"{}").status_code == 404
        claude.required_key = "other"
        with pytest.raises(anthropic.AuthenticationError):
            ask(client)
