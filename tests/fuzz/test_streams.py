"""Streams of all wire formats, in any shape and cut anywhere: chunks say what the whole says."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidValue
from ricordo.providers.event_stream import EventReader
from ricordo.proxy import stream as stream_module
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.kept import ids_named
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.stream import EventSplicer, MemoryStreamFilter
from ricordo.proxy.wire import JsonObject, Wire, dumped, read_object
from tests.fuzz.mutating import altered, mutated, mutated_bytes, odd_texts
from tests.fuzz.running import FUZZ
from tests.proxy.test_events import ANTHROPIC_STREAM, OPENAI_STREAM, RESPONSES_STREAM

pytestmark = pytest.mark.requirement("faults.fuzzed")

MEMORIES = '[{"id":1,"text":"tea"}]'
MORE_STREAMS = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":'
    b'{"name":"f","arguments":"{\\"a\\":"}}]}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":'
    b'[{"index":0,"function":{"arguments":"1}"}}]}}]}\r\n\r\ndata:{"n":\ndata:1}\n\n'
    b": ping\n\nid: 5\rretry: 10\r\rdata: [DONE]\n\n",
    b'data: {"type":"message_start"}\n\ndata: {"index":0,"content_block":{"type":"tool_use",'
    b'"id":"t","name":"f","input":{}}}\n\ndata: {"index":0,"delta":{"partial_json":"{\\"a\\":1}"}}'
    b"\n\n" + b"data: " + b"x" * 90 + b'\ndata: {"n":1}\n\nevent: x\ndata: {"type":"ping"}\n\n',
)
STREAMS = (OPENAI_STREAM, ANTHROPIC_STREAM, RESPONSES_STREAM, *MORE_STREAMS)
streams = mutated_bytes(STREAMS) | mutated([stream.decode("utf-8") for stream in STREAMS]).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
wires = st.sampled_from((OPENAI, ANTHROPIC, RESPONSES))
places = st.lists(st.integers(0, 2_000), max_size=30)
REQUESTS: tuple[dict[str, Any], ...] = (
    {
        "model": "m",
        "user": "ana",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": "x"}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Tea?"}]},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
            {"role": "tool", "content": "1"},
        ],
    },
    {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {}}],
        "metadata": {"user_id": "ana"},
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "content": "1"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "input": {}}]},
        ],
    },
    {
        "instructions": "Be brief.",
        "previous_response_id": "r",
        "input": [
            {"role": "developer", "content": "x"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
        ],
    },
    {"input": "Tea?", "prompt": {"id": "p"}},
    {"input": [{"role": "system", "content": "x"}, {"role": "user", "content": "Tea?"}]},
    {"system": "Be brief.", "messages": [{"role": "user", "content": "Tea?"}]},
    {"messages": []},
)
NAMES = (
    "messages",
    "input",
    "instructions",
    "role",
    "content",
    "system",
    "type",
    "text",
    "user",
    "metadata",
    "tool_calls",
)


def cut(stream: bytes, at: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(stream)) for place in at), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def read(chunks: Iterable[bytes]) -> list[bytes]:
    reader = EventReader(stream_module._MAX_EVENT_BYTES)
    found = [event for chunk in chunks for event in reader.feed(chunk)]
    return [*found, *reader.finish()]


@FUZZ
@given(streams, places, wires)
def test_chunks_say_what_the_whole_says(stream: bytes, at: list[int], wire: Wire) -> None:
    parts = cut(stream, at)
    assert read(parts) == read([stream])
    whole, chunked = (
        MemoryStreamFilter(wire, {"memories": MEMORIES}),
        MemoryStreamFilter(wire, {"memories": MEMORIES}),
    )
    out = whole.feed(stream) + whole.flush()
    assert b"".join(chunked.feed(part) for part in parts) + chunked.flush() == out
    assert chunked.message() == whole.message()


@FUZZ
@given(streams, places, st.sampled_from((20, 60, 100)))
def test_chunks_say_what_the_whole_says_also_of_events_that_are_too_large(
    stream: bytes, at: list[int], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stream_module, "_MAX_EVENT_BYTES", most)
        assert read(cut(stream, at)) == read([stream])


@FUZZ
@given(streams, places, wires)
def test_all_that_comes_goes_on_and_no_more_than_the_memories_with_it(
    stream: bytes, at: list[int], wire: Wire
) -> None:
    splicer = EventSplicer({"memories": MEMORIES}, wire.carrier)
    out = b"".join(splicer.feed(part) for part in cut(stream, at)) + splicer.flush()
    added = f'"memories":{MEMORIES}'.encode()
    assert out.replace(b"," + added, b"").replace(added, b"") == stream
    # At the beginning and at the end of an answer, of which a spoiled stream may have several.
    assert out.count(added) <= (1 if wire is OPENAI else max(2, stream.count(b'"type"')))


@FUZZ
@given(altered(REQUESTS, NAMES), mutated_bytes([json.dumps(one).encode() for one in REQUESTS]))
def test_what_a_request_names_is_found_or_it_is_refused(body: Any, raw: bytes) -> None:
    for sent in (json.dumps(body).encode("utf-8"), raw):
        try:
            found = {(one.parameter, one.id.id) for one in ids_named("/responses", sent)}
        except InvalidValue:
            continue
        kept = RESPONSES.goes_on(JsonObject.read(sent) or JsonObject("{}", {}))
        name = "previous_response_id" if kept and kept.is_response else "conversation"
        assert kept is None or (name, kept.id) in found


@FUZZ
@given(altered(REQUESTS, NAMES), st.sampled_from((None, 1)), odd_texts, wires)
def test_a_request_keeps_all_that_it_says_and_says_the_memories_besides(
    body: Any, indent: int | None, memories: str, wire: Wire
) -> None:
    raw = json.dumps(body, indent=indent).encode("utf-8")
    request = JsonObject.read(raw)
    assert (request is None) == (not isinstance(body, dict))
    if request is None:
        return
    wire.user_in(request)
    wire.messages_in(request)
    changed = wire.with_system(request, memories)
    if changed == request.text:
        return
    again = read_object(changed.encode("utf-8"))
    before = read_object(raw)
    assert again is not None and before is not None
    anywhere = dict.fromkeys(("messages", "system", "input", "instructions"), 0)
    assert {**again, **anywhere} == {**before, **anywhere}
    assert dumped(memories)[1:-1] in changed


@FUZZ
@given(mutated([json.dumps(request) for request in REQUESTS]), wires)
def test_a_body_that_is_no_request_is_passed_over(text: str, wire: Wire) -> None:
    request = JsonObject.read(text.encode("utf-8", "surrogatepass"))
    if request is not None:
        wire.user_in(request)
        wire.messages_in(request)
        changed = wire.with_system(request, "tea")
        assert JsonObject.read(changed.encode("utf-8", "surrogatepass")) is not None
