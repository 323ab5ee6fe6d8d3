"""Whose voice a message speaks in: the user's own, or that of material the user pasted.

A message is divided into parts. What follows a request about a text or announces one ("Got this
today:", "tl;dr?", "Is this legit?"), a letter, and text that addresses the user as a customer is
material: nothing is formed from it. In unclear cases the part is unsure: facts are formed, but
requests and orders need consent. If it is also about other people, it is doubtful: all of it needs
consent.

The functions take a plain view (see ``text/spans.py``) and go by form first and by words second;
the words are of ten languages.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import Final

from ricordo.formation.resources import pattern
from ricordo.frozen import dataclass
from ricordo.text.normalise import lazy_pattern
from ricordo.text.spans import CUT_FILLER, Paragraphs, Sentences, Span, lines

_MAX_LEAD_CHARS: Final = 160
_MAX_FIRST_LINE_CHARS: Final = 120
_LONG_CHARS: Final = 4_000  # a longer message is mostly pasted
_OPENING_CHARS: Final = 1_000  # of such a message the user probably typed
_SPACE: Final = f" \t\n{CUT_FILLER}"
_AROUND_LEAD: Final = f"{_SPACE}-–—=*_#~>([{{.!…"

_FENCED = lazy_pattern(r"[ \t]*+(?:`{3}|~{3}|>)")
_COLON = lazy_pattern(r":(?=\s|$)")
_REST_IS_EMPTY = lazy_pattern(rf"[ \t{re.escape(CUT_FILLER)}]*(?:\n|\Z)")
_RULE_LINE = lazy_pattern(r"[ \t]*+(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+|~{3,}+)[ \t]*+")
_LIST_LINE = lazy_pattern(r"[ \t]*+(?:[-*•–+]|\(?[0-9]{1,3}[.)])[ \t]++\S")
_TABLE_LINE = pattern("voice", "table line")

_FEWEST_STATED_WORDS: Final = 4

_TEXT_NOUN = pattern("voice", "text noun")
_POINTS = pattern("voice", "points")
_UNNAMED = pattern("voice", "unnamed")
_SELF = pattern("voice", "self")
_SUSPECTS = pattern("voice", "suspects")
_GIVES_TASK = pattern("voice", "gives task")
_FOREIGN = pattern("voice", "foreign task")
_ON_TEXT = pattern("voice", "on text")
_ABOUT_WRITING = pattern("voice", "about writing")
_SAYING = pattern("voice", "saying")
_SHOWS = pattern("voice", "shows")
_ANOTHER = lazy_pattern(r"\bwhat (?:he|she|they|the|my|our|your|some)\b")
_QUESTION = pattern("voice", "question")
_LIFE = pattern("voice", "life")
_LABEL = pattern("voice", "label")
_OWN = pattern("voice", "own")
_ASIDE = pattern("voice", "aside", re.IGNORECASE)
_STATES = pattern("voice", "states")
_CHANGE = pattern("corrections", "change")
_GREETING = pattern("voice", "greeting")
_THANK = pattern("voice", "thank")
_FORMAL_SALUTATION = pattern("voice", "formal salutation")
_SALUTATION = pattern("voice", "salutation")
_CLOSING = pattern("voice", "closing")
_ADDRESSED = pattern("voice", "addressed")
_SINGULAR = pattern("voice", "singular")
_PLURAL_TO_READER = pattern("voice", "plural to reader")
_ABOUT_USER = pattern("voice", "about user")


class Voice(StrEnum):
    UNSURE = "unsure"
    DOUBTFUL = "doubtful"
    MATERIAL = "material"


class Reason(StrEnum):
    """Why a part is not, or not certainly, the user's own voice."""

    RECALLED = "recalled"
    CODE = "code"
    INJECTED = "injected"
    SECRET = "secret"  # noqa: S105 - the name of a reason
    DATA = "data"
    QUOTATION = "quotation"
    MAIL = "mail"
    CHAT_LOG = "chat_log"
    ATTACK = "attack"
    ORDER = "order"
    GIVEN = "given_text"  # after a request about a text, or before it
    LETTER = "letter"
    ADDRESSED = "addressed_to_user"
    LONG = "long_text"
    TABLE = "table"
    RULED = "between_rules"


@dataclass(frozen=True, slots=True)
class VoicePart:
    """A span of a text that is not certainly the user's own voice."""

    span: Span
    voice: Voice
    reason: Reason


class _Lead(IntEnum):
    """How certainly a line is about a text that the user gives."""

    NONE = 0
    MAYBE = 1
    LABEL = 2  # "Thoughts?": about the text after or before it
    SURE = 3


def parts(view: str, original: str = "") -> list[VoicePart]:
    """The parts of a user's message that are, or may be, material. The view has filler where text
    was cut.

    ``original`` is the view before the cuts, to see whether a block was fenced.
    """
    found = [
        *_after_request(view, original or view),
        *_letters(view),
        *_addressed_to_user(view),
        *_tables(view),
        *_between_rules(view),
    ]
    if len(view) > _LONG_CHARS:
        end = max(0, view.find("\n\n", 0, _OPENING_CHARS))
        found.append(VoicePart((end, len(view)), Voice.UNSURE, Reason.LONG))
    return found


def _after_request(view: str, original: str) -> Iterator[VoicePart]:
    """The text that a request is about: what follows it or, if nothing does, what precedes it."""
    place = 0
    is_first = True
    for start, end in Sentences(view).spans():
        if start < place or not view[start:end].strip(_SPACE):
            continue
        lead, lead_end = _lead(view, start, end, is_first=is_first)
        if not _is_greeting(view[start:end]):
            is_first = False
        if lead is _Lead.NONE:
            continue
        if not view[lead_end:].strip(_SPACE) or _is_only_thanks(view[lead_end:]):
            yield from _before_question(view, start, lead)
            return
        if (fence_end := _end_of_fence(view, original, lead_end)) is not None:
            place = fence_end
            continue
        voice = _uncertain_voice(view[lead_end:]) if lead is _Lead.MAYBE else Voice.MATERIAL
        yield VoicePart((lead_end, len(view)), voice, Reason.GIVEN)
        if voice is Voice.MATERIAL:
            yield from _question_at_end(view, lead_end)
            return


def _question_at_end(view: str, place: int) -> Iterator[VoicePart]:
    """The text before a question about it at the end, even if another lead came first."""
    spans = [span for span in Sentences(view).spans() if view[slice(*span)].strip(_SPACE)]
    while spans and _is_only_thanks(view[slice(*spans[-1])]):
        spans.pop()
    if not spans or spans[-1][0] < place:
        return
    start, end = spans[-1]
    lead, _ = _lead(view, start, end, is_first=False)
    if lead is not _Lead.NONE:
        yield from _before_question(view, start, lead)


def _before_question(view: str, start: int, lead: _Lead) -> Iterator[VoicePart]:
    """The text before a question about it, if the question has lines of its own."""
    line_start = view.rfind("\n", 0, start) + 1
    is_alone = not view[line_start:start].strip(_SPACE)
    voice = _uncertain_voice(view[:start])
    if lead is _Lead.MAYBE:
        is_of_own = voice is Voice.UNSURE and _SELF.search(view[start:]) is not None
        if not is_alone or is_of_own:
            return
    if is_alone and lead is _Lead.SURE:
        voice = Voice.MATERIAL
    yield VoicePart((0, line_start if is_alone else start), voice, Reason.GIVEN)


def _uncertain_voice(text: str) -> Voice:
    """The voice of a text that may be the user's own."""
    sentences = (text[slice(*span)].strip(_SPACE) for span in Sentences(text).spans())
    return Voice.DOUBTFUL if any(map(_is_about_others, sentences)) else Voice.UNSURE


def _lead(view: str, start: int, end: int, *, is_first: bool) -> tuple[_Lead, int]:
    """Whether a sentence introduces a text or asks about one, and where it ends."""
    sentence = view[start:end]
    colon = _COLON.search(sentence, 0, _MAX_LEAD_CHARS)
    if colon and sentence[colon.end() :].strip(_SPACE):
        head = sentence[: colon.end()].strip(_AROUND_LEAD)
        if _is_about_text(head) or _announces(head):
            return _Lead.SURE, start + colon.end()
        is_own = _is_own_lead(head) or _STATES.search(head)
        is_remark = len(view) <= _MAX_LEAD_CHARS and "\n" not in view
        opens_remark = is_remark and (_CHANGE.search(head) or _ASIDE.fullmatch(head[:-1].rstrip()))
        if is_first and not (is_own or opens_remark):
            return _Lead.MAYBE, start + colon.end()
    said = sentence.strip(_AROUND_LEAD)
    if not said or len(said) > _MAX_LEAD_CHARS:
        return _Lead.NONE, end
    ends_line = view[end - 1] == "\n" or _REST_IS_EMPTY.match(view, end) is not None
    if _LABEL.fullmatch(said):
        return _Lead.LABEL, end
    if _is_about_text(said) or (is_first and _asks_about_unnamed(said)):
        return _Lead.SURE, end
    is_question = said.endswith("?")
    if not ends_line:
        may_lead = is_first and is_question and not _SELF.search(said)
        return (_Lead.MAYBE if may_lead and not _is_greeting(said) else _Lead.NONE), end
    has_stop = sentence.rstrip(_SPACE).endswith((".", "!", "。"))
    if _announces(said, is_stopped=has_stop):
        return _Lead.SURE, end
    if _is_own_lead(said) or _LIST_LINE.match(view, start):
        return _Lead.NONE, end
    if said.endswith(":") and not _begins_list(view, end):
        return _Lead.SURE, end
    states = has_stop or (not is_question and _STATES.search(said))
    if states or len(said) > _MAX_FIRST_LINE_CHARS or _is_greeting(said):
        return _Lead.NONE, end
    return _Lead.MAYBE, end


def _is_greeting(text: str) -> bool:
    return _GREETING.fullmatch(text.strip(_AROUND_LEAD + ",")) is not None


def _is_only_thanks(text: str) -> bool:
    return _THANK.fullmatch(text.strip(_AROUND_LEAD + ",")) is not None


def _begins_list(view: str, place: int) -> bool:
    following = len(view) - len(view[place:].lstrip(_SPACE))
    return _LIST_LINE.match(view, following) is not None


def _end_of_fence(view: str, original: str, place: int) -> int | None:
    """The end of the fenced or quoted block right after a position, or None."""
    first = place + len(original[place:]) - len(original[place:].lstrip(" \t\n"))
    if first >= len(view) or view[first] != CUT_FILLER or not _FENCED.match(original, first):
        return None
    return first + len(view[first:]) - len(view[first:].lstrip(_SPACE))


def _letters(view: str) -> Iterator[VoicePart]:
    """A letter from its salutation on, and everything above a closing."""
    found = lines(view)
    salutation: int | None = None
    for number, (start, end) in enumerate(found):
        line = view[start : min(end, start + 120)]
        if _FORMAL_SALUTATION.match(line) and view[end:].strip(_SPACE):
            yield VoicePart((start, len(view)), Voice.MATERIAL, Reason.LETTER)
            return
        if _SALUTATION.fullmatch(line) and salutation is None:
            salutation = start
        elif _CLOSING.fullmatch(line) and _ends_letter(view, found, number):
            yield VoicePart((salutation or 0, len(view)), Voice.MATERIAL, Reason.LETTER)
            return


def _ends_letter(view: str, found: Sequence[Span], number: int) -> bool:
    """Whether a closing ends a letter: text precedes, and at most a few short lines follow."""
    following = [view[start:end] for start, end in found[number + 1 : number + 9]]
    filled = [line for line in following if line.strip(_SPACE)]
    return number > 0 and 0 < len(filled) <= 4 and any(len(line) < 60 for line in filled)


def _addressed_to_user(view: str) -> Iterator[VoicePart]:
    """Paragraphs that address the user as a customer, or the reader as "we"; the rest is then
    unsure.
    """
    paragraphs = Paragraphs(view)
    first: int | None = None
    place = 0
    customers = [found.span() for found in _ADDRESSED.finditer(view)]
    readers = [
        (begins, ends)
        for begins, ends in Sentences(view).spans()
        if _speaks_to_reader(view[begins:ends].strip(_SPACE))
    ]
    for begins, ends in sorted([*customers, *readers]):
        if begins < place:
            continue
        start = max(view.rfind("\n\n", 0, begins) + 2, 0)
        start = 0 if start == 1 else start
        place = paragraphs.end_after(ends)
        first = start if first is None else first
        yield VoicePart((start, place), Voice.MATERIAL, Reason.ADDRESSED)
    if first is not None:
        yield VoicePart((0, len(view)), Voice.UNSURE, Reason.ADDRESSED)


def _tables(view: str) -> Iterator[VoicePart]:
    """Lines of tables, of HTML and of JSON."""
    for start, end in lines(view):
        if _TABLE_LINE.fullmatch(view, start, end):
            yield VoicePart((start, end), Voice.MATERIAL, Reason.TABLE)


def _between_rules(view: str) -> Iterator[VoicePart]:
    """Text between two rules (``---``)."""
    opened: int | None = None
    for start, end in lines(view):
        if not _RULE_LINE.fullmatch(view, start, end):
            continue
        if opened is not None:
            yield VoicePart((opened, end), Voice.MATERIAL, Reason.RULED)
        opened = start if opened is None else None


def _speaks_to_reader(said: str) -> bool:
    """Whether a sentence says "we" to its reader: another voice."""
    if said.endswith("?") or _SINGULAR.search(said) or _GIVES_TASK.match(said):
        return False
    return _PLURAL_TO_READER.search(said) is not None


def _is_about_others(said: str) -> bool:
    """Whether a sentence states something that is not about the user."""
    if said.endswith(("?", ":")) or len(said.split()) < _FEWEST_STATED_WORDS:
        return False
    if _SELF.search(said) or _STATES.search(said) or _GIVES_TASK.match(said):
        return False
    return not (_ON_TEXT.match(said) or _GREETING.match(said) or _THANK.match(said))


def _is_about_text(said: str) -> bool:
    """Whether a sentence gives a task on a text, or asks about one."""
    if _ABOUT_USER.search(said):
        return False
    if _GIVES_TASK.match(said) or (_FOREIGN.search(said) and not _STATES.match(said)):
        return True
    points = _POINTS.search(said) is not None
    if _ON_TEXT.match(said) and (points or _ABOUT_WRITING.search(said)) and not _LIFE.search(said):
        return True
    if not (said.endswith("?") or _QUESTION.match(said)):
        return False
    return bool(
        (points and not _LIFE.search(said))
        or _SUSPECTS.search(said)
        or (_ABOUT_WRITING.search(said) and not _STATES.match(said))
    )


def _asks_about_unnamed(said: str) -> bool:
    """Whether a question is about somebody or something unnamed, and not about the user."""
    last = said.rpartition(", ")[2]
    if _ON_TEXT.match(last) and _UNNAMED.search(last) and not _SELF.search(last):
        return True
    asks = said.endswith("?") or _QUESTION.match(said)
    return bool(
        asks and _UNNAMED.search(said) and not _SELF.search(said) and not _LIFE.search(said)
    )


def _announces(said: str, *, is_stopped: bool = False) -> bool:
    """Whether a line announces a text; one that ends in a full stop must point at it."""
    if _ABOUT_USER.search(said):
        return False
    noun = _TEXT_NOUN.search(said) is not None
    if _SHOWS.match(said) and (noun or _ANOTHER.search(said)):
        return True
    sent = _SAYING.search(said) is not None
    points = _POINTS.search(said) is not None
    if points and (sent or noun):
        return True
    if said.endswith(":"):
        return sent or points or noun
    return sent and not is_stopped and (noun or _ends_with_saying(said))


def _ends_with_saying(said: str) -> bool:
    """Whether the line ends with the verb: "the letter says"."""
    return any(len(said) - found.end() <= 3 for found in _SAYING.finditer(said))


def _is_own_lead(said: str) -> bool:
    """Whether a line introduces the user's own words: "A bit about me:"."""
    return said.endswith(":") and _OWN.search(said) is not None
