"""How a memory must be written: checks and corrections of a candidate's content.

A memory is read years later, by a model that knows nothing of the conversation. So it must say by
itself who did what, in a sentence or two, in the user's own language.
"""

import re
from collections.abc import Callable
from typing import Final

from ricordo.formation.candidate import Candidate
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import occurrence
from ricordo.formation.injected import has_attack
from ricordo.formation.resources import pattern, words
from ricordo.formation.screening import instructs
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_FORMED_CHARS, MAX_FORMED_SENTENCES
from ricordo.model.vocabulary import MemoryType
from ricordo.text.dates import named_times
from ricordo.text.languages import guess
from ricordo.text.normalise import is_dense, is_hangul
from ricordo.text.secrets import has_secret
from ricordo.text.spans import plain_view, sentences

_RELATIVE = pattern("writing_rules", "relative")
_DATED_IN_JAPANESE = re.compile("[0-9]{4}年|[0-9]{1,2}月[0-9]{1,2}日")

_PLANNED = pattern("writing_rules", "planned")
_PAST = pattern("writing_rules", "past tense")
_PRESENT = pattern("writing_rules", "present tense")

LABEL: Final = pattern("writing_rules", "label", re.IGNORECASE)
BULLET: Final = re.compile(r"(?:[-*•‣▪+–—]|\(?[0-9]{1,2}[.)])\s+")
JAPANESE_PERSONS: Final = re.compile(
    r"私(?![立服鉄物費有生的])|僕(?<!下僕)(?<!公僕)|俺|あなた|貴方"
)
JAPANESE_POINTERS: Final = re.compile(
    r"(?:ユーザーは)?(?:彼女?[はがのも]|彼ら|それ|これ|あれ|そこ[にでは]|ここ[にでは]|あそこ)"
)
POINTING_END: Final = pattern("writing_rules", "pointing end")
POINTING_INSIDE: Final = pattern("writing_rules", "pointing inside")
MAX_WORDS_WITH_POINTING_END: Final = 5

NOT_NEUTRAL: Final = pattern("writing_rules", "not neutral")
HYPE: Final = pattern("writing_rules", "hype", re.IGNORECASE)

PLACEHOLDER: Final = pattern("writing_rules", "placeholder")

ABOUT_THE_CONVERSATION: Final = pattern("writing_rules", "about the conversation")
ASSISTANT_FIRST: Final = pattern("writing_rules", "assistant first")
ADDRESSES_THE_MODEL: Final = pattern("writing_rules", "addresses the model")

_QUOTATION = pattern("writing_rules", "quotation")
_QUOTE_PART = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MARKUP = pattern("writing_rules", "markup")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_NUMBERED = re.compile(r"(?:^|\s)1[.)]\s.{1,600}?\s2[.)]\s", re.DOTALL)
_STEP = re.compile(r"(?:^|\s)(?P<number>[0-9]{1,2})[.)]\s+(?=\S)")
_NOT_AN_ORDER = pattern("writing_rules", "not an order", re.IGNORECASE)
_ROMAN_ONE = re.compile(r"(?:[A-Z][\w.]+|\b(?:type|phase|part|level|class|war|volume))\s+$")
_JAPANESE_QUESTIONS: Final = ("ですか", "ますか", "でしょうか")
_GERMAN_YOU = re.compile(r"[a-zäöü,] (?:Sie|Ihnen|Ihre?[nmrs]?)\b")
_MIN_STEPS: Final = 2
_MIN_WORDS: Final = 2
_MIN_DENSE_CHARS: Final = 4
_MIN_SHOUTED_LETTERS: Final = 12

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


# Only a user can want something; a tool result can only be a fact.
_WISHES: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PREFERENCE, MemoryType.PROCEDURE})
_LISTED_LINES = re.compile(r"(?:^|\n)[ \t]*(?:[-*•+]|[0-9]{1,2}[.)])[ \t]")
# Longer contents are rejected unread, to bound the time.
_MAX_CHECKED_CHARS: Final = 8_000


def has_dangling_time(text: str) -> bool:
    """Whether a text has a relative date ("tomorrow") and no absolute one."""
    if not _RELATIVE.search(text.lower()):
        return False
    return named_times(text) is None and not _DATED_IN_JAPANESE.search(text)


# Patterns are for text in lower case without quotations, unless a comment says otherwise.


# By language: pronouns of the first and second person.
PERSONS: Final = {code: words("writing_rules", f"persons {code}") for code in ("en", "id", "de")}
# The unambiguous ones, for texts of unknown language.
SURE_PERSONS: Final = words("writing_rules", "sure persons")

# At the start of a content they refer to something that is not there.
POINTERS: Final = {code: words("writing_rules", f"pointers {code}") for code in ("en", "id", "de")}
# The unambiguous ones; not "es", "er", "sie", "die", "hal", "sein" and the like.
SURE_POINTERS: Final = words("writing_rules", "sure pointers")


@dataclass(frozen=True, slots=True)
class Written:
    """A tidy content and the forms of it that rules check."""

    content: str
    type: MemoryType

    @property
    def bare(self) -> str:
        """Without quotations."""
        return _QUOTATION.sub(' "" ', self.content)

    @property
    def small(self) -> str:
        """Bare, in lower case, with plain apostrophes."""
        return self.bare.lower().replace("’", "'").strip()


Rule = Callable[[Written], bool]


def _is_not_empty(written: Written) -> bool:
    dense = sum(letter.isalnum() and is_dense(letter) for letter in written.content)
    return dense >= _MIN_DENSE_CHARS or len(re.findall(r"\w+", written.content)) >= _MIN_WORDS


def _is_short(written: Written) -> bool:
    if len(written.content) > MAX_FORMED_CHARS:
        return False
    is_procedure = written.type is MemoryType.PROCEDURE
    return is_procedure or len(sentences(written.content)) <= MAX_FORMED_SENTENCES


def _does_not_address_the_model(written: Written) -> bool:
    if has_attack(plain_view(written.content).text):
        return False
    return ADDRESSES_THE_MODEL.search(written.small) is None


def _is_plain_text(written: Written) -> bool:
    """No markup or code, and not only an address."""
    if _MARKUP.search(written.content):
        return False
    rest, addresses = _ADDRESS.subn(" ", written.content)
    return not addresses or len(_QUOTE_PART.findall(rest)) >= _MIN_WORDS or any(map(is_dense, rest))


def _has_no_placeholder(written: Written) -> bool:
    return PLACEHOLDER.search(written.content.lower()) is None


def _is_a_statement(written: Written) -> bool:
    has_mark = any(mark in written.bare for mark in "?？")
    return not has_mark and not written.bare.rstrip("。. ").endswith(_JAPANESE_QUESTIONS)


def _is_neutral(written: Written) -> bool:
    letters = [letter for letter in written.content if letter.isalpha()]
    cased = [letter for letter in letters if letter.isupper() or letter.islower()]
    is_shouted = len(cased) >= _MIN_SHOUTED_LETTERS and all(map(str.isupper, cased))
    return not is_shouted and NOT_NEUTRAL.search(written.small) is None


def has_steps(content: str) -> bool:
    """Numbered in order, each saying what to do, with nothing beside them but a title."""
    marks = list(_STEP.finditer(content))
    if [int(mark["number"]) for mark in marks] != list(range(1, max(len(marks), _MIN_STEPS) + 1)):
        return False
    title = content[: marks[0].start()].strip()
    if title and not title.endswith((":", "：")):
        return False
    return not any(_NOT_AN_ORDER.match(content, mark.end()) for mark in marks)


def _has_steps(written: Written) -> bool:
    return written.type is not MemoryType.PROCEDURE or has_steps(written.content)


def _is_in_the_third_person(written: Written) -> bool:
    bare = written.bare.replace("’", "'")
    language = guess(bare)
    if JAPANESE_PERSONS.search(bare) or (language == "de" and _GERMAN_YOU.search(bare)):
        return False
    persons = PERSONS.get(language or "", SURE_PERSONS)
    return not any(
        found.group().lower() in persons and not _is_a_name(found.group(), bare[: found.start()])
        for found in _QUOTE_PART.finditer(bare)
    )


def _is_a_name(word: str, before: str) -> bool:
    """The US, Henry I, the song My Way: a capital that the start of a sentence does not explain."""
    if word == "I":
        return _ROMAN_ONE.search(before) is not None
    starts_sentence = not before.strip(" \"'") or before.rstrip(" \"'").endswith((".", ":", "。"))
    return word[0].isupper() and "'" not in word and not starts_sentence


def _refers_to_something(written: Written) -> bool:
    small = written.small
    if JAPANESE_POINTERS.match(small) or POINTING_INSIDE.search(small):
        return False
    if not (found := _QUOTE_PART.findall(small)):
        return True
    first = next(iter(sentences(small)), "")
    few_words = len(_QUOTE_PART.findall(first)) <= MAX_WORDS_WITH_POINTING_END
    points_at_end = few_words and POINTING_END.search(first) is not None
    return not points_at_end and not _starts_with_a_pointer(written, found)


def _starts_with_a_pointer(written: Written, found: list[str]) -> bool:
    first = next(iter(_QUOTE_PART.findall(written.bare)), "")
    if first.isupper() and len(first) > 1 and not written.content.isupper():
        return False  # IT, not it
    pointers = SURE_POINTERS
    if language := guess(written.bare):
        pointers = POINTERS.get(language, pointers)
    return found[0] in pointers


def _is_about_the_user(written: Written) -> bool:
    """Not of the conversation, and not of the assistant but in an instruction."""
    if ABOUT_THE_CONVERSATION.search(written.small):
        return False
    is_instruction = written.type is MemoryType.INSTRUCTION
    return is_instruction or ASSISTANT_FIRST.search(written.small) is None


def _happened(written: Written) -> bool:
    """An episode is not clearly in the present: it is past or planned."""
    if written.type is not MemoryType.EPISODE:
        return True
    is_other_time = _PAST.search(written.small) or _PLANNED.search(written.small)
    return is_other_time is not None or _PRESENT.search(written.small) is None


def _has_no_dangling_time(written: Written) -> bool:
    lasting = written.type in (MemoryType.FACT, MemoryType.PREFERENCE)
    return not (lasting and has_dangling_time(written.bare))


RULES: Final[tuple[tuple[RejectionCode, Rule, str], ...]] = (
    (RejectionCode.EMPTY, _is_not_empty, "no statement is left"),
    (RejectionCode.TOO_LONG, _is_short, "too long, without a sentence end to cut at"),
    (
        RejectionCode.SECRET,
        lambda it: not has_secret(plain_view(it.content).text),
        "holds a secret",
    ),
    (RejectionCode.ADDRESSES_THE_MODEL, _does_not_address_the_model, "speaks to the model"),
    (RejectionCode.MARKUP, _is_plain_text, "markup, code or only an address"),
    (RejectionCode.PLACEHOLDER, _has_no_placeholder, "says that something is not known"),
    (RejectionCode.QUESTION, _is_a_statement, "a question"),
    (RejectionCode.NOT_NEUTRAL, _is_neutral, "an exclamation, or all in capitals"),
    (RejectionCode.NOT_STEPS, _has_steps, "a procedure that is not made of numbered orders"),
    (RejectionCode.ABOUT_THE_CONVERSATION, _is_about_the_user, "tells not of the user"),
    (RejectionCode.NOT_THIRD_PERSON, _is_in_the_third_person, "the first or second person"),
    (RejectionCode.NO_REFERENT, _refers_to_something, "points to something that is not there"),
    (RejectionCode.NOT_PAST, _happened, "an episode in the present tense"),
    (RejectionCode.DANGLING_TIME, _has_no_dangling_time, "a time that only its speaker knew"),
)
"""Each with what is wrong where it does not hold."""

# The user's own words are in the first person and may name a day as they said it.
_OWN_WORDS: Final = frozenset(
    {
        RejectionCode.NOT_THIRD_PERSON,
        RejectionCode.NO_REFERENT,
        RejectionCode.NOT_PAST,
        RejectionCode.DANGLING_TIME,
    }
)


def tidied(content: str, *, keep_lines: bool) -> str:
    """Without bullets, labels, enclosing quotation marks, emoji, exclamation marks and double
    spaces.

    Ends with a full stop, and is cut to two sentences and 280 characters if whole sentences fit; a
    text that cannot be cut is returned too long. Tidy text is returned as it is. ``keep_lines``:
    for procedures, which keep their lines and numbers and are not cut.
    """
    for _ in range(_MAX_ROUNDS):
        once = _round(content, keep_lines=keep_lines)
        if once == content:
            return content
        content = once
    return ""  # no person would write this


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
        is_wrapped = len(text) > 2 and (text[0], text[-1]) == (opening, closing)
        if is_wrapped and opening not in inside and closing not in inside:
            return inside.strip()
    return text


def _stopped(text: str) -> str:
    bare = text.rstrip(_CLOSING)
    if text.endswith(_ENDED) or bare.endswith(_ENDED):
        return text
    bare = text.rstrip(",;:、 -–—")
    if not bare:
        return text
    return bare + ("。" if is_dense(bare[-1]) and not is_hangul(bare[-1]) else ".")


def _cut(text: str) -> str:
    """The first sentences that fit; the whole text if not even the first does."""
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


def validated(candidate: Candidate) -> Candidate | Rejection:
    """The candidate with its content corrected, or what is wrong with it. Never raises.

    A valid candidate is returned unchanged.
    """
    given = candidate.content
    if len(given) > _MAX_CHECKED_CHARS:
        return Rejection(RejectionCode.TOO_LONG, f"{len(given)} characters")
    is_procedure = candidate.type is MemoryType.PROCEDURE
    if not is_procedure and (_NUMBERED.search(given) or len(_LISTED_LINES.findall(given)) > 1):
        return Rejection(RejectionCode.NUMBERED, "a list")
    if HYPE.search(given):
        return Rejection(RejectionCode.NOT_NEUTRAL, "an exclamation")
    if found := _of_source(candidate):
        return found
    content = tidied(given, keep_lines=is_procedure)
    written = Written(content, candidate.type)
    for code, holds, problem in RULES:
        if not (candidate.is_in_own_words and code in _OWN_WORDS) and not holds(written):
            return Rejection(code, problem)
    return _other_language(candidate, content) or replace(candidate, content=content)


def _of_source(candidate: Candidate) -> Rejection | None:
    passage = candidate.passage
    if occurrence(candidate.quote, passage.text) is None:
        return Rejection(RejectionCode.NO_EVIDENCE, "the quote is not in the passage")
    if passage.is_from_user:
        return None
    if candidate.type in _WISHES or candidate.is_explicit:
        return Rejection(RejectionCode.FROM_A_TOOL, f"a tool cannot give a {candidate.type.value}")
    is_order = instructs(candidate.content) or instructs(candidate.quote)
    return Rejection(RejectionCode.FROM_A_TOOL, "a tool cannot give orders") if is_order else None


def _other_language(candidate: Candidate, content: str) -> Rejection | None:
    """Only if both languages are certain. A tool's language says nothing about the user's."""
    if not candidate.passage.is_from_user:
        return None
    written = guess(content)
    said = guess(candidate.quote) or guess(candidate.passage.text)
    if written and said and written != said:
        return Rejection(RejectionCode.OTHER_LANGUAGE, f"written in {written}, said in {said}")
    return None
