"""A Haystack agent with memory as tools, in a pipeline that records what is said.

Run it with: python examples/haystack_pipeline.py
"""

from typing import Any

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall

import ricordo
from ricordo.integrations.haystack import MemoryRecorder, memory_tools

WISH = {"content": "Ana wants to see the northern lights.", "type": "preference", "theme": "travel"}


def calling(name: str, **arguments: Any) -> ChatMessage:
    """A message of the model that calls a tool."""
    return ChatMessage.from_assistant(tool_calls=[ToolCall(tool_name=name, arguments=arguments)])


memory = ricordo.open(":memory:")
script = [
    calling("memory_add", **WISH),
    "Then Tromsø in January it is.",
    ChatMessage.from_assistant(
        tool_calls=[
            ToolCall(tool_name="memory_search", arguments={"query": "what ana wants to see"})
        ]
    ),
    "The northern lights.",
    ChatMessage.from_assistant(
        tool_calls=[
            ToolCall(tool_name="memory_search", arguments={"query": "what ana wants to see"})
        ]
    ),
    "I do not know you yet.",
]
agent = Agent(
    # For a real model change this line, e.g. to OpenAIChatGenerator(model="gpt-5").
    chat_generator=MockChatGenerator(responses=script),
    tools=memory_tools(memory),
    # Whose memory it is says the state of the run, never the model.
    state_schema={"user_id": {"type": str}},
)
pipeline = Pipeline()
pipeline.add_component("agent", agent)
pipeline.add_component("record", MemoryRecorder(memory))
pipeline.connect("agent.messages", "record.messages")

for user_id, thread_id, text in (
    ("ana", "monday", "I have always wanted to see the northern lights."),
    ("ana", "tuesday", "What do I want to see?"),
    ("ben", "monday", "What do I want to see?"),
):
    done = pipeline.run(
        {
            "agent": {"messages": [ChatMessage.from_user(text)], "user_id": user_id},
            "record": {"user_id": user_id, "thread_id": thread_id},
        }
    )
    print(f"{user_id}: {text}\n  -> {done['record']['messages'][-1].text}")
for user_id in ("ana", "ben"):
    user = memory.user(user_id)
    contents = [item.content for item in user.list()]
    print(f"remembered of {user_id}: {contents}, conversations: {len(user.threads())}")
memory.close()
