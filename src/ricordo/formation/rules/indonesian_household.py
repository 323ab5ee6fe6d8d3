"""Indonesian rules: whom and what the user lives with, and what they own."""

import re
from typing import Final

from ricordo.formation.rules.indonesian_family import any_of
from ricordo.formation.rules.places import NOT_PLACES
from ricordo.formation.rules.rule import Rule, nothing_more, starting, whatever_follows
from ricordo.formation.rules.things import name
from ricordo.formation.rules.trimming import has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import (
    INDONESIAN_BELONGINGS,
    INDONESIAN_MAKES,
    INDONESIAN_NUMBER_WORDS,
    INDONESIAN_PETS,
    INDONESIAN_RELATIONS,
)
from ricordo.formation.rules.word_sets import words

_MAX_WORDS: Final = 5
_END = re.compile(
    r"[,\s]+(?:di|dari|yang|untuk|buat|karena|jadi|tapi|dan|sejak|dengan|ke|sama|tarikan\w*|udah|"
    r"sudah|tidak|kok|kenapa|mau)\b.*|,.*",
    re.IGNORECASE,
)
_RELATION = rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)}) (?:saya|kami)"
_KIND = (
    r"(?P<kind>motor|mobil|laptop|hp|hape|ponsel|kamera|sepeda|komputer|pc|printer|tv|gitar|tablet|"
    r"handphone)"
)
_NOT_BESIDE: Final = words("""
cewek cowok perempuan laki juga sering selalu jarang suka mau sedang pada sampai kan tuh cuma hanya
sempat mulai bisa harus ingin akan tidak sudah sekarang skrg kemarin pernah tetap dulu lagi masih
""")


def _bare(text: str) -> str | None:
    bare = trimmed(_END.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) else bare


def _model(text: str) -> str | None:
    """A make or model, which a capital, a number or its name tells from a complaint."""
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
        begins=starting(_RELATION),
        thing=_beside,
        content="{relation} pengguna bernama {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} (?:asli )?orang"),
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
            rf"(?:di rumah(?: saya| kami)? (?:ada|punya)|kami (?:punya|memelihara|pelihara)) "
            rf"(?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|\d{{1,2}}) (?:ekor )?"
            rf"(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:liar|tetangga|orang|masuk|mati|lewat))"
        ),
        thing=whatever_follows,
        content="Pengguna memelihara {count} {pet}.",
        key="pet:{pet}",
        theme="family",
    ),
    Rule(
        begins=starting(
            r"(?:saya|kami|sekeluarga|keluarga saya|kami sekeluarga) (?:cuma |hanya |selalu )"
            r"(?P<do>makan)(?: makanan)?(?: yang)? halal"
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

RULES: Final = HOUSEHOLD
