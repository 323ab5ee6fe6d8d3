"""Endpoints of models over real HTTP, with faults on demand."""

import functools
import hashlib
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ricordo.testing import (
    JSON_TYPE,
    Json,
    LoopbackServer,
    ModelServer,
    Reply,
    Request,
    Response,
    error_response,
    json_response,
)

HTML_PAGE = b"<!DOCTYPE html><html><body>Welcome</body></html>"
_REFUSALS = {  # what real endpoints say
    "json_schema": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
    " with this model.",
    "json_object": "'response_format.type' must be 'text'",
}

BeforePart = Callable[[int], None]


def _nothing(_number: int) -> None:
    pass


def _paced(parts: Iterable[bytes], before_part: BeforePart) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        before_part(number)
        yield part


class FaultyServer(LoopbackServer):
    """Answers POST requests with errors, with given bytes or not at all, as scripted."""

    def __init__(self, *, model: str = "test-model", required_key: str | None = None) -> None:
        super().__init__(model=model)
        self.required_key = required_key
        self.given_up: list[str] = []
        """The paths of requests whose clients hung up before they had their whole answer."""
        self.before_answer: Callable[[], None] | None = None
        """Called while a request is in the server. What it raises, leaving the server raises."""
        self._hook_error: Exception | None = None
        self._changed = threading.Condition()
        self._failures: list[Response] = []
        self._gate: threading.Event | None = None

    def __exit__(self, kind: object = None, *rest: object) -> None:
        """Stop serving, and raise what ``before_answer`` raised, unless something else was."""
        self.forget_faults()
        super().__exit__(kind, *rest)
        if self._hook_error is not None and kind is None:
            raise self._hook_error

    def wait_for_requests(self, count: int, timeout_seconds: float = 60.0) -> bool:
        """Wait until so many requests have come in; whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, timeout_seconds)

    def wait_for_given_up(self, count: int = 1, timeout_seconds: float = 60.0) -> bool:
        """Wait until so many clients have hung up early; whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.given_up) >= count, timeout_seconds)

    def fail_next(
        self,
        count: int = 1,
        *,
        status: int = 500,
        headers: Mapping[str, str] | None = None,
        body: bytes = b'{"error": {"message": "scripted failure"}}',
    ) -> None:
        """Answer the next requests with an error."""
        self._failures += [Response(status, body, dict(headers or {}))] * count

    def answer_bytes(
        self,
        parts: Iterable[bytes],
        *,
        content_type: str = JSON_TYPE,
        headers: Mapping[str, str] | None = None,
        before_part: BeforePart = _nothing,
    ) -> None:
        """Answer the next request with these bytes, each part sent on its own."""
        whole = {"Content-Type": content_type, **(headers or {})}
        self._failures.append(Response(200, headers=whole, parts=_paced(parts, before_part)))

    def hang_until(self, event: threading.Event) -> None:
        """Hold back every answer until the event is set."""
        self._gate = event

    def forget_faults(self) -> None:
        """Release requests that hang, and fail no more of them."""
        if self._gate is not None:
            self._gate.set()
        self._gate = None
        self._failures = []

    def respond(self, request: Request) -> Response:
        with self._changed:
            self._changed.notify_all()
        if request.method == "GET":
            return super().respond(request)
        try:
            if self.before_answer is not None:
                self.before_answer()
        except Exception as error:
            self._hook_error = self._hook_error or error
            return error_response(500, f"before_answer raised {error!r}")
        if self._gate is not None:
            self._gate.wait()
        with self._changed:
            if self._failures:
                return self._failures.pop(0)
        key = self.required_key
        bearer, plain = request.headers.get("authorization"), request.headers.get("x-api-key")
        if key is not None and bearer != f"Bearer {key}" and plain != key:
            return error_response(401, "Incorrect API key provided.")
        return super().respond(request)

    def on_hang_up(self, path: str) -> None:
        with self._changed:
            self.given_up.append(path)
            self._changed.notify_all()


class _Page(Reply):
    """Its text is the whole answer."""


class _Broken(Reply):
    """The connection is closed in the middle of it."""


class FaultyModel(FaultyServer, ModelServer):
    """The ``answer_…`` of faults apply until :meth:`answer_rightly`, or to as many requests as
    ``times`` says, in turn with the other answers.
    """

    def __init__(self, *, model: str = "test-model", required_key: str | None = None) -> None:
        super().__init__(model=model, required_key=required_key)
        self.gives_usage = True
        self.before_piece: BeforePart = _nothing
        """Called before each piece of a streamed answer is sent, with its number from 0."""
        self._lasting: Reply | None = None
        self._refused: set[str] = set()

    def refuse_schema(self) -> None:
        """Know nothing of ``response_format`` ``json_schema``."""
        self._refused.add("json_schema")

    def refuse_json_mode(self) -> None:
        """Know nothing of ``response_format`` ``json_object``."""
        self._refused.add("json_object")

    def answer_nonsense(self, times: int | None = None) -> None:
        """Answer with words that have nothing to do with the question."""
        self._fault(Reply("The quick brown fox jumps over the lazy dog."), times)

    def answer_html(self, times: int | None = None) -> None:
        """Answer with a web page and status 200."""
        self._fault(_Page(HTML_PAGE.decode()), times)

    def answer_without_choices(self, times: int | None = None) -> None:
        """Answer with JSON that has no choices in it."""
        self._fault(_Page('{"object": "chat.completion"}'), times)

    def answer_empty(self, times: int | None = None) -> None:
        """Answer with no text."""
        self._fault(Reply(""), times)

    def answer_truncated(self, text: str = '{"', times: int | None = None) -> None:
        """Answer with the beginning of a text, cut off by the limit of tokens."""
        self._fault(Reply(text, is_cut_off=True), times)

    def answer_refusal(self, times: int | None = None) -> None:
        """Decline to answer."""
        self._fault(Reply(refusal="I'm sorry, I can't help with that."), times)

    def answer_broken(self, times: int | None = None) -> None:
        """Close the connection in the middle of the answer."""
        self._fault(_Broken("This is never read to its end."), times)

    def answer_rightly(self) -> None:
        """Forget all scripted faults; scripted answers stay."""
        self.forget_faults()
        self._lasting = None
        self._refused.clear()

    def _fault(self, reply: Reply, times: int | None) -> None:
        if times is None:
            self._lasting = reply
        else:
            self.enqueue(reply, times)

    def next_reply(self, body: Json) -> Reply | None:
        return self._lasting or super().next_reply(body)

    def on_post(self, path: str, body: Any) -> Response:
        wanted = body if isinstance(body, dict) else {}
        refused = (wanted.get("response_format") or {}).get("type")
        if refused in self._refused:
            return error_response(400, _REFUSALS[refused])
        return super().on_post(path, body)

    def render(self, reply: Reply, path: str, body: Json) -> Response:
        if isinstance(reply, _Page):
            return Response(200, (reply.text or "").encode())
        if not self.gives_usage:
            body = {**body, "stream_options": None}
        response = super().render(reply, path, body)
        if response.parts is not None:
            parts = list(response.parts)
            if isinstance(reply, _Broken):
                parts = parts[: len(parts) // 2]
            response = replace(response, parts=_paced(parts, self.before_piece))
        elif not self.gives_usage:
            whole = json.loads(response.content)
            response = json_response(200, {name: whole[name] for name in whole if name != "usage"})
        elif isinstance(reply, _Broken):
            response = replace(response, content=response.content[: len(response.content) // 2])
        return replace(response, is_broken=isinstance(reply, _Broken))


class EmbeddingServer(FaultyServer):
    """Speaks ``/v1/embeddings``.

    The same text always gets the same vector, and texts that share words or parts of words get
    similar ones. ``fault`` is what to do instead: answer with an ``html`` page, with a vector of
    ``nan`` or of ``zeros``, with one too few (``short``) or of another width (``ragged``), in the
    wrong order but each with its right index (``reversed``), or with half of the answer
    (``broken``).
    """

    def __init__(
        self, *, width: int = 64, model: str = "test-model", required_key: str | None = None
    ) -> None:
        super().__init__(model=model, required_key=required_key)
        self.width = width
        self.looks_like_llamacpp = False
        self.fault: str | None = None
        self._answered_width: int | None = None

    @property
    def embedded(self) -> list[list[str]]:
        """The texts of each request for embeddings."""
        return [
            request.body["input"]
            for request in self.requests
            if request.path == "/v1/embeddings" and isinstance(request.body, dict)
        ]

    def vector(self, text: str) -> list[float]:
        """The vector that this text gets."""
        return hashed_vector(text, self.width)

    def answer_width(self, width: int) -> None:
        """Answer with vectors of this width, whatever is requested."""
        self._answered_width = width

    def answer_rightly(self) -> None:
        """Forget all scripted faults."""
        self.forget_faults()
        self.fault = self._answered_width = None

    def on_get(self, path: str) -> Response:
        if path == "/props" and self.looks_like_llamacpp:
            return json_response(200, {"total_slots": 1, "model_path": self.model})
        return super().on_get(path)

    def on_post(self, path: str, body: Any) -> Response:
        if path != "/v1/embeddings":
            return super().on_post(path, body)
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        width = self._answered_width or body.get("dimensions") or self.width
        vectors = list(enumerate(self.vectors(texts, width)))
        last = len(vectors) - 1
        match self.fault:
            case "html":
                return Response(200, HTML_PAGE)
            case "nan":
                vectors[last] = (last, [math.nan] * width)
            case "zeros":
                vectors[last] = (last, [0.0] * width)
            case "short":
                vectors.pop()
            case "ragged":
                vectors[last] = (last, [1.0] * (width + 1))
            case "reversed":
                vectors.reverse()
        entries = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in vectors
        ]
        whole = json_response(200, {"object": "list", "data": entries, "model": self.model})
        if self.fault == "broken":
            half = whole.content[: len(whole.content) // 2]
            return replace(whole, content=half, is_broken=True)
        return whole

    def vectors(self, texts: list[str], width: int) -> list[list[float]]:
        return [hashed_vector(text, width) for text in texts]


def hashed_vector(text: str, width: int) -> list[float]:
    """A vector of length one: a sum of fixed directions, one for each trigram of each word."""
    total = [0.0] * width
    for word in text.lower().split() or [""]:
        padded = f" {word} "
        for start in range(max(1, len(padded) - 2)):
            for place, number in enumerate(_direction(padded[start : start + 3], width)):
                total[place] += number
    length = math.sqrt(sum(number * number for number in total))
    return [number / length for number in total]


@functools.lru_cache(maxsize=4_096)
def _direction(part: str, width: int) -> list[float]:
    """Numbers from -1 to 1 that depend on the part only."""
    numbers = hashlib.shake_128(part.encode("utf-8", "replace")).digest(2 * width)
    return [
        int.from_bytes(numbers[at : at + 2], "big") / 32_767.5 - 1.0
        for at in range(0, 2 * width, 2)
    ]
