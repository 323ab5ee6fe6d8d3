"""Indonesian rules: likes, diet and health."""

import re
from typing import Final

from ricordo.formation.rules.rule import (
    Rule,
    Thing,
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
)
from ricordo.formation.rules.things import indonesian_taste
from ricordo.formation.rules.word_lists import CONDITIONS, FOODS_NOT_EATEN
from ricordo.model.vocabulary import MemoryType


def allergen(text: str) -> str | None:
    """A real allergen."""
    bare = trimmed(
        re.split(
            r"[,\s]+(?:jadi|tapi|karena|sejak|dan (?=tidak|saya))\b",
            re.sub(r"^(?:sama|terhadap|dengan|makanan) ", "", text),
        )[0]
    )
    refused = (
        has_pronoun(bare)
        or has_indonesian_possessive(bare)
        or re.search(r"\b(?:atau|kerja|drama|orang|senin)\b", bare)
    )
    return bare if 1 <= len(bare.split()) <= 5 and not refused else None


def _condition(text: str) -> str | None:
    bare = trimmed(
        re.split(r"[,\s]+(?:jadi|tapi|dan|sejak)\b", re.sub(r"^(?:penyakit|riwayat) ", "", text))[0]
    )
    return bare if bare.lower() in CONDITIONS else None


def _food(text: str) -> str | None:
    bare = trimmed(re.split(r"[,\s]+(?:karena|jadi|tapi|sejak|dan (?=saya))\b", text)[0])
    words = bare.lower().split()
    return (
        bare
        if 1 <= len(words) <= 4
        and set(words) - {"dan", "atau", "makanan", "merah"} <= FOODS_NOT_EATEN
        else None
    )


def _answers(text: str) -> str | None:
    kind = re.fullmatch(
        r"jawaban (?:yang )?(?:[a-z-]{3,14}(?: dan|,|) ?){1,4}", trimmed(text), re.IGNORECASE
    )
    return kind[0].strip() if kind and not has_pronoun(kind[0]) else None


def _preference(begins: str, content: str, thing: Thing = indonesian_taste) -> Rule:
    return Rule(
        begins=starting(begins),
        thing=thing,
        content=content,
        key="taste:{slug}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    )


TASTES: Final = (
    _preference(
        r"saya (?:lebih )?suka(?: (?:banget|sekali|sama))?(?! jawaban)", "Pengguna suka {thing}."
    ),
    _preference(
        r"saya (?:cinta|menyukai|menggemari|penggemar(?: berat| setia)?|hobi)",
        "Pengguna suka {thing}.",
    ),
    _preference(
        r"saya senang(?= (?:me|ber|ng|nonton|main|masak|baca|jalan)\w*)(?! (?:bertemu|mendengar|"
        r"membantu|melihat|berkenalan|bisa))",
        "Pengguna senang {thing}.",
    ),
    _preference(
        r"saya (?:tidak|kurang) (?:begitu |terlalu )?suka(?: (?:sama|dengan))?",
        "Pengguna tidak suka {thing}.",
    ),
    _preference(
        r"saya (?:benci|membenci|anti)(?: (?:banget|sama|dengan))?", "Pengguna tidak suka {thing}."
    ),
    Rule(
        begins=starting(
            r"(?P<kind>[a-z]{3,15}(?: [a-z]{3,15})?) (?:favorit|"
            r"kesukaan) saya(?: (?:adalah|itu|yaitu|ya))?"
        ),
        thing=indonesian_taste,
        content="{kind} favorit pengguna adalah {thing}.",
        key="favourite:{kind}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(r"hobi saya(?: (?:adalah|itu|yaitu))?"),
        thing=indonesian_taste,
        content="Hobi pengguna adalah {thing}.",
        key="hobbies",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(r"saya lebih suka|saya suka|saya mau|saya ingin"),
        thing=_answers,
        content="Pengguna lebih suka {thing}.",
        key="tone",
        theme="instructions",
        importance=4,
        type=MemoryType.PREFERENCE,
    ),
)

HEALTH: Final = (
    Rule(
        begins=starting(r"saya (?:punya |ada |memiliki )?alergi(?: berat| parah)?"),
        thing=allergen,
        content="Pengguna alergi {thing}.",
        key="allergy:{slug}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"saya (?:seorang )?(?P<diet>vegetarian|vegan|pescatarian)"),
        thing=nothing_more,
        content="Pengguna {diet}.",
        key="diet",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"saya intoleran(?:si)? (?P<what>laktosa|gluten)"),
        thing=nothing_more,
        content="Pengguna intoleran {what}.",
        key="allergy:{what}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"saya tidak (?:bisa |boleh |pernah )?(?P<do>makan|minum)"),
        thing=_food,
        content="Pengguna tidak {do} {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:punya|menderita|mengidap|ada|kena|memiliki)"),
        thing=_condition,
        content="Pengguna punya {thing}.",
        key="condition:{slug}",
        theme="health",
        importance=4,
    ),
)

RULES: Final = (*TASTES, *HEALTH)
