"""Traces of requests, where the operator wants them. Without, nothing is imported or done.

A span has a name, times, and a few attributes: never what somebody said or stored, the message of
an exception, or a user's name.
"""

from collections.abc import Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.providers.endpoint import split_url
from ricordo.settings import Settings

Attributes = Mapping[str, str | int]


class RequestSpan:
    """The span of one request, which gets its name when its route is known."""

    def finish(self, name: str, attributes: Attributes, *, has_failed: bool) -> None:
        """Say what the request was and what became of it."""


_NO_SPAN: Final = RequestSpan()


class Tracing:
    """Makes spans. This one makes none; see :meth:`from_settings`."""

    @staticmethod
    def from_settings(settings: Settings) -> "Tracing":
        """What ``traces_url`` asks for.

        Raises:
            InvalidValue: it is no address, or the packages for it are not installed.
        """
        if settings.traces_url is None:
            return Tracing()
        try:
            split_url(settings.traces_url)
        except InvalidValue as problem:
            raise InvalidValue("setting traces_url", problem.problem) from None
        try:
            from ricordo.observing.otlp import OtlpTracing
        except ImportError:
            needs = "traces need OpenTelemetry: pip install 'ricordo[otel]'"
            raise InvalidValue("setting traces_url", needs) from None
        return OtlpTracing(settings.traces_url)

    def span(
        self,
        name: str,  # noqa: ARG002 - there is no trace for it
        attributes: Attributes | None = None,  # noqa: ARG002
    ) -> AbstractContextManager[object]:
        """What a step is done inside of."""
        return nullcontext()

    def start_request(
        self,
        headers: Mapping[str, str],  # noqa: ARG002 - there is no trace to go on with
    ) -> AbstractContextManager[RequestSpan]:
        """What a request is answered inside of; a ``traceparent`` in its headers is continued.

        The names of the headers are in lower case.
        """
        return nullcontext(_NO_SPAN)

    def inject_headers(self, headers: MutableMapping[str, str]) -> None:
        """Tell whoever is called next which trace this belongs to."""

    def shutdown(self) -> None:
        """Send what was not sent yet, and send no more."""
