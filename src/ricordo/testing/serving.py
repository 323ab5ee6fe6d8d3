"""What the endpoints for tests have in common: real HTTP on loopback, and faults on demand."""

import abc
import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

HTML_PAGE: Final = b"<!DOCTYPE html><html><body>Welcome</body></html>"
JSON_TYPE: Final = "application/json"


@dataclass(frozen=True)
class RecordedRequest:
    """One request that reached the server."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    """What it holds as JSON; None where it holds none."""
    client_port: int
    """The other end of the connection: the same for requests that share one."""
    content: bytes = b""
    """The body as it came."""

    def header(self, name: str) -> str | None:
        """A header, however its name is written; None where there is none."""
        found = (value for given, value in self.headers.items() if given.lower() == name.lower())
        return next(found, None)


@dataclass(frozen=True)
class Response:
    """What is sent back: the content, or its ``parts`` one after the other.

    ``is_broken``: the connection is closed in the middle of it. ``before_part`` is called with the
    number of each part before it is sent.
    """

    status: int
    content: bytes
    headers: Mapping[str, str]
    is_broken: bool = False
    parts: Iterable[bytes] | None = None
    before_part: Callable[[int], None] = lambda _number: None
    sends_all: bool = False
    """Whether a broken answer with parts has all of them, and not the first half."""


def json_response(status: int, value: object) -> Response:
    """A value as JSON."""
    return Response(status, json.dumps(value).encode(), {})


class LoopbackServer(abc.ABC):
    """An endpoint on a free port of 127.0.0.1. Use it as a context manager.

    What it says is decided by :meth:`_got` and :meth:`_posted`.
    """

    def __init__(self, *, model: str = "test-model", required_key: str | None = None) -> None:
        self.model = model
        self.required_key = required_key
        self.requests: list[RecordedRequest] = []
        self.given_up: list[str] = []
        """The paths of requests whose clients hung up before they had their whole answer."""
        self._lock = threading.Lock()
        self._arrival = threading.Condition(self._lock)
        self._failures: list[Response] = []
        self._gate: threading.Event | None = None
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start serving."""
        owner: LoopbackServer = self

        class Handler(_Handler):
            server_of = owner

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving; requests that hang are let go."""
        if self._gate is not None:
            self._gate.set()
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

    def wait_for_requests(self, count: int, timeout_seconds: float = 60.0) -> bool:
        """Wait until so many requests have come in; whether they have."""
        with self._lock:
            return self._arrival.wait_for(lambda: len(self.requests) >= count, timeout_seconds)

    def fail_next(
        self,
        count: int = 1,
        *,
        status: int = 500,
        headers: Mapping[str, str] | None = None,
        body: bytes = b'{"error": {"message": "scripted failure"}}',
    ) -> None:
        """Answer the next requests with an error."""
        with self._lock:
            self._failures += [Response(status, body, dict(headers or {}))] * count

    def answer_bytes(
        self,
        parts: Iterable[bytes],
        *,
        status: int = 200,
        content_type: str = JSON_TYPE,
        headers: Mapping[str, str] | None = None,
        is_broken: bool = False,
        before_part: Callable[[int], None] = lambda _number: None,
    ) -> None:
        """Answer the next request with these bytes, each part sent on its own.

        With ``is_broken`` the connection is closed after them, as if there were more to come.
        """
        whole = {"Content-Type": content_type, **(headers or {})}
        response = Response(status, b"", whole, is_broken, parts, before_part, sends_all=True)
        with self._lock:
            self._failures.append(response)

    def wait_for_given_up(self, count: int = 1, timeout_seconds: float = 60.0) -> bool:
        """Wait until so many clients have hung up early; whether they have."""
        with self._lock:
            return self._arrival.wait_for(lambda: len(self.given_up) >= count, timeout_seconds)

    def hang_until(self, event: threading.Event) -> None:
        """Hold back every answer until the event is set."""
        self._gate = event

    def forget_faults(self) -> None:
        """Let go of requests that hang, and fail no more of them."""
        with self._lock:
            if self._gate is not None:
                self._gate.set()
            self._gate = None
            self._failures = []

    def _got(self, path: str) -> Response:
        """The answer to a GET: the models."""
        if path == "/v1/models":
            return json_response(200, {"object": "list", "data": [{"id": self.model}]})
        return not_found()

    @abc.abstractmethod
    def _posted(self, path: str, body: Any) -> Response:
        """The answer to a POST for which no failure is scripted."""

    def _answer_to_post(self, request: RecordedRequest) -> Response:
        if self._gate is not None:
            self._gate.wait()
        with self._lock:
            failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            return failure
        if not self._has_key(request):
            return json_response(401, {"error": {"message": "Incorrect API key provided."}})
        return self._posted(request.path.partition("?")[0], request.body)

    def _has_key(self, request: RecordedRequest) -> bool:
        key = self.required_key
        return key is None or request.header("authorization") == f"Bearer {key}"

    def _record(self, request: RecordedRequest) -> None:
        with self._arrival:
            self.requests.append(request)
            self._arrival.notify_all()

    def _note_given_up(self, path: str) -> None:
        with self._arrival:
            self.given_up.append(path)
            self._arrival.notify_all()


def not_found() -> Response:
    """The answer for a page that is not there."""
    return json_response(404, {"error": {"message": "not found"}})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *where: Any) -> None:
        """Who hangs up early is part of many a test; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(*where)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else what is sent in two parts waits for 40 ms
    server_of: LoopbackServer

    def do_GET(self) -> None:
        """Models and the like."""
        self._recorded(b"")
        self._send(self.server_of._got(self.path.partition("?")[0]))

    def do_POST(self) -> None:
        """What the endpoint is for."""
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        request = self._recorded(content)
        self._send(self.server_of._answer_to_post(request))

    def _recorded(self, content: bytes) -> RecordedRequest:
        headers = dict(self.headers.items())
        port = self.client_address[1]
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        request = RecordedRequest(self.command, self.path, headers, body, port, content)
        self.server_of._record(request)
        return request

    def _send(self, response: Response) -> None:
        self.close_connection = self.close_connection or response.is_broken
        try:
            self._send_all(response)
        except OSError:  # whoever asked may have given up
            self.close_connection = True
            self.server_of._note_given_up(self.path)

    def _send_all(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in {"Content-Type": JSON_TYPE, **response.headers}.items():
            self.send_header(name, value)
        if response.parts is not None:
            self._send_parts(response, response.parts)
            return
        content = response.content
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if response.is_broken else content)

    def _send_parts(self, response: Response, parts: Iterable[bytes]) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if response.is_broken and not response.sends_all:
            known = list(parts)
            parts = known[: len(known) // 2]
        for number, part in enumerate(parts):
            response.before_part(number)
            if part:  # an empty one would end the answer
                self._write_part(part)
        if not response.is_broken:
            self._write_part(b"")

    def _write_part(self, part: bytes) -> None:
        self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Tests need no log of requests."""
