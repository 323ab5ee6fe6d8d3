"""The address of an endpoint."""

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_URL_CHARS

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})\.)*[A-Za-z0-9_-]{1,63}\.?")
# A name whose last part is a number is read as an address, in many spellings: 127.1, 0x7f000001.
_NUMERIC: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?$")


def split_url(url: str) -> SplitResult:
    """The parts of the address.

    Raises:
        InvalidValue: it is not one, or holds what does not belong there.
    """
    if len(url) > MAX_URL_CHARS:
        raise InvalidValue("base_url", f"{len(url)} characters; allowed: at most {MAX_URL_CHARS}")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidValue("base_url", "only plain ASCII characters without spaces are allowed")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidValue("base_url", "expected http://HOST[:PORT]/PATH or https://…")
    if not _is_host(parts.hostname or ""):
        raise InvalidValue(
            "base_url", "HOST must be a name, four numbers such as 192.0.2.1, or [an IPv6 address]"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidValue("base_url", "must not contain a name or password; use api_key")
    if parts.query or parts.fragment:
        raise InvalidValue("base_url", "must not contain ? or #")
    return parts


def _is_host(host: str) -> bool:
    """Whether this is a name or an address, in the one spelling that everybody reads alike."""
    if ":" in host:
        kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address] = ipaddress.IPv6Address
    elif _NUMERIC.search(host):
        kind = ipaddress.IPv4Address
    else:
        return _NAME.fullmatch(host) is not None
    try:
        return "%" not in host and bool(kind(host))
    except ValueError:
        return False


def is_nearby(url: str) -> bool:
    """Whether a proxy for the outside world has no business with this address."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host
