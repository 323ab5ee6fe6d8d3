"""Tasks whose text is material: translate this, write a story, play a role."""

import re
from typing import Final

from ricordo.formation.words import pattern

_GIVEN_TEXT = pattern("clauses", "given text", re.IGNORECASE)
_MADE_TEXT = pattern("clauses", "made text", re.IGNORECASE)
_PLAYED_ROLE = pattern("clauses", "played role", re.IGNORECASE)
_SCENE = pattern("clauses", "scene", re.IGNORECASE)
_SCENE_OVER = pattern("clauses", "scene over", re.IGNORECASE)
_INJECTION = pattern("clauses", "injection", re.IGNORECASE | re.MULTILINE)
_TAKEN_BACK = pattern("clauses", "taken back", re.IGNORECASE)
_LOOKING_BACK = pattern("clauses", "looking back", re.IGNORECASE)
_END_OF_SENTENCE: Final = re.compile(r"[.!?\n]")
_REACH_CHARS: Final = 300
_SCENE_CHARS: Final = 4_000


def is_untrusted(text: str) -> bool:
    """Whether a passage tries to control the assistant, or takes back what it says."""
    return bool(_INJECTION.search(text) or _TAKEN_BACK.search(text))


def starts_role_play(text: str) -> bool:
    """Whether a role play starts that goes on in the following turns."""
    return bool(_SCENE.search(text[:_SCENE_CHARS]))


def ends_role_play(text: str) -> bool:
    return bool(_SCENE_OVER.search(text[:_SCENE_CHARS]))


def without_given_text(text: str) -> str:
    """The text with the material of a task blanked out, of the same length.

    Everything from the task on is material; the text before it stays, unless the task refers back
    to it ("translate the above") or is a role play.
    """
    if is_untrusted(text) or _PLAYED_ROLE.search(text):
        return _blank(text)
    starts = [
        found.start() for found in (_GIVEN_TEXT.search(text), _MADE_TEXT.search(text)) if found
    ]
    if not starts:
        return text
    start = _start_of_sentence(text, min(starts))
    task = text[start : start + _REACH_CHARS]
    end = _END_OF_SENTENCE.search(task, min(starts) - start)
    own_sentence = task[: end.start()] if end else task
    if ":" not in own_sentence and _LOOKING_BACK.search(own_sentence):
        return _blank(text)
    return text[:start] + _blank(text[start:])


def _start_of_sentence(text: str, place: int) -> int:
    low = max(0, place - _REACH_CHARS)
    before = [found.end() for found in _END_OF_SENTENCE.finditer(text, low, place)]
    return before[-1] if before else low


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
