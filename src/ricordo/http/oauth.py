"""OAuth 2.1 for ``/mcp``: what the service says of itself, and its own authorisation server.

Programs register themselves or are described by a document at their address. Users sign in and
decide on the web page (``web/consent.py``). All programs are public ones: PKCE with S256 proves
that who brings a code is who asked for it. Tokens are good for ``/mcp`` alone; elsewhere the API
takes keys.
"""

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ricordo import limits
from ricordo.access.grants import (
    ACCESS_PREFIX,
    Grants,
    Issued,
    OAuthRefusal,
    is_redirect_of,
)
from ricordo.access.keys import PREFIX
from ricordo.errors import Conflict, InvalidInput, InvalidValue, NotAuthenticated
from ricordo.http.addresses import is_loopback
from ricordo.http.auth import Caller, Gate, bearer_in
from ricordo.http.client_documents import ClientDocuments, is_document_address
from ricordo.http.form_body import limited_body, urlencoded_fields
from ricordo.http.issuer import Issuer
from ricordo.http.rate_limit import RateLimiter
from ricordo.memory import Memory
from ricordo.model.scope import Client
from ricordo.model.vocabulary import AccessScope
from ricordo.observability.logs import note_key
from ricordo.providers.endpoint import split_url
from ricordo.settings import Settings
from ricordo.storage.access import StoredGrants

RESOURCE_PATH: Final = "/mcp"
AUTHORIZE_PATH: Final = "/ui/authorize"
"""Below the path of the page, whose cookies go nowhere else."""
_TOKEN_PATH: Final = "/oauth/token"  # noqa: S105 - an address
_REGISTER_PATH: Final = "/oauth/register"
_REVOKE_PATH: Final = "/oauth/revoke"
_RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
_SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
_SCOPES: Final = [scope.value for scope in AccessScope]
_GRANT_TYPES: Final = ("authorization_code", "refresh_token")
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class Authorisation:
    """How programs get to ``/mcp`` of this service in the name of a user."""

    def __init__(self, memory: Memory, origin: str) -> None:
        settings, clock = memory.settings, memory.database.clock
        self.origin = origin
        self.resource = f"{origin}{RESOURCE_PATH}"
        self.grants = Grants(StoredGrants(memory.database), clock, self.resource)
        self.documents = ClientDocuments(
            clock, allow_private=settings.allow_private_embedding_targets
        )
        self.issuer = _issuer(settings, self.resource, memory)
        self.registrations = RateLimiter(limits.MAX_OAUTH_REGISTRATIONS)

    @property
    def signs_in(self) -> bool:
        """Whether users sign in here, and not at another authorisation server."""
        return self.issuer is None

    def challenge(self, error: str | None = None) -> str:
        """What a refusal tells a program about how it gets in (RFC 6750, RFC 9728)."""
        said = {"error": error} if error else {}
        said["resource_metadata"] = f"{self.origin}{_RESOURCE_METADATA}{RESOURCE_PATH}"
        said["scope"] = " ".join(_SCOPES)
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in said.items())

    async def caller_of(
        self, gate: Gate, request: Request
    ) -> tuple[Caller, Collection[AccessScope], Callable[[], object]] | None:
        """The caller of a token, what it is good for, and what looks at it again; None where the
        request brings none.

        Raises:
            NotAuthenticated: the token is not good.
            PermissionMissing: the request names another user than the token.
            TooManyRequests: the rate limit is exceeded.
        """
        token = bearer_in(request.headers)
        if token is None or not self._is_token(token):
            return None
        try:
            if self.issuer is not None:
                user, scopes = await run_in_threadpool(self.issuer.verify, token)
                gate.limiter.count(f"subject {user}")
                caller = gate.of_token(request.headers, user, None)
                return caller, scopes, partial(self.issuer.verify, token)
            grant, key = await run_in_threadpool(self.grants.authenticate, token)
        except NotAuthenticated:
            request.state.challenge = self.challenge("invalid_token")
            gate.limiter.count(f"refused {_address(request)}")
            raise
        note_key(key.id)
        gate.limiter.count(f"grant {grant.id}")
        caller = gate.of_token(request.headers, grant.user_id, key)
        return caller, grant.scopes, partial(self.grants.authenticate, token)

    def _is_token(self, secret: str) -> bool:
        if self.issuer is None:
            return secret.startswith(ACCESS_PREFIX)
        return not secret.startswith(PREFIX)

    def client(self, client_id: str) -> Client:
        """A program that registered, or that is described at its address. Raises OAuthRefusal:
        there is none."""
        if is_document_address(client_id):
            return self.documents.client(client_id)
        found = self.grants.client(client_id)
        if found is None:
            raise OAuthRefusal("invalid_client", "the program is not registered here")
        return found

    def asking_client(self, client_id: str | None, redirect_uri: str | None) -> tuple[Client, str]:
        """The program that asks, and where it may be answered. Raises OAuthRefusal: it is not
        known, or may not be answered there."""
        if client_id is None:
            raise OAuthRefusal("invalid_request", "client_id is missing")
        client = self.client(client_id)
        if redirect_uri is None or not is_redirect_of(client, redirect_uri):
            raise OAuthRefusal(
                "invalid_request", "redirect_uri is not one of those that the program named"
            )
        return client, redirect_uri

    def check_resource(self, resources: Collection[str]) -> None:
        """Refuse tokens for anything but ``/mcp`` (RFC 8707). Raises OAuthRefusal: another resource
        is named."""
        if any(resource.rstrip("/") != self.resource for resource in resources):
            raise OAuthRefusal("invalid_target", f"tokens are given for {self.resource} alone")


def authorisation_of(memory: Memory) -> Authorisation | None:
    """What the settings say; None where only keys let in. Raises InvalidValue: they contradict each
    other."""
    settings = memory.settings
    if settings.public_url is None:
        if settings.oauth_issuer is not None:
            raise InvalidValue("setting oauth_issuer", "set public_url, too: tokens are for it")
        return None
    origin = _origin(settings.public_url)
    if settings.require_keys is False:
        raise InvalidValue(
            "setting require_keys",
            "who is let in without a key cannot be asked: allowed with public_url: true",
        )
    if settings.oauth_issuer is None and not settings.page:
        raise InvalidValue(
            "setting public_url", "users sign in on the page: set page, or oauth_issuer"
        )
    return Authorisation(memory, origin)


def _origin(url: str) -> str:
    try:
        parts = split_url(url)
    except InvalidValue as problem:
        raise InvalidValue("setting public_url", problem.problem) from None
    is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
    if not is_safe or parts.path not in ("", "/"):
        raise InvalidValue(
            "setting public_url",
            "allowed: https://HOST[:PORT] without a path, and http on loopback",
        )
    return f"{parts.scheme}://{parts.netloc}"


def _issuer(settings: Settings, resource: str, memory: Memory) -> Issuer | None:
    if settings.oauth_issuer is None:
        return None
    return Issuer(
        settings.oauth_issuer,
        audience=settings.oauth_audience or resource,
        user_claim=settings.oauth_user_claim,
        jwks_url=settings.oauth_jwks_url,
        clock=memory.database.clock,
    )


router: Final = APIRouter(include_in_schema=False)


@router.get(_RESOURCE_METADATA)
@router.get(f"{_RESOURCE_METADATA}{RESOURCE_PATH}")
def resource_metadata(request: Request) -> Response:
    """What ``/mcp`` is, and who gives out tokens for it (RFC 9728)."""
    found = _authorisation(request)
    server = found.origin if found.issuer is None else found.issuer.name
    return JSONResponse(
        {
            "resource": found.resource,
            "resource_name": "ricordo",
            "authorization_servers": [server],
            "scopes_supported": _SCOPES,
            "bearer_methods_supported": ["header"],
        }
    )


@router.get(_SERVER_METADATA)
@router.get(f"{_SERVER_METADATA}{RESOURCE_PATH}")
def server_metadata(request: Request) -> Response:
    """What the authorisation server can do (RFC 8414)."""
    origin = _own_server(request).origin
    return JSONResponse(
        {
            "issuer": origin,
            "authorization_endpoint": f"{origin}{AUTHORIZE_PATH}",
            "token_endpoint": f"{origin}{_TOKEN_PATH}",
            "registration_endpoint": f"{origin}{_REGISTER_PATH}",
            "revocation_endpoint": f"{origin}{_REVOKE_PATH}",
            "scopes_supported": _SCOPES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(_GRANT_TYPES),
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
    )


@router.post(_REGISTER_PATH)
async def register(request: Request) -> Response:
    """Register a program (RFC 7591). Anybody can; a user decides what it gets."""
    found = _own_server(request)
    found.registrations.count(f"register {_address(request)}")
    try:
        said = _json_object(await limited_body(request, limits.MAX_OAUTH_FORM_BYTES, "the body"))
        _check_flow(said)
        client = await run_in_threadpool(
            found.grants.register, said.get("client_name"), said.get("redirect_uris")
        )
    except OAuthRefusal as refusal:
        return _refused(refusal)
    except InvalidInput as problem:
        return _refused(OAuthRefusal("invalid_client_metadata", str(problem)))
    except Conflict as problem:
        full = OAuthRefusal("temporarily_unavailable", str(problem))
        return _refused(full, HTTPStatus.SERVICE_UNAVAILABLE)
    return JSONResponse(
        {
            "client_id": client.id,
            "client_id_issued_at": int(client.created_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "grant_types": list(_GRANT_TYPES),
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": " ".join(_SCOPES),
        },
        HTTPStatus.CREATED,
        _NO_STORE,
    )


@router.post(_TOKEN_PATH)
async def give_tokens(request: Request) -> Response:
    """Exchange a code or a refresh token for tokens."""
    found = _own_server(request)
    try:
        fields = await _fields(request)
        issued = await run_in_threadpool(_issue, found, fields)
    except OAuthRefusal as refusal:
        gate: Gate = request.app.state.gate
        gate.limiter.count(f"refused {_address(request)}")
        return _refused(refusal)
    return JSONResponse(
        {
            "access_token": issued.access,
            "token_type": "Bearer",
            "expires_in": limits.OAUTH_ACCESS_SECONDS,
            "refresh_token": issued.refresh,
            "scope": " ".join(issued.grant.scopes),
        },
        headers=_NO_STORE,
    )


@router.post(_REVOKE_PATH)
async def revoke(request: Request) -> Response:
    """End what a program was allowed, by one of its tokens (RFC 7009)."""
    found = _own_server(request)
    gate: Gate = request.app.state.gate
    gate.limiter.count(f"refused {_address(request)}")
    try:
        fields = await _fields(request)
        token, client_id = _needed(fields, "token"), _needed(fields, "client_id")
    except OAuthRefusal as refusal:
        return _refused(refusal)
    await run_in_threadpool(found.grants.end, token, client_id)
    return Response(headers=_NO_STORE)


def _issue(found: Authorisation, fields: Mapping[str, str]) -> Issued:
    kind = _needed(fields, "grant_type")
    if kind not in _GRANT_TYPES:
        raise OAuthRefusal("unsupported_grant_type", f"allowed: {' '.join(_GRANT_TYPES)}")
    client_id = _needed(fields, "client_id")
    found.check_resource([fields["resource"]] if "resource" in fields else [])
    if kind == "refresh_token":
        scopes = fields.get("scope", "").split()
        return found.grants.refresh(_needed(fields, "refresh_token"), client_id, scopes)
    return found.grants.redeem(
        _needed(fields, "code"),
        client_id,
        _needed(fields, "redirect_uri"),
        _needed(fields, "code_verifier"),
    )


async def _fields(request: Request) -> dict[str, str]:
    try:
        pairs = await urlencoded_fields(request, limits.MAX_OAUTH_FORM_BYTES)
    except InvalidInput as problem:
        raise OAuthRefusal("invalid_request", str(problem)) from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise OAuthRefusal("invalid_request", "a field is given more than once")
    return fields


def _needed(fields: Mapping[str, str], name: str) -> str:
    if not fields.get(name):
        raise OAuthRefusal("invalid_request", f"{name} is missing")
    return fields[name]


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise OAuthRefusal("invalid_client_metadata", "send a JSON object")
    return said


def _check_flow(said: Mapping[str, Any]) -> None:
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        given = said.get(name)
        if given is not None and not (isinstance(given, list) and needed in given):
            raise OAuthRefusal("invalid_client_metadata", f"{name} has to contain {needed}")


def _refused(refusal: OAuthRefusal, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> Response:
    said = {"error": refusal.error, "error_description": refusal.description}
    return JSONResponse(said, status, _NO_STORE)


def _authorisation(request: Request) -> Authorisation:
    found: Authorisation | None = request.app.state.oauth
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return found


def _own_server(request: Request) -> Authorisation:
    found = _authorisation(request)
    if not found.signs_in:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return found


def _address(request: Request) -> str:
    return request.client.host if request.client else "?"
