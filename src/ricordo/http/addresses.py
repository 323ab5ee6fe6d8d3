"""Which addresses only this machine can reach, and how they are written."""

import ipaddress


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
