"""OpenAI's Responses API through the proxy, as users of its SDK and of its Agents SDK have it."""

import asyncio
import json
from typing import Any

import agents
import openai
import pytest

from ricordo import UserMemory
from tests.proxy.conftest import USER
from tests.proxy.test_openai_sdk import has_turns, texts
from tests.support.endpoints import FaultyModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.responses")

QUESTION = "What does the user drink in the morning?"
TOOL: Any = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
IN_THREAD: Any = {"extra_headers": {"X-Ricordo-Thread": "t"}}


@pytest.mark.requirement("proxy.memories")
@pytest.mark.requirement("proxy.observes")
def test_a_response(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    model.answer("Green tea.")
    done = client.responses.create(
        model="m", input=QUESTION, instructions="Be brief.", store=False, **IN_THREAD
    )
    assert done.output_text == "Green tea."
    shown: Any = done.model_extra
    assert [one["theme"] for one in shown["memories"]] == ["drinks"]
    body = model.bodies[0]
    assert body["instructions"].startswith("Be brief.\n\n") and "green tea" in body["instructions"]
    assert (body["input"], body["store"]) == (QUESTION, False)
    assert model.requests[0].path == "/v1/responses"
    wait_until(lambda: has_turns(ana, 2))
    assert texts(ana, "t") == [("user", QUESTION), ("assistant", "Green tea.")]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.requirement("proxy.memories")
def test_a_stream(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    model.answer("Green tea, as always.")
    with client.responses.stream(model="m", input=[{"role": "user", "content": QUESTION}]) as said:
        events: list[Any] = list(said)
        final = said.get_final_response()
    assert final.output_text == "Green tea, as always."
    created = events[0].response
    for response in (created, final):
        assert [one["theme"] for one in response.model_extra["memories"]] == ["drinks"]
    assert [one.sequence_number for one in events] == list(range(len(events)))
    wait_until(lambda: has_turns(ana, 2))
    (thread,) = ana.threads()
    assert thread.thread_id.startswith("chat-")
    assert texts(ana, thread.thread_id)[1] == ("assistant", "Green tea, as always.")


@pytest.mark.slow
@pytest.mark.requirement("proxy.observes")
@pytest.mark.parametrize("streams", [False, True])
def test_a_round_trip_with_a_tool(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory, streams: bool
) -> None:
    model.answer_calling("weather", {"city": "Turin"})
    asked: Any = [{"role": "user", "content": "Do I need an umbrella?"}]
    if streams:
        with client.responses.stream(model="m", input=asked, tools=[TOOL]) as stream:
            first: Any = stream.get_final_response()
    else:
        first = client.responses.create(model="m", input=asked, tools=[TOOL])
    (call,) = first.output
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Turin"})
    result: Any = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": "Rain at noon",
    }
    calling = call.model_dump(include={"type", "call_id", "name", "arguments"})
    model.answer("Yes, at noon.")
    done = client.responses.create(model="m", input=[*asked, calling, result], tools=[TOOL])
    assert done.output_text == "Yes, at noon."
    assert model.bodies[-1]["tools"] == [TOOL]
    assert model.bodies[-1]["input"] == [*asked, calling, result]
    wait_until(lambda: has_turns(ana, 4))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [
        ("user", "Do I need an umbrella?"),
        ("assistant", "[calls weather]"),
        ("tool", "Rain at noon"),
        ("assistant", "Yes, at noon."),
    ]


@pytest.mark.requirement("proxy.observes")
def test_a_conversation_that_the_upstream_keeps(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory
) -> None:
    """Only what is new is sent, and the same words said twice are two messages."""
    model.answer_with(lambda _body: "More?")
    for text in ("Tea, please.", "Yes.", "Yes."):
        client.responses.create(model="m", input=text, conversation="c1")
    wait_until(lambda: has_turns(ana, 6))
    said = [text for _, text in texts(ana, "c1")]
    assert said == ["Tea, please.", "More?", "Yes.", "More?", "Yes.", "More?"]


@pytest.mark.requirement("proxy.observes")
def test_a_conversation_goes_on_from_a_response(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory
) -> None:
    """Only what is new is sent and recorded; the thread stays, also where a header named it."""
    model.answer_with(lambda _body: "More?")
    first = client.responses.create(model="m", input="Tea, please.", **IN_THREAD)
    with client.responses.stream(
        model="m", input="Yes.", previous_response_id=first.id
    ) as streamed:
        second = streamed.get_final_response()
    third = client.responses.create(model="m", input="Yes.", previous_response_id=second.id)
    third = client.responses.create(model="m", input=QUESTION, previous_response_id=third.id)
    client.responses.create(
        model="m",
        input=[{"type": "function_call_output", "call_id": "c", "output": "Hot"}],
        previous_response_id=third.id,
    )
    wait_until(lambda: has_turns(ana, 10))
    said = [text for _, text in texts(ana, "t")]
    assert said[::2] == ["Tea, please.", "Yes.", "Yes.", QUESTION, "Hot"]
    assert said[1::2] == ["More?"] * 5
    assert model.bodies[1]["previous_response_id"] == first.id
    # With a tool's result, memory is for what the user asked before.
    shown = ["in the morning" in body.get("instructions", "") for body in model.bodies]
    assert shown[3:] == [True, True]
    # What is unknown here begins a thread of its own, in which it goes on.
    other = client.responses.create(model="m", input="Hello", previous_response_id="resp_other")
    client.responses.create(model="m", input="Hello", previous_response_id=other.id)
    wait_until(lambda: has_turns(ana, 14))
    assert sorted(len(texts(ana, one.thread_id)) for one in ana.threads()) == [4, 10]


@pytest.mark.requirement("proxy.errors")
def test_what_the_upstream_refuses(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory
) -> None:
    body = b'{"error":  {"message": "no such path here", "type": "t"}}'
    model.fail_next(status=404, body=body)
    with pytest.raises(openai.NotFoundError, match="no such path here") as caught:
        client.responses.create(model="m", input=QUESTION)
    assert caught.value.response.content == body
    assert list(ana.threads()) == []


@pytest.mark.requirement("proxy.counts")
def test_what_only_passes(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    """Tokens are counted with those of memory; with the rest memory has nothing to do."""
    model.answer_bytes([b'{"object": "response.input_tokens", "input_tokens": 42}'])
    counted = client.responses.input_tokens.count(model="m", input=QUESTION)
    assert counted.input_tokens == 42
    request = model.requests[-1]
    assert request.path == "/v1/responses/input_tokens"
    assert "green tea" in request.body["instructions"]
    kept = b'{"id": "conv_1", "object": "conversation", "created_at": 1, "metadata": {}}'
    model.answer_bytes([kept])
    assert client.conversations.create(items=[]).id == "conv_1"
    model.answer_bytes([b'{"id": "conv_1", "object": "conversation.deleted", "deleted": true}'])
    assert client.conversations.delete("conv_1").deleted
    assert model.requests[-1].path == "/v1/conversations/conv_1"
    model.answer_bytes([b'{"object": "list", "data": [], "model": "m", "usage": null}'])
    assert client.embeddings.create(model="m", input="tea", encoding_format="float").data == []
    assert model.requests[-1].body["input"] == "tea"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("m")
    assert model.requests[-1].path == "/v1/models/m"
    assert list(ana.threads()) == []


def test_the_agents_sdk_with_its_own_model(
    proxy_url: str, model: FaultyModel, ana: UserMemory
) -> None:
    """It sends the whole conversation again after each call of a tool."""

    @agents.function_tool
    def weather(city: str) -> str:
        return f"Rain in {city}"

    async def run() -> Any:
        async with openai.AsyncOpenAI(
            api_key="k", base_url=f"{proxy_url}/v1", default_headers=USER, max_retries=0
        ) as opened:
            speaks = agents.OpenAIResponsesModel("m", opened)
            agent = agents.Agent(name="guide", instructions="Be brief.", model=speaks)
            agent.tools = [weather]
            untraced = agents.RunConfig(tracing_disabled=True)
            done = await agents.Runner.run(agent, "What does the user drink?", run_config=untraced)
            follow: Any = [*done.to_input_list(), {"role": "user", "content": "And now?"}]
            streamed = agents.Runner.run_streamed(agent, follow, run_config=untraced)
            async for _ in streamed.stream_events():
                pass
            return done.final_output, streamed.final_output

    model.answer_calling("weather", {"city": "Turin"})
    model.answer("Green tea.")
    model.answer("More tea.")
    assert asyncio.run(run()) == ("Green tea.", "More tea.")
    for body in model.bodies:
        assert body["instructions"].startswith("Be brief.\n\n")
        assert "green tea" in body["instructions"]
    wait_until(lambda: has_turns(ana, 6))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [
        ("user", "What does the user drink?"),
        ("assistant", "[calls weather]"),
        ("tool", "Rain in Turin"),
        ("assistant", "Green tea."),
        ("user", "And now?"),
        ("assistant", "More tea."),
    ]
