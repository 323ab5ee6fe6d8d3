"""Readers for the rest of a clause: each reads one kind of thing, or returns None."""

import re
from typing import Final

from ricordo.formation.rules.rule import cut_at, has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import (
    DEMONYMS,
    KNOWN_PLACES,
    NOT_PLACES,
    NOT_WHERE_ONE_LIVES,
    NOT_WHERE_ONE_LIVES_INDONESIAN,
    PARTS_OF_COMPANIES,
    WRITTEN_IN_CAPITALS,
)
from ricordo.formation.words import pattern, words

_MAX_PLACE_WORDS: Final = 6
_MAX_NAME_WORDS: Final = 4
_MAX_NAME_CHARS: Final = 40

_AFTER_A_PLACE = pattern("noun_phrases", "after a place", re.DOTALL)
_PLACE_LETTERS = re.compile(r"[^\W\d_][\w .,'’-]*")
_SMALL_IN_PLACES: Final = words("rules", "small in places")
_KIND_OF_PLACE = pattern("noun_phrases", "kind of place")
_NO_LIVING_SUFFIX = (
    "ness",
    "ity",
    "tion",
    "ment",
    "ing",
    "ism",
    "ship",
    "hood",
    "ed",
    "ly",
    "ous",
    "ful",
    "s",
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
    safe = len(words) == 1 and len(words[0]) > 2 and not words[0].endswith(_NO_LIVING_SUFFIX)
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


_PAST_STAY = pattern("noun_phrases", "past stay", re.IGNORECASE)


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
    if place is None or not (
        place.lower() in KNOWN_PLACES or _is_capitalised(trimmed(text)[: len(place)])
    ):
        return None
    return place


def _bare_place(text: str) -> str | None:
    place = trimmed(cut_at(f" {text}", _AFTER_A_PLACE).strip())
    parts = [part.strip() for part in place.split(",")]
    region = parts[1] if len(parts) == 2 and _is_region(parts[1]) else None
    if len(parts) > 1 and region is None and parts[1][:1].isupper():
        return None  # a list of places
    place = trimmed(parts[0])
    if region:
        place = f"{place}, {region}"
    words = place.split()
    if not 1 <= len(words) <= _MAX_PLACE_WORDS or not _PLACE_LETTERS.fullmatch(place):
        return None
    if re.search(r"\b(?:or|atau|neither|not|no|any|some|every)\b|/", place.lower()) or has_pronoun(
        place
    ):
        return None
    return place


def _is_region(text: str) -> bool:
    words = text.split()
    return 1 <= len(words) <= 3 and all(word[:1].isupper() for word in words)


def _is_capitalised(place: str) -> bool:
    words = place.replace(",", "").split()
    names = [word for word in words if word.lower() not in _SMALL_IN_PLACES or word[:1].isupper()]
    return (
        bool(names) and all(word[:1].isupper() for word in names) and len(words) <= _MAX_PLACE_WORDS
    )


def _checked(place: str) -> str | None:
    words = place.lower().replace(",", "").split()
    if place.lower() in NOT_PLACES or words[0] in NOT_PLACES | DEMONYMS | {"team", "the"} & set(
        words[1:]
    ):
        return None
    if PARTS_OF_COMPANIES & set(words):
        return None
    acronyms = [word for word in place.replace(",", "").split() if len(word) > 1 and word.isupper()]
    if place.isupper():
        if place.lower() in WRITTEN_IN_CAPITALS:
            return place
        return titled(place.lower()) if place.lower() in KNOWN_PLACES else None
    if any(word.lower() not in WRITTEN_IN_CAPITALS and len(word) > 2 for word in acronyms):
        return None
    return place


def titled(name: str) -> str:
    """A lower-case name with capitals; any other unchanged."""
    if name != name.lower():
        return name
    small = _SMALL_IN_PLACES - {
        "north",
        "south",
        "east",
        "west",
        "central",
        "san",
        "los",
        "las",
        "la",
        "el",
    }
    return " ".join(
        word.upper()
        if word in WRITTEN_IN_CAPITALS and word != "la"
        else word
        if word in small and number
        else "-".join(part[:1].upper() + part[1:] for part in word.split("-"))
        for number, word in enumerate(name.split())
    ).replace("The ", "the ")


_AFTER_A_NAME = pattern("noun_phrases", "after a name", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(
    r"[^\W\d_][^\W\d_'’.-]*(?:['’.-][^\W\d_]+)*\.?(?: [^\W\d_]+(?:['’.-][^\W\d_]+)*\.?){0,3}"
)
_NAME_PARTICLES: Final = words("rules", "name particles")
NOT_NAMES: Final = words("rules", "not names")
_TITLES_ALONE: Final = words("rules", "titles alone")


def name(text: str) -> str | None:
    """The name of a person or an animal, of at most four words."""
    bare = trimmed_name(text)
    words = bare.split()
    if (
        not 1 <= len(words) <= _MAX_NAME_WORDS
        or len(bare) > _MAX_NAME_CHARS
        or not _NAME.fullmatch(bare)
    ):
        return None
    lowered = [word.lower().strip(".") for word in words]
    if (
        set(lowered) & NOT_NAMES
        or lowered[0] in DEMONYMS
        or lowered[-1] in _TITLES_ALONE
        or has_pronoun(bare)
    ):
        return None
    if bare.isupper() and len(bare) > 2:
        return bare.title()
    if (
        all(word[0].isupper() or word in _NAME_PARTICLES for word in words)
        and words[0][0].isupper()
    ):
        return bare
    if (
        len(words) > 2
        or bare != bare.lower()
        or min(map(len, words)) < 2
        or lowered[0].endswith(("ing", "ed"))
    ):
        return None
    return " ".join(word[:1].upper() + word[1:] for word in words)


def capitalised_name(text: str) -> str | None:
    """A name that only its capital distinguishes from an adjective: "Hi, I'm Ana"."""
    found = name(text)
    bare = trimmed_name(text)
    return found if found == bare else None


def trimmed_name(text: str) -> str:
    return trimmed(_AFTER_A_NAME.sub("", text))


_MAX_WORDS: Final = 7
_MAX_CHARS: Final = 70
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
_VAGUE: Final = words("rules", "vague")


def taste(text: str) -> str | None:
    """The thing liked or disliked in an English clause."""
    thing = _bare(cut_at(text, _AFTER))
    if (
        thing is None
        or _HOW_TO_ANSWER.match(text)
        or thing.lower() in _VAGUE
        or _TO_VERB.match(thing)
        or _LEADING_VERB.match(thing)
    ):
        return None
    lowered = thing.lower()
    if lowered.startswith("the "):
        return thing if _THE_LASTING.fullmatch(thing) else None
    if lowered.startswith("to "):
        return thing
    first = lowered.split()[0]
    if first in ("a", "an"):
        return (
            thing
            if re.match(
                r"an? (?:good|nice|hot|cold|strong|window|aisle|glass|cup|firm|quiet)\b", lowered
            )
            else None
        )
    return None if first in _NOT_THINGS else thing


def indonesian_taste(text: str) -> str | None:
    thing = _bare(
        re.sub(
            r"^(?:banget|sekali|sama|dengan|akan|bgt) ",
            "",
            cut_at(text, _AFTER),
            flags=re.IGNORECASE,
        )
    )
    if thing is None:
        thing = _of_a_kind(text)
    if thing is None or has_indonesian_possessive(thing):
        return None
    first = thing.lower().split()[0]
    if first in _NOT_THINGS or (
        re.match(r"(?:ke|ter|di)(?=\w{4})", first) and first not in _TRUE_THINGS
    ):
        return None
    return thing


_SORTS = pattern("noun_phrases", "sorts", re.IGNORECASE)


def _of_a_kind(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    refused = has_pronoun(bare) or _OF_THE_MOMENT.search(bare)
    return bare if _SORTS.fullmatch(bare) and not refused else None


_TRUE_THINGS: Final = words("rules", "true things")


def _bare(text: str) -> str | None:
    thing = _without_second_half(trimmed(text))
    words = thing.split()
    if not 1 <= len(words) <= _MAX_WORDS or not 2 <= len(thing) <= _MAX_CHARS:
        return None
    if has_pronoun(thing) or _OF_THE_MOMENT.search(thing) or _CONDITION.search(thing):
        return None
    return thing if any(letter.isalpha() for letter in thing) else None


def _without_second_half(text: str) -> str:
    """A list is kept whole ("tea, coffee and cake"); otherwise a comma ends the thing."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1:
        is_list = bool(re.match(r"(?:and|dan) |\w+ (?:and|dan) ", parts[-1]))
        short = all(
            len(re.sub(r"^(?:and|dan) ", "", part).split()) <= _MAX_ITEM_WORDS for part in parts
        )
        text = text if is_list and short else parts[0]
    head, conjunction, tail = _last_and(text)
    if conjunction and len(tail.split()) > _MAX_ITEM_WORDS:
        return trimmed(head)
    return trimmed(text)


def _last_and(text: str) -> tuple[str, str, str]:
    found = re.search(r"^(.*)\s(and|dan)\s(.*)$", text)
    return (found[1], found[2], found[3]) if found else (text, "", "")
