"""Addresses of this service and of those around it, and how they are written."""

import ipaddress

from ricordo.errors import InvalidValue


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
