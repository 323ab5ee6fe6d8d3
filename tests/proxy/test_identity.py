"""For whom a chat is, to which conversation it belongs, and which headers pass."""

import pytest

from ricordo import InvalidValue
from ricordo.proxy.headers import from_upstream, to_upstream
from ricordo.proxy.identity import thread_of, user_in_body


@pytest.mark.requirement("proxy.openai")
@pytest.mark.parametrize(
    ("named", "user"),
    [("ana", "ana"), ("", None), (None, None), ("*", None), ("x" * 201, None), ("a\nb", None)],
)
def test_the_user_in_a_body(named: str | None, user: str | None) -> None:
    assert user_in_body(named) == user


@pytest.mark.parametrize("name", ["x" * 201, "a\x01b"])
def test_a_thread_with_a_name_that_cannot_be(name: str) -> None:
    with pytest.raises(InvalidValue, match="thread"):
        thread_of({"X-Ricordo-Thread": name}, "")


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
    given = [
        ("Content-Type", "text/event-stream"),
        ("Content-Length", "12"),
        ("Set-Cookie", "a=b"),
        ("Connection", "close"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Encoding", "gzip"),
        ("X-Request-Id", "r"),
        ("Retry-After", "3"),
        ("x-ratelimit-remaining-tokens", "5"),
        ("anthropic-ratelimit-requests-limit", "6"),
        ("openai-processing-ms", "7"),
        ("Server", "upstream"),
    ]
    raw = [(name.encode(), value.encode()) for name, value in given]
    assert from_upstream(raw) == {
        "content-type": "text/event-stream",
        "x-request-id": "r",
        "retry-after": "3",
        "x-ratelimit-remaining-tokens": "5",
        "anthropic-ratelimit-requests-limit": "6",
        "openai-processing-ms": "7",
    }
