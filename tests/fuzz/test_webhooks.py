"""What comes as a webhook is that, or is refused, whatever strangers send."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import InvalidSignature, verify_webhook
from ricordo.access.webhook_signatures import new_secret, signed_headers
from tests.fuzz.mutating import mutated, odd_texts
from tests.fuzz.running import FUZZ

pytestmark = pytest.mark.requirement("faults.fuzzed")

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
SECRET = new_secret()
BODY = '{"type": "memory.changes", "data": {"user_id": "ána"}}'
GOOD = signed_headers([SECRET], "msg_1", AT, BODY.encode())
VALUES = mutated(tuple(GOOD.values())) | odd_texts


@FUZZ
@given(
    st.dictionaries(st.sampled_from([*GOOD, "Webhook-Id", "other"]), VALUES),
    mutated((BODY,)) | odd_texts,
)
def test_what_is_not_signed_is_refused(changed: dict[str, str], body: str) -> None:
    headers = {**GOOD, **changed}
    is_same = body == BODY and {name: headers[name] for name in GOOD} == GOOD
    try:
        sent = verify_webhook(body, headers, SECRET, now=AT + timedelta(seconds=1))
    except InvalidSignature:
        assert not is_same or "Webhook-Id" in changed
    else:
        assert body == BODY
        assert sent["type"] == "memory.changes"
