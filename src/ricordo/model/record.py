"""How the values of the model become JSON, the same on every surface."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from ricordo.model.times import format_moment


class Record:
    """A frozen dataclass that can be shown as a JSON-ready object."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field by name; times as ISO 8601 with offset."""
        return {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}  # type: ignore[arg-type]


def plain(value: object) -> object:
    """A value of the model as JSON can carry it."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, datetime):
        return format_moment(value)
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    return value
