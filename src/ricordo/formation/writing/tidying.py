"""What can be put right in a content without changing what it says."""

import re
from typing import Final

from ricordo.formation.cleaning.text_spans import sentences
from ricordo.formation.writing.writing_words import BULLET, LABEL
from ricordo.limits import MAX_FORMED_CHARS, MAX_FORMED_SENTENCES
from ricordo.text.folding import is_dense

_PAIRS: Final = ('""', "''", "“”", "‘’", "„“", "«»", "「」", "『』", "**", "__", "``", "()")
_EMOJI = re.compile(
    "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff\U000e0020-\U000e007f]"
)
_INVISIBLE = re.compile("[\u0000-\u0008\u000e-\u001f\u007f\u200b-\u200f\u2060\ufeff]")
_EMPHASIS = re.compile(r"\*\*|__|`")
_EXCLAMATION = re.compile(r"[!！]+(?=\s|$)")
_EXCLAMATION_INSIDE_DENSE = re.compile(r"(?<=[\u3040-\u30ff\u4e00-\u9fff])[!！]+")
_DOUBLE_STOP = re.compile(r"(?<![.])[.](?:[ ]?[.])(?![.])|([。])[。.]+")
_SPACE = re.compile(r"\s+")
_SPACE_IN_LINE = re.compile(r"[^\S\n]+")
_LINE_BREAKS = re.compile(r"\s*\n\s*")
_ENDED: Final = tuple(".?!。？…")
_CLOSING: Final = "\"')]”’»」』）"
_MAX_ROUNDS: Final = 20


def tidied(content: str, *, keep_lines: bool) -> str:
    """Without bullets, labels, quotation marks around it, emoji, exclamation and double spaces.

    Ends with a full stop, and is cut to two sentences and 280 characters where whole sentences
    fit; a text that cannot be cut so comes back too long. Tidy text comes back as it is.
    ``keep_lines``: steps of a procedure, which keep their lines and numbers and are not cut.
    """
    for _ in range(_MAX_ROUNDS):
        once = _round(content, keep_lines=keep_lines)
        if once == content:
            return content
        content = once
    return ""  # nothing that a person would write


def _round(content: str, *, keep_lines: bool) -> str:
    text = _EMOJI.sub("", _INVISIBLE.sub("", content))
    if keep_lines:
        text = _SPACE_IN_LINE.sub(" ", _LINE_BREAKS.sub("\n", text)).strip()
        return _EMPHASIS.sub("", text)
    text = _unwrapped(_SPACE.sub(" ", _EMPHASIS.sub("", text)).strip())
    text = _EXCLAMATION.sub(".", _EXCLAMATION_INSIDE_DENSE.sub("。", text))
    text = _DOUBLE_STOP.sub(lambda found: found[1] or ".", text).strip()
    return _cut(_stopped(text)) if any(map(str.isalnum, text)) else ""


def _unwrapped(text: str) -> str:
    """Without bullets and labels before it and one pair of marks around it."""
    while found := BULLET.match(text) or LABEL.match(text):
        text = text[found.end() :]
    for opening, closing in _PAIRS:
        inside = text[1:-1]
        if (
            len(text) > 2
            and text[0] == opening
            and text[-1] == closing
            and opening not in inside
            and closing not in inside
        ):
            return inside.strip()
    return text


def _stopped(text: str) -> str:
    bare = text.rstrip(_CLOSING)
    if text.endswith(_ENDED) or bare.endswith(_ENDED):
        return text
    bare = text.rstrip(",;:、 -–—")
    if not bare:
        return text
    return bare + ("。" if is_dense(bare[-1]) else ".")


def _cut(text: str) -> str:
    """The first sentences that fit; the text as it is when not even the first does."""
    found = sentences(text)
    if len(text) <= MAX_FORMED_CHARS and len(found) <= MAX_FORMED_SENTENCES:
        return text
    end = 0
    for sentence in found[:MAX_FORMED_SENTENCES]:
        after = text.index(sentence, end) + len(sentence)
        if after > MAX_FORMED_CHARS:
            break
        end = after
    return text[:end] if end else text
