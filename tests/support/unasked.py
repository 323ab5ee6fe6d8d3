"""Memories that are stored although nobody consented, as formation and older releases left them."""

from typing import Any

from ricordo import Added, UserMemory
from ricordo.model.draft import NewMemory


def stored(user: UserMemory, content: str, *, reason: str | None = None, **given: Any) -> Added:
    """Store something whatever it says and whoever says it."""
    return user._add_batch([NewMemory.parse({"content": content, **given})], reason)[0]
