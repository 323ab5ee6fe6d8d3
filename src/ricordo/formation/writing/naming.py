"""The names and numbers of a text, and whether another text has them too."""

import re
from dataclasses import dataclass
from typing import Final, Self

from ricordo.text.dates import CLEAR_MONTHS, MONTHS_OR_NAMES, MONTHS_OR_WORDS
from ricordo.text.languages import guess
from ricordo.text.normalise import folded

_USER_WORDS = "user users user's pengguna nutzer nutzers nutzerin benutzer utente usuario usuário"
_DAYS = """
monday tuesday wednesday thursday friday saturday sunday senin selasa rabu kamis jumat sabtu minggu
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
"""
_TITLES = "i mr mrs ms dr prof pak bu ibu bapak herr frau am pm ok tv pc the a an his her their"
_EXEMPT: Final = frozenset(f"{_USER_WORDS} {_DAYS} {_TITLES}".split()) | {
    *CLEAR_MONTHS,
    *MONTHS_OR_WORDS,
    *MONTHS_OR_NAMES,
}
_NUMBER_WORDS: Final = {
    0: "zero nol null",
    1: "one once a an single satu sebuah seorang ein eine einen einer 一 ひとつ 一人",
    2: "two twice both couple dua zwei beide 二 ふたつ 二人",
    3: "three tiga drei 三",
    4: "four empat vier 四",
    5: "five lima fünf 五",
    6: "six enam sechs 六",
    7: "seven tujuh sieben 七",
    8: "eight delapan acht 八",
    9: "nine sembilan neun 九",
    10: "ten sepuluh zehn 十",
    11: "eleven sebelas elf 十一",
    12: "twelve dozen noon zwölf mittags 十二",
    15: "fifteen quarter fünfzehn 十五",
    20: "twenty zwanzig 二十",
    30: "thirty half dreißig halb setengah 三十 半",
    40: "forty vierzig 四十",
    50: "fifty fünfzig 五十",
    60: "sixty sechzig 六十",
    100: "hundred seratus hundert 百",
    1000: "thousand seribu tausend 千",
}
_VALUE_OF: Final = {
    folded(word): str(number) for number, words in _NUMBER_WORDS.items() for word in words.split()
}

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}")
_USER_IN_KATAKANA: Final = "ユーザー"
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n)[\"'“„(]*$")
_GERMAN_PLACE = re.compile(r"\b(?:in|aus|nach|heißt|namens)\s+$")
_GERMAN_STATES: Final = frozenset(
    [
        "hause",
        "rente",
        "pension",
        "teilzeit",
        "vollzeit",
        "urlaub",
        "zukunft",
        "ordnung",
        "elternzeit",
    ]
)
_GERMAN_USER = re.compile(r"\b(?:Nutzer|Nutzerin|Benutzer|Benutzerin)\b")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{1,2}[./][0-9]{1,2}[./](?:[0-9]{2}){1,2}"
    r"|(?:[0-9]{4}年)?[0-9]{1,2}月(?:[0-9]{1,2}日)?"
)
_MONTH = "|".join(
    sorted({*CLEAR_MONTHS, *MONTHS_OR_WORDS, *MONTHS_OR_NAMES}, key=len, reverse=True)
)
_WRITTEN_DATE = re.compile(
    rf"(?:\b[0-9]{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?\b(?:{_MONTH})\b\.?"
    r"(?:\s+[0-9]{1,2}(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?:19|20)[0-9]{2}\b)?"
)
_MIN_SHARED_START: Final = 4
_MIN_SHARED_PAIRS: Final = 0.5
_LONGEST_ACRONYM: Final = 5


@dataclass(frozen=True, slots=True)
class SaidThings:
    """What a source says, made ready to look names and numbers up in."""

    words: frozenset[str]
    initials: str
    numbers: frozenset[str]
    text: str
    is_german: bool

    def has_name(self, name: str) -> bool:
        """In the same form, a related one (Italy, Italian), or as an acronym of what was said."""
        if name in self.words or any(_are_related(name, word) for word in self.words):
            return True
        if len(name) <= _LONGEST_ACRONYM and name in self.initials:
            return True
        return "-" in name and all(self.has_name(part) for part in name.split("-") if part)

    def has_katakana(self, run: str) -> bool:
        """Whether half of its pairs of signs were said, so that compounds pass."""
        pairs = [run[place : place + 2] for place in range(len(run) - 1)]
        return sum(pair in self.text for pair in pairs) >= _MIN_SHARED_PAIRS * len(pairs)


@dataclass(frozen=True, slots=True)
class NamedThings:
    """The names and numbers of a content that must come from its source."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    katakana: tuple[str, ...]

    @classmethod
    def of(cls, content: str, *, is_german: bool, years: tuple[int, ...]) -> Self:
        """``years`` need not have been said: those that "last year" may have become."""
        is_german = is_german or _GERMAN_USER.search(content) is not None
        dateless = _without_dates(content)
        numbers = tuple(
            number
            for found in _NUMBER.finditer(dateless)
            if (number := _plain_number(found.group())) not in map(str, years)
        )
        runs = _KATAKANA.findall(content.replace(_USER_IN_KATAKANA, " "))
        return cls(tuple(_names(content, is_german=is_german)), numbers, tuple(runs))

    def are_in(self, said: SaidThings) -> bool:
        """Whether the source has all of them."""
        return (
            all(map(said.has_name, self.names))
            and said.numbers.issuperset(self.numbers)
            and all(map(said.has_katakana, self.katakana))
        )


def said_things(source: str) -> SaidThings:
    """The words, numbers and initials of a source."""
    flat = folded(source)
    words = _WORD.findall(flat)
    parts = {part for word in words for part in re.split("['’-]", word)}
    numbers = {_plain_number(found) for found in _NUMBER.findall(flat)}
    numbers |= {part for found in _NUMBER.findall(flat) for part in re.split("[.,:]", found)}
    numbers |= {_VALUE_OF[word] for word in words if word in _VALUE_OF}
    numbers |= {value for word, value in _VALUE_OF.items() if not word.isascii() and word in flat}
    return SaidThings(
        frozenset({*words, *parts}),
        "".join(word[0] for word in words),
        frozenset(numbers),
        source,
        guess(source) == "de",
    )


def _names(content: str, *, is_german: bool) -> list[str]:
    found = []
    matches = list(_WORD.finditer(content))
    for place, match in enumerate(matches):
        word = match.group()
        following = matches[place + 1].group() if place + 1 < len(matches) else ""
        if not word[0].isupper() or not _is_name(content, match, following, is_german=is_german):
            continue
        name = re.sub(r"['’]s?$|['’](?:s|ll|re|ve|d|m)$", "", folded(word))
        if name not in _EXEMPT and not (is_german and name in _GERMAN_STATES):
            found.append(name)
    return found


def _is_name(content: str, match: re.Match[str], following: str, *, is_german: bool) -> bool:
    before = content[max(0, match.start() - 40) : match.start()]
    if is_german:  # where every noun has a capital
        return _GERMAN_PLACE.search(before) is not None
    starts_sentence = not before.strip() or _SENTENCE_START.search(before) is not None
    return not starts_sentence or following[:1].isupper()


def _are_related(one: str, other: str) -> bool:
    """Whether two words have most of their beginning in common."""
    shared = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        shared += 1
    return shared >= _MIN_SHARED_START and shared * 2 > max(len(one), len(other))


def _without_dates(content: str) -> str:
    return _WRITTEN_DATE.sub(" ", _DATE.sub(" ", folded(content)))


def _plain_number(number: str) -> str:
    """Without separators, so that 1,500 and 1.500 and 1500 are one; 20:00 is as 20."""
    whole = number.removesuffix(":00")
    return re.sub("[.,:]", "", whole).lstrip("0") or "0"
