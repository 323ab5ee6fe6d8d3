"""What keeps web pages of others away from a service that asks nobody for a key.

Any page in a browser on the same machine can send requests to a loopback address. Those that come
from a page say so (``Origin``, or ``Sec-Fetch-Site`` for what a page draws in, such as an image),
and a name that was made to point here shows in ``Host``.
"""

from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.http.problems import problem

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_FOREIGN: Final = "pages of other sites may not call this service (setting cors_origins)"


class LoopbackGuard:
    """Lets in only requests that were meant for this machine and come from no foreign page."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        """``hosts`` are further names of this service, ``origins`` the pages that may call it."""
        self._app = app
        self._hosts = LOOPBACK_NAMES | set(hosts)
        self._origins = set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                response = problem(HTTPStatus.FORBIDDEN, "ForeignPage", refusal)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if _name_in(f"//{host}") not in self._hosts:
            return "this service, which asks for no key, answers only to localhost"
        origin = headers.get("origin")
        if origin is None:
            return _FOREIGN if _is_drawn_in(headers) else None
        is_known = origin in self._origins or _place_in(origin) == host.lower()
        return None if is_known else _FOREIGN


def _is_drawn_in(headers: Headers) -> bool:
    """Whether a page of another site has this as a part of it; a link to here is no harm."""
    is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return is_foreign and headers.get("sec-fetch-dest") != "document"


def _name_in(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _place_in(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
