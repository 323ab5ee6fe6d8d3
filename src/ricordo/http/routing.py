"""What API routes share: routers, bodies and query strings, and threads for slow endpoints."""

import functools
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, ParamSpec, TypeVar, get_args, get_origin

import anyio.to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Depends, Header, Path, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from ricordo.errors import InvalidValue, UnknownField
from ricordo.http.auth import Calling, GatedRoute
from ricordo.http.examples import NOT_CHANGED, showing
from ricordo.http.idempotency import IdempotentRoute
from ricordo.http.problems import EVERYWHERE
from ricordo.limits import MAX_LENGTHY_REQUESTS
from ricordo.providers.local_embedder import usable_cores


class RequestBody(BaseModel):
    """A body or a query string. Fields that do not exist are refused, never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """The fields that the client sent, by the names of the library's parameters."""
        return self.model_dump(exclude_unset=True)


class QueryParameters(RequestBody):
    """A query string, in which everything comes as text."""

    model_config = ConfigDict(extra="forbid", strict=False)


IfMatch = Annotated[
    str | None, Header(description="Do it only while the thing still has this ETag; 412 otherwise.")
]
IfNoneMatch = Annotated[
    str | None, Header(description="Answer 304 while the thing still has this ETag.")
]
ThreadName = Annotated[str, Path(description="The conversation.", examples=["monday"])]


async def check_parameters(request: Request, _caller: Calling) -> None:
    """Check that the query string has only known parameters, repeated only where allowed.

    It depends on the caller, so authentication errors come first. Raises UnknownField: a parameter
    does not exist; InvalidValue: a single-valued parameter is given several times.
    """
    if not request.url.query:
        return
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    takes_several = _parameters(route)
    given = [name for name, _ in request.query_params.multi_items()]
    unknown = {name for name in given if name not in takes_several}
    if unknown:
        raise UnknownField("query parameter", unknown, takes_several)
    for name in takes_several:
        if not takes_several[name] and given.count(name) > 1:
            raise InvalidValue(name, "is given more than once")


def _parameters(route: APIRoute) -> dict[str, bool]:
    """The names that a query string may have, and whether each takes several values."""
    found: dict[str, Any] = {}
    for field in route.dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= {name: inner.annotation for name, inner in kind.model_fields.items()}
        else:
            found[field.alias] = kind
    return {
        name: any(get_origin(part) is list for part in (kind, *get_args(kind)))
        for name, kind in found.items()
    }


__all__ = ["NOT_CHANGED", "operation_id", "router_for", "showing"]


def operation_id(route: APIRoute) -> str:
    return route.name


def router_for(
    tag: str,
    prefix: str = "",
    *,
    route_class: type[GatedRoute] = IdempotentRoute,
    checks_query: bool = True,
) -> APIRouter:
    """A router that rejects unknown parameters and whose writes are idempotent.

    Where responses are streamed or must not be stored, pass :class:`GatedRoute`.
    """
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=route_class,
        responses=EVERYWHERE,
        dependencies=[Depends(check_parameters)] if checks_query else [],
        generate_unique_id_function=operation_id,
    )


Given = ParamSpec("Given")
Found = TypeVar("Found")


class Threads:
    """A number of threads apart from those that all requests share."""

    def __init__(self, name: str, most: int) -> None:
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar(f"ricordo_{name}_threads")
        self._most = most

    def allow(self, most: int) -> None:
        """Another number, from now on, of the running event loop."""
        self._limiter.set(anyio.CapacityLimiter(most))

    async def run(
        self, work: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs
    ) -> Found:
        try:
            limiter = self._limiter.get()
        except LookupError:  # the first call on this event loop
            limiter = anyio.CapacityLimiter(self._most)
            self._limiter.set(limiter)
        call = functools.partial(work, *args, **kwargs)
        return await anyio.to_thread.run_sync(call, limiter=limiter)


def searching_threads(workers: int) -> int:
    """For the cores that one of so many processes has, and one that waits."""
    return max(1, usable_cores() // workers) + 1


LENGTHY: Final = Threads("lengthy", MAX_LENGTHY_REQUESTS)
"""For a model call, a whole file or store: a few would block everybody else, ``/readyz`` too."""
SEARCHING: Final = Threads("searching", searching_threads(1))
"""For searches, which compute all the time: more threads would only wait for each other."""


def lengthy(endpoint: Callable[Given, Response]) -> Callable[Given, Coroutine[Any, Any, Response]]:
    @functools.wraps(endpoint)
    async def call(*args: Given.args, **kwargs: Given.kwargs) -> Response:
        return await LENGTHY.run(endpoint, *args, **kwargs)

    return call
