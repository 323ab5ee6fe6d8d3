"""Addresses of this service and of those around it, and how they are written."""

import ipaddress

from ricordo.errors import InvalidValue

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """True where only programs on the same machine can connect to a service at this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(host: str, port: int) -> str:
    """The address of a service as a client writes it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def networks(name: str, listed: str) -> list[str]:
    """Addresses and networks of a setting, with commas between them.

    Raises:
        InvalidValue: one of them is neither.
    """
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
    """Whether an address or a network is one of those listed, or a part of one."""
    try:
        found = ipaddress.ip_network(place)
    except ValueError:  # no address, as of a socket without one
        return False
    return any(_holds(ipaddress.ip_network(one), found) for one in listed)


def _holds(outer: Network, inner: Network) -> bool:
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        # Connections are counted by networks of IPv6; a proxy is named by its address.
        return inner.subnet_of(outer) or outer.subnet_of(inner)
    return False
