"""What is told of each request: an id, a line, metrics."""

import asyncio
import contextlib
from collections.abc import MutableMapping
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ricordo.aio import AsyncMemory
from ricordo.limits import MAX_REQUEST_ID_CHARS
from ricordo.memory import Memory
from ricordo.observing.current import (
    CurrentRequest,
    current_request,
    new_request_id,
    note_error,
    note_key,
    request_id,
)
from ricordo.storage.watching import Step
from tests.observing.conftest import OpenLog
from tests.observing.services import Service


def run(service: Service, method: str, url: str, **more: Any) -> Any:
    return asyncio.run(service.call(method, url, **more))


def samples(service: Service, name: str) -> dict[tuple[str, ...], float]:
    content, _ = service.metrics.render()
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(content.decode())
        for sample in family.samples
        if sample.name == name
    }


@pytest.mark.requirement("observability.logs")
@pytest.mark.parametrize("given", ["a", "A-1_2.b", "x" * MAX_REQUEST_ID_CHARS])
def test_the_callers_own_id_is_taken(given: str) -> None:
    assert new_request_id(given) == given


@pytest.mark.requirement("observability.logs")
@pytest.mark.parametrize(
    "given", [None, "", "a b", "a\n", "é", 'a"', "x" * (MAX_REQUEST_ID_CHARS + 1)]
)
def test_an_id_that_cannot_stand_in_a_log_is_replaced(given: str | None) -> None:
    made = new_request_id(given)
    assert made != given
    assert new_request_id(made) == made
    assert new_request_id(given) != made


def test_outside_of_a_request_there_is_nothing_to_note() -> None:
    note_key("key-7")
    note_error(ValueError())
    assert request_id() is None


def test_the_threads_of_an_asynchronous_store_know_the_request(memory: Memory) -> None:
    async def ask() -> list[str | None]:
        current_request.set(CurrentRequest("abc-1"))
        store = AsyncMemory(memory)
        known: list[str | None] = []

        def watch(_step: Step) -> contextlib.AbstractContextManager[object]:
            known.append(request_id())
            return contextlib.nullcontext()

        memory.database.watch = watch
        await store.user("ana").search("tea")
        store._pool.close()
        return known

    known = asyncio.run(ask())
    assert known
    assert set(known) == {"abc-1"}


@pytest.mark.requirement("observability.logs")
def test_a_request_has_one_line_without_its_path(memory: Memory, open_log: OpenLog) -> None:
    service = Service(memory)
    log = open_log()
    answer = run(
        service,
        "GET",
        "/v1/users/ana/search",
        params={"query": "sesquipedalian"},
        headers={"X-Request-ID": "mine-1"},
    )
    assert answer.headers["x-request-id"] == "mine-1"
    (line,) = [line for line in log.lines if line["logger"] == "ricordo.requests"]
    assert line.pop("duration_ms") >= 0
    assert line.pop("time")
    assert line == {
        "level": "info",
        "logger": "ricordo.requests",
        "message": "request",
        "request_id": "mine-1",
        "method": "GET",
        "route": "/v1/users/{user_id}/search",
        "status": 200,
        "key_id": "key-7",
    }
    assert "ana" not in log.text
    assert samples(service, "ricordo_http_requests_total") == {
        ("GET", "/v1/users/{user_id}/search", "2xx"): 1
    }
    assert samples(service, "ricordo_http_request_seconds_count") == {
        ("GET", "/v1/users/{user_id}/search"): 1
    }
    assert samples(service, "ricordo_http_requests_in_flight") == {(): 0}


@pytest.mark.requirement("observability.no-content")
def test_a_request_that_fails_tells_where_and_not_what(memory: Memory, open_log: OpenLog) -> None:
    service = Service(memory)
    log = open_log()
    answer = run(service, "POST", "/v1/fail", params={"text": "sesquipedalian"})
    assert answer.status_code == 500
    (line,) = [line for line in log.lines if line["logger"] == "ricordo.requests"]
    assert (line["level"], line["status"], line["error"]) == ("error", 500, "ValueError")
    assert line["frames"][-1].startswith("tests.observing.services:")
    assert run(service, "GET", "/v1/refused", params={"text": "sesquipedalian"}).status_code == 404
    (line,) = [line for line in log.lines if line.get("status") == 404]
    assert (line["level"], line["error"]) == ("info", "ValueError")
    assert "frames" not in line
    run(service, "GET", "/v1/down")
    (line,) = [line for line in log.lines if line.get("status") == 503]
    assert line["error"] == "ricordo.errors.StorageUnavailable"
    assert line["frames"]
    assert "sesquipedalian" not in log.text
    assert samples(service, "ricordo_http_requests_total") == {
        ("POST", "/v1/fail", "5xx"): 1,
        ("GET", "/v1/refused", "4xx"): 1,
        ("GET", "/v1/down", "5xx"): 1,
    }


@pytest.mark.requirement("observability.metrics")
def test_what_callers_make_up_gives_no_new_labels(memory: Memory, open_log: OpenLog) -> None:
    service = Service(memory)
    log = open_log()
    for number in range(5):
        run(service, f"M{number}", f"/nowhere/{number}")
    assert samples(service, "ricordo_http_requests_total") == {("OTHER", "unmatched", "4xx"): 5}
    assert {(line["method"], line["route"]) for line in log.lines} == {("OTHER", "unmatched")}


def test_a_streamed_answer_lasts_to_its_last_byte(memory: Memory, open_log: OpenLog) -> None:
    service = Service(memory)
    log = open_log()
    assert run(service, "GET", "/v1/stream").content == b"onetwo"
    (line,) = log.lines
    assert line["status"] == 200
    assert "incomplete" not in line
    assert samples(service, "ricordo_http_requests_total") == {("GET", "/v1/stream", "2xx"): 1}


def test_an_answer_that_breaks_off_is_told_with_its_error(
    memory: Memory, open_log: OpenLog
) -> None:
    service = Service(memory)
    log = open_log()
    run(service, "GET", "/v1/stream", params={"breaks": "true"})
    (line,) = log.lines
    assert (line["level"], line["status"], line["incomplete"]) == ("error", 200, True)
    assert line["error"] == "RuntimeError"
    assert samples(service, "ricordo_http_requests_total") == {
        ("GET", "/v1/stream", "disconnected"): 1
    }


@pytest.mark.parametrize("says_by", ["receive", "send"])
def test_a_caller_that_goes_away_is_no_error(
    memory: Memory, open_log: OpenLog, says_by: str
) -> None:
    service = Service(memory)
    log = open_log()
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        if says_by == "receive" and sent:
            return {"type": "http.disconnect"}
        await asyncio.sleep(3600 if sent else 0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)
        if says_by == "send" and len(sent) > 1:
            raise OSError
        if says_by == "receive" and len(sent) > 1:
            await asyncio.sleep(3600)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3" if says_by == "receive" else "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/v1/stream",
        "raw_path": b"/v1/stream",
        "query_string": b"",
        "headers": [],
    }

    async def ask() -> None:
        try:
            await service.app(scope, receive, send)
        except Exception as error:
            assert type(error).__name__ == "ClientDisconnect"

    asyncio.run(ask())
    (line,) = log.lines
    assert (line["level"], line["status"], line["incomplete"]) == ("info", 200, True)
    assert samples(service, "ricordo_http_requests_total") == {
        ("GET", "/v1/stream", "disconnected"): 1
    }


def test_what_is_no_request_passes(memory: Memory, open_log: OpenLog) -> None:
    service = Service(memory)
    log = open_log()
    told: list[MutableMapping[str, Any]] = []
    asked = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> MutableMapping[str, Any]:
        return next(asked)

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message)

    asyncio.run(service.app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send))
    assert told[-1]["type"] == "lifespan.shutdown.complete"
    assert log.text == ""
