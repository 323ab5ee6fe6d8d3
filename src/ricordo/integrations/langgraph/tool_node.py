"""A node of a LangGraph graph that runs the calls of memory tools."""

from langgraph.prebuilt import ToolNode

from ricordo.integrations.langchain import UserOfConfig, memory_tools
from ricordo.user_memory import UserMemory


def memory_tool_node(
    who: UserMemory | UserOfConfig, *sets: str, name: str = "tools", messages_key: str = "messages"
) -> ToolNode:
    """A node with the tools of these sets, or of ``standard``; each call answers with its message.

    ``who`` is a user, or decides for whom by the config of each run: ``user_of_config(memory)``.
    The tools themselves, to bind to a model, are ``list(node.tools_by_name.values())``.

    Raises:
        InvalidValue: There is no such set.
    """
    return ToolNode(memory_tools(who, *sets), name=name, messages_key=messages_key)
