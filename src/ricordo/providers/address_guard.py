"""Guards against server-side request forgery: which addresses user settings may point to."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Final

from ricordo.errors import TargetRefused

# Otherwise a user who may set an endpoint could make this server call machines that only it can
# reach: itself, its neighbours, the metadata service of its cloud.

Resolve = Callable[[str, int], Sequence[str]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_ALLOWED_BY: Final = "the operator can allow it with allow_private_embedding_targets"

# Forms that embed an IPv4 address, and ranges that Python versions classify differently.
_REFUSED_NETWORKS: Final = tuple(
    (ipaddress.ip_network(network), name)
    for network, name in (
        ("0.0.0.0/8", "unspecified"),
        ("100.64.0.0/10", "shared (carrier-grade NAT)"),
        ("192.0.0.0/24", "reserved"),
        ("192.88.99.0/24", "reserved (6to4 relay)"),
        ("198.18.0.0/15", "reserved (benchmarking)"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("::/96", "IPv4-compatible"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("2001::/23", "reserved (Teredo and others)"),
        ("2002::/16", "6to4"),
        ("fec0::/10", "private (site-local)"),
    )
)


def system_resolve(host: str, port: int) -> list[str]:
    """Every address of a host; none where it is unknown."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def refusal(address: str) -> str | None:
    """Why user settings may not point to an address, in a word or two; None when they may."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if not parsed.is_loopback and not parsed.is_unspecified:  # there is a plainer word for these
        for network, name in _REFUSED_NETWORKS:
            if parsed.version == network.version and parsed in network:
                return f"an address that is {name}"
    return _kind(parsed)


def allowed_addresses(
    host: str,
    port: int,
    resolve: Resolve,
    *,
    field: str = "base_url",
    hint: str = _ALLOWED_BY,
    refused: Callable[[str], str | None] = refusal,
) -> list[str]:
    """The addresses of a host, if all of them are allowed.

    ``refused`` says why one is not; errors name the ``field`` and give the ``hint``.

    Raises:
        TargetRefused: one is not allowed, or there is none. Which of the two, and what the name
            resolves to, is not revealed.
    """
    if is_address(host):
        problem = refused(host)
        if problem is not None:
            raise TargetRefused(f"{field}: {host} is {problem}; {hint}")
        return [host]
    addresses = list(resolve(host, port))
    if not addresses or any(refused(address) is not None for address in addresses):
        raise TargetRefused(f"{field}: {host} has no public address; {hint}")
    return addresses


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _kind(address: Address) -> str | None:
    kinds = (
        (address.is_unspecified, "unspecified"),
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address.is_multicast, "multicast"),
        (address.is_private, "private"),
        (address.is_reserved or not address.is_global, "reserved"),
    )
    for applies, name in kinds:
        if applies:
            return f"an address that is {name}"
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        return "an address of one network interface"
    return None
