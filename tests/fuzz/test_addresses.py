"""Addresses that user settings may name: no spelling leads to where they may not point."""

import contextlib
import ipaddress
import socket

import httpx2
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ricordo.errors import InvalidValue, RicordoError, TargetRefused
from ricordo.providers.address_guard import allowed_addresses, refusal
from ricordo.providers.endpoint import is_nearby, split_url
from ricordo.providers.guarded_transport import GuardedTransport
from tests.fuzz.mutating import mutated, odd_texts
from tests.fuzz.running import FUZZ
from tests.support.targets import check_target

pytestmark = pytest.mark.requirement("faults.fuzzed")

HOSTS = (
    *("127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "0", "127.0.0.1."),
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]"),
    *("[0:0:0:0:0:0:0:1]", "localhost", "LOCALHOST.", "169.254.169.254", "e.example", "e.example."),
    *("10.0.0.1", "[fd00::1]", "xn--n3h.example", "127.0.0.1.nip.io", "１２７.0.0.1", "①.example"),
)
URLS = tuple(
    f"{scheme}://{user}{host}{port}/v1"
    for scheme in ("http", "https")
    for user in ("", "ana@", "e.example:80@")
    for host in HOSTS
    for port in ("", ":80", ":0", ":65536", ":8o")
)
PUBLIC = "93.184.215.14"


def system_reads(host: str) -> str | None:
    """The address that the system takes a host for without asking anybody, if it is one."""
    try:
        found = socket.getaddrinfo(host, 80, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


def numeric_resolve(host: str, port: int) -> list[str]:
    """As the system does it, and for every name some address of the whole internet."""
    return [system_reads(host) or PUBLIC]


@FUZZ
@given(mutated(URLS) | odd_texts)
@example("http://0x7f.1/v1")
@example("http://2130706433/v1")
def test_no_spelling_of_an_address_leads_inside(url: str) -> None:
    try:
        check_target(url, allow_private=False, resolve=numeric_resolve)
    except (InvalidValue, TargetRefused):
        return
    # Whatever the library that connects makes of it, it is the host that was checked.
    parsed = httpx2.URL(url)
    assert parsed.host.rstrip(".") == (split_url(url).hostname or "").rstrip(".")
    address = system_reads(parsed.host)
    assert address is None or ipaddress.ip_address(address).is_global
    assert parsed.userinfo == b""
    port = split_url(url).port
    assert port is None or 0 < port < 65_536


@FUZZ
@given(mutated(URLS) | odd_texts)
def test_an_address_is_one_or_an_invalid_value(url: str) -> None:
    with contextlib.suppress(InvalidValue):
        parts = split_url(url)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        is_nearby(url)
        with contextlib.suppress(httpx2.InvalidURL):
            assert httpx2.URL(url).scheme == parts.scheme


@FUZZ
@given(st.lists(st.ip_addresses().map(str) | odd_texts, max_size=4))
def test_a_host_with_one_address_inside_is_refused_with_all_of_them(addresses: list[str]) -> None:
    try:
        given_out = allowed_addresses("e.example", 443, lambda *_: addresses)
    except RicordoError:
        assert not addresses or any(refusal(address) for address in addresses)
        return
    assert given_out == addresses
    assert all(ipaddress.ip_address(address).is_global for address in given_out)


@FUZZ
@given(st.sampled_from(("127.0.0.1", "::1", "10.0.0.1")), st.sampled_from(HOSTS))
def test_a_name_that_answers_differently_later_connects_to_nothing(inside: str, host: str) -> None:
    assume(host.isascii() and "%" not in host)
    later = iter([[PUBLIC], [inside]])

    def checked(name: str, port: int) -> list[str]:
        return allowed_addresses(name, port, lambda *_: next(later))

    assert checked("e.example", 443) == [PUBLIC]
    transport = GuardedTransport(checked)
    with contextlib.closing(transport), pytest.raises(TargetRefused):
        transport.handle_request(httpx2.Request("GET", f"http://{host}/"))
