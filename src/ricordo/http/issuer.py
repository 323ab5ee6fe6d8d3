"""Tokens of an authorisation server elsewhere: JWTs, checked with the keys that it publishes."""

import importlib.util
import json
import threading
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ricordo import limits
from ricordo.clock import Clock
from ricordo.errors import (
    InvalidValue,
    NotAuthenticated,
    RicordoError,
    needs_extra,
)
from ricordo.http.problems import IssuerUnavailable
from ricordo.model import checks
from ricordo.model.vocabulary import AccessScope
from ricordo.providers.endpoint import Endpoint, EndpointError, is_nearby, split_url
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.timing import Deadline

if TYPE_CHECKING:
    import jwt

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Asymmetric ones: whoever can check a token can not make one."""
_METADATA: Final = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
_SECONDS_OFF: Final = 30.0  # that clocks may differ


class Issuer:
    """Checks tokens of one authorisation server. Thread-safe.

    Its keys are kept for some minutes, and read again, though not too often, for a token that was
    signed with an unknown one.
    """

    def __init__(
        self,
        name: str,
        *,
        audience: str,
        user_claim: str,
        jwks_url: str | None,
        clock: Clock,
    ) -> None:
        """``name`` is compared as it is given: with a slash at the end or without. Raises
        InvalidValue: it is no address, or PyJWT is not installed."""
        self.name = _checked("setting oauth_issuer", name)
        self._audience = audience
        self._user_claim = user_claim
        self._jwks_url = None if jwks_url is None else _checked("setting oauth_jwks_url", jwks_url)
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: Mapping[str | None, jwt.PyJWK] = {}
        self._read_at = -limits.ISSUER_KEYS_SECONDS
        if importlib.util.find_spec("jwt") is None:
            missing = needs_extra("tokens of another server", "mcp")
            raise InvalidValue("setting oauth_issuer", missing)

    def verify(self, token: str) -> tuple[str, Collection[AccessScope]]:
        """The user of a token, and what it is good for. Raises NotAuthenticated: it is not of this
        server, not for this service, or not good now; IssuerUnavailable: its keys cannot be read.
        """
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header.get("kid")) if header.get("alg") in ALGORITHMS else None
            if key is None:
                raise _not_good()
            said = jwt.decode(
                token,
                key,
                algorithms=[header["alg"]],
                audience=self._audience,
                issuer=self.name,
                leeway=_SECONDS_OFF,
                # By our clock, below.
                options={
                    "require": ["exp", "iss", "aud", self._user_claim],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
            self._check_times(said)
            user = checks.user_id(said[self._user_claim])
        except (jwt.PyJWTError, InvalidValue, ValueError, TypeError):
            raise _not_good() from None
        return user, _scopes(said)

    def _check_times(self, said: dict[str, Any]) -> None:
        now = self._clock().timestamp()
        if not _number(said["exp"]) > now - _SECONDS_OFF:
            raise _not_good()
        if _number(said.get("nbf", 0)) > now + _SECONDS_OFF:
            raise _not_good()

    def _key(self, kid: object) -> "jwt.PyJWK | None":
        named = kid if isinstance(kid, str) else None
        with self._lock:
            age = time.monotonic() - self._read_at
            wanted = named in self._keys
            if age >= limits.ISSUER_KEYS_SECONDS or (
                not wanted and age >= limits.ISSUER_KEYS_PAUSE_SECONDS
            ):
                try:
                    self._keys = self._read_keys()
                    self._read_at = time.monotonic()
                except IssuerUnavailable:
                    # What is known stays good for a while; whoever asks next asks again.
                    if not wanted or age >= limits.ISSUER_KEYS_STALE_SECONDS:
                        raise
            if named is None and len(self._keys) == 1:
                return next(iter(self._keys.values()))
            return self._keys.get(named)

    def _read_keys(self) -> "dict[str | None, jwt.PyJWK]":
        import jwt

        address = self._jwks_url or self._published()
        found: dict[str | None, jwt.PyJWK] = {}
        for one in _list(_read(address).get("keys")):
            if not isinstance(one, dict) or one.get("use", "sig") != "sig":
                continue
            try:
                key = jwt.PyJWK(one)
            except jwt.PyJWTError:  # of a kind that we do not know
                continue
            if key.algorithm_name in ALGORITHMS:
                kid = one.get("kid")
                found[kid if isinstance(kid, str) else None] = key
        if not found:
            raise IssuerUnavailable("the authorisation server publishes no keys that can be used")
        return found

    def _published(self) -> str:
        """The address of its keys, as its metadata says."""
        parts = urlsplit(self.name)
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        addresses = [f"{origin}{known}{path}" for known in _METADATA]
        if path:
            addresses.append(f"{origin}{path}{_METADATA[1]}")
        problem: RicordoError | None = None
        for address in addresses:
            try:
                said = _read(address)
            except IssuerUnavailable as error:
                problem = error
                continue
            if said.get("issuer") == self.name and isinstance(said.get("jwks_uri"), str):
                try:
                    return _checked("jwks_uri", said["jwks_uri"])
                except InvalidValue as error:
                    problem = error
        raise IssuerUnavailable("the authorisation server does not say where its keys are") from (
            problem
        )


def _read(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    endpoint = Endpoint("authorisation server", f"{parts.scheme}://{parts.netloc}")
    reader = ModelClient(endpoint, max_bytes=limits.MAX_CLIENT_DOCUMENT_BYTES)
    try:
        call = Call(Deadline(limits.CLIENT_DOCUMENT_WAIT_SECONDS, time.monotonic), retries_left=0)
        said = json.loads(reader.request("GET", parts.path or "/", None, call))
    except (EndpointError, ValueError, RecursionError) as error:
        raise IssuerUnavailable("the authorisation server cannot be read") from error
    finally:
        reader.close()
    if not isinstance(said, dict):
        raise IssuerUnavailable("the authorisation server does not answer with JSON")
    return said


def _checked(name: str, address: str) -> str:
    """An address that keys may be read from: https, or in this very network. Raises InvalidValue:
    it is another."""
    try:
        parts = split_url(address)
    except InvalidValue as problem:
        raise InvalidValue(name, problem.problem) from None
    if parts.scheme != "https" and not is_nearby(address):
        raise InvalidValue(name, "allowed: https://…, and http within this network")
    return address


def _scopes(said: dict[str, Any]) -> Collection[AccessScope]:
    given = said.get("scope", said.get("scp", ""))
    names = given.split() if isinstance(given, str) else _list(given)
    return tuple(scope for scope in AccessScope if scope.value in names)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _not_good()
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _not_good() -> NotAuthenticated:
    return NotAuthenticated(
        "no valid token: it is not of the authorisation server, not for this service, or not good"
        " now"
    )
