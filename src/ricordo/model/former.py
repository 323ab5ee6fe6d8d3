"""The values that a row of history keeps for undo, and how they are read back.

History can come from a file, so what it kept is checked like anything else from outside: an undo
writes it into a memory.
"""

from collections.abc import Mapping
from typing import Any, Final

from ricordo import limits
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.item import PROVENANCE
from ricordo.model.vocabulary import Status

_DRAFTED: Final = frozenset(
    {
        "content",
        "key",
        "type",
        "tags",
        "source",
        "confidence",
        "importance",
        "pinned",
        "valid_from",
        "valid_to",
        "expires_at",
        *PROVENANCE,
    }
)
_MOMENTS: Final = ("last_verified_at", "last_accessed_at")
FORMER_FIELDS: Final = _DRAFTED | {*_MOMENTS, "access_count", "status"}
_PLACEHOLDER: Final = "-"


def former_values(before: Mapping[str, Any]) -> dict[str, Any]:
    """What history kept, as the model has it; without the status, which no undo writes back.

    Raises:
        InvalidValue: a value that a memory cannot have.
        UnknownField: something that no change replaces.
    """
    checks.known_fields("replaced value", before, FORMER_FIELDS)
    drafted = {name: value for name, value in before.items() if name in _DRAFTED}
    draft = NewMemory.parse({"content": _PLACEHOLDER, **drafted})
    values: dict[str, Any] = {name: getattr(draft, name) for name in drafted}
    for name in _MOMENTS:
        if name in before:
            values[name] = checks.optional_moment(name, before[name])
    if "access_count" in before:
        values["access_count"] = checks.integer(
            "access_count", before["access_count"], 0, limits.MAX_ID
        )
    if "status" in before:
        checks.choice("status", before["status"], Status)
    return _complete(values)


def _complete(values: dict[str, Any]) -> dict[str, Any]:
    """A memory always has these; a null in their place is as good as nothing kept."""
    required = ("type", "tags", "source", "confidence", "importance", "pinned", "valid_from")
    return {
        name: value for name, value in values.items() if value is not None or name not in required
    }
