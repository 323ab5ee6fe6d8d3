"""The chat proxy: memory in front of a language model, in the wire format of its clients."""

import re
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from ricordo.errors import InvalidInput, InvalidValue
from ricordo.http.auth import GROUP_HEADER, Caller, Calling, Gate
from ricordo.http.problems import EVERYWHERE, problem
from ricordo.http.routing import operation_id
from ricordo.model.vocabulary import KeyKind
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.asgi import send_answer, unless_gone
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.service import ChatProxy, ProxyAnswer, ProxyCaller, user_in_body
from ricordo.proxy.wire import Wire

_CLIENT_GONE: Final = 499  # only logs and metrics see it
_OBJECT: Final = {"type": "object", "additionalProperties": True}
_UPSTREAM_CONTENT: Final[dict[str, Any]] = {"application/json": {"schema": {}}}
_UPSTREAM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    # An error may be ours, or the upstream's in its own format.
    **{
        status: {**refusal, "content": {**refusal["content"], **_UPSTREAM_CONTENT}}
        for status, refusal in EVERYWHERE.items()
    },
    "default": {
        "description": "Whatever else the model's endpoint answers, with its status.",
        "content": _UPSTREAM_CONTENT,
    },
}
_ANSWERED: Final[dict[int | str, dict[str, Any]]] = {
    **_UPSTREAM_RESPONSES,
    200: {
        "description": "The model's answer, with the `memories` and `quotes` that it was shown."
        " Streamed where the request says so.",
        "content": {"application/json": {"schema": _OBJECT}, "text/event-stream": {"schema": {}}},
    },
}
_PASSED: Final[dict[int | str, dict[str, Any]]] = {
    **_UPSTREAM_RESPONSES,
    200: {
        "description": "The answer of the endpoint.",
        "content": {"application/json": {"schema": _OBJECT}},
    },
}

router = APIRouter(prefix="/v1", tags=["Chat proxy"], generate_unique_id_function=operation_id)


def _body_of(example: dict[str, object]) -> dict[str, object]:
    return {
        "requestBody": {
            "required": True,
            "description": "As the model's endpoint takes it; fields that we do not know pass.",
            "content": {"application/json": {"schema": _OBJECT, "example": example}},
        }
    }


def _path_parameters(path: str) -> dict[str, object]:
    """The names in a path, which endpoints do not take one by one."""
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)", path)
    ]
    return {"parameters": named} if named else {}


_MESSAGES: Final = [{"role": "user", "content": "What should I drink now?"}]


@router.post(
    "/chat/completions",
    response_class=Response,
    responses=_ANSWERED,
    openapi_extra=_body_of({"model": "any", "messages": _MESSAGES, "stream": True}),
)
async def create_chat_completion(request: Request, caller: Calling) -> Response:
    """Chat with the model behind the service, which is told what matters of the user's memory.

    The wire format is OpenAI's. The user comes from the key, from `X-Ricordo-User` or
    `X-OpenWebUI-User-Id`, or else from the field `user`; without one there is no memory. The
    conversation is named by `X-Ricordo-Thread` or `X-OpenWebUI-Chat-Id`. What is said is recorded
    before the answer begins; its header `X-Ricordo-Recorded` says whether it was.

    `X-Ricordo-Rate` says which memories of earlier answers helped, or are not so: `used 12 15,
    wrong 17`.
    """
    return await _chat(OPENAI, request, caller)


@router.post(
    "/messages",
    response_class=Response,
    responses=_ANSWERED,
    openapi_extra=_body_of({"model": "any", "max_tokens": 200, "messages": _MESSAGES}),
)
async def create_message(request: Request, caller: Calling) -> Response:
    """Chat in Anthropic's wire format; otherwise as `/v1/chat/completions`."""
    return await _chat(ANTHROPIC, request, caller)


@router.post(
    "/messages/count_tokens",
    response_class=Response,
    responses=_PASSED,
    openapi_extra=_body_of({"model": "any", "messages": _MESSAGES}),
)
async def count_message_tokens(request: Request, caller: Calling) -> Response:
    """Count the tokens that `/v1/messages` would send, with those of memory.

    Nothing is recorded.
    """
    return await _chat(ANTHROPIC, request, caller, counts=True)


@router.post(
    "/responses",
    response_class=Response,
    responses=_ANSWERED,
    openapi_extra=_body_of({"model": "any", "input": "What should I drink now?"}),
)
async def create_response(request: Request, caller: Calling) -> Response:
    """Chat by OpenAI's Responses API; otherwise as `/v1/chat/completions`.

    A request that goes on from `previous_response_id`, or in a `conversation` that the endpoint
    keeps, has only what is new.
    """
    return await _chat(RESPONSES, request, caller)


@router.post(
    "/responses/input_tokens",
    response_class=Response,
    responses=_PASSED,
    openapi_extra=_body_of({"model": "any", "input": "What should I drink now?"}),
)
async def count_response_tokens(request: Request, caller: Calling) -> Response:
    """Count the tokens that `/v1/responses` would send, with those of memory.

    Nothing is recorded.
    """
    return await _chat(RESPONSES, request, caller, counts=True)


async def _pass_on(request: Request, caller: Calling) -> Response:
    proxy: ChatProxy = request.app.state.proxy
    route: APIRoute = request.scope["route"]
    if not proxy.serves(OPENAI):
        return _not_set_up("upstream_url")
    call = proxy.pass_on(
        OPENAI,
        request.method,
        route.path_format.removeprefix(router.prefix).format(**request.path_params),
        query=request.url.query,
        headers=request.headers,
        body=await _body(request) or None,
        caller=_of(request, caller, caller.user),
    )
    return await _send_on(request, call)


async def _models(request: Request, caller: Calling) -> Response:
    proxy: ChatProxy = request.app.state.proxy
    if not (proxy.serves(OPENAI) or proxy.serves(ANTHROPIC)):
        return _not_set_up("upstream_url")
    call = proxy.models(
        model=request.path_params.get("model"),
        query=request.url.query,
        headers=request.headers,
        caller=_of(request, caller, caller.user),
    )
    return await _send_on(request, call)


@router.post(
    "/embeddings",
    response_class=Response,
    responses=_PASSED,
    openapi_extra=_body_of({"model": "any", "input": "green tea"}),
)
async def create_embeddings(request: Request, caller: Calling) -> Response:
    """Embed texts with a model behind the service, which is not the one that memories have."""
    return await _pass_on(request, caller)


for _method, _path, _name, _endpoint, _about in (
    ("GET", "/models", "list_models", _models, "List the models behind the service."),
    ("GET", "/models/{model:path}", "get_model", _models, "Get a model behind the service."),
    ("GET", "/responses/{id}", "get_response", _pass_on, "Get a response that the endpoint keeps."),
    ("DELETE", "/responses/{id}", "delete_response", _pass_on, "Delete such a response."),
    (
        "POST",
        "/responses/{id}/cancel",
        "cancel_response",
        _pass_on,
        "Cancel a response that the endpoint makes in the background.",
    ),
    (
        "GET",
        "/responses/{id}/input_items",
        "list_input_items",
        _pass_on,
        "List what a response was made from.",
    ),
    ("POST", "/responses/compact", "compact_response", _pass_on, "Compact a long conversation."),
    (
        "POST",
        "/conversations",
        "create_conversation",
        _pass_on,
        "Create a conversation that the endpoint keeps.",
    ),
    *(
        (method, "/conversations/{path:path}", f"{verb}_conversation", _pass_on, about)
        for method, verb, about in (
            ("GET", "get", "Get such a conversation, or items of it."),
            ("POST", "update", "Change such a conversation, or add items to it."),
            ("DELETE", "delete", "Delete such a conversation, or an item of it."),
        )
    ),
):
    router.add_api_route(
        _path,
        _endpoint,
        methods=[_method],
        name=_name,
        description=_about,
        response_class=Response,
        responses=_PASSED,
        openapi_extra=_path_parameters(_path),
    )


async def _chat(wire: Wire, request: Request, caller: Caller, *, counts: bool = False) -> Response:
    proxy: ChatProxy = request.app.state.proxy
    if not proxy.serves(wire):
        return _not_set_up("anthropic_url" if wire is ANTHROPIC else "upstream_url")
    chat = await proxy.read(wire, await _body(request))
    if caller.group is not None:
        raise InvalidValue(GROUP_HEADER, "a chat is with one person: name no group")
    user = caller.user
    if user is None and (caller.key is None or caller.key.kind is KeyKind.SERVICE):
        user = user_in_body(chat.user)  # the caller may name any user
    call = proxy.answer(
        chat,
        query=request.url.query,
        headers=request.headers,
        caller=_of(request, caller, user),
        counts=counts,
    )
    return await _send_on(request, call)


async def _body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        raise InvalidInput("the request ended before its body did") from None


def _of(request: Request, caller: Caller, user: str | None) -> ProxyCaller:
    """The caller for a user whom it may act for."""
    return ProxyCaller(
        user,
        caller.agent,
        caller.categories,
        _passes_credentials(request, caller),
        caller.key is not None and caller.key.kind is KeyKind.AGENT,
        caller.project,
        acts_for_all=caller.user is None,
    )


def _passes_credentials(request: Request, caller: Caller) -> bool:
    """Whether the caller's credentials are forwarded: not where they may be one of our keys."""
    gate: Gate = request.app.state.gate
    return not gate.requires_keys and caller.key is None


def _not_set_up(setting: str) -> Response:
    detail = f"there is no model behind this service; its setting {setting} names one"
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, "NoUpstream", detail)


class _UpstreamResponse(Response):
    def __init__(self, answer: ProxyAnswer) -> None:
        super().__init__(status_code=answer.status)
        self._answer = answer

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(self._answer, receive, send)


async def _send_on(request: Request, call: Coroutine[Any, Any, ProxyAnswer]) -> Response:
    """The upstream's response, or 499 where the client has disconnected."""
    answer = await unless_gone(request.receive, call)
    return Response(status_code=_CLIENT_GONE) if answer is None else _UpstreamResponse(answer)
