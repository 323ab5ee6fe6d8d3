"""How a memory must be written: checks and corrections of a candidate's content.

A memory is read years later, by a model that knows nothing of the conversation. So it must say by
itself who did what, in a sentence or two, in the user's own language.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ricordo.formation.candidate import Candidate
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import occurrence
from ricordo.formation.injected import has_attack
from ricordo.formation.words import pattern, words
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
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MARKUP = pattern("writing_rules", "markup")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_NUMBERED = re.compile(r"(?:^|\s)1[.)]\s.{1,600}?\s2[.)]\s", re.DOTALL)
_STEP = re.compile(r"(?:^|\s)(?P<number>[0-9]{1,2})[.)]\s+(?=\S)")
_NOT_AN_ORDER = pattern("writing_rules", "not an order", re.IGNORECASE)
_ROMAN_ONE = re.compile(r"(?:[A-Z][\w.]+|\b(?:type|phase|part|level|class|war|volume))\s+$")
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


def is_present_tense(small: str) -> bool:
    """Whether a text in lower case clearly describes the present: neither past nor planned."""
    if _PAST.search(small) or _PLANNED.search(small):
        return False
    return _PRESENT.search(small) is not None


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


Rule = Callable[[Written], str | None]
"""Returns what is wrong, or None."""


def is_numbered(content: str) -> bool:
    """Whether a content has numbered parts: 1., 2. and so on."""
    return _NUMBERED.search(content) is not None


def _is_not_empty(written: Written) -> str | None:
    letters = [letter for letter in written.content if letter.isalnum()]
    dense = sum(map(is_dense, letters))
    enough = dense >= _MIN_DENSE_CHARS or len(re.findall(r"\w+", written.content)) >= _MIN_WORDS
    return None if enough else "no statement is left"


def _is_short(written: Written) -> str | None:
    if len(written.content) > MAX_FORMED_CHARS:
        return f"{len(written.content)} characters without a sentence end to cut at"
    if written.type is MemoryType.PROCEDURE:
        return None
    count = len(sentences(written.content))
    return None if count <= MAX_FORMED_SENTENCES else f"{count} sentences"


def _has_no_secret(written: Written) -> str | None:
    return "holds a secret" if has_secret(plain_view(written.content).text) else None


def _does_not_address_the_model(written: Written) -> str | None:
    view = plain_view(written.content).text
    found = has_attack(view) or ADDRESSES_THE_MODEL.search(written.small)
    return "speaks to the model" if found else None


def _is_plain_text(written: Written) -> str | None:
    if _MARKUP.search(written.content):
        return "markup or code"
    rest, addresses = _ADDRESS.subn(" ", written.content)
    if addresses and len(_WORD.findall(rest)) < _MIN_WORDS and not any(map(is_dense, rest)):
        return "only an address"
    return None


def _has_no_placeholder(written: Written) -> str | None:
    found = PLACEHOLDER.search(written.content.lower())
    return "a placeholder, or says that something is not known" if found else None


def _is_a_statement(written: Written) -> str | None:
    is_question = any(mark in written.bare for mark in "?？") or written.bare.rstrip(
        "。. "
    ).endswith(("ですか", "ますか", "でしょうか"))
    return "a question" if is_question else None


def _is_neutral(written: Written) -> str | None:
    if NOT_NEUTRAL.search(written.small):
        return "an exclamation"
    letters = [letter for letter in written.content if letter.isalpha()]
    cased = [letter for letter in letters if letter.isupper() or letter.islower()]
    if len(cased) >= _MIN_SHOUTED_LETTERS and all(map(str.isupper, cased)):
        return "all in capitals"
    return None


def _has_steps(written: Written) -> str | None:
    if written.type is not MemoryType.PROCEDURE:
        return None
    marks = list(_STEP.finditer(written.content))
    if len(marks) < _MIN_STEPS:
        return "a procedure without numbered steps"
    if [int(mark["number"]) for mark in marks] != list(range(1, len(marks) + 1)):
        return "steps that are not numbered in order"
    title = written.content[: marks[0].start()].strip()
    if title and not title.endswith((":", "：")):
        return "text beside the steps"
    if any(_NOT_AN_ORDER.match(written.content, mark.end()) for mark in marks):
        return "a step that tells instead of saying what to do"
    return None


def _is_in_the_third_person(written: Written) -> str | None:
    bare = written.bare.replace("’", "'")
    if JAPANESE_PERSONS.search(bare):
        return "the first or second person"
    language = guess(bare)
    persons = PERSONS.get(language, SURE_PERSONS) if language else SURE_PERSONS
    for found in _WORD.finditer(bare):
        word, before = found.group(), bare[: found.start()]
        if word.lower() in persons and not _is_a_name(word, before):
            return "the first or second person"
    if language == "de" and re.search(r"[a-zäöü,] (?:Sie|Ihnen|Ihre?[nmrs]?)\b", bare):
        return "the second person"
    return None


def _is_a_name(word: str, before: str) -> bool:
    """The US, Henry I, the song My Way: a capital that the start of a sentence does not explain."""
    if word == "I":
        return _ROMAN_ONE.search(before) is not None
    starts_sentence = not before.strip(" \"'") or before.rstrip(" \"'").endswith((".", ":", "。"))
    return word[0].isupper() and "'" not in word and not starts_sentence


def _refers_to_something(written: Written) -> str | None:
    small = written.small
    if JAPANESE_POINTERS.match(small) or POINTING_INSIDE.search(small):
        return "points to something that is not there"
    found = _WORD.findall(small)
    if not found:
        return None
    if _starts_with_a_pointer(written, found):
        return "begins with a word that points to nothing"
    first = next(iter(sentences(small)), "")
    few_words = len(_WORD.findall(first)) <= MAX_WORDS_WITH_POINTING_END
    if few_words and POINTING_END.search(first):
        return "points to something that is not there"
    return None


def _starts_with_a_pointer(written: Written, found: list[str]) -> bool:
    first = next(iter(_WORD.findall(written.bare)), "")
    if first.isupper() and len(first) > 1 and not written.content.isupper():
        return False  # IT, not it
    pointers = SURE_POINTERS
    if language := guess(written.bare):
        pointers = POINTERS.get(language, pointers)
    return found[0] in pointers


def _is_about_the_user(written: Written) -> str | None:
    if ABOUT_THE_CONVERSATION.search(written.small):
        return "tells of the conversation, not of the user"
    if written.type is MemoryType.INSTRUCTION:
        return None
    return "tells of the assistant" if ASSISTANT_FIRST.search(written.small) else None


def _happened(written: Written) -> str | None:
    if written.type is MemoryType.EPISODE and is_present_tense(written.small):
        return "an episode in the present tense"
    return None


def _has_no_dangling_time(written: Written) -> str | None:
    lasting = written.type in (MemoryType.FACT, MemoryType.PREFERENCE)
    return (
        "a time that only its speaker knew" if lasting and has_dangling_time(written.bare) else None
    )


RULES: Final[tuple[tuple[RejectionCode, Rule], ...]] = (
    (RejectionCode.EMPTY, _is_not_empty),
    (RejectionCode.TOO_LONG, _is_short),
    (RejectionCode.SECRET, _has_no_secret),
    (RejectionCode.ADDRESSES_THE_MODEL, _does_not_address_the_model),
    (RejectionCode.MARKUP, _is_plain_text),
    (RejectionCode.PLACEHOLDER, _has_no_placeholder),
    (RejectionCode.QUESTION, _is_a_statement),
    (RejectionCode.NOT_NEUTRAL, _is_neutral),
    (RejectionCode.NOT_STEPS, _has_steps),
    (RejectionCode.ABOUT_THE_CONVERSATION, _is_about_the_user),
    (RejectionCode.NOT_THIRD_PERSON, _is_in_the_third_person),
    (RejectionCode.NO_REFERENT, _refers_to_something),
    (RejectionCode.NOT_PAST, _happened),
    (RejectionCode.DANGLING_TIME, _has_no_dangling_time),
)


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
    if not is_procedure and (is_numbered(given) or len(_LISTED_LINES.findall(given)) > 1):
        return Rejection(RejectionCode.NUMBERED, "a list")
    if HYPE.search(given):
        return Rejection(RejectionCode.NOT_NEUTRAL, "an exclamation")
    if found := _of_source(candidate):
        return found
    content = tidied(given, keep_lines=is_procedure)
    written = Written(content, candidate.type)
    for code, rule in RULES:
        if candidate.is_in_own_words and code in _OWN_WORDS:
            continue
        if problem := rule(written):
            return Rejection(code, problem)
    return _other_language(candidate, content) or replace(candidate, content=content)


def _of_source(candidate: Candidate) -> Rejection | None:
    passage = candidate.passage
    if occurrence(candidate.quote, passage.text) is None:
        return Rejection(RejectionCode.NO_EVIDENCE, "the quote is not in the passage")
    if not passage.is_from_user and (candidate.type in _WISHES or candidate.is_explicit):
        return Rejection(RejectionCode.FROM_A_TOOL, f"a tool cannot give a {candidate.type.value}")
    return None


def _other_language(candidate: Candidate, content: str) -> Rejection | None:
    """Only if both languages are certain. A tool's language says nothing about the user's."""
    if not candidate.passage.is_from_user:
        return None
    written = guess(content)
    said = guess(candidate.quote) or guess(candidate.passage.text)
    if written and said and written != said:
        return Rejection(RejectionCode.OTHER_LANGUAGE, f"written in {written}, said in {said}")
    return None
