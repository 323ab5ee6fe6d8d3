"""The service over a store of the test's own: real HTTP on a free loopback port."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import httpx2

from ricordo.http.server import serving
from ricordo.memory import Memory
from ricordo.providers.endpoint import trusted_at
from ricordo.web.site import create_site

TIMEOUT_SECONDS = 60.0


class Service:
    """A running service, and clients for whoever calls it."""

    def __init__(
        self,
        url: str,
        memory: Memory,
        clients: contextlib.ExitStack,
        stop: Callable[[], None],
    ) -> None:
        self.url = url
        self.stop = stop
        self.memory = memory
        self._clients = clients

    def client(
        self, user: str | None = None, *, key: str | None = None, **headers: str
    ) -> httpx2.Client:
        """A client that names a user, brings a key, or neither."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            sent["X-Ricordo-User"] = user
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        client = httpx2.Client(
            base_url=self.url, headers=sent, timeout=TIMEOUT_SECONDS, verify=trusted_at(self.url)
        )
        return self._clients.enter_context(client)


@contextlib.contextmanager
def running(memory: Memory) -> Iterator[Service]:
    """The service in a thread of this process, for as long as the block runs."""
    listening = threading.Event()
    addresses: list[str] = []

    def on_listening(address: str) -> None:
        addresses.append(address)
        listening.set()

    server = serving(memory, on_listening, create_site)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert listening.wait(TIMEOUT_SECONDS)
        with contextlib.ExitStack() as clients:
            yield Service(addresses[0], memory, clients, server.stop)
    finally:
        server.stop()
        thread.join()
