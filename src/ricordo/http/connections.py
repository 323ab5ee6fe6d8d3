"""How many connections there are at once, and which gives way where there is no room for more."""

import contextlib
import heapq
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Protocol

from ricordo.formation.decisions import FIELDS
from ricordo.http.addresses import is_loopback
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
