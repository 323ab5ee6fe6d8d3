"""What all routes about memories have in common."""

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from ricordo.http.gating import GatedRoute
from ricordo.http.idempotency import IdempotentRoute
from ricordo.http.parameters import check_parameters
from ricordo.http.problems import EVERYWHERE
from ricordo.http.showing import NOT_CHANGED, showing

__all__ = ["NOT_CHANGED", "operation_id", "router_for", "showing"]


def operation_id(route: APIRoute) -> str:
    """What the OpenAPI document calls the operation of a route."""
    return route.name


def router_for(
    tag: str, prefix: str = "", *, route_class: type[GatedRoute] = IdempotentRoute
) -> APIRouter:
    """A router that refuses parameters which do not exist, and whose writes can be repeated.

    Where answers are streamed, or must not be kept, ``route_class`` is the plain one.
    """
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=route_class,
        responses=EVERYWHERE,
        dependencies=[Depends(check_parameters)],
        generate_unique_id_function=operation_id,
    )
