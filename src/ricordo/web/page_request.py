"""A request of the web page: its session, its caller, the memory it shows, and its response."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ricordo import limits
from ricordo.errors import KeyNotFound, NotAuthenticated, PermissionMissing
from ricordo.http.auth import Caller, Gate, user_memory_of
from ricordo.memory import Memory
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import GLOBAL_OWNER, Permission
from ricordo.observability.logs import note_key
from ricordo.storage.access import session_has_ended
from ricordo.user_memory import UserMemory
from ricordo.web.rendering import GLOBAL_NAVIGATION, NAVIGATION, PRIVATE, rendered
from ricordo.web.sessions import Reverse, Session, SessionCookies
from ricordo.web.wording import Whose

DEFAULT_USER: Final = "me"
"""The user where none is named and none is stored; the same as on the command line."""
_SEARCH_PATH: Final = "/ui/memories"  # a search is sent as a form, and changes nothing
_PAGE_HEADER: Final = "x-ricordo-page"  # htmx sends it as layout.html says: the token of the page


class NoUserChosen(NotAuthenticated):
    """A user has to be chosen first."""


@dataclass(slots=True)
class PageRequest:
    request: Request
    session: Session
    caller: Caller
    store: Memory
    cookies: SessionCookies
    is_new: bool

    @property
    def memory(self) -> UserMemory:
        """The memory that is shown.

        Raises:
            NoUserChosen: none was chosen yet, or the global memories, which have no such page.
            PermissionMissing: the global memories are for the operator to read, and to change.
        """
        if self.caller.user is None:
            raise NoUserChosen("choose whose memory to show")
        if not self.is_global:
            return user_memory_of(self.store, self.caller)
        path = self.request.url.path
        if not path.startswith(tuple(one.path for one in GLOBAL_NAVIGATION)):
            raise NoUserChosen("choose a user: this page is about one")
        is_reading = self.request.method == "GET" or path == _SEARCH_PATH
        self.check_may(Permission.READ_ALL if is_reading else Permission.MANAGE)
        return self.store.global_memories(actor=None if self.key is None else self.key.id)

    @property
    def owner(self) -> str | None:
        """Whose memories are shown: a user's, or the global ones."""
        return self.caller.user

    @property
    def user(self) -> str | None:
        """The user whose memories are shown; None for the global ones."""
        return None if self.is_global else self.caller.user

    @property
    def is_global(self) -> bool:
        return self.caller.user == GLOBAL_OWNER

    @property
    def whose(self) -> Whose:
        """Whose memories are shown, in words; somebody who may choose reads those of others."""
        owner = self.owner
        is_reader = self.session.user is None if self.key is None else not self.may_choose_user
        return Whose(owner or "", is_reader=is_reader)

    @property
    def may_change(self) -> bool:
        """Whether what is shown as the owner's can be changed here."""
        return not self.is_global or self.may(Permission.MANAGE)

    @property
    def key(self) -> ApiKey | None:
        """The key that signed in; None where none is required."""
        return self.caller.key

    @property
    def is_confined(self) -> bool:
        """Whether only some categories are visible."""
        return self.caller.categories is not None

    @property
    def may_choose_user(self) -> bool:
        return self.key is None or self.key.user_id is None

    @property
    def is_partial(self) -> bool:
        """Whether htmx requests a fragment; for a step back in history it requests a whole page."""
        headers = self.request.headers
        is_whole = headers.get("hx-history-restore-request") == "true"
        return headers.get("hx-request") == "true" and not is_whole

    def may(self, permission: Permission | str) -> bool:
        return Permission(permission) in self.caller.permissions

    def check_may(self, permission: Permission) -> None:
        """Refuse a key that lacks a permission.

        Raises:
            PermissionMissing: names it.
        """
        if not self.may(permission):
            raise PermissionMissing(f"this needs a key with the permission {permission.value}")

    def render(
        self, template: str, /, *, status: int = 200, counting: bool = True, **values: Any
    ) -> HTMLResponse:
        """A whole page, with the notice of the session.

        ``counting=False`` reads nothing for the navigation, as after a failed read.
        """
        notice, reverse = self.session.notice, self.session.reverse
        self.session = self.session.with_notice(None)
        shared = {
            "page": self,
            "notice": notice,
            "reverse": reverse,
            "navigation": GLOBAL_NAVIGATION if self.is_global else NAVIGATION,
            "open_proposals": self._open_proposals() if counting else 0,
        }
        response = rendered(template, {**shared, **values}, status)
        # Never a new session for a POST: browsers send no cookie with forms of other sites, and a
        # new cookie would sign the user out.
        begins = self.is_new and self.request.method == "GET"
        if begins or notice is not None:
            self.cookies.put(self.request, response, self.session)
        return response

    def fragment(self, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A part of a page.

        A page that was opened before another user was chosen, in another window, is reloaded.
        """
        shown = self.request.headers.get(_PAGE_HEADER, self.session.token)
        if self.request.method == "GET" and shown != self.session.token and not self.is_new:
            return HTMLResponse(headers={**PRIVATE, "HX-Refresh": "true"})
        return rendered(template, {"page": self, **values}, status)

    def redirect(
        self,
        path: str,
        *,
        notice: str | None = None,
        reverse: Reverse | None = None,
        session: Session | None = None,
    ) -> Response:
        """Redirect to a page that shows the notice once, with this session or the present one.

        With ``reverse`` the notice has a button that takes it back.
        """
        response = redirection(path, by_htmx=self.is_partial)
        told = session or self.session.with_notice(notice, reverse)
        self.cookies.put(self.request, response, told)
        return response

    def _open_proposals(self) -> int:
        """The number of open proposals for the navigation, up to what it shows."""
        if self.user is None or self.is_confined:
            return 0
        return len(self.memory.proposals(limit=limits.MAX_SHOWN_PROPOSALS))


def redirection(path: str, *, by_htmx: bool) -> Response:
    response = RedirectResponse(path, 303, PRIVATE)
    if not by_htmx:
        return response
    # htmx would follow a redirect and insert the page into the present one.
    return Response(headers={**PRIVATE, "HX-Redirect": response.headers["location"]})


async def page_request(request: Request) -> PageRequest:
    """The request with its caller, who is looked up once per request.

    Raises:
        NotAuthenticated: a key is required, and nobody is signed in with a valid one.
        TooManyRequests: the rate limit is exceeded.
    """
    known: PageRequest | None = getattr(request.state, "page", None)
    if known is None:
        known = request.state.page = await run_in_threadpool(_authenticated, request)
    return known


Page = Annotated[PageRequest, Depends(page_request)]


def anonymous(request: Request) -> PageRequest:
    """A request of nobody in particular, which sees no memory."""
    cookies: SessionCookies = request.app.state.session_cookies
    session = cookies.read(request)
    nobody = Caller(None, None, None, frozenset(), frozenset())
    store: Memory = request.app.state.memory
    return PageRequest(request, session or Session(), nobody, store, cookies, session is None)


def _authenticated(request: Request) -> PageRequest:
    page = anonymous(request)
    gate: Gate = request.app.state.gate
    session = page.session
    if not gate.requires_keys:
        page.caller = gate.trusted(session.user or _only_user(page.store))
        return page
    key = _live_key(page.store, session)
    note_key(key.id)
    gate.limiter.count(f"key {key.id}")
    page.caller = gate.bound(key, key.user_id or session.user)
    return page


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
    """The only user of the store, or the default one where there is none yet."""
    users = store.users(limit=2)
    if len(users) > 1:
        return None
    return users[0] if users else DEFAULT_USER
