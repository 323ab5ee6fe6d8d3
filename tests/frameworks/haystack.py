"""Haystack: a real pipeline and a real agent, with a scripted model."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.joiners import ListJoiner
from haystack.dataclasses import ChatMessage, ToolCall

from ricordo import InvalidValue, Memory
from ricordo.integrations.haystack import MemoryRecorder, MemoryRetriever, memory_tools
from ricordo.tools import TOOL_SETS, Tools


def pipeline(memory: Memory, told: list[str], *answers: str) -> Pipeline:
    """Recall, ask the model, record."""
    left = list(answers)

    def answer(messages: list[ChatMessage]) -> str:
        told.append("\n".join(one.text or "" for one in messages))
        return left.pop(0)

    made = Pipeline()
    made.add_component("recall", MemoryRetriever(memory))
    made.add_component("prompt", ListJoiner(list[ChatMessage]))
    made.add_component("model", MockChatGenerator(response_fn=answer))
    made.add_component("said", ListJoiner(list[ChatMessage]))
    made.add_component("record", MemoryRecorder(memory))
    made.connect("recall.messages", "prompt.values")
    made.connect("prompt.values", "model.messages")
    made.connect("prompt.values", "said.values")
    made.connect("model.replies", "said.values")
    made.connect("said.values", "record.messages")
    return made


def ask(made: Pipeline, user_id: str, thread: str, text: str) -> str:
    who = {"user_id": user_id, "thread_id": thread}
    done = made.run(
        {
            "recall": {"query": text, **who},
            "prompt": {"values": [ChatMessage.from_user(text)]},
            "record": who,
        }
    )
    return str(done["record"]["messages"][-1].text)


def test_a_pipeline_recalls_and_records_for_each_user(
    memory: Memory, said: Callable[..., Any]
) -> None:
    told: list[str] = []
    made = pipeline(memory, told, "Green.", "Which?", "I see.", "Osaka.")
    assert ask(made, "ana", "t", "Which tea do I like?") == "Green."
    ask(made, "ben", "t", "Which tea do I like?")
    ask(made, "ana", "t", "I moved to Osaka.")
    ask(made, "ana", "later", "Where did I move to?")
    assert "Ana likes green tea" in told[0]
    assert "green tea" not in told[1]
    assert "I moved to Osaka." in told[3]
    assert said(memory.user("ana"), "t") == [
        ("user", "Which tea do I like?"),
        ("assistant", "Green."),
        ("user", "I moved to Osaka."),
        ("assistant", "I see."),
    ]
    assert said(memory.user("ben"), "t")[1] == ("assistant", "Which?")


def test_whole_conversations_are_recorded_once(memory: Memory, said: Callable[..., Any]) -> None:
    recorder = MemoryRecorder(memory)
    whole: list[ChatMessage] = [ChatMessage.from_system("Be brief.")]
    for number in range(20):
        whole += [ChatMessage.from_user(f"number {number}"), ChatMessage.from_assistant("yes")]
        for window in (whole, whole[-5:]):
            assert recorder.run(window, "ana", "t") == {"messages": window}
    recorded = said(memory.user("ana"), "t")
    assert recorded == [(one.role.value, one.text) for one in whole[1:]]


def agent(*answers: str | ChatMessage, tools: Any) -> Agent:
    return Agent(
        chat_generator=MockChatGenerator(responses=list(answers)),
        tools=tools,
        state_schema={"user_id": {"type": str}},
    )


def calling(name: str, **arguments: Any) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall(tool_name=name, arguments=arguments)])


def results(done: dict[str, Any]) -> list[Any]:
    return [
        json.loads(one.tool_call_results[0].result)
        for one in done["messages"]
        if one.tool_call_results
    ]


def test_an_agent_has_the_tools_of_the_user_in_its_state(memory: Memory) -> None:
    ours = Tools(memory.user("ana"), *TOOL_SETS).tools
    tools = memory_tools(memory, *TOOL_SETS)
    assert [(one.name, one.description, one.parameters) for one in tools] == [
        (one.name, one.description, one.input_schema()) for one in ours
    ]
    hello = [ChatMessage.from_user("Hello")]
    for user_id, found in (("ana", ["Ana likes green tea"]), ("ben", [])):
        script = (calling("memory_search", query="tea"), "Done.")
        done = agent(*script, tools=memory_tools(memory)).run(hello, user_id=user_id)
        assert [one["content"] for one in results(done)[0]["results"]] == found
    for made_up in ("user_id", "state"):
        script = (calling("memory_search", query="tea", **{made_up: "ana"}), "Done.")
        done = agent(*script, tools=memory_tools(memory)).run(hello, user_id="ben")
        (answer,) = results(done)
        assert answer.get("results", []) == []
    own = memory_tools(memory.user("ana"))
    done = agent(calling("memory_get", id=99), "Done.", tools=own).run(hello)
    assert results(done)[0]["error"]["type"] == "MemoryNotFound"


def test_a_pipeline_goes_on_without_memory(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    made = pipeline(memory, [], "I do not know.")
    memory.close()
    assert ask(made, "ana", "t", "Which tea do I like?") == "I do not know."
    assert "chats go on with less memory" in caplog.text


def test_wrong_objects_are_refused(memory: Memory, refused: Callable[..., None]) -> None:
    store = "^memory: expected a whole store"
    refused(MemoryRetriever, store, memory.user("ana"), "ana", None)
    refused(MemoryRecorder, store, memory.user("ana"), "ana", None)
    refused(memory_tools, "^who: expected the memory of one user", "ana", None)
    with pytest.raises(InvalidValue, match="there is no set 'all'"):
        memory_tools(memory, "all")
    with pytest.raises(InvalidValue, match="an open store cannot be written into a file"):
        pipeline(memory, []).to_dict()
    script = (calling("memory_search", query="tea"), "Done.")
    done = agent(*script, tools=memory_tools(memory)).run([ChatMessage.from_user("Hello")])
    told = [one.tool_call_results[0].result for one in done["messages"] if one.tool_call_results]
    assert "state.user_id: names no user; run the agent with user_id" in told[0]
