"""Properties that hold for every text, and texts made to be slow."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.gate import gate
from ricordo.formation.own_words import pieces_with_requests, requests
from ricordo.limits import MAX_KEY_CHARS, MAX_READ_TURN_CHARS
from tests.unit.formation.rules.passages import said

pytestmark = pytest.mark.requirement("formation.rules")

PIECES = """
I|I'm|im|my|My|we|you|your|it|that|this|live in|work as a|work at|love|like|hate|prefer|am|
was|name is|call me|remember that|please note|always answer in|never use|from now on|and|
but|or|because|if|not|don't|never|the|a|an|Rome|rome|bekasi|tea|nurse|cats|Ana|wife|sister|
son|is called|allergic to|nuts|two|kids|plan to move to|next month|5 May 1990|34|years old|
short answers|favourite colour is|blue|saya|aku|gue|tinggal di|kerja di|suka|nggak|nama|
istri|alergi|udang|ingat bahwa|catat ya|selalu jawab|jangan pernah|dan|tapi|kalau|.|,|!|?|:|
;|"|'|“|”|(|)|-|—|>|```|1.|2.|\n|\n\n|  |steps|remember these steps:|translate|said|🙄|é|
\u0301|\ufffc|US|us
"""
chat = st.lists(
    st.sampled_from([piece for piece in PIECES.replace("|\n", "|").strip().split("|") if piece]),
    max_size=25,
).map(" ".join)
any_text = st.one_of(
    chat, st.text(max_size=200), st.lists(st.one_of(chat, st.text(max_size=9))).map("\n".join)
)


@given(any_text, st.datetimes(timezones=st.just(UTC)))
def test_whatever_is_said_a_candidate_is_sound(text: str, at: datetime) -> None:
    found = said(text, at)
    assert found == said(text, at)
    for one in found:
        assert one.quote
        assert one.quote in text
        assert one.content
        assert len(one.key or "") <= MAX_KEY_CHARS


@pytest.mark.parametrize("long", ["9" * 500, "x" * 900])
def test_nothing_is_learned_from_the_middle_of_a_word(long: str) -> None:
    assert said(f"{long}Where did her sister live in May, near the sea?") == []
    assert said(f"I live in Bali{long}") == []


@given(any_text)
def test_requests_are_where_they_are_said(text: str) -> None:
    spans = requests(pieces_with_requests(gate().read(text)), text)
    assert all(0 <= start < end <= len(text) for start, end in spans)


HOSTILE = [
    "a", " ", "\n", "I live in ", '"', "'", "' a", "`", "*a", ", ", " and I", ". ", "i ",
    "remember that ", "remember: ", "1. a\n", "my wife ", "the ", "translate ", "write a ",
    "what does ", " - ", "(", "```\n", ">", "Dear a,\n", ": ", "Best,\n", "?", "'a'b", "“",
    "«a", "please ", "ignore the ", "a.b.", "- a\n", "<| ", "I love tea, coffee and ",
    "\u0301", "my name is a ",
]  # fmt: skip


@pytest.mark.parametrize(
    "chars", [4_000, pytest.param(MAX_READ_TURN_CHARS, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("first", range(0, len(HOSTILE), 6))
def test_a_text_made_to_be_slow_comes_to_an_end(first: int, chars: int) -> None:
    for piece in HOSTILE[first : first + 6]:
        text = (piece * chars)[:chars]
        said(text)
        said(f"remember these steps: {text}"[:chars])


@pytest.mark.requirement("faults.fuzzed")
def test_sentences_of_nothing_but_space_come_to_an_end() -> None:
    """Spaces between two letters once took the cube of their number, in each sentence anew."""
    text = f"a{' ' * 390}b.\n" * (100_000 // 394)
    assert said(text) == []
