"""The rules for what a formed memory says, each a function of a tidy content.

Every rule says in a few words what is wrong, or nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ricordo.formation.cleaning.plain_view import plain_view
from ricordo.formation.cleaning.prompt_attacks import has_attack
from ricordo.formation.cleaning.text_spans import sentences
from ricordo.formation.writing import writing_words as words
from ricordo.formation.writing.rejection import RejectionCode
from ricordo.formation.writing.telling_time import hangs_in_time, is_told_as_present
from ricordo.limits import MAX_FORMED_CHARS, MAX_FORMED_SENTENCES
from ricordo.model.vocabulary import MemoryType
from ricordo.text.folding import is_dense
from ricordo.text.languages import guess
from ricordo.text.secrets import has_secret

_QUOTATION = re.compile(
    r"\"[^\"]{0,300}\"|“[^”]{0,300}”|„[^“”]{0,300}[“”]|«[^»]{0,300}»|「[^」]{0,300}」"
    r"|『[^』]{0,300}』|(?<![^\s(])['‘][^'’\n]{1,300}['’](?![\w])"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MARKUP = re.compile(
    r"</?[a-zA-Z][^>]{0,200}>|```|\]\(|^#{1,6} |\|\s*-{3}|^\s*[{\[].{0,300}[}\]]\.?$|\w\(\)|=>"
    r"|==|&&"
    r"|\b(?:def|class|import|return|const|var|function|SELECT|INSERT)\b.{0,80}[;{(=]|;\s*$"
)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_NUMBERED = re.compile(r"(?:^|\s)1[.)]\s.{1,600}?\s2[.)]\s", re.DOTALL)
_STEP = re.compile(r"(?:^|\s)(?P<number>[0-9]{1,2})[.)]\s+(?=\S)")
_NOT_AN_ORDER = re.compile(
    r"(?:the|a|an|user|users?'s|i|he|she|it|they|we|you|pengguna|dia|saya|nutzer|der|die|das|er|sie"
    r"|ich)\b|ユーザー|彼|私",
    re.IGNORECASE,
)
_ROMAN_ONE = re.compile(r"(?:[A-Z][\w.]+|\b(?:type|phase|part|level|class|war|volume))\s+$")
_MIN_STEPS: Final = 2
_MIN_WORDS: Final = 2
_MIN_DENSE_CHARS: Final = 4
_MIN_SHOUTED_LETTERS: Final = 12


@dataclass(frozen=True, slots=True)
class Written:
    """A tidy content and the forms of it that rules look at."""

    content: str
    type: MemoryType

    @property
    def bare(self) -> str:
        """Without quotations, whose words are somebody's own."""
        return _QUOTATION.sub(' "" ', self.content)

    @property
    def small(self) -> str:
        """Bare, in small letters, with plain apostrophes."""
        return self.bare.lower().replace("’", "'").strip()


Rule = Callable[[Written], str | None]


def is_numbered(content: str) -> bool:
    """Whether a content counts its parts: 1., 2. and so on."""
    return _NUMBERED.search(content) is not None


def _says_something(written: Written) -> str | None:
    letters = [letter for letter in written.content if letter.isalnum()]
    dense = sum(map(is_dense, letters))
    enough = dense >= _MIN_DENSE_CHARS or len(_WORD.findall(written.content)) >= _MIN_WORDS
    return None if enough else "no statement is left"


def _is_short(written: Written) -> str | None:
    if len(written.content) > MAX_FORMED_CHARS:
        return f"{len(written.content)} characters without a sentence end to cut at"
    if written.type is MemoryType.PROCEDURE:
        return None
    count = len(sentences(written.content))
    return None if count <= MAX_FORMED_SENTENCES else f"{count} sentences"


def _gives_away_nothing(written: Written) -> str | None:
    return "holds a secret" if has_secret(plain_view(written.content).text) else None


def _does_not_address_the_model(written: Written) -> str | None:
    view = plain_view(written.content).text
    found = has_attack(view) or words.ADDRESSES_THE_MODEL.search(written.small)
    return "speaks to the model" if found else None


def _is_plain_text(written: Written) -> str | None:
    if _MARKUP.search(written.content):
        return "markup or code"
    rest, addresses = _ADDRESS.subn(" ", written.content)
    if addresses and len(_WORD.findall(rest)) < _MIN_WORDS and not any(map(is_dense, rest)):
        return "only an address"
    return None


def _is_filled_in(written: Written) -> str | None:
    found = words.PLACEHOLDER.search(written.content.lower())
    return "a placeholder, or says that something is not known" if found else None


def _is_a_statement(written: Written) -> str | None:
    asked = any(mark in written.bare for mark in "?？") or written.bare.rstrip("。. ").endswith(
        ("ですか", "ますか", "でしょうか")
    )
    return "a question" if asked else None


def _is_neutral(written: Written) -> str | None:
    if words.NOT_NEUTRAL.search(written.small):
        return "an exclamation"
    letters = [letter for letter in written.content if letter.isalpha()]
    cased = [letter for letter in letters if letter.isupper() or letter.islower()]
    if len(cased) >= _MIN_SHOUTED_LETTERS and all(map(str.isupper, cased)):
        return "all in capitals"
    return None


def _has_the_right_shape(written: Written) -> str | None:
    if written.type is MemoryType.PROCEDURE:
        return None
    return "a numbered list" if is_numbered(written.content) else None


def _is_made_of_steps(written: Written) -> str | None:
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
    if words.JAPANESE_PERSONS.search(bare):
        return "the first or second person"
    language = guess(bare)
    persons = words.PERSONS.get(language, words.SURE_PERSONS) if language else words.SURE_PERSONS
    for found in _WORD.finditer(bare):
        word, before = found.group(), bare[: found.start()]
        if word.lower() in persons and not _is_a_name(word, before):
            return "the first or second person"
    if language == "de" and re.search(r"[a-zäöü,] (?:Sie|Ihnen|Ihre?[nmrs]?)\b", bare):
        return "the second person"
    return None


def _is_a_name(word: str, before: str) -> bool:
    """The US, Henry I, the song My Way: a capital that a sentence does not explain."""
    if word == "I":
        return _ROMAN_ONE.search(before) is not None
    starts_sentence = not before.strip(" \"'") or before.rstrip(" \"'").endswith((".", ":", "。"))
    return word[0].isupper() and "'" not in word and not starts_sentence


def _refers_to_something(written: Written) -> str | None:
    small = written.small
    if words.JAPANESE_POINTERS.match(small) or words.POINTING_INSIDE.search(small):
        return "points to something that is not there"
    found = _WORD.findall(small)
    if not found:
        return None
    if _starts_with_a_pointer(written, found):
        return "begins with a word that points to nothing"
    first = next(iter(sentences(small)), "")
    few_words = len(_WORD.findall(first)) <= words.MAX_WORDS_WITH_POINTING_END
    if few_words and words.POINTING_END.search(first):
        return "points to something that is not there"
    return None


def _starts_with_a_pointer(written: Written, found: list[str]) -> bool:
    first = next(iter(_WORD.findall(written.bare)), "")
    if first.isupper() and len(first) > 1 and not written.content.isupper():
        return False  # IT, not it
    pointers = words.SURE_POINTERS
    if language := guess(written.bare):
        pointers = words.POINTERS.get(language, pointers)
    return found[0] in pointers


def _is_about_the_user(written: Written) -> str | None:
    if words.ABOUT_THE_CONVERSATION.search(written.small):
        return "tells of the conversation, not of the user"
    if written.type is MemoryType.INSTRUCTION:
        return None
    return "tells of the assistant" if words.ASSISTANT_FIRST.search(written.small) else None


def _happened(written: Written) -> str | None:
    if written.type is MemoryType.EPISODE and is_told_as_present(written.small):
        return "an episode in the present tense"
    return None


def _stands_in_time(written: Written) -> str | None:
    lasting = written.type in (MemoryType.FACT, MemoryType.PREFERENCE)
    return "a time that only its speaker knew" if lasting and hangs_in_time(written.bare) else None


RULES: Final[tuple[tuple[RejectionCode, Rule], ...]] = (
    (RejectionCode.EMPTY, _says_something),
    (RejectionCode.TOO_LONG, _is_short),
    (RejectionCode.SECRET, _gives_away_nothing),
    (RejectionCode.ADDRESSES_THE_MODEL, _does_not_address_the_model),
    (RejectionCode.MARKUP, _is_plain_text),
    (RejectionCode.PLACEHOLDER, _is_filled_in),
    (RejectionCode.QUESTION, _is_a_statement),
    (RejectionCode.NOT_NEUTRAL, _is_neutral),
    (RejectionCode.NUMBERED, _has_the_right_shape),
    (RejectionCode.NOT_STEPS, _is_made_of_steps),
    (RejectionCode.ABOUT_THE_CONVERSATION, _is_about_the_user),
    (RejectionCode.NOT_THIRD_PERSON, _is_in_the_third_person),
    (RejectionCode.NO_REFERENT, _refers_to_something),
    (RejectionCode.NOT_PAST, _happened),
    (RejectionCode.DANGLING_TIME, _stands_in_time),
)
