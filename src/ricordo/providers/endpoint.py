"""Model endpoints: addresses and keys, what errors say, and what answers mean."""

import ipaddress
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, field
from ricordo.limits import MAX_API_KEY_CHARS, MAX_MODEL_NAME_CHARS, MAX_URL_CHARS

if TYPE_CHECKING:
    import ssl

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})\.)*[A-Za-z0-9_-]{1,63}\.?")
# A host whose last part is a number is read as an address, in many spellings: 127.1, 0x7f000001.
_NUMERIC: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?$")

_MAX_SAID_CHARS: Final = 300
_MIN_SECRET_BYTES: Final = 8


def split_url(url: str, field: str = "base_url", *, may_query: bool = False) -> SplitResult:
    """The parts of a URL; errors name the ``field``. Raises InvalidValue."""
    if len(url) > MAX_URL_CHARS:
        raise InvalidValue(field, f"{len(url)} characters; allowed: at most {MAX_URL_CHARS}")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidValue(field, "only plain ASCII characters without spaces are allowed")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidValue(field, "expected http://HOST[:PORT]/PATH or https://…")
    if not _is_host(parts.hostname or ""):
        raise InvalidValue(
            field, "HOST must be a name, four numbers such as 192.0.2.1, or [an IPv6 address]"
        )
    if parts.username is not None or parts.password is not None:
        instead = "" if may_query else "; use api_key"
        raise InvalidValue(field, f"must not contain a name or password{instead}")
    if may_query:
        if parts.fragment:
            raise InvalidValue(field, "must not contain #")
    elif parts.query or parts.fragment:
        raise InvalidValue(field, "must not contain ? or #")
    return parts


def _is_host(host: str) -> bool:
    """Whether this is a name or an address in its canonical spelling."""
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
    """Whether the address is local, so that no proxy applies."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host


@dataclass(frozen=True)
class Endpoint:
    """Where a model is, and how messages name it."""

    provider: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    guarded: bool = False
    """The address comes from a user, so it must not lead into our own network."""
    names_address: bool = True
    """Whether errors name the address. Users read them, and the operator's network is not theirs.
    """

    @property
    def place(self) -> str:
        return f"{self.provider} ({self.base_url})" if self.names_address else self.provider

    def shown(self, text: str) -> str:
        """An error of a connection, fit to be shown."""
        host = urlsplit(self.base_url).hostname
        if host and not self.names_address:
            text = text.replace(host, "[host]")
        return one_line(text, self.api_key)

    def without_key(self, body: bytes) -> bytes:
        """An answer without the key, which some endpoints repeat."""
        secret = (self.api_key or "").encode("utf-8")
        is_secret = len(secret) >= _MIN_SECRET_BYTES  # a short dummy key is not secret
        return body.replace(secret, b"[key]") if is_secret else body


class EndpointError(Exception):
    """A request failed. ``was_sent``: the endpoint may have charged for it."""

    def __init__(self, problem: str, *, was_sent: bool = True) -> None:
        self.was_sent = was_sent
        super().__init__(problem)


class Unavailable(EndpointError):
    """The same request may succeed later, after ``pause_seconds`` if the endpoint says so."""

    def __init__(
        self, place: str, problem: str, *, was_sent: bool = True, pause_seconds: float | None = None
    ) -> None:
        self.problem = problem
        self.pause_seconds = pause_seconds
        super().__init__(f"{place} is not available: {problem}", was_sent=was_sent)


class Unreachable(Unavailable):
    """There was no connection."""


class TimedOut(Unavailable):
    """There was no connection in time, or no whole answer."""


class Refused(EndpointError):
    """The endpoint said no, or nothing could be sent; sending it again does not help."""

    def __init__(
        self, problem: str, *, status: int = 0, said: str = "", was_sent: bool = True
    ) -> None:
        self.status = status
        self.said = said
        super().__init__(problem, was_sent=was_sent)


class Redirected(Refused):
    """Redirects are not followed: they would carry the key elsewhere."""


class BadResponse(EndpointError):
    """The response is too large, or compressed."""


# Errors in an answer are raised as the caller's class.

ErrorOf = Callable[[str], Exception]
"""Makes the error to raise from a message."""


def json_body(value: object) -> bytes:
    """Compact JSON, without lone surrogates, which cannot be sent."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def read_json(content: bytes, error: ErrorOf) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        what = "an HTML page" if _looks_like_html(content) else "not JSON"
        raise error(f"the answer is {what}; is base_url right?") from None


def may_pass(status: int, content: bytes) -> bool:
    """Whether the same request may succeed later, given the status of the failure."""
    if status == 429:
        return not _is_quota_exhausted(content)
    # 501 is llama.cpp's answer to features it was not started with.
    return status == 408 or (status >= 500 and status != 501)


def error_status(content: bytes) -> int | None:
    """The error status that a gateway hides in an answer with status 200; None when it does not."""
    if b'"error"' not in content:
        return None
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "choices" in body or "data" in body:
        return None
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else None


def said(content: bytes, secret: str | None) -> str:
    """An endpoint's error message, on one line and without the key."""
    text = content[: 8 * _MAX_SAID_CHARS].decode("utf-8", "replace")
    try:
        found = _message_in(json.loads(content)) or text
    except (ValueError, RecursionError):
        found = "an HTML page" if _looks_like_html(content) else text
    return one_line(found, secret)


def one_line(text: str, secret: str | None) -> str:
    """A message fit to be shown: short, printable, without the key."""
    shown = text.replace(secret, "[key]") if secret else text
    line = " ".join("".join(c if c.isprintable() else " " for c in shown).split())
    return line[:_MAX_SAID_CHARS].rstrip() or "no explanation"


def _is_quota_exhausted(content: bytes) -> bool:
    """Whether a "too many requests" will not go away by waiting."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return False
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and "insufficient_quota" in (
        error.get("code"),
        error.get("type"),
    )


def _message_in(body: Any) -> str | None:
    """``{"error": {"message": …}}`` and its variants."""
    if isinstance(body, list) and body:
        body = body[0]
    for name in ("error", "message", "detail"):
        found = body.get(name) if isinstance(body, dict) else None
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return found
    return None


def _looks_like_html(content: bytes) -> bool:
    start = content[:200].lstrip().lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def trusted_at(url: str) -> "ssl.SSLContext | bool":
    """The ``verify`` argument of a client without redirects; True: the system's certificates.

    Loading those takes 50 ms. A client for plain HTTP to a local address never needs them, and gets
    a context that trusts nobody.
    """
    import ssl

    if urlsplit(url).scheme == "http" and is_nearby(url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True


def checked_model(provider: str, given: str | None, usual: str | None) -> str:
    name = given if given is not None else usual
    if name is None:
        raise InvalidValue("model", f"{provider} needs the name of a model")
    if not 1 <= len(name) <= MAX_MODEL_NAME_CHARS or name != name.strip() or not name.isprintable():
        raise InvalidValue("model", f"expected 1 to {MAX_MODEL_NAME_CHARS} printable characters")
    return name


def checked_base_url(provider: str, given: str | None, usual: str | None, *, path: str) -> str:
    """The URL as given, or the default, without a trailing slash.

    ``path`` is what calls append, such as ``/embeddings``; it is removed where it was given too.
    """
    url = given if given is not None else usual
    if url is None:
        raise InvalidValue("base_url", f"{provider} needs the address of the endpoint")
    trimmed = url.rstrip("/")
    if split_url(trimmed).path.endswith(path):
        raise InvalidValue("base_url", f"leave out the final {path}")
    return trimmed


def checked_api_key(provider: str, given: str | None, *, is_needed: bool) -> str | None:
    """A key that can be sent in a header; None where none is needed."""
    if given is None:
        if is_needed:
            raise InvalidValue("api_key", f"{provider} needs one")
        return None
    # Other characters in a header could inject headers.
    if not 1 <= len(given) <= MAX_API_KEY_CHARS or not all("!" <= c <= "~" for c in given):
        raise InvalidValue(
            "api_key",
            f"expected 1 to {MAX_API_KEY_CHARS} ASCII letters, digits and signs, no spaces",
        )
    return given
