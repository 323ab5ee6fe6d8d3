"""Which certificates a client of an endpoint trusts."""

import ssl

import pytest

from ricordo.endpoints.certificates import trusted_at


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost", "http://[::1]/v1"])
def test_plain_http_nearby_trusts_nobody_and_checks_all_the_same(url: str) -> None:
    context = trusted_at(url)
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/v1", "https://example.org/v1", "http://example.org/v1"]
)
def test_everything_else_trusts_what_the_machine_trusts(url: str) -> None:
    assert trusted_at(url) is True
