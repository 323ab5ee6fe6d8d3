"""Where memory is put into a request, and that nothing else of it changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.request import ChatRequest
from ricordo.proxy.said import ASSISTANT, TOOL, USER, Said
from ricordo.proxy.wire import Wire

TEXT = 'What is known: "tea" ☕\nand more'
SYSTEM = {"role": "system", "content": "Be brief."}
DEVELOPER = {"role": "developer", "content": "Be kind."}
HELLO = {"role": "user", "content": "Hello"}
OURS = {"role": "system", "content": TEXT}


def injected(wire: Wire, body: object) -> Any:
    return json.loads(ChatRequest.parse(wire, json.dumps(body).encode()).with_system(TEXT))


@pytest.mark.requirement("proxy.openai")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([HELLO], [OURS, HELLO]),
        ([SYSTEM, HELLO], [SYSTEM, OURS, HELLO]),
        ([SYSTEM, SYSTEM, HELLO, SYSTEM], [SYSTEM, SYSTEM, OURS, HELLO, SYSTEM]),
        ([DEVELOPER, HELLO], [DEVELOPER, {**OURS, "role": "developer"}, HELLO]),
        ([SYSTEM], [SYSTEM, OURS]),
        ([], []),
        (["odd", HELLO], [OURS, "odd", HELLO]),
    ],
)
def test_after_the_callers_own_system_messages(before: list[Any], after: list[Any]) -> None:
    body = {"model": "m", "messages": before, "x_custom": {"a": [1]}}
    assert injected(OPENAI, body) == {**body, "messages": after}


@pytest.mark.requirement("proxy.anthropic")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, TEXT),
        ({"system": None}, TEXT),
        ({"system": ""}, TEXT),
        (
            {"system": "Be brief."},
            [{"type": "text", "text": "Be brief."}, {"type": "text", "text": TEXT}],
        ),
        (
            {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
            [
                {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": TEXT},
            ],
        ),
        ({"system": []}, [{"type": "text", "text": TEXT}]),
        ({"system": 3}, 3),
    ],
)
def test_after_the_callers_own_system_blocks(before: dict[str, Any], after: object) -> None:
    body = {"model": "m", "messages": [HELLO], **before}
    assert injected(ANTHROPIC, body) == {**body, "system": after}


EXACT = (
    '{ "n": [1e400, 0.10, 12345678901234567890123, -0.0, 1E+2],\n\t"seed":1, "seed" : 2,'
    ' "esc": "\\u00e9\\ud83d\\/", "messages" : [ {"role":"system","content":"a" } ,'
    ' {"role": "user","content":[{"type":"text","text":"Hi"}]} ], "stream":true }  \n'
)


@pytest.mark.requirement("proxy.openai")
@pytest.mark.requirement("proxy.anthropic")
def test_every_other_byte_stays() -> None:
    body = EXACT.encode()
    ours = json.dumps(OURS, ensure_ascii=False, separators=(",", ":")).encode()
    first = b'"content":"a" }'
    changed = ChatRequest.parse(OPENAI, body).with_system(TEXT)
    assert changed == body.replace(first, first + b"," + ours)
    text = json.dumps(TEXT, ensure_ascii=False).encode()
    changed = ChatRequest.parse(ANTHROPIC, body).with_system(TEXT)
    assert changed == b'{"system":' + text + b"," + body[1:]


roles = st.sampled_from(["system", "developer", "user", "assistant", "tool", "other"])
messages = st.lists(st.fixed_dictionaries({"role": roles, "content": st.text()}), max_size=6)


@pytest.mark.requirement("proxy.openai")
@given(messages, st.text(min_size=1), st.sampled_from([None, 2]), st.booleans())
def test_one_message_is_added_and_none_lost(
    given_messages: list[Any], text: str, indent: int | None, ensure_ascii: bool
) -> None:
    body = {"a": 1, "messages": given_messages, "b": [0.5]}
    raw = json.dumps(body, indent=indent, ensure_ascii=ensure_ascii).encode("utf-8")
    changed = json.loads(ChatRequest.parse(OPENAI, raw).with_system(text))
    added = [one for one in changed["messages"] if one not in given_messages]
    place = next(
        (
            number
            for number, one in enumerate(given_messages)
            if one["role"] not in ("system", "developer")
        ),
        len(given_messages),
    )
    if given_messages:
        assert changed["messages"][place]["content"] == text
        del changed["messages"][place]
    assert changed == body
    assert len(added) <= 1


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"messages": 3}', b"{}", b"\xff"])
def test_a_body_that_is_no_chat_stays_as_it_is(body: bytes) -> None:
    request = ChatRequest.parse(OPENAI, body)
    assert (request.with_system(TEXT), request.said, request.user) == (body, (), None)
    assert ChatRequest.parse(ANTHROPIC, body).said == ()


@pytest.mark.requirement("proxy.openai")
def test_what_was_said_in_an_openai_request() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {
        "user": "ana",
        "messages": [
            SYSTEM,
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                    {"type": "text", "text": "here"},
                ],
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "assistant", "content": "It is 42."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
            "odd",
            {"role": 3, "content": "odd"},
        ],
    }
    request = ChatRequest.parse(OPENAI, json.dumps(body).encode())
    assert request.user == "ana"
    assert request.said == (
        Said(USER, "Look\nhere"),
        Said(ASSISTANT, "", (call,)),
        Said(TOOL, "42"),
        Said(ASSISTANT, "It is 42."),
    )


@pytest.mark.requirement("proxy.anthropic")
def test_what_was_said_in_an_anthropic_request() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "42"}
    listed = {**result, "content": [{"type": "text", "text": "43"}, {"type": "image"}]}
    body = {
        "metadata": {"user_id": "ana"},
        "messages": [
            HELLO,
            {"role": "assistant", "content": [{"type": "text", "text": "Well"}, call]},
            {"role": "user", "content": [result, listed, {"type": "text", "text": "And now?"}]},
        ],
    }
    request = ChatRequest.parse(ANTHROPIC, json.dumps(body).encode())
    assert request.user == "ana"
    assert request.said == (
        Said(USER, "Hello"),
        Said(ASSISTANT, "Well", (call,)),
        Said(TOOL, "42"),
        Said(TOOL, "43"),
        Said(USER, "And now?"),
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)
odd = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "refusal", "type", "text"]),
    json_values | st.sampled_from(["user", "assistant", "text", "tool_use"]),
)


@given(st.lists(odd | json_values, max_size=4), json_values, json_values)
def test_no_request_is_too_odd(listed: list[Any], system: object, metadata: object) -> None:
    body = {"messages": listed, "system": system, "metadata": metadata, "user": metadata}
    raw = json.dumps(body).encode()
    for wire in (OPENAI, ANTHROPIC):
        request = ChatRequest.parse(wire, raw)
        _ = request.said, request.user
        json.loads(request.with_system(TEXT))
