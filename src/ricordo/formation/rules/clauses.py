"""Sentences and clauses of a passage, and whether what they say is said in earnest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.rule import BASE_FORMS
from ricordo.formation.words import alternatives, pattern, words

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

BLANKED: Final = "\ufffc"  # replaces a quotation inside a sentence
_LONG_PASSAGE_CHARS: Final = 4_000  # a longer passage is mostly pasted
_OPENING_CHARS: Final = 1_000  # of such a passage the user probably typed
_SENTENCES_IN_A_LIST: Final = 2

_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)")
_MARKED_LINE = re.compile(r"^[ \t]*(?:>|\||#{1,6} |//|\$ |<[a-z/!])|^(?: {4,}|\t)\S", re.IGNORECASE)
_LIST_LINE = re.compile(r"^[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)]|[a-z][.)])[ \t]+\S", re.IGNORECASE)
_OWN_LIST = pattern("clauses", "own list", re.IGNORECASE)
_QUOTATIONS: Final = (
    re.compile(r"`[^`\n]{1,400}`"),
    re.compile(r"\"[^\"\n]{0,400}\""),
    re.compile(r"“[^”\n]{0,400}”"),
    re.compile(r"„[^“”\n]{0,400}[“”]"),
    re.compile(r"«[^»\n]{0,400}»"),
    re.compile(r"(?<!\w)‘[^‘\n]{2,400}?’(?!\w)"),
    re.compile(r"(?<!\w)'(?=\S)[^'\n]{1,30}(?:'\w[^'\n]{0,60}){0,6}(?<=\S)'(?!\w)"),
    re.compile(r"\*[^*\n]{2,200}\*(?=\s|$)"),
    re.compile(r"[\"“«„][^\n]*"),  # not closed
)

MAX_SENTENCE_CHARS: Final = 400
MAX_SENTENCES: Final = 500
_WRAPPED_LINE_CHARS: Final = 60  # a longer line without a full stop is wrapped

_BREAK = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[;\n]|(?<=[a-z\d])[!?]+(?=[A-Z])")
_ABBREVIATION = pattern("clauses", "abbreviation", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:(?:[-*•–+]|\(?\d{1,3}[.)])\s+)?")

MAX_CLAUSES: Final = 12

_INDONESIAN_VERBS: Final = words("rules", "indonesian verbs")
_VERB = "|".join(sorted(BASE_FORMS | {"am", "do", "don't", "dont", "can't"} | _INDONESIAN_VERBS))

_GAP: Final = alternatives("clauses", "gap")
_PAUSE: Final = rf"(?:{_GAP},\s++|(?<!\s)\s++)"
_BORDER = pattern("clauses", "border", re.IGNORECASE, pause=_PAUSE, verb=_VERB)
# "My favourite band is Queen, anything similar?": the question is after the last comma.
_ASKED_LAST = re.compile(r"\s*,\s*(?=[^,]+ [^,]+$)(?!(?:and|or|dan|atau)\b|[^,]* (?:and|dan) )")
_FIRST_PERSON = pattern("clauses", "first person", re.IGNORECASE)

# "I have a cat called Pip, likes to bite": the cat does.
_NAMES_ANOTHER = re.compile(r"\b(?:namanya|bernama|called|named)\b", re.IGNORECASE)
# "My wife and I": one subject, not two clauses.
_ONE_OF_TWO = re.compile(r"(?:[\w'’]+,? ){0,2}my [\w-]+", re.IGNORECASE)
_AND_I = re.compile(r"\s+and\s+(?:i|me)\s", re.IGNORECASE)
_INDONESIAN_SELF: Final = frozenset(("saya", "aku", "gue", "gw", "gua", "namaku", "sy"))

_BEFORE = pattern("clauses", "before", re.IGNORECASE)
_INSIDE = pattern("clauses", "inside", re.IGNORECASE, blanked=BLANKED)
_AFTER = pattern("clauses", "after", re.IGNORECASE)
_TAG = pattern("clauses", "tag", re.IGNORECASE)
_CONFIRMS = pattern("clauses", "confirms", re.IGNORECASE)
_ASKING = pattern("clauses", "asking", re.IGNORECASE)
_INTRODUCTION = pattern("clauses", "introduction", re.IGNORECASE)
_HELPFUL_TAIL = pattern("clauses", "helpful tail", re.IGNORECASE)


def starts_role_play(text: str) -> bool:
    """Whether a role play starts that goes on in the following turns."""
    return bool(_SCENE.search(text[:_SCENE_CHARS]))


def ends_role_play(text: str) -> bool:
    return bool(_SCENE_OVER.search(text[:_SCENE_CHARS]))


def _without_given_text(text: str) -> str:
    """The text with the material of a task blanked out, of the same length.

    Everything from the task on is material; the text before it stays, unless the task refers back
    to it ("translate the above") or is a role play. Nothing stays of a passage that tries to
    control the assistant, or takes back what it says.
    """
    if any(reason.search(text) for reason in (_INJECTION, _TAKEN_BACK, _PLAYED_ROLE)):
        return _blank(text)
    tasks = [found for found in (_GIVEN_TEXT.search(text), _MADE_TEXT.search(text)) if found]
    if not tasks:
        return text
    place = min(found.start() for found in tasks)
    start = max(0, place - _REACH_CHARS)
    for stop in _END_OF_SENTENCE.finditer(text, start, place):
        start = stop.end()
    task = text[start : start + _REACH_CHARS]
    end = _END_OF_SENTENCE.search(task, place - start)
    own_sentence = task[: end.start()] if end else task
    if ":" not in own_sentence and _LOOKING_BACK.search(own_sentence):
        return _blank(text)
    return text[:start] + _blank(text[start:])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def screened(text: str) -> str:
    """The text with everything blanked out that is not in the user's own voice.

    As long as the passage, so that positions are the same.
    """
    own = _without_given_text(text)
    if not own.strip():
        return own
    if len(text) > _LONG_PASSAGE_CHARS:
        end = max(0, text.find("\n\n", 0, _OPENING_CHARS))
        own = own[:end] + _blank(own[end:])
    own = _without_marked_lines(own)
    for quotation in _QUOTATIONS:
        own = quotation.sub(lambda found: BLANKED * len(found.group()), own)
    return own


def _without_marked_lines(text: str) -> str:
    """Without code, block quotes, tables, headings and lists of sentences."""
    lines = text.split("\n")
    keep = [True] * len(lines)
    in_fence = False
    for number, line in enumerate(lines):
        fence = bool(_FENCE.match(line))
        keep[number] = not (in_fence or fence or _MARKED_LINE.match(line))
        in_fence ^= fence
    _drop_lists(lines, keep)
    return "\n".join(
        line if kept else " " * len(line) for line, kept in zip(lines, keep, strict=True)
    )


def _drop_lists(lines: list[str], keep: list[bool]) -> None:
    """Drop lists, which are mostly material, unless introduced as being about the user."""
    introduction = ""
    run: list[int] = []
    for number, line in enumerate([*lines, "end"]):
        if number < len(lines) and _LIST_LINE.match(line):
            run.append(number)
            continue
        if not line.strip() and number < len(lines):
            continue
        if len(run) >= _SENTENCES_IN_A_LIST and not _OWN_LIST.search(introduction):
            for item in run:
                keep[item] = False
        introduction, run = line[:400], []


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of the passage; ``ending`` is its punctuation, if any."""

    text: str
    start: int
    ending: str

    @property
    def end(self) -> int:
        """The end in the passage, without the punctuation."""
        return self.start + len(self.text)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text. Over-long ones are left out: they are hardly chat."""
    found = []
    for start, end, ending in _pieces(text):
        bullet = _BULLET.match(text, start, end)
        body_start = bullet.end() if bullet else start
        body = text[body_start:end].rstrip()
        if body and len(body) <= MAX_SENTENCE_CHARS:
            found.append(Sentence(body, body_start, ending))
            if len(found) == MAX_SENTENCES:
                break
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for sign in _BREAK.finditer(text):
        if sign.group() == "." and _ABBREVIATION.search(
            text[max(start, sign.start() - 12) : sign.start()]
        ):
            continue
        if sign.group() == "\n" and _goes_on(text, start, sign.start()):
            continue
        yield start, sign.start(), sign.group().strip()
        start = sign.end()
    yield start, len(text), ""


def _goes_on(text: str, start: int, line_end: int) -> bool:
    """Whether a line break only wraps a long line."""
    line_start = max(start, text.rfind("\n", start, line_end) + 1)
    following = text[line_end + 1 : line_end + 2]
    return (
        line_end - line_start >= _WRAPPED_LINE_CHARS
        and following.isalnum()
        and BLANKED not in text[line_start:line_end]
    )


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence with its position in the passage.

    ``subject`` is carried over from the clause before it: "I live here and *work there*".
    """

    text: str
    start: int
    before: str
    after: str
    subject: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def full(self) -> str:
        return f"{self.subject} {self.text}" if self.subject else self.text


def clauses(sentence: Sentence) -> list[Clause]:
    found: list[Clause] = []
    start = 0
    shares = False
    borders = [
        (border.start(), border.end(), bool(border["shared"]))
        for border in _BORDER.finditer(sentence.text)
    ]
    comma = sentence.text.rfind(",") if "?" in sentence.ending else -1
    asked = _ASKED_LAST.match(sentence.text, comma) if comma > 0 else None
    if asked and all(asked.start() >= high for _, high, _ in borders):
        borders.append((asked.start(), asked.end(), False))
    for low, high, next_shares in [*borders, (len(sentence.text), len(sentence.text), False)]:
        text = sentence.text[start:low].strip(" \t,")
        if _ONE_OF_TWO.fullmatch(text) and _AND_I.match(sentence.text, low):
            continue
        if text:
            place = start + sentence.text[start:low].index(text[0])
            found.append(_clause(sentence, text, place, found[-1] if shares and found else None))
        start, shares = high, next_shares
        if len(found) == MAX_CLAUSES:
            break
    return found


def _clause(sentence: Sentence, text: str, place: int, sharing: Clause | None) -> Clause:
    subject = ""
    if sharing:
        first = _FIRST_PERSON.match(sharing.full)
        if first and not _NAMES_ANOTHER.search(sharing.text):
            subject = "saya" if first[1].lower() in _INDONESIAN_SELF else "I"
    return Clause(
        text=text,
        start=sentence.start + place,
        before=sentence.text[:place],
        after=sentence.text[place + len(text) :],
        subject=subject,
    )


def without_helpful_tail(text: str) -> str:
    """Without "if that helps"."""
    return _HELPFUL_TAIL.sub("", text)


def may_be_source(sentence: Sentence, clause: Clause) -> bool:
    """Whether the user says this clause themselves, about the present, and in earnest.

    Negations are not judged here: a rule says which of them it reads.
    """
    own = without_helpful_tail(clause.text)
    after = without_helpful_tail(clause.after)
    return not (
        _INSIDE.search(own)
        or _TAG.search(own)
        or _AFTER.search(after)
        or _is_asked(sentence, clause)
        or is_not_in_earnest(clause.before)
    )


def _is_asked(sentence: Sentence, clause: Clause) -> bool:
    """A question, unless a statement leads to one: "I live in Bekasi, where can I swim?"."""
    if "?" in clause.after[:3]:
        return True
    if "?" not in sentence.ending:
        return False
    return bool(_CONFIRMS.fullmatch(clause.after)) or bool(_ASKING.match(clause.before))


def is_not_in_earnest(before: str) -> bool:
    """Whether the text before a clause makes it a report, a guess or somebody else's line."""
    if ":" in before:
        introduction, _, before = before.rpartition(":")
        if not _INTRODUCTION.fullmatch(introduction):
            return True
    return bool(_BEFORE.search(before))
