"""Spans, as a receiver of OTLP over HTTP gets them."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ricordo.errors import InvalidValue
from ricordo.memory import Memory
from ricordo.observability.middleware import tracing_of
from ricordo.settings import Settings
from tests.observing.services import Service

pytestmark = pytest.mark.requirement("observability.traces")

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT_ID = "b7ad6b7169203331"


class Receiver:
    """A collector on loopback that keeps what it gets; it may refuse everything."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(ExportTraceServiceRequest.FromString(body))
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def span(self, name: str) -> Span:
        (found,) = [span for span in self.spans if span.name == name]
        return found


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def service(memory: Memory, receiver: Receiver) -> Iterator[Service]:
    service = Service(memory, tracing_of(Settings(traces_url=receiver.url)))
    yield service
    service.tracing.shutdown()


def attributes(span: Span) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def test_a_request_is_a_span_of_the_callers_trace(service: Service, receiver: Receiver) -> None:
    service.memory.user("ana").add("Plays tennis on Mondays")
    answer = asyncio.run(
        service.call(
            "GET",
            "/v1/users/ana/search",
            params={"query": "sesquipedalian"},
            headers={"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"},
        )
    )
    assert answer.status_code == 200
    service.tracing.shutdown()
    request = receiver.span("GET /v1/users/{user_id}/search")
    assert request.kind == Span.SPAN_KIND_SERVER
    assert request.trace_id.hex() == TRACE_ID
    assert request.parent_span_id.hex() == PARENT_ID
    assert attributes(request) == {
        "http.request.method": "GET",
        "http.route": "/v1/users/{user_id}/search",
        "http.response.status_code": 200,
        "ricordo.key_id": "key-7",
    }
    search = receiver.span("ricordo.search")
    assert search.parent_span_id == request.span_id
    embeddings = [span for span in receiver.spans if span.name == "ricordo.embedding"]
    assert search.span_id in {span.parent_span_id for span in embeddings}
    (resource,) = {str(one.resource) for sent in receiver.requests for one in sent.resource_spans}
    assert "ricordo" in resource
    told = str(receiver.requests)
    assert "sesquipedalian" not in told
    assert "tennis" not in told
    assert '"ana"' not in told
    assert "users/ana" not in told


def test_a_failed_request_is_marked_without_what_was_wrong(
    service: Service, receiver: Receiver
) -> None:
    asyncio.run(service.call("POST", "/v1/fail", params={"text": "sesquipedalian"}))
    with pytest.raises(ValueError, match="sesquipedalian"), service.tracing.span("step", {"n": 1}):
        raise ValueError("sesquipedalian")
    service.tracing.shutdown()
    failed = receiver.span("POST /v1/fail")
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert attributes(receiver.span("step")) == {"n": 1, "error.type": "ValueError"}
    assert "sesquipedalian" not in str(receiver.requests)


def test_the_trace_goes_on_upstream(service: Service, receiver: Receiver) -> None:
    outside: dict[str, str] = {}
    service.tracing.inject_headers(outside)
    assert outside == {}
    headers: dict[str, str] = {}
    given = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01", "baggage": "user=ana"}
    with service.tracing.start_request(given), service.tracing.span("upstream"):
        service.tracing.inject_headers(headers)
        # The program's own provider is left alone.
        assert not hasattr(trace.get_tracer_provider(), "force_flush")
    service.tracing.shutdown()
    sent = receiver.span("upstream").span_id.hex()
    assert headers == {"traceparent": f"00-{TRACE_ID}-{sent}-01"}


def test_a_receiver_that_refuses_fails_no_request(service: Service, receiver: Receiver) -> None:
    receiver.status = 400
    for _ in range(2):  # also after the end
        answer = asyncio.run(service.call("GET", "/v1/users/ana/search", params={"query": "tea"}))
        assert answer.status_code == 200
        service.tracing.shutdown()
        assert receiver.requests


@pytest.mark.slow
def test_without_an_address_opentelemetry_is_not_even_loaded() -> None:
    program = """
import sys
from ricordo.observability.middleware import tracing_of
from ricordo.settings import Settings
import ricordo.observability.middleware, ricordo.observability.metrics, ricordo.observability.logs
tracing_of(Settings())
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == b"[]\n"


def test_without_the_package_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "ricordo.observability.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(InvalidValue, match=r"pip install 'ricordo\[otel\]'"):
        tracing_of(Settings(traces_url="http://127.0.0.1:4318/v1/traces"))


def test_without_an_address_nothing_is_traced_and_what_is_none_is_refused() -> None:
    tracing = tracing_of(Settings())
    headers: dict[str, str] = {}
    with tracing.start_request({}) as request, tracing.span("step"):
        tracing.inject_headers(headers)
        request.finish("GET /", {}, has_failed=False)
    tracing.shutdown()
    assert headers == {}
    for url in ("", "collector:4318", "ftp://x/", "http://a:b@x/", "http://x/?a"):
        with pytest.raises(InvalidValue, match="setting traces_url"):
            tracing_of(Settings(traces_url=url))
