"""Addresses of endpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.endpoints.addresses import is_nearby, split_url
from ricordo.errors import InvalidValue
from ricordo.limits import MAX_URL_CHARS


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "expected http://"),
        ("ftp://e.example", "expected http://"),
        ("http://e.example:0", "expected http://"),
        ("http://e.example:99999", "expected http://"),
        ("http://[::1", "expected http://"),
        ("http://ana:pw@e.example", "must not contain a name or password"),
        ("http://e.example/v1?x=1", "must not contain"),
        ("http://e.example/v1#x", "must not contain"),
        ("http://é.example", "only plain ASCII"),
        ("http://e.example/\r\nX: 1", "only plain ASCII"),
        ("http://e.example\\@evil.example", "only plain ASCII"),
        ("http://e.example/" + "x" * MAX_URL_CHARS, "allowed: at most"),
    ],
)
def test_what_is_no_address(url: str, problem: str) -> None:
    with pytest.raises(InvalidValue, match=f"base_url: .*{problem}"):
        split_url(url)


@given(st.text(max_size=40).map(lambda rest: f"http://{rest}"))
def test_any_text_is_an_address_or_an_invalid_value(url: str) -> None:
    try:
        parts = split_url(url)
    except InvalidValue:
        return
    assert parts.hostname
    assert parts.port is None or 0 < parts.port < 65_536
    assert is_nearby(url) in (True, False)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://10.0.0.5/v1", True),
        ("http://localhost/v1", True),
        ("http://ollama:11434/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
    ],
)
def test_which_hosts_a_proxy_is_not_for(url: str, expected: bool) -> None:
    assert is_nearby(url) is expected
