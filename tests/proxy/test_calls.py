"""Calls of an upstream as metrics and traces tell of them: each ends once, in one of seven ways."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, get_args

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ricordo import Memory
from ricordo.observing.instruments import UpstreamOutcome
from ricordo.proxy.calls import Call, CallWatch, Outcome
from ricordo.testing.model_server import ModelServer
from tests.observing.test_traces import PARENT_ID, TRACE_ID, Receiver
from tests.proxy.conftest import USER
from tests.proxy.serving import served
from tests.support.waiting import wait_until

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


def test_the_metrics_know_every_outcome() -> None:
    assert get_args(UpstreamOutcome) == get_args(Outcome)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (lambda call: call.answered(200), "ok"),
        (lambda call: call.answered(204), "ok"),
        (lambda call: call.answered(400), "refused"),
        (lambda call: call.answered(499), "refused"),
        (lambda call: call.answered(500), "failed"),
        (lambda call: call.answered(529), "failed"),
        (lambda call: call.failed("upstream_redirects"), "refused"),
        (lambda call: call.failed("upstream_timeout"), "timeout"),
        (lambda call: call.failed("upstream_unreachable"), "unreachable"),
        (lambda call: call.failed("upstream_broke_off"), "broken"),
        (lambda call: call.failed("whatever else"), "broken"),
        (lambda call: call.left(), "left"),
    ],
)
def test_a_call_ends_once(end: Callable[[Call], None], outcome: str) -> None:
    told: list[tuple[str, float]] = []
    clock = iter([10.0, 12.5])
    watch = CallWatch(finished=lambda ended, seconds: told.append((ended, seconds)))
    call = Call(watch, lambda: next(clock))
    assert told == []
    end(call)
    for later in (call.left, lambda: call.answered(200), lambda: call.failed("upstream_timeout")):
        later()
    assert told == [(outcome, 2.5)]


def test_nobody_has_to_watch() -> None:
    watch, headers = CallWatch(), dict[str, str]()
    with watch.span(headers):
        Call(watch).answered(200)
    assert headers == {}


def test_answers_are_counted_by_what_they_are(http: httpx2.Client, model: ModelServer) -> None:
    assert counts(http) == {}
    model.answer("Yes.", times=2)
    http.post(CHAT, json=BODY, headers=USER)
    http.post(CHAT, json={**BODY, "stream": True})  # nobody's chats count, too
    assert counts(http) == {"ok": 2}
    model.fail_next(status=429)
    model.fail_next(status=307, headers={"Location": "http://127.0.0.1:1/v1"})
    model.fail_next(status=500)
    for status in (429, 502, 500):
        assert http.post(CHAT, json=BODY, headers=USER).status_code == status
    assert counts(http) == {"ok": 2, "refused": 2, "failed": 1}
    http.get("/v1/models")
    assert counts(http) == {"ok": 3, "refused": 2, "failed": 1}


def test_answers_that_break_off(http: httpx2.Client, model: ModelServer) -> None:
    model.answer_broken(times=2)
    http.post(CHAT, json=BODY, headers=USER)
    assert counts(http) == {"broken": 1}
    with pytest.raises(httpx2.RemoteProtocolError):
        http.post(CHAT, json={**BODY, "stream": True}, headers=USER)
    wait_until(lambda: counts(http) == {"broken": 2})


def test_clients_that_leave(http: httpx2.Client, model: ModelServer, proxy_url: str) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "tea "}}]}\n\n'

    model.answer_bytes(endless(), content_type="text/event-stream")
    asked = {**BODY, "stream": True}
    with http.stream("POST", CHAT, json=asked, headers=USER) as stream:
        pieces = stream.iter_raw()  # which closes the connection when it is let go of
        next(pieces)
        assert counts(http) == {}  # it is not over
    wait_until(lambda: counts(http) == {"left": 1})
    go_on = threading.Event()
    model.hang_until(go_on)
    with (
        pytest.raises(httpx2.ReadTimeout),
        httpx2.Client(base_url=proxy_url, trust_env=False, timeout=0.2) as impatient,
    ):
        impatient.post(CHAT, json=BODY, headers=USER)
    wait_until(lambda: counts(http) == {"left": 2})
    go_on.set()


@pytest.mark.parametrize("outcome", ["unreachable", "timeout"])
def test_upstreams_that_do_not_answer(
    sqlite_url: str, open_store: Callable[..., Memory], model: ModelServer, outcome: str
) -> None:
    if outcome == "timeout":
        url = model.base_url
        model.hang_until(threading.Event())
    else:
        with ModelServer() as gone:
            url = gone.base_url
    memory = open_store(sqlite_url, port=0, upstream_url=url, upstream_timeout_seconds=0.2)
    with served(memory) as proxy, httpx2.Client(base_url=proxy, trust_env=False) as http:
        http.post(CHAT, json=BODY, headers=USER)
        assert counts(http) == {outcome: 1}


@pytest.mark.requirement("observability.traces")
def test_the_upstream_is_told_of_the_trace(
    sqlite_url: str, open_store: Callable[..., Memory], model: ModelServer
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


@pytest.mark.requirement("observability.traces")
def test_without_traces_the_callers_own_passes(http: httpx2.Client, model: ModelServer) -> None:
    theirs = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}
    model.answer("Yes.")
    http.post(CHAT, json=BODY, headers={**USER, **theirs})
    assert model.requests[-1].header("traceparent") == theirs["traceparent"]
