"""Errors as HTTP problem details (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ricordo.errors import (
    AccessDenied,
    BudgetExhausted,
    Changed,
    Conflict,
    EmbedderUnavailable,
    EmbeddingError,
    FilesUnavailable,
    InvalidInput,
    InvalidPolicy,
    LanguageModelError,
    ModelUnavailable,
    NotAuthenticated,
    NotFound,
    PermissionMissing,
    RicordoError,
    StorageBusy,
    StorageError,
    StorageFull,
    told_outside,
)
from ricordo.observability.logs import note_error, request_id
from ricordo.observability.metrics import ServiceMetrics

PROBLEM_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = "1"
_MAX_LISTED: Final = 10
_NOT_JSON: Final = "NotJson"


class PreconditionFailed(Conflict):
    """``If-Match`` does not name the current state."""


class RequestTooLarge(InvalidInput):
    """The body exceeds the limit."""


class IssuerUnavailable(RicordoError):
    """The keys of another authorisation server cannot be read."""


class ScopeMissing(PermissionMissing):
    """A program's token is not good for that."""


class TooManyRequests(RicordoError):
    """The rate limit is exceeded; ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"too many requests; try again in {retry_after} s")


class TooManyTransfers(TooManyRequests):
    """Another import or export has to finish first."""

    def __init__(self, why: str) -> None:
        self.retry_after = int(_RETRY_SECONDS)
        RicordoError.__init__(self, why)


STATUS_OF: Final[dict[type[RicordoError], HTTPStatus]] = {
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    InvalidPolicy: HTTPStatus.SERVICE_UNAVAILABLE,  # the operator's mistake, not the client's
    RequestTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NotAuthenticated: HTTPStatus.UNAUTHORIZED,
    AccessDenied: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    Changed: HTTPStatus.PRECONDITION_FAILED,  # raised only for requests with If-Match
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
    StorageFull: HTTPStatus.INSUFFICIENT_STORAGE,
    FilesUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    EmbeddingError: HTTPStatus.BAD_GATEWAY,
    EmbedderUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    LanguageModelError: HTTPStatus.BAD_GATEWAY,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    BudgetExhausted: HTTPStatus.TOO_MANY_REQUESTS,
    IssuerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    RicordoError: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Problem(BaseModel):
    """Why a request was refused or failed."""

    type: str = Field(description="The kind of problem.", examples=["MemoryNotFound"])
    title: str = Field(description="The status in words.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        description="What was wrong, and what is allowed.", examples=["no memory 7"]
    )
    request_id: str | None = Field(
        default=None, description="The request in the service's log.", examples=["5f0c9e1d2b7a4c63"]
    )


def status_of(error: RicordoError) -> HTTPStatus:
    """The status of an error: that of its nearest base class in the table."""
    for kind in type(error).__mro__:
        if kind in STATUS_OF:
            return STATUS_OF[kind]
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem(
    status: HTTPStatus, kind: str, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    content = {
        "type": kind,
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "request_id": request_id(),
    }
    return JSONResponse(content, int(status), dict(headers or {}), PROBLEM_TYPE)


def problem_of(error: RicordoError, detail: str | None = None) -> JSONResponse:
    """One of our errors as a response; ``detail`` replaces its message."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, StorageBusy | EmbedderUnavailable | ModelUnavailable):
        headers["Retry-After"] = _RETRY_SECONDS
    elif isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return problem(status, type(error).__name__, detail or str(error), headers)


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """OpenAPI responses for these statuses."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        int(status): {"description": status.phrase, "content": {PROBLEM_TYPE: {"schema": schema}}}
        for status in statuses
    }


EVERYWHERE: Final = documented(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.INSUFFICIENT_STORAGE,
)
"""Problems that any API route can have."""


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RicordoError, _on_ricordo_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_ricordo_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RicordoError)
    metrics: ServiceMetrics = request.app.state.metrics
    if isinstance(error, NotAuthenticated):
        metrics.authentication_failed()
    elif isinstance(error, TooManyRequests):
        metrics.rate_limited()
    note_error(error)
    location: str = request.app.state.memory.database.backend.location
    answer = problem_of(error, told_outside(error, location))
    challenge: str | None = getattr(request.state, "challenge", None)
    if challenge is not None and isinstance(error, NotAuthenticated | ScopeMissing):
        answer.headers["WWW-Authenticate"] = challenge
    return answer


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """A request that fails validation: which fields are wrong, and how."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(tuple(entry["loc"]) == ("body",) for entry in found) and not says_json(request):
        detail = "send the body as JSON, with the header Content-Type: application/json"
        return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _NOT_JSON, detail)
    detail = "; ".join(map(_describe, found[:_MAX_LISTED]))
    if any(entry["type"] == "json_invalid" for entry in found):
        return problem(HTTPStatus.BAD_REQUEST, _NOT_JSON, detail)
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "InvalidValue", detail)


def says_json(request: Request) -> bool:
    """Whether the content type is JSON, which an HTML form of another site cannot send."""
    return "json" in request.headers.get("content-type", "").lower()


def _describe(entry: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in entry["loc"][1:]) or str(entry["loc"][0])
    if entry["type"] == "json_invalid":
        return f"the body is not JSON: {entry['ctx']['error']}"
    if entry["type"] == "extra_forbidden":
        return f"{where}: there is no such field"
    return f"{where}: {entry['msg']}"


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    """404, 405 and the like, raised by the framework."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.BAD_REQUEST:  # raised only for an unreadable body, without a reason
        return problem(status, _NOT_JSON, "the body cannot be read as JSON")
    kind = status.phrase.replace(" ", "")
    detail = f"{request.method} {request.url.path}: {status.phrase}"
    return problem(status, kind, detail, error.headers)
