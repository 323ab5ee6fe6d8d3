"""The tools that agents reach memory with: named sets, their schemas, and what calls them.

The sets and their tools are in ``sets.py``; ``calls.py`` runs them. MCP, HTTP,
the command line and the adapters for frameworks all offer these very tools.
"""

from ricordo.model.fields import Parameter
from ricordo.tools.calls import AsyncTools, Tools
from ricordo.tools.sets import TOOL_SETS, chosen
from ricordo.tools.tool import Tool, ToolResult

__all__ = ["TOOL_SETS", "AsyncTools", "Parameter", "Tool", "ToolResult", "Tools", "chosen"]
