"""The upstream model endpoint of the proxy."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.providers.endpoint import (
    Endpoint,
    EndpointError,
    Redirected,
    TimedOut,
    Unreachable,
    split_url,
)
from ricordo.providers.http_client import AsyncModelClient, Header
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.wire import Wire
from ricordo.settings import Settings

if TYPE_CHECKING:
    import httpx2

_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OF_THIS_SERVICE: Final = frozenset(
    {
        "accept-encoding",  # so that answers can be parsed
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "origin",  # some upstreams refuse unknown origins
        "via",
        "x-real-ip",
    }
)
_CREDENTIALS: Final = frozenset({"authorization", "x-api-key", "api-key"})
_PRIVATE: Final = ("x-ricordo-", "x-openwebui-", "x-forwarded-", "sec-")

_RETURNED: Final = frozenset(
    {
        "cache-control",
        "content-type",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-accel-buffering",
        "x-request-id",
        "x-should-retry",
    }
)
_RETURNED_KINDS: Final = ("openai-", "anthropic-", "x-ratelimit-", "ratelimit")


def to_upstream(
    given: Mapping[str, str], key: tuple[str, str] | None, *, pass_credentials: bool
) -> list[Header]:
    """The request headers to forward, with the upstream's key instead of the caller's credentials.

    Without such a key the caller's credentials are forwarded only with ``pass_credentials``: they
    may be meant for this service.
    """
    named = {
        name.strip().lower()
        for listed, value in given.items()
        if listed.lower() == "connection"
        for name in value.split(",")
    }
    dropped = _HOP_BY_HOP | _OF_THIS_SERVICE | named
    if key is not None or not pass_credentials:
        dropped |= _CREDENTIALS
    sent = [
        _encoded(name, value)
        for name, value in given.items()
        if name.lower() not in dropped and not name.lower().startswith(_PRIVATE)
    ]
    sent.append((b"accept-encoding", b"identity"))
    return sent if key is None else [*sent, _encoded(*key)]


def with_added(sent: list[Header], added: Mapping[str, str]) -> list[Header]:
    """Add headers, replacing those of the same name."""
    ours = [_encoded(name.lower(), value) for name, value in added.items()]
    names = {name for name, _ in ours}
    return [*(header for header in sent if header[0].lower() not in names), *ours]


def from_upstream(given: Iterable[Header]) -> dict[str, str]:
    """The response headers to return: never cookies or hop-by-hop headers.

    They are decoded as Latin-1, as in ASGI, so their bytes do not change.
    """
    read = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in given)
    return {
        name: value for name, value in read if name in _RETURNED or name.startswith(_RETURNED_KINDS)
    }


def _encoded(name: str, value: str) -> Header:
    """Headers arrive decoded as Latin-1."""
    try:
        return name.encode("ascii"), value.encode("latin-1")
    except UnicodeEncodeError:
        return name.encode("ascii", "ignore"), value.encode("utf-8")


Outcome = Literal["ok", "refused", "failed", "unreachable", "timeout", "broken", "left"]
"""How a call ended: 2xx, 4xx, 5xx, no connection, timeout, incomplete, or the client left."""

_OUTCOME_OF: Final[dict[str, Outcome]] = {
    "upstream_timeout": "timeout",
    "upstream_unreachable": "unreachable",
    "upstream_redirects": "refused",
}


@contextmanager
def _no_span(_headers: MutableMapping[str, str]) -> Iterator[None]:
    yield


@dataclass(frozen=True, slots=True)
class CallWatch:
    """Observes calls. ``span`` wraps each one until its response begins, and may add headers;
    ``finished`` gets the outcome and the seconds up to the last byte."""

    span: Callable[[MutableMapping[str, str]], AbstractContextManager[None]] = _no_span
    finished: Callable[[Outcome, float], None] = lambda _outcome, _seconds: None


class UpstreamCall:
    """One call under way. Only its first outcome counts."""

    def __init__(self, watch: CallWatch, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._watch = watch
        self._monotonic = monotonic
        self._began_at = monotonic()
        self._has_ended = False

    def answered(self, status: int) -> None:
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._end("failed")
        else:
            self._end("refused" if status >= HTTPStatus.BAD_REQUEST else "ok")

    def failed(self, code: str) -> None:
        """There was no complete response; ``code`` is that of :class:`UpstreamFault`."""
        self._end(_OUTCOME_OF.get(code, "broken"))

    def left(self) -> None:
        self._end("left")

    def _end(self, outcome: Outcome) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._watch.finished(outcome, self._monotonic() - self._began_at)


class UpstreamFault(Exception):
    """The upstream could not be reached, or its response is incomplete.

    ``status`` and ``code`` are for the client; the message contains no address and no secret.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


class Upstream:
    """Forwards requests."""

    def __init__(
        self,
        wire: Wire,
        url: str,
        api_key: str | None,
        watch: CallWatch,
        *,
        setting: str,
        silence_seconds: float,
    ) -> None:
        """Raises InvalidValue where ``url`` is not an address."""
        try:
            split_url(url)
        except InvalidValue as error:
            raise InvalidValue(f"setting {setting}", error.problem) from None
        self.wire = wire
        self.watch = watch
        self._key = None if api_key is None else wire.key_header(api_key)
        self._endpoint = Endpoint(wire.name, url.rstrip("/"), api_key)
        self._client = AsyncModelClient(self._endpoint, silence_seconds=silence_seconds)

    @property
    def has_key(self) -> bool:
        """Whether every request has the operator's key."""
        return self._key is not None

    async def send(
        self,
        method: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        pass_credentials: bool,
    ) -> "httpx2.Response":
        """The response with an unread body. ``path`` is below the upstream's URL.

        Raises:
            UpstreamFault: no connection, or a timeout.
        """
        sent = to_upstream(headers, self._key, pass_credentials=pass_credentials)
        added: dict[str, str] = {}
        try:
            with self.watch.span(added):
                return await self._client.send(
                    method, f"{path}?{query}" if query else path, with_added(sent, added), body
                )
        except EndpointError as error:
            raise _fault(error) from None

    async def parts(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """The body of a response as it arrives.

        Raises:
            UpstreamFault: it is incomplete.
        """
        try:
            async for part in self._client.parts(response):
                yield part
        except EndpointError as error:
            raise _fault(error) from None

    def without_key(self, body: bytes) -> bytes:
        """The body without the operator's key."""
        return self._endpoint.without_key(body)

    async def close(self) -> None:
        await self._client.close()


def _fault(error: EndpointError) -> UpstreamFault:
    """For clients, so without any address."""
    if isinstance(error, TimedOut):
        return UpstreamFault(504, "upstream_timeout", "the model's endpoint did not answer in time")
    if isinstance(error, Unreachable):
        return UpstreamFault(502, "upstream_unreachable", "the model's endpoint cannot be reached")
    if isinstance(error, Redirected):
        message = "the model's endpoint answered with a redirect; set its final address"
        return UpstreamFault(502, "upstream_redirects", message)
    return UpstreamFault(502, "upstream_broke_off", "the model's endpoint broke off its answer")


def upstreams_of(settings: Settings, watch: CallWatch) -> dict[str, Upstream]:
    """The configured upstreams by the name of their wire format.

    Raises:
        InvalidValue: a URL is invalid.
    """
    found: dict[str, Upstream] = {}
    for wire, setting, url, key in (
        (OPENAI, "upstream_url", settings.upstream_url, settings.upstream_api_key),
        (ANTHROPIC, "anthropic_url", settings.anthropic_url, settings.anthropic_api_key),
    ):
        if url is not None:
            found[wire.name] = Upstream(
                wire,
                url,
                None if key is None else key.get_secret_value(),
                watch,
                setting=setting,
                silence_seconds=settings.upstream_timeout_seconds,
            )
    return found
