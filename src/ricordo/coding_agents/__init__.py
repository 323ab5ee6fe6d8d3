"""Memory for coding agents: what runs in their hooks, what it captures and what it shows.

``hook`` is what agents start; it imports nothing of ricordo. ``resident`` is the process behind it.
"""
