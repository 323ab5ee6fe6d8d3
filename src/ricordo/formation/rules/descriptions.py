"""Reads occupations, employers, studies, languages, dates and ages."""

import re
from typing import Final

from ricordo.formation.rules.rule import cut_at, has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import (
    FIELDS_OF_WORK,
    INDONESIAN_LANGUAGES,
    INDONESIAN_OCCUPATIONS,
    KNOWN_PLACES,
    LANGUAGES,
    NOT_WHERE_ONE_LIVES,
    OCCUPATIONS,
)
from ricordo.formation.words import pattern, words
from ricordo.text.dates import CLEAR_MONTHS, MONTHS_OR_NAMES, MONTHS_OR_WORDS

_MAX_WORDS: Final = 6
_OLDEST: Final = 110
_YOUNGEST: Final = 10

_AFTER_A_TRADE = pattern("noun_phrases", "after a trade", re.IGNORECASE | re.DOTALL)
_LOOSE_TRADE: Final = words("rules", "loose trade")


def trade(text: str) -> str | None:
    """An occupation after "I work as": any noun phrase with an article."""
    bare = trimmed(cut_at(text, _AFTER_A_TRADE))
    if re.search(
        r"\bor\b|\bby training\b|\bin training\b|\bat heart\b", text[: len(bare) + 16]
    ) or not re.match(r"(?:an?|the) [^\W\d]", bare, re.IGNORECASE):
        return None
    return bare if _fits(bare) else None


def known_trade(text: str) -> str | None:
    """An occupation after "I'm a", where only the noun distinguishes it from a passing remark."""
    bare = trade(f"a {text}")
    if bare is None:
        return None
    words = bare.lower().split()[1:]
    if words[-1] not in OCCUPATIONS or set(words) & _LOOSE_TRADE:
        return None
    return bare[2:]


def indonesian_trade(text: str) -> str | None:
    """An occupation after "bekerja sebagai"."""
    bare = trimmed(
        cut_at(re.sub(r"^(?:seorang|se-orang) ", "", text, flags=re.IGNORECASE), _AFTER_A_TRADE)
    )
    return bare if _fits(bare) and not has_indonesian_possessive(bare) else None


def known_indonesian_trade(text: str) -> str | None:
    """An occupation after "saya", recognised by its first word."""
    bare = indonesian_trade(text)
    return bare if bare and bare.lower().split()[0] in INDONESIAN_OCCUPATIONS else None


def _fits(bare: str) -> bool:
    words = bare.split()
    letters = re.fullmatch(r"[^\W\d_][\w &/'’+-]*", bare)
    return 1 <= len(words) <= _MAX_WORDS and bool(letters) and not has_pronoun(bare)


_AFTER_AN_EMPLOYER = pattern("noun_phrases", "after an employer", re.DOTALL)
_WORKPLACES = pattern("noun_phrases", "workplaces")
_NO_EMPLOYER: Final = words("rules", "no employer")
_WITH_A_NAME: Final = words("rules", "with a name")
_NO_NAME: Final = words("rules", "no name")


def employer(text: str) -> str | None:
    """An employer after "I work at" or "I work for"."""
    bare = trimmed(cut_at(f" {text}", _AFTER_AN_EMPLOYER).strip())
    if (
        not bare
        or has_pronoun(bare)
        or len(bare.split()) > _MAX_WORDS
        or re.search(r"\bor\b|/", bare)
    ):
        return None
    if _WORKPLACES.fullmatch(bare.lower()):
        return bare
    bare_name = bare[4:] if bare.lower().startswith("the ") else bare
    first = bare_name.split()[0] if bare_name else ""
    if first.lower() in _NO_EMPLOYER or not re.fullmatch(r"[\w][\w .&'’-]*", bare_name):
        return None
    if first[0].isupper():
        return bare
    is_safe = bare == bare_name and len(bare.split()) == 1 and len(bare) > 2 and bare.isalpha()
    return (
        bare
        if is_safe and bare not in NOT_WHERE_ONE_LIVES and not bare.endswith(("ing", "ly"))
        else None
    )


def indonesian_employer(text: str) -> str | None:
    """An employer or a place of work after "bekerja di"."""
    bare = trimmed(cut_at(f" {text}", _AFTER_AN_EMPLOYER).strip())
    words = bare.split()
    if not 1 <= len(words) <= _MAX_WORDS or has_pronoun(bare) or has_indonesian_possessive(bare):
        return None
    first = words[0].lower()
    if re.search(r"\batau\b|/", bare) or not re.fullmatch(r"[\w][\w .&'’-]*", bare):
        return None
    if first in _NO_EMPLOYER or bare.lower() in KNOWN_PLACES:
        named = len(words) > 1 and words[1].lower() not in _NO_NAME
        return bare if first in _WITH_A_NAME and named else None
    return bare


def field_of_work(text: str) -> str | None:
    """A line of business after "I work in"."""
    bare = trimmed(cut_at(text, _AFTER_A_TRADE))
    return bare if bare.lower() in FIELDS_OF_WORK else None


_AFTER_A_SUBJECT = pattern("noun_phrases", "after a subject", re.DOTALL)
_NO_SUBJECT: Final = words("rules", "no subject")


def subject_of_study(text: str) -> str | None:
    """At most four words."""
    bare = trimmed(cut_at(f" {text}", _AFTER_A_SUBJECT).strip())
    words = bare.split()
    if not 1 <= len(words) <= 4 or words[0].lower() in _NO_SUBJECT or has_pronoun(bare):
        return None
    return (
        bare
        if re.fullmatch(r"[^\W\d_][\w &'’-]*", bare) and not has_indonesian_possessive(bare)
        else None
    )


def school(text: str) -> str | None:
    """A university or school: a name with a capital, or one that says what it is."""
    bare = trimmed(cut_at(f" {text}", _AFTER_AN_EMPLOYER).strip())
    words = bare.split()
    if not 1 <= len(words) <= _MAX_WORDS or has_pronoun(bare) or has_indonesian_possessive(bare):
        return None
    named = words[0][0].isupper() or words[0].lower() in (
        "the",
        "universitas",
        "univ",
        "institut",
        "politeknik",
    )
    return bare if named and any(word[0].isupper() for word in words[:2]) else None


def languages(text: str) -> str | None:
    return _listed(
        text,
        LANGUAGES,
        r"(?:fluent|native|some|a little|basic|good|both|a bit of|conversational)\s+",
        "and",
    )


def indonesian_languages(text: str) -> str | None:
    """One or several languages by their Indonesian names."""
    return _listed(text, INDONESIAN_LANGUAGES, r"bahasa\s+", "dan")


def _listed(text: str, known: frozenset[str], before: str, last: str) -> str | None:
    bare = trimmed(
        re.sub(
            r"\s+(?:fluently|well|natively|at home|dengan lancar|lancar|fasih|at work|sedikit)\b.*",
            "",
            text,
            flags=re.IGNORECASE,
        )
    )
    items = [
        item.strip() for item in re.split(r",\s*(?:and|dan)?\s+|\s+(?:and|dan|&|sama)\s+", bare)
    ]
    names = [re.sub(rf"^(?:{before}){{1,2}}", "", item, flags=re.IGNORECASE) for item in items]
    if not names or any(name.lower() not in known for name in names):
        return None
    shown = [_capital(name) for name in names]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if shown[1:] else shown[0]


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


_MONTHS: Final = "|".join(
    sorted({*CLEAR_MONTHS, *MONTHS_OR_WORDS, *MONTHS_OR_NAMES}, key=len, reverse=True)
)
_DATE = re.compile(
    rf"(?:on |in |the |tanggal |tgl |pada |bulan |hari ){{0,3}}(?P<date>(?:\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?: of)? (?:{_MONTHS})(?:,? \d{{4}})?|(?:{_MONTHS})(?: the)? \d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?:,? \d{{4}})?|\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{4}}|"
    rf"(?:{_MONTHS}) \d{{4}}))(?![\w/])",
    re.IGNORECASE,
)


def date_in_full(text: str) -> str | None:
    """A day of a month, with or without the year."""
    found = _DATE.match(text)
    rest = text[found.end() :] if found else ""
    return (
        found["date"]
        if found
        and (not trimmed(rest) or re.match(r"\s*(?:,|and|so|in|di|dan|but)\b|\s*[,.!]", rest))
        else None
    )


def year(text: str) -> str | None:
    """A possible year of birth."""
    found = re.match(r"(?:in |tahun |pada tahun )?((?:19|20)\d{2})\b(?!\s*(?:-|/|\w))", text)
    return found[1] if found else None


def age(text: str) -> str | None:
    found = re.fullmatch(
        r"(\d{1,3})(?:[- ]?(?:years?[- ]old|yrs? old|y\.?o\.?|years? of age|tahun|thn|th))?",
        trimmed(text),
        re.IGNORECASE,
    )
    return found[1] if found and 1 <= int(found[1]) <= _OLDEST else None


def own_age(text: str) -> str | None:
    """A plausible age of somebody who writes."""
    found = age(re.split(r",| and | dan ", text)[0])
    return found if found and int(found) >= _YOUNGEST else None
