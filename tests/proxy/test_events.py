"""Streams are cut anywhere by the network; what comes out is what went in, and one addition."""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from ricordo.providers.event_stream import EventReader
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
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
OPENAI_ADDED = OPENAI_STREAM[:FIRST] + ADDED + OPENAI_STREAM[FIRST:]
ANTHROPIC_STREAM = (
    b'event: ping\r\ndata: {"type": "ping"}\r\n\r\n'
    b'event: message_start\r\ndata: {"type": "message_start", "message": {"id": "m"}}\r\n\r\n'
    b'event: content_block_start\r\ndata: {"type": "content_block_start", "index": 0,'
    b' "content_block": {"type": "text", "text": ""}}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"type": "content_block_delta", "index": 0,'
    b' "delta": {"type": "text_delta", "text": "Tea."}}\r\n\r\n'
    b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n'
)
ANTHROPIC_ADDED = ANTHROPIC_STREAM.replace(
    b'"id": "m"}}', b'"id": "m"' + ADDED + b"}" + ADDED + b"}"
)


def event(kind: str, **more: Any) -> bytes:
    data = json.dumps({"type": f"response.{kind}", **more}, ensure_ascii=False).encode()
    return f"event: response.{kind}\n".encode() + b"data: " + data + b"\n\n"


PART: dict[str, Any] = {"output_index": 0, "content_index": 0}
ITEM: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
GREEN = {**ITEM, "content": [{"type": "output_text", "text": "Grün ☕ tea."}]}
RESPONSES_STREAM = (
    event("created", response={"id": "r", "output": [], "n": 0.10})
    + event("in_progress", response={"id": "r", "output": []})
    + event("output_item.added", output_index=0, item=ITEM)
    + event("output_text.delta", **PART, delta="Grün ")
    + event("output_text.delta", **PART, delta="☕ tea.")
    + event("output_item.done", output_index=0, item=GREEN)
    + event("completed", response={"id": "r", "output": [GREEN]})
    + event("after", response={"id": "r"})
)
RESPONSES_ADDED = RESPONSES_STREAM
for _next in (b"}\n\nevent: response.in_progress", b"}\n\nevent: response.after"):
    RESPONSES_ADDED = RESPONSES_ADDED.replace(b"}" + _next, ADDED + b"}" + _next)


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


def passed(tap: MemoryStreamFilter, chunks: Iterable[bytes]) -> bytes:
    return b"".join([tap.feed(one) for one in chunks] + [tap.flush()])


STREAMS: Sequence[tuple[Wire, bytes, bytes, str]] = [
    (OPENAI, OPENAI_STREAM, OPENAI_ADDED, "Grün ☕ tea."),
    (ANTHROPIC, ANTHROPIC_STREAM, ANTHROPIC_ADDED, "Tea."),
    (RESPONSES, RESPONSES_STREAM, RESPONSES_ADDED, "Grün ☕ tea."),
]
NAMES = ["openai", "anthropic", "responses"]


@pytest.mark.requirement("proxy.stream")
@pytest.mark.parametrize(("wire", "stream", "added", "said"), STREAMS, ids=NAMES)
def test_every_way_to_cut_a_stream_in_two(
    wire: Wire, stream: bytes, added: bytes, said: str
) -> None:
    stream, added = (one.replace(b"\r\n", b"\n") for one in (stream, added))
    for ending in (b"\n", b"\r\n", b"\r"):
        whole = stream.replace(b"\n", ending)
        for at in range(0, len(whole) + 1, 1 if ending == b"\r\n" else 7):
            tap = MemoryStreamFilter(wire, {"memories": MEMORIES})
            assert passed(tap, cut(whole, [at])) == added.replace(b"\n", ending)
            assert tap.message().text == said


@pytest.mark.requirement("proxy.observes")
def test_a_response_that_breaks_off_is_heard_as_far_as_it_came() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    stream = (
        event("created", response={"id": "r"})
        + event("output_text.delta", **PART, delta="Green")
        + event("output_text.delta", **{**PART, "content_index": 1}, delta="tea")
        + event("output_item.added", output_index=1, item=call)
        + event("function_call_arguments.delta", output_index=1, delta='{"a"')
        + event("output_item.added", output_index=2, item={"type": "web_search_call", "id": "w"})
    )
    tap = MemoryStreamFilter(RESPONSES, {"memories": MEMORIES})
    tap.feed(stream)
    heard = tap.message()
    assert heard.text == "Green\ntea"
    assert [one.id for one in tap.ids] == ["r", "w"]
    (called,) = heard.calls
    assert called["function"] == {"name": "f", "arguments": '{"a"'}


def test_nothing_is_added_after_a_first_event_that_is_no_object() -> None:
    for first in (b"data: [DONE]", b"data: hello", b'data: {"error": 1}', b"data: {\ndata: }"):
        stream = first + b"\n\n" + OPENAI_STREAM
        assert passed(MemoryStreamFilter(OPENAI, {"memories": MEMORIES}), [stream]) == stream
    stream = ANTHROPIC_STREAM.replace(b"message_start", b"message_other")
    assert passed(MemoryStreamFilter(ANTHROPIC, {"memories": MEMORIES}), [stream]) == stream
    for kind in (b"created", b"completed"):
        stream = RESPONSES_STREAM.replace(b"response." + kind, b"response.other")
        assert (
            passed(MemoryStreamFilter(RESPONSES, {"memories": MEMORIES}), [stream]).count(ADDED)
            == 1
        )


def test_only_the_first_event_is_held_back_and_no_line_for_ever() -> None:
    splicer = EventSplicer({"memories": "[]"}, OPENAI.carrier)
    assert splicer.feed(b": keep alive\n\ndata: {") == b": keep alive\n\n"
    assert splicer.feed(b'"a":1}') == b""
    assert splicer.feed(b"\n") == b'data: {"a":1,"memories":[]}\n'
    assert splicer.feed(b"\ndata: {") == b"\ndata: {"
    splicer = EventSplicer({"memories": "[]"}, OPENAI.carrier)
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
    assert EventSplicer({"memories": "[]"}, OPENAI.carrier).feed(stream) == stream
