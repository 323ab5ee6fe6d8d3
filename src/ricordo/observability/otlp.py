"""OpenTelemetry traces over OTLP/HTTP. Imported only where ``traces_url`` is set."""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ricordo.observability.traces import Attributes, RequestSpan, Tracing
from ricordo.version import __version__

_EXPORT_SECONDS: Final = 5.0
_NAME: Final = "ricordo"


class _OtlpRequestSpan(RequestSpan):
    def __init__(self, span: Span) -> None:
        self._span = span

    def finish(self, name: str, attributes: Attributes, *, has_failed: bool) -> None:
        self._span.update_name(name)
        self._span.set_attributes(dict(attributes))
        if has_failed:
            self._span.set_status(Status(StatusCode.ERROR))


class OtlpTracing(Tracing):
    """Spans in a provider of its own, so that it does not affect the surrounding program.

    A background thread sends them; they are dropped where the collector does not answer.
    """

    def __init__(self, url: str) -> None:
        resource = Resource.create({SERVICE_NAME: _NAME, SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=url, timeout=_EXPORT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(_NAME, __version__)
        # Trace context only, no baggage.
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, attributes: Attributes | None = None) -> Iterator[object]:
        with self._tracer.start_as_current_span(
            name,
            attributes=None if attributes is None else dict(attributes),
            record_exception=False,  # its message may quote what somebody said
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR))
                span.set_attribute("error.type", type(error).__name__)
                raise

    @contextmanager
    def start_request(self, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """The root span in this process, in the client's trace if it has one."""
        with self._tracer.start_as_current_span(
            "request",
            context=self._propagator.extract(headers),
            kind=SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _OtlpRequestSpan(span)

    def inject_headers(self, headers: MutableMapping[str, str]) -> None:
        self._propagator.inject(headers)

    def shutdown(self) -> None:
        """Send queued spans, for a few seconds at most."""
        self._provider.shutdown()
