"""The text of each resource, none longer than what clients take in one message."""

import json
from typing import Any, Final

from ricordo.files.mirror_source import stored_memories
from ricordo.files.mirror_text import TITLE, Shown, body
from ricordo.limits import MAX_MCP_TEXT_BYTES
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.record import plain
from ricordo.text.secrets import without_secrets
from ricordo.user_memory import UserMemory
from ricordo.user_memory.confining import check_whole

_LINE_BYTES: Final = 100  # of MEMORY.md beside a text: its number, and its heading


def themes(user: UserMemory) -> str:
    """The themes as JSON."""
    return _json({"themes": plain(user.themes())})


def memory(user: UserMemory, number: int) -> str:
    """A memory as JSON.

    Raises:
        MemoryNotFound: there is none for this user.
        InvalidValue: no memory can have this number.
    """
    item = user.get(number)
    owner = other_owner(item.user_id, user.scope.user_id)
    return _json({**item.to_dict(), "content": attributed(item.content, owner, item.type)})


def changes(user: UserMemory, since: int = 0) -> str:
    """What happened after a revision as JSON; ``next`` is the address to go on from.

    Raises:
        PermissionMissing: the change feed is about all of a memory.
    """
    found = user.changes(since)
    told: list[object] = []
    size = 0
    for change in found:
        one = plain(change)
        size += len(_json(one).encode())
        if told and size > MAX_MCP_TEXT_BYTES:
            break
        told.append(one)
    reached = found.changes[len(told) - 1].revision if told else since
    return _json(
        {
            "changes": told,
            "revision": found.revision,
            "more": found.more or len(told) < len(found),
            "next": f"ricordo://changes?since={reached}",
        }
    )


def memory_file(user: UserMemory) -> str:
    """MEMORY.md as the mirror writes it, without what is for editing it.

    Raises:
        PermissionMissing: it is about all of a memory.
    """
    check_whole(user.scope, "memory.md")
    stored = stored_memories(user.database, user.scope.user_id)
    shown: list[Shown] = []
    size = 0
    for one in stored.shown.values():  # the newest first
        size += len(one.text.encode()) + _LINE_BYTES
        if size > MAX_MCP_TEXT_BYTES:
            break
        shown.append(one)
    hidden = stored.hidden + len(stored.shown) - len(shown)
    note = f"\nNot shown here: {hidden} more, the oldest.\n" if hidden else ""
    return f"{TITLE}\n{note}{without_secrets(body(shown, []))}"


def _json(value: Any) -> str:
    return json.dumps(_shown(value), ensure_ascii=False, separators=(",", ":"))


def _shown(value: Any) -> Any:
    """The same without secrets: resources are read by models."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {name: _shown(one) for name, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value
