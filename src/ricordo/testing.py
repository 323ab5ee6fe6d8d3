"""For tests of programs that use ricordo: a clock, an embedder and a model, all offline."""

import hashlib
import json
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final, Self

import numpy as np

from ricordo.frozen import dataclass, field
from ricordo.providers.embedder import Vectors

JSON_TYPE: Final = "application/json"
_CREATED: Final = 1_767_225_600
_PIECE_CHARS: Final = 7  # of one piece of a streamed answer

Json = dict[str, Any]
Compute = Callable[[Json], Mapping[str, Any] | str]


class ManualClock:
    """Pass it as ``clock`` to ``ricordo.open`` to decide what time it is."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)) -> None:
        self._now = start

    def __call__(self) -> datetime:
        """What time it is."""
        return self._now

    def set(self, moment: datetime) -> None:
        """Make it this time."""
        self._now = moment

    def advance(self, **time: float) -> None:
        """Move on, e.g. ``advance(days=1)``."""
        self._now += timedelta(**time)


class WordEmbedder:
    """Texts that share words are near each other; nothing more is known about meaning.

    There is no model and no waiting, and the vectors are the same everywhere.
    """

    provider = "words"
    is_local = True

    def __init__(self, width: int = 64) -> None:
        self.width = width
        self.model = f"words-{width}"
        self.texts = 0

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:  # noqa: ARG002
        """One row per text: the sum of a fixed direction for each of its words."""
        self.texts += len(texts)
        vectors = np.zeros((len(texts), self.width), np.float32)
        for row, text in enumerate(texts):
            words = text.casefold().split() or [text]
            summed = np.sum([self._direction(word) for word in words], axis=0)
            vectors[row] = summed / np.linalg.norm(summed)
        return vectors

    def close(self) -> None:
        """There is nothing to close."""

    def _direction(self, word: str) -> Vectors:
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:8], "little"))
        return generator.standard_normal(self.width).astype(np.float32)


@dataclass(frozen=True)
class Request:
    """One request that reached a server."""

    method: str
    path: str
    headers: Message
    content: bytes
    body: Any
    """The content as JSON; None where it is none."""
    client_port: int
    """The other end of the connection: the same for requests that share one."""


@dataclass(frozen=True)
class Response:
    """The content, or its ``parts`` sent one after the other.

    ``is_broken``: the connection is closed then, as if there were more to come.
    """

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: Iterable[bytes] | None = None
    is_broken: bool = False


def json_response(status: int, value: object) -> Response:
    """A value as JSON."""
    return Response(status, json.dumps(value).encode())


def error_response(status: int, message: str) -> Response:
    """An error that the clients of OpenAI and of Anthropic understand."""
    error = {"message": message, "type": "invalid_request_error"}
    return json_response(status, {"type": "error", "error": error})


class LoopbackServer:
    """An endpoint on a free port of 127.0.0.1. Use it as a context manager.

    It lists its model; :meth:`on_get` and :meth:`on_post` of a subclass say more.
    """

    port: int
    root: str
    """Its address without ``/v1``, as clients of Anthropic want it."""
    base_url: str
    """Its address with ``/v1``, as clients of OpenAI want it."""

    def __init__(self, *, model: str = "test-model") -> None:
        self.model = model
        self.requests: list[Request] = []

    def __enter__(self) -> Self:
        """Start serving."""
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        self.root = f"http://127.0.0.1:{self.port}"
        self.base_url = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def on_get(self, path: str) -> Response:
        """The answer to a GET."""
        if path == "/v1/models":
            models = [{"id": self.model}]
            return json_response(200, {"object": "list", "data": models, "has_more": False})
        return error_response(404, "not found")

    def on_post(self, path: str, body: Any) -> Response:  # noqa: ARG002
        """The answer to a POST."""
        return error_response(404, "not found")

    def respond(self, request: Request) -> Response:
        """The answer to any request."""
        path = request.path.partition("?")[0]
        return self.on_get(path) if request.method == "GET" else self.on_post(path, request.body)

    def on_hang_up(self, path: str) -> None:
        """A client did not wait for the whole answer."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, endpoint: LoopbackServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = endpoint

    def handle_error(self, *where: Any) -> None:
        """Clients that hang up early are part of many a test; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(*where)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else what is sent in two parts waits for 40 ms
    server: _Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        port = self.client_address[1]
        request = Request(self.command, self.path, self.headers, content, body, port)
        endpoint.requests.append(request)
        response = endpoint.respond(request)
        self.close_connection = self.close_connection or response.is_broken
        try:
            self._send(response)
        except OSError:
            self.close_connection = True
            endpoint.on_hang_up(self.path)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in {"Content-Type": JSON_TYPE, **response.headers}.items():
            self.send_header(name, value)
        if response.parts is None:
            self.send_header("Content-Length", str(len(response.content) + response.is_broken))
            self.end_headers()
            self.wfile.write(response.content)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in filter(None, response.parts):  # an empty one would end the answer
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
        if not response.is_broken:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Tests need no log of requests."""


@dataclass(frozen=True)
class Reply:
    """One answer of the model: a text, a call of a tool, or both."""

    text: str | None = None
    tool: str | None = None
    arguments: str = "{}"
    call_id: str = "call_1"
    refusal: str | None = None
    is_cut_off: bool = False
    """Whether the limit of tokens ended it."""


Format = Callable[[Reply, Json, str], tuple[Json, list[Json]]]
"""From a reply, the body of the request and the model: the answer whole, and as a stream."""


def _chat(reply: Reply, body: Json, model: str) -> tuple[Json, list[Json]]:
    frame = {"id": "chatcmpl-test", "created": _CREATED, "model": model}
    message: Json = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    if reply.refusal is not None:
        deltas.append({"refusal": reply.refusal})
    if reply.tool is not None:
        call = {"id": reply.call_id, "type": "function"}
        function = {"name": reply.tool, "arguments": reply.arguments}
        message["tool_calls"] = [{**call, "function": function}]
        parts = [{**call, "function": {**function, "arguments": ""}}]
        parts += [{"function": {"arguments": piece}} for piece in pieces(reply.arguments)]
        deltas += [{"tool_calls": [{"index": 0, **part}]} for part in parts]
    ended = "length" if reply.is_cut_off else "stop" if reply.tool is None else "tool_calls"
    prompt = sum(len(str(one.get("content", "")).split()) for one in body.get("messages", ()))
    words = len((reply.text or reply.refusal or "").split())
    usage = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
    choice = {"index": 0, "message": message, "finish_reason": ended}
    whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": ended})
    chunk = {**frame, "object": "chat.completion.chunk"}
    chunks = [{**chunk, "choices": [one]} for one in choices]
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**chunk, "choices": [], "usage": usage})
    return whole, chunks


def _message(reply: Reply, body: Json, model: str) -> tuple[Json, list[Json]]:  # noqa: ARG001
    frame: Json = {"id": "msg_test", "type": "message", "role": "assistant", "model": model}
    frame |= {"content": [], "stop_reason": None, "stop_sequence": None}
    frame["usage"] = {"input_tokens": 1, "output_tokens": 1}
    blocks: list[Json] = []
    events: list[Json] = [{"type": "message_start", "message": frame}, {"type": "ping"}]

    def add_block(block: Json, empty: Json, deltas: list[Json]) -> None:
        index = {"index": len(blocks)}
        blocks.append(block)
        events.append({"type": "content_block_start", **index, "content_block": empty})
        events.extend({"type": "content_block_delta", **index, "delta": one} for one in deltas)
        events.append({"type": "content_block_stop", **index})

    if reply.text is not None:
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
        add_block({"type": "text", "text": reply.text}, {"type": "text", "text": ""}, texts)
    if reply.tool is not None:
        call = {"type": "tool_use", "id": reply.call_id, "name": reply.tool, "input": {}}
        given = pieces(reply.arguments)
        inputs = [{"type": "input_json_delta", "partial_json": piece} for piece in given]
        add_block({**call, "input": json.loads(reply.arguments)}, call, inputs)
    ended = "max_tokens" if reply.is_cut_off else "end_turn" if reply.tool is None else "tool_use"
    delta = {"stop_reason": ended, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return {**frame, "content": blocks, "stop_reason": ended}, events


def _said_part(said: str, kind: str) -> tuple[Json, list[Json]]:
    name = kind.removeprefix("output_")
    more: Json = {"annotations": []} if name == "text" else {}
    part = {"type": kind, name: said, **more}
    logs: Json = {"logprobs": []} if name == "text" else {}
    at = {"content_index": 0}
    delta = {"type": f"response.{kind}.delta", **at, **logs}
    return part, [
        {"type": "response.content_part.added", **at, "part": {**part, name: ""}},
        *({**delta, "delta": piece} for piece in pieces(said)),
        {"type": f"response.{kind}.done", **at, **logs, name: said},
        {"type": "response.content_part.done", **at, "part": part},
    ]


def _response(reply: Reply, body: Json, model: str) -> tuple[Json, list[Json]]:
    number = uuid.uuid4().hex
    output: list[Json] = []
    events: list[Json] = []

    def add_item(item: Json, empty: Json, parts: list[Json]) -> None:
        place = {"output_index": len(output)}
        item |= {"status": "completed"}
        output.append(item)
        begun = {**item, **empty, "status": "in_progress"}
        events.append({"type": "response.output_item.added", **place, "item": begun})
        events.extend({**part, **place, "item_id": item["id"]} for part in parts)
        events.append({"type": "response.output_item.done", **place, "item": item})

    said = reply.refusal if reply.text is None else reply.text
    if said is not None:
        part, parts = _said_part(said, "output_text" if reply.refusal is None else "refusal")
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        add_item({**message, "content": [part]}, {"content": []}, parts)
    if reply.tool is not None:
        call = {"name": reply.tool, "arguments": reply.arguments}
        event = "response.function_call_arguments"
        parts = [{"type": f"{event}.delta", "delta": one} for one in pieces(reply.arguments)]
        parts.append({"type": f"{event}.done", **call})
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": reply.call_id, **call}
        add_item(item, {"arguments": ""}, parts)
    ended = "incomplete" if reply.is_cut_off else "completed"
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    whole: Json = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": _CREATED,
        "status": ended,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if reply.is_cut_off else None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "top_p": 1.0,
        "usage": usage,
    }
    begun = {**whole, "status": "in_progress", "output": [], "incomplete_details": None}
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *events,
        {"type": f"response.{ended}", "response": whole},
    ]
    return whole, [{**event, "sequence_number": place} for place, event in enumerate(events)]


def pieces(text: str | None) -> list[str]:
    """A text as a stream brings it."""
    text = text or ""
    return [text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS)]


class ModelServer(LoopbackServer):
    """A model whose answers are scripted, streamed or whole.

    It speaks Chat Completions (``/v1/chat/completions``), OpenAI's Responses (``/v1/responses``)
    and Anthropic's Messages (``/v1/messages``). Answers come from :meth:`answer` and
    :meth:`answer_calling`, one each, and then from :meth:`answer_with`. Where nothing is scripted
    the status is 500, so that no test passes by accident.
    """

    formats: ClassVar[Mapping[str, Format]] = {
        "/v1/chat/completions": _chat,
        "/v1/messages": _message,
        "/v1/responses": _response,
    }

    def __init__(self, *, model: str = "test-model") -> None:
        super().__init__(model=model)
        self._replies: deque[Reply] = deque()
        self._compute: Compute | None = None

    @property
    def bodies(self) -> list[Json]:
        """The body of each request for an answer."""
        sent = [one.body for one in self.requests if one.path.partition("?")[0] in self.formats]
        return [body for body in sent if isinstance(body, dict)]

    @property
    def prompts(self) -> list[list[Json]]:
        """The messages of each request for an answer; of one for a response, its input."""
        return [body["messages"] if "messages" in body else _input(body) for body in self.bodies]

    def answer(self, value: Mapping[str, Any] | str, *, times: int = 1) -> None:
        """Give this answer to the next request or requests; a mapping is given as JSON."""
        self.enqueue(Reply(_as_text(value)), times)

    def answer_calling(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "call_1",
        content: str | None = None,
        times: int = 1,
    ) -> None:
        """Call a tool in the next answer or answers."""
        self.enqueue(Reply(content, name, json.dumps(arguments), call_id), times)

    def answer_with(self, compute: Compute) -> None:
        """Compute answers from the bodies of requests, where no other is left."""
        self._compute = compute

    def enqueue(self, reply: Reply, times: int = 1) -> None:
        """Give this reply to the next request or requests."""
        self._replies.extend([reply] * times)

    def next_reply(self, body: Json) -> Reply | None:
        """What is answered to this request; None where nothing is scripted."""
        try:
            return self._replies.popleft()
        except IndexError:
            return None if self._compute is None else Reply(_as_text(self._compute(body)))

    def on_post(self, path: str, body: Any) -> Response:
        """The next reply."""
        if path not in self.formats:
            return super().on_post(path, body)
        if not isinstance(body, dict):
            return error_response(400, "could not parse the body")
        reply = self.next_reply(body)
        if reply is None:
            return error_response(500, "no answer is scripted; use answer() or answer_with()")
        return self.render(reply, path, body)

    def render(self, reply: Reply, path: str, body: Json) -> Response:
        """A reply in the format of this path."""
        whole, events = self.formats[path](reply, body, self.model)
        if not body.get("stream"):
            return json_response(200, whole)
        parts = [_event(one) for one in events]
        if path == "/v1/chat/completions":
            parts.append(b"data: [DONE]\n\n")
        return Response(200, headers={"Content-Type": "text/event-stream"}, parts=parts)


def _input(body: Json) -> list[Json]:
    given = body.get("input", [])
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _as_text(value: Mapping[str, Any] | str) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _event(data: Json) -> bytes:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()
