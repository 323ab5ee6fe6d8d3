"""Texts cut to a budget of tokens, by the estimate and by other counters."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.tokens import TokenCounter, estimate_tokens, fit_tail_tokens, fit_tokens

pytestmark = pytest.mark.requirement("prompt.tokens")

any_text = st.text(st.characters(codec=None), max_size=80)
prose = st.text(" \n.,aAbBcCdD19éя東🎉", max_size=60)
known_words = st.lists(
    st.sampled_from(["the", "The", " information", "xyz", "HTTP", " ", "in", ".", "é", "q"])
).map("".join)


def words_of(text: str) -> int:
    return len(text.replace("…", " … ").split())


def bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def erratic(text: str) -> int:
    """No real tokenizer is like this: more text may cost less."""
    return len(text) % 7


COUNTERS = [estimate_tokens, words_of, bytes_of, len, erratic]
counters = st.sampled_from(COUNTERS)


@given(st.lists(known_words | prose | any_text, min_size=1, max_size=6))
def test_parts_of_a_prompt_can_be_added_up(parts: list[str]) -> None:
    assert estimate_tokens("".join(parts)) <= sum(map(estimate_tokens, parts))
    assert estimate_tokens("\n".join(parts)) <= sum(map(estimate_tokens, parts)) + len(parts)


def test_usual_words_cost_less_than_random_letters() -> None:
    usual = estimate_tokens("we should make a list of the things that we need for the house.")
    unusual = estimate_tokens("xq vkzqpw qzxj w lwzx kf vbx hzjwfq gqxz bq xvhj pvr jxk zvxqs.")
    assert usual < 22
    assert unusual > 2 * usual


@given(any_text | prose | known_words, st.integers(-1, 60), counters)
def test_heads_and_tails_keep_the_budget(text: str, budget: int, count: TokenCounter) -> None:
    head, tail = fit_tokens(text, budget, count), fit_tail_tokens(text, budget, count)
    for fitted in (head, tail):
        assert not fitted or count(fitted) <= budget
    assert head in ("", text) or (head.endswith("…") and text.startswith(head[:-1]))
    assert tail in ("", text) or (tail.startswith("…") and text.endswith(tail[1:]))


words = st.lists(st.sampled_from(["tea", "with", "Milk", "7", "xylograph"]), min_size=1)


@given(words, st.integers(1, 40), st.sampled_from([estimate_tokens, words_of, bytes_of]))
def test_the_longest_head_and_tail_of_whole_words_are_kept(
    words: list[str], budget: int, count: TokenCounter
) -> None:
    text = " ".join(words)
    heads = [f"{' '.join(words[:kept])}…" for kept in range(1, len(words))]
    tails = [f"…{' '.join(words[-kept:])}" for kept in range(1, len(words))]
    for fit, parts in ((fit_tokens, heads), (fit_tail_tokens, tails)):
        fitting = [part for part in [*parts, text] if count(part) <= budget]
        longest = text if count(text) <= budget else fitting[-1] if fitting else ""
        assert fit(text, budget, count) == longest


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    assert fit_tokens("東京タワーに行く", 4, len) == "東京タ…"
    assert fit_tail_tokens("東京タワーに行く", 4, len) == "…に行く"
    assert fit_tokens("internationalisation", 3) == ""
    assert fit_tail_tokens("internationalisation", 3) == ""


def test_a_text_without_spaces_is_cut_between_syllables() -> None:
    assert fit_tokens("ใครไปที่ไหน", 6, len) == "ใครไป…"
    assert fit_tail_tokens("ใครไปที่ไหน", 5, len) == "…ไหน"
    assert fit_tokens("ใคร", 2, len) == ""


def test_white_space_at_a_cut_is_left_out() -> None:
    assert fit_tokens("  one \n two  three ", 10, len) == "  one…"
    assert fit_tail_tokens("  one \n two  three ", 10, len) == "…three "


def test_a_long_text_is_counted_only_a_few_times() -> None:
    asked = []

    def count(text: str) -> int:
        asked.append(text)
        return words_of(text)

    text = "word " * 10_000
    assert words_of(fit_tokens(text, 5_000, count)) == 5_000
    assert words_of(fit_tail_tokens(text, 5_000, count)) == 5_000
    assert len(asked) < 60


@pytest.mark.parametrize("fit", [fit_tokens, fit_tail_tokens])
def test_what_a_counter_raises_is_passed_on(fit: Callable[..., str]) -> None:
    def broken(text: str) -> int:
        raise ConnectionError("the tokenizer is away")

    with pytest.raises(ConnectionError, match="away"):
        fit("some text", 3, broken)
