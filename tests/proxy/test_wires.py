"""Where memory is put into a request, and that nothing else of it changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import InvalidValue
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.service import ChatRequest, thread_of, user_in_body
from ricordo.proxy.upstream import from_upstream, to_upstream
from ricordo.proxy.wire import (
    ASSISTANT,
    TOOL,
    USER,
    ChatMessage,
    JsonObject,
    Wire,
    read_object,
    with_last,
)

pytestmark = pytest.mark.requirement("proxy.openai")

TEXT = 'What is known: "tea" ☕\nand more'
SYSTEM = {"role": "system", "content": "Be brief."}
DEVELOPER = {"role": "developer", "content": "Be kind."}
HELLO = {"role": "user", "content": "Hello"}
OURS = {"role": "system", "content": TEXT}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


CACHED = {**text_block("a"), "cache_control": {"type": "ephemeral"}}


def injected(wire: Wire, body: object) -> Any:
    return json.loads(ChatRequest.parse(wire, json.dumps(body).encode()).with_system(TEXT))


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
        ({"system": "Be brief."}, [text_block("Be brief."), text_block(TEXT)]),
        ({"system": [CACHED]}, [CACHED, text_block(TEXT)]),
        ({"system": []}, [text_block(TEXT)]),
        ({"system": 3}, 3),
    ],
)
def test_after_the_callers_own_system_blocks(before: dict[str, Any], after: object) -> None:
    body = {"model": "m", "messages": [HELLO], **before}
    assert injected(ANTHROPIC, body) == {**body, "system": after}


BRIEF = {"instructions": "Be brief."}
BRIEF_AFTER = {"instructions": f"Be brief.\n\n{TEXT}"}
TOLD = {"instructions": TEXT}


@pytest.mark.requirement("proxy.responses")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"input": "Hello"}, {**TOLD, "input": "Hello"}),
        ({"input": "Hello", **BRIEF}, {"input": "Hello", **BRIEF_AFTER}),
        ({"input": "Hello", "instructions": None}, {"input": "Hello", **TOLD}),
        ({"input": "Hello", "instructions": ""}, {"input": "Hello", **TOLD}),
        ({"input": "Hello", "instructions": [3]}, {"input": "Hello", "instructions": [3]}),
        ({"input": [HELLO]}, {**TOLD, "input": [HELLO]}),
        ({"input": [SYSTEM, HELLO]}, {"input": [SYSTEM, OURS, HELLO]}),
        (
            {"input": [DEVELOPER, HELLO]},
            {"input": [DEVELOPER, {**OURS, "role": "developer"}, HELLO]},
        ),
        ({"input": [SYSTEM, HELLO], **BRIEF}, {"input": [SYSTEM, HELLO], **BRIEF_AFTER}),
        (
            {"input": [SYSTEM, HELLO], "previous_response_id": "r"},
            {"input": [SYSTEM, HELLO], "previous_response_id": "r", **TOLD},
        ),
        (
            {"input": [SYSTEM, HELLO], "conversation": {"id": "c"}},
            {"input": [SYSTEM, HELLO], "conversation": {"id": "c"}, **TOLD},
        ),
        ({"previous_response_id": "r"}, {"previous_response_id": "r", **TOLD}),
        (
            {"input": "Hello", "prompt": {"id": "p"}},
            {"input": [OURS, HELLO], "prompt": {"id": "p"}},
        ),
        (
            {"input": [HELLO], "prompt": {"id": "p"}},
            {"input": [OURS, HELLO], "prompt": {"id": "p"}},
        ),
        ({}, {}),
    ],
)
def test_in_the_instructions_or_after_the_callers_own_system_items(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert injected(RESPONSES, {"model": "m", **before}) == {"model": "m", **after}


EXACT = (
    '{ "n": [1e400, 0.10, 12345678901234567890123, -0.0, 1E+2],\n\t"seed":1, "seed" : 2,'
    ' "esc": "\\u00e9\\ud83d\\/", "messages" : [ {"role":"system","content":"a" } ,'
    ' {"role": "user","content":[{"type":"text","text":"Hi"}]} ], "stream":true }  \n'
)


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
    body = EXACT.replace("messages", "input").encode()
    changed = ChatRequest.parse(RESPONSES, body).with_system(TEXT)
    assert changed == body.replace(first, first + b"," + ours)
    body = body.replace(b'"seed":1', b'"instructions" : "\\u00e9\\/"')
    changed = ChatRequest.parse(RESPONSES, body).with_system(TEXT)
    assert changed == body.replace(b'e9\\/"', b"e9\\/\\n\\n" + text[1:])


def test_a_body_that_is_no_chat_stays_as_it_is() -> None:
    for body in (b"", b"no JSON", b"[]", b'{"messages": 3}', b"{}", b"\xff"):
        request = ChatRequest.parse(OPENAI, body)
        assert (request.with_system(TEXT), request.messages, request.user) == (body, (), None)
        assert ChatRequest.parse(ANTHROPIC, body).messages == ()
        response = ChatRequest.parse(RESPONSES, body)
        assert (response.with_system(TEXT), response.messages, response.kept) == (body, (), None)


def test_what_was_said_in_an_openai_request() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    body = {
        "user": "ana",
        "messages": [
            SYSTEM,
            {"role": "user", "content": [text_block("Look"), image, text_block("here")]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "assistant", "content": "It is 42."},
            {"role": "user", "content": [image]},
            "odd",
            {"role": 3, "content": "odd"},
        ],
    }
    request = ChatRequest.parse(OPENAI, json.dumps(body).encode())
    assert request.user == "ana"
    assert request.messages == (
        ChatMessage(USER, "Look\nhere"),
        ChatMessage(ASSISTANT, "", (call,)),
        ChatMessage(TOOL, "42"),
        ChatMessage(ASSISTANT, "It is 42."),
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
    assert request.messages == (
        ChatMessage(USER, "Hello"),
        ChatMessage(ASSISTANT, "Well", (call,)),
        ChatMessage(TOOL, "42"),
        ChatMessage(TOOL, "43"),
        ChatMessage(USER, "And now?"),
    )


@pytest.mark.requirement("proxy.responses")
def test_what_was_said_in_a_request_for_a_response() -> None:
    called = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"}
    plain = {"type": "custom_tool_call", "call_id": "c2", "name": "sh", "input": "ls"}
    shell = {"type": "local_shell_call", "id": "l", "call_id": "c3", "action": {"command": ["ls"]}}
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    body = {
        "user": "ana",
        "input": [
            SYSTEM,
            {"role": "user", "content": [{"type": "input_text", "text": "Look"}, image]},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "I look", "annotations": []},
                    {"type": "refusal", "refusal": "not there"},
                ],
            },
            {"type": "web_search_call", "id": "ws", "status": "completed"},
            called,
            plain,
            shell,
            {"type": "function_call_output", "call_id": "c1", "output": "42"},
            {
                "type": "custom_tool_call_output",
                "call_id": "c2",
                "output": [{"type": "input_text", "text": "43"}],
            },
            {"role": "assistant", "content": "It is 42."},
            {"role": "user", "content": [image]},
            {"role": "assistant", "content": "I see."},
            {"type": "item_reference", "id": "msg"},
            {"type": 3},
            "odd",
        ],
    }
    request = ChatRequest.parse(RESPONSES, json.dumps(body).encode())
    assert request.user == "ana"
    function = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    others = (
        {"id": "c2", "type": "custom_tool_call", "name": "sh", "input": "ls"},
        {
            "id": "c3",
            "type": "local_shell_call",
            "name": "local_shell",
            "input": {"command": ["ls"]},
        },
    )
    assert request.messages == (
        ChatMessage(USER, "Look"),
        ChatMessage(ASSISTANT, "I look\nnot there", (function, *others)),
        ChatMessage(TOOL, "42"),
        ChatMessage(TOOL, "43"),
        ChatMessage(ASSISTANT, "It is 42."),
        ChatMessage(ASSISTANT, "I see."),
    )
    plain_text = ChatRequest.parse(RESPONSES, b'{"input": "Hello"}')
    assert plain_text.messages == (ChatMessage(USER, "Hello"),)


NUMBERS = (
    b'{"a": 1e400, "b":0.10,"c": 12345678901234567890123, "d": -0.0, "e": 1E+2, "f": 9'
    + b"9" * 5_000
    + b"}"
)


def test_an_object_is_read_as_it_is_and_added_to_in_front_or_behind() -> None:
    body = b' {"a": 1, "a": [2, {"b": "\xc3\xa9"}], "b": 3 }\n'
    read = JsonObject.read(body)
    assert read is not None
    found = {name: span.value for name, span in read.members.items()}
    assert found == json.loads(body) == read_object(body)
    spans = read.members["a"]  # of members with one name the last counts
    assert json.loads(read.raw(spans)) == spans.value == [2, {"b": "é"}]
    assert [one.value for one in read.elements(spans)] == spans.value
    assert read.with_first("zz", '"new"').encode() == body.replace(b"{", b'{"zz":"new",', 1)
    assert json.loads(with_last(body, {"zz": "[1]"})) == {**found, "zz": [1]}
    assert with_last(body, {"zz": "[1]"}).replace(b',"zz":[1]', b"") == body
    empty = JsonObject.read(b"{ }")
    assert empty is not None and json.loads(empty.with_first("zz", "1")) == {"zz": 1}
    assert json.loads(with_last(b"{ }", {"zz": "1"})) == {"zz": 1}


def test_numbers_of_any_size_are_no_trouble() -> None:
    read = JsonObject.read(NUMBERS)
    assert read is not None
    assert read.with_first("x", "1").encode() == NUMBERS.replace(b"{", b'{"x":1,')
    found = read_object(NUMBERS)
    assert found is not None
    json.dumps(found, allow_nan=False)


NO_OBJECTS = (
    *(b"", b" ", b"[]", b'"a"', b"{", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,}'),
    *(b'{"a" 1}', b"{a:1}", b'{"a":1} x', b'{"a":1}{}', b'\xff{"a":1}', b'{"a":"\xff"}'),
    *(b"\xef\xbb\xbf{}", '{"a":1}'.encode("utf-16")),
    b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
)


def test_whatever_is_no_object_is_not_read() -> None:
    for body in NO_OBJECTS:
        assert JsonObject.read(body) is None, body[:20]
        assert read_object(body) is None, body[:20]


@pytest.mark.requirement("proxy.openai")
def test_the_user_in_a_body() -> None:
    assert user_in_body("ana") == "ana"
    for nobody in ("", None, "*", "x" * 201, "a\nb"):
        assert user_in_body(nobody) is None


@pytest.mark.requirement("proxy.observes")
def test_the_thread() -> None:
    both = {"X-Ricordo-Thread": "mine", "X-OpenWebUI-Chat-Id": "theirs"}
    assert thread_of(both, "Hello") == "mine"
    del both["X-Ricordo-Thread"]
    assert thread_of(both, "Hello") == "theirs"
    told = thread_of({}, "Hello")
    assert told is not None and told.startswith("chat-") and len(told) == 21
    assert (thread_of({}, " Hello "), thread_of({}, "Hallo") != told) == (told, True)
    assert thread_of({}, " ") is None
    assert thread_of({}, "\ud800") is not None
    for name in ("x" * 201, "a\x01b"):
        with pytest.raises(InvalidValue, match="thread"):
            thread_of({"X-Ricordo-Thread": name}, "")


GIVEN = {
    "Host": "proxy",
    "Content-Length": "3",
    "Connection": "keep-alive, X-Once",
    "X-Once": "1",
    "Transfer-Encoding": "chunked",
    "Cookie": "secret",
    "Accept-Encoding": "gzip",
    "Authorization": "Bearer caller",
    "X-Api-Key": "caller",
    "X-Ricordo-User": "ana",
    "X-OpenWebUI-User-Email": "ana@example.org",
    "X-Forwarded-For": "10.0.0.1",
    "Origin": "http://page",
    "Content-Type": "application/json",
    "anthropic-beta": "tools",
    "X-Title": "caf\xe9",
}
KEPT = [
    (b"Content-Type", b"application/json"),
    (b"anthropic-beta", b"tools"),
    (b"X-Title", b"caf\xe9"),
    (b"accept-encoding", b"identity"),
]


@pytest.mark.requirement("proxy.openai")
def test_headers_to_the_upstream() -> None:
    key = ("authorization", "Bearer upstream")
    assert to_upstream(GIVEN, None, pass_credentials=False) == KEPT
    assert to_upstream(GIVEN, key, pass_credentials=True) == [
        *KEPT,
        (b"authorization", b"Bearer upstream"),
    ]
    passed = dict(to_upstream(GIVEN, None, pass_credentials=True))
    assert (passed[b"Authorization"], passed[b"X-Api-Key"]) == (b"Bearer caller", b"caller")


def test_headers_from_the_upstream() -> None:
    kept = {
        "content-type": "text/event-stream",
        "x-request-id": "r",
        "retry-after": "3",
        "x-ratelimit-remaining-tokens": "5",
        "anthropic-ratelimit-requests-limit": "6",
        "openai-processing-ms": "7",
    }
    dropped = {
        "Content-Length": "12",
        "Set-Cookie": "a=b",
        "Connection": "close",
        "Transfer-Encoding": "chunked",
        "Content-Encoding": "gzip",
        "Server": "upstream",
    }
    given = [(name.title().encode(), value.encode()) for name, value in {**kept, **dropped}.items()]
    assert from_upstream(given) == kept


roles = st.sampled_from(["system", "developer", "user", "assistant", "tool", "other"])


messages = st.lists(st.fixed_dictionaries({"role": roles, "content": st.text()}), max_size=6)


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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


odd = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "refusal", "type", "text", "call_id"]),
    json_values | st.sampled_from(["user", "assistant", "text", "tool_use", "function_call"]),
)


@given(st.lists(odd | json_values, max_size=4), json_values, json_values)
def test_no_request_is_too_odd(listed: list[Any], system: object, metadata: object) -> None:
    body = {"messages": listed, "system": system, "metadata": metadata, "user": metadata}
    body |= {"input": listed, "instructions": system, "conversation": metadata, "prompt": system}
    raw = json.dumps(body).encode()
    for wire in (OPENAI, ANTHROPIC, RESPONSES):
        request = ChatRequest.parse(wire, raw)
        _ = request.messages, request.user, request.kept
        json.loads(request.with_system(TEXT))
