"""Finds statements that name somebody or something: "User's sister is called Carolina".

By their form, in English and Indonesian, the commonest ones in German and Spanish.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from ricordo.frozen import dataclass
from ricordo.text.analyser import stop_words
from ricordo.text.normalise import (
    fold_letters,
    fold_marks,
    lazy_pattern,
    word_lists,
)
from ricordo.text.people import ADDRESSES, ROLES

MOST_WORDS: Final = 4
_MOST_NAME_CHARS: Final = 80
_LISTS: Final = frozenset(
    (
        *("many have", "former", "kinds", "counts", "counts without plural", "particles"),
        *("owners before", "owners after", "no names", "no nouns", "called", "same", "projects"),
    )
)


@dataclass(frozen=True, slots=True)
class Naming:
    """What one statement says: all these are names of the same one, who has these roles.

    A role is what somebody is to the user ("my sister") or a description ("the billing rewrite").
    Without a name it says that there are several. ``told`` is the role in the statement's words.
    """

    names: tuple[str, ...]
    roles: tuple[str, ...] = ()
    told: str | None = None


def folded_name(text: str) -> str:
    return fold_letters(fold_marks(text))


@cache
def word_list(title: str) -> frozenset[str]:
    return frozenset(map(folded_name, word_lists("relations")[title]))


@cache
def relations() -> Mapping[str, str]:
    """What each word for a relation means."""
    return {
        folded_name(word).replace("_", " "): meaning
        for meaning, words in word_lists("relations").items()
        if meaning not in _LISTS
        for word in words
    }


class Token(NamedTuple):
    word: str
    start: int
    end: int
    is_possessive: bool


TOKEN = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$|(?<=s)['’]$", re.IGNORECASE)


def token(match: re.Match[str]) -> Token:
    written = match.group()
    bare = _POSSESSIVE.sub("", written)
    return Token(folded_name(bare), match.start(), match.start() + len(bare), bare != written)


# Statements. Names are found by their capitals, so everything else ignores case.

_WORD = r"[^\W\d_][\w'’-]*"
_FEW_NAME = rf"[\"“']?(?P<name>{_WORD}\.?(?:\s{_WORD}){{0,3}}?)"  # when more follows
_NAME = rf"[\"“']?(?P<name>{_WORD}\.?(?:\s{_WORD}){{0,3}})"
_OTHER_NAME = rf"[\"“']?(?P<other>{_WORD}\.?(?:\s{_WORD}){{0,3}})"
_SET_OFF = rf",\s(?P<other>{_WORD}(?:\s{_WORD})?),"
_BEFORE = (
    r"(?<![\w’'-])(?P<owner>(?:the\s)?user['’]s|my|our|mein(?:e[mnrs]?)?|unser(?:e[mnr]?)?"
    r"|mi|nuestr[oa])\s"
)
_AFTER = r"(?:ku|\s(?:saya|aku|kami|gue|gua|pengguna|user|del\susuario|de\sla\susuaria))(?![\w’'-])"
_IS = r"\s(?:is|was|ist|war|es|era|adalah|ialah|itu)\s"
_CALLED = (
    r"(?:\s(?:is|was)\s(?:called|named|nicknamed)|['’]s\s(?:nick)?name\s(?:is|was)"
    r"|\shei(?:ß|ss)t|\shieß|\sse\sllama(?:ba)?|\s(?:itu\s)?(?:bernama|namanya|dipanggil))\s"
)
_I_HAVE = (
    r"(?:(?:\buser|\bpengguna|\bsaya|\baku|\bkami|\bi|\bwe|\bich|\bwir)\s(?:also\s|juga\s)?|^)"
    r"(?:has|have|owns?|got|adopted|habe|haben|tengo|tenemos|punya|memiliki|mempunyai|memelihara)"
    r"\s(?:got\s)?(?:(?:an?|one|una?|eine?n?|seekor|seorang|sebuah)\s)?"
)
_ALSO = (
    r"(?:,\s|\s|\s?\()(?:a\.?k\.?a\.?|(?:also|better)\sknown\sas|known\sas|alias|goes\sby"
    r"|(?:is\s)?short\sfor|stands\sfor|nicknamed|is\s(?:also\s|usually\s)?(?:called|nicknamed)"
    r"|is\s(?:a|the)\snickname\s(?:of|for)|genannt|(?:ist\s)?kurz\sfür|apodad[oa]"
    r"|conocid[oa]\scomo|(?:biasa\s|sering\s)?dipanggil|singkatan\sdari)\s"
)


def _pattern(text: str) -> re.Pattern[str]:
    return lazy_pattern(text, re.IGNORECASE)


_DESCRIPTION = r"(?P<described>[^\W\d_][\w-]*(?:\s[^\W\d_][\w-]*){0,3})"
_FEW_WORDS = r"(?P<described>[^\W\d_][\w-]*(?:\s[^\W\d_][\w-]*){0,3}?)"


_PART = r"[^\W\d_][\w-]*"
_NOUN = rf"(?P<noun>{_PART}(?:\s{_PART}){{0,2}})"

# With certainty: any noun, and names in small letters. By the owner's place.
_CERTAIN: Final = (
    _pattern(rf"{_BEFORE}{_NOUN}{_CALLED}{_NAME}(?:\s\({_OTHER_NAME}\))?"),
    _pattern(rf"\bname\sof\s{_BEFORE}{_NOUN}\s(?:is|was)\s{_NAME}"),
    _pattern(
        rf"{_I_HAVE}{_NOUN}\s(?:called|named|namens|llamad[oa]|bernama|yang\sbernama)\s{_NAME}"
    ),
)
_CERTAIN_AFTER: Final = (
    _pattern(rf"(?:^|(?<=[.;,]\s)|(?<=\bla\s)|(?<=\bel\s)){_NOUN}{_AFTER}{_CALLED}{_NAME}"),
)


class _Likely(NamedTuple):
    """Only with a word for a relation, and a name that begins with a capital.

    ``named`` has the name behind it, ``is_mine`` comes after the name.
    """

    named: re.Pattern[str]
    is_mine: re.Pattern[str]


@cache
def _likely(is_after: bool) -> _Likely:
    raw = (
        word
        for meaning, words in word_lists("relations").items()
        for word in words
        if meaning not in _LISTS
    )
    known = sorted(
        {form for word in raw for form in (word, folded_name(word))},
        key=lambda word: (-len(word), word),
    )
    relation = "|".join(re.escape(word).replace("_", r"\s") for word in known)
    if is_after:
        noun = rf"(?P<noun>(?:{relation})(?:\s{_PART}){{0,2}}?)"
        named = rf"(?<!\w){noun}{_AFTER}(?:\s(?:(?:adalah|ialah|itu)\s)?{_NAME}|{_SET_OFF})"
        return _Likely(_pattern(named), _pattern(rf",?{_IS}(?:la\s|el\s)?{noun}{_AFTER}"))
    noun = rf"(?P<noun>(?:{_PART}\s){{0,2}}?(?:{relation})(?![\w’'-]))"
    named = rf"{_BEFORE}{noun}(?:(?:{_IS}|\s){_NAME}|{_SET_OFF})"
    return _Likely(_pattern(named), _pattern(rf",?{_IS}{_BEFORE}{noun}"))


_SAME: Final = lazy_pattern(rf"{_ALSO}{_OTHER_NAME}", re.IGNORECASE)
_PROJECTS: Final = (
    lazy_pattern(
        rf"\b(?:project|projekt|proyecto|proyek)\s{_FEW_NAME}(?:,\s|\s\(|{_IS})"
        rf"(?:the|our|das|die|der|el|la)\s{_DESCRIPTION}",
        re.IGNORECASE,
    ),
    lazy_pattern(rf"\bproyek\s{_FEW_NAME}\s\({_DESCRIPTION}\)", re.IGNORECASE),
    lazy_pattern(
        rf"\b(?:the|our)\s{_FEW_WORDS}(?:\sis)?\s(?:called|named|codenamed)\s(?:project\s)?"
        rf"{_NAME}",
        re.IGNORECASE,
    ),
)
_IN_INDONESIAN: Final = lazy_pattern(
    r"(?:ku|\b(?:saya|aku|kami|gue|gua|pengguna|bernama|namanya|punya|memiliki|memelihara))\b",
    re.IGNORECASE,
)
_NO_NAMES: Final = frozenset(("User", "User's", "User’s", "I"))
_WORDS = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
_UNUSUAL: Final = b"\0"
"""Stands for what folding changes otherwise than case: controls, and all beyond ASCII."""
_PLAIN: Final = b"".join(
    letter.lower() if letter.isalnum() else b" " if letter.isspace() or b"!" <= letter <= b"~"
    else _UNUSUAL
    for letter in (bytes([code]) for code in range(256))
)  # fmt: skip
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]")
_MOST_CHARS: Final = 2_000  # who is who is said at the beginning, if at all


def namings(text: str) -> list[Naming]:
    """Who is said to be the same in a text. What others say in quotation marks does not count."""
    if _surely_names_nobody(text):
        return []
    words = set(_WORDS.findall(folded_name(text[:_MOST_CHARS])))
    is_called = not words.isdisjoint(word_list("called"))
    relates = not words.isdisjoint(_relation_words())
    is_same = not words.isdisjoint(word_list("same"))
    is_project = not words.isdisjoint(word_list("projects"))
    if not (is_called or relates or is_same or is_project):
        return []
    flat = " ".join(unicodedata.normalize("NFC", text[:_MOST_CHARS]).split())
    flat = _QUOTED.sub(
        lambda quoted: quoted.group() if quoted.group().count(" ") < 2 else " ", flat
    )
    is_after = not words.isdisjoint(word_list("owners after")) or any(
        word.endswith("ku") for word in words
    )
    found: list[Naming] = []
    if is_called:
        found += _named([*_CERTAIN, *(_CERTAIN_AFTER if is_after else ())], flat, is_certain=True)
    if relates:
        found += _several(flat)
    if relates and any(word[0].isupper() and word not in _NO_NAMES for word in flat.split()):
        likely = [_likely(False), _likely(True)] if is_after else [_likely(False)]
        found += _named([one.named for one in likely], flat)
        found += _named_before([one.is_mine for one in likely], flat)
    if is_same:
        found += _same(flat)
    if is_project:
        found += _described(flat)
    return list(dict.fromkeys(found))


def _surely_names_nobody(text: str) -> bool:
    """Most texts name nobody, so it is cheap to find that out."""
    plain = text[:_MOST_CHARS].encode("utf-8", "surrogatepass").translate(_PLAIN)
    return _UNUSUAL not in plain and _telling_parts().isdisjoint(plain.split())


@cache
def _telling_parts() -> frozenset[bytes]:
    """Of each word that names somebody its rarest part in letters and digits: of a.k.a. the k."""
    lists = map(word_list, ("called", "same", "projects"))
    return frozenset(
        (word if word.isalnum() else max(re.split(r"[.-]", word), key=_length_and_text)).encode()
        for word in chain(_relation_words(), *lists)
    )


def _length_and_text(part: str) -> tuple[int, str]:
    return len(part), part


@cache
def _relation_words() -> frozenset[str]:
    heads = {part for word in relations() for part in (word.split()[0], word.split()[-1])}
    return frozenset(f"{word}{ending}" for word in heads for ending in ("", "s", "ku"))


def _named(
    patterns: Iterable[re.Pattern[str]], text: str, *, is_certain: bool = False
) -> Iterator[Naming]:
    for match in (match for pattern in patterns for match in pattern.finditer(text)):
        written = [match["name"], match.groupdict().get("other")]
        names = [name for one in written if one and (name := _name(one, is_certain))]
        told = _told(match, only_known=not is_certain)
        if told is not None and names and (is_certain or not _is_no_name(names[0])):
            yield Naming(tuple(names), *told)


def _named_before(patterns: Iterable[re.Pattern[str]], text: str) -> Iterator[Naming]:
    for match in (match for pattern in patterns for match in pattern.finditer(text)):
        told, name = _told(match, only_known=True), _name_at_end(text[: match.start()])
        if told is not None and name is not None:
            yield Naming((name,), *told)


def _same(text: str) -> Iterator[Naming]:
    for match in _SAME.finditer(text):
        one, other = _name_at_end(text[: match.start()]), _name(match["other"])
        if one is not None and other is not None:
            yield Naming((one, other))


def _described(text: str) -> Iterator[Naming]:
    for pattern in _PROJECTS:
        for match in pattern.finditer(text):
            name = _name(match["name"])
            words = match["described"].split()
            if name is not None and " ".join(words).islower():
                described = f"the {folded_name(' '.join(words))}"
                yield Naming((name,), (described,), f"the {' '.join(words)}")


def _several(text: str) -> Iterator[Naming]:
    """That there are two brothers, so that "my brother" is nobody in particular."""
    tokens = [token(match) for match in TOKEN.finditer(text)]
    for place, one in enumerate(tokens):
        has_no_plural = one.word in word_list("counts without plural")
        is_mine = one.word in word_list("owners before") or (
            one.word == "user" and one.is_possessive
        )
        counts = has_no_plural or is_mine or one.word in word_list("counts")
        for other in tokens[place + 1 : place + 3] if counts else ():
            meaning = relations().get(other.word)
            if meaning is None and other.word.endswith("s") and not other.is_possessive:
                meaning = relations().get(other.word[:-1])
            elif not has_no_plural:
                break
            if meaning is not None:
                yield Naming((), (f"my {meaning}",))


def _told(match: re.Match[str], *, only_known: bool) -> tuple[tuple[str, ...], str] | None:
    """The roles that a noun with its modifiers means; None where it says nothing certain."""
    words = match["noun"].split()
    words = words[1:] if folded_name(words[0]) in word_list("no nouns") else words
    owner = (match.groupdict().get("owner") or "my").lower()
    is_german = owner.startswith(("mein", "unser"))
    is_indonesian = _IN_INDONESIAN.search(match.group()) is not None
    if not is_german and not is_indonesian and not " ".join(words).islower():
        return None
    known = roles_of(words, is_last=not is_indonesian)
    if known is None:
        if only_known or _is_vague(words):
            return None
        known = (f"my {folded_name(' '.join(words))}",), words
    roles, phrase = known
    told = " ".join(phrase)
    if is_indonesian:
        told = f"{told} saya"
    else:
        told = f"{owner if is_german or owner.startswith(('mi', 'nu')) else 'my'} {told}"
    return (roles, told) if roles else None


def roles_of(
    words: Sequence[str], *, is_last: bool
) -> tuple[tuple[str, ...], Sequence[str]] | None:
    """The roles of words that end with (or, for Indonesian, begin with) a known relation.

    Empty where somebody was it once, or many are.
    """
    folded = [folded_name(word) for word in words]
    for count in range(min(len(words), 2), 0, -1):
        starts = [len(words) - count] if is_last else range(len(words) - count + 1)
        for start in starts:
            meaning = relations().get(" ".join(folded[start : start + count]))
            if meaning is None:
                continue
            rest = folded[:start] if is_last else folded[start + count :]
            phrase = words if is_last else words[start:]
            if word_list("former").intersection(folded[:start] if is_last else folded):
                return (), phrase
            if is_last and set(rest) - word_list("kinds"):
                return (f"my {' '.join(folded)}",), phrase
            full = f"my {' '.join([*rest, meaning] if is_last else [meaning, *rest])}"
            return tuple(dict.fromkeys((full, f"my {meaning}"))), phrase
    return None


def _is_vague(words: Sequence[str]) -> bool:
    folded = {folded_name(word) for word in words}
    return (
        bool(folded & (word_list("many have") | word_list("former") | word_list("no nouns")))
        or not words
    )


def _name(written: str, is_certain: bool = False) -> str | None:
    """The words at the start that are a name; a single one in small letters where it is certain."""
    kept: list[str] = []
    words = written.split()[:MOST_WORDS]
    for place, word in enumerate(words):
        follows = kept and word in word_list("particles") and words[place + 1 : place + 2]
        if not (word[0].isupper() or (follows and words[place + 1][0].isupper())):
            break
        kept.append(word)
        if word.endswith(("'s", "’s")):
            break
    if not kept and is_certain and words:
        kept = words[:1]
    return _clean(kept)


def _name_at_end(written: str) -> str | None:
    kept: list[str] = []
    for word in reversed(written[-_MOST_NAME_CHARS:].split()[-MOST_WORDS:]):
        is_name = word[0].isupper() and not word.endswith(("'s", "’s"))
        if not is_name or (kept and word[-1] in ".,;:!?"):
            break
        kept.insert(0, word)
    return _clean(kept)


def _clean(words: Sequence[str]) -> str | None:
    name = " ".join(words).strip("\"“”'’")
    for ending in ("'s", "’s", "."):
        name = name.removesuffix(ending) if len(name) > len("J.") else name
    folded = folded_name(name).strip(".")
    is_none = not folded or folded in ROLES | {"i", "pengguna"}
    is_none = is_none or (name.islower() and folded in stop_words("english"))
    return None if is_none or folded in ADDRESSES or folded in relations() else name


def _is_no_name(name: str) -> bool:
    first = name.split(maxsplit=1)[0]
    return folded_name(first) in word_list("no names") or (first.isupper() and 1 < len(first) <= 4)
