"""Streams are cut anywhere by the network; what comes out is what went in, and one addition."""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from ricordo.providers.event_stream import EventReader
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.stream import EventSplicer, MemoryStreamFilter
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


def passed(tap: MemoryStreamFilter, chunks: Iterable[bytes]) -> bytes:
    return b"".join([tap.feed(one) for one in chunks] + [tap.flush()])


STREAMS: Sequence[tuple[Wire, bytes, int, str]] = [
    (OPENAI, OPENAI_STREAM, FIRST, "Grün ☕ tea."),
    (ANTHROPIC, ANTHROPIC_STREAM, START, "Tea."),
]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.parametrize(("wire", "stream", "place", "said"), STREAMS, ids=["openai", "anthropic"])
def test_every_way_to_cut_a_stream_in_two(wire: Wire, stream: bytes, place: int, said: str) -> None:
    added = (stream[:place] + ADDED + stream[place:]).replace(b"\r\n", b"\n")
    for ending in (b"\n", b"\r\n", b"\r"):
        whole = stream.replace(b"\r\n", b"\n").replace(b"\n", ending)
        for at in range(0, len(whole) + 1, 1 if ending == b"\r\n" else 7):
            tap = MemoryStreamFilter(wire, MEMORIES)
            assert passed(tap, cut(whole, [at])) == added.replace(b"\n", ending)
            assert tap.message().text == said


def test_nothing_is_added_after_a_first_event_that_is_no_object() -> None:
    for first in (b"data: [DONE]", b"data: hello", b'data: {"error": 1}', b"data: {\ndata: }"):
        stream = first + b"\n\n" + OPENAI_STREAM
        assert passed(MemoryStreamFilter(OPENAI, MEMORIES), [stream]) == stream
    stream = ANTHROPIC_STREAM.replace(b"message_start", b"message_other")
    assert passed(MemoryStreamFilter(ANTHROPIC, MEMORIES), [stream]) == stream


def test_only_the_first_event_is_held_back_and_no_line_for_ever() -> None:
    splicer = EventSplicer("memories", "[]", OPENAI.may_carry)
    assert splicer.feed(b": keep alive\n\ndata: {") == b": keep alive\n\n"
    assert splicer.feed(b'"a":1}') == b""
    assert splicer.feed(b"\n") == b'data: {"a":1,"memories":[]}\n'
    assert splicer.feed(b"\ndata: {") == b"\ndata: {"
    splicer = EventSplicer("memories", "[]", OPENAI.may_carry)
    piece = b"x" * 65_536
    assert b"".join(splicer.feed(piece) for _ in range(32)) == piece * 32


def test_events_are_read_across_lines_and_without_a_last_empty_one() -> None:
    reader = EventReader(1024)
    stream = b'event: a\ndata: {"n":\ndata: 1}\n\ndata: nonsense\n\n:\n\ndata: {"n": 2}'
    events = [*reader.feed(stream), *reader.finish()]
    assert events == [b' {"n":\n 1}', b" nonsense", b' {"n": 2}']


@pytest.mark.requirement("faults.fuzzed")
def test_an_event_that_is_too_large_is_not_heard_however_it_is_cut() -> None:
    large = b"data: " + b"x" * 2_000_000 + b'\ndata: {"n": 1}\n\n'
    stream = large + b": " + b"y" * 2_000_000 + b'\ndata: {"n": 2}\n\n'
    for at in (0, 3, 8, 1_500_000):
        reader = EventReader(1024 * 1024)
        found = [event for part in cut(stream, [at]) for event in reader.feed(part)]
        assert found == [b' {"n": 2}']


@pytest.mark.requirement("faults.fuzzed")
def test_many_lines_before_a_long_one_are_not_copied_with_each_of_them() -> None:
    stream = b"\n" * 100_000 + b"x" * 5_000_000
    assert EventSplicer("memories", "[]", OPENAI.may_carry).feed(stream) == stream
