"""Hosts, networks and URLs."""

import ipaddress

from ricordo.errors import InvalidValue

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """Whether only programs on the same machine can connect to this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def networks(name: str, listed: str) -> list[str]:
    """Parse a setting with comma-separated addresses and networks. Raises InvalidValue: an entry is
    neither."""
    found = [part.strip() for part in listed.split(",") if part.strip()]
    for part in found:
        try:
            ipaddress.ip_network(part)
        except ValueError:
            raise InvalidValue(
                name, f"{part!r} is no address or network, such as 127.0.0.1 or 10.0.0.0/8"
            ) from None
    return found


def is_within(place: str, listed: list[str]) -> bool:
    """Whether an address or network is one of those listed, or part of one."""
    try:
        found = ipaddress.ip_network(place)
    except ValueError:  # no address, as of a Unix socket
        return False
    return any(_holds(ipaddress.ip_network(one), found) for one in listed)


def _holds(outer: Network, inner: Network) -> bool:
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        # Connections are counted by IPv6 network, while a proxy is named by its address.
        return inner.subnet_of(outer) or outer.subnet_of(inner)
    return False
