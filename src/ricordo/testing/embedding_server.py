"""An embeddings endpoint for tests: real HTTP, vectors without a model, and faults on demand."""

import contextlib
import functools
import hashlib
import json
import math
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

_HTML: Final = b"<!DOCTYPE html><html><body>Welcome</body></html>"


@dataclass(frozen=True)
class RecordedRequest:
    """One request that reached the server."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class _Script:
    """What to do with the next requests for embeddings, instead of what is right."""

    failures: list[tuple[int, Mapping[str, str], bytes]] = field(default_factory=list)
    gate: threading.Event | None = None
    mode: str = "right"
    width: int | None = None


class EmbeddingServer:
    """Speaks ``/v1/embeddings`` and ``/v1/models`` on a free port of 127.0.0.1.

    Use it as a context manager. The same text always gets the same vector, and texts that share
    words or parts of words get similar ones.
    """

    def __init__(
        self, *, width: int = 64, model: str = "test-model", required_key: str | None = None
    ) -> None:
        self.width = width
        self.model = model
        self.required_key = required_key
        self.requests: list[RecordedRequest] = []
        self.looks_like_llamacpp = False
        self._lock = threading.Lock()
        self._arrival = threading.Condition(self._lock)
        self._script = _Script()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start serving."""
        owner: EmbeddingServer = self

        class Handler(_Handler):
            server_of = owner

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving; requests that hang are let go."""
        if self._script.gate is not None:
            self._script.gate.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        if self._server is None:
            raise RuntimeError("the server was not started")
        return self._server.server_address[1]

    @property
    def root(self) -> str:
        """Its address without ``/v1``."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Its address as a ``base_url`` setting."""
        return f"{self.root}/v1"

    @property
    def embedded(self) -> list[list[str]]:
        """The texts of each request for embeddings."""
        return [
            request.body["input"]
            for request in self.requests
            if request.path == "/v1/embeddings" and isinstance(request.body, dict)
        ]

    def wait_for_requests(self, count: int, timeout_seconds: float = 60.0) -> bool:
        """Wait until so many requests have come in; whether they have."""
        with self._lock:
            return self._arrival.wait_for(lambda: len(self.requests) >= count, timeout_seconds)

    def vector(self, text: str) -> list[float]:
        """The vector that this text gets."""
        return hashed_vector(text, self.width)

    def fail_next(
        self,
        count: int = 1,
        *,
        status: int = 500,
        headers: Mapping[str, str] | None = None,
        body: bytes = b'{"error": {"message": "scripted failure"}}',
    ) -> None:
        """Answer the next requests for embeddings with an error."""
        with self._lock:
            self._script.failures += [(status, dict(headers or {}), body)] * count

    def hang_until(self, event: threading.Event) -> None:
        """Hold back every answer until the event is set."""
        self._script.gate = event

    def answer_html(self) -> None:
        """Answer with a web page and status 200."""
        self._script.mode = "html"

    def answer_nan(self) -> None:
        """Answer with vectors that have a NaN in them."""
        self._script.mode = "nan"

    def answer_zeros(self) -> None:
        """Answer with vectors of zeros."""
        self._script.mode = "zeros"

    def answer_short(self) -> None:
        """Answer with one vector too few."""
        self._script.mode = "short"

    def answer_ragged(self) -> None:
        """Answer with a last vector that is one number longer."""
        self._script.mode = "ragged"

    def answer_reversed(self) -> None:
        """Answer with the vectors in the wrong order, each with its right ``index``."""
        self._script.mode = "reversed"

    def answer_broken(self) -> None:
        """Close the connection in the middle of the answer."""
        self._script.mode = "broken"

    def answer_width(self, width: int) -> None:
        """Answer with vectors of another width."""
        self._script.width = width

    def answer_rightly(self) -> None:
        """Forget all scripted faults."""
        with self._lock:
            if self._script.gate is not None:
                self._script.gate.set()
            self._script = _Script()

    def _next_failure(self) -> tuple[int, Mapping[str, str], bytes] | None:
        with self._lock:
            return self._script.failures.pop(0) if self._script.failures else None

    def _answer(self, texts: list[str], dimensions: int | None) -> bytes:
        script = self._script
        width = script.width or dimensions or self.width
        entries = [
            {"object": "embedding", "index": place, "embedding": hashed_vector(text, width)}
            for place, text in enumerate(texts)
        ]
        match script.mode:
            case "html":
                return _HTML
            case "nan":
                entries[-1]["embedding"] = [math.nan] * width
            case "zeros":
                entries[-1]["embedding"] = [0.0] * width
            case "short":
                entries.pop()
            case "ragged":
                entries[-1]["embedding"] = [1.0] * (width + 1)
            case "reversed":
                entries.reverse()
        return json.dumps({"object": "list", "data": entries, "model": self.model}).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *where: Any) -> None:
        """Who hangs up early is part of many a test; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(*where)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: EmbeddingServer

    def do_GET(self) -> None:
        """Models, and what llama.cpp says about itself."""
        self._record(None)
        server = self.server_of
        if self.path == "/v1/models":
            self._send_json(200, {"object": "list", "data": [{"id": server.model}]})
        elif self.path == "/props" and server.looks_like_llamacpp:
            self._send_json(200, {"total_slots": 1, "model_path": server.model})
        else:
            self._send_json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        """Embeddings."""
        server, script = self.server_of, self.server_of._script
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = json.loads(content)
        self._record(body)
        if script.gate is not None:
            script.gate.wait()
        failure = server._next_failure()
        if failure is not None:
            self._send(*failure)
        elif self.path != "/v1/embeddings":
            self._send_json(404, {"error": {"message": "not found"}})
        elif self._key_is_wrong():
            self._send_json(401, {"error": {"message": "Incorrect API key provided."}})
        else:
            self._embed(body)

    def _embed(self, body: dict[str, Any]) -> None:
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        answer = self.server_of._answer(texts, body.get("dimensions"))
        if self.server_of._script.mode != "broken":
            self._send(200, {}, answer)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer[: len(answer) // 2])
        self.close_connection = True

    def _key_is_wrong(self) -> bool:
        key = self.server_of.required_key
        return key is not None and self.headers.get("Authorization") != f"Bearer {key}"

    def _record(self, body: Any) -> None:
        server = self.server_of
        request = RecordedRequest(self.command, self.path, dict(self.headers.items()), body)
        with server._arrival:
            server.requests.append(request)
            server._arrival.notify_all()

    def _send_json(self, status: int, value: object) -> None:
        self._send(status, {}, json.dumps(value).encode())

    def _send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        with contextlib.suppress(OSError):  # whoever asked may have given up
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Tests need no log of requests."""


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
