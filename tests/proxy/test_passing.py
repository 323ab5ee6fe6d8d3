"""What passes through the proxy, byte by byte, with and without memory."""

import gzip
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import pytest

from ricordo import Memory, UserMemory
from ricordo.limits import MAX_PROXIED_ANSWER_BYTES
from tests.proxy.conftest import USER, served
from tests.proxy.test_calls import counts
from tests.proxy.test_openai_sdk import has_turns, texts
from tests.support.endpoints import FaultyModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.errors")

CHAT = "/v1/chat/completions"
QUESTION = "What does the user drink in the morning?"
ODD_BODY = (
    '{"model":"m",  "n": [1e400, 0.10, 12345678901234567890123], "n":3,\n "messages": [ {"role":'
    ' "user", "content": "What does the user drink in the morning?"} ], "é": "\\u00e9" }\n'
).encode()
ODD_ANSWER = (
    '{"id": "x", "n": 0.10, "big": 12345678901234567890123, "é":"\\u00e9", "choices": [{"index": 0,'
    ' "message": {"role": "assistant", "content": "Tea."}} ] , "usage":null }\r\n'
).encode()


def body_of(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def without_what_was_shown(body: bytes) -> bytes:
    text = body.decode()
    for name in (',"memories":', ',"quotes":'):
        start = text.index(name)
        _, end = json.JSONDecoder().raw_decode(text, start + len(name))
        text = text[:start] + text[end:]
    return text.encode()


@pytest.mark.requirement("proxy.anonymous")
def test_nothing_is_touched(http: httpx2.Client, model: FaultyModel, ana: UserMemory) -> None:
    for body in (ODD_BODY, b"no JSON at all", b"\xff\x00", b"[1]", b""):
        for headers in ({}, {"X-Ricordo-User": ""}):
            model.answer_bytes([ODD_ANSWER])
            answer = http.post(CHAT, content=body, headers=headers)
            assert (answer.status_code, answer.content) == (200, ODD_ANSWER)
            assert model.requests[-1].content == body
    assert list(ana.threads()) == []


@pytest.mark.requirement("proxy.anonymous")
def test_no_event_of_a_stream_is_touched(http: httpx2.Client, model: FaultyModel) -> None:
    parts = [b'data: {"choi', b'ces": []}\r\n\r', b"\n: x\n\n", b"data: [DONE]\n\n"]
    model.answer_bytes(parts, content_type="text/event-stream")
    answer = http.post(CHAT, json=body_of("Hello", stream=True))
    assert answer.content == b"".join(parts)
    assert answer.headers["content-type"] == "text/event-stream"


@pytest.mark.requirement("proxy.openai")
@pytest.mark.requirement("proxy.memories")
def test_everything_but_the_additions_is_untouched(
    http: httpx2.Client, model: FaultyModel, store: Memory, ana: UserMemory
) -> None:
    model.answer_bytes([ODD_ANSWER[:50], ODD_ANSWER[50:]])
    answer = http.post(CHAT, content=ODD_BODY, headers=USER)
    sent = model.requests[-1].content
    place = ODD_BODY.index(b'{"role":')
    added = len(sent) - len(ODD_BODY)
    assert added > 0 and sent[:place] + sent[place + added :] == ODD_BODY
    assert json.loads(sent[place : place + added - 1])["role"] == "system"
    assert without_what_was_shown(answer.content) == ODD_ANSWER
    assert len(answer.json()["memories"]) == 1
    wait_until(lambda: has_turns(ana, 2))
    # Where nothing is known nothing is added.
    model.answer_bytes([ODD_ANSWER])
    answer = http.post(CHAT, content=ODD_BODY, headers={"X-Ricordo-User": "ben"})
    assert model.requests[-1].content == ODD_BODY
    assert answer.json()["memories"] == []
    assert without_what_was_shown(answer.content) == ODD_ANSWER
    # What cannot be read is the upstream's to refuse, and what cannot be a thread ours.
    answer = http.post(CHAT, content=b'{"messages": ', headers=USER)
    assert answer.status_code == 400 and "parse" in answer.json()["error"]["message"]
    assert model.requests[-1].content == b'{"messages": '
    asked = len(model.requests)
    headers = {**USER, "X-Ricordo-Thread": "x" * 300}
    answer = http.post(CHAT, json=body_of("Hello"), headers=headers)
    assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid_request_error"
    assert len(model.requests) == asked


@pytest.mark.slow
@pytest.mark.requirement("proxy.memories")
def test_a_message_of_any_length_finds_its_memories(
    http: httpx2.Client, model: FaultyModel, ana: UserMemory
) -> None:
    model.answer("Tea.", times=2)
    long = f"{QUESTION} " * 40_000  # more than a prompt may have, and than a budget pays for
    answer = http.post(CHAT, json=body_of(long), headers=USER)
    assert [one["theme"] for one in answer.json()["memories"]] == ["drinks"]
    answer = http.post(CHAT, json=body_of(f"\x00 {QUESTION} \x00"), headers=USER)
    assert [one["theme"] for one in answer.json()["memories"]] == ["drinks"]
    wait_until(lambda: has_turns(ana, 4))


@pytest.mark.requirement("proxy.observes")
def test_answers_that_cannot_be_read_pass(
    http: httpx2.Client, model: FaultyModel, ana: UserMemory
) -> None:
    packed = gzip.compress(ODD_ANSWER)
    model.answer_bytes([packed], headers={"Content-Encoding": "gzip"})
    model.answer_bytes([b"<html>"], content_type="text/html")
    model.answer_bytes([b'{"error": {"message": "odd"}}'])
    large = [
        b'{"text": "',
        *[b"x" * 1_000_000] * (MAX_PROXIED_ANSWER_BYTES // 1_000_000 + 1),
        b'"}',
    ]
    model.answer_bytes(large)
    got = [http.post(CHAT, json=body_of(f"{n}?"), headers=USER).content for n in range(4)]
    assert got == [ODD_ANSWER, b"<html>", b'{"error": {"message": "odd"}}', b"".join(large)]
    wait_until(lambda: has_turns(ana, 4))
    said = [texts(ana, thread.thread_id) for thread in ana.threads()]
    assert sorted(said) == [[("user", f"{n}?")] for n in range(4)]


@pytest.mark.requirement("proxy.errors")
def test_an_upstream_that_does_not_answer(
    sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel
) -> None:
    with FaultyModel() as gone:
        url = gone.base_url
    settings = {"port": 0, "upstream_api_key": "sk-secret", "upstream_timeout_seconds": 0.2}
    model.hang_until(threading.Event())
    memory = open_store(sqlite_url, upstream_url=model.base_url, anthropic_url=url, **settings)
    with served(memory) as proxy, httpx2.Client(base_url=proxy, trust_env=False) as http:
        silent = http.post(CHAT, json=body_of("Hello"), headers=USER)
        away = http.post("/v1/messages", json=body_of("Hello"), headers=USER)
        assert counts(http) == {"timeout": 1, "unreachable": 1}
    assert (silent.status_code, silent.json()["error"]["code"]) == (504, "upstream_timeout")
    assert (away.status_code, away.json()["type"]) == (502, "error")
    assert "cannot be reached" in away.json()["error"]["message"]
    assert "sk-secret" not in away.text and "127.0.0.1" not in away.text
    memory = open_store(sqlite_url, upstream_url=url, **settings)
    with served(memory) as proxy, httpx2.Client(base_url=proxy, trust_env=False) as http:
        away = http.post(CHAT, json=body_of("Hello"), headers=USER)
        assert http.get("/v1/models").status_code == 502
        nowhere = http.post("/v1/messages", json=body_of("Hello"), headers=USER)
    assert (away.status_code, away.json()["error"]["code"]) == (502, "upstream_unreachable")
    assert nowhere.status_code == 503 and "anthropic_url" in nowhere.text
    assert list(memory.user("ana").threads()) == []


def test_keys_redirects_and_cookies(
    sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel
) -> None:
    model.required_key = "sk-upstream"
    memory = open_store(
        sqlite_url, port=0, upstream_url=model.base_url, upstream_api_key="sk-upstream"
    )
    caller = {"Authorization": "Bearer sk-caller", "Cookie": "c=1", **USER}
    with served(memory) as proxy, httpx2.Client(base_url=proxy, trust_env=False) as http:
        model.answer_bytes([b"{}"], headers={"Set-Cookie": "session=1; Path=/"})
        assert "set-cookie" not in http.post(CHAT, json=body_of("a"), headers=caller).headers
        model.answer("Yes.")
        assert http.post(CHAT, json=body_of("b"), headers=caller).status_code == 200
        model.fail_next(status=307, headers={"Location": "http://127.0.0.1:1/v1"})
        answer = http.post(CHAT, json=body_of("c"), headers=caller)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_redirects")
    for request in model.requests:
        sent = {name.lower(): value for name, value in request.headers.items()}
        assert sent["authorization"] == "Bearer sk-upstream"
        assert "cookie" not in sent and "x-ricordo-user" not in sent
        assert sent["accept-encoding"] == "identity"


def test_a_chat_goes_on_when_memory_fails(
    http: httpx2.Client,
    model: FaultyModel,
    store: Memory,
    ana: UserMemory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.database.backend.close()
    model.answer("Yes.", times=2)
    for _ in range(2):
        answer = http.post(CHAT, json=body_of(QUESTION), headers=USER)
        assert answer.status_code == 200
        assert (answer.json()["choices"][0]["message"]["content"], answer.json()["memories"]) == (
            "Yes.",
            [],
        )
    assert model.requests[-1].body == body_of(QUESTION)
    wait_until(lambda: caplog.text.count("a chat is not remembered") == 2)
    assert caplog.text.count("chats go on with less memory") == 1
    assert QUESTION not in caplog.text


@pytest.mark.requirement("proxy.observes")
def test_an_answer_that_breaks_off(
    http: httpx2.Client, model: FaultyModel, ana: UserMemory
) -> None:
    model.answer_broken(times=2)
    answer = http.post(CHAT, json=body_of("Whole?"), headers=USER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_broke_off")
    came = b""
    with (
        pytest.raises(httpx2.RemoteProtocolError),
        http.stream("POST", CHAT, json=body_of("Streamed?", stream=True), headers=USER) as stream,
    ):
        for chunk in stream.iter_raw():
            came += chunk
    assert b'"memories":[' in came and b"[DONE]" not in came
    wait_until(lambda: has_turns(ana, 2))
    (thread,) = ana.threads()
    (asked, heard) = texts(ana, thread.thread_id)
    assert asked == ("user", "Streamed?")
    assert "This is never read to its end.".startswith(heard[1]) and heard[0] == "assistant"


@pytest.mark.slow
@pytest.mark.requirement("proxy.stream")
@pytest.mark.requirement("proxy.observes")
def test_a_client_that_goes_away(http: httpx2.Client, model: FaultyModel, ana: UserMemory) -> None:
    """The upstream is told so, and what was heard until then is remembered."""

    def endless() -> Any:
        while True:
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "tea "}}]}\n\n'

    model.answer_bytes(endless(), content_type="text/event-stream")
    with http.stream("POST", CHAT, json=body_of("Tea?", stream=True), headers=USER) as stream:
        pieces = stream.iter_raw()  # which closes the connection when it is let go of
        next(pieces)
        assert counts(http) == {}  # it is not over
    assert model.wait_for_given_up()
    wait_until(lambda: has_turns(ana, 2) and counts(http) == {"left": 1})
    (thread,) = ana.threads()
    asked, heard = texts(ana, thread.thread_id)
    assert asked == ("user", "Tea?") and heard[1].startswith("tea ")


@pytest.mark.requirement("proxy.stream")
def test_a_client_that_goes_away_while_the_upstream_is_silent(
    http: httpx2.Client, model: FaultyModel, ana: UserMemory
) -> None:
    silent, begun = threading.Event(), b'data: {"choices": [{"delta": {"content": "tea"}}]}\n\n'
    parts = [begun, *[begun * 10_000] * 100]
    model.answer_bytes(
        parts,
        content_type="text/event-stream",
        before_part=lambda number: None if number == 0 else (silent.wait(60), None)[1],
    )
    with http.stream("POST", CHAT, json=body_of("Tea?", stream=True), headers=USER) as stream:
        next(stream.iter_raw())
    wait_until(lambda: has_turns(ana, 2))  # long before the upstream would say more
    silent.set()
    assert model.wait_for_given_up()
    (thread,) = ana.threads()
    assert texts(ana, thread.thread_id) == [("user", "Tea?"), ("assistant", "tea")]


@pytest.mark.requirement("proxy.openai")
def test_users_never_get_each_others_memories(
    http: httpx2.Client, model: FaultyModel, store: Memory
) -> None:
    users = [f"user{number}" for number in range(4)]
    for name in users:
        store.user(name).add(f"The favourite word of the user is {name}-word", theme="words")
    model.answer_with(lambda body: json.dumps(body["messages"]))

    def ask(number: int) -> None:
        name = users[number % len(users)]
        asked = body_of("What is the favourite word of the user?", stream=number % 3 == 0)
        answer = http.post(CHAT, json=asked, headers={"X-Ricordo-User": name})
        assert f"{name}-word" in answer.text
        assert not [one for one in users if one != name and f"{one}-word" in answer.text]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(8)))
    for name in users:
        user = store.user(name)
        wait_until(partial(has_turns, user, 2))
        assert all(
            name in turn for _, turn in texts(user, next(iter(user.threads())).thread_id)[1:]
        )


@pytest.mark.requirement("proxy.memories")
@pytest.mark.requirement("proxy.observes")
@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_error_that_is_null_is_none(
    http: httpx2.Client, model: FaultyModel, ana: UserMemory, is_streamed: bool
) -> None:
    told = {"delta" if is_streamed else "message": {"role": "assistant", "content": "Tea."}}
    answer = json.dumps({"choices": [{"index": 0, **told}], "error": None}).encode()
    if is_streamed:
        model.answer_bytes([b"data: ", answer, b"\n\n"], content_type="text/event-stream")
    else:
        model.answer_bytes([answer])
    came = http.post(CHAT, json=body_of(QUESTION, stream=is_streamed), headers=USER)
    assert b"green tea" in came.content and b'"error": null,"memories":[' in came.content
    wait_until(lambda: has_turns(ana, 2))


def test_headers_of_any_bytes_come_back(http: httpx2.Client, model: FaultyModel) -> None:
    named = "Łódź".encode()
    for content_type in ("application/json", "text/event-stream"):
        headers = {"openai-organization": named.decode("latin-1")}
        model.answer_bytes([b"{}"], content_type=content_type, headers=headers)
        answer = http.post(CHAT, json=body_of("Hello"), headers=USER)
        assert answer.status_code == 200
        assert (b"openai-organization", named) in answer.headers.raw
