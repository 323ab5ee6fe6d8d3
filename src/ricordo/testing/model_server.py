"""A language model for tests: real HTTP, answers and faults as scripted, and no model."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ricordo.testing.serving import (
    HTML_PAGE,
    LoopbackServer,
    RecordedRequest,
    Response,
    json_response,
    not_found,
)

Scripted = Mapping[str, Any] | str
Compute = Callable[[dict[str, Any]], Scripted]

_CREATED: Final = 1_767_225_600
_ID: Final = "chatcmpl-test"
_PIECE_CHARS: Final = 7  # of one piece of a streamed answer
_REFUSALS: Final = {  # what real endpoints say
    "json_schema": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
    " with this model.",
    "json_object": "'response_format.type' must be 'text'",
}


@dataclass(frozen=True)
class _Reply:
    """One answer of the model, or something else in its place."""

    content: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    page: bytes | None = None
    is_broken: bool = False
    calls: tuple[dict[str, Any], ...] = ()


@dataclass
class _Script:
    standing: _Reply | None = None
    queue: list[_Reply] = field(default_factory=list)
    compute: Compute | None = None
    refused: set[str] = field(default_factory=set)


class ModelServer(LoopbackServer):
    """Speaks ``/v1/chat/completions``, streamed or whole, and ``/v1/models`` on 127.0.0.1.

    Use it as a context manager. Answers come from :meth:`answer`, one each, and then from
    :meth:`answer_with`. Where nothing is scripted it answers with status 500, so that no test
    passes by accident. The ``answer_…`` of faults hold until :meth:`answer_rightly`, or for as
    many requests as ``times`` says, in turn with the other answers.
    """

    def __init__(
        self,
        *,
        model: str = "test-model",
        required_key: str | None = None,
        gives_usage: bool = True,
    ) -> None:
        super().__init__(model=model, required_key=required_key)
        self.gives_usage = gives_usage
        self.before_answer: Callable[[], None] | None = None
        """Called while a request is in the server. What it raises, leaving the server raises."""
        self.before_piece: Callable[[int], None] = lambda _number: None
        """Called before each piece of a streamed answer is sent, with its number from 0."""
        self._hook_error: Exception | None = None
        self._script = _Script()

    def __exit__(self, kind: object = None, *rest: object) -> None:
        """Stop serving, and raise what ``before_answer`` raised, unless something else was."""
        super().__exit__(kind, *rest)
        if self._hook_error is not None and kind is None:
            raise self._hook_error

    @property
    def asked(self) -> list[list[dict[str, Any]]]:
        """The messages of each request for an answer."""
        return [request.body["messages"] for request in self._chats()]

    def answer(self, value: Scripted, *, times: int = 1) -> None:
        """Give this answer to the next request or requests; a mapping is given as JSON."""
        self._enqueue(_Reply(_as_text(value)), times)

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
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": call_id, "type": "function", "function": function}
        self._enqueue(_Reply(content, finish_reason="tool_calls", calls=(call,)), times)

    def answer_with(self, compute: Compute) -> None:
        """Compute answers from the bodies of requests, where no other is left."""
        self._script.compute = compute

    def refuse_schema(self) -> None:
        """Know nothing of ``response_format`` ``json_schema``."""
        self._script.refused.add("json_schema")

    def refuse_json_mode(self) -> None:
        """Know nothing of ``response_format`` ``json_object``."""
        self._script.refused.add("json_object")

    def answer_nonsense(self, times: int | None = None) -> None:
        """Answer with words that have nothing to do with the question."""
        self._fault(_Reply("The quick brown fox jumps over the lazy dog."), times)

    def answer_html(self, times: int | None = None) -> None:
        """Answer with a web page and status 200."""
        self._fault(_Reply(page=HTML_PAGE), times)

    def answer_without_choices(self, times: int | None = None) -> None:
        """Answer with JSON that has no choices in it."""
        self._fault(_Reply(page=b'{"object": "chat.completion"}'), times)

    def answer_empty(self, times: int | None = None) -> None:
        """Answer with no text."""
        self._fault(_Reply(""), times)

    def answer_truncated(self, text: str = '{"', times: int | None = None) -> None:
        """Answer with the beginning of a text, cut off by the limit of tokens."""
        self._fault(_Reply(text, finish_reason="length"), times)

    def answer_refusal(self, times: int | None = None) -> None:
        """Decline to answer."""
        self._fault(_Reply(refusal="I'm sorry, I can't help with that."), times)

    def answer_broken(self, times: int | None = None) -> None:
        """Close the connection in the middle of the answer."""
        self._fault(_Reply("This is never read to its end.", is_broken=True), times)

    def answer_rightly(self) -> None:
        """Forget all scripted faults; scripted answers stay."""
        self.forget_faults()
        self._script.standing = None
        self._script.refused.clear()

    def _enqueue(self, reply: _Reply, times: int) -> None:
        with self._lock:
            self._script.queue += [reply] * times

    def _fault(self, reply: _Reply, times: int | None) -> None:
        if times is None:
            self._script.standing = reply
        else:
            self._enqueue(reply, times)

    def _chats(self) -> list[RecordedRequest]:
        return [
            request
            for request in self.requests
            if request.path == "/v1/chat/completions" and isinstance(request.body, dict)
        ]

    def _answer_to_post(self, request: RecordedRequest) -> Response:
        try:
            if self.before_answer is not None:
                self.before_answer()
        except Exception as error:  # noqa: BLE001 - raised again when the server is left
            self._hook_error = self._hook_error or error
            return json_response(500, {"error": {"message": f"before_answer raised {error!r}"}})
        return super()._answer_to_post(request)

    def _posted(self, path: str, body: Any) -> Response:
        if path != "/v1/chat/completions":
            return not_found()
        if not isinstance(body, dict):
            error = {"message": "could not parse the body", "type": "invalid_request_error"}
            return json_response(400, {"error": error})
        format_type = (body.get("response_format") or {}).get("type")
        if format_type in self._script.refused:
            error = {"message": _REFUSALS[format_type], "type": "invalid_request_error"}
            return json_response(400, {"error": error})
        reply = self._next_reply(body)
        if reply is None:
            message = "no answer is scripted; use answer() or answer_with()"
            return json_response(500, {"error": {"message": message}})
        if reply.page is not None:
            return Response(200, reply.page, {})
        return self._streamed(reply, body) if body.get("stream") else self._whole(reply, body)

    def _next_reply(self, body: dict[str, Any]) -> _Reply | None:
        with self._lock:
            script = self._script
            if script.standing is not None:
                return script.standing
            if script.queue:
                return script.queue.pop(0)
        return _Reply(_as_text(script.compute(body))) if script.compute is not None else None

    def _whole(self, reply: _Reply, body: dict[str, Any]) -> Response:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": reply.content,
            "refusal": reply.refusal,
        }
        if reply.calls:
            message["tool_calls"] = list(reply.calls)
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        answer = {**self._frame("chat.completion"), "choices": [choice]}
        if self.gives_usage:
            answer["usage"] = _usage(reply, body)
        content = json.dumps(answer).encode()
        return Response(200, content, {}, is_broken=reply.is_broken)

    def _streamed(self, reply: _Reply, body: dict[str, Any]) -> Response:
        """Server-sent events: the role, the text in pieces, the end, and what was used."""
        wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        text = reply.content or ""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [
            {"content": text[at : at + _PIECE_CHARS]} for at in range(0, len(text), _PIECE_CHARS)
        ]
        if reply.refusal is not None:
            deltas.append({"refusal": reply.refusal})
        deltas += [{"tool_calls": [part]} for part in _call_pieces(reply)]
        choices: list[list[dict[str, Any]]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
        chunks: list[dict[str, Any]] = [
            {**self._frame("chat.completion.chunk"), "choices": choice} for choice in choices
        ]
        if wants_usage and self.gives_usage:
            last = {**self._frame("chat.completion.chunk"), "choices": []}
            chunks.append({**last, "usage": _usage(reply, body)})
        parts = [_event(json.dumps(chunk)) for chunk in chunks] + [_event("[DONE]")]
        headers = {"Content-Type": "text/event-stream"}
        return Response(
            200,
            b"",
            headers,
            is_broken=reply.is_broken,
            parts=parts,
            before_part=self.before_piece,
        )

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": _ID, "object": kind, "created": _CREATED, "model": self.model}


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _call_pieces(reply: _Reply) -> Iterator[dict[str, Any]]:
    """Tool calls as a stream has them: first which, then the arguments in pieces."""
    for index, call in enumerate(reply.calls):
        arguments = call["function"]["arguments"]
        yield {"index": index, **call, "function": {**call["function"], "arguments": ""}}
        for at in range(0, len(arguments), _PIECE_CHARS):
            piece = arguments[at : at + _PIECE_CHARS]
            yield {"index": index, "function": {"arguments": piece}}


def _as_text(value: Scripted) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _usage(reply: _Reply, body: dict[str, Any]) -> dict[str, int]:
    """A token for each word."""
    messages: Sequence[dict[str, Any]] = body.get("messages", [])
    prompt = sum(len(str(message.get("content", "")).split()) for message in messages)
    completion = len((reply.content or reply.refusal or "").split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
