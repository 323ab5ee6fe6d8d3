"""Requests to the addresses of webhooks, which strangers may have named."""

import contextlib
import ipaddress
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult

from ricordo.errors import InvalidValue, TargetRefused
from ricordo.frozen import dataclass
from ricordo.limits import (
    MAX_WEBHOOK_ANSWER_BYTES,
    MODEL_CONNECT_SECONDS,
    WEBHOOK_ANSWER_SECONDS,
)
from ricordo.providers.address_guard import (
    Resolve,
    allowed_addresses,
    is_address,
    refusal,
    system_resolve,
)
from ricordo.providers.endpoint import one_line, split_url, trusted_at
from ricordo.providers.timing import retry_after_seconds, within
from ricordo.version import __version__

if TYPE_CHECKING:
    import httpx2

_FIELD: Final = "url"
_ALLOWED_BY: Final = "webhooks go to public addresses"
_LOOPBACK: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_LOCAL_NAME: Final = "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a request: the status of the answer, or what went wrong before there was one.

    ``pause_seconds`` is how long the receiver asks to be left alone. Nothing of the body is kept:
    it could be that of something inside.
    """

    status: int | None
    error: str | None
    pause_seconds: float | None
    milliseconds: int

    @property
    def is_good(self) -> bool:
        return self.error is None


Post = Callable[[Mapping[str, str], bytes], Answer]


class WebhookSender:
    """Posts to addresses outside, and to loopback where the operator allows that."""

    def __init__(
        self,
        *,
        allow_loopback: bool,
        seconds: float = WEBHOOK_ANSWER_SECONDS,
        resolve: Resolve = system_resolve,
    ) -> None:
        self._allow_loopback = allow_loopback
        self._seconds = seconds
        self._resolve = resolve

    def check(self, url: str) -> str:
        """The address as it is stored. Names are resolved only when it is connected to. Raises
        InvalidValue: it is not the address of something that webhooks can be sent to;
        TargetRefused: it is inside the operator's network."""
        parts = split_url(url, _FIELD, may_query=True)
        host = parts.hostname or ""
        is_local_name = host == _LOCAL_NAME or host.endswith(f".{_LOCAL_NAME}")
        if parts.scheme != "https" and not self._allow_loopback:
            raise InvalidValue(_FIELD, "must begin with https://")
        if is_address(host):
            self._allowed(parts)(host, _port(parts))
        elif is_local_name and not self._allow_loopback:
            raise TargetRefused(f"{_FIELD}: {host} has no public address; {_ALLOWED_BY}")
        elif parts.scheme != "https" and not is_local_name:
            raise InvalidValue(_FIELD, "must begin with https://; http:// is for loopback alone")
        return url

    @contextlib.contextmanager
    def to(self, url: str) -> Iterator[Post]:
        """What posts to an address, over one connection."""
        import httpx2

        from ricordo.providers.guarded_transport import GuardedTransport

        parts = split_url(url, _FIELD, may_query=True)
        limit = httpx2.Timeout(self._seconds, connect=min(self._seconds, MODEL_CONNECT_SECONDS))
        client = httpx2.Client(
            # The addresses are checked as they are connected to; no proxy may resolve them again.
            transport=GuardedTransport(self._allowed(parts), trusted_at(url)),
            trust_env=False,
            follow_redirects=False,
            timeout=limit,
            headers={
                "User-Agent": f"ricordo/{__version__}",
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",
            },
        )
        try:
            yield lambda headers, body: self._post(client, url, headers, body)
        finally:
            client.close()

    def _allowed(self, parts: SplitResult) -> Resolve:
        """What finds the addresses of the host that may be connected to."""
        refused: Callable[[str], str | None]
        if parts.scheme == "https":
            refused = _unless_public_or_loopback if self._allow_loopback else refusal
        else:
            refused = _unless_loopback if self._allow_loopback else _without_tls

        def checked(host: str, port: int) -> list[str]:
            return allowed_addresses(
                *(host, port, self._resolve), field=_FIELD, hint=_ALLOWED_BY, refused=refused
            )

        return checked

    def _post(
        self, client: "httpx2.Client", url: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        import httpx2

        def send() -> tuple[int, str | None]:
            with client.stream("POST", url, content=body, headers=dict(headers)) as response:
                size = 0
                for part in response.iter_raw():
                    size += len(part)
                    if size > MAX_WEBHOOK_ANSWER_BYTES:
                        break
                return response.status_code, response.headers.get("retry-after")

        started = time.perf_counter()
        status, asked, problem = None, None, None
        try:
            status, asked = within(self._seconds, send, thread_name="ricordo-webhook")
            problem = _problem_of(status)
        except (TimeoutError, httpx2.TimeoutException):
            problem = f"no answer within {self._seconds:g} s"
        except TargetRefused as refused:
            problem = str(refused)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            problem = f"cannot be reached: {one_line(str(error) or type(error).__name__, None)}"
        return Answer(
            status=status,
            error=problem,
            pause_seconds=retry_after_seconds(asked, datetime.now(UTC)),
            milliseconds=round(1_000 * (time.perf_counter() - started)),
        )


def _problem_of(status: int) -> str | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"answered {status}: a redirect, which is not followed"
    return f"answered {status}"


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed.version == one.version and parsed in one for one in _LOOPBACK)


def _without_tls(_address: str) -> str | None:
    return "reached without https"


def _unless_loopback(address: str) -> str | None:
    return None if _is_loopback(address) else "not a loopback address, which http:// is for"


def _unless_public_or_loopback(address: str) -> str | None:
    return None if _is_loopback(address) else refusal(address)
