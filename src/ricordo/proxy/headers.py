"""Which headers of a request reach the upstream, and which of its answer come back."""

from collections.abc import Iterable, Mapping
from typing import Final

Header = tuple[bytes, bytes]

_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OF_THIS_SERVICE: Final = frozenset(
    {
        "accept-encoding",  # so that answers can be read
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "origin",  # some upstreams refuse pages that they do not know
        "via",
        "x-real-ip",
    }
)
_CREDENTIALS: Final = frozenset({"authorization", "x-api-key", "api-key"})
_PRIVATE: Final = ("x-ricordo-", "x-openwebui-", "x-forwarded-", "sec-")

_RETURNED: Final = frozenset(
    {
        "cache-control",
        "content-type",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-accel-buffering",
        "x-request-id",
        "x-should-retry",
    }
)
_RETURNED_KINDS: Final = ("openai-", "anthropic-", "x-ratelimit-", "ratelimit")


def to_upstream(
    given: Mapping[str, str], key: tuple[str, str] | None, *, pass_credentials: bool
) -> list[Header]:
    """What is sent on: the caller's own headers, and the upstream's key in the place of theirs.

    Without such a key the caller's credentials go on only with ``pass_credentials``: they may be
    meant for this service.
    """
    named = {
        name.strip().lower()
        for listed, value in given.items()
        if listed.lower() == "connection"
        for name in value.split(",")
    }
    dropped = _HOP_BY_HOP | _OF_THIS_SERVICE | named
    if key is not None or not pass_credentials:
        dropped |= _CREDENTIALS
    sent = [
        _encoded(name, value)
        for name, value in given.items()
        if name.lower() not in dropped and not name.lower().startswith(_PRIVATE)
    ]
    sent.append((b"accept-encoding", b"identity"))
    return sent if key is None else [*sent, _encoded(*key)]


def with_added(sent: list[Header], added: Mapping[str, str]) -> list[Header]:
    """The headers with some of ours, each in the place of the caller's of that name."""
    ours = [_encoded(name.lower(), value) for name, value in added.items()]
    names = {name for name, _ in ours}
    return [*(header for header in sent if header[0].lower() not in names), *ours]


def from_upstream(given: Iterable[Header]) -> dict[str, str]:
    """What of an answer's headers comes back; never cookies, nor what is for one connection.

    Their bytes are read as Latin-1, as ASGI has them: whatever they are, they come back the same.
    """
    read = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in given)
    return {
        name: value for name, value in read if name in _RETURNED or name.startswith(_RETURNED_KINDS)
    }


def _encoded(name: str, value: str) -> Header:
    """As it came in: servers hand on the bytes of headers as Latin-1."""
    try:
        return name.encode("ascii"), value.encode("latin-1")
    except UnicodeEncodeError:
        return name.encode("ascii", "ignore"), value.encode("utf-8")
