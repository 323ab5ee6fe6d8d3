"""The JSON object in what a model wrote, whatever it wrote around it."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NoReturn, TypeVar

from ricordo.limits import MAX_ANSWER_DEPTH, MAX_MODEL_ANSWER_CHARS
from ricordo.llm.loose_json import NotReadable, readings

Result = TypeVar("Result")

_THINKING_ENDS: Final = "</think>"


def read_object(
    text: str,
    accept: Callable[[dict[str, object]], Result],
    *,
    close_open_ends: bool = True,
) -> Result:
    """The first JSON object in the text that is accepted, as ``accept`` gives it back.

    ``accept`` raises ValueError for what it does not take. An object that the text ended in the
    middle of is closed there, unless ``close_open_ends`` is off; like any other it then has to be
    accepted. Objects inside others are not looked at on their own.

    Raises:
        ValueError: there is none. Where there was an object, it is what ``accept`` raised.
    """
    if len(text) > MAX_MODEL_ANSWER_CHARS:
        raise ValueError(f"it is longer than {MAX_MODEL_ANSWER_CHARS} characters")
    # The first of each says most: what follows an answer is seldom one.
    unreadable: ValueError | None = None
    refused: ValueError | None = None
    for found in _objects(text, close_open_ends):
        if isinstance(found, NotReadable):
            unreadable = unreadable or ValueError(f"it is not valid JSON: {found}")
            continue
        try:
            return accept(found)
        except ValueError as problem:
            refused = refused or problem
    raise refused or unreadable or ValueError("it is not a JSON object")


def without_thinking(text: str) -> str:
    """What a model wrote after it had thought aloud. The mark that begins this may be missing.

    In a text that begins with an object the mark is a part of that object.
    """
    return text if text.lstrip().startswith("{") else text.rpartition(_THINKING_ENDS)[2]


def _objects(text: str, close_open_ends: bool) -> Iterator[dict[str, object] | NotReadable]:
    """Every object in the text, and what was wrong with those that are none."""
    whole = _strictly(text)
    if whole is not None:
        yield whole
        return
    # The mark may also be a part of the answer, so the whole text comes second.
    for source in dict.fromkeys((without_thinking(text), text)):
        for found in readings(source):
            if isinstance(found, NotReadable):
                yield found
            elif close_open_ends or not found.is_open:
                yield found.value


def _strictly(text: str) -> dict[str, object] | None:
    """The object that the whole text is, by the letter of JSON."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _is_too_deep(value) else None


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_ANSWER_DEPTH + 1):
        level = [part for whole in level for part in _parts(whole)]
        if not level:
            return False
    return True


def _parts(whole: object) -> Iterable[object]:
    if isinstance(whole, dict):
        return whole.values()
    return whole if isinstance(whole, list) else ()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
