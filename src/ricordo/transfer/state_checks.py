"""What exported rows of conversations in short and of programs' states may hold."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ricordo import limits
from ricordo.agent_state.checkpoints import check_together, checked_json_text, name_part, read_json
from ricordo.errors import InvalidValue
from ricordo.model import checks

Check = Callable[[str, Any], Any]

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_SPECIAL_PLACES: Final = 1_000
_MAX_TTL_MINUTES: Final = limits.MAX_RECENCY_DAYS * 24 * 60


def base64_text(data: bytes) -> str:
    """Bytes as they stand in an export."""
    return base64.b64encode(data).decode("ascii")


def packed_bytes(name: str, value: Any) -> bytes:
    """Bytes that an export has in base64."""
    if not isinstance(value, str):
        raise InvalidValue(name, f"expected base64 as text, got {type(value).__name__}")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(name, "is not base64") from None
    if len(data) > limits.MAX_GRAPH_VALUE_BYTES:
        most = limits.MAX_GRAPH_VALUE_BYTES
        raise InvalidValue(name, f"{len(data)} bytes; allowed: at most {most}")
    return data


def minutes(name: str, value: Any) -> float:
    """A time to live."""
    found = checks.number(name, value, 0, _MAX_TTL_MINUTES)
    if found == 0:
        raise InvalidValue(name, "must be more than 0 minutes")
    return found


def check_state_row(kind: str, row: Mapping[str, Any]) -> None:
    """Whether the values of one row fit together.

    Raises:
        InvalidValue: says which do not.
    """
    named_by = _NAMED_BY.get(kind)
    if named_by is not None:
        check_together(named_by[-1], *(row[name] for name in named_by))
    if kind == "graph_checkpoint":
        size = len(row["data"]) + len(row["metadata"])
        if size > limits.MAX_GRAPH_VALUE_BYTES:
            most = limits.MAX_GRAPH_VALUE_BYTES
            raise InvalidValue("data", f"{size} bytes with metadata; allowed: at most {most}")
    if kind == "store_entry" and (row["expires_at"] is None) != (row["ttl_minutes"] is None):
        raise InvalidValue("ttl_minutes", "goes together with expires_at")
    if kind == "compaction" and row["first_position"] > row["last_position"]:
        raise InvalidValue("first_position", "must not be after last_position")


def _kept(maximum: int) -> Check:
    """A text that is kept exactly, and may be empty."""
    return lambda name, value: name_part(name, value, maximum)


def _between(low: int, high: int) -> Check:
    return lambda name, value: checks.integer(name, value, low, high)


def _day(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise InvalidValue(name, "expected a day such as 2026-01-31")
    return value


def _state(name: str, value: Any) -> str:
    return checked_json_text(name, value, limits.MAX_CHECKPOINT_BYTES)


def _entry_value(name: str, value: Any) -> str:
    text = checked_json_text(name, value, limits.MAX_ENTRY_BYTES)
    if not isinstance(read_json(name, text), dict):
        raise InvalidValue(name, "is not a JSON object")
    return text


def _namespace(name: str, value: Any) -> str:
    namespace = name_part(name, value, limits.MAX_NAMESPACE_CHARS)
    labels = namespace.split(".")
    if not all(labels) or len(labels) > limits.MAX_NAMESPACE_LABELS:
        most = limits.MAX_NAMESPACE_LABELS
        raise InvalidValue(name, f"expected 1 to {most} labels, none of them empty")
    return namespace


_NAMED_BY: Final = {
    "graph_checkpoint": ("thread_id", "namespace", "checkpoint_id"),
    "graph_channel": ("thread_id", "namespace", "channel", "version"),
    "graph_write": ("thread_id", "namespace", "checkpoint_id", "task_id"),
    "store_entry": ("namespace", "key"),
}
"""What names a row beside its user, and must fit into an index."""

_graph_name: Final = _kept(limits.MAX_GRAPH_NAME_CHARS)
_position: Final = _between(1, 2**31 - 1)

SPECIAL: Final[dict[tuple[str, str], Check]] = {
    ("compaction", "first_position"): _position,
    ("compaction", "last_position"): _position,
    ("compaction", "day"): _day,
    ("compaction", "summary"): _kept(limits.MAX_COMPACTION_CHARS),
    ("compaction", "bridge"): _kept(limits.MAX_BRIDGE_CHARS),
    ("checkpoint", "state"): _state,
    ("checkpoint", "version"): _between(1, limits.MAX_ID),
    ("graph_checkpoint", "namespace"): _graph_name,
    ("graph_channel", "namespace"): _graph_name,
    ("graph_channel", "channel"): _graph_name,
    ("graph_channel", "version"): _graph_name,
    ("graph_write", "namespace"): _graph_name,
    ("graph_write", "channel"): _graph_name,
    ("graph_write", "task_path"): _graph_name,
    ("graph_write", "place"): _between(-_MOST_SPECIAL_PLACES, limits.MAX_GRAPH_WRITES),
    ("store_entry", "namespace"): _namespace,
    ("store_entry", "key"): _kept(limits.MAX_ENTRY_KEY_CHARS),
    ("store_entry", "value"): _entry_value,
    ("store_entry", "item_id"): _between(1, limits.MAX_ID),
}
