"""The memory that an entry of a store is found by."""

import hashlib
import json
from collections.abc import Iterable
from typing import Final

from ricordo.limits import MAX_CONTENT_CHARS, MAX_THEME_CHARS
from ricordo.memories.changing import forget
from ricordo.memories.expiring import is_expired
from ricordo.model.draft import NewMemory
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Source, Status
from ricordo.storage.entries import SEPARATOR, EntryName
from ricordo.storage.items import item_of
from ricordo.storage.transaction import Writing
from ricordo.text.normalise import slug

ENTRY_TAG: Final = "langgraph"
"""On every memory that is an entry of a store."""

REASON: Final = "entry of a store"
"""In the history of such a memory."""

_KEY_PREFIX: Final = "entry:"
_DIGEST_BYTES: Final = 16


def memory_of_entry(name: EntryName, text: str) -> NewMemory:
    """What an entry is remembered as. Pinned: a program counts on its entries staying."""
    return NewMemory(
        content=entry_text(text),
        theme=theme_of(name.namespace),
        key=key_of(name),
        tags=(ENTRY_TAG,),
        source=Source.TOOL_CALL,
        pinned=True,
    )


def entry_text(text: str) -> str:
    """A text as a memory can hold it: without NUL, and cut to the length of one."""
    return text.replace("\x00", " ").strip()[:MAX_CONTENT_CHARS].strip()


def theme_of(namespace: str) -> str:
    """The theme of a namespace; two that differ only in signs share one."""
    made = slug(namespace.replace(SEPARATOR, " "))[:MAX_THEME_CHARS].strip("-_")
    return made or ENTRY_TAG


def key_of(name: EntryName) -> str:
    """A key that no two entries share and that fits whatever they are named."""
    encoded = json.dumps(list(name)).encode("utf-8")
    return _KEY_PREFIX + hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).hexdigest()


def forget_memories(writing: Writing, scope: Scope, item_ids: Iterable[int]) -> None:
    """Forget the memories of entries, those that are still there."""
    for item_id in item_ids:
        item = item_of(writing.connection, writing.user_id, item_id)
        is_gone = item is None or item.status is Status.DELETED
        if item is not None and not is_gone and not is_expired(item, writing.now):
            forget(writing, scope, item.id, REASON)
