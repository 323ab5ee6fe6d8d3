"""Indonesian rules: family and animals."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import (
    age,
    indonesian_employer,
    indonesian_trade,
    known_indonesian_trade,
)
from ricordo.formation.rules.indonesian_tastes import allergen
from ricordo.formation.rules.rule import (
    Rule,
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
    whatever_follows,
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
from ricordo.formation.words import words


def any_of(words: frozenset[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_RELATION = (
    rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)})(?: (?:perempuan|laki-laki|pertama|kedua|sulung|"
    rf"bungsu))? saya(?: yang (?:pertama|kedua|sulung|bungsu))?"
)
_PET = rf"(?P<pet>{any_of(INDONESIAN_PETS)})(?: peliharaan)? saya"
_COUNT = rf"(?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|\d{{1,2}})"

FAMILY: Final = (
    Rule(
        begins=starting(rf"{_RELATION} (?:ber)?nama(?:nya)?(?: adalah)?"),
        thing=name,
        content="{relation} pengguna bernama {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"nama {_RELATION}(?: adalah)?"),
        thing=name,
        content="{relation} pengguna bernama {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} tinggal di"),
        thing=indonesian_place,
        content="{relation} pengguna tinggal di {thing}.",
        key="family:{relation}-home",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} (?:be)?kerja (?:sebagai|jadi)"),
        thing=indonesian_trade,
        content="{relation} pengguna bekerja sebagai {thing}.",
        key="family:{relation}-work",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION}(?: adalah)?(?: seorang)?"),
        thing=known_indonesian_trade,
        content="{relation} pengguna adalah {thing}.",
        key="family:{relation}-work",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} (?:berumur|berusia|umurnya|usianya|umur)"),
        thing=age,
        content="{relation} pengguna berumur {thing} tahun.",
        key="family:{relation}-age",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} (?:be)?kerja di"),
        thing=indonesian_employer,
        content="{relation} pengguna bekerja di {thing}.",
        key="family:{relation}-employer",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} alergi"),
        thing=allergen,
        content="{relation} pengguna alergi {thing}.",
        theme="family",
        importance=4,
    ),
    Rule(
        begins=starting(r"anak saya (?:ada )?(?P<count>dua|tiga|empat|lima|satu|\d)(?: orang)?"),
        thing=nothing_more,
        content="Pengguna punya {count} anak.",
        key="family:anak",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"saya (?:punya|memiliki|mempunyai) {_COUNT} (?:orang )?(?P<relation>anak|adik|kakak|"
            rf"saudara)(?: (?:perempuan|laki-laki))?"
        ),
        thing=nothing_more,
        content="Pengguna punya {count} {relation}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:sudah )?(?P<state>menikah|berkeluarga|bercerai|bertunangan)"),
        thing=nothing_more,
        content="Pengguna sudah {state}.",
        key="marital_status",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?P<state>lajang|jomblo)"),
        thing=nothing_more,
        content="Pengguna {state}.",
        key="marital_status",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"{_PET} (?:ber)?nama(?:nya)?(?: adalah)?|"
            rf"nama {_PET.replace('<pet>', '<pet2>')}(?: adalah)?"
        ),
        thing=name,
        content="{pet}{pet2} pengguna bernama {thing}.",
        key="pet:{pet}{pet2}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"saya (?:punya|memelihara|memiliki|pelihara) (?:(?:seekor|"
            rf"satu) )?(?P<pet>{any_of(INDONESIAN_PETS)}) (?:ber)?nama(?:nya)?"
        ),
        thing=name,
        content="Pengguna punya {pet} bernama {thing}.",
        key="pet:{pet}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"saya (?:punya|memelihara|memiliki|"
            rf"pelihara) (?:{_COUNT} )?(?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! "
            rf"(?:ber)?nama)"
        ),
        thing=nothing_more,
        content="Pengguna memelihara {pet}.",
        key="pet:{pet}",
        theme="family",
    ),
)

FAMILY_RULES: Final = FAMILY


_MAX_WORDS: Final = 5
_END = re.compile(
    r"[,\s]+(?:di|dari|yang|untuk|buat|karena|jadi|tapi|dan|sejak|dengan|ke|sama|tarikan\w*|udah|"
    r"sudah|tidak|kok|kenapa|mau)\b.*|,.*",
    re.IGNORECASE,
)
_HOUSEHOLD_RELATION = rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)}) (?:saya|kami)"
_KIND = (
    r"(?P<kind>motor|mobil|laptop|hp|hape|ponsel|kamera|sepeda|komputer|pc|printer|tv|gitar|tablet|"
    r"handphone)"
)
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
    Rule(
        begins=starting(_HOUSEHOLD_RELATION),
        thing=_beside,
        content="{relation} pengguna bernama {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_HOUSEHOLD_RELATION} (?:asli )?orang"),
        thing=_origin,
        content="{relation} pengguna orang {thing}.",
        key="family:{relation}-origin",
        theme="family",
    ),
    Rule(
        begins=starting(
            r"istri saya (?:sedang |lagi |sudah )?hamil(?! (?:atau|apa|nggak|gak|ga|tidak)\b)"
        ),
        thing=whatever_follows,
        content="Istri pengguna sedang hamil.",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"saya tinggal (?:sama|bareng|bersama|dengan|berdua dengan) (?P<relation>"
            rf"{any_of(INDONESIAN_RELATIONS)}|orang ?tua|ortu|keluarga)(?: saya)?"
        ),
        thing=nothing_more,
        content="Pengguna tinggal bersama {relation}.",
        key="lives_with",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"(?:di rumah(?: saya| kami)? (?:ada|punya)|"
            rf"kami (?:punya|memelihara|pelihara)) (?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|"
            rf"\d{{1,2}}) (?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:liar|tetangga|orang|"
            rf"masuk|mati|lewat))"
        ),
        thing=whatever_follows,
        content="Pengguna memelihara {count} {pet}.",
        key="pet:{pet}",
        theme="family",
    ),
    Rule(
        begins=starting(
            r"(?:saya|kami|sekeluarga|keluarga saya|kami sekeluarga) (?:cuma |hanya |"
            r"selalu )(?P<do>makan)(?: makanan)?(?: yang)? halal"
        ),
        thing=whatever_follows,
        content="Pengguna hanya makan yang halal.",
        key="diet",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(rf"{_KIND} saya(?: itu| adalah| pakai| pake| merk| merek)?"),
        thing=_model,
        content="{kind} pengguna adalah {thing}.",
        key="possession:{kind}",
    ),
    Rule(
        begins=starting(r"(?:saya|kami) (?:punya|memiliki|mempunyai)(?: (?:sebuah|satu))?"),
        thing=_belonging,
        content="Pengguna punya {thing}.",
        key="possession:{slug}",
    ),
)

HOUSEHOLD_RULES: Final = HOUSEHOLD
