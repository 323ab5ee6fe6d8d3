"""Calls of an upstream as metrics and traces tell of them: each ends once, in one of seven ways."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ricordo import Memory
from ricordo.proxy.upstream import CallWatch, UpstreamCall
from tests.observing.test_traces import PARENT_ID, TRACE_ID, Receiver
from tests.proxy.conftest import USER, served
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("observability.metrics")

CHAT = "/v1/chat/completions"
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Tea?"}]}


def counts(http: httpx2.Client) -> dict[str, int]:
    """How many calls ended in each way, without those in which none did."""
    metrics = text_string_to_metric_families(http.get("/metrics").text)
    (found,) = [one for one in metrics if one.name == "ricordo_upstream_seconds"]
    return {
        sample.labels["outcome"]: int(sample.value)
        for sample in found.samples
        if sample.name.endswith("_count") and sample.value
    }


ENDINGS: list[tuple[Callable[[UpstreamCall], None], str]] = [
    (lambda call: call.answered(204), "ok"),
    (lambda call: call.answered(400), "refused"),
    (lambda call: call.answered(499), "refused"),
    (lambda call: call.answered(500), "failed"),
    (lambda call: call.failed("upstream_redirects"), "refused"),
    (lambda call: call.failed("upstream_timeout"), "timeout"),
    (lambda call: call.failed("upstream_unreachable"), "unreachable"),
    (lambda call: call.failed("upstream_broke_off"), "broken"),
    (lambda call: call.failed("whatever else"), "broken"),
    (lambda call: call.left(), "left"),
]


def test_a_call_ends_once() -> None:
    for end, outcome in ENDINGS:
        told: list[tuple[str, float]] = []
        clock = iter([10.0, 12.5])
        watch = CallWatch(finished=lambda *ended, told=told: told.append(ended))
        call = UpstreamCall(watch, lambda clock=clock: next(clock))
        assert told == []
        end(call)
        call.left()
        call.answered(200)
        call.failed("upstream_timeout")
        assert told == [(outcome, 2.5)]


def test_answers_are_counted_by_what_they_are(http: httpx2.Client, model: FaultyModel) -> None:
    assert counts(http) == {}
    model.answer("Yes.", times=2)
    theirs = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}  # which passes without traces
    http.post(CHAT, json=BODY, headers={**USER, **theirs})
    assert model.requests[-1].headers.get("traceparent") == theirs["traceparent"]
    http.post(CHAT, json={**BODY, "stream": True})  # nobody's chats count, too
    model.fail_next(status=429)
    model.fail_next(status=307, headers={"Location": "http://127.0.0.1:1/v1"})
    model.fail_next(status=500)
    for status in (429, 502, 500):
        assert http.post(CHAT, json=BODY, headers=USER).status_code == status
    http.get("/v1/models")
    model.answer_broken()
    http.post(CHAT, json=BODY, headers=USER)
    assert counts(http) == {"ok": 3, "refused": 2, "failed": 1, "broken": 1}


@pytest.mark.requirement("observability.traces")
def test_the_upstream_is_told_of_the_trace(
    sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel
) -> None:
    """In the place of the caller's own ``traceparent``, whose span is not the one that calls."""
    receiver = Receiver()
    model.answer("Yes.", times=2)
    memory = open_store(sqlite_url, port=0, upstream_url=model.base_url, traces_url=receiver.url)
    theirs = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}
    with served(memory) as proxy, httpx2.Client(base_url=proxy, trust_env=False) as http:
        http.post(CHAT, json=BODY, headers={**USER, **theirs})
    receiver.close()
    span = receiver.span("ricordo.upstream")
    (sent,) = [value for name, value in model.requests[-1].headers.items() if name == "traceparent"]
    assert sent == f"00-{TRACE_ID}-{span.span_id.hex()}-01"
    assert span.span_id.hex() != PARENT_ID
    request = receiver.span(f"POST {CHAT}")
    assert span.parent_span_id == request.span_id
    assert request.parent_span_id.hex() == PARENT_ID
