"""Reads the noun phrase after the start of a clause: a place, a name, a taste, a trade, a date.

Each reader returns the phrase as it is stored, or None.
"""

import re
from typing import Final

from ricordo.formation.rules.rule import (
    DEMONYMS,
    FIELDS_OF_WORK,
    INDONESIAN_LANGUAGES,
    INDONESIAN_OCCUPATIONS,
    KNOWN_PLACES,
    LANGUAGES,
    NOT_PLACES,
    NOT_WHERE_ONE_LIVES,
    NOT_WHERE_ONE_LIVES_INDONESIAN,
    OCCUPATIONS,
    PARTS_OF_COMPANIES,
    WRITTEN_IN_CAPITALS,
    capitalised,
    cut_at,
    has_indonesian_possessive,
    has_pronoun,
    trimmed,
)
from ricordo.formation.words import pattern, words
from ricordo.text.dates import CLEAR_MONTHS, MONTHS_OR_NAMES, MONTHS_OR_WORDS

_MAX_PLACE_WORDS: Final = 6
_MAX_NAME_WORDS: Final = 4
_MAX_NAME_CHARS: Final = 40

_AFTER_A_PLACE = pattern("noun_phrases", "after a place", re.DOTALL)
_PLACE_LETTERS = re.compile(r"[^\W\d_][\w .,'’-]*")
_SMALL_IN_PLACES: Final = words("rules", "small in places")
_CAPITAL_IN_TITLES: Final = frozenset(
    ["north", "south", "east", "west", "central", "san", "los", "las", "la", "el"]
)
_KIND_OF_PLACE = pattern("noun_phrases", "kind of place")
_NOT_A_PLACE_ENDINGS: Final = tuple(words("noun_phrases", "endings of no place"))

_PAST_STAY = pattern("noun_phrases", "past stay", re.IGNORECASE)

_AFTER_A_NAME = pattern("noun_phrases", "after a name", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(
    r"[^\W\d_][^\W\d_'’.-]*(?:['’.-][^\W\d_]+)*\.?(?: [^\W\d_]+(?:['’.-][^\W\d_]+)*\.?){0,3}"
)
_NAME_PARTICLES: Final = words("rules", "name particles")
NOT_NAMES: Final = words("rules", "not names")
_TITLES_ALONE: Final = words("rules", "titles alone")

_MAX_TASTE_WORDS: Final = 7
_MAX_TASTE_CHARS: Final = 70
_MAX_ITEM_WORDS: Final = 3

_AFTER = pattern("noun_phrases", "after a taste", re.IGNORECASE | re.DOTALL)
_CONDITION = pattern("noun_phrases", "condition of a taste", re.IGNORECASE)
_OF_THE_MOMENT = pattern("noun_phrases", "of the moment", re.IGNORECASE)
_NOT_THINGS: Final = words("rules", "not things")
_THE_LASTING = pattern("noun_phrases", "the lasting")
_TO_VERB = pattern("noun_phrases", "to verb", re.IGNORECASE)
_LEADING_VERB = pattern("noun_phrases", "leading verb", re.IGNORECASE)
# "Short, blunt answers" belongs to another rule.
_HOW_TO_ANSWER = re.compile(
    r"(?:[\w'’-]+,? ){1,4}(?:answers|responses|replies|explanations)\b", re.IGNORECASE
)
_ANY_OF_A_KIND = re.compile(
    r"an? (?:good|nice|hot|cold|strong|window|aisle|glass|cup|firm|quiet)\b"
)
_VAGUE: Final = words("rules", "vague")

_SORTS = pattern("noun_phrases", "sorts", re.IGNORECASE)

_TRUE_THINGS: Final = words("rules", "true things")

_MAX_DESCRIPTION_WORDS: Final = 6
_OLDEST: Final = 110
_YOUNGEST: Final = 10

_AFTER_A_TRADE = pattern("noun_phrases", "after a trade", re.IGNORECASE | re.DOTALL)
_LOOSE_TRADE: Final = words("rules", "loose trade")

_AFTER_AN_EMPLOYER = pattern("noun_phrases", "after an employer", re.DOTALL)
_WORKPLACES = pattern("noun_phrases", "workplaces")
_NO_EMPLOYER: Final = words("rules", "no employer")
_WITH_A_NAME: Final = words("rules", "with a name")
_NO_NAME: Final = words("rules", "no name")

_SCHOOLS: Final = frozenset({"the", "universitas", "univ", "institut", "politeknik"})
_AFTER_A_SUBJECT = pattern("noun_phrases", "after a subject", re.DOTALL)
_NO_SUBJECT: Final = words("rules", "no subject")

_HOW_SPOKEN = re.compile(
    r"\s+(?:fluently|well|natively|at home|dengan lancar|lancar|fasih|at work|sedikit)\b.*",
    re.IGNORECASE,
)
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


def home(text: str) -> str | None:
    """A place where one lives: "Bekasi", "a small village near Turin"."""
    place = _bare_place(text)
    if place is None:
        return None
    kind = _KIND_OF_PLACE.fullmatch(place)
    if kind:
        return place if kind["near"] and _is_capitalised(kind["near"]) else None
    if _is_capitalised(place):
        return _checked(place)
    if place.lower() in KNOWN_PLACES:
        return titled(place)
    words = place.lower().split()
    safe = len(words) == 1 and len(words[0]) > 2 and not words[0].endswith(_NOT_A_PLACE_ENDINGS)
    return titled(place) if safe and words[0] not in NOT_WHERE_ONE_LIVES | NOT_PLACES else None


def known_or_capitalised_place(text: str) -> str | None:
    """A place after words that also go with other things: "I'm from", "I moved to"."""
    place = _bare_place(text)
    if place is None:
        return None
    if place.lower() in KNOWN_PLACES:
        return titled(place)
    return _checked(place) if _is_capitalised(place) else None


def place_of_youth(text: str) -> str | None:
    is_described = re.match(r"(?:an?|the) ", text, re.IGNORECASE)
    return home(text) if is_described else known_or_capitalised_place(text)


def place_moved_to(text: str) -> str | None:
    """The place of a move, unless the stay is over."""
    return None if _PAST_STAY.search(text) else known_or_capitalised_place(text)


def indonesian_place(text: str) -> str | None:
    """A place after "tinggal di", where capitals are rarely typed."""
    place = _bare_place(re.sub(r"^(?:kota|daerah|kabupaten|kab) ", "", text, flags=re.IGNORECASE))
    if place is None:
        return None
    words = place.lower().split()
    if len(words) > 3 or words[0] in NOT_WHERE_ONE_LIVES_INDONESIAN | NOT_PLACES:
        return None
    if _is_capitalised(place):
        return _checked(place)
    if place.lower() in KNOWN_PLACES or len(words) == 1:
        return titled(place) if words[0] not in NOT_WHERE_ONE_LIVES else None
    return titled(place) if words[0] in KNOWN_PLACES else None


def indonesian_known_place(text: str) -> str | None:
    """A place after words such as "dari", which also go with times and companies."""
    place = indonesian_place(text)
    if place is None or place.lower() in KNOWN_PLACES:
        return place
    return place if _is_capitalised(trimmed(text)[: len(place)]) else None


def _bare_place(text: str) -> str | None:
    place = trimmed(cut_at(f" {text}", _AFTER_A_PLACE).strip())
    parts = [part.strip() for part in place.split(",")]
    place = trimmed(parts[0])
    if len(parts) > 1 and parts[1][:1].isupper():
        region = parts[1].split()
        if len(parts) > 2 or len(region) > 3 or not all(word[:1].isupper() for word in region):
            return None  # a list of places
        place = f"{place}, {parts[1]}"
    if not 1 <= len(place.split()) <= _MAX_PLACE_WORDS or not _PLACE_LETTERS.fullmatch(place):
        return None
    is_vague = re.search(r"\b(?:or|atau|neither|not|no|any|some|every)\b|/", place.lower())
    return None if is_vague or has_pronoun(place) else place


def _is_capitalised(place: str) -> bool:
    words = place.replace(",", "").split()
    names = [word for word in words if word.lower() not in _SMALL_IN_PLACES or word[:1].isupper()]
    is_short = len(names) > 0 and len(words) <= _MAX_PLACE_WORDS
    return is_short and all(word[:1].isupper() for word in names)


def _checked(place: str) -> str | None:
    small = place.lower()
    words = place.replace(",", "").split()
    first, *rest = small.replace(",", "").split()
    if small in NOT_PLACES or first in NOT_PLACES | DEMONYMS | ({"team", "the"} & set(rest)):
        return None
    if PARTS_OF_COMPANIES & {first, *rest}:
        return None
    if place.isupper():
        if small in WRITTEN_IN_CAPITALS:
            return place
        return titled(small) if small in KNOWN_PLACES else None
    has_acronym = any(
        len(word) > 2 and word.isupper() and word.lower() not in WRITTEN_IN_CAPITALS
        for word in words
    )
    return None if has_acronym else place


def titled(name: str) -> str:
    """A lower-case name with capitals; any other unchanged."""
    if name != name.lower():
        return name
    small = _SMALL_IN_PLACES - _CAPITAL_IN_TITLES
    return " ".join(
        word.upper()
        if word in WRITTEN_IN_CAPITALS and word != "la"
        else word
        if word in small and number
        else "-".join(map(capitalised, word.split("-")))
        for number, word in enumerate(name.split())
    ).replace("The ", "the ")


def name(text: str) -> str | None:
    """The name of a person or an animal, of at most four words."""
    bare = _trimmed_name(text)
    words = bare.split()
    is_short = 1 <= len(words) <= _MAX_NAME_WORDS and len(bare) <= _MAX_NAME_CHARS
    if not is_short or not _NAME.fullmatch(bare) or has_pronoun(bare):
        return None
    lowered = [word.lower().strip(".") for word in words]
    if set(lowered) & NOT_NAMES or lowered[0] in DEMONYMS or lowered[-1] in _TITLES_ALONE:
        return None
    if bare.isupper() and len(bare) > 2:
        return bare.title()
    first = words[0]
    if first[0].isupper() and all(word[0].isupper() or word in _NAME_PARTICLES for word in words):
        return bare
    may_be_typed_small = len(words) <= 2 and bare == bare.lower() and min(map(len, words)) > 1
    if not may_be_typed_small or lowered[0].endswith(("ing", "ed")):
        return None
    return " ".join(map(capitalised, words))


def capitalised_name(text: str) -> str | None:
    """A name that only its capital distinguishes from an adjective: "Hi, I'm Ana"."""
    found = name(text)
    return found if found == _trimmed_name(text) else None


def _trimmed_name(text: str) -> str:
    return trimmed(_AFTER_A_NAME.sub("", text))


def taste(text: str) -> str | None:
    """The thing liked or disliked in an English clause."""
    thing = _bare(cut_at(text, _AFTER))
    if thing is None or _HOW_TO_ANSWER.match(text):
        return None
    lowered = thing.lower()
    if lowered in _VAGUE or _TO_VERB.match(thing) or _LEADING_VERB.match(thing):
        return None
    if lowered.startswith("the "):
        return thing if _THE_LASTING.fullmatch(thing) else None
    if lowered.startswith("to "):
        return thing
    first = lowered.split()[0]
    if first in ("a", "an"):
        return thing if _ANY_OF_A_KIND.match(lowered) else None
    return None if first in _NOT_THINGS else thing


def indonesian_taste(text: str) -> str | None:
    said = cut_at(text, _AFTER)
    thing = _bare(
        re.sub(r"^(?:banget|sekali|sama|dengan|akan|bgt) ", "", said, flags=re.IGNORECASE)
    )
    if thing is None:
        thing = trimmed(said)
        if not _SORTS.fullmatch(thing) or has_pronoun(thing) or _OF_THE_MOMENT.search(thing):
            return None
    if has_indonesian_possessive(thing):
        return None
    first = thing.lower().split()[0]
    is_verb = re.match(r"(?:ke|ter|di)(?=\w{4})", first) and first not in _TRUE_THINGS
    return None if first in _NOT_THINGS or is_verb else thing


def _bare(text: str) -> str | None:
    thing = _without_second_half(trimmed(text))
    words = thing.split()
    if not 1 <= len(words) <= _MAX_TASTE_WORDS or not 2 <= len(thing) <= _MAX_TASTE_CHARS:
        return None
    if has_pronoun(thing) or _OF_THE_MOMENT.search(thing) or _CONDITION.search(thing):
        return None
    return thing if any(letter.isalpha() for letter in thing) else None


def _without_second_half(text: str) -> str:
    """A list is kept whole ("tea, coffee and cake"); otherwise a comma ends the thing."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1:
        is_list = bool(re.match(r"(?:and|dan) |\w+ (?:and|dan) ", parts[-1]))
        items = [re.sub(r"^(?:and|dan) ", "", part).split() for part in parts]
        text = text if is_list and max(map(len, items)) <= _MAX_ITEM_WORDS else parts[0]
    last = re.search(r"^(.*)\s(?:and|dan)\s(.*)$", text)
    if last and len(last[2].split()) > _MAX_ITEM_WORDS:
        return trimmed(last[1])
    return trimmed(text)


def trade(text: str) -> str | None:
    """An occupation after "I work as": any noun phrase with an article."""
    bare = trimmed(cut_at(text, _AFTER_A_TRADE))
    if re.search(r"\bor\b|\bby training\b|\bin training\b|\bat heart\b", text[: len(bare) + 16]):
        return None
    has_article = re.match(r"(?:an?|the) [^\W\d]", bare, re.IGNORECASE)
    return bare if has_article and _fits(bare) else None


def known_trade(text: str) -> str | None:
    """An occupation after "I'm a", where only the noun distinguishes it from a passing remark."""
    bare = trade(f"a {text}")
    if bare is None:
        return None
    words = bare.lower().split()[1:]
    return bare[2:] if words[-1] in OCCUPATIONS and not set(words) & _LOOSE_TRADE else None


def indonesian_trade(text: str) -> str | None:
    """An occupation after "bekerja sebagai"."""
    person = re.sub(r"^(?:seorang|se-orang) ", "", text, flags=re.IGNORECASE)
    bare = trimmed(cut_at(person, _AFTER_A_TRADE))
    return bare if _fits(bare) and not has_indonesian_possessive(bare) else None


def known_indonesian_trade(text: str) -> str | None:
    """An occupation after "saya", recognised by its first word."""
    bare = indonesian_trade(text)
    return bare if bare and bare.lower().split()[0] in INDONESIAN_OCCUPATIONS else None


def _fits(bare: str) -> bool:
    words = bare.split()
    letters = re.fullmatch(r"[^\W\d_][\w &/'’+-]*", bare)
    return 1 <= len(words) <= _MAX_DESCRIPTION_WORDS and bool(letters) and not has_pronoun(bare)


def employer(text: str) -> str | None:
    """An employer after "I work at" or "I work for"."""
    bare = _workplace(text)
    if bare is None or re.search(r"\bor\b|/", bare):
        return None
    if _WORKPLACES.fullmatch(bare.lower()):
        return bare
    bare_name = bare[4:] if bare.lower().startswith("the ") else bare
    first = bare_name.split()[0] if bare_name else ""
    if first.lower() in _NO_EMPLOYER or not re.fullmatch(r"[\w][\w .&'’-]*", bare_name):
        return None
    if first[0].isupper():
        return bare
    is_word = bare == bare_name and bare.isalpha() and len(bare) > 2
    is_other = bare in NOT_WHERE_ONE_LIVES or bare.endswith(("ing", "ly"))
    return bare if is_word and not is_other else None


def _workplace(text: str) -> str | None:
    bare = trimmed(cut_at(f" {text}", _AFTER_AN_EMPLOYER).strip())
    fits = 1 <= len(bare.split()) <= _MAX_DESCRIPTION_WORDS
    return bare if fits and not has_pronoun(bare) else None


def indonesian_employer(text: str) -> str | None:
    """An employer or a place of work after "bekerja di"."""
    bare = _workplace(text)
    if bare is None or has_indonesian_possessive(bare):
        return None
    words = bare.split()
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


def subject_of_study(text: str) -> str | None:
    """At most four words."""
    bare = trimmed(cut_at(f" {text}", _AFTER_A_SUBJECT).strip())
    words = bare.split()
    if not 1 <= len(words) <= 4 or words[0].lower() in _NO_SUBJECT or has_pronoun(bare):
        return None
    is_plain = re.fullmatch(r"[^\W\d_][\w &'’-]*", bare)
    return bare if is_plain and not has_indonesian_possessive(bare) else None


def school(text: str) -> str | None:
    """A university or school: a name with a capital, or one that says what it is."""
    bare = _workplace(text)
    if bare is None or has_indonesian_possessive(bare):
        return None
    words = bare.split()
    named = words[0][0].isupper() or words[0].lower() in _SCHOOLS
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
    bare = trimmed(_HOW_SPOKEN.sub("", text))
    items = re.split(r",\s*(?:and|dan)?\s+|\s+(?:and|dan|&|sama)\s+", bare)
    names = [
        re.sub(rf"^(?:{before}){{1,2}}", "", item.strip(), flags=re.IGNORECASE) for item in items
    ]
    if any(name.lower() not in known for name in names):
        return None
    *others, final = map(capitalised, names)
    return f"{', '.join(others)} {last} {final}" if others else final


def date_in_full(text: str) -> str | None:
    """A day of a month, with or without the year."""
    found = _DATE.match(text)
    if found is None:
        return None
    rest = text[found.end() :]
    is_end = re.match(r"\s*(?:,|and|so|in|di|dan|but)\b|\s*[,.!]", rest) or not trimmed(rest)
    return found["date"] if is_end else None


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
