"""Indonesian rules: family and animals."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import (
    age,
    indonesian_employer,
    indonesian_trade,
    known_indonesian_trade,
)
from ricordo.formation.rules.indonesian_personal import allergen
from ricordo.formation.rules.rule import Rule, nothing_more, starting
from ricordo.formation.rules.things import indonesian_place, name
from ricordo.formation.rules.word_lists import (
    INDONESIAN_NUMBER_WORDS,
    INDONESIAN_PETS,
    INDONESIAN_RELATIONS,
)


def any_of(words: frozenset[str]) -> str:
    """A pattern for any of these words."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_RELATION = (
    rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)})(?: (?:perempuan|laki-laki|pertama|kedua|"
    rf"sulung|bungsu))? saya(?: yang (?:pertama|kedua|sulung|bungsu))?"
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
            rf"saya (?:punya|memiliki|mempunyai) {_COUNT} (?:orang )?(?P<relation>anak|adik|"
            rf"kakak|saudara)(?: (?:perempuan|laki-laki))?"
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

RULES: Final = FAMILY
