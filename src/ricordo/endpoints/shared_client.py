"""The client of one endpoint: opened late, shared by threads, left behind by forks."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ricordo import forks


class Closable(Protocol):
    """A client with connections of its own."""

    def close(self) -> None:
        """Close them."""
        ...


Client = TypeVar("Client", bound=Closable)


@dataclass
class _Lease(Generic[Client]):
    """A client, and how many calls are using it now."""

    client: Client
    users: int = 0
    is_retired: bool = False


class SharedClient(Generic[Client]):
    """Lends a client to each call; closing waits for the calls that still use it."""

    def __init__(self, open_client: Callable[[], Client]) -> None:
        self._open_client = open_client
        self._set_up()
        forks.reset_in_child(self)

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
        """The client, for one call."""
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
        """Close the client when nobody uses it any more; a later call opens a new one."""
        with self._lock:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            lease.is_retired = True
            is_idle = not lease.users
        if is_idle:
            lease.client.close()
