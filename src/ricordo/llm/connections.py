"""Connections to an endpoint with a language model."""

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from ricordo.endpoints.addresses import is_nearby
from ricordo.endpoints.answers import bounded, check_not_compressed
from ricordo.endpoints.certificates import trusted_at
from ricordo.endpoints.timing import Deadline
from ricordo.limits import MAX_MODEL_RESPONSE_BYTES
from ricordo.version import __version__

if TYPE_CHECKING:
    import httpx2
    import openai

_SENT_HEADERS: Final = frozenset({"host", "accept", "content-type", "content-length", "connection"})


def open_client(base_url: str, api_key: str | None) -> "openai.OpenAI":
    """A client of the endpoint, which sends no more than it must and reads no more than agreed."""
    import httpx2
    import openai

    http = httpx2.Client(
        verify=trusted_at(base_url),
        trust_env=not is_nearby(base_url),
        follow_redirects=False,
        event_hooks={"request": [partial(_set_headers, api_key)], "response": [_bound]},
    )
    return openai.OpenAI(
        api_key="set below",  # by _set_headers
        base_url=base_url,
        max_retries=0,
        http_client=http,
    )


def _set_headers(api_key: str | None, request: "httpx2.Request") -> None:
    """Send what is needed and no more: the client also takes headers from the environment."""
    for name in list(request.headers):
        if name.lower() not in _SENT_HEADERS:
            del request.headers[name]
    request.headers["User-Agent"] = f"ricordo/{__version__}"
    request.headers["Accept-Encoding"] = "identity"
    if api_key is not None:
        request.headers["Authorization"] = f"Bearer {api_key}"


def _bound(response: "httpx2.Response") -> None:
    """Let no answer be larger, or take longer to read, than agreed."""
    import httpx2

    check_not_compressed(response.headers.get("content-encoding"), httpx2.DecodingError)
    deadline = Deadline(response.request.extensions["timeout"]["read"], time.monotonic)

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            return bounded(
                self._stream,
                max_bytes=MAX_MODEL_RESPONSE_BYTES,
                deadline=deadline,
                too_large=httpx2.DecodingError,
                too_late=httpx2.ReadTimeout,
            )

        def close(self) -> None:
            self._stream.close()

    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = Bounded(response.stream)
