"""The memory of a user over the Model Context Protocol (MCP): tools, resources and a prompt.

``server.py`` puts them together for whoever asks; ``stdio.py`` speaks over a process's own streams,
and the service speaks over HTTP (``ricordo.http.routes.mcp``). Loading the library ``mcp`` takes a
second, so whatever may not be used loads these modules only when it is.
"""
