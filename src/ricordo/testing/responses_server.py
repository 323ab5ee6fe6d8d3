"""A language model for tests that speaks OpenAI's Responses wire format: real HTTP, scripted."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ricordo.testing.serving import LoopbackServer, Response, json_response, not_found

_CREATED: Final = 1_767_225_600
_PIECE_CHARS: Final = 7  # of one piece of a streamed answer

Output = dict[str, Any]
Event = dict[str, Any]
Compute = Callable[[dict[str, Any]], str]


class ResponsesServer(LoopbackServer):
    """Speaks ``/v1/responses``, streamed or whole, and ``/v1/models`` on 127.0.0.1.

    Use it as a context manager; its address for clients is :attr:`base_url`. Answers come from
    :meth:`answer` and :meth:`answer_calling`, one each, and then from :meth:`answer_with`. Where
    nothing is scripted it answers with status 500, so that no test passes by accident.
    """

    def __init__(self, *, model: str = "test-model", required_key: str | None = None) -> None:
        super().__init__(model=model, required_key=required_key)
        self._queue: list[Output] = []
        self._compute: Compute | None = None
        self._answered = 0

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The body of each request for an answer."""
        found = [one for one in self.requests if one.path == "/v1/responses"]
        return [one.body for one in found if isinstance(one.body, dict)]

    def answer(self, text: str, *, times: int = 1) -> None:
        """Give this answer to the next request or requests."""
        self._enqueue(_message(text), times)

    def answer_calling(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "call_1",
        times: int = 1,
    ) -> None:
        """Call a function in the next answer or answers."""
        call = {"type": "function_call", "call_id": call_id, "name": name}
        self._enqueue({**call, "arguments": json.dumps(arguments), "status": "completed"}, times)

    def answer_with(self, compute: Compute) -> None:
        """Compute answers from the bodies of requests, where no other is left."""
        self._compute = compute

    def _enqueue(self, output: Output, times: int) -> None:
        with self._lock:
            self._queue += [output] * times

    def _posted(self, path: str, body: Any) -> Response:
        if path != "/v1/responses":
            return not_found()
        if not isinstance(body, dict):
            return _error(400, "could not parse the body")
        with self._lock:
            output = self._queue.pop(0) if self._queue else None
            self._answered += 1
            number = self._answered
        if output is None:
            if self._compute is None:
                return _error(500, "no answer is scripted; use answer() or answer_with()")
            output = _message(self._compute(body))
        whole = self._whole(number, {**output, "id": f"{_prefix(output)}_{number}"}, body)
        if not body.get("stream"):
            return json_response(200, whole)
        parts = [_event(event) for event in _events(whole)]
        return Response(200, b"", {"Content-Type": "text/event-stream"}, parts=parts)

    def _whole(self, number: int, output: Output, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": _CREATED,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "metadata": {},
            "model": self.model,
            "output": [output],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": body.get("tools", []),
            "top_p": 1.0,
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        }


def _message(text: str) -> Output:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _prefix(output: Output) -> str:
    return "msg" if output["type"] == "message" else "fc"


def _events(whole: dict[str, Any]) -> Iterator[Event]:
    """A streamed response: it begins, its one output comes in pieces, and it is complete."""
    (output,) = whole["output"]
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    in_pieces = _message_events if output["type"] == "message" else _call_events
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *in_pieces(output),
        {"type": "response.output_item.done", "output_index": 0, "item": output},
        {"type": "response.completed", "response": whole},
    ]
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _message_events(output: Output) -> Iterator[Event]:
    (part,) = output["content"]
    empty = {**output, "status": "in_progress", "content": []}
    place = {"item_id": output["id"], "output_index": 0, "content_index": 0}
    yield {"type": "response.output_item.added", "output_index": 0, "item": empty}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    done = {"text": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place, **done}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call_events(output: Output) -> Iterator[Event]:
    empty = {**output, "status": "in_progress", "arguments": ""}
    place = {"item_id": output["id"], "output_index": 0}
    yield {"type": "response.output_item.added", "output_index": 0, "item": empty}
    for piece in _pieces(output["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    yield {
        "type": "response.function_call_arguments.done",
        **place,
        "name": output["name"],
        "arguments": output["arguments"],
    }


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), _PIECE_CHARS):
        yield text[at : at + _PIECE_CHARS]


def _event(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _error(status: int, message: str) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return json_response(status, {"error": error})
