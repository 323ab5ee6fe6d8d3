"""Candidates in the user's own words: what the gate keeps and no rule has put more simply."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.gate import JOIN, JOINING, REMEMBER, Piece, Reading
from ricordo.formation.rules.regular_forms import (
    english_in_third_person,
    indonesian_in_third_person,
    spelled_out,
)
from ricordo.formation.rules.relative_dates import with_dates
from ricordo.formation.rules.rule import capitalised
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType
from ricordo.text.languages import guess
from ricordo.text.normalise import is_dense

LIKELY: Final = 0.5
SURE: Final = 4.7
SURE_AMONG_OTHERS: Final = 5.7
GOING_ON: Final = 2.0
_CARRIED_ON: Final = frozenset({"other", "reported", "hypo", "wish", "fiction", "quote", "world"})
RULE: Final = "rule"
_MOST_LINE_BREAKS: Final = 2
_SHORT_WORDS: Final = 3
_WITH_NUMBERS: Final = frozenset({"money", "birthday", "age", "plan", "event", "goal", "rule"})
_LONG_NUMBER: Final = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{4,}")
_SHORT_DENSE: Final = 7
_ONLY_ASKED: Final = frozenset({"note", "steps"})
_FEWEST_LETTERS: Final = 6
_FEWEST_DENSE: Final = 3
_AROUND: Final = " ,.;:!?、。，！？；：…-–—\n\t"
_SENTENCE_END: Final = re.compile(r"[.!?。！？\n]")

THE_USER: Final = re.compile(
    r"(?:\b(?:von|de|del|da|do) )?(?:(?:\b(?:the|der|die|el|la|le|o|a) )?(?<![a-z])"
    r"(?:user|nutzer(?:in)?|usuari[oa]|utilisat(?:eur|rice)|pengguna)(?![a-z])|ユーザー|用户|使用者|사용자)"
    r"(?P<owner>'s|の|의|的)?[はが는은이가]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a memory of this kind is filed."""

    theme: str = "profile"
    type: MemoryType = MemoryType.FACT
    key: str | None = None
    importance: int = DEFAULT_IMPORTANCE
    field: str | None = None


_LIKING: Final = MemoryType.PREFERENCE
KINDS: Final[dict[str, Kind]] = {
    "name": Kind(key="preferred_name", importance=4, field="preferred_name"),
    "pronouns": Kind(key="pronouns", field="pronouns"),
    "home": Kind(key="home_city", field="city"),
    "origin": Kind(key="hometown", field="city"),
    "language": Kind(field="language"),
    "job": Kind("work"),
    "study": Kind("work"),
    "team": Kind("work"),
    "birthday": Kind(),
    "age": Kind(key="age"),
    "trait": Kind(),
    "event": Kind(),
    "own": Kind(),
    "like": Kind("preferences", _LIKING),
    "dislike": Kind("preferences", _LIKING),
    "diet": Kind("preferences", _LIKING, importance=4),
    "habit": Kind("routine"),
    "plan": Kind("plans"),
    "goal": Kind("plans"),
    "family": Kind("family"),
    "pet": Kind("family"),
    "health": Kind("health", importance=4, field="health"),
    "faith": Kind(field="faith"),
    "sexuality": Kind(field="sexuality"),
    "politics": Kind(field="politics"),
    "money": Kind(field="money"),
    "identifier": Kind(field="identifiers"),
    "rule": Kind("instructions", MemoryType.INSTRUCTION, importance=4),
    "note": Kind("notes"),
    "steps": Kind("procedures"),
}


def in_own_words(passage: Passage, reading: Reading, taken: Sequence[Candidate]) -> list[Candidate]:
    """One candidate for each piece that is surely kept and not read by a rule."""
    found = []
    pieces = _with_tails(reading.pieces(), passage.text)
    is_mixed = has_other_voices(passage)
    for number, piece in enumerate(pieces):
        quote = passage.text[piece.start : piece.end]
        sure = SURE_AMONG_OTHERS if is_mixed else SURE
        if _goes_on(pieces, number, passage.text):
            sure += GOING_ON
        if not piece.is_kept or piece.evidence < sure or not _says_enough(quote):
            continue
        if THE_USER.match(quote):
            continue  # nobody speaks so of themselves
        if _is_read(piece, passage, taken):
            quote = _rest_of_rule(piece, passage, taken)
            if not quote:
                continue
        kind = KINDS[piece.label]
        asked = not is_mixed and _is_asked_for(pieces, number, passage.text)
        if kind.field is not None and not _comes_first(pieces, number):
            asked = False  # what slips into a request is not asked for
        if piece.label in _ONLY_ASKED and not asked:
            continue
        found.append(
            Candidate(
                content=_told(quote, passage.at),
                quote=quote,
                passage=passage,
                type=kind.type,
                theme=kind.theme,
                key=kind.key,
                importance=kind.importance,
                is_explicit=asked or (piece.label == RULE and not is_mixed),
                is_in_own_words=True,
                fields=_numbers_in(quote, piece.label),
            )
        )
    return found


def _rest_of_rule(piece: Piece, passage: Passage, taken: Sequence[Candidate]) -> str:
    """The other standing instruction after the one that a rule has read: "…, and never in bold"."""
    ends = [end for one in taken for start, end in _places(one.quote, passage.text)]
    last = max((end for end in ends if end < piece.end), default=piece.end)
    rest = JOINING.sub("", passage.text[last : piece.end].strip(_AROUND)).strip(_AROUND)
    return rest if piece.label == RULE and not _is_short(rest) else ""


def _goes_on(pieces: Sequence[Piece], number: int, text: str) -> bool:
    """Whether it goes on with a sentence that is about somebody else, or not meant so."""
    before = [piece for piece in pieces[:number] if piece.label != JOIN][-1:]
    return any(
        one.label in _CARRIED_ON
        and not _SENTENCE_END.search(text, one.end - 1, pieces[number].start)
        for one in before
    )


def _numbers_in(quote: str, label: str) -> frozenset[str]:
    """A long number that is no year, where none is expected, may be a code: it needs consent."""
    is_odd = label not in _WITH_NUMBERS and _LONG_NUMBER.search(quote)
    return frozenset({"identifiers"}) if is_odd else frozenset()


def _with_tails(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """With short ends joined to what they end: "since May", "by car"; "Always." to a rule."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.is_kept
            and piece.is_kept
            and _is_short(text[piece.start : piece.end])
            and (
                piece.label == before.label == RULE
                or not _SENTENCE_END.search(text, before.end - 1, piece.start)
            )
        ):
            joined[-1] = replace(before, end=piece.end, tokens=before.tokens + piece.tokens)
        else:
            joined.append(piece)
    return joined


def _is_short(quote: str) -> bool:
    dense = sum(map(is_dense, quote))
    return dense <= _SHORT_DENSE if dense else len(quote.split()) <= _SHORT_WORDS


def has_other_voices(passage: Passage) -> bool:
    """Whether a message has, or may have, words that are not the user's: nothing is asked for."""
    return bool(
        passage.material
        or passage.unsure
        or passage.doubtful
        or passage.text.count("\n") > _MOST_LINE_BREAKS
    )


def unanswered(passage: Passage, reading: Reading, taken: Sequence[Candidate]) -> list[Candidate]:
    """What the user asked to remember and no reader has taken up: the rest of the sentence."""
    if taken or has_other_voices(passage):
        return []
    found = []
    for piece in [one for one in reading.pieces() if one.label == REMEMBER][-1:]:
        if piece.chance < LIKELY:
            continue
        stop = _SENTENCE_END.search(passage.text, piece.end)
        said = passage.text[piece.end : stop.start() if stop else None].strip(_AROUND)
        if said:
            found.append(
                Candidate(
                    content=_told(said, passage.at),
                    quote=said,
                    passage=passage,
                    theme=KINDS["note"].theme,
                    is_explicit=True,
                    is_in_own_words=True,
                )
            )
    return found


def _is_read(piece: Piece, passage: Passage, taken: Sequence[Candidate]) -> bool:
    return any(
        start < piece.end and piece.start < end
        for one in taken
        for start, end in _places(one.quote, passage.text)
    )


def _is_asked_for(pieces: Sequence[Piece], number: int, text: str) -> bool:
    """Whether a request to remember comes before it, in the same sentence."""
    for before in reversed(pieces[:number]):
        if _SENTENCE_END.search(text, before.end, pieces[number].start):
            return False
        if before.label == REMEMBER:
            return True
    return False


def _comes_first(pieces: Sequence[Piece], number: int) -> bool:
    before = [piece for piece in pieces[:number] if piece.label != JOIN]
    return bool(before) and before[-1].label == REMEMBER


def _told(quote: str, at: datetime) -> str:
    """In the third person in English and Indonesian, else as it was said."""
    language = guess(quote)
    told = None
    if language == "en":
        told = english_in_third_person(with_dates(spelled_out(quote), at))
    elif language == "id":
        told = indonesian_in_third_person(with_dates(quote, at))
    return capitalised(told or quote)


def _says_enough(quote: str) -> bool:
    dense = sum(map(is_dense, quote))
    return dense >= _FEWEST_DENSE or sum(map(str.isalnum, quote)) >= _FEWEST_LETTERS


def _places(quote: str, text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(re.escape(quote), text)]
