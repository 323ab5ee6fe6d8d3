"""What a piece of foreign JSON is, and what it has to be."""

from collections.abc import Iterable
from typing import Any

from ricordo.errors import ImportFailed
from ricordo.transfer.importers.opening import Entries

JsonObject = dict[str, Any]


def an_object(place: str, value: object) -> JsonObject:
    """The value, known to be a JSON object.

    Raises:
        ImportFailed: it is something else.
    """
    if not isinstance(value, dict):
        raise ImportFailed(f"{place}: expected an object, got {kind_of(value)}")
    return value


def a_list(place: str, value: object) -> list[Any]:
    """The value, known to be a JSON array.

    Raises:
        ImportFailed: it is something else.
    """
    if not isinstance(value, list):
        raise ImportFailed(f"{place}: expected a list, got {kind_of(value)}")
    return value


def listed(place: str, value: object) -> Iterable[Any]:
    """The entries of a whole document, known to be a list.

    Raises:
        ImportFailed: it is something else.
    """
    return value if isinstance(value, Entries) else a_list(place, value)


def a_text(place: str, value: object) -> str:
    """The value, known to be text.

    Raises:
        ImportFailed: it is something else.
    """
    if not isinstance(value, str):
        raise ImportFailed(f"{place}: expected text, got {kind_of(value)}")
    return value


def object_or_empty(value: object) -> JsonObject:
    """The value where it is an object; for parts that an export may leave out."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """The value where it is a list; for parts that an export may leave out."""
    return value if isinstance(value, list) else []


def first_object(value: object) -> JsonObject:
    """The first object of a list, by which a format is recognised; empty where there is none."""
    entries = value if isinstance(value, Entries) else list_or_empty(value)
    return object_or_empty(next(iter(entries), None))


def kind_of(value: object) -> str:
    """What a value is, in words for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | Entries) else "an object"
