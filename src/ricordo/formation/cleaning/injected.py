"""Blocks that a program put into a message: recalled memories, retrieved documents, reminders.

Everything here looks at a plain view (see ``plain_view.py``) and gives the spans to cut. What
stands under a mere heading is the matter of ``headed_context.py``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from ricordo.formation.cleaning.text_spans import Paragraphs, Span, lines

FENCE_START: Final = "<ricordo-memory>"
FENCE_END: Final = "</ricordo-memory>"
"""Between these stands what ricordo recalled. Whoever writes them escapes them in the content."""

_FENCE_NAME: Final = "ricordomemory"

# Names of blocks without their signs: those that contain one of the first, or are one of the rest.
_TELLING_PARTS = re.compile(
    "memor|context|recall|retriev|remind|instruct|systemprompt|searchresult|knowledge|profile"
    "|history|toolresult|tooloutput|functionresult|document|ricordo|aboutuser|userinfo|userfacts"
    "|environment|attachment|background"
)
_OTHER_NAMES = """
system developer assistant facts fact notes source sources passage passages snippet snippets chunk
chunks article articles webpage page file files transcript conversation chatlog email quote
blockquote code pre script style summary thinking thought scratchpad example examples reference
references citation citations data results result output rules policy persona tools tool functions
preferences userpreferences rag
"""
_BLOCK_NAMES: Final = frozenset(_OTHER_NAMES.split())

# The name alone opens a block, so that a ">" that never comes does not hide it. Possessive, because
# otherwise thousands of "<" or letters would be tried again and again.
_TAG = re.compile(r"<\s*+(?P<slash>/?)\s*+(?P<name>[a-z][\w:.-]*+)(?P<rest>[^<>]*+>)?")
_BRACKET_TAG = re.compile(
    r"\[\s{0,3}(?P<slash>/?)\s{0,3}(?P<name>[a-z][a-z_-]{1,40})[^\[\]\n]{0,80}\](?!\()"
)
_SIGNS_IN_NAMES: Final = str.maketrans("", "", "_-:. ")
_FENCE_LINE = re.compile(
    r"[ \t]*+[-=*#_~]{2,}+[ \t]*+(?P<what>begin|start|end)\b[^\n]{0,80}?[-=*#_~]{2,}+[ \t]*+"
)


def fence_cuts(view: str) -> Iterator[Span]:
    """What stands between ricordo's own markers, in anybody's text."""
    return _blocks(view, _is_own_fence)


def block_cuts(view: str) -> Iterator[Span]:
    """Blocks with a telling name, nested or not; an unclosed one reaches to the end."""
    yield from _blocks(view, _is_telling)
    yield from _bracket_blocks(view)
    yield from _blocks_between_lines(view)


def _is_own_fence(name: str) -> bool:
    return name == _FENCE_NAME


def _is_telling(name: str) -> bool:
    return name in _BLOCK_NAMES or _TELLING_PARTS.search(name) is not None


def _blocks(view: str, is_wanted: Callable[[str], bool]) -> Iterator[Span]:
    """From each outermost opening tag to the tag that closes it.

    A closing tag also closes what was opened inside and never closed. One that closes nothing is
    cut on its own.
    """
    opened: list[str] = []
    count: Counter[str] = Counter()
    block_start = 0
    for tag in _TAG.finditer(view):
        name = tag["name"].translate(_SIGNS_IN_NAMES)
        if not is_wanted(name):
            continue
        if tag["slash"]:
            block_start = block_start if opened else tag.start()
            _close(name, opened, count)
            if not opened:
                yield block_start, tag.end()
        elif (tag["rest"] or "").endswith("/>"):
            yield tag.span()
        else:
            block_start = block_start if opened else tag.start()
            opened.append(name)
            count[name] += 1
    if opened:
        yield block_start, len(view)


def _close(name: str, opened: list[str], count: Counter[str]) -> None:
    """Take the innermost block of this name, and what is inside it, from the open ones."""
    while count[name]:
        last = opened.pop()
        count[last] -= 1
        if last == name:
            return


def _bracket_blocks(view: str) -> Iterator[Span]:
    """``[memory] … [/memory]``; without an end, and at the start of a line, the paragraph."""
    tags = [
        tag
        for tag in _BRACKET_TAG.finditer(view)
        if _is_telling(tag["name"].translate(_SIGNS_IN_NAMES))
    ]
    paragraphs = Paragraphs(view)
    last_end = {tag["name"]: tag.end() for tag in tags if tag["slash"]}
    for tag in tags:
        closed_at = last_end.get(tag["name"], -1)
        if not tag["slash"] and closed_at > tag.start():
            yield tag.start(), closed_at
        elif not view[max(0, view.rfind("\n", 0, tag.start())) : tag.start()].strip():
            yield tag.start(), paragraphs.end_after(tag.end())


def _blocks_between_lines(view: str) -> Iterator[Span]:
    """``--- begin … ---`` to ``--- end … ---``, or to the end."""
    start: int | None = None
    for line_start, line_end in lines(view):
        found = _FENCE_LINE.fullmatch(view, line_start, line_end)
        if not found:
            continue
        if found["what"] != "end":
            start = line_start if start is None else start
        elif start is not None:
            yield start, line_end
            start = None
    if start is not None:
        yield start, len(view)
