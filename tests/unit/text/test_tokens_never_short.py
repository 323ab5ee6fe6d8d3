"""The estimate beside real tokenizers: never below them, and not far above for natural text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.token_costs import WHOLE_WORDS
from ricordo.text.tokens import estimate_tokens
from tests.unit.text.real_tokenizers import counters
from tests.unit.text.token_texts import MADE_UP, NATURAL, PROSE, WRITTEN

pytestmark = pytest.mark.requirement("prompt.tokens")

# The counts of the dearest of fourteen tokenizers, which are not all at hand here.
DEAREST = {
    "English": 66,
    "German": 57,
    "French": 54,
    "Spanish": 56,
    "Italian": 52,
    "Portuguese": 52,
    "Dutch": 54,
    "Polish": 67,
    "Czech": 59,
    "Finnish": 63,
    "Turkish": 67,
    "Indonesian": 58,
    "Vietnamese": 96,
    "Russian": 82,
    "Ukrainian": 91,
    "Greek": 111,
    "Arabic": 78,
    "Hebrew": 77,
    "Persian": 87,
    "Hindi": 96,
    "Bengali": 140,
    "Tamil": 132,
    "Thai": 160,
    "Japanese": 71,
    "Korean": 95,
    "Chinese": 77,
    "Georgian": 145,
    "Telugu": 224,
    "code": 54,
    "JSON": 80,
    "table": 57,
    "address": 39,
    "emoji": 77,
}


def true_count(text: str) -> int:
    return max(count(text) for count in counters().values())


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0


@pytest.mark.parametrize("kind", [*NATURAL, *WRITTEN])
def test_natural_texts_cost_no_more_than_estimated(kind: str) -> None:
    text = (NATURAL | WRITTEN)[kind]
    assert true_count(text) <= DEAREST[kind]
    assert DEAREST[kind] <= estimate_tokens(text) <= 1.7 * DEAREST[kind]


def test_english_prose_is_estimated_closely() -> None:
    assert estimate_tokens(PROSE) <= 1.6 * DEAREST["English"]


@pytest.mark.parametrize("kind", MADE_UP)
def test_made_up_texts_cost_no_more_than_estimated(kind: str) -> None:
    dice = random.Random(kind)
    for _ in range(150):
        text = MADE_UP[kind](dice)
        assert true_count(text) <= estimate_tokens(text), text


@given(st.text(max_size=60))
def test_any_text_costs_no_more_than_estimated(text: str) -> None:
    assert true_count(text) <= estimate_tokens(text)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_any_ascii_text_costs_no_more_than_estimated(text: str) -> None:
    assert true_count(text) <= estimate_tokens(text)


@pytest.mark.parametrize("cut", range(3, 40, 4))
def test_heads_of_natural_texts_cost_no_more_than_estimated(cut: int) -> None:
    for text in NATURAL.values():
        assert true_count(text[:cut]) <= estimate_tokens(text[:cut]), text[:cut]


def test_words_that_are_said_to_be_whole_are_whole() -> None:
    for word in WHOLE_WORDS:
        assert true_count(word.lstrip()) == 1, word
