"""Comments in the files of the home folder: for people, never for a model."""

from typing import Final

_START: Final = "<!--"
_END: Final = "-->"

Span = tuple[int, int]


def comment_spans(text: str) -> list[Span]:
    """Where comments stand. One that never ends is none, or a typing error would hide a file."""
    found: list[Span] = []
    start = text.find(_START)
    while start >= 0:
        end = text.find(_END, start + len(_START))
        if end < 0:
            break
        found.append((start, end + len(_END)))
        start = text.find(_START, end + len(_END))
    return found


def without_comments(text: str) -> str:
    """The text as a model may see it."""
    kept, place = [], 0
    for start, end in comment_spans(text):
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]])
