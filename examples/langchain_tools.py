"""A LangChain model that remembers, for two users of one program.

The tools are made once. For whom they work is said by the config of each call, never by the model.
What is sensitive waits until the user agrees to it.
Run it with: python examples/langchain_tools.py
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

import ricordo
from ricordo.integrations.langchain import memory_tools, user_of_config
from ricordo.tools import Tools


class ScriptedModel(GenericFakeChatModel):
    """Says what it was told to say, so that this runs without a key."""

    def bind_tools(self, _tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        """It needs no tools to say it."""
        return self


def calling(name: str, **arguments: Any) -> AIMessage:
    """A message of the model that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call_1"}])


memory = ricordo.open(":memory:")
tools = memory_tools(user_of_config(memory), "standard")
by_name = {tool.name: tool for tool in tools}

script = [
    calling("memory_add", content="Ana is allergic to peanuts.", type="fact", theme="health"),
    AIMessage("I will keep that in mind if you agree."),
    calling("memory_search", query="What must Ana not eat?"),
    AIMessage("Not peanuts: you are allergic to them."),
    calling("memory_search", query="Any allergies?"),
    AIMessage("I know of no allergies."),
]
# For a real model change this line, e.g. to ChatOpenAI(model="gpt-5").bind_tools(tools).
model = ScriptedModel(messages=iter(script)).bind_tools(tools)


def chat(user_id: str, text: str) -> str:
    """One turn: the model calls tools until it answers."""
    config: RunnableConfig = {"configurable": {"user_id": user_id}}
    guide = Tools(memory.user(user_id)).guide()  # how to use the tools, and the user's themes
    messages: list[BaseMessage] = [SystemMessage(guide), HumanMessage(text)]
    while True:
        answer = model.invoke(messages, config)
        messages.append(answer)
        if not answer.tool_calls:
            return answer.text
        for call in answer.tool_calls:
            message = by_name[call["name"]].invoke(call, config)
            print(f"  {call['name']} -> {message.status}: {message.content[:70]}")
            messages.append(message)


print("ana:", chat("ana", "By the way, I am allergic to peanuts."))
for proposal in memory.user("ana").proposals():  # ask the user; the model cannot agree to it
    print(f"ana agrees: {proposal.content}")
    memory.user("ana").approve(proposal.id)
print("ana:", chat("ana", "Can I have the satay?"))
print("ben:", chat("ben", "Can I have the satay?"))
for user_id in ("ana", "ben"):
    contents = [item.content for item in memory.user(user_id).list()]
    print(f"remembered of {user_id}: {contents}")
memory.close()
