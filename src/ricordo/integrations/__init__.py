"""Adapters for agent frameworks. Each needs its own extra."""
