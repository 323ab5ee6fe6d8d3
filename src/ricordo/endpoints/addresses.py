"""The address of an endpoint."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_URL_CHARS


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
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidValue("base_url", "expected http://HOST[:PORT]/PATH or https://…")
    if parts.username is not None or parts.password is not None:
        raise InvalidValue("base_url", "must not contain a name or password; use api_key")
    if parts.query or parts.fragment:
        raise InvalidValue("base_url", "must not contain ? or #")
    return parts


def is_nearby(url: str) -> bool:
    """Whether a proxy for the outside world has no business with this address."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host
