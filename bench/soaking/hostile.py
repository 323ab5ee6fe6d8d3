"""Connections that mean no good, each kind again and again until it is enough."""

import asyncio
import contextlib
import random
import socket
from collections.abc import Awaitable, Callable
from typing import Final

TRAILED: Final = "trailed"
"""The user whom only trailers name: nothing may ever be stored for them."""

_BETWEEN_BYTES_SECONDS: Final = 0.2
_BETWEEN_CONNECTIONS_SECONDS: Final = 0.1
_SMALL_BUFFER: Final = 4_096
_HUGE_PIECES: Final = 160
_PIECE: Final = b"y" * 65_536
_HALF: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
_POST: Final = (
    b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)


class Connection:
    """A raw connection."""

    def __init__(self, address: tuple[str, int], chance: random.Random) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
        self._address = address
        self.chance = chance

    async def open(self) -> None:
        await self._loop.sock_connect(self._socket, self._address)

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def wait_for_end(self) -> None:
        """Read until the service closes it."""
        while await self._loop.sock_recv(self._socket, 65_536):
            pass

    async def trickle(self, piece: bytes) -> None:
        """Send a little at a time, until the service has had enough."""
        while True:
            await self.send(piece)
            await asyncio.sleep(_BETWEEN_BYTES_SECONDS)

    def end_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()


async def _slow_head(one: Connection) -> None:
    await one.send(_HALF)
    await one.trickle(b"X-A: b\r\n")


async def _slow_body(one: Connection) -> None:
    await one.send(_POST + b"X-Ricordo-User: slow\r\nContent-Length: 90000\r\n\r\n")
    await one.trickle(b" ")


async def _half_sent(one: Connection) -> None:
    await one.send(_HALF)
    await one.wait_for_end()


async def _silent(one: Connection) -> None:
    await one.wait_for_end()


async def _huge_header(one: Connection) -> None:
    await one.send(_HALF + b"X-Huge: ")
    for _ in range(_HUGE_PIECES):
        await one.send(_PIECE)
    await one.wait_for_end()


async def _takes_nothing(one: Connection) -> None:
    await one.send(b"GET /v1/admin/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while True:  # until what else is sent meets a connection that was cut off
        await asyncio.sleep(_BETWEEN_BYTES_SECONDS)
        await one.send(b"\r\n")


async def _half_closed(one: Connection) -> None:
    await one.send(b"GET /v1/admin/users HTTP/1.1\r\nHost: localhost\r\n\r\n")
    one.end_sending()
    await one.wait_for_end()


async def _trailers(one: Connection) -> None:
    body = b'{"content": "Said in a trailer"}'
    await one.send(
        _POST
        + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n"
        % (len(body), body)
        + b"X-Ricordo-User: %s\r\n\r\n" % TRAILED.encode()
    )
    await one.wait_for_end()


async def _garbage(one: Connection) -> None:
    await one.send(one.chance.randbytes(one.chance.randrange(1, 20_000)))
    await one.wait_for_end()


async def _many_behind_each_other(one: Connection) -> None:
    await one.send((_HALF + b"\r\n") * 3_000)
    await one.wait_for_end()


async def _two_lengths(one: Connection) -> None:
    await one.send(_POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    await one.wait_for_end()


KINDS: Final[tuple[Callable[[Connection], Awaitable[None]], ...]] = (
    _slow_head,
    _slow_body,
    _half_sent,
    _silent,
    _huge_header,
    _takes_nothing,
    _half_closed,
    _trailers,
    _garbage,
    _many_behind_each_other,
    _two_lengths,
)


async def attack(address: tuple[str, int], number: int, ended: asyncio.Event) -> int:
    """One stranger, who begins again whenever a connection ends; how often that was."""
    chance = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    opened = 0
    while not ended.is_set():
        one = Connection(address, chance)
        waiting = asyncio.ensure_future(_once(one, kind))
        stopping = asyncio.ensure_future(ended.wait())
        await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
        for task in (waiting, stopping):
            task.cancel()
        await asyncio.gather(waiting, stopping, return_exceptions=True)
        one.close()
        opened += 1
        await asyncio.sleep(_BETWEEN_CONNECTIONS_SECONDS)
    return opened


async def _once(one: Connection, kind: Callable[[Connection], Awaitable[None]]) -> None:
    with contextlib.suppress(OSError):
        await one.open()
        await kind(one)
