"""Connections to addresses that were checked, and to no others.

The host's name is looked up once; the addresses are checked; and the connection goes to one of
those very addresses, so a name that answers differently the next time gains nothing. The request
still names the host (Host header), and so does the handshake (SNI and certificate).
"""

import httpx2

from ricordo.embedding.targets import Resolve
from ricordo.errors import EmbedderUnavailable


class GuardedTransport(httpx2.BaseTransport):
    """Connects only to what ``checked_addresses`` gives; made for one host only."""

    def __init__(self, checked_addresses: Resolve) -> None:
        self._checked_addresses = checked_addresses
        self._plain = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send to the first checked address that accepts a connection.

        Raises:
            TargetRefused: the host has no address, or one that is not allowed.
        """
        host = request.url.host
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        failure: httpx2.TransportError | None = None
        for address in self._checked_addresses(host, port):
            pinned = httpx2.Request(
                method=request.method,
                url=request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return self._plain.handle_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure or EmbedderUnavailable(f"the host {host} has no address")

    def close(self) -> None:
        """Close its connections."""
        self._plain.close()
