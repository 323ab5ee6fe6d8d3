"""A LangGraph agent that asks before it remembers, and goes on after a restart.

The tool node does what the model asks of memory; the checkpointer keeps where the graph is. Both
are in one file. Run it with: python examples/langgraph_agent.py
"""

import tempfile
from pathlib import Path
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition

import ricordo
from ricordo.integrations.langgraph import RicordoSaver, memory_tool_node

WISH = {"content": "Ana wants to see the northern lights.", "type": "preference", "theme": "travel"}
script = [
    AIMessage("", tool_calls=[{"name": "memory_add", "args": WISH, "id": "call_1"}]),
    AIMessage("Then Tromsø in January it is."),
]
# For a real model change this line, e.g. to ChatOpenAI(model="gpt-5"), and bind the tools to it:
# model.bind_tools(list(node.tools_by_name.values())).
model = GenericFakeChatModel(messages=iter(script))


def build(user: ricordo.UserMemory) -> Any:
    """Model and tools in turn, until the model calls none; tools wait for a person's consent."""

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", memory_tool_node(user, "standard"))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile(checkpointer=RicordoSaver(user), interrupt_before=["tools"])


thread: RunnableConfig = {"configurable": {"thread_id": "holidays"}}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "memory.db"

    with ricordo.open(path) as memory:
        graph = build(memory.user("ana"))
        said = {"role": "user", "content": "I have always wanted to see the northern lights."}
        graph.invoke({"messages": [said]}, thread)
        (call,) = graph.get_state(thread).values["messages"][-1].tool_calls
        print(f"the agent wants to call {call['name']} and waits; the program ends here")

    with ricordo.open(path) as memory:  # another day, another process
        graph = build(memory.user("ana"))
        done = graph.invoke(None, thread)  # None: go on where it stopped
        print("agent:", done["messages"][-1].content)
        for item in memory.user("ana").list():
            print(f"remembered in {item.theme}: {item.content}")
