"""HTTP/1.1 on a bare listener: how much a caller may send, and how long it is waited for."""

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
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Protocol

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ricordo.formation.decisions import FIELDS
from ricordo.http.addresses import is_loopback
from ricordo.http.problems import PROBLEM_TYPE
from ricordo.limits import MAX_DISCARDED_BYTES, MAX_PIPELINED_REQUESTS, REFUSAL_SECONDS
from ricordo.observability.logs import new_request_id
from ricordo.settings import Settings

_WAITING_CONNECTIONS: Final = 2048
_RESERVED_DESCRIPTORS: Final = 128
_DESCRIPTORS_OF_A_DATABASE_CONNECTION: Final = 4  # the file, its log, its index, a journal
_LEAST_ROOM: Final = 32
_SHARE_THAT_GIVES_WAY: Final = 50  # one of so many that wait
_SITE_PREFIX: Final = 64  # of an IPv6 address: what one household or machine is given
_TELL_EVERY_SECONDS: Final = 10.0
_log = logging.getLogger("ricordo.connections")


class Peer(Protocol):
    """A connection, as far as it matters for whether there is room for others."""

    def waiting_since(self) -> float | None:
        """Since when it waits for its caller; None while it is being answered."""

    def give_way(self) -> None:
        """End it at once."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many connections there may be, how many of one address (0: any number), and how many may
    wait to be accepted."""

    most: int
    most_of_one: int
    waiting: int

    @classmethod
    def from_settings(cls, settings: Settings) -> "Room":
        """What is set, or less where the system allows too few descriptors for it."""
        reserved = (
            _RESERVED_DESCRIPTORS
            + settings.service_threads
            + settings.pool_size * _DESCRIPTORS_OF_A_DATABASE_CONNECTION
        )
        most, waiting = settings.max_connections, _WAITING_CONNECTIONS
        # All that wait are accepted at once, before anything can be said to them.
        wanted = reserved + most + waiting
        allowed = _allowed_descriptors(wanted)
        if allowed < wanted:
            room = max(allowed - reserved, _LEAST_ROOM)
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
    """How many files and connections this process may have open; raised where that is possible."""
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
    """All connections by their address.

    Where there is no room for one more, the one that has waited for its caller for longest gives
    way, of the address that has most. One that is being answered never does.
    """

    def __init__(self, room: Room, is_shared: Callable[[str], bool] = is_loopback) -> None:
        """``is_shared`` says behind which addresses many callers are: they have no limit each."""
        self._room = room
        self._is_shared = is_shared
        self._of: dict[str, dict[Peer, None]] = {}  # in the order in which they came
        self._number = 0
        self._untold: Counter[str] = Counter()
        self._told_at: dict[str, float] = {}

    def admit(self, address: str, peer: Peer) -> HTTPStatus | None:
        """Take one more in; or the status that it is refused with."""
        place = _place_of(address)
        same = self._of.get(place, {})
        most_of_one = 0 if self._is_shared(place) else self._room.most_of_one
        if most_of_one and len(same) >= most_of_one and not self._has_made_room([place]):
            return HTTPStatus.TOO_MANY_REQUESTS
        if self._number >= self._room.most:
            busiest = sorted(self._of, key=lambda place: len(self._of[place]), reverse=True)
            if not self._has_made_room(busiest):
                return HTTPStatus.SERVICE_UNAVAILABLE
        self._of.setdefault(place, {})[peer] = None
        self._number += 1
        return None

    def release(self, address: str, peer: Peer) -> None:
        """It has ended; nothing where it was not taken in."""
        self._remove(_place_of(address), peer)

    def tell(self, reason: str) -> None:
        """Log that a connection was ended, so rarely that nobody can fill the log with it."""
        self._untold[reason] += 1
        now = time.monotonic()
        if now - self._told_at.get(reason, -_TELL_EVERY_SECONDS) >= _TELL_EVERY_SECONDS:
            self._told_at[reason] = now
            fields = {"reason": reason, "number": self._untold.pop(reason)}
            _log.warning("connections ended", extra={FIELDS: fields})

    def _remove(self, place: str, peer: Peer) -> None:
        same = self._of.get(place, {})
        if peer in same:
            del same[peer]
            self._number -= 1
            if not same:
                del self._of[place]

    def _has_made_room(self, places: list[str]) -> bool:
        for place in places:
            times = [(peer.waiting_since(), peer) for peer in self._of[place]]
            waiting = [(since, peer) for since, peer in times if since is not None]
            if waiting:
                # Several at once where there are many, so that a flood costs little each.
                number = max(1, len(waiting) // _SHARE_THAT_GIVES_WAY)
                for _, oldest in heapq.nsmallest(number, waiting, key=lambda one: one[0]):
                    self._remove(place, oldest)
                    oldest.give_way()
                return True
        return False


@lru_cache(maxsize=4096)
def _place_of(address: str) -> str:
    """What stands for one machine: an IPv4 address, or the network of an IPv6 address."""
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


# A stranger can open connections and send bytes before anybody asks for a key. So everything that
# happens before a request is whole has a limit here, and so has an answer that nobody takes. What
# can be read in two ways is refused, because whatever stands in front may have read it in the
# other.

_ONCE: Final = frozenset({b"host", b"authorization", b"x-api-key", b"content-type"})
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_RESET: Final = struct.pack("ii", 1, 0)  # of SO_LINGER: the system keeps nothing for later


class _Phase(Enum):
    """How far the request has come that is being received."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()
    WHOLE = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: HTTPStatus
    detail: str


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 of one connection, within the limits that are set."""

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
        self._all = connections
        self._settings = settings
        self._address = ""
        self._phase = _Phase.NOTHING
        self._since = 0.0  # when the phase began, or the last piece of a body came
        self._due: float | None = None  # when the caller must have sent what is missing
        self._taken_due: float | None = None  # when the caller must have taken of the answer
        self._untaken = 0  # of the answer, when that time began
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._refusal: _Refusal | None = None
        self._is_upgraded = False
        self._unparsed = 0  # bytes of a head that has no end yet
        self._line_bytes = self._header_bytes = self._header_count = 0
        self._discarded = 0

    # -- room for others ---------------------------------------------------------------------

    def waiting_since(self) -> float | None:
        """In the middle of a body it is since the last piece, else since the phase began."""
        if self._taken_due is not None:
            return self._taken_due - self._settings.answer_seconds
        if self._phase is _Phase.BODY:
            is_answered = self.pipeline or (self.cycle.response_started and self._is_answering())
        else:
            is_answered = self._phase is not _Phase.REFUSED and self._is_answering()
        return None if is_answered else self._since

    def give_way(self) -> None:
        """End it, whatever the caller was about to send."""
        self._all.tell("room for others")
        self._cut_off()

    # -- what the transport says -------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A caller has come."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        status = self._all.admit(self._address, self)
        if status is None:
            self._enter(_Phase.NOTHING, self._settings.header_seconds)
            return
        whose = "from this address " if status is HTTPStatus.TOO_MANY_REQUESTS else ""
        self._all.tell(status.phrase)
        self._phase = _Phase.REFUSED
        self._write_problem(_Refusal(status, f"too many connections {whose}at once"))
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, whoever ended it."""
        self._all.release(self._address, self)
        self._due = self._taken_due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The caller has sent something."""
        if self._phase is _Phase.REFUSED or self._is_upgraded:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED_BYTES:
                self._cut_off()
            return
        if self._phase is _Phase.NOTHING:
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
        if self._phase is _Phase.HEAD and self._unparsed > self._most_of_a_head():
            self._refuse(self._too_large_head())

    def pause_writing(self) -> None:
        """The caller takes less than there is."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """The caller has taken most of it."""
        super().resume_writing()
        self._taken_due = None

    # -- what the parser says ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._phase is not _Phase.HEAD:
            self._enter(_Phase.HEAD, self._settings.header_seconds)
            self._unparsed = 0
        self._line_bytes = self._header_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        super().on_url(url)
        self._line_bytes += len(url)
        if self._line_bytes > self._settings.max_request_line_bytes:
            self._stop(self._too_long_line())

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer, which counts like one and says nothing."""
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
        """All but the body is there."""
        refusal = self._reason_to_refuse()
        if refusal is not None:
            self._stop(refusal)
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False
        self._enter(_Phase.BODY, self._settings.body_seconds)

    def on_body(self, body: bytes) -> None:
        """A piece of the body. Each gives the next one time, unless it is not wanted any more."""
        super().on_body(body)
        self._since = self.loop.time()
        if self._due is not None and not self.cycle.response_complete:
            self._due += len(body) / self._settings.min_bytes_per_second

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._enter(_Phase.WHOLE, None)
        self._unparsed = 0
        if not self._is_answering():
            self._enter(_Phase.NOTHING, self._settings.keep_alive_seconds)

    def on_response_complete(self) -> None:
        """The answer is made, if not yet taken."""
        super().on_response_complete()
        self._unset_keepalive_if_required()  # times are kept here
        if self._phase is _Phase.WHOLE and not self._is_answering():
            self._enter(_Phase.NOTHING, self._settings.keep_alive_seconds)
        elif self._phase is _Phase.BODY:
            self._enter(_Phase.BODY, self._settings.body_seconds)
        if self._untaken_now():
            self._watch_taking()

    # -- what is refused ---------------------------------------------------------------------

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
            if name in _ONCE and name in seen:
                return f"the header {name.decode()} may be there once"
            if name == b"transfer-encoding" and (version == "1.0" or value.lower() != b"chunked"):
                return "transfer-encoding may be chunked, in HTTP/1.1"
            seen.add(name)
        if version == "1.1" and b"host" not in seen:
            return "the header host is missing"
        if self.parser.should_upgrade() and seen & {b"content-length", b"transfer-encoding"}:
            return "a request that asks for another protocol may have no body"
        return None

    def _most_of_a_head(self) -> int:
        return self._settings.max_request_line_bytes + self._settings.max_header_bytes

    def _too_large_head(self) -> _Refusal:
        return self._too_large_headers() if self._line_bytes else self._too_long_line()

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
        """Stop the parser, which tells of the error in its own way."""
        self._refusal = refusal
        raise _StopParsing

    def _refuse(self, refusal: _Refusal) -> None:
        """Say why, where nothing else is being said, and take no more."""
        self._all.tell(refusal.status.phrase)
        is_answering = self._is_answering() and not self._may_answer_itself()
        if is_answering or self.transport.is_closing():
            self._cut_off()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._enter(_Phase.REFUSED, REFUSAL_SECONDS)
        self.flow.resume_reading()
        self._write_problem(refusal)
        # What is still on its way would else make the system throw away the answer.
        self.transport.write_eof()

    def _may_answer_itself(self) -> bool:
        """Whether the request that is refused has an answer of its own that has not begun."""
        is_first = not self.pipeline and self._phase is _Phase.BODY
        return is_first and not self.cycle.response_started

    def _write_problem(self, refusal: _Refusal) -> None:
        identity = new_request_id(None)
        status = refusal.status
        told = {
            "type": status.phrase.replace(" ", "").replace("-", ""),
            "title": status.phrase,
            "status": int(status),
            "detail": refusal.detail,
            "request_id": identity,
        }
        body = json.dumps(told).encode()
        headers = {
            "content-type": PROBLEM_TYPE,
            "content-length": str(len(body)),
            "x-request-id": identity,
            "connection": "close",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {int(status)} {status.phrase}\r\n{lines}\r\n"
        self.transport.write(head.encode() + body)

    def _cut_off(self) -> None:
        """End it at once; the system does not go on sending what nobody takes."""
        self._phase = _Phase.REFUSED
        own = self.transport.get_extra_info("socket")
        if own is not None:
            with contextlib.suppress(OSError):
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    # -- time --------------------------------------------------------------------------------

    def _is_answering(self) -> bool:
        is_under_way = self.cycle is not None and not self.cycle.response_complete
        return is_under_way or bool(self.pipeline)

    def _untaken_now(self) -> int:
        return self.transport.get_write_buffer_size()

    def _enter(self, phase: _Phase, seconds: float | None) -> None:
        self._phase = phase
        self._since = self.loop.time()
        self._due = None if seconds is None else self._since + seconds
        self._set_timer()

    def _watch_taking(self) -> None:
        self._untaken = self._untaken_now()
        self._taken_due = self.loop.time() + self._settings.answer_seconds
        self._set_timer()

    def _set_timer(self) -> None:
        """Look again when the first of the times is over; one that was put off is seen then."""
        dues = [due for due in (self._due, self._taken_due) if due is not None]
        if not dues or (self._timer is not None and self._timer_at <= min(dues)):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = min(dues)
        self._timer = self.loop.call_at(self._timer_at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self.loop.time()
        if self._taken_due is not None and self._taken_due <= now:
            self._look_at_taking()
        if self._due is not None and self._due <= now:
            self._look_at_sending()
        self._set_timer()

    def _look_at_taking(self) -> None:
        taken = self._untaken - self._untaken_now()
        least = self._settings.min_bytes_per_second * self._settings.answer_seconds
        if not self._untaken_now():
            self._taken_due = None
        elif taken >= least:
            self._watch_taking()
        else:
            self._taken_due = None
            self._all.tell("answer not taken")
            self._cut_off()

    def _look_at_sending(self) -> None:
        self._due = None
        if self._phase in (_Phase.HEAD, _Phase.BODY):
            if self.flow.read_paused:  # it is not the caller who is slow
                self._enter(self._phase, self._settings.body_seconds)
            elif self._phase is _Phase.BODY and self.cycle.response_complete:
                self._cut_off()
            else:
                what = "headers" if self._phase is _Phase.HEAD else "body"
                late = f"the {what} did not come in time"
                self._refuse(_Refusal(HTTPStatus.REQUEST_TIMEOUT, late))
        elif self._phase is _Phase.NOTHING:
            self._end_unless_untaken()
        elif self._phase is _Phase.REFUSED:
            self._cut_off()

    def _end_unless_untaken(self) -> None:
        """Closing would wait for ever for somebody to take what is left of the answer."""
        if not self._untaken_now():
            self.transport.close()
            return
        if self._taken_due is None:
            self._watch_taking()
        self._enter(_Phase.NOTHING, self._settings.keep_alive_seconds)


class _StopParsing(Exception):
    """Raised inside the parser."""
