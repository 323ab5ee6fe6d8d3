"""Benign profile fields: what a user is like to work with, believed once two signals agree."""

import re
from typing import Final

from ricordo.formation.consent.phrases import plain_text
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.model.vocabulary import MemoryType

TONE: Final = "tone"
GOALS: Final = "goals"
BENIGN_FIELDS: Final[tuple[str, ...]] = (TONE, GOALS)

_TONE_KEYS: Final = frozenset(
    {"tone", "style", "answer_style", "answers", "reply_style", "response_style", "writing_style"}
    | {"answer_length", "answer_format", "formatting", "verbosity", "gaya_jawaban", "gaya_bahasa"}
)
_GOAL_KEYS: Final = frozenset({"goal", "goals", "tujuan", "ziel", "ziele"})

_ANSWERS: Final = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|formatting|wording"
    r"|tone of voice|writing style|bullet points?|bullets|jawaban|balasan|respons|penjelasan"
    r"|ringkasan|antworten?|erklarungen|erklarung|zusammenfassungen|stichpunkten?|stichpunkte)"
)
_LIKING: Final = (
    r"(?:prefers?|prefer|likes?|loves?|wants?|enjoys?|favou?rs?|hates?|dislikes?|appreciates?"
    r"|(?:does not|doesn't|do not|don't) (?:like|want)|asks? for|suka|menyukai|lebih suka|ingin|mau"
    r"|senang|tidak suka|minta|bevorzugt?e?|mag|mochte|hatte gern|wunscht|will|liebt|hasst)"
)
_WANTED_ANSWERS: Final = re.compile(
    rf"\b{_LIKING} (?:[\w'/,-]{{1,30}} ){{0,6}}?{_ANSWERS}\b"
    rf"|\b{_LIKING} (?:to be|being) (?:answered|addressed|spoken to|written to)\b"
    r"|\b(?:suka|ingin|mau|minta) dijawab\b"
)
_JAPANESE_TONE: Final = re.compile(
    r"(?:答え|回答|返答|返事|返信|説明|要約|箇条書き|敬語|タメ口)[^。\n]{0,40}"
    r"(?:好|希望|してほしい|して欲しい|がいい|がよい|望)|(?:好|希望)[^。\n]{0,10}(?:答え|回答|返答|返事|返信|説明)"
)
_ABOUT_OTHERS: Final = re.compile(
    r"\b(?:survey|exam|quiz|customers?|colleagues?|interview|tests?|waiting for|umfrage|ujian)\b"
)


def benign_field(candidate_key: str | None, type: MemoryType, content: str) -> str | None:
    """The benign profile field that a statement is about; None for everything else.

    ``tone`` is how the user likes to be answered, ``goals`` what they want to reach. Standing
    instructions are explicit and need no second signal.
    """
    if type is MemoryType.INSTRUCTION:
        return None
    by_key = _field_of_key(candidate_key)
    if by_key is not None:
        return by_key
    return TONE if type in _TASTES and _is_about_answers(content) else None


_TASTES: Final = frozenset({MemoryType.PREFERENCE, MemoryType.FACT, MemoryType.OTHER})


def _field_of_key(key: str | None) -> str | None:
    if key is None:
        return None
    head = re.sub(r"[\s.-]+", "_", plain_text(key).partition(":")[0].strip())
    if head in _TONE_KEYS:
        return TONE
    return GOALS if head in _GOAL_KEYS else None


def _is_about_answers(content: str) -> bool:
    plain = plain_text(content[:MAX_CONTENT_CHARS])
    if _JAPANESE_TONE.search(plain):
        return True
    return _WANTED_ANSWERS.search(plain) is not None and _ABOUT_OTHERS.search(plain) is None
