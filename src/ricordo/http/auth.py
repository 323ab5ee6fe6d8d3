"""Who calls: the key, the user whom the request is about, and the agent that asks."""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from ricordo.access.keys import PREFIX
from ricordo.errors import InvalidValue, NotAuthenticated, PermissionMissing
from ricordo.http.rate_limit import RateLimiter
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import KeyKind, Permission, SharingRight
from ricordo.observability.logs import note_key
from ricordo.user_memory import UserMemory

USER_HEADERS: Final = ("x-ricordo-user", "x-openwebui-user-id")
"""Who acts for many users says for whom in one of these; the first that says anything counts."""
AGENT_HEADER: Final = "x-ricordo-agent"
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request comes from. Without a ``user`` it is anonymous: there is no memory for it.

    ``categories`` are all that its agent may touch; None for everything. Where no keys are
    required, a caller without one is trusted like the operator.
    """

    key: ApiKey | None
    user: str | None
    agent: str | None
    categories: frozenset[str] | None
    permissions: frozenset[Permission]

    @property
    def sharing(self) -> SharingRight | None:
        """What the key says about sharing; None where it says nothing of its own."""
        if self.key is None or self.key.kind is KeyKind.USER:
            return None
        may_share = Permission.SHARE in self.permissions
        if self.key.kind is KeyKind.AGENT:
            return SharingRight.OFFER if may_share else SharingRight.NONE
        # What an agent wants to share is not vouched for by the service that it comes through.
        return SharingRight.VOUCHED if may_share and self.agent is None else None


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides who comes in."""

    memory: Memory
    requires_keys: bool
    limiter: RateLimiter

    async def caller_of(self, request: Request) -> Caller:
        """Who a request comes from; looked up once for each.

        Raises:
            NotAuthenticated: a key is required, or the one that was given is no good.
            PermissionMissing: it names a user or an agent that its key does not act for.
            InvalidValue: what it names cannot be the name of anybody.
            TooManyRequests: it has asked too often.
        """
        known: Caller | None = getattr(request.state, "caller", None)
        if known is None:
            known = request.state.caller = await self._look_up(request)
        return known

    async def _look_up(self, request: Request) -> Caller:
        address = request.client.host if request.client else "?"
        secret = self.secret_in(request.headers)
        refused = f"refused {address}"  # counted, so that nobody can guess keys at full speed
        if secret is None:
            if not self.requires_keys:
                return self._trusted(request.headers)
            self.limiter.count(refused)
            raise NotAuthenticated("send a key of this service: Authorization: Bearer rk_…")
        try:
            key = await run_in_threadpool(self.memory.authenticate, secret)
        except NotAuthenticated:
            self.limiter.count(refused)
            raise
        note_key(key.id)
        self.limiter.count(f"key {key.id}")
        return self._bound(key, request.headers)

    def secret_in(self, headers: Headers) -> str | None:
        """The key that a request brings along: one of ours, whichever header it is in.

        Somebody else's (a model provider's, for the chat proxy) may come beside it. Where no key is
        required, that alone is not taken for one of ours.
        """
        bearers = [
            given[len(_BEARER) :].strip()
            for given in headers.getlist("authorization")
            if given.lower().startswith(_BEARER)
        ]
        shown = [*bearers, *(given.strip() for given in headers.getlist("x-api-key"))]
        ours = [secret for secret in shown if secret.startswith(PREFIX)]
        others = [secret for secret in shown if secret] if self.requires_keys else []
        return next(iter([*ours, *others]), None)

    def _trusted(self, headers: Headers) -> Caller:
        return self.trusted(user_named(headers), _named(headers, AGENT_HEADER))

    def trusted(self, user: str | None, agent: str | None = None) -> Caller:
        """Who calls without a key where none is required."""
        return Caller(None, user, agent, self._allowed(agent, None), frozenset(Permission))

    def _bound(self, key: ApiKey, headers: Headers) -> Caller:
        return self.bound(key, user_named(headers), _named(headers, AGENT_HEADER))

    def bound(self, key: ApiKey, user: str | None, agent: str | None = None) -> Caller:
        """What a good key allows, narrowed by whom the request names.

        Raises:
            PermissionMissing: it names a user or an agent that its key does not act for.
        """
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

    def _allowed(
        self, agent: str | None, categories: frozenset[str] | None
    ) -> frozenset[str] | None:
        """What an agent may touch: what the policy file allows it, and its key."""
        return self.memory.parts.access.current().allowed(agent, categories)


def user_named(headers: Headers) -> str | None:
    """The user that a request names, if any.

    Raises:
        InvalidValue: nobody can have that name.
    """
    for header in USER_HEADERS:
        named = _named(headers, header)
        if named is not None:
            return checks.user_id(named)
    return None


def _named(headers: Headers, header: str) -> str | None:
    """A name in a header, whose bytes are UTF-8 where they are no ASCII.

    Raises:
        InvalidValue: it has several: one may be from somebody whom the caller passes on.
    """
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
"""Whoever calls, also anonymously."""


def user_memory_of(memory: Memory, caller: Caller) -> UserMemory:
    """The memory that a request is about, bound to who asks.

    Raises:
        NotAuthenticated: the request names no user.
    """
    if caller.user is None:
        raise NotAuthenticated(
            "the request names no user: send X-Ricordo-User, or use a key that is bound to one"
        )
    user = memory.user(caller.user, agent=caller.agent, categories=caller.categories)
    has_agents_key = caller.key is not None and caller.key.kind is KeyKind.AGENT
    if caller.sharing is None and not has_agents_key:
        return user
    scope = replace(user.scope, sharing=caller.sharing, has_agents_key=has_agents_key)
    return UserMemory(user.parts, scope)


def check_may_give(caller: Caller, permissions: Iterable[str]) -> None:
    """Nobody can give a key a permission that they do not have.

    Raises:
        PermissionMissing: names those that the caller lacks.
    """
    # Whoever manages keys can make one of any user, and with it offer and accept.
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
    str | None,
    Header(alias="X-Ricordo-Agent", description="The agent that asks, if one does."),
]


async def _acting(
    request: Request, caller: Calling, _user: _UserHeader = None, _agent: _AgentHeader = None
) -> UserMemory:
    # The headers are named for the OpenAPI document; the gate has read them.
    memory: Memory = request.app.state.memory
    return user_memory_of(memory, caller)


Acting = Annotated[UserMemory, Depends(_acting)]
"""The memory of the user whom the request is about."""


def _store_for(permission: Permission) -> Callable[..., Coroutine[Any, Any, Memory]]:
    async def store(request: Request, caller: Calling) -> Memory:
        if permission not in caller.permissions:
            raise PermissionMissing(f"this needs a key with the permission {permission.value}")
        memory: Memory = request.app.state.memory
        return memory

    return store


ReadingAll = Annotated[Memory, Depends(_store_for(Permission.READ_ALL))]
"""The whole store, for who may read across users."""
Managing = Annotated[Memory, Depends(_store_for(Permission.MANAGE))]
"""The whole store, for who may manage it."""


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GatedRoute(APIRoute):
    """A route that finds out who calls before the body is received and read.

    The framework reads it first: strangers could send, and have parsed, as much as the service
    takes, and would be told what is wrong with it.
    """

    def get_route_handler(self) -> Handler:
        """What serves a request of this route."""
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            gate: Gate = request.app.state.gate
            await gate.caller_of(request)
            return await handle(request)

        return gated
