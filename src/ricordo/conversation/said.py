"""The sentences of a conversation that may be repeated, and how much each is likely to matter.

What was recalled, injected or pasted into a message, and secrets, are not repeated: a summary
would launder them.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Final

from ricordo.conversation.choosing import MAX_SENTENCE_CHARS, Sentence, shortened
from ricordo.formation.hygiene import kept_pieces
from ricordo.formation.text_spans import sentences
from ricordo.model.thread import Turn
from ricordo.text.normalise import capitalised_inside_sentence

NOTHING_TO_REPEAT: Final = "[…]"
"""Stands for a turn of which nothing may be repeated, such as code alone."""

UNTOLD_ROLES: Final = frozenset({"system", "developer"})
"""Who sets a conversation up, and says nothing in it."""

_USER_ROLE: Final = "user"
_TOOL_ROLES: Final = frozenset({"tool", "function"})
_ROLE_WEIGHTS: Final = {_USER_ROLE: 1.5, "tool": 0.6, "function": 0.6}
_ENDS: Final = 1.3  # the first and the last thing that was said
_NUMBER: Final = 1.2
_NAME: Final = 1.15
_DECISION: Final = 1.3
_UNANSWERED: Final = 1.4
_REPEATS_NOTHING: Final = 0.3
# A very long turn is looked at from both ends.
_FIRST_SENTENCES: Final = 24
_LAST_SENTENCES: Final = 8
_MAX_SPEAKER_CHARS: Final = 40

_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_QUESTION = re.compile(r"[?？¿؟]")
# What decides or asks for something. A nudge only: other languages do without.
_DECIDES = re.compile(
    r"\b(?:decide[ds]?|agree[ds]?|let'?s|we'?ll|i'?ll|must|should|need to|have to|please|remember"
    r"|don'?t|never|always|instead|deadline|promise[ds]?"
    r"|sepakat|putuskan|harus|tolong|jangan|perlu|ingat"
    r"|entschieden|einigen|müssen|bitte|sollen|nie|immer"
    r"|decidido|debemos|hay que|por favor|recuerda|décidé|il faut|deciso|dobbiamo)\b"
    r"|決め|決まり|決定|必ず|お願い|ください|しましょう|决定|必须|请|记住",
    re.IGNORECASE,
)


def sentences_of(turns: Sequence[Turn], zone: tzinfo) -> list[Sentence]:
    """The sentences of turns that may be repeated, in order; the first of each day says the day."""
    told = [turn for turn in turns if turn.role not in UNTOLD_ROLES]
    answered = max(
        (place for place, turn in enumerate(told) if turn.role != _USER_ROLE), default=-1
    )
    found: list[Sentence] = []
    day = ""
    for place, turn in enumerate(told):
        today = turn.at.astimezone(zone).date().isoformat()
        speaker = _speaker(turn) if today == day else f"{_speaker(turn)}, {today}"
        day = today
        for number, text in enumerate(_texts(turn)):
            weight = _weight(turn, text, is_unanswered=place > answered)
            if (place == 0 and number == 0) or place == len(told) - 1:
                weight *= _ENDS
            found.append(Sentence(place, speaker, text, weight))
    return found


def _texts(turn: Turn) -> Iterator[str]:
    pieces = kept_pieces(
        turn.content,
        is_from_tool=turn.role in _TOOL_ROLES,
        is_from_user=turn.role == _USER_ROLE,
    )
    split = [sentence for piece in pieces for sentence in sentences(piece)]
    if len(split) > _FIRST_SENTENCES + _LAST_SENTENCES:
        split = [*split[:_FIRST_SENTENCES], *split[-_LAST_SENTENCES:]]
    short = (shortened(text, MAX_SENTENCE_CHARS) for text in split)
    yield from [text for text in short if text] or [NOTHING_TO_REPEAT]


def _weight(turn: Turn, text: str, *, is_unanswered: bool) -> float:
    if text == NOTHING_TO_REPEAT:
        return _REPEATS_NOTHING
    weight = _ROLE_WEIGHTS.get(turn.role, 1.0)
    if _DIGIT.search(text):
        weight *= _NUMBER
    if any(capitalised_inside_sentence(text, *word.span()) for word in _WORD.finditer(text)):
        weight *= _NAME
    if _DECIDES.search(text):
        weight *= _DECISION
    if is_unanswered and _QUESTION.search(text):
        weight *= _UNANSWERED
    return weight


def _speaker(turn: Turn) -> str:
    """A name that cannot be taken for more than a name."""
    named = (turn.actor or turn.role).replace(":", " ")
    return shortened(named, _MAX_SPEAKER_CHARS) or turn.role[:_MAX_SPEAKER_CHARS]
