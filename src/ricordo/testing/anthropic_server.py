"""A language model for tests that speaks Anthropic's wire format: real HTTP, scripted answers."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ricordo.testing.serving import (
    LoopbackServer,
    RecordedRequest,
    Response,
    json_response,
    not_found,
)

_ID: Final = "msg_test"
_PIECE_CHARS: Final = 7  # of one piece of a streamed answer

Block = dict[str, Any]
Event = dict[str, Any]


@dataclass(frozen=True)
class _Reply:
    """One answer of the model."""

    blocks: tuple[Block, ...]
    stop_reason: str = "end_turn"
    is_broken: bool = False


@dataclass
class _Script:
    queue: list[_Reply] = field(default_factory=list)
    compute: Callable[[dict[str, Any]], str] | None = None


class AnthropicServer(LoopbackServer):
    """Speaks ``/v1/messages``, streamed or whole, and ``/v1/models`` on 127.0.0.1.

    Use it as a context manager; its address for clients is :attr:`root`. Answers come from
    :meth:`answer` and :meth:`answer_calling`, one each, and then from :meth:`answer_with`. Where
    nothing is scripted it answers with status 500, so that no test passes by accident.
    """

    def __init__(self, *, model: str = "test-model", required_key: str | None = None) -> None:
        super().__init__(model=model, required_key=required_key)
        self.before_piece: Callable[[int], None] = lambda _number: None
        """Called before each event of a streamed answer is sent, with its number from 0."""
        self._script = _Script()

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The body of each request for an answer."""
        found = [one for one in self.requests if one.path.startswith("/v1/messages")]
        return [one.body for one in found if isinstance(one.body, dict)]

    def answer(self, text: str, *, times: int = 1) -> None:
        """Give this answer to the next request or requests."""
        self._enqueue(_Reply(({"type": "text", "text": text},)), times)

    def answer_calling(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "toolu_1",
        content: str | None = None,
        times: int = 1,
    ) -> None:
        """Call a tool in the next answer or answers."""
        texts = () if content is None else ({"type": "text", "text": content},)
        call = {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
        self._enqueue(_Reply((*texts, call), stop_reason="tool_use"), times)

    def answer_broken(self, text: str, *, times: int = 1) -> None:
        """Close the connection in the middle of the answer."""
        self._enqueue(_Reply(({"type": "text", "text": text},), is_broken=True), times)

    def answer_with(self, compute: Callable[[dict[str, Any]], str]) -> None:
        """Compute answers from the bodies of requests, where no other is left."""
        self._script.compute = compute

    def _enqueue(self, reply: _Reply, times: int) -> None:
        with self._lock:
            self._script.queue += [reply] * times

    def _has_key(self, request: RecordedRequest) -> bool:
        key = self.required_key
        return key is None or request.header("x-api-key") == key

    def _got(self, path: str) -> Response:
        if path == "/v1/models":
            model = {"type": "model", "id": self.model, "display_name": self.model}
            return json_response(200, {"data": [model], "has_more": False})
        return not_found()

    def _posted(self, path: str, body: Any) -> Response:
        if path != "/v1/messages":
            return not_found()
        if not isinstance(body, dict):
            return _error(400, "invalid_request_error", "the body is not valid JSON")
        reply = self._next_reply(body)
        if reply is None:
            return _error(500, "api_error", "no answer is scripted; use answer() or answer_with()")
        if body.get("stream"):
            parts = [_event(event) for event in self._events(reply)]
            headers = {"Content-Type": "text/event-stream; charset=utf-8"}
            return Response(200, b"", headers, reply.is_broken, parts, self.before_piece)
        whole = {**self._frame(), "content": list(reply.blocks), "stop_reason": reply.stop_reason}
        return Response(200, json.dumps(whole).encode(), {}, is_broken=reply.is_broken)

    def _next_reply(self, body: dict[str, Any]) -> _Reply | None:
        with self._lock:
            if self._script.queue:
                return self._script.queue.pop(0)
        compute = self._script.compute
        return None if compute is None else _Reply(({"type": "text", "text": compute(body)},))

    def _frame(self) -> Event:
        return {
            "id": _ID,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _events(self, reply: _Reply) -> Iterator[Event]:
        """A streamed message: each block begins, comes in pieces, and ends."""
        yield {"type": "message_start", "message": self._frame()}
        yield {"type": "ping"}
        for index, block in enumerate(reply.blocks):
            yield from _block_events(index, block)
        delta = {"stop_reason": reply.stop_reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}
        yield {"type": "message_stop"}


def _block_events(index: int, block: Block) -> Iterator[Event]:
    if block["type"] == "text":
        begun, kind, name, text = {**block, "text": ""}, "text_delta", "text", block["text"]
    else:
        begun, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
        text = json.dumps(block["input"])
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for at in range(0, len(text), _PIECE_CHARS):
        delta = {"type": kind, name: text[at : at + _PIECE_CHARS]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _event(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _error(status: int, kind: str, message: str) -> Response:
    return json_response(status, {"type": "error", "error": {"type": kind, "message": message}})
