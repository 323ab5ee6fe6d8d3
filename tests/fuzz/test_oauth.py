"""What programs send to sign in by OAuth: refused by the names of the protocol, never a fault."""

import contextlib
from collections.abc import Callable, Iterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, NotAuthenticated
from ricordo.access.grants import OAuthRefusal, check_redirect_uri, described_client
from ricordo.http.issuer import Issuer
from ricordo.testing import ManualClock
from tests.fuzz.mutating import altered, json_values, mutated, odd_texts
from tests.fuzz.running import FUZZ, FUZZ_SLOWLY
from tests.support.login_server import LoginServer
from tests.support.programs import REDIRECT, Person, Program, free_port, query_of
from tests.support.service import running

pytestmark = pytest.mark.requirement("faults.fuzzed")
_MOST_CHARS = 200  # of each of some ten fields in an address, which may have 8 kB
ADDRESSES = (REDIRECT, "https://a.example/cb?x=1", "com.example:/cb", "http://[::1]:5/cb")


@pytest.fixture
def asking(open_store: Callable[..., Memory], sqlite_url: str) -> Iterator[tuple[Program, Person]]:
    """A program, and a user at the page."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    store = open_store(sqlite_url, port=port, public_url=url, rate_limit_per_minute=0)
    with running(store) as started:
        key = store.create_key("k", user="ana").secret
        yield Program(started), Person(started.client(), key)


@FUZZ_SLOWLY
@given(data=st.data())
def test_no_request_of_a_program_is_answered_with_a_fault(
    asking: tuple[Program, Person], data: st.DataObject
) -> None:
    program, person = asking
    usual = {name: values[0] for name, values in query_of(program.address()).items()}
    usual |= {"grant_type": "refresh_token", "refresh_token": "rr_x", "code": "rc_x", "token": "x"}
    field = st.sampled_from(list(usual)) | odd_texts
    value = odd_texts | mutated([*usual.values(), *ADDRESSES, "authorization_code"])
    fields = {**usual, **data.draw(st.dictionaries(field, value, max_size=3))}
    sent = {_sendable(name): _sendable(one) for name, one in fields.items()}
    path = data.draw(st.sampled_from(("/oauth/token", "/oauth/revoke")))
    assert program.client.post(path, data=sent).status_code in (200, 400)
    shown = person.browser.get(str(httpx2.URL("/ui/authorize", params=sent)))
    assert shown.status_code in (200, 400)
    assert "location" not in shown.headers


def _sendable(text: str) -> str:
    return text[:_MOST_CHARS].encode("utf-8", "replace").decode()


@FUZZ
@given(said=json_values(ADDRESSES) | altered([list(ADDRESSES)], ADDRESSES), name=json_values(["x"]))
def test_what_a_program_says_of_itself(said: object, name: object) -> None:
    with contextlib.suppress(OAuthRefusal):
        client = described_client("x", name, said, ManualClock()())
        for uri in client.redirect_uris:
            check_redirect_uri(uri)
            assert uri.isprintable()
            assert uri.isascii()


@pytest.fixture
def login() -> Iterator[LoginServer]:
    with LoginServer() as started:
        yield started


@FUZZ
@given(data=st.data())
def test_a_damaged_token_names_nobody(login: LoginServer, data: st.DataObject) -> None:
    clock = ManualClock()
    issuer = Issuer(login.name, audience="a", user_claim="sub", jwks_url=None, clock=clock)
    good = login.token(iss=login.name, aud="a", sub="ana", exp=clock().timestamp() + 99)
    damaged = data.draw(mutated([good]) | odd_texts)
    if damaged.split(".")[:2] == good.split(".")[:2]:
        return  # the last bits of a signature in base64 mean nothing
    with contextlib.suppress(NotAuthenticated):
        issuer.verify(damaged)
        raise AssertionError(damaged)
