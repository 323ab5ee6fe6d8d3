"""The memory of a user over the Model Context Protocol (MCP): tools, resources and a prompt.

``server.py`` also speaks over standard input and output; HTTP is in ``ricordo.http.mcp_endpoint``.
Importing the ``mcp`` library takes a second, so import these modules only when needed.
"""
