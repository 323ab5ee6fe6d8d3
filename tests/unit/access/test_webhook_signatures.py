"""Signatures of webhooks, as the Standard Webhooks specification and its libraries have them."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from ricordo import InvalidSignature, InvalidValue, verify_webhook
from ricordo.access.webhook_signatures import new_secret, signed_headers

pytestmark = pytest.mark.requirement("webhooks.signed")

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
AT = datetime.fromtimestamp(1614265330, UTC)
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The published example: secret, id, time and body give this signature."""
HEADERS = {
    "webhook-id": MESSAGE,
    "webhook-timestamp": "1614265330",
    "webhook-signature": SIGNATURE,
}
OTHER = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="


def test_the_published_example_is_signed_and_verified() -> None:
    assert signed_headers([SECRET], MESSAGE, AT, BODY) == HEADERS
    assert verify_webhook(BODY, HEADERS, SECRET, now=AT) == {"test": 2432232314}
    assert verify_webhook(BODY.decode(), HEADERS, SECRET.removeprefix("whsec_"), now=AT)
    shouted = {name.upper(): value for name, value in HEADERS.items()}
    assert verify_webhook(BODY, shouted, SECRET, now=AT)


def test_one_good_signature_or_secret_of_several_is_enough() -> None:
    several = f"{OTHER} v2,{SIGNATURE[3:]} {SIGNATURE} v1a,nonsense"
    assert verify_webhook(BODY, HEADERS | {"webhook-signature": several}, SECRET, now=AT)
    assert verify_webhook(BODY, HEADERS, [new_secret(), SECRET], now=AT)
    rotated = signed_headers([new_secret(), SECRET], MESSAGE, AT, BODY)
    assert verify_webhook(BODY, rotated, SECRET, now=AT)


@pytest.mark.parametrize(
    "headers",
    [
        *({name: value for name, value in HEADERS.items() if name != left} for left in HEADERS),
        HEADERS | {"webhook-id": "msg_another"},
        HEADERS | {"webhook-id": "\ud800"},
        HEADERS | {"webhook-timestamp": "1614265331"},
        HEADERS | {"webhook-timestamp": "hello"},
        HEADERS | {"webhook-timestamp": "-1614265330"},
        HEADERS | {"webhook-timestamp": "1" * 5_000},
        HEADERS | {"webhook-timestamp": "١٦١٤٢٦٥٣٣٠"},
        *(
            HEADERS | {"webhook-signature": signature}
            for signature in (
                OTHER,
                SIGNATURE[:8],
                "v1,",
                SIGNATURE[3:],
                f"v2,{SIGNATURE[3:]}",
                "v1,dawfeoifkpqwoekfpqoekf",
                " ".join([OTHER] * 1_000 + [SIGNATURE]),
            )
        ),
    ],
)
def test_what_was_not_signed_so_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidSignature):
        verify_webhook(BODY, headers, SECRET, now=AT)


def test_another_body_or_secret_is_refused() -> None:
    with pytest.raises(InvalidSignature):
        verify_webhook(BODY + b" ", HEADERS, SECRET, now=AT)
    with pytest.raises(InvalidSignature):
        verify_webhook(BODY, HEADERS, new_secret(), now=AT)
    with pytest.raises(InvalidSignature):
        verify_webhook("\ud800", HEADERS, SECRET, now=AT)
    with pytest.raises(InvalidSignature):
        verify_webhook(BODY, HEADERS, [], now=AT)
    for none in ("", "whsec_", "whsec_not base64"):
        with pytest.raises(InvalidValue, match="secret: expected whsec_"):
            verify_webhook(BODY, HEADERS, none, now=AT)
    for body in (b"[1]", b"no JSON", b"\xff"):
        signed = signed_headers([SECRET], MESSAGE, AT, body)
        with pytest.raises(InvalidSignature, match="not a JSON object"):
            verify_webhook(body, signed, SECRET, now=AT)


def test_what_is_sent_again_later_is_refused() -> None:
    for seconds in (-300, 300):
        assert verify_webhook(BODY, HEADERS, SECRET, now=AT + timedelta(seconds=seconds))
    for seconds in (-301, 301):
        with pytest.raises(InvalidSignature, match="more than 300 s from now"):
            verify_webhook(BODY, HEADERS, SECRET, now=AT + timedelta(seconds=seconds))
    later = AT + timedelta(days=1)
    assert verify_webhook(BODY, HEADERS, SECRET, now=later, tolerance_seconds=90_000)
    with pytest.raises(InvalidSignature):
        verify_webhook(BODY, HEADERS, SECRET)  # by the clock of this machine


def test_secrets_are_long_and_never_the_same() -> None:
    made = {new_secret() for _ in range(20)}
    assert len(made) == 20
    for secret in made:
        assert secret.startswith("whsec_")
        assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"))) <= 64
