"""The estimate of tokens, and texts cut to a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.tokens import estimate_tokens, fit_tokens

any_text = st.text(st.characters(codec=None), max_size=80)
prose = st.text(" \n.,aAbBcCdD19éя東🎉", max_size=60)


# The true counts are the largest of several byte-pair tokenizers with 32,000 to 200,000 entries.
@pytest.mark.parametrize(
    ("text", "true_count"),
    [
        ("", 0),
        ("Hi", 1),
        ("Do we go at 5 or at 6? It is up to him.", 17),
        ("She's allergic to walnuts, so please remember that when ordering the cake!", 19),
        ("Geschwindigkeitsbegrenzung", 10),
        ("Saya sedang menulis laporan keuangan perusahaan", 18),
        ("去年春天我搬到了车站附近的一套小公寓", 24),
        ("駅の近くの小さなアパートに引っ越しました", 21),
        ("В прошлом году я переехал в небольшую квартиру", 24),
        ("ปีที่แล้วฉันย้ายไปอยู่ใกล้สถานี", 54),
        ("🎉🥳👍🏽", 16),
        ("1234567890", 11),
        ("def getUserById(self, user_id: int) -> Optional[str]:\n    return None", 22),
    ],
)
def test_it_neither_falls_short_nor_runs_wild(text: str, true_count: int) -> None:
    assert true_count <= estimate_tokens(text) <= 2 * true_count + 1


@given(prose, prose)
def test_joining_never_costs_more(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)
    assert estimate_tokens(one + other) >= estimate_tokens(one)


@given(any_text)
def test_every_character_is_counted(text: str) -> None:
    assert estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 1
    assert estimate_tokens(text) * 3 >= len(text)


@given(any_text | prose, st.integers(-1, 60))
def test_the_budget_is_kept(text: str, budget: int) -> None:
    fitted = fit_tokens(text, budget)
    assert estimate_tokens(fitted) <= max(budget, 0)
    if fitted != text:
        assert fitted == "" or (fitted.endswith("…") and text.startswith(fitted[:-1]))


@given(st.lists(st.sampled_from(["tea", "with", "Milk", "7"]), min_size=1), st.integers(1, 40))
def test_the_longest_head_of_whole_words_is_kept(words: list[str], budget: int) -> None:
    text = " ".join(words)
    fitted = fit_tokens(text, budget)
    heads = [f"{' '.join(words[:count])}…" for count in range(1, len(words))]
    fitting = [head for head in heads if estimate_tokens(head) <= budget]
    if estimate_tokens(text) <= budget:
        assert fitted == text
    else:
        assert fitted == (fitting[-1] if fitting else "")


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    assert fit_tokens("東京タワーに行く", 8) == "東京タ…"
    assert fit_tokens("internationalisation", 3) == ""
