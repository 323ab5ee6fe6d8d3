"""The lines of ``USER.md`` that are fields of the profile: ``- City: Bekasi``.

Only these lines are changed. Everything else in the file is the person's and stays as it is, byte
for byte.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ricordo.files.comments import Span, comment_spans
from ricordo.limits import MAX_PROFILE_FIELD_CHARS
from ricordo.model.profile import field_content, field_key

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")
_BULLET: Final = re.compile(r" {0,3}[-*+][ \t]+")
_EMPHASIS: Final = ("**", "__", "*", "_")
_MAX_RAW_LABEL_CHARS: Final = MAX_PROFILE_FIELD_CHARS + 2 * max(map(len, _EMPHASIS))
_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class FieldLine:
    """A line that may be a field. ``value_span`` is where its value stands, without the space
    around it; ``end`` is behind the line break."""

    key: str
    label: str
    value: str
    start: int
    end: int
    value_span: Span
    has_comment: bool


def field_lines(text: str) -> dict[str, FieldLine]:
    """The lines of the form ``- Name: value`` by the key of their name, the first of each."""
    found: dict[str, FieldLine] = {}
    for line in all_field_lines(text):
        found.setdefault(line.key, line)
    return found


def with_fields(text: str, wanted: Mapping[str, tuple[str, str] | None]) -> str:
    """The text with fields set to a value, given as ``(label, value)``, or with None removed.

    A line that is there keeps its label and its place. A new one goes behind the last of the
    fields, or to the end.
    """
    for key, said in wanted.items():
        line = field_lines(text).get(key)
        if said is None:
            text = _without(text, key)
        elif line is None:
            text = _added(text, *said, wanted.keys())
        elif line.value != said[1]:
            text = _changed(text, line, said[1])
    return text


def all_field_lines(text: str) -> Iterator[FieldLine]:
    """Every line of the form ``- Name: value``, in order; none that begins in a comment."""
    comments = iter(comment_spans(text))
    nobody = (len(text), len(text))
    comment = next(comments, nobody)
    for found in _LINE.finditer(text):
        while comment != nobody and comment[1] <= found.start():
            comment = next(comments, nobody)
        is_inside = comment[0] < found.start() < comment[1]
        line = None if is_inside else _field_line(text, found.span(), comment[0])
        if line is not None:
            yield line


def _field_line(text: str, span: Span, next_comment: int) -> FieldLine | None:
    start, end = span
    bullet = _BULLET.match(text, start + len(_mark_of(text[:1], start)), end)
    stop = min(end, next_comment)
    colon = text.find(":", start, stop)
    if bullet is None or colon < bullet.end() or colon - bullet.end() > _MAX_RAW_LABEL_CHARS:
        return None
    raw = text[bullet.end() : colon].strip()
    key = field_key(raw)
    if not key:
        return None
    first = colon + 1 + _closing_emphasis(raw, text[colon + 1 : stop])
    value = text[first:stop].strip()
    if value:
        first = text.index(value, first)
    return FieldLine(
        key=key,
        label=raw,
        value=value,
        start=start,
        end=end,
        value_span=(first, first + len(value)),
        has_comment=next_comment < end,
    )


def _closing_emphasis(raw_label: str, rest: str) -> int:
    """How long the sign is that ends what the label began: ``**City:** Bekasi``."""
    for sign in _EMPHASIS:
        if raw_label.startswith(sign) and not raw_label.endswith(sign) and rest.startswith(sign):
            return len(sign)
    return 0


def _changed(text: str, line: FieldLine, value: str) -> str:
    first, last = line.value_span
    space = "" if text[first - 1] in " \t" else " "
    return f"{text[:first]}{space}{value}{text[last:]}"


def _without(text: str, key: str) -> str:
    """The text without a field, however often a line of it is there."""
    lines = [line for line in all_field_lines(text) if line.key == key]
    for line in reversed(lines):
        text = _removed(text, line)
    return text


def _removed(text: str, line: FieldLine) -> str:
    if line.has_comment:  # which is not ours to remove
        first, last = line.value_span
        return text[:first] + text[last:]
    return text[: line.start] + _mark_of(text[:1], line.start) + text[line.end :]


def _added(text: str, label: str, value: str, fields: Collection[str]) -> str:
    place = _place_for_more(text, fields)
    ending = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    before = ""
    if text[:place] not in ("", _BYTE_ORDER_MARK):
        ends_line = text[place - 1] == "\n"
        opens_list = place == len(text) and not _ends_in_list(text)
        before = ending if opens_list or not ends_line else ""  # a list follows an empty line
    return f"{text[:place]}{before}- {field_content(label, value)}{ending}{text[place:]}"


def _place_for_more(text: str, fields: Collection[str]) -> int:
    """Behind the last line of a field, and behind a comment that begins on it."""
    own = [line.end for key, line in field_lines(text).items() if key in fields]
    if not own:
        return len(text)
    place = max(own)
    for start, end in comment_spans(text):
        if start < place < end:
            following = text.find("\n", end)
            place = len(text) if following < 0 else following + 1
    return place


def _ends_in_list(text: str) -> bool:
    last = text.removesuffix("\n").rpartition("\n")[2]
    return not last.strip() or _BULLET.match(last) is not None


def _mark_of(first: str, place: int) -> str:
    """The mark that a text may begin with, where a line begins with it."""
    return first if place == 0 and first == _BYTE_ORDER_MARK else ""
