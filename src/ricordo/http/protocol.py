"""HTTP/1.1 on a bare listener: limits on connections, request sizes and waiting times."""

import asyncio
import contextlib
import heapq
import ipaddress
import json
import logging
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Protocol

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ricordo.formation.decisions import FIELDS
from ricordo.frozen import dataclass
from ricordo.http.addresses import is_loopback
from ricordo.http.problems import PROBLEM_TYPE
from ricordo.limits import MAX_DISCARDED_BYTES, MAX_PIPELINED_REQUESTS, REFUSAL_SECONDS
from ricordo.observability.logs import new_request_id
from ricordo.settings import Settings

_ACCEPT_QUEUE: Final = 2048
_RESERVED_DESCRIPTORS: Final = 128
_DESCRIPTORS_PER_DATABASE_CONNECTION: Final = 4  # the file, its log, its index, a journal
_MIN_ROOM: Final = 32
_EVICTED_SHARE: Final = 50  # one in so many idle connections
_SITE_PREFIX: Final = 64  # of an IPv6 address: what one household or machine gets
_LOG_EVERY_SECONDS: Final = 10.0
_SINGLE_HEADERS: Final = frozenset({b"host", b"authorization", b"x-api-key", b"content-type"})
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_RESET: Final = struct.pack("ii", 1, 0)  # of SO_LINGER: drop unsent data
_log = logging.getLogger("ricordo.connections")


class Peer(Protocol):
    """A connection, as far as the limit on connections needs to know it."""

    def waiting_since(self) -> float | None:
        """Since when it waits for its client; None while a response is under way."""

    def give_way(self) -> None:
        """Close it at once."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many connections are allowed in total and per address (0: unlimited), and the length of
    the accept queue."""

    most: int
    most_of_one: int
    waiting: int

    @classmethod
    def from_settings(cls, settings: Settings) -> "Room":
        """The configured limits, lowered where the system allows too few file descriptors."""
        reserved = (
            _RESERVED_DESCRIPTORS
            + settings.service_threads
            + settings.pool_size * _DESCRIPTORS_PER_DATABASE_CONNECTION
        )
        most, waiting = settings.max_connections, _ACCEPT_QUEUE
        # The whole accept queue may be accepted at once, before anything can be refused.
        wanted = reserved + most + waiting
        allowed = _allowed_descriptors(wanted)
        if allowed < wanted:
            room = max(allowed - reserved, _MIN_ROOM)
            waiting = min(waiting, max(room // 4, room - most))
            if room - waiting < most:
                most = room - waiting
                _log.warning(
                    "only %d connections at once instead of %d: the system allows %d open files"
                    " (ulimit -n)",
                    most,
                    settings.max_connections,
                    allowed,
                )
        return cls(most, settings.max_connections_per_address, waiting)


def _allowed_descriptors(wanted: int) -> int:
    """The limit on open files of this process, raised where possible."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        return raised
    return soft


class Connections:
    """All open connections by client address.

    When there is no room for another one, the address with most connections loses the one that has
    been idle longest. A connection whose request is being answered is never closed.
    """

    def __init__(self, room: Room, is_shared: Callable[[str], bool] = is_loopback) -> None:
        """``is_shared``: which addresses stand for many clients and have no limit of their own."""
        self._room = room
        self._is_shared = is_shared
        self._by_place: dict[str, dict[Peer, None]] = {}  # in order of arrival
        self._number = 0
        self._unlogged: Counter[str] = Counter()
        self._logged_at: dict[str, float] = {}

    def admit(self, address: str, peer: Peer) -> HTTPStatus | None:
        """Register a connection, or return the status that it is refused with."""
        place = _place(address)
        same = self._by_place.get(place, {})
        most_of_one = 0 if self._is_shared(place) else self._room.most_of_one
        if most_of_one and len(same) >= most_of_one and not self._evict([place]):
            return HTTPStatus.TOO_MANY_REQUESTS
        if self._number >= self._room.most:
            busiest = sorted(
                self._by_place, key=lambda place: len(self._by_place[place]), reverse=True
            )
            if not self._evict(busiest):
                return HTTPStatus.SERVICE_UNAVAILABLE
        self._by_place.setdefault(place, {})[peer] = None
        self._number += 1
        return None

    def release(self, address: str, peer: Peer) -> None:
        """Forget a connection that ended, if it was registered."""
        self._remove(_place(address), peer)

    def log_closed(self, reason: str) -> None:
        """Log that a connection was closed, rate-limited so that nobody can fill the log."""
        self._unlogged[reason] += 1
        now = time.monotonic()
        if now - self._logged_at.get(reason, -_LOG_EVERY_SECONDS) >= _LOG_EVERY_SECONDS:
            self._logged_at[reason] = now
            fields = {"reason": reason, "number": self._unlogged.pop(reason)}
            _log.warning("connections ended", extra={FIELDS: fields})

    def _remove(self, place: str, peer: Peer) -> None:
        same = self._by_place.get(place, {})
        if peer in same:
            del same[peer]
            self._number -= 1
            if not same:
                del self._by_place[place]

    def _evict(self, places: list[str]) -> bool:
        for place in places:
            times = [(peer.waiting_since(), peer) for peer in self._by_place[place]]
            waiting = [(since, peer) for since, peer in times if since is not None]
            if waiting:
                # Several at once where there are many, so that a flood is cheap to handle.
                number = max(1, len(waiting) // _EVICTED_SHARE)
                for _, oldest in heapq.nsmallest(number, waiting, key=lambda one: one[0]):
                    self._remove(place, oldest)
                    oldest.give_way()
                return True
        return False


@lru_cache(maxsize=4096)
def _place(address: str) -> str:
    """What counts as one machine: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((found, _SITE_PREFIX), strict=False))
    return str(found)


class _Phase(Enum):
    """How much of the current request has been received."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    COMPLETE = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: HTTPStatus
    detail: str


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection, within the configured limits.

    Anyone can open connections and send bytes before a key is checked. So everything before a
    complete request has a limit, and so has a response that the client does not read. Ambiguous
    requests are refused, because a proxy in front may have parsed them differently.
    """

    def __init__(
        self,
        connections: Connections,
        settings: Settings,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._settings = settings
        self._address = ""
        self._phase = _Phase.IDLE
        self._since = 0.0  # when the phase began, or the last chunk of a body came
        self._receive_deadline: float | None = None  # deadline for the client to send
        self._send_deadline: float | None = None  # deadline for the client to read
        self._unsent = 0  # bytes of the response, when that deadline was set
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._refusal: _Refusal | None = None
        self._is_upgraded = False
        self._unparsed = 0  # bytes of an incomplete head
        self._line_bytes = self._header_bytes = self._header_count = 0
        self._discarded = 0

    def waiting_since(self) -> float | None:
        """While a body is received: since its last chunk; otherwise since the phase began."""
        if self._send_deadline is not None:
            return self._send_deadline - self._settings.answer_seconds
        if self._phase is _Phase.BODY:
            is_answered = self.pipeline or (self.cycle.response_started and self._is_answering())
        else:
            is_answered = self._phase is not _Phase.REFUSED and self._is_answering()
        return None if is_answered else self._since

    def give_way(self) -> None:
        self._connections.log_closed("room for others")
        self._abort()

    # -- transport callbacks -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        status = self._connections.admit(self._address, self)
        if status is None:
            self._enter(_Phase.IDLE, self._settings.header_seconds)
            return
        whose = "from this address " if status is HTTPStatus.TOO_MANY_REQUESTS else ""
        self._connections.log_closed(status.phrase)
        self._phase = _Phase.REFUSED
        self._write_problem(_Refusal(status, f"too many connections {whose}at once"))
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.release(self._address, self)
        self._receive_deadline = self._send_deadline = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase is _Phase.REFUSED or self._is_upgraded:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED_BYTES:
                self._abort()
            return
        if self._phase is _Phase.IDLE:
            self._enter(_Phase.HEAD, self._settings.header_seconds)
        self._unparsed += len(data) if self._phase is _Phase.HEAD else 0
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_upgraded = True
        except httptools.HttpParserError:
            broken = _Refusal(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
            self._refuse(self._refusal or broken)
            return
        most = self._settings.max_request_line_bytes + self._settings.max_header_bytes
        if self._phase is _Phase.HEAD and self._unparsed > most:
            self._refuse(self._too_large_headers() if self._line_bytes else self._too_long_line())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._send_deadline = None

    # -- parser callbacks --------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._phase is not _Phase.HEAD:
            self._enter(_Phase.HEAD, self._settings.header_seconds)
            self._unparsed = 0
        self._line_bytes = self._header_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._line_bytes += len(url)
        if self._line_bytes > self._settings.max_request_line_bytes:
            self._stop(self._too_long_line())

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which counts like one and is ignored."""
        self._header_count += 1
        self._header_bytes += len(name) + len(value) + len(b": \r\n")
        if self._header_bytes > self._settings.max_header_bytes:
            self._stop(self._too_large_headers())
        if self._header_count > self._settings.max_headers:
            self._stop(
                _Refusal(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"there are too many headers; allowed: {self._settings.max_headers}",
                )
            )
        if self._phase is _Phase.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        refusal = self._reason_to_refuse()
        if refusal is not None:
            self._stop(refusal)
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False
        self._enter(_Phase.BODY, self._settings.body_seconds)

    def on_body(self, body: bytes) -> None:
        """Each chunk extends the deadline, unless the response is already complete."""
        super().on_body(body)
        self._since = self.loop.time()
        if self._receive_deadline is not None and not self.cycle.response_complete:
            self._receive_deadline += len(body) / self._settings.min_bytes_per_second

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(_Phase.COMPLETE, None)
        self._unparsed = 0
        if not self._is_answering():
            self._enter(_Phase.IDLE, self._settings.keep_alive_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_keepalive_if_required()  # deadlines are kept here
        if self._phase is _Phase.COMPLETE and not self._is_answering():
            self._enter(_Phase.IDLE, self._settings.keep_alive_seconds)
        elif self._phase is _Phase.BODY:
            self._enter(_Phase.BODY, self._settings.body_seconds)
        if self._unsent_now():
            self._watch_sending()

    # -- refusals ----------------------------------------------------------------------------

    def _reason_to_refuse(self) -> _Refusal | None:
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            return _Refusal(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "allowed: HTTP/1.0 and HTTP/1.1")
        if len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            return _Refusal(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"too many requests wait on this connection; allowed: {MAX_PIPELINED_REQUESTS}",
            )
        wrong = self._wrong_header(version)
        return None if wrong is None else _Refusal(HTTPStatus.BAD_REQUEST, wrong)

    def _wrong_header(self, version: str) -> str | None:
        seen: set[bytes] = set()
        for name, value in self.headers:
            if name in _SINGLE_HEADERS and name in seen:
                return f"the header {name.decode()} may be there once"
            if name == b"transfer-encoding" and (version == "1.0" or value.lower() != b"chunked"):
                return "transfer-encoding may be chunked, in HTTP/1.1"
            seen.add(name)
        if version == "1.1" and b"host" not in seen:
            return "the header host is missing"
        if self.parser.should_upgrade() and seen & {b"content-length", b"transfer-encoding"}:
            return "a request that asks for another protocol may have no body"
        return None

    def _too_long_line(self) -> _Refusal:
        allowed = self._settings.max_request_line_bytes
        return _Refusal(
            HTTPStatus.REQUEST_URI_TOO_LONG, f"the address is too long; allowed: {allowed} bytes"
        )

    def _too_large_headers(self) -> _Refusal:
        allowed = self._settings.max_header_bytes
        return _Refusal(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"the headers are too large; allowed: {allowed} bytes",
        )

    def _stop(self, refusal: _Refusal) -> None:
        """Abort parsing; the parser reports it as an error of its own."""
        self._refusal = refusal
        raise _StopParsing

    def _refuse(self, refusal: _Refusal) -> None:
        """Send a problem response unless another response is under way, and read no more."""
        self._connections.log_closed(refusal.status.phrase)
        # The refused request may be the current one; then its own response must not have started.
        is_current = not self.pipeline and self._phase is _Phase.BODY
        may_answer = is_current and not self.cycle.response_started
        if (self._is_answering() and not may_answer) or self.transport.is_closing():
            self._abort()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._enter(_Phase.REFUSED, REFUSAL_SECONDS)
        self.flow.resume_reading()
        self._write_problem(refusal)
        # A close with unread input would make the system discard the response.
        self.transport.write_eof()

    def _write_problem(self, refusal: _Refusal) -> None:
        identity = new_request_id(None)
        status = refusal.status
        problem = {
            "type": status.phrase.replace(" ", "").replace("-", ""),
            "title": status.phrase,
            "status": int(status),
            "detail": refusal.detail,
            "request_id": identity,
        }
        body = json.dumps(problem).encode()
        headers = {
            "content-type": PROBLEM_TYPE,
            "content-length": str(len(body)),
            "x-request-id": identity,
            "connection": "close",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {int(status)} {status.phrase}\r\n{lines}\r\n"
        self.transport.write(head.encode() + body)

    def _abort(self) -> None:
        """Reset the connection, so that the system does not keep sending to a client that does not
        read."""
        self._phase = _Phase.REFUSED
        own = self.transport.get_extra_info("socket")
        if own is not None:
            with contextlib.suppress(OSError):
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    # -- deadlines ---------------------------------------------------------------------------

    def _is_answering(self) -> bool:
        is_under_way = self.cycle is not None and not self.cycle.response_complete
        return is_under_way or bool(self.pipeline)

    def _unsent_now(self) -> int:
        return self.transport.get_write_buffer_size()

    def _enter(self, phase: _Phase, seconds: float | None) -> None:
        self._phase = phase
        self._since = self.loop.time()
        self._receive_deadline = None if seconds is None else self._since + seconds
        self._set_timer()

    def _watch_sending(self) -> None:
        self._unsent = self._unsent_now()
        self._send_deadline = self.loop.time() + self._settings.answer_seconds
        self._set_timer()

    def _set_timer(self) -> None:
        """Run at the earliest deadline; a deadline that was extended is noticed then."""
        dues = [due for due in (self._receive_deadline, self._send_deadline) if due is not None]
        if not dues or (self._timer is not None and self._timer_at <= min(dues)):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = min(dues)
        self._timer = self.loop.call_at(self._timer_at, self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._timer = None
        now = self.loop.time()
        if self._send_deadline is not None and self._send_deadline <= now:
            self._check_sending()
        if self._receive_deadline is not None and self._receive_deadline <= now:
            self._check_receiving()
        self._set_timer()

    def _check_sending(self) -> None:
        taken = self._unsent - self._unsent_now()
        least = self._settings.min_bytes_per_second * self._settings.answer_seconds
        if not self._unsent_now():
            self._send_deadline = None
        elif taken >= least:
            self._watch_sending()
        else:
            self._send_deadline = None
            self._connections.log_closed("answer not taken")
            self._abort()

    def _check_receiving(self) -> None:
        self._receive_deadline = None
        if self._phase in (_Phase.HEAD, _Phase.BODY):
            if self.flow.read_paused:  # it is not the client that is slow
                self._enter(self._phase, self._settings.body_seconds)
            elif self._phase is _Phase.BODY and self.cycle.response_complete:
                self._abort()
            else:
                what = "headers" if self._phase is _Phase.HEAD else "body"
                late = f"the {what} did not come in time"
                self._refuse(_Refusal(HTTPStatus.REQUEST_TIMEOUT, late))
        elif self._phase is _Phase.IDLE:
            self._close_if_sent()
        elif self._phase is _Phase.REFUSED:
            self._abort()

    def _close_if_sent(self) -> None:
        """Close an idle connection, but wait while the client still reads: a close would wait
        forever."""
        if not self._unsent_now():
            self.transport.close()
            return
        if self._send_deadline is None:
            self._watch_sending()
        self._enter(_Phase.IDLE, self._settings.keep_alive_seconds)


class _StopParsing(Exception):
    """Raised inside the parser."""
