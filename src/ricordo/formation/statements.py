"""Takes sentences apart, to compare them: whether they say the same, contradict, or one says more.

Made for the short third-person sentences of memories, in English and Indonesian; of other languages
it knows the negations. What it does not recognise stays plain words. It prefers to miss a
contradiction, because the older statement is closed on its word.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ricordo.formation.resources import lines, pattern, patterns, phrases, words
from ricordo.formation.sensitive import plain_text, words_of
from ricordo.frozen import dataclass
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.text.analyser import Analyser, stop_words
from ricordo.text.namings import folded_name, relations
from ricordo.text.normalise import canonical, lazy_pattern

LIKING: Final = "likes"
"""Replaces every verb of liking and disliking."""

_MAX_SENTENCES: Final = 8
_KNOWN_TEXTS: Final = 1_024
_SENTENCE_END: Final = lazy_pattern(r"(?<=[.!?。！？])\s+|(?<=[。！？])|[;\n]+")
_WORD: Final = lazy_pattern(r"[^\s,.;:!?()\"“”]+(?:[.,:]\d+)*")
_SHORT_NOT: Final = lazy_pattern(r"\b(?:can't|cannot)\b|n't\b")
_DISLIKE: Final = pattern("statements", "dislike")
_LIKE: Final = pattern("statements", "like")
_FAN: Final = lazy_pattern(r"\bis not (?=a (?:big |huge )?fan of|fond of|keen on|into\b)")
_NO_LONGER: Final = pattern("statements", "no longer")
_DELICATE: Final = pattern("statements", "delicate")
_CLAUSES: Final = lazy_pattern(r",| (?:and|or|dan|atau|und|oder) ")
_WISH: Final = lazy_pattern(r"\bwould (?:like|love|prefer)\b")
_JAPANESE_NOT: Final = lazy_pattern(r"ない|ません|なかった|嫌い|なくな")
_NUMBER_WORDS: Final = {
    word: str(number)
    for row in lines("statements", "number words")
    for number, word in enumerate(row.split())
}
_MAX_SUBJECT_WORDS: Final = 4
_USER: Final = "user"
_AROUND: Final = '.,;:!?"()'
_CALLED: Final = lazy_pattern(r"\b(?:called|named|name is|heißt|namens|llama|bernama|namanya) (.+)")
_POSSESSIVE: Final = re.compile(r"['’]s$")
_THIRD_PERSON: Final = words("statements", "third person")
_SAME_SUBJECT: Final = dict.fromkeys(("pengguna", "i", "saya", "aku"), _USER)
_INDONESIAN_FILLERS: Final = stop_words("indonesian")
ENGLISH: Final = Analyser("english")

CONTRADICTION_MIN: Final = 0.55
"""The least cosine of memories that can contradict each other."""
OVERLAP_MIN: Final = 0.6
"""The least share of common words of memories that say the same."""

_FILLERS: Final = words("statements", "fillers")

_LEFT: Final = pattern("corrections", "left", re.IGNORECASE)

AREAS: Final = phrases("places", "areas")
"""Countries, islands and regions, which may contain the city of another statement."""

CITIES: Final = phrases("places", "cities")
"""Some large cities: "bekerja di Jakarta" names a place, not an employer."""

_ATTRIBUTES: Final = patterns("statements", "another ")
_NOT_NAMES: Final = pattern("statements", "not names")
_VALUE_END: Final = pattern("statements", "value end")
_AND: Final = lazy_pattern(r" (?:and|or|dan|atau|&) ")
_RATHER: Final = pattern("statements", "preference")
_STATES: Final = tuple(
    frozenset(states.split()) for states in lines("statements", "states that exclude each other")
)
_STATE: Final = pattern("statements", "state")
_LASTING: Final = pattern("statements", "lasting")
_ON_A_DAY: Final = pattern("statements", "on a day")
_YEAR: Final = lazy_pattern(r"\b\d{4}\b")
_DATED_MOVE: Final = lazy_pattern(r"\b(?:moved|pindah)\b.{1,80} \d{4}\b")
_HOME: Final = "another home"
_EMPLOYER: Final = "another employer"
_NAMED: Final = frozenset({_HOME, _EMPLOYER})


_NEGATORS: Final = words("statements", "negators")
_ADVERBS: Final = words("statements", "adverbs")
_PAST: Final = words("statements", "past")
_AUXILIARIES: Final = words("statements", "auxiliaries")
_VERBS: Final = words("statements", "verbs")
_ENDS_SUBJECT: Final = _VERBS | _NEGATORS


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence. ``terms`` are its content words without numbers, negation and liking verbs.

    ``text`` is the normalised sentence: short forms written out, adverbs removed, every verb of
    liking or disliking replaced by :data:`LIKING`. ``is_positive`` is False if it is denied or
    disliked. ``is_delicate``: the meaning depends on the order of the words (comparisons,
    exceptions, likes beside dislikes), so two of those are only compared by ``order``.
    """

    text: str
    subject: str
    terms: frozenset[str]
    numbers: frozenset[str]
    is_taste: bool
    is_positive: bool
    is_past: bool
    is_delicate: bool
    order: tuple[str, ...]

    @property
    def after_liking(self) -> str:
        """What is liked or disliked."""
        return self.text.partition(f" {LIKING} ")[2]


@lru_cache(maxsize=_KNOWN_TEXTS)
def statements_of(text: str) -> tuple[Statement, ...]:
    """The first sentences of a text, taken apart."""
    sentences = [part for part in _SENTENCE_END.split(text[:MAX_CONTENT_CHARS]) if part.strip()]
    return tuple(_statement(sentence) for sentence in sentences[:_MAX_SENTENCES])


def _statement(sentence: str) -> Statement:
    plain = _SHORT_NOT.sub(
        lambda found: "can not" if "c" in found[0] else " not", plain_text(sentence)
    )
    plain = _WISH.sub("wants", _NO_LONGER.sub("not", plain)).replace("favorite", "favourite")
    plain = _FAN.sub("not is ", plain)
    dislikes = _DISLIKE.search(plain) is not None
    joined = _DISLIKE.sub(LIKING, plain, count=1) if dislikes else _LIKE.sub(LIKING, plain, count=1)
    words = [_NUMBER_WORDS.get(word, word) for word in _WORD.findall(joined)]
    kept = [word for word in words if word not in _ADVERBS]
    denials = sum(word in _NEGATORS for word in kept) + len(_JAPANESE_NOT.findall(plain))
    said = [word for word in kept if word not in _NEGATORS]
    is_mixed = (dislikes and _LIKE.search(plain) is not None) or (
        (dislikes or denials) and _CLAUSES.search(plain) is not None
    )
    numbers = frozenset(word for word in said if word[0].isdigit())
    content = [
        word
        for word in said
        if word not in numbers
        and word not in _AUXILIARIES
        and word not in _INDONESIAN_FILLERS
        and word != LIKING
    ]
    return Statement(
        text=" ".join(word for word in said if word not in {"do", "does"}),
        subject=_subject(kept),
        terms=frozenset(ENGLISH.terms(" ".join(content))),
        numbers=numbers,
        is_taste=LIKING in said,
        is_positive=(denials + dislikes) % 2 == 0,
        is_past=not _PAST.isdisjoint(words),
        is_delicate=bool(is_mixed) or _DELICATE.search(plain) is not None,
        order=tuple(words_of(plain)),
    )


def _subject(words: list[str]) -> str:
    """The words before the verb, or the first word."""
    named = words[1:] if words[:1] == ["the"] else words
    end = next((n for n, word in enumerate(named) if n and word in _ENDS_SUBJECT), 1)
    said = named[: end if end <= _MAX_SUBJECT_WORDS else 1]
    return " ".join(_SAME_SUBJECT.get(word, word) for word in said)


def are_of_one_subject(old: str, said: str) -> bool:
    """Whether what somebody says can be about an old statement: it is not, if that is about
    another person whom they do not name."""
    known = statements_of(old)[:1]
    if known and not _names_whom(old, said):
        return False
    if not known or known[0].subject in {_USER, "we", "it"} or " " in known[0].subject:
        return True
    words = known[0].text.split()
    has_verb = len(words) > 1 and words[1] in _VERBS
    return not has_verb or known[0].subject in plain_text(said).split()


def _names_whom(old: str, said: str) -> bool:
    """Whether it names the person of the user's that an old statement begins with, if it does."""
    begins = old.split()[:_MAX_SUBJECT_WORDS]
    whom = {relations()[word] for word in map(_named, begins) if word in relations()}
    called = _CALLED.search(old)
    named = [*begins[1:], *(called[1].split() if called else ())]
    names = {_named(word) for word in named if word[:1].isupper()}
    words = [_named(word) for word in said.split()]
    told = {relations().get(word, word) for word in (*words, *map(" ".join, pairwise(words)))}
    return not whom or not {*words, *told}.isdisjoint(whom | names | _THIRD_PERSON)


def _named(word: str) -> str:
    return folded_name(_POSSESSIVE.sub("", word.strip(_AROUND)))


def share_words(analyser: Analyser, one: str, other: str) -> bool:
    """Whether texts share most of their words, and differ in no figure or negation."""
    if figures_and_denials(one) != figures_and_denials(other):
        return False
    return share_of_words(analyser, one, other) >= OVERLAP_MIN


def share_of_words(analyser: Analyser, one: str, other: str) -> float:
    """The share of words that two texts have in common, 0 to 1."""
    first, second = set(analyser.terms(one)), set(analyser.terms(other))
    return len(first & second) / len(first | second) if first and second else 0.0


def figures_and_denials(text: str) -> tuple[set[str], set[bool]]:
    """What must not differ between texts that say the same, however similar they are."""
    said = statements_of(text)
    return {number for one in said for number in one.numbers}, {one.is_positive for one in said}


def keep_the_order(one: str, other: str) -> bool:
    """Whether all words of one text occur in the other, in the same order.

    Function words count, fillers do not. If so, one says what the other says and perhaps more. If
    not, the same words may mean something else: "from Rome to Paris" is not "from Paris to Rome",
    nor "before work" "after work".
    """
    return _is_within(*sorted((_content_words(one), _content_words(other)), key=len))


def _content_words(text: str) -> list[str]:
    words = [word for said in statements_of(text) for word in said.text.split()]
    return [(ENGLISH.terms(word) or [word])[0] for word in words if word not in _FILLERS]


def opposed(one: str, other: str) -> str | None:
    """Why two statements contradict each other; None if nothing says that they do."""
    if canonical(one) == canonical(other):
        return None
    for first in statements_of(one):
        for second in statements_of(other):
            reason = _reason(first, second)
            if reason is not None:
                return reason
    return None


def _reason(one: Statement, other: Statement) -> str | None:
    if one.is_past != other.is_past:
        return None
    if one.is_taste and other.is_taste:
        return _opposite_taste(one, other)
    if one.is_positive != other.is_positive:
        if one.is_delicate or other.is_delicate:
            return None
        same = one.terms == other.terms and one.numbers == other.numbers
        same_subject = one.subject.split()[:1] == other.subject.split()[:1]  # "not" may follow late
        return "opposite statement" if same and one.terms and same_subject else None
    if not one.is_positive:
        return None
    if _gives_up(one, other) or _gives_up(other, one):
        return "another choice"
    return (
        _other_value(one.text, other.text) or _other_state(one, other) or _other_number(one, other)
    )


def left_by(text: str) -> set[str]:
    """The values that a text says were given up for others."""
    return {one for found in _LEFT.finditer(text) for one in found.groups() if one}


def _gives_up(one: Statement, other: Statement) -> bool:
    """Whether one says that its subject has left what the other says."""
    if one.subject != other.subject or other.is_taste or _YEAR.search(one.text):
        return False
    return any(other.text.endswith(f" {left}") for left in left_by(one.text))


def _opposite_taste(one: Statement, other: Statement) -> str | None:
    if one.subject != other.subject or one.terms != other.terms or one.numbers != other.numbers:
        return None
    if one.is_positive != other.is_positive:
        return None if one.is_delicate or other.is_delicate else "opposite taste"
    first, second = _RATHER.match(one.after_liking), _RATHER.match(other.after_liking)
    if first and second and first["more"] == second["less"] and first["less"] == second["more"]:
        return "opposite taste"
    return None


def _other_value(one: str, other: str) -> str | None:
    for reason, attribute in _ATTRIBUTES.items():
        first, second = attribute.match(one), attribute.match(other)
        if first is None or second is None:
            continue
        if _subject_of(first) != _subject_of(second):
            continue
        if reason == _HOME and (_DATED_MOVE.search(one) or _DATED_MOVE.search(other)):
            continue
        values = _values_of(first), _values_of(second)
        if _differ(reason, *values):
            return reason
    return None


def _subject_of(found: re.Match[str]) -> str:
    groups = found.groupdict()
    subject = groups["subject"] or groups.get("subject2") or ""
    return re.sub(r"\b(?:pengguna|saya|i)\b", "user", subject)


def _values_of(found: re.Match[str]) -> list[str]:
    groups = found.groupdict()
    value = groups["value"] or groups.get("value2") or ""
    return [_VALUE_END.sub("", part.strip()).strip(" .") for part in _AND.split(value)]


def _differ(reason: str, one: list[str], other: list[str]) -> bool:
    """Whether no value of one is equal to, or part of, a value of the other."""
    if not (one[0] and other[0]):
        return False
    if reason in _NAMED and any(_NOT_NAMES.match(value) for value in (one[0], other[0])):
        return False
    if reason == _HOME and (one[0] in AREAS) != (other[0] in AREAS):
        return False  # the city may be in the area
    if reason == _EMPLOYER and not {one[0], other[0]}.isdisjoint(AREAS | CITIES):
        return False  # a place of work, not an employer
    words = [[set(re.findall(r"\w+", value)) for value in values] for values in (one, other)]
    return not any(a <= b or b <= a for a in words[0] for b in words[1])


def _other_state(one: Statement, other: Statement) -> str | None:
    first, second = _STATE.match(one.text), _STATE.match(other.text)
    if first is None or second is None or one.subject != other.subject:
        return None
    values = {first["value"], second["value"]}
    if len(values) == 2 and any(values <= group for group in _STATES):
        return "another state"
    return None


def _other_number(one: Statement, other: Statement) -> str | None:
    if len(one.numbers) != 1 or len(other.numbers) != 1 or one.numbers == other.numbers:
        return None
    if one.terms != other.terms or not one.terms or one.subject != other.subject:
        return None
    lasting = _LASTING.search(one.text) and _LASTING.search(other.text)
    on_a_day = _ON_A_DAY.search(one.text) or _ON_A_DAY.search(other.text)
    return "another number" if lasting and not on_a_day else None


def refines(newer: str, older: str) -> bool:
    """Whether the newer statement says all that the older one says, and more."""
    if not _are_comparable(newer, older):
        return False
    before, after = statements_of(older), statements_of(newer)
    adds = _terms(after) > _terms(before) or (
        _terms(after) == _terms(before) and _numbers(after) > _numbers(before)
    )
    return adds and all(any(_contains(large, small) for large in after) for small in before)


def says_nothing_new(newer: str, older: str) -> bool:
    """Whether the older statement already says all that the newer one says."""
    if canonical(newer) == canonical(older):
        return True
    if not _are_comparable(newer, older):
        return False
    before, after = statements_of(older), statements_of(newer)
    if _numbers(before) != _numbers(after):
        return False
    return all(any(_contains(large, small) for large in before) for small in after)


def _are_comparable(newer: str, older: str) -> bool:
    said = [statements_of(text) for text in (newer, older)]
    return all(_terms(one) for one in said) and opposed(newer, older) is None


def _contains(large: Statement, small: Statement) -> bool:
    """Whether one sentence about the same subject has all content words and numbers of another."""
    if (small.is_delicate or large.is_delicate) and not _is_within(small.order, large.order):
        return False
    return (
        small.terms <= large.terms
        and small.numbers <= large.numbers
        and small.subject == large.subject
        and small.is_positive == large.is_positive
        and small.is_taste == large.is_taste
        and small.is_past == large.is_past
    )


def _is_within(small: Sequence[str], large: Sequence[str]) -> bool:
    """Whether all words of one occur in the other in the same order."""
    remaining = iter(large)
    return all(word in remaining for word in small)


def _terms(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(term for one in said for term in one.terms)


def _numbers(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(number for one in said for number in one.numbers)
