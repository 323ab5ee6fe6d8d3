"""Programs that ask for access by OAuth, and the user who decides in a browser."""

import base64
import hashlib
import re
import socket
from collections.abc import Mapping
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2

from tests.support.service import Service

REDIRECT = "http://127.0.0.1:5/callback"
VERIFIER = "v" * 64
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
)
ACCEPTED = {"Accept": "application/json, text/event-stream"}
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def free_port() -> int:
    """A port that nobody listens at: the address has to be known before the service starts."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


class Person:
    """A user at the page of a service, signed in with a key."""

    def __init__(self, browser: httpx2.Client, key: str) -> None:
        self.browser = browser
        shown = self.browser.get("/ui/sign-in").text
        entered = {"token": hidden(shown)["token"], "key": key}
        assert self.browser.post("/ui/sign-in", data=entered).status_code == 303

    def decide(self, address: str, decision: str = "allow", **changed: str) -> httpx2.Response:
        """Open what a program sent them to, and answer."""
        shown = self.browser.get(address)
        assert shown.status_code == 200, shown.text
        return self.send(shown.text, decision, **changed)

    def send(self, page: str, decision: str = "allow", **changed: str) -> httpx2.Response:
        """Send the form of a page."""
        fields = {**hidden(page), "may_write": "1", "decision": decision, **changed}
        return self.browser.post("/ui/authorize", data=fields)


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the last form of a page."""
    return {name: value.replace("&amp;", "&") for name, value in _HIDDEN.findall(page)}


def answer_of(response: httpx2.Response) -> dict[str, str]:
    """What the browser brings back to the program."""
    assert response.status_code == 303, response.text
    return dict(parse_qsl(urlsplit(response.headers["location"]).query))


class Program:
    """A program that registers itself at a service."""

    def __init__(self, service: Service, redirect: str = REDIRECT, name: str = "helper") -> None:
        self.client = service.client()
        self.resource = f"{service.url}/mcp"
        self.redirect = redirect
        said = self.client.post(
            "/oauth/register", json={"client_name": name, "redirect_uris": [redirect]}
        )
        assert said.status_code == 201, said.text
        self.id: str = said.json()["client_id"]

    def address(self, **changed: str | None) -> str:
        """Where it sends the user."""
        asked: Mapping[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.redirect,
            "scope": "memory:read memory:write",
            "state": "abc&d",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": self.resource,
            **changed,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return str(httpx2.URL("/ui/authorize", params=given))

    def token(self, **fields: str) -> httpx2.Response:
        """Ask for tokens."""
        return self.client.post("/oauth/token", data={"client_id": self.id, **fields})

    def redeem(self, code: str, **changed: str) -> httpx2.Response:
        """Exchange a code."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "code_verifier": VERIFIER,
            "resource": self.resource,
        }
        return self.token(**{**fields, **changed})

    def refresh(self, token: str, **changed: str) -> httpx2.Response:
        """Ask for the next tokens."""
        fields = {"grant_type": "refresh_token", "refresh_token": token}
        return self.token(**{**fields, **changed})

    def let_in(self, person: Person, **asked: str) -> dict[str, str]:
        """The tokens that it gets once a user has allowed it."""
        said = answer_of(person.decide(self.address(**asked)))
        issued = self.redeem(said["code"])
        assert issued.status_code == 200, issued.text
        found: dict[str, str] = issued.json()
        return found

    def call(self, token: str, tool: str = "", **headers: str) -> httpx2.Response:
        """A message to /mcp: a call of a tool, or the list of tools."""
        message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        if tool:
            given = {"content": "Drinks green tea."} if tool == "memory_add" else {"query": "tea"}
            message["method"] = "tools/call"
            message["params"] = {"name": tool, "arguments": given}
        sent = {**ACCEPTED, "Authorization": f"Bearer {token}", **headers}
        return self.client.post("/mcp", json=message, headers=sent)


def query_of(address: str) -> dict[str, list[str]]:
    """The parameters of an address."""
    return parse_qs(urlsplit(address).query)
