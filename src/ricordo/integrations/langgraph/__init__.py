"""LangGraph over ricordo: a checkpointer and a store, each bound to one user, and a tool node.

Needs the extra ``langgraph``; nothing else of ricordo imports this.
"""

try:
    import langgraph.checkpoint.base
    import langgraph.prebuilt
    import langgraph.store.base  # noqa: F401 - all come with one extra; looked for together
except ImportError as missing:
    raise ImportError(
        "ricordo.integrations.langgraph needs langgraph: pip install 'ricordo[langgraph]'"
    ) from missing

from ricordo.integrations.langgraph.saver import RicordoSaver
from ricordo.integrations.langgraph.store import RicordoStore
from ricordo.integrations.langgraph.tool_node import memory_tool_node

__all__ = ["RicordoSaver", "RicordoStore", "memory_tool_node"]
