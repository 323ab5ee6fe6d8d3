"""Tokens of another authorisation server: which are good, and for whom."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ricordo import Memory, NotAuthenticated
from ricordo.http.issuer import Issuer
from ricordo.http.problems import IssuerUnavailable
from ricordo.model.vocabulary import AccessScope
from ricordo.testing import ManualClock
from tests.support.login_server import LoginServer
from tests.support.programs import ACCEPTED
from tests.support.service import running

pytestmark = pytest.mark.requirement("mcp.oauth")
AUDIENCE = "https://memory.example.org/mcp"


@pytest.fixture
def login() -> Iterator[LoginServer]:
    with LoginServer() as started:
        yield started


@pytest.fixture
def issuer(login: LoginServer, clock: ManualClock) -> Issuer:
    return Issuer(login.name, audience=AUDIENCE, user_claim="sub", jwks_url=None, clock=clock)


@pytest.fixture
def claims(login: LoginServer, clock: ManualClock) -> dict[str, Any]:
    """What a good token says."""
    now = clock().timestamp()
    return {
        "iss": login.name,
        "aud": [AUDIENCE, "other"],
        "sub": "ana",
        "exp": int(now) + 300,
        "nbf": int(now),
        "scope": "openid memory:read",
    }


def test_a_good_token_names_a_user_and_scopes(
    login: LoginServer, issuer: Issuer, claims: dict[str, Any]
) -> None:
    assert issuer.verify(login.token(**claims)) == ("ana", (AccessScope.READ,))
    both = {**claims, "scope": None, "scp": ["memory:write", "memory:read"]}
    assert issuer.verify(login.token(**both))[1] == (AccessScope.READ, AccessScope.WRITE)
    assert issuer.verify(login.token(**{**claims, "scope": None}))[1] == ()
    assert login.asked.count("/keys") == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://login.example.org"},
        {"iss": None},
        {"aud": "https://elsewhere.example/mcp"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 2**40},
        {"sub": None},
        {"sub": "*"},
        {"sub": ""},
        {"sub": 7},
    ],
)
def test_a_token_that_says_something_else_is_refused(
    login: LoginServer, issuer: Issuer, claims: dict[str, Any], changed: dict[str, Any]
) -> None:
    said = {**claims, **changed}
    key = login.keys["first"]
    given = {name: value for name, value in said.items() if value is not None}
    signing = jwt.PyJWS()  # which signs whatever it is given
    token = signing.encode(json.dumps(given).encode(), key, "ES256", headers={"kid": "first"})
    with pytest.raises(NotAuthenticated):
        issuer.verify(token)


def test_only_who_has_the_private_key_makes_tokens(
    login: LoginServer, issuer: Issuer, claims: dict[str, Any]
) -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    public = login.keys["first"].public_key()
    shown = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims)}"
    mac = hmac.new(shown, signed.encode(), hashlib.sha256).digest()
    good = login.token(**claims)
    head, _, signature = good.split(".")
    forged = {
        "none": f"{part({'alg': 'none', 'kid': 'first'})}.{part(claims)}.",
        "the public key as a secret": f"{signed}.{base64.urlsafe_b64encode(mac).decode()}",
        "another key": jwt.encode(
            claims, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "first"}
        ),
        "its own key": jwt.encode(
            claims, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"jwk": {}}
        ),
        "other claims": f"{head}.{part({**claims, 'sub': 'ben'})}.{signature}",
        "an unknown key": login.token(**claims).replace(head, part({"alg": "ES256", "kid": "x"})),
        "no token": "a.b.c",
        "nothing": "x",
    }
    for how, token in forged.items():
        with pytest.raises(NotAuthenticated):
            issuer.verify(token)
            raise AssertionError(how)


def test_new_keys_are_read_and_old_ones_forgotten(
    login: LoginServer,
    issuer: Issuer,
    claims: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ricordo.limits.ISSUER_KEYS_PAUSE_SECONDS", 0.0)
    old = login.token(**claims)
    assert issuer.verify(old)
    login.keys["second"] = rsa.generate_private_key(65_537, 2_048)
    del login.keys["first"]
    assert issuer.verify(login.token(kid="second", **claims))
    with pytest.raises(NotAuthenticated):
        issuer.verify(old)
    assert issuer.verify(login.token(kid="second", **claims))
    login.fails = True
    assert issuer.verify(login.token(kid="second", **claims))  # what is known stays good
    with pytest.raises(IssuerUnavailable):
        issuer.verify(old)


def test_strangers_do_not_make_us_ask_all_the_time(
    login: LoginServer, issuer: Issuer, claims: dict[str, Any]
) -> None:
    unknown = jwt.encode(
        claims, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "unknown"}
    )
    for _ in range(5):
        with pytest.raises(NotAuthenticated):
            issuer.verify(unknown)
    assert login.asked.count("/keys") == 1


def test_the_service_takes_its_tokens_and_asks_nobody_itself(
    login: LoginServer, claims: dict[str, Any], sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    settings = {
        "public_url": "https://memory.example.org",
        "oauth_issuer": login.name,
        "oauth_user_claim": "name",
    }
    with running(open_store(sqlite_url, port=0, **settings)) as service:
        client = service.client()
        said = client.get("/.well-known/oauth-protected-resource/mcp").json()
        assert (said["resource"], said["authorization_servers"]) == (AUDIENCE, [login.name])
        for path in ("/.well-known/oauth-authorization-server", "/ui/authorize"):
            assert client.get(path).status_code in (303, 404)
        assert client.post("/oauth/register", json={}).status_code == 404
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "memory_add", "arguments": {"content": "Drinks tea."}},
        }

        def send(**changed: Any) -> Any:
            token = login.token(**{**claims, "name": "cleo", **changed})
            sent = {**ACCEPTED, "Authorization": f"Bearer {token}"}
            return client.post("/mcp", json=message, headers=sent)

        assert send(scope="memory:write").status_code == 200
        assert [item.content for item in service.memory.user("cleo").list()] == ["Drinks tea."]
        for scope in ("memory:read", "openid"):
            refusal = send(scope=scope)
            assert refusal.status_code == 403
            assert 'error="insufficient_scope"' in refusal.headers["www-authenticate"]
        refusal = send(aud="https://elsewhere.example/mcp")
        assert refusal.status_code == 401
        assert 'error="invalid_token"' in refusal.headers["www-authenticate"]
        login.fails = True
        login.keys["new"] = ec.generate_private_key(ec.SECP256R1())
        key = service.memory.create_key("k", user="ana").secret
        own = {**ACCEPTED, "Authorization": f"Bearer {key}"}
        assert client.post("/mcp", json=message, headers=own).status_code == 200
