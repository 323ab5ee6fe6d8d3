"""The HTTP connections of one endpoint: opened late, shared by threads, left behind by forks."""

import contextlib
import ipaddress
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ricordo.embedding import forks
from ricordo.embedding.targets import Resolve, allowed_addresses, split_url, system_resolve

if TYPE_CHECKING:
    import httpx2


@dataclass
class _Lease:
    """A client, and how many calls are using it now."""

    client: "httpx2.Client"
    users: int = 0
    is_retired: bool = False


class Connections:
    """Lends a client to each call; closing waits for the calls that still use it."""

    def __init__(self, base_url: str, *, guarded: bool, resolve: Resolve | None = None) -> None:
        self._base_url = base_url
        self._guarded = guarded
        self._resolve = resolve or system_resolve
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._lease: _Lease | None = None

    def reset_after_fork(self) -> Any:
        """The sockets are the parent's; a child opens its own."""
        inherited = (self._lock, self._lease)
        self._set_up()
        return inherited

    @contextlib.contextmanager
    def client(self) -> Iterator["httpx2.Client"]:
        """A client for one call."""
        with self._lock:
            if self._lease is None:
                self._lease = _Lease(self._open())
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
        """Close the connections when nobody uses them any more; a later call opens new ones."""
        with self._lock:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            lease.is_retired = True
            is_idle = not lease.users
        if is_idle:
            lease.client.close()

    def _open(self) -> "httpx2.Client":
        import httpx2

        if self._guarded:
            from ricordo.embedding.guarded_transport import GuardedTransport

            # No proxy from the environment: it would look the name up again, unchecked.
            guard = GuardedTransport(partial(allowed_addresses, resolve=self._resolve))
            return httpx2.Client(transport=guard, trust_env=False, follow_redirects=False)
        host = split_url(self._base_url).hostname or ""
        return httpx2.Client(trust_env=not _is_nearby(host), follow_redirects=False)


def _is_nearby(host: str) -> bool:
    """Whether a proxy for the outside world has no business with this host."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host
