"""Patterns that are compiled when they are first used do what patterns do."""

import re

import pytest

from ricordo.text.normalise import lazy_pattern


def test_a_lazy_pattern_finds_what_the_pattern_finds() -> None:
    lazy, plain = lazy_pattern(r"t(e)a", re.IGNORECASE), re.compile(r"t(e)a", re.IGNORECASE)
    text = "Tea, tea and coffee"
    assert lazy.pattern == plain.pattern
    assert lazy.flags == plain.flags
    assert lazy.findall(text) == plain.findall(text)
    assert lazy.sub("x", text) == plain.sub("x", text)
    assert lazy.split(text) == plain.split(text)
    assert lazy.fullmatch("TEA") is not None
    assert lazy.search("coffee") is None
    assert [found.span() for found in lazy.finditer(text)] == [(0, 3), (5, 8)]


def test_it_is_compiled_with_its_first_use_and_not_before() -> None:
    broken = lazy_pattern("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("x")
