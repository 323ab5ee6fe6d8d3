"""Who looks at the page, at whose memory, and what they are shown."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ricordo import limits
from ricordo.errors import KeyNotFound, NotAuthenticated
from ricordo.http.auth import Caller, Gate, user_memory_of
from ricordo.memory import Memory
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import Permission
from ricordo.observability.logs import note_key
from ricordo.storage.keys import session_has_ended
from ricordo.user_memory import UserMemory
from ricordo.web.rendering import NAVIGATION, PRIVATE, rendered
from ricordo.web.sessions import Session, SessionCookies

DEFAULT_USER: Final = "me"
"""Whose memory is looked at where nobody is named and nobody is stored; as on the command line."""
_SEE_OTHER: Final = 303
_PAGE_HEADER: Final = "x-ricordo-page"  # htmx sends it as layout.html says: the token of the page


class NoUserChosen(NotAuthenticated):
    """Whoever looks has to say first at whose memory."""


@dataclass(slots=True)
class Visitor:
    """One request of a browser, and who it comes from."""

    request: Request
    session: Session
    caller: Caller
    store: Memory
    cookies: SessionCookies
    is_new: bool

    @property
    def memory(self) -> UserMemory:
        """The memory that is looked at.

        Raises:
            NoUserChosen: nobody's yet.
        """
        if self.caller.user is None:
            raise NoUserChosen("choose whose memory to look at")
        return user_memory_of(self.store, self.caller)

    @property
    def user(self) -> str | None:
        """Whose memory is looked at, if anybody's."""
        return self.caller.user

    @property
    def key(self) -> ApiKey | None:
        """The key that they signed in with; None where none is required."""
        return self.caller.key

    @property
    def is_confined(self) -> bool:
        """Whether they are kept to some categories of the memory."""
        return self.caller.categories is not None

    @property
    def may_choose_user(self) -> bool:
        """Whether they can look at more than one user's memory."""
        return self.key is None or self.key.user_id is None

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks, for a part of the page that is open.

        On the way back through the history it asks for whole pages, as it keeps none.
        """
        asked = self.request.headers
        is_whole = asked.get("hx-history-restore-request") == "true"
        return asked.get("hx-request") == "true" and not is_whole

    def may(self, permission: Permission | str) -> bool:
        """Whether they may do what reaches beyond one user."""
        return Permission(permission) in self.caller.permissions

    def page(
        self, template: str, /, *, status: int = 200, counting: bool = True, **values: Any
    ) -> HTMLResponse:
        """A whole page, with what is to be said once.

        Without ``counting`` nothing is read for the navigation, as when reading has just failed.
        """
        notice, self.session = self.session.notice, self.session.noting(None)
        shared = {
            "visit": self,
            "notice": notice,
            "navigation": NAVIGATION,
            "waiting_choices": self._waiting_choices() if counting else 0,
        }
        response = rendered(template, {**shared, **values}, status)
        # Never a new session for a form: browsers send no cookie with those of other sites, and the
        # new one would take the place of who is signed in.
        begins = self.is_new and self.request.method == "GET"
        if begins or notice is not None:
            self.cookies.put(self.request, response, self.session)
        return response

    def fragment(self, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A part of a page.

        A page that is still open from before another user was chosen, in another window, would
        mix the two: it is to be loaded anew.
        """
        shown = self.request.headers.get(_PAGE_HEADER, self.session.token)
        if self.request.method == "GET" and shown != self.session.token and not self.is_new:
            return HTMLResponse(headers={**PRIVATE, "HX-Refresh": "true"})
        return rendered(template, {"visit": self, **values}, status)

    def back_to(self, path: str, *, notice: str | None = None) -> Response:
        """Send the browser to a page, where the notice is shown once."""
        return self.go_on(path, self.session.noting(notice))

    def go_on(self, path: str, session: Session) -> Response:
        """Send the browser to a page with another session."""
        response: Response = RedirectResponse(path, _SEE_OTHER, PRIVATE)
        if self.is_partial:  # htmx would follow the other, and show the page as a part of this one
            where = response.headers["location"]  # in letters that a header can have
            response = Response(headers={**PRIVATE, "HX-Redirect": where})
        self.cookies.put(self.request, response, session)
        return response

    def _waiting_choices(self) -> int:
        """How many proposals wait, for the navigation; no more than it shows."""
        if self.user is None or self.is_confined:
            return 0
        return len(self.memory.proposals(limit=limits.MAX_SHOWN_CHOICES))


async def visitor_of(request: Request) -> Visitor:
    """Who a request comes from; looked up once for each.

    Raises:
        NotAuthenticated: a key is required, and nobody is signed in with one that is good.
        TooManyRequests: they have asked too often.
    """
    known: Visitor | None = getattr(request.state, "visitor", None)
    if known is None:
        known = request.state.visitor = await run_in_threadpool(_look_up, request)
    return known


Visiting = Annotated[Visitor, Depends(visitor_of)]
"""Whoever looks at the page."""


def stranger(request: Request) -> Visitor:
    """Somebody who has yet to sign in: they see no memory."""
    cookies: SessionCookies = request.app.state.session_cookies
    session = cookies.read(request)
    nobody = Caller(None, None, None, frozenset(), frozenset())
    store: Memory = request.app.state.memory
    return Visitor(request, session or Session(), nobody, store, cookies, session is None)


def _look_up(request: Request) -> Visitor:
    visitor = stranger(request)
    gate: Gate = request.app.state.gate
    session = visitor.session
    if not gate.requires_keys:
        visitor.caller = gate.trusted(session.user or _only_user(visitor.store))
        return visitor
    key = _live_key(visitor.store, session)
    note_key(key.id)
    gate.limiter.count(f"key {key.id}")
    visitor.caller = gate.bound(key, key.user_id or session.user)
    return visitor


def _live_key(store: Memory, session: Session) -> ApiKey:
    if session.key_id is not None and not session_has_ended(store.database, session.id):
        try:
            key = store.key(session.key_id)
        except KeyNotFound:  # its user was erased meanwhile
            key = None
        if key is not None and key.is_live(store.database.clock()):
            return key
    raise NotAuthenticated("sign in with a key of this service")


def _only_user(store: Memory) -> str | None:
    """Whose memory there is where it is only one's, or the usual one's where there is none yet."""
    users = store.users(limit=2)
    if len(users) > 1:
        return None
    return users[0] if users else DEFAULT_USER
