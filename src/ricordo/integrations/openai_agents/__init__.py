"""The OpenAI Agents SDK on a ricordo store: a session that remembers, and memory as tools.

``pip install 'ricordo[openai-agents]'``.
"""

try:
    import agents  # noqa: F401 - looked for here, once for all that is below
except ImportError as missing:
    raise ImportError(
        "ricordo.integrations.openai_agents needs openai-agents:"
        " pip install 'ricordo[openai-agents]'"
    ) from missing

from ricordo.integrations.openai_agents.function_tools import memory_tools
from ricordo.integrations.openai_agents.session import MemorySession

__all__ = ["MemorySession", "memory_tools"]
