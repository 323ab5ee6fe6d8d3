"""Calls to remote endpoints: URLs, deadlines, retries, one shared client."""

import contextlib
import ipaddress
import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

from ricordo import fork_safety
from ricordo.clock import Clock, system_clock
from ricordo.errors import InvalidValue
from ricordo.limits import (
    MAX_API_KEY_CHARS,
    MAX_MODEL_NAME_CHARS,
    MAX_RETRY_AFTER_SECONDS,
    MAX_URL_CHARS,
)

if TYPE_CHECKING:
    import ssl

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})\.)*[A-Za-z0-9_-]{1,63}\.?")
# A host whose last part is a number is read as an address, in many spellings: 127.1, 0x7f000001.
_NUMERIC: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?$")

_MAX_SAID_CHARS: Final = 300
_CLIENTS_SHARE: Final = 0.95  # the client's own timeouts end first, and cleanly, where they apply


def split_url(url: str) -> SplitResult:
    """The parts of a URL. Raises InvalidValue."""
    if len(url) > MAX_URL_CHARS:
        raise InvalidValue("base_url", f"{len(url)} characters; allowed: at most {MAX_URL_CHARS}")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidValue("base_url", "only plain ASCII characters without spaces are allowed")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidValue("base_url", "expected http://HOST[:PORT]/PATH or https://…")
    if not _is_host(parts.hostname or ""):
        raise InvalidValue(
            "base_url", "HOST must be a name, four numbers such as 192.0.2.1, or [an IPv6 address]"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidValue("base_url", "must not contain a name or password; use api_key")
    if parts.query or parts.fragment:
        raise InvalidValue("base_url", "must not contain ? or #")
    return parts


def _is_host(host: str) -> bool:
    """Whether this is a name or an address in its canonical spelling."""
    if ":" in host:
        kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address] = ipaddress.IPv6Address
    elif _NUMERIC.search(host):
        kind = ipaddress.IPv4Address
    else:
        return _NAME.fullmatch(host) is not None
    try:
        return "%" not in host and bool(kind(host))
    except ValueError:
        return False


def is_nearby(url: str) -> bool:
    """Whether the address is local, so that no proxy applies."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host


Monotonic = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """Sources of time and randomness."""

    monotonic: Monotonic = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    clock: Clock = system_clock


class Deadline:
    """The moment by which a whole call must end; None is never."""

    def __init__(self, seconds: float | None, monotonic: Monotonic) -> None:
        self.seconds = seconds
        self._monotonic = monotonic
        self._end = None if seconds is None else monotonic() + seconds

    def remaining(self, at_most: float = math.inf) -> float:
        """Seconds until then, at most ``at_most``; never below zero."""
        if self._end is None:
            return at_most
        return max(0.0, min(at_most, self._end - self._monotonic()))

    @property
    def has_passed(self) -> bool:
        return self._end is not None and self._monotonic() >= self._end


def backoff_seconds(retry: int, jitter: Callable[[], float], *, base: float, cap: float) -> float:
    """A random pause before retry 1, 2 …: full jitter, so that clients do not synchronise."""
    return min(cap, math.ldexp(base, retry - 1)) * jitter()


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """A Retry-After header in seconds, given as seconds or a date; None when it says nothing."""
    if header is None:
        return None
    value = header.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def may_wait(seconds: float, deadline: Deadline) -> bool:
    """Whether a pause is short enough, in itself and for the time left."""
    return seconds <= MAX_RETRY_AFTER_SECONDS and deadline.remaining(at_most=seconds) >= seconds


# Errors are raised as the caller's class.

ErrorOf = Callable[[str], Exception]
"""Makes the error to raise from a message."""


def check_not_compressed(encoding: str | None, error: ErrorOf) -> None:
    """Refuse compressed answers, which were not requested: they would get around size limits."""
    if encoding is not None and encoding.lower() != "identity":
        raise error("the answer is compressed, which was not asked for")


def bounded(
    parts: Iterable[bytes],
    *,
    max_bytes: int,
    deadline: Deadline,
    too_large: ErrorOf,
    too_late: ErrorOf,
) -> Iterator[bytes]:
    """The parts of a body, within its limits in size and time."""
    size = 0
    for part in parts:
        size += len(part)
        if size > max_bytes:
            raise too_large(f"the answer is larger than {max_bytes} bytes")
        if deadline.has_passed:
            raise too_late("the answer did not end in time")
        yield part


def read_json(content: bytes, error: ErrorOf) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        what = "an HTML page" if _looks_like_html(content) else "not JSON"
        raise error(f"the answer is {what}; is base_url right?") from None


def may_pass(status: int, content: bytes) -> bool:
    """Whether the same request may succeed later, given the status of the failure."""
    if status == 429:
        return not _is_quota_exhausted(content)
    # 501 is llama.cpp's answer to features it was not started with.
    return status == 408 or (status >= 500 and status != 501)


def said(content: bytes, secret: str | None) -> str:
    """An endpoint's error message, on one line and without the key."""
    text = content[: 8 * _MAX_SAID_CHARS].decode("utf-8", "replace")
    try:
        found = _message_in(json.loads(content)) or text
    except (ValueError, RecursionError):
        found = "an HTML page" if _looks_like_html(content) else text
    return one_line(found, secret)


def one_line(text: str, secret: str | None) -> str:
    """A message fit to be shown: short, printable, without the key."""
    shown = text.replace(secret, "[key]") if secret else text
    line = " ".join("".join(c if c.isprintable() else " " for c in shown).split())
    return line[:_MAX_SAID_CHARS].rstrip() or "no explanation"


def _is_quota_exhausted(content: bytes) -> bool:
    """Whether a "too many requests" will not go away by waiting."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return False
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and "insufficient_quota" in (
        error.get("code"),
        error.get("type"),
    )


def _message_in(body: Any) -> str | None:
    """``{"error": {"message": …}}`` and its variants."""
    if isinstance(body, list) and body:
        body = body[0]
    for name in ("error", "message", "detail"):
        found = body.get(name) if isinstance(body, dict) else None
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return found
    return None


def _looks_like_html(content: bytes) -> bool:
    start = content[:200].lstrip().lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def trusted_at(url: str) -> "ssl.SSLContext | bool":
    """The ``verify`` argument of a client without redirects; True: the system's certificates.

    Loading those takes 50 ms. A client for plain HTTP to a local address never needs them, and gets
    a context that trusts nobody.
    """
    import ssl

    if urlsplit(url).scheme == "http" and is_nearby(url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True


Result = TypeVar("Result")


def within(seconds: float, call: Callable[[float], Result], *, thread_name: str) -> Result:
    """The result of the call, made in its own thread.

    The call gets the seconds for its HTTP client, a little fewer than ``seconds``. Client timeouts
    cover single steps: DNS has none, and a server that trickles bytes never hits them. An abandoned
    thread ends when its connection does.

    Raises:
        TimeoutError: it was not done in time. What the call raises is raised as well.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call(_CLIENTS_SHARE * seconds))
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
            outcome.set_exception(error)

    threading.Thread(target=run, name=thread_name, daemon=True).start()
    return outcome.result(timeout=seconds)


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


def checked_model(provider: str, given: str | None, usual: str | None) -> str:
    name = given if given is not None else usual
    if name is None:
        raise InvalidValue("model", f"{provider} needs the name of a model")
    if not 1 <= len(name) <= MAX_MODEL_NAME_CHARS or name != name.strip() or not name.isprintable():
        raise InvalidValue("model", f"expected 1 to {MAX_MODEL_NAME_CHARS} printable characters")
    return name


def checked_base_url(provider: str, given: str | None, usual: str | None, *, path: str) -> str:
    """The URL as given, or the default, without a trailing slash.

    ``path`` is what calls append, such as ``/embeddings``; it is removed where it was given too.
    """
    url = given if given is not None else usual
    if url is None:
        raise InvalidValue("base_url", f"{provider} needs the address of the endpoint")
    trimmed = url.rstrip("/")
    if split_url(trimmed).path.endswith(path):
        raise InvalidValue("base_url", f"leave out the final {path}")
    return trimmed


def checked_api_key(provider: str, given: str | None, *, is_needed: bool) -> str | None:
    """A key that can be sent in a header; None where none is needed."""
    if given is None:
        if is_needed:
            raise InvalidValue("api_key", f"{provider} needs one")
        return None
    # Other characters in a header could inject headers.
    if not 1 <= len(given) <= MAX_API_KEY_CHARS or not all("!" <= c <= "~" for c in given):
        raise InvalidValue(
            "api_key",
            f"expected 1 to {MAX_API_KEY_CHARS} ASCII letters, digits and signs, no spaces",
        )
    return given
