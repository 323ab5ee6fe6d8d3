"""Connections to addresses that the guard has checked, and to no others."""

import ssl

import httpx2

from ricordo.providers.address_guard import Resolve


class GuardedTransport(httpx2.BaseTransport):
    """Connects only to the addresses of ``checked_addresses``; for one host.

    The name is resolved once, the addresses are checked, and the connection goes to one of them, so
    DNS rebinding gains nothing. The Host header, SNI and the certificate still use the name.
    """

    def __init__(self, checked_addresses: Resolve, verify: ssl.SSLContext | bool = True) -> None:
        self._checked_addresses = checked_addresses
        self._plain = httpx2.HTTPTransport(verify=verify)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send to the first checked address that accepts a connection. Raises TargetRefused."""
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
        raise failure or httpx2.ConnectError(f"the host {host} has no address")

    def close(self) -> None:
        self._plain.close()
