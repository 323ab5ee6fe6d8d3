"""A receiver of webhooks on loopback, which answers as a test says and keeps what it got."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OK = 200


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def sent(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.body)
        return read

    @property
    def revisions(self) -> list[int]:
        return [change["revision"] for change in self.sent["data"]["changes"]]


@dataclass
class Receiver:
    """What came, and what is answered: the next of ``answers``, and ``usual`` after them.

    An answer is a status, or does something with the request itself.
    """

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: list[int | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    usual: int | Callable[[BaseHTTPRequestHandler], None] = OK
    lock: threading.Lock = field(default_factory=threading.Lock)
    at_once: int = 0
    most_at_once: int = 0

    def take(self, one: Received) -> int | Callable[[BaseHTTPRequestHandler], None]:
        with self.lock:
            self.received.append(one)
            return self.answers.pop(0) if self.answers else self.usual

    @property
    def revisions(self) -> list[int]:
        return [revision for one in self.received for revision in one.revisions]


def closes(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def answering(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with kept.lock:
                kept.at_once += 1
                kept.most_at_once = max(kept.most_at_once, kept.at_once)
            try:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = kept.take(Received(self.path, headers, body))
                (answering(answer) if isinstance(answer, int) else answer)(self)
            finally:
                with kept.lock:
                    kept.at_once -= 1

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
