"""Addresses of endpoints, and which certificates are trusted there."""

import ssl

import pytest

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_URL_CHARS
from ricordo.providers.endpoint import is_nearby, split_url, trusted_at


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


def test_which_hosts_a_proxy_is_not_for() -> None:
    hosts = ("127.0.0.1:1", "[::1]:1", "10.0.0.5", "localhost", "ollama:11434")
    assert all(is_nearby(f"http://{host}/v1") for host in hosts)
    assert not any(is_nearby(f"https://{host}/v1") for host in ("api.openai.com", "8.8.8.8"))


def test_plain_http_nearby_trusts_nobody_and_checks_all_the_same() -> None:
    for url in ("http://127.0.0.1:8080/v1", "http://localhost", "http://[::1]/v1"):
        context = trusted_at(url)
        assert isinstance(context, ssl.SSLContext)
        assert context.get_ca_certs() == []
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    for url in ("https://127.0.0.1/v1", "https://example.org/v1", "http://example.org/v1"):
        assert trusted_at(url) is True  # as the machine does
