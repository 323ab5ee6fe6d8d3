"""Signatures of webhooks, by the Standard Webhooks specification (symmetric, ``v1``)."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ricordo.errors import InvalidSignature, InvalidValue
from ricordo.limits import WEBHOOK_TOLERANCE_SECONDS

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what secrets begin with
_VERSION: Final = "v1"
_SECRET_BYTES: Final = 32
_MAX_SIGNATURES: Final = 20
_MAX_FORMER: Final = 4
_MAX_TIMESTAMP_CHARS: Final = 15


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def former_secrets(kept: str, now: datetime) -> list[tuple[str, datetime]]:
    """The former secrets that are still valid, the newest first, of what :func:`kept_secrets` made.

    There may be several: who rotates twice in a row has receivers that know none but the first.
    """
    found = []
    for entry in kept.split():
        secret, _, until = entry.partition("@")
        if (ends := datetime.fromisoformat(until)) > now:
            found.append((secret, ends))
    return found


def kept_secrets(former: Iterable[tuple[str, datetime]]) -> str:
    """Former secrets and until when they are valid, as one text to be encrypted."""
    newest = list(former)[:_MAX_FORMER]
    return " ".join(f"{secret}@{until.isoformat()}" for secret, until in newest)


def signed_headers(
    signing: Iterable[str], message_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """The headers of a request, with a signature for each secret."""
    timestamp = str(int(at.timestamp()))
    signatures = [
        f"{_VERSION},{base64.b64encode(_mac(one, message_id, timestamp, body)).decode('ascii')}"
        for one in signing
    ]
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: " ".join(signatures),
    }


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance_seconds: float = WEBHOOK_TOLERANCE_SECONDS,
    now: datetime | None = None,
) -> dict[str, Any]:
    """What a webhook has sent, once its signature was found good. For receivers.

    ``body`` is the body of the request exactly as it came, ``headers`` are its headers in any
    spelling, ``secret`` is that of the webhook, or several during a rotation. A request whose time
    is farther from ``now`` than ``tolerance_seconds`` is refused: somebody may be sending it again.

    Raises:
        InvalidSignature: it was not signed with that secret, is too old, or was changed.
        InvalidValue: the secret is none.
    """
    known = [secret] if isinstance(secret, str) else list(secret)
    found = {str(name).lower(): value for name, value in headers.items()}
    message_id, timestamp = found.get(ID_HEADER), found.get(TIMESTAMP_HEADER)
    signatures = found.get(SIGNATURE_HEADER)
    if not (message_id and timestamp and signatures):
        wanted = f"{ID_HEADER}, {TIMESTAMP_HEADER} and {SIGNATURE_HEADER}"
        raise InvalidSignature(f"the request lacks one of the headers {wanted}")
    _check_time(timestamp, now or datetime.now(UTC), tolerance_seconds)
    content = _encoded(body) if isinstance(body, str) else bytes(body)
    expected = [_mac(one, message_id, timestamp, content) for one in known]
    given = [_decoded(one) for one in signatures.split(" ")[:_MAX_SIGNATURES]]
    # Every pair is compared, so that the time tells nothing.
    matches = [hmac.compare_digest(one, mac) for one in given for mac in expected]
    if not any(matches):
        raise InvalidSignature("the signature is not one of this secret for this request")
    try:
        sent = json.loads(content)
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise InvalidSignature("the body is not a JSON object")
    return sent


def _check_time(timestamp: str, now: datetime, tolerance_seconds: float) -> None:
    is_number = timestamp.isascii() and timestamp.isdigit()
    if not is_number or len(timestamp) > _MAX_TIMESTAMP_CHARS:
        raise InvalidSignature(f"{TIMESTAMP_HEADER} is not a number of seconds")
    if abs(now.timestamp() - int(timestamp)) > tolerance_seconds:
        raise InvalidSignature(f"it was sent more than {tolerance_seconds:g} s from now")


def _decoded(signature: str) -> bytes:
    """The signature of our version; empty, which nothing equals, for any other."""
    version, _, encoded = signature.partition(",")
    if version != _VERSION:
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _encoded(text: str) -> bytes:
    """What strangers send may have lone surrogates; nothing is signed with them."""
    return text.encode("utf-8", "surrogatepass")


def _mac(secret: str, message_id: str, timestamp: str, body: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError, AttributeError):
        key = b""
    if not key:
        raise InvalidValue("secret", f"expected {SECRET_PREFIX} and base64, as it was shown")
    signed = _encoded(f"{message_id}.{timestamp}.") + body
    return hmac.new(key, signed, hashlib.sha256).digest()
