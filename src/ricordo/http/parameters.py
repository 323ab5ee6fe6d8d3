"""Query strings: what a route does not know is refused, never ignored."""

from typing import Any, get_args, get_origin

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from ricordo.errors import InvalidValue, UnknownField
from ricordo.http.callers import Calling


async def check_parameters(request: Request, _caller: Calling) -> None:
    """Nothing, where the query string has only parameters of the route, each as often as it may.

    Whoever may not come in is told so first.

    Raises:
        UnknownField: one does not exist.
        InvalidValue: one that takes a single value comes several times.
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
    """The names that a query string may have, and whether several values may go by each."""
    found: dict[str, Any] = {}
    for field in route.dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= {name: inner.annotation for name, inner in kind.model_fields.items()}
        else:
            found[field.alias] = kind
    return {name: _is_list(kind) for name, kind in found.items()}


def _is_list(annotation: object) -> bool:
    return any(get_origin(part) is list for part in (annotation, *get_args(annotation)))
