"""The OpenAI SDK through the proxy, as its users use it."""

import json
import threading
from typing import Any

import openai
import pytest

from ricordo import UserMemory
from tests.support.endpoints import FaultyModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.openai")

QUESTION: Any = {"role": "user", "content": "What does the user drink in the morning?"}
TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}


def ask(client: openai.OpenAI, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(
        model="m", messages=list(messages) or [QUESTION], **options
    )


def texts(ana: UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in ana.turns(thread)]


def has_turns(ana: UserMemory, count: int) -> bool:
    return sum(thread.turn_count for thread in ana.threads()) >= count


@pytest.mark.requirement("proxy.memories")
@pytest.mark.requirement("proxy.observes")
def test_a_chat(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    model.answer("Green tea.")
    system = {"role": "system", "content": "Be brief."}
    done = ask(client, system, QUESTION, extra_headers={"X-Ricordo-Thread": "t"})
    assert done.choices[0].message.content == "Green tea."
    (memory,) = done.model_extra["memories"]
    assert set(memory) == {"id", "theme", "text", "confidence", "since", "type", "owner_id"}
    assert (memory["theme"], memory["text"]) == (
        "drinks",
        "The user drinks green tea in the morning",
    )
    theirs, ours, question = model.prompts[0]
    assert (theirs, question) == (system, QUESTION)
    assert ours["role"] == "system" and "green tea" in ours["content"]
    wait_until(lambda: has_turns(ana, 2))
    assert texts(ana, "t") == [("user", QUESTION["content"]), ("assistant", "Green tea.")]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.requirement("proxy.memories")
def test_a_stream(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    go_on = threading.Event()
    model.before_piece = lambda number: None if number < 2 else (go_on.wait(60), None)[1]
    model.answer("Green tea, as always.")
    custom = {"deep": [1, {"er": None}], "ü": 0.1}
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    stream = ask(client, **options, extra_body={"x_custom": custom}, extra_query={"v": "1"})
    first = next(stream)
    assert [one["theme"] for one in first.model_extra["memories"]] == ["drinks"]
    assert next(stream).choices[0].delta.content == "Green t"  # before the rest is there
    go_on.set()
    chunks = list(stream)
    said = [one.choices[0].delta.content or "" for one in chunks if one.choices]
    assert "".join(said) == "ea, as always."
    assert all("memories" not in one.model_extra for one in chunks)
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    wait_until(lambda: has_turns(ana, 2))
    (thread,) = ana.threads()
    assert thread.thread_id.startswith("chat-")
    assert texts(ana, thread.thread_id)[1] == ("assistant", "Green tea, as always.")
    request = model.requests[-1]
    assert (request.body["x_custom"], request.path) == (custom, "/v1/chat/completions?v=1")
    assert [one.id for one in client.models.list()] == [model.model]


@pytest.mark.slow
@pytest.mark.requirement("proxy.memories")
def test_the_final_completion_of_a_stream(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory
) -> None:
    model.answer("Green tea.")
    with client.chat.completions.stream(model="m", messages=[QUESTION]) as stream:
        shown: Any = stream.get_final_completion().model_extra
    assert [one["theme"] for one in shown["memories"]] == ["drinks"]


@pytest.mark.requirement("proxy.observes")
@pytest.mark.parametrize("streams", [False, True])
def test_a_round_trip_with_a_tool(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory, streams: bool
) -> None:
    model.answer_calling("weather", {"city": "Turin", "days": 3})
    asked: Any = {"role": "user", "content": "Do I need an umbrella?"}
    if streams:
        with client.chat.completions.stream(model="m", messages=[asked], tools=[TOOL]) as stream:
            first: Any = stream.until_done().get_final_completion()
    else:
        first = ask(client, asked, tools=[TOOL])
    (call,) = first.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)["city"]) == ("weather", "Turin")
    calling = first.choices[0].message.model_dump(include={"role", "content", "tool_calls"})
    for one in calling["tool_calls"]:  # what only the SDK's streams put there
        one.pop("index", None)
        one["function"].pop("parsed_arguments", None)
    result = {"role": "tool", "tool_call_id": call.id, "content": "Rain at noon"}
    model.answer("Yes, at noon.")
    done = ask(client, asked, calling, result, tools=[TOOL])
    assert done.choices[0].message.content == "Yes, at noon."
    assert model.requests[-1].body["tools"] == [TOOL]
    assert model.prompts[-1][-2:] == [calling, result]
    wait_until(lambda: has_turns(ana, 4))
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [
        ("user", "Do I need an umbrella?"),
        ("assistant", "[calls weather]"),
        ("tool", "Rain at noon"),
        ("assistant", "Yes, at noon."),
    ]


@pytest.mark.requirement("proxy.errors")
@pytest.mark.parametrize("streams", [False, True])
def test_errors_of_the_upstream(
    client: openai.OpenAI, model: FaultyModel, ana: UserMemory, streams: bool
) -> None:
    body = b'{"error":  {"message": "not today", "type": "t", "code": "c"}}'
    errors = {400: openai.BadRequestError, 429: openai.RateLimitError}
    for status, error in (*errors.items(), (500, openai.InternalServerError)):
        model.fail_next(status=status, body=body, headers={"Retry-After": "7", "Set-Cookie": "a=b"})
        with pytest.raises(error, match="not today") as caught:
            ask(client, stream=streams)
        response = caught.value.response
        assert (response.status_code, response.read()) == (status, body)
        assert response.headers["retry-after"] == "7" and "set-cookie" not in response.headers
    model.answer("Yes.")
    ask(client, {"role": "user", "content": "And now?"})
    wait_until(lambda: has_turns(ana, 2))
    assert has_turns(ana, 3) is False  # of what was not answered, nothing is remembered


def test_changes_are_told_once(client: openai.OpenAI, model: FaultyModel, ana: UserMemory) -> None:
    model.answer_with(lambda _body: "Yes.")
    in_thread: Any = {"extra_headers": {"X-Ricordo-Thread": "t"}}
    ask(client, **in_thread)
    ana.add("The user moved to Turin", theme="home")
    ask(client, **in_thread)
    ask(client, **in_thread)
    told = ["+created: [home]" in messages[0]["content"] for messages in model.prompts]
    assert told == [False, True, False]
    assert all("Earlier in this conversation" not in one[0]["content"] for one in model.prompts)
