"""Whether two statements contradict each other, or one says more than the other.

A careful check without a model, for English and Indonesian: it prefers to miss a contradiction,
because the older statement is closed on its word.
"""

import re
from typing import Final

from ricordo.formation.statements import Statement, statements_of
from ricordo.formation.words import pattern, phrases
from ricordo.text.normalise import canonical, lazy_pattern

AREAS: Final = phrases("places", "areas")
"""Countries, islands and regions, which may contain the city of another statement."""

CITIES: Final = phrases("places", "cities")
"""Some large cities: "bekerja di Jakarta" names a place, not an employer."""


_VALUE: Final = r"(?P<value>[^,]{1,80})"
_SUBJECT: Final = r"^(?:the )?(?P<subject>[^,]{1,60}?)"
_ATTRIBUTES: Final = (
    (
        "another home",
        lazy_pattern(
            rf"{_SUBJECT} (?:(?:lives?|resides?|is based|tinggal|menetap|berdomisili) (?:in|di)"
            rf"|moved to|pindah ke|'?s? ?(?:home city|hometown) is) {_VALUE}"
        ),
    ),
    (
        "another employer",
        lazy_pattern(
            rf"{_SUBJECT} (?:works?|is employed|(?:be)?kerja) (?:at|for|by|di|untuk|pada) {_VALUE}"
        ),
    ),
    ("another job", lazy_pattern(rf"{_SUBJECT} (?:works?|(?:be)?kerja) (?:as|sebagai) {_VALUE}")),
    (
        "another age",
        lazy_pattern(
            rf"{_SUBJECT} (?:is|are|turned|berusia|berumur) (?P<value>\d{{1,3}})"
            r"(?= (?:years? old|tahun)|$)"
        ),
    ),
    (
        "another birthday",
        lazy_pattern(
            rf"{_SUBJECT}(?:'s birthday is| (?:was born on|lahir pada|lahir tanggal)) {_VALUE}"
        ),
    ),
    (
        "another name",
        lazy_pattern(
            r"^(?:the )?(?P<subject>user|pengguna|[a-z]{1,30})(?:'s)? (?:full |first |last )?"
            rf"name is {_VALUE}"
            rf"|^nama (?P<subject2>pengguna|saya) (?:adalah )?(?P<value2>[^,]{{1,80}})"
        ),
    ),
    (
        "another favourite",
        lazy_pattern(
            r"^(?:the )?(?P<subject>[^,]{1,40}'s favourite [^,]{1,40}?) is "
            rf"{_VALUE}|^(?P<subject2>[^,]{{1,40}} (?:favorit|kesukaan) [^,]{{1,30}}?) adalah "
            r"(?P<value2>[^,]{1,80})"
        ),
    ),
    (
        "another value",
        lazy_pattern(
            r"^(?:the )?(?P<subject>[^,]{1,40}'s (?:phone number|mobile number|e-?mail(?: address)?"
            r"|address|home address|employer|boss|manager|height|weight|salary|native language"
            r"|mother tongue|time ?zone|shoe size|blood type|nationality|religion|job|job title"
            rf"|age|star sign)) is {_VALUE}"
        ),
    ),
)
_NOT_NAMES: Final = pattern("statements", "not names")
_VALUE_END: Final = pattern("statements", "value end")
_AND: Final = lazy_pattern(r" (?:and|or|dan|atau|&) ")
_RATHER: Final = pattern("statements", "preference")
_STATES: Final = (
    frozenset({"married", "single", "divorced", "widowed", "unmarried", "engaged"}),
    frozenset({"menikah", "lajang", "bercerai", "duda", "janda", "jomblo"}),
    frozenset({"employed", "unemployed", "retired"}),
    frozenset({"left-handed", "right-handed", "ambidextrous"}),
)
_STATE: Final = lazy_pattern(
    r"^(?:the )?(?P<subject>[^,]{1,60}?) (?:is|sudah|masih)? ?(?P<value>[\w-]{1,20})$"
)
_LASTING: Final = pattern("statements", "lasting")
_ON_A_DAY: Final = pattern("statements", "on a day")
_DATED_MOVE: Final = lazy_pattern(r"\b(?:moved|pindah)\b.{1,80} \d{4}\b")
_HOME: Final = "another home"
_EMPLOYER: Final = "another employer"
_NAMED: Final = frozenset({_HOME, _EMPLOYER})


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
        return "opposite statement" if same and one.terms and _same_subject(one, other) else None
    if not one.is_positive:
        return None
    return (
        _other_value(one.text, other.text) or _other_state(one, other) or _other_number(one, other)
    )


def _same_subject(one: Statement, other: Statement) -> bool:
    return one.subject == other.subject


def _opposite_taste(one: Statement, other: Statement) -> str | None:
    if not _same_subject(one, other) or one.terms != other.terms or one.numbers != other.numbers:
        return None
    if one.is_positive != other.is_positive:
        return None if one.is_delicate or other.is_delicate else "opposite taste"
    first, second = _RATHER.match(one.after_liking), _RATHER.match(other.after_liking)
    if first and second and first["more"] == second["less"] and first["less"] == second["more"]:
        return "opposite taste"
    return None


def _other_value(one: str, other: str) -> str | None:
    for reason, attribute in _ATTRIBUTES:
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
    if first is None or second is None or not _same_subject(one, other):
        return None
    values = {first["value"], second["value"]}
    if len(values) == 2 and any(values <= group for group in _STATES):
        return "another state"
    return None


def _other_number(one: Statement, other: Statement) -> str | None:
    if len(one.numbers) != 1 or len(other.numbers) != 1 or one.numbers == other.numbers:
        return None
    if one.terms != other.terms or not one.terms or not _same_subject(one, other):
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


def _is_within(small: tuple[str, ...], large: tuple[str, ...]) -> bool:
    """Whether all words of one occur in the other in the same order."""
    remaining = iter(large)
    return all(word in remaining for word in small)


def _terms(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(term for one in said for term in one.terms)


def _numbers(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(number for one in said for number in one.numbers)
