"""Documents that are nearly right, and texts that are odd in every way that texts can be."""

import json
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

ODD_PIECES: Final = (
    "\x00",
    "\ufeff",
    "\u202e",  # right to left from here on
    "\u2067",
    "\u200d",
    "\u0301",  # a mark without a letter
    "e\u0301",
    "\x85",  # line ends that only some take for such
    "\u2028",
    "\u2029",
    "\x0b",
    "\x0c",
    "\x1c",
    "\r",
    "\r\n",
    "\n\r",
    "\n",
    "\t",
    "\xa0",
    "\u3000",
    "\ud83d",  # half a character
    "\udc00",
    "👩‍👩‍👧‍👦",
    "🇮🇩",
    "İ",
    "ß",
    "ﬃ",
    "Ǆ",
    "ΐ",
    "\U000e0001",
    "\uffff",
    "ﷺ",
    "漢字",
    "٣",
    "²",
    "…",
    "<",
    "＜",
    "﹤",
    "\\",
    "\\\\",
    '"',
    "'",
    "`",
    "```",
    "~~~",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ":",
    ",",
    "-",
    "- ",
    "#",
    "## ",
    "*",
    "%",
    "&",
    "|",
    "!",
    "@",
    "⏎",
    "␍",
    "<!--",
    "-->",
    "NaN",
    "Infinity",
    "1e999",
    "-0",
    "9" * 30,
    "9" * 5_000,
    "null",
    "true",
    "010",
    "0x10",
    "1:30",
    "2026-01-31",
    "2026-02-30T25:61:00+99:00",
    "0001-01-01",
    "9999-12-31T23:59:59-12:00",
    "' OR 1=1 --",
    "NEAR(",
    " AND ",
    " OR ",
    ":*",
    "<->",
    "</memory>",
    "x" * 300,
    " " * 300,
)

any_text = st.text(max_size=40)
"""With halves of characters, too."""
odd_texts = st.lists(st.sampled_from(ODD_PIECES) | any_text, max_size=8).map("".join)


def well_formed(text: str) -> str:
    """A text without halves of characters: what can stand in a file."""
    return text.encode("utf-8", "replace").decode("utf-8")


@st.composite
def mutated(draw: st.DrawFn, documents: Sequence[str]) -> str:
    """One of some documents, changed at a few places as no editor would do it."""
    text = draw(st.sampled_from(documents))
    for _ in range(draw(st.integers(0, 6))):
        text = draw(st.sampled_from(_CHANGES))(draw, text, documents)
    return text


@st.composite
def mutated_bytes(draw: st.DrawFn, documents: Sequence[bytes]) -> bytes:
    """The same for what is no text: bytes are changed, taken out, put in, and cut off."""
    raw = bytearray(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        many = draw(st.sampled_from((1, 1, 2, 4, 8, 64)))
        match draw(st.sampled_from(("flip", "put", "take", "cut", "zero", "fill"))):
            case "flip" if raw:
                raw[at] ^= draw(st.integers(1, 255))
            case "put":
                raw[at:at] = draw(st.binary(max_size=16))
            case "take":
                del raw[at : at + many]
            case "cut" if draw(st.booleans()):
                del raw[at:]
            case "zero":
                raw[at : at + many] = bytes(len(raw[at : at + many]))
            case "fill":
                raw[at : at + many] = b"\xff" * len(raw[at : at + many])
    return bytes(raw)


def _cut(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    return text[: draw(st.integers(0, len(text)))]


def _behead(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    return text[draw(st.integers(0, len(text))) :]


def _put_in(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from(ODD_PIECES) | any_text) + text[at:]


def _replace(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    at = draw(st.integers(0, len(text)))
    end = at + draw(st.integers(0, 12))
    return text[:at] + draw(st.sampled_from(ODD_PIECES)) + text[end:]


def _splice(draw: st.DrawFn, text: str, documents: Sequence[str]) -> str:
    other = draw(st.sampled_from(documents))
    return text[: draw(st.integers(0, len(text)))] + other[draw(st.integers(0, len(other))) :]


def _repeat_lines(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    many = draw(st.sampled_from((1, 2, 3, 50)))
    lines[at:at] = [lines[at]] * many
    return "\n".join(lines)


def _move_line(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    lines = text.split("\n")
    line = lines.pop(draw(st.integers(0, len(lines) - 1)))
    lines.insert(draw(st.integers(0, len(lines))), line)
    return "\n".join(lines)


def _other_line_ends(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    ending = draw(st.sampled_from(("\r\n", "\r", "\x85", "\u2028", "\n\n")))
    times = draw(st.sampled_from((1, 3, -1)))
    return text.replace("\n", ending, times)


def _stretch(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    """One character many times, as in what makes patterns slow."""
    if not text:
        return text
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + text[at] * draw(st.sampled_from((2, 10, 3_000))) + text[at + 1 :]


def _nest(draw: st.DrawFn, text: str, _all: Sequence[str]) -> str:
    opening, closing = draw(st.sampled_from((("[", "]"), ('{"a":', "}"), ("> ", ""), ("  ", ""))))
    depth = draw(st.sampled_from((1, 3, 80, 250, 2_000)))
    return opening * depth + text + closing * depth


_CHANGES: Final = (
    _cut,
    _behead,
    _put_in,
    _put_in,
    _replace,
    _splice,
    _repeat_lines,
    _move_line,
    _other_line_ends,
    _stretch,
    _nest,
)

json_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((0, -1, 2**31, 2**63, 10**25, 10**400, 1e308, -0.0, 1e-320))
    | st.floats(allow_nan=False, allow_infinity=False)
    | odd_texts
)


def json_values(names: Sequence[str]) -> st.SearchStrategy[Any]:
    """Any JSON value, whose objects have mostly these names."""
    keys = st.sampled_from(names) | odd_texts
    return st.recursive(
        json_scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=15,
    )


@st.composite
def altered(draw: st.DrawFn, documents: Sequence[Any], names: Sequence[str]) -> Any:
    """A JSON document in which some parts are something else, missing, or there twice."""
    document = json.loads(json.dumps(draw(st.sampled_from(documents))))
    for _ in range(draw(st.integers(0, 4))):
        document = _altered(draw, document, names)
    return document


def _altered(draw: st.DrawFn, value: Any, names: Sequence[str]) -> Any:
    """The value with one change somewhere below it."""
    places = list(value) if isinstance(value, dict) else []
    places = list(range(len(value))) if isinstance(value, list) else places
    if not places or draw(st.integers(0, 5)) == 0:
        return draw(json_values(names))
    at = draw(st.sampled_from(places))
    match draw(st.sampled_from(("into", "into", "into", "drop", "again", "rename"))):
        case "drop":
            del value[at]
        case "again" if isinstance(value, list):
            value.insert(at, value[at])
        case "rename" if isinstance(value, dict):
            value[draw(st.sampled_from(names) | odd_texts)] = value.pop(at)
        case _:
            value[at] = _altered(draw, value[at], names)
    return value
