"""Routes that are derived from the descriptions of operations."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final, get_args, get_origin

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import create_model
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ricordo.errors import InvalidInput, InvalidValue, UnknownField
from ricordo.http.auth import Direct, GatedRoute, acting_user, global_memories_for, store_for
from ricordo.http.examples import NOT_CHANGED, example_of, showing
from ricordo.http.idempotency import IdempotentRoute
from ricordo.http.problems import documented, says_json
from ricordo.http.responses import answer, expected_by, nothing, tag_of, unchanged
from ricordo.http.routing import LENGTHY, SEARCHING, router_for
from ricordo.model.activity import Job
from ricordo.model.fields import Parameter
from ricordo.model.item import Added, Item
from ricordo.model.proposal import Proposed
from ricordo.model.record import plain
from ricordo.model.vocabulary import Permission
from ricordo.operations.operation import STORE_OPERATIONS, USER_OPERATIONS, Operation, Route
from ricordo.recall.reranker import under_way

EXPECTED: Final = "expected_updated_at"
_IN_QUERY: Final = ("GET", "DELETE")
_PATH_PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
# Responses of these are not kept: requests can be repeated anyway, nothing of an erased user may
# be stored, and no secret.
SEARCHES: Final = frozenset({"search", "search_turns", "query", "context"})
_NOT_IDEMPOTENT: Final = (
    "Administration",
    "Administration: keys",
    "Administration: webhooks",
    "Webhooks",
)
_PROPOSED: Final = "Nobody asked for it, and it is sensitive or a wish: it waits for consent."
_KNOWN: Final = "It was there already, or was updated."

_EVERYBODYS: Final = "/v1/admin/global/memories"
_TOPIC: Final = "Administration: memories"
_GLOBAL: Final = (
    (Route("GET", _EVERYBODYS, "list_global_memories", _TOPIC), Permission.READ_ALL),
    (Route("POST", _EVERYBODYS, "add_global_memory", _TOPIC, creates=True), Permission.MANAGE),
    (Route("GET", f"{_EVERYBODYS}/{{id}}", "get_global_memory", _TOPIC), Permission.READ_ALL),
    (Route("DELETE", f"{_EVERYBODYS}/{{id}}", "forget_global_memory", _TOPIC), Permission.MANAGE),
)
"""Operations on the memories that every user sees who has few of their own."""

Run = Callable[..., Any]


def routers() -> list[APIRouter]:
    """A router for each topic. Fixed paths come first: ids match any word."""
    topics: dict[str, APIRouter] = {}
    described = [
        (route, operation, _bound_to(operation))
        for operation in (*USER_OPERATIONS.values(), *STORE_OPERATIONS.values())
        for route in operation.routes
    ]
    for route, permission in _GLOBAL:
        operation = USER_OPERATIONS[route.name.split("_")[0]]
        described.append((route, operation, global_memories_for(permission)))
    for route, operation, bound_to in sorted(described, key=lambda one: "{" in one[0].path):
        router = topics.get(route.topic)
        if router is None:
            kind = GatedRoute if route.topic in _NOT_IDEMPOTENT else IdempotentRoute
            router = topics[route.topic] = router_for(
                route.topic, route_class=kind, checks_query=False
            )
        _add(router, route, operation, bound_to)
    return list(topics.values())


def _bound_to(operation: Operation[..., Any]) -> Callable[..., Any]:
    """Finds what an operation is called on: the caller's memory, or the store."""
    return acting_user if operation.permission is None else store_for(operation.permission)


def _add(
    router: APIRouter,
    route: Route,
    operation: Operation[..., Any],
    bound_to: Callable[..., Any],
) -> None:
    call = _method(operation)

    async def answered(request: Request, bound: Any) -> Response:
        given = await _given(request, route, operation)

        def work() -> Response:  # the answer is built in the thread, too: it may be large
            return _response(request, route, call(bound, **given))

        if route.is_lengthy:
            return await LENGTHY.run(work)
        if operation.name in SEARCHES:
            with under_way.get().counting():  # also while it waits for a thread
                return await SEARCHING.run(work)
        return await run_in_threadpool(work)

    about = operation.help.split("\nRaises:")[0].replace("``", "`").strip()
    router.add_api_route(
        route.path,
        Direct(bound_to, answered),
        methods=[route.method],
        name=route.name,
        summary=operation.summary,
        description=about,
        response_model=_response_model(route, operation),
        status_code=_usual_status(route, operation.result),
        responses=_responses(route, operation),
        openapi_extra=_documented(route, operation),
    )


def _method(operation: Operation[..., Any]) -> Run:
    return lambda bound, /, **given: getattr(bound, operation.name)(**given)


# -- requests -----------------------------------------------------------------------------------


async def _given(request: Request, route: Route, operation: Operation[..., Any]) -> dict[str, Any]:
    """The arguments of a request by name, as they were given; the operation checks them.

    Raises:
        UnknownField, InvalidValue: a name that does not exist, or is given twice.
        RequestValidationError: the body is not JSON.
    """
    parameters = operation.parameters
    given = {
        name: parameters[name].kind.from_text(value) for name, value in request.path_params.items()
    }
    sent: Mapping[str, Any] = _query(request, route, operation)
    if route.method not in _IN_QUERY:
        sent = await _body(request)
    unknown = [str(name) for name in sent if operation.parameter(name) is None]
    if unknown:
        raise UnknownField("argument", unknown, parameters)
    for name, value in sent.items():
        if name in request.path_params:
            raise InvalidValue(name, "is given twice (also in the path)")
        given[name] = value
    if EXPECTED in parameters and "id" in given:
        expected = expected_by(request.headers.get("if-match"))
        if expected is not None:
            if EXPECTED in given:
                raise InvalidValue(EXPECTED, "is given twice (also as If-Match)")
            given[EXPECTED] = expected
    return given


def _query(request: Request, route: Route, operation: Operation[..., Any]) -> dict[str, Any]:
    if not request.scope["query_string"]:
        return {}
    if route.method not in _IN_QUERY:
        raise UnknownField("query parameter", set(request.query_params), ())
    found: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        one = operation.parameter(name)
        if one is None:
            found[name] = values[0]
        elif one.kind.takes_several:
            read = [one.kind.from_text(value) for value in values]
            found[name] = read[0] if len(read) == 1 else read
        elif len(values) > 1:
            raise InvalidValue(name, "is given more than once")
        else:
            found[name] = one.kind.from_text(values[0])
    return found


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise InvalidInput("the request ended before its body did") from None
    if not body:
        return {}
    sent = read_json(request, body)
    if sent is None:
        return {}
    if not isinstance(sent, dict):
        raise InvalidValue("body", f"expected an object, got {type(sent).__name__}")
    return sent


def read_json(request: Request, body: bytes) -> Any:
    """The JSON of a body. Raises RequestValidationError: it is none, or not called so."""
    if not says_json(request):
        raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "not JSON"}])
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as problem:
        why = problem.msg if isinstance(problem, json.JSONDecodeError) else str(problem)
        raise RequestValidationError(
            [{"type": "json_invalid", "loc": ("body", 0), "msg": why, "ctx": {"error": why}}]
        ) from None


# -- responses ----------------------------------------------------------------------------------


def _response(request: Request, route: Route, done: Any) -> Response:
    if route.answers is not None:
        return answer({route.answers: done})
    if route.method == "DELETE" and isinstance(done, tuple):
        (done,) = done  # by its id there is one
    if isinstance(done, Item):
        etag = tag_of(done)
        if route.method == "GET":
            return unchanged(etag, request.headers.get("if-none-match")) or answer(done, etag=etag)
        return answer(done, etag=etag)
    if route.creates and isinstance(done, Added):
        if not done.is_new:
            return answer(done)
        place = f"{request.url.path.removesuffix('/merge')}/{done.id}"
        return answer(done, HTTPStatus.CREATED, headers={"Location": place})
    if isinstance(done, Proposed):
        return answer(done, HTTPStatus.ACCEPTED)
    if done is None and route.method in ("DELETE", "POST"):
        return nothing()
    status = HTTPStatus.CREATED if route.creates else HTTPStatus.OK
    return JSONResponse(plain(done), int(status))


def _usual_status(route: Route, result: Any) -> int:
    if route.creates:
        return int(HTTPStatus.CREATED)
    return int(HTTPStatus.NO_CONTENT if result is type(None) else HTTPStatus.OK)


def _response_model(route: Route, operation: Operation[..., Any]) -> Any:
    result = operation.result
    if result == Added | Proposed:
        return Added
    if route.answers is not None:
        return _named_number(route.answers)
    if route.method == "DELETE" and result == tuple[Item, ...]:
        return Item
    if get_origin(result) is tuple:
        entry = get_args(result)[0]
        return list[_job_shown() if entry is Job else entry]  # type: ignore[misc]
    return None if result is type(None) else result


@cache
def _named_number(name: str) -> Any:
    return create_model(f"{name.capitalize()}Response", **{name: (int, ...)})  # type: ignore[call-overload]


@cache
def _job_shown() -> Any:
    """The fields of ``Job.to_dict``: all but the token that only its worker may know."""
    hints = inspect.get_annotations(Job, eval_str=True)
    shown = {name: (hint, ...) for name, hint in hints.items() if name != "lease_token"}
    return create_model("Job", __doc__="A job in the queue.", **shown)  # type: ignore[call-overload]


def _responses(route: Route, operation: Operation[..., Any]) -> dict[int | str, dict[str, Any]]:
    result = _response_model(route, operation)
    usual = _usual_status(route, operation.result)
    is_item = result is Item
    found: dict[int | str, dict[str, Any]] = {}
    shown = result if result in (Item, Added) else operation.result
    example = example_of(shown, route.answers)
    if example is not None:
        found = showing(example, usual, tagged=is_item, placed=route.creates and result is Added)
    if is_item:
        found |= NOT_CHANGED if route.method == "GET" else {}
        if EXPECTED in operation.parameters:
            found |= documented(HTTPStatus.PRECONDITION_FAILED)
    if route.creates and result is Added:
        known = {**example_of(Added), "duplicate": True}
        found |= showing(known, 200, _KNOWN, model=Added)
        if operation.result == Added | Proposed:
            found |= showing(example_of(Proposed), 202, _PROPOSED, model=Proposed)
    return found


# -- the OpenAPI document -----------------------------------------------------------------------


def _documented(route: Route, operation: Operation[..., Any]) -> dict[str, Any]:
    in_path = _PATH_PARAMETER.findall(route.path)
    parameters = [_in(operation.parameters[name], "path") for name in in_path]
    others = [one for name, one in operation.parameters.items() if name not in in_path]
    if EXPECTED in operation.parameters and "id" in in_path:
        parameters.append(
            _header("If-Match", "Do it only while the memory still has this ETag; 412 otherwise.")
        )
    if route.method == "GET" and operation.result is Item:
        parameters.append(_header("If-None-Match", "Answer 304 while it still has this ETag."))
    if route.method in _IN_QUERY:
        return {"parameters": [*parameters, *(_in(one, "query") for one in others)]}
    if not others:
        return {"parameters": parameters}
    required = [one.name for one in others if one.is_required]
    schema: dict[str, Any] = {
        "title": f"{''.join(map(str.capitalize, route.name.split('_')))}Request",
        "type": "object",
        "properties": {one.name: one.schema() for one in _with_aliases(others)},
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    body = {"required": bool(required), "content": {"application/json": {"schema": schema}}}
    return {"parameters": parameters, "requestBody": body}


def _with_aliases(parameters: list[Parameter]) -> list[Parameter]:
    """The parameters, and ``category`` beside ``theme``."""
    found = []
    for one in parameters:
        found.append(one)
        if "category" in one.kind.aliases:
            found.append(one.renamed("category", "Another name for theme."))
    return found


def _in(one: Parameter, place: str) -> dict[str, Any]:
    schema = one.schema()
    schema.pop("description", None)
    examples = schema.pop("examples", None)
    if one.kind.takes_several and place == "query":
        listed = next(kind for kind in schema.get("anyOf", [schema]) if kind["type"] == "array")
        schema = listed
    found: dict[str, Any] = {
        "name": one.name,
        "in": place,
        "required": place == "path" or one.is_required,
        "schema": schema,
    }
    if one.kind.about:
        found["description"] = one.kind.about
    if examples:
        found["example"] = examples[0]
    return found


def _header(name: str, about: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": about,
    }
