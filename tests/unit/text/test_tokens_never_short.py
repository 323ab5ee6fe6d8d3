"""The estimate beside real tokenizers: never below them, and not far above for natural text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.tokens import estimate_tokens, token_costs
from tests.unit.text.real_tokenizers import counters
from tests.unit.text.token_texts import MADE_UP, NATURAL, PROSE, WRITTEN

# Slow, because the vocabularies of the tokenizers are large.
pytestmark = [pytest.mark.requirement("prompt.tokens"), pytest.mark.slow]

# The counts of the dearest of fourteen tokenizers, which are not all at hand here.
DEAREST = {
    "English": 66, "German": 57, "French": 54, "Spanish": 56, "Italian": 52, "Portuguese": 52,
    "Dutch": 54, "Polish": 67, "Czech": 59, "Finnish": 63, "Turkish": 67, "Indonesian": 58,
    "Vietnamese": 96, "Russian": 82, "Ukrainian": 91, "Greek": 111, "Arabic": 78, "Hebrew": 77,
    "Persian": 87, "Hindi": 96, "Bengali": 140, "Tamil": 132, "Thai": 160, "Japanese": 71,
    "Korean": 95, "Chinese": 77, "Georgian": 145, "Telugu": 224, "code": 54, "JSON": 80,
    "table": 57, "address": 39, "emoji": 77,
}  # fmt: skip


def true_count(text: str) -> int:
    return max(count(text) for count in counters().values())


def test_natural_texts_cost_no_more_than_estimated() -> None:
    for kind, text in (NATURAL | WRITTEN).items():
        assert true_count(text) <= DEAREST[kind], kind
        assert DEAREST[kind] <= estimate_tokens(text) <= 1.7 * DEAREST[kind], kind
    assert estimate_tokens(PROSE) <= 1.6 * DEAREST["English"]


@pytest.mark.parametrize("kind", MADE_UP)
def test_made_up_texts_cost_no_more_than_estimated(kind: str) -> None:
    dice = random.Random(kind)
    for _ in range(150):
        text = MADE_UP[kind](dice)
        assert true_count(text) <= estimate_tokens(text), text


@given(st.text(max_size=60) | st.text(st.characters(max_codepoint=127), max_size=60))
def test_any_text_costs_no_more_than_estimated(text: str) -> None:
    assert true_count(text) <= estimate_tokens(text)


def test_heads_of_natural_texts_cost_no_more_than_estimated() -> None:
    heads = [text[:cut] for text in NATURAL.values() for cut in range(3, 40, 4)]
    assert [head for head in heads if true_count(head) > estimate_tokens(head)] == []


def test_words_that_are_said_to_be_whole_are_whole() -> None:
    for word in token_costs().words:
        assert true_count(word.lstrip()) == 1, word
