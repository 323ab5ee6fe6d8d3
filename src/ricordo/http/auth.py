"""Authentication: the key of a request, its user and its agent."""

import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.access.keys import PREFIX
from ricordo.errors import InvalidValue, NotAuthenticated, PermissionMissing
from ricordo.frozen import dataclass, replace
from ricordo.http.rate_limit import RateLimiter
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.group import group_name
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import KeyKind, Permission, SharingRight
from ricordo.observability.logs import note_key
from ricordo.user_memory import UserMemory

USER_HEADERS: Final = ("x-ricordo-user", "x-openwebui-user-id")
"""A service names the user that it acts for in one of these; the first non-empty one counts."""
AGENT_HEADER: Final = "x-ricordo-agent"
GROUP_HEADER: Final = "x-ricordo-group"
PROJECT_HEADER: Final = "x-ricordo-project"
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request. Without a ``user`` it is anonymous and has no memory.

    ``categories`` are all that its agent may access; None for everything. With a ``group`` it is
    about what that shares, in the name of the user; with a ``project`` it is kept to that. Where no
    keys are required, a caller without one is trusted like the operator.
    """

    key: ApiKey | None
    user: str | None
    agent: str | None
    categories: frozenset[str] | None
    permissions: frozenset[Permission]
    group: str | None = None
    project: str | None = None

    @property
    def sharing(self) -> SharingRight | None:
        """What the key says about sharing; None where it says nothing of its own."""
        if self.key is None or self.key.kind is KeyKind.USER:
            return None
        may_share = Permission.SHARE in self.permissions
        if self.key.kind is KeyKind.AGENT:
            return SharingRight.OFFER if may_share else SharingRight.NONE
        # A service does not vouch for what an agent shares through it.
        return SharingRight.VOUCHED if may_share and self.agent is None else None


@dataclass(frozen=True, slots=True)
class Gate:
    """Authenticates requests."""

    memory: Memory
    requires_keys: bool
    limiter: RateLimiter

    async def caller_of(self, request: Request) -> Caller:
        """The caller of a request, looked up once per request.

        Raises:
            NotAuthenticated: a key is required, or the given one is not valid.
            PermissionMissing: it names a user or an agent that its key does not act for.
            InvalidValue: a name is not allowed.
            TooManyRequests: the rate limit is exceeded.
        """
        known: Caller | None = getattr(request.state, "caller", None)
        if known is None:
            found = await self._look_up(request)
            group, project = group_named(request.headers), project_named(request.headers)
            known = request.state.caller = replace(found, group=group, project=project)
        return known

    async def _look_up(self, request: Request) -> Caller:
        address = request.client.host if request.client else "?"
        secret = self.secret_in(request.headers)
        refused = f"refused {address}"  # rate-limited, so that nobody can guess keys quickly
        if secret is None:
            if not self.requires_keys:
                return self.trusted(*_names(request.headers))
            self.limiter.count(refused)
            raise NotAuthenticated("send a key of this service: Authorization: Bearer rk_…")
        try:
            key = await run_in_threadpool(self.memory.authenticate, secret)
        except NotAuthenticated:
            self.limiter.count(refused)
            raise
        note_key(key.id)
        self.limiter.count(f"key {key.id}")
        return self.bound(key, *_names(request.headers))

    def secret_in(self, headers: Headers) -> str | None:
        """The key in a request, whichever header it is in.

        A model provider's key may come beside it, for the chat proxy. Where no key is required,
        that one alone is not mistaken for ours.
        """
        bearers = [
            given[len(_BEARER) :].strip()
            for given in headers.getlist("authorization")
            if given.lower().startswith(_BEARER)
        ]
        secrets = [*bearers, *(given.strip() for given in headers.getlist("x-api-key"))]
        ours = [secret for secret in secrets if secret.startswith(PREFIX)]
        others = [secret for secret in secrets if secret] if self.requires_keys else []
        return next(iter([*ours, *others]), None)

    def trusted(self, user: str | None, agent: str | None = None) -> Caller:
        """The caller without a key, where none is required."""
        return Caller(None, user, agent, self._allowed(agent, None), frozenset(Permission))

    def bound(self, key: ApiKey, user: str | None, agent: str | None = None) -> Caller:
        """The caller of a valid key, narrowed to the user and agent that the request names. Raises
        PermissionMissing: it names a user or an agent that its key does not act for."""
        if key.kind is not KeyKind.SERVICE:
            if user not in (None, key.user_id):
                raise PermissionMissing("this key acts for one user, and not for the one named")
            user = key.user_id
        if key.agent_id is not None and agent not in (None, key.agent_id):
            raise PermissionMissing("this key is of one agent, and not of the one named")
        agent = key.agent_id or agent
        categories = None if key.categories is None else frozenset(key.categories)
        allowed = self._allowed(agent, categories)
        return Caller(key, user, agent, allowed, frozenset(key.permissions))

    def of_token(self, headers: Headers, user: str, key: ApiKey | None) -> Caller:
        """The caller of a program's token: its user, with the limits of the key behind it, and
        nothing that reaches beyond the user. Raises PermissionMissing: the request names another
        user or agent; InvalidValue: a name is not allowed."""
        named, agent = _names(headers)
        if named not in (None, user):
            raise PermissionMissing("this token is of one user, and not of the one named")
        if key is None:
            found = Caller(None, user, agent, self._allowed(agent, None), frozenset())
        else:
            found = self.bound(key, user, agent)
            if key.kind is KeyKind.SERVICE:
                found = replace(found, permissions=frozenset())
        return replace(found, group=group_named(headers), project=project_named(headers))

    def _allowed(
        self, agent: str | None, categories: frozenset[str] | None
    ) -> frozenset[str] | None:
        """The categories that both the policy file and the key allow an agent."""
        return self.memory.parts.access.current().allowed(agent, categories)


def user_named(headers: Headers) -> str | None:
    """The user that the headers name, if any. Raises InvalidValue: the name is not allowed."""
    for header in USER_HEADERS:
        named = _named(headers, header)
        if named is not None:
            return checks.user_id(named)
    return None


def group_named(headers: Headers) -> str | None:
    """The group that a header names, if any. Raises InvalidValue: no group can have that name."""
    named = _named(headers, GROUP_HEADER)
    return None if named is None else group_name(GROUP_HEADER, named)


def project_named(headers: Headers) -> str | None:
    """The project that a header names, if any. Raises InvalidValue: no project can be called so."""
    return checks.optional_reference(PROJECT_HEADER, _named(headers, PROJECT_HEADER))


def bearer_in(headers: Headers) -> str | None:
    """The bearer token of a request; None where there is none, or more than one."""
    given = headers.getlist("authorization")
    if len(given) != 1 or not given[0].lower().startswith(_BEARER):
        return None
    return given[0][len(_BEARER) :].strip() or None


def _names(headers: Headers) -> tuple[str | None, str | None]:
    return user_named(headers), _named(headers, AGENT_HEADER)


def _named(headers: Headers, header: str) -> str | None:
    """A name in a header; bytes outside ASCII are UTF-8. Raises InvalidValue: there are several
    values: one may come from whoever the caller forwards for."""
    several = {given.strip() for given in headers.getlist(header)}
    if len(several) > 1:
        raise InvalidValue(header, "is given more than once, and not the same")
    given = several.pop() if several else ""
    try:
        return given.encode("latin-1").decode("utf-8") or None
    except UnicodeError:
        return given


async def _caller(request: Request) -> Caller:
    gate: Gate = request.app.state.gate
    return await gate.caller_of(request)


Calling = Annotated[Caller, Depends(_caller)]


def user_memory_of(memory: Memory, caller: Caller) -> UserMemory:
    """The memory that a request is about, with the caller's rights. Raises NotAuthenticated: the
    request names no user."""
    if caller.user is None:
        raise NotAuthenticated(
            "the request names no user: send X-Ricordo-User, or use a key that is bound to one"
        )
    user = memory.user(
        caller.user,
        agent=caller.agent,
        categories=caller.categories,
        group=caller.group,
        project=caller.project,
    )
    is_agent = caller.key is not None and caller.key.kind is KeyKind.AGENT
    if caller.sharing is None and not is_agent:
        return user
    scope = replace(user.scope, sharing=caller.sharing, is_agent=is_agent)
    return UserMemory(user.parts, scope)


def check_may_give(caller: Caller, permissions: Iterable[str]) -> None:
    """Check that the caller has every permission that it gives to a key. Raises PermissionMissing:
    names those that the caller lacks."""
    # A caller who manages keys can create one for any user, and offer and accept with it.
    always = {Permission.SHARE}
    lacking = sorted(set(permissions) & (set(Permission) - caller.permissions - always))
    if lacking:
        raise PermissionMissing(f"your own key does not have: {', '.join(lacking)}")


_UserHeader = Annotated[
    str | None,
    Header(
        alias="X-Ricordo-User",
        description="Whom the request is about; not needed with a key that is bound to a user.",
        examples=["ana"],
    ),
]
_AgentHeader = Annotated[
    str | None, Header(alias="X-Ricordo-Agent", description="The agent that asks, if one does.")
]
_GroupHeader = Annotated[
    str | None,
    Header(
        alias="X-Ricordo-Group",
        description="The group whose memories it is about, instead of the user's own: the user is"
        " a member, and does what their role allows.",
        examples=["payments"],
    ),
]
_ProjectHeader = Annotated[
    str | None,
    Header(
        alias="X-Ricordo-Project",
        description="The project that the request is kept to: what is of other ones is not seen.",
        examples=["github.com/acme/shop"],
    ),
]


async def acting_user(
    request: Request,
    caller: Calling,
    _user: _UserHeader = None,
    _agent: _AgentHeader = None,
    _group: _GroupHeader = None,
    _project: _ProjectHeader = None,
) -> UserMemory:
    # The headers are parameters for the OpenAPI document only; the gate has read them.
    memory: Memory = request.app.state.memory
    return user_memory_of(memory, caller)


Acting = Annotated[UserMemory, Depends(acting_user)]


def store_for(permission: Permission) -> Callable[..., Coroutine[Any, Any, Memory]]:
    async def store(request: Request, caller: Calling) -> Memory:
        if permission not in caller.permissions:
            raise PermissionMissing(f"this needs a key with the permission {permission.value}")
        memory: Memory = request.app.state.memory
        return memory

    return store


def global_memories_for(permission: Permission) -> Callable[..., Coroutine[Any, Any, UserMemory]]:
    """The memories that everybody sees; history names the agent, else the key, as the actor."""
    find_store = store_for(permission)

    async def memories(request: Request, caller: Calling) -> UserMemory:
        store = await find_store(request, caller)
        key = None if caller.key is None else caller.key.id
        return store.global_memories(actor=caller.agent or key)

    return memories


ReadingAll = Annotated[Memory, Depends(store_for(Permission.READ_ALL))]
Managing = Annotated[Memory, Depends(store_for(Permission.MANAGE))]


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Direct:
    """An endpoint that needs the caller and what is called, and reads everything else itself."""

    def __init__(
        self,
        bound_to: Callable[..., Coroutine[Any, Any, Any]],
        answer: Callable[[Request, Any], Coroutine[Any, Any, Response]],
    ) -> None:
        """``bound_to`` finds what is called: what :func:`store_for` and its like return."""
        self._bound_to = bound_to
        self._answer = answer
        # What FastAPI documents: the headers that name the user and the agent.
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    "bound",
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=Annotated[Any, Depends(bound_to)],
                )
            ]
        )

    async def __call__(self, bound: Any) -> Response:
        raise AssertionError(f"{bound} is answered by handle()")

    async def handle(self, request: Request) -> Response:
        gate: Gate = request.app.state.gate
        caller = await gate.caller_of(request)
        return await self._answer(request, await self._bound_to(request, caller))


def _answering(handle: Handler) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


class GatedRoute(APIRoute):
    """A route that authenticates before the request body is read.

    FastAPI reads the body first, so strangers could make the service parse large bodies. An
    endpoint that is :class:`Direct` is called without FastAPI's dependencies and exit stacks, which
    cost as much as the rest of a request.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        if isinstance(endpoint, Direct):
            self.app = _answering(self.get_route_handler())

    def get_route_handler(self) -> Handler:
        handle: Handler = super().get_route_handler()
        if isinstance(self.endpoint, Direct):
            handle = self.endpoint.handle

        async def gated(request: Request) -> Response:
            gate: Gate = request.app.state.gate
            await gate.caller_of(request)
            return await handle(request)

        return gated
