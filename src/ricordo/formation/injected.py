"""Text that a program put into a message: memories, documents, templates, attacks.

The functions take a plain view (see ``text/spans.py``) and return the spans to cut.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ricordo.formation.resources import alternatives, pattern, words
from ricordo.text.normalise import lazy_pattern
from ricordo.text.spans import Paragraphs, Sentences, Span, lines

FENCE_START: Final = "<ricordo-memory>"
FENCE_END: Final = "</ricordo-memory>"
"""The markers around recalled memories. Writers escape them in the content."""

_FENCE_NAME: Final = "ricordomemory"

_BLOCK_NAME_PARTS = pattern("material", "parts of block names")
_BLOCK_NAMES: Final = words("material", "block names")

# The name alone opens a block, so that a missing ">" does not hide it. Possessive quantifiers keep
# it linear on thousands of "<" or letters.
_TAG = re.compile(r"<\s*+(?P<slash>/?)\s*+(?P<name>[a-z][\w:.-]*+)(?P<rest>[^<>]*+>)?")
_BRACKET_TAG = re.compile(
    r"\[\s{0,3}(?P<slash>/?)\s{0,3}(?P<name>[a-z][a-z_-]{1,40})[^\[\]\n]{0,80}\](?!\()"
)
_SIGNS_IN_NAMES: Final = str.maketrans("", "", "_-:. ")
_FENCE_LINE = re.compile(
    r"[ \t]*+[-=*#_~]{2,}+[ \t]*+(?P<what>begin|start|end)\b[^\n]{0,80}?[-=*#_~]{2,}+[ \t]*+"
)

_CLEAR_HEADING = pattern("material", "clear heading")
_MARKED_HEADING = pattern("material", "marked heading")
_FIRST_PERSON = pattern("material", "first person")
_MAX_HEADING_CHARS: Final = 300

_BULLET = lazy_pattern(r"[ \t]*+(?:[-*•+]|[0-9]{1,3}[.)]|\[[0-9]{1,3}\])[ \t]")
_RULE_LINE = lazy_pattern(r"[ \t]*+(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+|~{3,}+)[ \t]*+")
_QUERY_LABEL = pattern("material", "query label")
_ANSWER_LABEL = pattern("material", "answer label")

_ATTACK = pattern("material", "attack")

_ORDERS: Final = alternatives("material", "orders")
_ORDER_AT_START = lazy_pattern(_ORDERS)
_ORDER_INSIDE = pattern("material", "order inside")
_SIGNS_AROUND: Final = " \t\n\x1f.!?:\"'>*(#-["


def fence_cuts(view: str) -> Iterator[Span]:
    return _blocks(view, lambda name: name == _FENCE_NAME)


def block_cuts(view: str) -> Iterator[Span]:
    """Blocks with a known name, nested or not; an unclosed one extends to the end."""
    yield from _blocks(view, _is_known_block)
    yield from _bracket_blocks(view)
    yield from _blocks_between_lines(view)


def _is_known_block(name: str) -> bool:
    return name in _BLOCK_NAMES or _BLOCK_NAME_PARTS.search(name) is not None


def _blocks(view: str, is_wanted: Callable[[str], bool]) -> Iterator[Span]:
    """From each outermost opening tag to its closing tag.

    A closing tag also closes unclosed blocks inside. One that closes nothing is cut on its own.
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
    """Remove the innermost block of this name, and what is inside it, from the open ones."""
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
        if _is_known_block(tag["name"].translate(_SIGNS_IN_NAMES))
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


def template_cuts(view: str, first_block: int | None = None) -> Iterator[Span]:
    """Of a prompt with context and a question: everything but the question.

    The context is below a heading or begins at ``first_block``. The last question label counts,
    because documents have questions of their own.
    """
    headings = (start for start, end in lines(view) if _is_heading(view[start:end]))
    context = first_block if first_block is not None else next(headings, None)
    if context is None:
        return
    labels = [found.end() for found in _QUERY_LABEL.finditer(view, context)]
    if labels:
        yield 0, labels[-1]
        if answer := _ANSWER_LABEL.search(view, labels[-1]):
            yield answer.span()


def headed_cuts(view: str) -> Iterator[Span]:
    """Text under a heading such as "Relevant memories:", up to the next blank line or rule
    (``---``).

    A blank line right under the heading does not count, nor one between list entries.
    """
    found = lines(view)
    index = 0
    while index < len(found):
        start, end = found[index]
        index += 1
        if _is_heading(view[start:end]):
            index = _end_of_headed(view, found, index)
            yield start, found[index - 1][1]


def _end_of_headed(view: str, found: list[Span], index: int) -> int:
    has_text = False
    while index < len(found):
        line = view[slice(*found[index])]
        if _RULE_LINE.fullmatch(line):
            if has_text:
                return index + 1
        elif line.strip(" \t"):
            has_text = True
        elif has_text:
            list_goes_on = index + 1 < len(found) and _BULLET.match(view, *found[index + 1])
            if not list_goes_on:
                break
        index += 1
    return index


def _is_heading(line: str) -> bool:
    if len(line) > _MAX_HEADING_CHARS:
        return False
    if clear := _CLEAR_HEADING.match(line):
        return bool(clear["colon"]) or not clear["rest"].strip(" .")
    marked = _MARKED_HEADING.match(line)
    if not marked:
        return False
    if marked["rest"]:  # people write "Context: I am a nurse"
        return bool(marked["colon"]) and not _FIRST_PERSON.search(marked["rest"])
    return bool(marked["colon"] or marked["marks"].strip())


def attack_cuts(view: str) -> Iterator[Span]:
    """Sentences with an attack or boot text, each with the rest of its paragraph.

    What follows an attack is often what it wants remembered.
    """
    return _with_rest_of_paragraph(view, (found.span() for found in _ATTACK.finditer(view)))


def order_cuts(view: str) -> Iterator[Span]:
    """Sentences that tell an assistant what to do, for text that no user wrote."""
    found = [match.span() for match in _ORDER_INSIDE.finditer(view)]
    for start, end in Sentences(view).spans():
        first = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        if match := _ORDER_AT_START.match(view, first):
            found.append(match.span())
    return _with_rest_of_paragraph(view, found)


def has_attack(view: str) -> bool:
    return _ATTACK.search(view) is not None


def _with_rest_of_paragraph(view: str, found: Iterable[Span]) -> Iterator[Span]:
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in found:
        # After the punctuation of the sentence before, which the match may include.
        place = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        first, last = sentences.around(place, end)
        yield first, max(last, paragraphs.end_after(end))
