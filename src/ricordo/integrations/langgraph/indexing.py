"""The text by which an entry of a LangGraph store is found."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langgraph.store.base import get_text_at_path

WHOLE_VALUE: Final = "$"


def text_of(value: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """The texts of some fields, one a line; None where there is nothing to find it by."""
    found: list[str] = []
    for path in paths:
        if path == WHOLE_VALUE:
            found += _whole(value)
        else:
            found += get_text_at_path(value, path)
    return "\n".join(text for text in found if text.strip()) or None


def _whole(value: Mapping[str, Any]) -> list[str]:
    """Every field with its name, or only its text where there is no other."""
    fields = list(_leaves("", value))
    if len(fields) == 1:
        return [fields[0][1]]
    return [f"{name}: {text}" for name, text in fields]


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(name, part)
    elif value is not None and str(value).strip():
        yield name, str(value)
