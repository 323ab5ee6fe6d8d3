"""LangGraph over ricordo: a checkpointer and a store, each bound to one user.

Needs the extra ``langgraph``; nothing else of ricordo imports this.
"""

try:
    import langgraph.checkpoint.base
    import langgraph.store.base  # noqa: F401 - both are of one package; looked for together
except ImportError as missing:
    raise ImportError(
        "ricordo.integrations.langgraph needs langgraph-checkpoint:"
        " pip install 'ricordo[langgraph]'"
    ) from missing

from ricordo.integrations.langgraph.saver import RicordoSaver
from ricordo.integrations.langgraph.store import RicordoStore

__all__ = ["RicordoSaver", "RicordoStore"]
