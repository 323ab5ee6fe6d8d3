from hypothesis import given
from hypothesis import strategies as st

from ricordo.coding_agents.entry import MAX_OUTPUT_CHARS, shortened


@given(st.text(max_size=50), st.integers(0, 20_000))
def test_a_shortened_output_keeps_its_two_ends_and_never_grows(text: str, times: int) -> None:
    long = text * times
    short = shortened(long)
    assert len(short) <= MAX_OUTPUT_CHARS
    if len(long) <= MAX_OUTPUT_CHARS:
        assert short == long
    else:
        assert short[:500] == long[:500]
        assert short[-500:] == long[-500:]
        assert str(len(long) - MAX_OUTPUT_CHARS) in short
