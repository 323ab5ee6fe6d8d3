"""Indonesian rules: likes, diet and health."""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.rule import (
    Rule,
    Thing,
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    rule,
    trimmed,
)
from ricordo.formation.rules.things import indonesian_taste
from ricordo.formation.rules.word_lists import CONDITIONS, FOODS_NOT_EATEN
from ricordo.model.vocabulary import MemoryType

_health = partial(rule, theme="health", importance=4)


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
    return rule(begins, content, thing, "taste:{slug}", "preferences", type=MemoryType.PREFERENCE)


TASTES: Final = (
    _preference(r"saya (?:lebih )?suka(?: (?:banget|sekali|sama))?(?! jawaban)",
        "Pengguna suka {thing}."),
    _preference(r"saya (?:cinta|menyukai|menggemari|penggemar(?: berat| setia)?|hobi)",
        "Pengguna suka {thing}."),
    _preference(r"saya senang(?= (?:me|ber|ng|nonton|main|masak|baca|jalan)\w*)(?! (?:bertemu|"
        r"mendengar|membantu|melihat|berkenalan|bisa))", "Pengguna senang {thing}."),
    _preference(r"saya (?:tidak|kurang) (?:begitu |terlalu )?suka(?: (?:sama|dengan))?",
        "Pengguna tidak suka {thing}."),
    _preference(r"saya (?:benci|membenci|anti)(?: (?:banget|sama|dengan))?",
        "Pengguna tidak suka {thing}."),
    rule(r"(?P<kind>[a-z]{3,15}(?: [a-z]{3,15})?) (?:favorit|"
        r"kesukaan) saya(?: (?:adalah|itu|yaitu|ya))?", "{kind} favorit pengguna adalah {thing}.",
        indonesian_taste, "favourite:{kind}", theme="preferences", type=MemoryType.PREFERENCE),
    rule(r"hobi saya(?: (?:adalah|itu|yaitu))?", "Hobi pengguna adalah {thing}.", indonesian_taste,
        "hobbies", theme="preferences", type=MemoryType.PREFERENCE),
    rule(r"saya lebih suka|saya suka|saya mau|saya ingin", "Pengguna lebih suka {thing}.", _answers,
        "tone", theme="instructions", importance=4, type=MemoryType.PREFERENCE),
)  # fmt: skip

HEALTH: Final = (
    _health(r"saya (?:punya |ada |memiliki )?alergi(?: berat| parah)?", "Pengguna alergi {thing}.",
        allergen, "allergy:{slug}"),
    _health(r"saya (?:seorang )?(?P<diet>vegetarian|vegan|pescatarian)", "Pengguna {diet}.",
        nothing_more, "diet"),
    _health(r"saya intoleran(?:si)? (?P<what>laktosa|gluten)", "Pengguna intoleran {what}.",
        nothing_more, "allergy:{what}"),
    _health(r"saya tidak (?:bisa |boleh |pernah )?(?P<do>makan|minum)",
        "Pengguna tidak {do} {thing}.", _food, "diet:{slug}", importance=3),
    _health(r"saya (?:punya|menderita|mengidap|ada|kena|memiliki)", "Pengguna punya {thing}.",
        _condition, "condition:{slug}"),
)  # fmt: skip

RULES: Final = (*TASTES, *HEALTH)
