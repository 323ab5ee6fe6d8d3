"""Streams are cut anywhere by the network; what comes out is what went in, and one addition."""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.events import EventReader, EventSplicer
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.tapping import MemoryTap
from ricordo.proxy.wire import Wire

MEMORIES = '[{"id":1,"text":"tea ☕"}]'
ADDED = f',"memories":{MEMORIES}'.encode()


def chunk(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    body = {"id": "c", "object": "chat.completion.chunk", "choices": [choice], "x_custom": 0.10}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


OPENAI_STREAM = (
    b": a comment\n\n"
    + chunk(role="assistant", content="")
    + chunk(content="Grün ")
    + chunk(content="☕ tea.")
    + b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n'
    + b"data: [DONE]\n\n"
)
FIRST = OPENAI_STREAM.index(b"}\n\n")
ANTHROPIC_STREAM = (
    b'event: ping\r\ndata: {"type": "ping"}\r\n\r\n'
    b'event: message_start\r\ndata: {"type": "message_start", "message": {"id": "m"}}\r\n\r\n'
    b'event: content_block_start\r\ndata: {"type": "content_block_start", "index": 0,'
    b' "content_block": {"type": "text", "text": ""}}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"type": "content_block_delta", "index": 0,'
    b' "delta": {"type": "text_delta", "text": "Tea."}}\r\n\r\n'
    b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n'
)
START = ANTHROPIC_STREAM.index(b"}\r\n\r\nevent: content")


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


def passed(tap: MemoryTap, chunks: Iterable[bytes]) -> bytes:
    return b"".join([tap.feed(one) for one in chunks] + [tap.flush()])


STREAMS: Sequence[tuple[Wire, bytes, int, str]] = [
    (OPENAI, OPENAI_STREAM, FIRST, "Grün ☕ tea."),
    (ANTHROPIC, ANTHROPIC_STREAM, START, "Tea."),
]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.parametrize(("wire", "stream", "place", "said"), STREAMS, ids=["openai", "anthropic"])
def test_every_way_to_cut_a_stream_in_two(wire: Wire, stream: bytes, place: int, said: str) -> None:
    expected = stream[:place] + ADDED + stream[place:]
    for at in range(len(stream) + 1):
        tap = MemoryTap(wire, MEMORIES)
        assert passed(tap, cut(stream, [at])) == expected
        assert tap.heard().text == said


@pytest.mark.requirement("proxy.stream")
@pytest.mark.parametrize(("wire", "stream", "place", "said"), STREAMS, ids=["openai", "anthropic"])
@given(data=st.data())
def test_however_a_stream_is_cut(
    wire: Wire, stream: bytes, place: int, said: str, data: st.DataObject
) -> None:
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=40))
    ending = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = stream.replace(b"\r\n", b"\n")
    place = stream.index(b"}\n\n", stream.index(b"message_start") if wire is ANTHROPIC else 0)
    expected = (stream[:place] + ADDED + stream[place:]).replace(b"\n", ending)
    tap = MemoryTap(wire, MEMORIES)
    whole = stream.replace(b"\n", ending)
    assert passed(tap, cut(whole, [min(one, len(whole)) for one in places])) == expected
    assert tap.heard().text == said


@pytest.mark.requirement("proxy.stream")
@given(
    st.binary(max_size=300)
    | st.text(alphabet='data: {}"[]\r\n,error1', max_size=200).map(str.encode),
    st.lists(st.integers(0, 300), max_size=10),
)
@example(b'data: {"error": {"message": "no"}}\n\n', [])
@example(b"data: [DONE]\n\ndata: {}\n\n", [3])
@example(b"data: {}\r\n\r\n", [8, 9])
def test_whatever_comes_comes_out(stream: bytes, places: list[int]) -> None:
    tap = MemoryTap(OPENAI, MEMORIES)
    out = passed(tap, cut(stream, [min(one, len(stream)) for one in places]))
    bare = f'"memories":{MEMORIES}'.encode()
    assert stream in (out, out.replace(ADDED, b"", 1), out.replace(bare, b"", 1))
    tap.heard()


def test_only_the_first_event_is_held_back() -> None:
    splicer = EventSplicer("memories", "[]", OPENAI.may_carry)
    assert splicer.feed(b": keep alive\n\ndata: {") == b": keep alive\n\n"
    assert splicer.feed(b'"a":1}') == b""
    assert splicer.feed(b"\n") == b'data: {"a":1,"memories":[]}\n'
    assert splicer.feed(b"\ndata: {") == b"\ndata: {"


def test_nothing_is_added_after_a_first_event_that_is_no_object() -> None:
    for first in (b"data: [DONE]", b"data: hello", b'data: {"error": 1}', b"data: {\ndata: }"):
        stream = first + b"\n\n" + OPENAI_STREAM
        assert passed(MemoryTap(OPENAI, MEMORIES), [stream]) == stream
    stream = ANTHROPIC_STREAM.replace(b"message_start", b"message_other")
    assert passed(MemoryTap(ANTHROPIC, MEMORIES), [stream]) == stream


def test_a_line_without_end_is_not_held_back_for_ever() -> None:
    splicer = EventSplicer("memories", "[]", OPENAI.may_carry)
    piece = b"x" * 65_536
    out = [splicer.feed(piece) for _ in range(32)]
    assert b"".join(out) == piece * 32


def test_events_are_read_across_lines_and_without_a_last_empty_one() -> None:
    reader = EventReader()
    stream = b'event: a\ndata: {"n":\ndata: 1}\n\ndata: nonsense\n\n:\n\ndata: {"n": 2}'
    assert [*reader.feed(stream), *reader.finish()] == [{"n": 1}, {"n": 2}]


def test_an_event_that_is_too_large_is_not_heard_and_the_next_one_is() -> None:
    reader = EventReader()
    large = b'data: {"text": "' + b"x" * 2_000_000 + b'"}\n\n'
    found = [
        *reader.feed(large[:70]),
        *reader.feed(large[70:]),
        *reader.feed(b'data: {"n": 1}\n\n'),
    ]
    assert found == [{"n": 1}]


NAMES = [
    *("choices", "delta", "content", "tool_calls", "function", "name", "arguments", "index", "id"),
    *("type", "text", "message", "content_block", "partial_json", "input", "refusal", "role"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(json_values.filter(lambda one: isinstance(one, dict)), max_size=5))
def test_no_event_or_answer_is_too_odd_to_be_heard(events: list[dict[str, Any]]) -> None:
    for wire in (OPENAI, ANTHROPIC):
        ear = wire.ear()
        for event in events:
            ear.hear(event)
            wire.said_by(event)
        ear.heard()


@pytest.mark.requirement("faults.fuzzed")
@pytest.mark.parametrize("at", [0, 3, 8, 1_500_000])
def test_an_event_that_is_too_large_is_not_heard_however_it_is_cut(at: int) -> None:
    large = b"data: " + b"x" * 2_000_000 + b'\ndata: {"n": 1}\n\n'
    stream = large + b": " + b"y" * 2_000_000 + b'\ndata: {"n": 2}\n\n'
    reader = EventReader()
    found = [event for part in cut(stream, [at]) for event in reader.feed(part)]
    assert found == [{"n": 2}]


@pytest.mark.requirement("faults.fuzzed")
def test_many_lines_before_a_long_one_are_not_copied_with_each_of_them() -> None:
    stream = b"\n" * 100_000 + b"x" * 50_000_000
    assert EventSplicer("memories", "[]", OPENAI.may_carry).feed(stream) == stream
