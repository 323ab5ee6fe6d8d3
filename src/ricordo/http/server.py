"""Run the service in this process until it is stopped."""

import asyncio
import contextlib
import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, cast

import uvicorn
from fastapi import FastAPI

from ricordo.errors import InvalidValue
from ricordo.http.addresses import is_loopback, is_within, networks, url_of
from ricordo.http.app import create_app, keys_are_required
from ricordo.http.protocol import Connections, GuardedProtocol, Room
from ricordo.memory import Memory
from ricordo.platforms import SHARES_PORTS
from ricordo.settings import Settings
from ricordo.storage.database import require_confined

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# A tenth of Python's default makes /healthz under load two to three times as fast: the thread of
# the event loop competes with computing threads, several times per request.
_SWITCH_SECONDS: Final = 0.0005
_PORT_ERRORS: Final = (errno.EADDRINUSE, errno.EACCES)


def check_may_serve(memory: Memory) -> None:
    """Check that the store can be served safely at the configured address. Raises InvalidValue:
    others could get in without a key; RoleNotConfined: the database role could bypass row-level
    security."""
    settings = memory.settings
    if not is_loopback(settings.host):
        if not keys_are_required(settings):
            raise InvalidValue(
                "setting require_keys",
                f"must not be false at {settings.host}, which others can reach",
            )
        if not memory.has_keys():
            raise InvalidValue(
                "setting host",
                f"others can reach {settings.host}, and there is no key yet; make one first:"
                " ricordo keys create admin --permission read_all --permission manage",
            )
    require_confined(memory.database)


class RunningService:
    """A listening service, which :meth:`run` lets answer."""

    def __init__(self, server: "_Server", listener: socket.socket) -> None:
        self._server = server
        self._listener = listener

    def run(self) -> None:
        """Answer requests until SIGTERM, SIGINT or :meth:`stop`; those under way are finished."""
        former = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            with contextlib.closing(self._listener):
                self._server.run([self._listener])
        finally:
            sys.setswitchinterval(former)

    def stop(self) -> None:
        """Stop accepting requests; may be called from any thread."""
        self._server.should_exit = True


def serving(
    memory: Memory,
    on_listening: Callable[[str], None],
    make_app: Callable[[Memory], FastAPI] = create_app,
    listener: socket.socket | None = None,
) -> RunningService:
    """The service over an open store, at the configured address.

    ``on_listening`` is called with the address as soon as requests can come. The caller closes the
    store, which ends running jobs. ``listener`` is what :func:`listener_for` made, where several
    processes share it.

    Raises:
        InvalidValue: the address is taken or not one of this machine, or a proxy is not an address.
    """
    settings = memory.settings
    proxies = networks("setting trusted_proxies", settings.trusted_proxies)
    room = Room.from_settings(settings)
    connections = Connections(room, lambda place: is_loopback(place) or is_within(place, proxies))
    if listener is None:
        listener = listener_for(settings, room.waiting)
    app = make_app(memory)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        http=cast("type[asyncio.Protocol]", partial(GuardedProtocol, connections, settings)),
        ws="none",
        backlog=room.waiting,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
    )
    address = address_of(settings, listener)
    return RunningService(
        _Server(config, lambda: on_listening(address), app.state.mcp.end_streams), listener
    )


def address_of(settings: Settings, listener: socket.socket) -> str:
    return url_of(settings.host, listener.getsockname()[1])


def listener_for(settings: Settings, waiting: int) -> socket.socket:
    """A socket that listens at the configured address. Raises InvalidValue: the address is taken or
    not one of this machine."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    if SHARES_PORTS:
        listener.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE"), 1)  # noqa: B009 - there alone
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(waiting)  # here, because another process may have bound it, too
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        listener.close()
        where = f"{settings.host}, port {settings.port}"
        why = getattr(error, "strerror", None) or "no such host"
        setting = "port" if getattr(error, "errno", None) in _PORT_ERRORS else "host"
        raise InvalidValue(f"setting {setting}", f"cannot listen on {where}: {why}") from None
    return listener


class _Server(uvicorn.Server):
    """Reports when it listens, and returns after a signal."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_listening: Callable[[], None],
        on_stopping: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._on_listening = on_listening
        self._on_stopping = on_stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stopping()  # streams that would otherwise go on until the time is up
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals stop the server.

        Uvicorn raises them again afterwards, which would end the process before the store is
        closed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self.handle_exit) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
