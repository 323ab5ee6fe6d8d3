"""Changes of single entries in the text of JSON with comments, leaving all other text alone."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ricordo.frozen import dataclass, field

_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_SPACE: Final = " \t\r\n"
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRIVIA: Final = re.compile(rf"(?:[{_SPACE}\ufeff]|{_COMMENT.pattern})*", re.DOTALL)
_ENDS_LINE: Final = re.compile(r"[ \t]*(?:\r?\n|$)")
_INDENTED: Final = re.compile(r"^([ \t]+)\"", re.MULTILINE)
_MAX_DEPTH: Final = 100


class NotJson(ValueError):
    """A text cannot be read as JSON, also not with comments and trailing commas."""


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a text, or a member of an object with its key; ``start`` is then that of the key.

    ``parts`` are the members or elements, ``comma`` is where the comma after it is, if any.
    """

    start: int
    end: int
    value: Any
    key: str | None = None
    parts: "tuple[Part, ...]" = field(default=())
    comma: int | None = None
    opens: int = 0

    def member(self, key: str) -> "Part | None":
        """The member of that name: of several the last, which is the one that counts."""
        return next((part for part in reversed(self.parts) if part.key == key), None)


def parse(text: str) -> Part:
    """The whole text. Raises NotJson."""
    start = _skip(text, 0)
    whole = _value(text, start, 0)
    if _skip(text, whole.end) != len(text):
        raise NotJson(_at(text, whole.end, "something follows the end"))
    return whole


def _value(text: str, start: int, depth: int) -> Part:
    opener = text[start : start + 1]
    if opener and opener in "{[":
        if depth >= _MAX_DEPTH:
            raise NotJson(_at(text, start, "too deeply nested"))
        return _container(text, start, depth)
    found = (_STRING if opener == '"' else _SCALAR).match(text, start)
    if found is None:
        raise NotJson(_at(text, start, "expected a value"))
    try:
        value = json.loads(found.group())
    except ValueError:
        raise NotJson(_at(text, start, "expected a value")) from None
    return Part(start, found.end(), value, opens=start)


def _container(text: str, start: int, depth: int) -> Part:
    is_object = text[start] == "{"
    closer = "}" if is_object else "]"
    parts: list[Part] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != closer:
        if parts and parts[-1].comma is None:
            raise NotJson(_at(text, place, f"expected a comma or {closer}"))
        part = _member(text, place, depth) if is_object else _value(text, place, depth + 1)
        place = _skip(text, part.end)
        comma = place if text[place : place + 1] == "," else None
        if comma is not None:
            place = _skip(text, place + 1)
        parts.append(
            Part(part.start, part.end, part.value, part.key, part.parts, comma, part.opens)
        )
    value: Any = (
        {part.key: part.value for part in parts} if is_object else [part.value for part in parts]
    )
    return Part(start, place + 1, value, parts=tuple(parts), opens=start)


def _member(text: str, start: int, depth: int) -> Part:
    found = _STRING.match(text, start)
    if found is None:
        raise NotJson(_at(text, start, "expected a name in quotes"))
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise NotJson(_at(text, colon, "expected a colon"))
    part = _value(text, _skip(text, colon + 1), depth + 1)
    try:
        key = json.loads(found.group())
    except ValueError:
        raise NotJson(_at(text, start, "expected a name in quotes")) from None
    return Part(start, part.end, part.value, key, part.parts, None, part.opens)


def _skip(text: str, start: int) -> int:
    found = _TRIVIA.match(text, start)
    return found.end() if found else start


def _at(text: str, place: int, what: str) -> str:
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    return f"line {line}, column {column}: {what}"


# -- changes


def with_member(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with a value at a path; what leads there is made. Raises NotJson."""
    whole, missing = _nearest(text, path)
    found = whole.member(missing[0]) if len(missing) == 1 else None
    if found is not None:
        return _replaced(text, found, value)
    for key in reversed(missing[1:]):
        value = {key: value}
    return _inserted(text, whole, missing[0], value)


def with_element(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with a value at the end of the list at a path, which is made. Raises NotJson."""
    whole, missing = _nearest(text, path)
    found = whole.member(missing[0]) if len(missing) == 1 else None
    if found is None:
        return with_member(text, path, [value])
    if text[found.opens] != "[":
        raise NotJson(f"{'.'.join(path)} is not a list")
    return _inserted(text, found, None, value)


def without(text: str, path: tuple[str, ...], is_ours: Callable[[Any], bool] | None = None) -> str:
    """The text without the member at a path or, of a list there, without the elements meant."""
    while True:
        part = parse(text)
        for key in path[:-1]:
            part = part.member(key) or Part(0, 0, None)
        found = part.member(path[-1])
        if found is None:
            return text
        holder, target = part, found
        if is_ours is not None:
            elements = found.parts if text[found.opens] == "[" else ()
            meant = next((one for one in elements if is_ours(one.value)), None)
            if meant is None:
                return text
            holder, target = found, meant
        text = _cut(text, holder, target)


def without_empty(text: str, path: tuple[str, ...]) -> str:
    """The text without an object or list at a path that holds nothing, not even a comment."""
    part: Part | None = parse(text)
    for key in path:
        part = part.member(key) if part else None
    if part is None or part.parts or text[part.opens] not in "{[":
        return text
    return without(text, path) if not text[part.opens + 1 : part.end - 1].strip(_SPACE) else text


def _nearest(text: str, path: tuple[str, ...]) -> tuple[Part, tuple[str, ...]]:
    """The deepest object on a path, and the names below it, at least one."""
    part = parse(text)
    if text[part.opens] != "{":
        raise NotJson("the whole is not an object")
    for place, key in enumerate(path[:-1]):
        found = part.member(key)
        if found is None:
            return part, path[place:]
        if text[found.opens] != "{":
            raise NotJson(f"{'.'.join(path[: place + 1])} is not an object")
        part = found
    return part, path[-1:]


def _replaced(text: str, part: Part, value: Any) -> str:
    style = _Style.of(text)
    shown = style.shown(value, style.depth_at(text, part.start), "\n" in text)
    return text[: part.opens] + shown + text[part.end :]


def _inserted(text: str, whole: Part, key: str | None, value: Any) -> str:
    style = _Style.of(text)
    inside = text[whole.opens + 1 : whole.end - 1]
    depth = style.depth_at(text, whole.start)
    named = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if whole.parts and "\n" not in inside:
        last, shown = whole.parts[-1], f"{named}{style.shown(value, 0, False)}"
        if last.comma is None:
            return f"{text[: last.end]}, {shown}{text[last.end :]}"
        return f"{text[: last.comma + 1]} {shown},{text[last.comma + 1 :]}"
    shown = f"{style.line}{style.indent * (depth + 1)}{named}{style.shown(value, depth + 1, True)}"
    closer = whole.end - 1
    place = whole.opens + 1 + len(inside.rstrip(_SPACE))
    if not whole.parts:
        return f"{text[:place]}{shown}{style.line}{style.indent * depth}{text[closer:]}"
    last = whole.parts[-1]
    if last.comma is not None:
        return f"{text[:place]}{shown},{text[place:]}"
    return f"{text[: last.end]},{text[last.end : place]}{shown}{text[place:]}"


def _cut(text: str, holder: Part, part: Part) -> str:
    """The text without a part and one comma; comments beside it stay."""
    before = [one for one in holder.parts if one.start < part.start]
    begin = len(text[: part.start].rstrip(_SPACE))
    end = part.end if part.comma is None else part.comma + 1
    rest = text[part.end : end - 1] + text[end:] if part.comma is not None else text[end:]
    previous = max([holder.opens + 1, *((one.comma or one.end) + 1 for one in before[-1:])])
    if _ends_in_line_comment(text[previous : part.start]) and not _ENDS_LINE.match(rest):
        begin = part.start
    kept = text[:begin]
    if part.comma is None and before and before[-1].comma is not None:
        place = before[-1].comma
        kept = kept[:place] + kept[place + 1 :]
    if len(holder.parts) == 1 and not text[holder.opens + 1 : begin].strip(_SPACE):
        rest = rest.lstrip(_SPACE) if rest.lstrip(_SPACE)[:1] in ("}", "]") else rest
    return kept + rest


def _ends_in_line_comment(trivia: str) -> bool:
    found = _COMMENT.findall(trivia)
    return bool(found) and found[-1].startswith("//")


@dataclass(frozen=True, slots=True)
class _Style:
    line: str
    indent: str

    @classmethod
    def of(cls, text: str) -> "_Style":
        widths = [found.group(1) for found in _INDENTED.finditer(text)]
        return cls("\r\n" if "\r\n" in text else "\n", min(widths, key=len, default="  "))

    def depth_at(self, text: str, place: int) -> int:
        start = text.rfind("\n", 0, place) + 1
        margin = text[start:place]
        margin = margin[: len(margin) - len(margin.lstrip(" \t"))]
        return len(margin) // len(self.indent)

    def shown(self, value: Any, depth: int, over_lines: bool) -> str:
        if not over_lines:
            return json.dumps(value, ensure_ascii=False)
        text = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return text.replace("\n", self.line + self.indent * depth)


def strings_in(value: Any) -> Iterator[str]:
    """Every text within a value, but for names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings_in(one)
