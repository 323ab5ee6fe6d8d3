"""Traces of requests, off by default; then nothing is imported.

A span has a name, times and a few attributes: never what somebody said or stored, the message of an
exception, or a user's name.
"""

from collections.abc import Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

Attributes = Mapping[str, str | int]


class RequestSpan:
    """The span of one request, named when its route is known."""

    def finish(self, name: str, attributes: Attributes, *, has_failed: bool) -> None:
        """Say what the request was and what became of it."""


_NO_SPAN: Final = RequestSpan()


class Tracing:
    """Creates no spans; ``otlp.py`` has the one that does."""

    def span(
        self,
        name: str,  # noqa: ARG002 - there is no trace for it
        attributes: Attributes | None = None,  # noqa: ARG002
    ) -> AbstractContextManager[object]:
        return nullcontext()

    def start_request(
        self,
        headers: Mapping[str, str],  # noqa: ARG002 - there is no trace to go on with
    ) -> AbstractContextManager[RequestSpan]:
        """Continue the ``traceparent`` in the headers, whose names are in lower case."""
        return nullcontext(_NO_SPAN)

    def inject_headers(self, headers: MutableMapping[str, str]) -> None:
        """Add the trace context to the headers of an outgoing request."""

    def shutdown(self) -> None:
        """Send what was not sent yet, and send no more."""
