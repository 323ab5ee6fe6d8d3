"""The HTTP client of all model endpoints: embeddings, chat, and what the proxy passes on."""

import contextlib
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ricordo import fork_safety
from ricordo.limits import (
    MAX_MODEL_RETRIES,
    MODEL_CONNECT_SECONDS,
)
from ricordo.providers.address_guard import Resolve, allowed_addresses, system_resolve
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.providers.endpoint import (
    BadResponse,
    Endpoint,
    EndpointError,
    Redirected,
    Refused,
    TimedOut,
    Unavailable,
    Unreachable,
    error_status,
    is_nearby,
    may_pass,
    said,
    trusted_at,
)
from ricordo.providers.timing import (
    Deadline,
    Timing,
    backoff_seconds,
    may_wait,
    retry_after_seconds,
    within,
)
from ricordo.version import __version__

if TYPE_CHECKING:
    import httpx2


_IDLE_CONNECTIONS: Final = 100
_CLIENTS_SHARE: Final = 0.95  # its own timeouts end first, and cleanly, where they apply

Header = tuple[bytes, bytes]


class Closable(Protocol):
    def close(self) -> None: ...


Client = TypeVar("Client", bound=Closable)


@dataclass
class _Lease(Generic[Client]):
    """A client, and how many calls are using it."""

    client: Client
    users: int = 0
    is_retired: bool = False


class SharedClient(Generic[Client]):
    """Lends a client to each call; closing waits for the calls that still use it."""

    def __init__(self, open_client: Callable[[], Client]) -> None:
        self._open_client = open_client
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._lease: _Lease[Client] | None = None

    def reset_after_fork(self) -> Any:
        """The sockets are the parent's; a child opens its own."""
        inherited = (self._lock, self._lease)
        self._set_up()
        return inherited

    @contextlib.contextmanager
    def lent(self) -> Iterator[Client]:
        with self._lock:
            if self._lease is None:
                self._lease = _Lease(self._open_client())
            lease = self._lease
            lease.users += 1
        try:
            yield lease.client
        finally:
            with self._lock:
                lease.users -= 1
                is_last = lease.is_retired and not lease.users
            if is_last:
                lease.client.close()

    def close(self) -> None:
        """Close the client when it is no longer used; a later call opens a new one."""
        with self._lock:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            lease.is_retired = True
            is_idle = not lease.users
        if is_idle:
            lease.client.close()


@dataclass
class Call:
    """What the requests of one call share."""

    deadline: Deadline
    retries_left: int = MAX_MODEL_RETRIES


def _do_nothing() -> None:
    pass


class ModelClient:
    """Requests to one endpoint: one deadline, retries, a circuit breaker. Thread-safe, fork-safe.

    Redirects are not followed, since they would carry the key elsewhere; answers are not
    compressed, since that would get around the limit of their size.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        max_bytes: int,
        attempt_seconds: float = math.inf,
        timing: Timing | None = None,
        breaker: CircuitBreaker | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """``max_bytes`` limits an answer, ``attempt_seconds`` each single request."""
        self._endpoint = endpoint
        self._max_bytes = max_bytes
        self._attempt_seconds = attempt_seconds
        self._timing = timing or Timing()
        self._breaker = breaker or CircuitBreaker(monotonic=self._timing.monotonic)
        self._shared = SharedClient(partial(_open_client, endpoint, resolve))

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        call: Call,
        *,
        before_request: Callable[[], None] = _do_nothing,
        on_failure: Callable[[], None] = _do_nothing,
    ) -> bytes:
        """The body of an answer with status 200.

        ``before_request`` is called before each request, ``on_failure`` after each that was sent in
        vain.

        Raises:
            Unavailable: nothing but failures, or no time left.
            Refused: the endpoint said no.
            BadResponse: the answer is too large, or compressed.
            TargetRefused: a user's address is not allowed.
        """
        place = self._endpoint.place
        while True:
            seconds = call.deadline.remaining(at_most=self._attempt_seconds)
            if seconds <= 0:  # the caller's deadline is no failure of the endpoint
                raise Unavailable(place, f"{call.deadline.seconds:g} s were not enough")
            before_request()
            try:
                with self._breaker.attempt(place):
                    return self._answer(method, path, body, seconds)
            except EndpointError as error:
                if error.was_sent:
                    on_failure()
                pause = self._pause_after(error, call, seconds)
                if pause is None:
                    raise
                call.retries_left -= 1
                self._timing.sleep(pause)

    @contextlib.contextmanager
    def stream(
        self, path: str, body: bytes, seconds: float
    ) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The content type of an answer with status 200, and its parts as they arrive.

        Never retried: the reader decides that. Raises as :meth:`request` does, also while the parts
        are read.
        """
        with contextlib.ExitStack() as stack:
            with self._breaker.attempt(self._endpoint.place):
                response = stack.enter_context(self._open("POST", path, body, seconds))
                if response.status_code != 200:
                    self._check_status(response, b"".join(self._parts(response, seconds)))
            yield response.headers.get("content-type", ""), self._parts(response, seconds)

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        self._shared.close()

    def _answer(self, method: str, path: str, body: bytes | None, seconds: float) -> bytes:
        def send() -> "tuple[httpx2.Response, bytes]":
            with self._open(method, path, body, seconds) as response:
                return response, b"".join(self._parts(response, seconds))

        try:
            response, content = within(seconds, send, thread_name="ricordo-model")
        except TimeoutError:
            raise TimedOut(self._endpoint.place, f"no answer within {seconds:.3g} s") from None
        self._check_status(response, content)
        return content

    @contextlib.contextmanager
    def _open(
        self, method: str, path: str, body: bytes | None, seconds: float
    ) -> "Iterator[httpx2.Response]":
        import httpx2

        endpoint = self._endpoint
        headers = {} if body is None else {"Content-Type": "application/json"}
        if endpoint.api_key is not None:
            headers["Authorization"] = f"Bearer {endpoint.api_key}"
        limit = _CLIENTS_SHARE * seconds
        timeout = httpx2.Timeout(limit, connect=min(limit, MODEL_CONNECT_SECONDS))
        with (
            endpoint_errors(endpoint, seconds),
            self._shared.lent() as client,
            client.stream(
                method, f"{endpoint.base_url}{path}", content=body, headers=headers, timeout=timeout
            ) as response,
        ):
            yield response

    def _parts(self, response: "httpx2.Response", seconds: float) -> Iterator[bytes]:
        """The body, within its limits."""
        place = self._endpoint.place
        deadline = Deadline(_CLIENTS_SHARE * seconds, self._timing.monotonic)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise BadResponse(f"{place}: the answer is compressed, which was not requested")
        size = 0
        for part in response.iter_raw():
            size += len(part)
            if size > self._max_bytes:
                raise BadResponse(f"{place}: the answer is larger than {self._max_bytes} bytes")
            if deadline.has_passed:
                raise TimedOut(place, f"no answer within {seconds:.3g} s")
            yield part

    def _check_status(self, response: "httpx2.Response", content: bytes) -> None:
        endpoint, status = self._endpoint, response.status_code
        if status == 200:
            status = error_status(content) or status
        if status == 200:
            return
        if 300 <= status < 400:
            raise _redirected(endpoint, status)
        reason = said(content, endpoint.api_key)
        if not may_pass(status, content):
            problem = f"{endpoint.place} answered {status}: {reason}"
            raise Refused(problem, status=status, said=reason)
        pause = retry_after_seconds(response.headers.get("retry-after"), self._timing.clock())
        raise Unavailable(endpoint.place, f"answered {status}: {reason}", pause_seconds=pause)

    def _pause_after(self, error: EndpointError, call: Call, seconds: float) -> float | None:
        """How long to wait before the next request; None where there is none."""
        if not isinstance(error, Unavailable) or not call.retries_left or self._breaker.is_open:
            return None
        if isinstance(error, TimedOut) and error.was_sent and seconds < self._attempt_seconds:
            return None  # it had all the time that was left
        retry = 1 + MAX_MODEL_RETRIES - call.retries_left
        pause = max(backoff_seconds(retry, self._timing.jitter), error.pause_seconds or 0.0)
        return pause if may_wait(pause, call.deadline) else None


class AsyncModelClient:
    """Passes requests on to an operator's endpoint, and answers back as they arrive.

    Nothing is retried, and there is no circuit breaker: who sent the request sees what became of
    it. For one event loop.
    """

    def __init__(self, endpoint: Endpoint, *, silence_seconds: float) -> None:
        """``silence_seconds`` is how long the endpoint may send nothing."""
        import httpx2

        self._endpoint = endpoint
        self._silence_seconds = silence_seconds
        connect = min(MODEL_CONNECT_SECONDS, silence_seconds)
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silence_seconds, connect=connect), **_options(endpoint)
        )

    async def send(
        self, method: str, path: str, headers: Sequence[Header], body: bytes | None
    ) -> "httpx2.Response":
        """The response with an unread body. Raises EndpointError."""
        url = f"{self._endpoint.base_url}{path}"
        with endpoint_errors(self._endpoint, self._silence_seconds):
            request = self._client.build_request(method, url, headers=headers, content=body)
            response = await self._client.send(request, stream=True)
        if response.is_redirect:
            await response.aclose()
            raise _redirected(self._endpoint, response.status_code)
        return response

    async def parts(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """The body as it arrives. Raises EndpointError."""
        with endpoint_errors(self._endpoint, self._silence_seconds):
            async for part in response.aiter_raw():
                yield part

    async def close(self) -> None:
        await self._client.aclose()


def _options(endpoint: Endpoint) -> dict[str, Any]:
    """What all clients have in common."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    return {
        "verify": trusted_at(endpoint.base_url),
        "trust_env": not is_nearby(endpoint.base_url),
        "follow_redirects": False,
        "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS),
        "headers": {"User-Agent": f"ricordo/{__version__}", "Accept-Encoding": "identity"},
        # Otherwise cookies of one user would be sent with the requests of the next.
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    }


def _open_client(endpoint: Endpoint, resolve: Resolve | None) -> "httpx2.Client":
    import httpx2

    options = _options(endpoint)
    if endpoint.guarded:
        from ricordo.providers.guarded_transport import GuardedTransport

        guard = GuardedTransport(partial(allowed_addresses, resolve=resolve or system_resolve))
        # No proxy from the environment: it would resolve the name again, unchecked.
        options |= {"transport": guard, "trust_env": False}
    return httpx2.Client(**options)


@contextlib.contextmanager
def endpoint_errors(endpoint: Endpoint, seconds: float) -> Iterator[None]:
    """Raise errors of the HTTP library as ours, without the key."""
    import httpx2

    place = endpoint.place
    try:
        yield
    except httpx2.LocalProtocolError:  # its message would show the key
        problem = f"{place}: the request cannot be sent; check api_key and base_url"
        raise Refused(problem, was_sent=False) from None
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
        what = endpoint.shown(str(error) or type(error).__name__)
        if isinstance(error, (httpx2.ConnectTimeout, httpx2.PoolTimeout)):
            raise TimedOut(place, f"cannot be reached: {what}", was_sent=False) from None
        if isinstance(error, httpx2.TimeoutException):
            raise TimedOut(place, f"no answer within {seconds:.3g} s") from None
        if isinstance(error, httpx2.ConnectError):
            raise Unreachable(place, f"cannot be reached: {what}", was_sent=False) from None
        raise Unavailable(place, f"broke off: {what}") from None


def _redirected(endpoint: Endpoint, status: int) -> Redirected:
    problem = "a redirect, which is not followed; set base_url to where it leads"
    return Redirected(f"{endpoint.place} answered {status}: {problem}", status=status)
