"""Looking up affixes in a table gives the stems that the stemmers give by themselves."""

import random
from typing import Any

import pytest

from ricordo.text import analyser

_WORDS = 400


def _words_of(plain: Any, chance: random.Random) -> list[str]:
    """Words made of what a stemmer looks for, so that each of its steps has something to do."""
    lists = [value for name, value in vars(plain).items() if name.startswith("a_")]
    affixes = sorted({one.s for listed in lists for one in listed} - {""})
    letters = sorted({*"".join(affixes), *"aeiobdgst"})
    made = []
    for _ in range(_WORDS):
        middle = "".join(chance.choices(letters, k=chance.randrange(6)))
        ends = chance.choices([*affixes, ""], k=2)
        made.append(chance.choice([*affixes, "", "", ""]) + middle + "".join(ends))
    return made


@pytest.mark.requirement("recall.text")
@pytest.mark.parametrize("language", sorted(analyser._stemmed()))
def test_every_stem_is_the_same(language: str) -> None:
    quick = analyser._load(language)
    _, plain, *_ = type(quick.__self__).__mro__[1:]  # type: ignore[attr-defined]
    words = _words_of(plain, random.Random(language))

    stems = plain().stemWord
    assert [quick(word) for word in words] == [stems(word) for word in words]
    assert any(quick(word) != word for word in words)
