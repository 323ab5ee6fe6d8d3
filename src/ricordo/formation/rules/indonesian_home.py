"""Indonesian rules: family and animals."""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.descriptions import (
    age,
    indonesian_employer,
    indonesian_trade,
    known_indonesian_trade,
)
from ricordo.formation.rules.indonesian_tastes import allergen
from ricordo.formation.rules.rule import (
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    rule,
    trimmed,
)
from ricordo.formation.rules.things import indonesian_place, name
from ricordo.formation.rules.word_lists import (
    INDONESIAN_BELONGINGS,
    INDONESIAN_MAKES,
    INDONESIAN_NUMBER_WORDS,
    INDONESIAN_PETS,
    INDONESIAN_RELATIONS,
    NOT_PLACES,
)
from ricordo.formation.words import alternatives, pattern, words

_family = partial(rule, theme="family", importance=3)


def any_of(words: frozenset[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_RELATION = alternatives(
    "indonesian", "relation", indonesian_relations=any_of(INDONESIAN_RELATIONS)
)
_PET = rf"(?P<pet>{any_of(INDONESIAN_PETS)})(?: peliharaan)? saya"
_COUNT = rf"(?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|\d{{1,2}})"

FAMILY: Final = (
    _family(rf"{_RELATION} (?:ber)?nama(?:nya)?(?: adalah)?",
        "{relation} pengguna bernama {thing}.", name, "family:{relation}"),
    _family(rf"nama {_RELATION}(?: adalah)?", "{relation} pengguna bernama {thing}.", name,
        "family:{relation}"),
    _family(rf"{_RELATION} tinggal di", "{relation} pengguna tinggal di {thing}.", indonesian_place,
        "family:{relation}-home"),
    _family(rf"{_RELATION} (?:be)?kerja (?:sebagai|jadi)",
        "{relation} pengguna bekerja sebagai {thing}.", indonesian_trade, "family:{relation}-work"),
    _family(rf"{_RELATION}(?: adalah)?(?: seorang)?", "{relation} pengguna adalah {thing}.",
        known_indonesian_trade, "family:{relation}-work"),
    _family(rf"{_RELATION} (?:berumur|berusia|umurnya|usianya|umur)",
        "{relation} pengguna berumur {thing} tahun.", age, "family:{relation}-age"),
    _family(rf"{_RELATION} (?:be)?kerja di", "{relation} pengguna bekerja di {thing}.",
        indonesian_employer, "family:{relation}-employer"),
    _family(rf"{_RELATION} alergi", "{relation} pengguna alergi {thing}.", allergen, importance=4),
    _family(r"anak saya (?:ada )?(?P<count>dua|tiga|empat|lima|satu|\d)(?: orang)?",
        "Pengguna punya {count} anak.", nothing_more, "family:anak"),
    _family(rf"saya (?:punya|memiliki|mempunyai) {_COUNT} (?:orang )?(?P<relation>anak|adik|kakak|"
        rf"saudara)(?: (?:perempuan|laki-laki))?", "Pengguna punya {count} {relation}.",
        nothing_more, "family:{relation}"),
    _family(r"saya (?:sudah )?(?P<state>menikah|berkeluarga|bercerai|bertunangan)",
        "Pengguna sudah {state}.", nothing_more, "marital_status"),
    _family(r"saya (?P<state>lajang|jomblo)", "Pengguna {state}.", nothing_more, "marital_status"),
    _family(rf"{_PET} (?:ber)?nama(?:nya)?(?: adalah)?|"
        rf"nama {_PET.replace('<pet>', '<pet2>')}(?: adalah)?",
        "{pet}{pet2} pengguna bernama {thing}.", name, "pet:{pet}{pet2}"),
    _family(rf"saya (?:punya|memelihara|memiliki|pelihara) (?:(?:seekor|"
        rf"satu) )?(?P<pet>{any_of(INDONESIAN_PETS)}) (?:ber)?nama(?:nya)?",
        "Pengguna punya {pet} bernama {thing}.", name, "pet:{pet}"),
    rule(rf"saya (?:punya|memelihara|memiliki|"
        rf"pelihara) (?:{_COUNT} )?(?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:ber)?nama)",
        "Pengguna memelihara {pet}.", nothing_more, "pet:{pet}", theme="family"),
)  # fmt: skip

FAMILY_RULES: Final = FAMILY


_MAX_WORDS: Final = 5
_END = pattern("indonesian", "after a belonging", re.IGNORECASE)
_HOUSEHOLD_RELATION = rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)}) (?:saya|kami)"
_KIND = alternatives("indonesian", "kind of belonging")
_NOT_BESIDE: Final = words("rules", "not beside")


def _bare(text: str) -> str | None:
    bare = trimmed(_END.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) else bare


def _model(text: str) -> str | None:
    """A make or model: a capital, a number or its name distinguishes it from a complaint."""
    bare = _bare(text)
    if bare is None:
        return None
    first, *rest = bare.split()
    if first.lower() in NOT_PLACES - INDONESIAN_MAKES:
        return None
    if first.lower() in INDONESIAN_MAKES or (first[:1].isupper() and first.isalpha()):
        return bare
    numbered = rest and any(map(str.isdigit, rest[-1])) and first.isalpha() and len(rest) == 1
    return bare if numbered and len(rest[-1]) > 1 and len(first) > 3 else None


def _belonging(text: str) -> str | None:
    bare = _bare(text)
    return bare if bare and bare.lower().split()[0] in INDONESIAN_BELONGINGS else None


def _beside(text: str) -> str | None:
    """The name in "kakakku Ana kerja di bank"."""
    found = re.match(r"(\w{3,12})(?= (?:be)?(?:kerja|tinggal|kuliah|sekolah)\b)", text)
    return name(found[1]) if found and found[1].lower() not in _NOT_BESIDE else None


def _origin(text: str) -> str | None:
    bare = _bare(text)
    return bare if bare and bare[0].isupper() and len(bare.split()) <= 2 else None


HOUSEHOLD: Final = (
    _family(_HOUSEHOLD_RELATION, "{relation} pengguna bernama {thing}.", _beside,
        "family:{relation}"),
    rule(rf"{_HOUSEHOLD_RELATION} (?:asli )?orang", "{relation} pengguna orang {thing}.", _origin,
        "family:{relation}-origin", theme="family"),
    _family(r"istri saya (?:sedang |lagi |sudah )?hamil(?! (?:atau|apa|nggak|gak|ga|tidak)\b)",
        "Istri pengguna sedang hamil."),
    _family(rf"saya tinggal (?:sama|bareng|bersama|dengan|"
        rf"berdua dengan) (?P<relation>{any_of(INDONESIAN_RELATIONS)}|orang ?tua|ortu|"
        rf"keluarga)(?: saya)?", "Pengguna tinggal bersama {relation}.", nothing_more,
        "lives_with"),
    rule(rf"(?:di rumah(?: saya| kami)? (?:ada|punya)|kami (?:punya|memelihara|"
        rf"pelihara)) (?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|"
        rf"\d{{1,2}}) (?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:liar|tetangga|orang|masuk|"
        rf"mati|lewat))", "Pengguna memelihara {count} {pet}.", key="pet:{pet}", theme="family"),
    rule(r"(?:saya|kami|sekeluarga|keluarga saya|kami sekeluarga) (?:cuma |hanya |"
        r"selalu )(?P<do>makan)(?: makanan)?(?: yang)? halal", "Pengguna hanya makan yang halal.",
        key="diet", theme="health", importance=4),
    rule(rf"{_KIND} saya(?: itu| adalah| pakai| pake| merk| merek)?",
        "{kind} pengguna adalah {thing}.", _model, "possession:{kind}"),
    rule(r"(?:saya|kami) (?:punya|memiliki|mempunyai)(?: (?:sebuah|satu))?",
        "Pengguna punya {thing}.", _belonging, "possession:{slug}"),
)  # fmt: skip

HOUSEHOLD_RULES: Final = HOUSEHOLD
