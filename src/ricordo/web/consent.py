"""Programs that ask for access by OAuth: what each asks for, the decision, and taking it back.

Only the decision of a user leads to an address that a program named; a request with a mistake ends
on a page of ours, so that a link to this service leads nobody elsewhere.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Self
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.access.grants import OAuthRefusal, checked_challenge, scopes_of
from ricordo.frozen import dataclass
from ricordo.http.client_documents import is_document_address
from ricordo.http.oauth import AUTHORIZE_PATH, Authorisation
from ricordo.model.scope import Client
from ricordo.model.vocabulary import AccessScope
from ricordo.web.forms import Posted
from ricordo.web.page_request import NoUserChosen, Page, PageRequest
from ricordo.web.rendering import PRIVATE
from ricordo.web.routing import page_router
from ricordo.web.sessions import PATH

_PATH: Final = f"{PATH}/settings/programs"
_FIELDS: Final = (
    *("response_type", "client_id", "redirect_uri", "scope", "state"),
    *("code_challenge", "code_challenge_method", "resource"),
)
_MAX_STATE_CHARS: Final = 4_096
_POLICY: Final = "Content-Security-Policy"
SCOPE_NAMES: Final = {
    AccessScope.READ: "read and search everything that this key can read",
    AccessScope.WRITE: "add, change and forget memories",
}

router = page_router()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """What a program asks a user for."""

    client: Client
    redirect_uri: str
    scopes: tuple[AccessScope, ...]
    challenge: str
    state: str | None
    fields: Mapping[str, str]

    @classmethod
    def of(cls, oauth: Authorisation, given: Mapping[str, str]) -> Self:
        """The request of an address or of the form, which repeats it.

        Raises:
            OAuthRefusal: it is not one that could be granted.
        """
        client, redirect_uri = oauth.asking_client(
            given.get("client_id"), given.get("redirect_uri")
        )
        if given.get("response_type") != "code":
            raise OAuthRefusal("unsupported_response_type", "allowed: code")
        state = given.get("state")
        if state is not None and len(state) > _MAX_STATE_CHARS:
            raise OAuthRefusal("invalid_request", f"state: allowed: {_MAX_STATE_CHARS} characters")
        oauth.check_resource([given["resource"]] if "resource" in given else [])
        return cls(
            client=client,
            redirect_uri=redirect_uri,
            scopes=scopes_of(given.get("scope")),
            challenge=checked_challenge(
                given.get("code_challenge"), given.get("code_challenge_method")
            ),
            state=state,
            fields={name: given[name] for name in _FIELDS if name in given},
        )

    @property
    def place(self) -> str:
        """Where the answer goes, for people: a host, or a program on this device."""
        parts = urlsplit(self.redirect_uri)
        is_web = parts.scheme in ("http", "https")
        return parts.netloc if is_web else f"a program on this device ({parts.scheme}:)"

    @property
    def described_at(self) -> str | None:
        """The host that vouches for the program's name; None where it named itself."""
        client_id = self.client.id
        return urlsplit(client_id).hostname if is_document_address(client_id) else None

    @property
    def target(self) -> str:
        """Where the browser may be sent on, as a source of a content security policy."""
        parts = urlsplit(self.redirect_uri)
        is_web = parts.scheme in ("http", "https") and "[" not in parts.netloc  # no IPv6 there
        return f"{parts.scheme}://{parts.netloc}" if is_web else f"{parts.scheme}:"

    def answered(self, issuer: str, **said: str) -> Response:
        """Send the browser back to the program."""
        state = {} if self.state is None else {"state": self.state}
        query = urlencode({**said, **state, "iss": issuer})
        joint = "&" if urlsplit(self.redirect_uri).query else "?"
        target = f"{self.redirect_uri}{joint}{query}"
        return RedirectResponse(target, HTTPStatus.SEE_OTHER, PRIVATE)


@router.get(AUTHORIZE_PATH.removeprefix(PATH))
async def ask(request: Request, page: Page) -> Response:
    given = dict(request.query_params)
    if len(given) < len(request.query_params.multi_items()):
        return _refused(page, OAuthRefusal("invalid_request", "a parameter is given twice"))
    return await run_in_threadpool(_ask, page, given)


@router.post(AUTHORIZE_PATH.removeprefix(PATH))
def decide(page: Page, form: Posted) -> Response:
    oauth = _oauth(page)
    try:
        asked = AccessRequest.of(oauth, form)
    except OAuthRefusal as refusal:
        return _refused(page, refusal)
    if form.get("decision") != "allow":
        return asked.answered(oauth.origin, error="access_denied")
    key, user = page.key, page.user
    if key is None or user is None:
        raise NoUserChosen("choose whose memory the program gets")
    if form.get("user") != user:  # another window chose another user meanwhile
        return _ask(page, asked.fields)
    scopes = [
        scope
        for scope in asked.scopes
        if scope is not AccessScope.WRITE or form.get("may_write") or asked.scopes == (scope,)
    ]
    code = oauth.grants.allow(
        key,
        user,
        asked.client,
        scopes,
        redirect_uri=asked.redirect_uri,
        challenge=asked.challenge,
    )
    return asked.answered(oauth.origin, code=code)


def _ask(page: PageRequest, given: Mapping[str, str]) -> Response:
    oauth = _oauth(page)
    try:
        asked = AccessRequest.of(oauth, given)
    except OAuthRefusal as refusal:
        return _refused(page, refusal)
    if page.user is None:
        raise NoUserChosen("choose whose memory the program gets")
    response = page.render(
        "consent.html",
        asked=asked,
        scope_names=SCOPE_NAMES,
        hours=limits.OAUTH_ACCESS_SECONDS // 3_600,
        days=limits.OAUTH_REFRESH_DAYS,
    )
    # Browsers hold the answer to a form against the policy of its page, redirects included.
    allowed = response.headers[_POLICY].replace(
        "form-action 'self'", f"form-action 'self' {asked.target}"
    )
    response.headers[_POLICY] = allowed
    return response


def _refused(page: PageRequest, refusal: OAuthRefusal) -> Response:
    return page.render(
        "failure.html",
        status=int(HTTPStatus.BAD_REQUEST),
        problem={
            "status": int(HTTPStatus.BAD_REQUEST),
            "phrase": "This program cannot be let in",
            "detail": f"{refusal.error}: {refusal.description}",
            "request_id": None,
        },
    )


@router.get("/settings/programs")
def list_programs(page: Page) -> Response:
    return page.render(
        "programs.html",
        grants=page.memory.grants(),
        scope_names=SCOPE_NAMES,
        address=_address_of(page),
    )


@router.post("/settings/programs/{id}/revoke")
def revoke(page: Page, form: Posted, id: str) -> Response:  # noqa: ARG001 - checked by being read
    page.memory.revoke_grant(id)
    return page.redirect(_PATH, notice="The program is refused from now on.")


def _oauth(page: PageRequest) -> Authorisation:
    found: Authorisation | None = page.request.app.state.oauth
    if found is None or not found.signs_in:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return found


def _address_of(page: PageRequest) -> str | None:
    """The address that programs are given; None where only keys let in."""
    found: Authorisation | None = page.request.app.state.oauth
    return None if found is None else found.resource
