"""One line for each record and each request, without what was said; an id, and metrics."""

import asyncio
import contextlib
import json
import logging
import re
import sys
import threading
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ricordo.aio import AsyncMemory
from ricordo.errors import (
    EmbedderRefused,
    FilesUnavailable,
    InvalidValue,
    ModelUnavailable,
    StorageBusy,
    in_log,
)
from ricordo.limits import MAX_REQUEST_ID_CHARS
from ricordo.memory import Memory
from ricordo.observability.logs import (
    CurrentRequest,
    JsonLines,
    TextLines,
    current_request,
    new_request_id,
    note_error,
    note_key,
    request_id,
)
from ricordo.storage.database import Step
from tests.observing.conftest import OpenLog
from tests.observing.services import Service

ANY_TEXT = st.text(st.characters(), max_size=200)


ANY_FIELDS = st.dictionaries(
    st.text(max_size=10),
    st.one_of(ANY_TEXT, st.integers(), st.floats(), st.none(), st.lists(ANY_TEXT, max_size=3)),
    max_size=5,
)


def record_of(message: str, *args: object, name: str = "ricordo.x") -> logging.LogRecord:
    return logging.LogRecord(name, logging.INFO, "file.py", 1, message, args, None)


@pytest.mark.requirement("observability.logs")
@given(message=ANY_TEXT, name=ANY_TEXT, fields=ANY_FIELDS)
def test_any_record_is_one_line_of_json(message: str, name: str, fields: dict[str, object]) -> None:
    record = record_of("%s", message, name=f"ricordo.{name}")
    record.fields = fields
    line = JsonLines().format(record)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    told = json.loads(line)
    assert told["message"] == (fields.get("event") or message)
    assert told["level"] == "info"
    assert TextLines().format(record_of("%s", message)).isprintable()
    unfit = json.loads(JsonLines().format(record_of("%d of %s", f"sesquipedalian {message}")))
    assert unfit["message"] == "%d of %s (its values do not fit)"


@pytest.mark.requirement("observability.logs")
def test_a_line_tells_when_who_and_for_which_request() -> None:
    record = record_of("it rains")
    record.created = 1_700_000_000.25
    token = current_request.set(CurrentRequest("abc-1"))
    try:
        line = json.loads(JsonLines().format(record))
        shown = TextLines().format(record)
    finally:
        current_request.reset(token)
    assert line == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "info",
        "logger": "ricordo.x",
        "message": "it rains",
        "request_id": "abc-1",
    }
    assert shown == "2023-11-14T22:13:20.250+00:00 INFO ricordo.x [abc-1] it rains"


def raise_inside() -> None:
    try:
        raise KeyError("sesquipedalian")
    except KeyError as error:
        raise ValueError("sesquipedalian") from error


@pytest.mark.requirement("observability.no-content")
def test_of_an_exception_only_its_kind_and_its_frames_are_told() -> None:
    record = record_of("it failed")
    try:
        raise_inside()
    except ValueError:
        record.exc_info = sys.exc_info()
    line = JsonLines().format(record)
    told = json.loads(line)
    assert told["error"] == "ValueError"
    assert told["caused_by"] == "KeyError"
    assert re.fullmatch(rf"{__name__}:\d+:raise_inside", told["frames"][-1])
    shown = TextLines().format(record)
    assert "raise_inside" in shown
    assert "error=ValueError caused_by=KeyError" in shown
    assert "sesquipedalian" not in line + shown


@pytest.mark.requirement("observability.no-content")
def test_an_error_in_a_log_says_nothing_that_somebody_else_said() -> None:
    assert in_log(StorageBusy("here: locked")) == "StorageBusy: here: locked"
    assert in_log(FilesUnavailable("here: no")) == "FilesUnavailable: here: no"
    assert in_log(OSError(13, "Permission denied", "/a")) == "PermissionError: Permission denied"
    assert in_log(KeyError("sesquipedalian")) == "KeyError"
    for error in (
        InvalidValue("content", "sesquipedalian"),
        ModelUnavailable("sesquipedalian"),
        EmbedderRefused("sesquipedalian"),
    ):
        assert in_log(error).startswith(f"{type(error).__name__}: ")
        assert "sesquipedalian" not in in_log(error)


@pytest.mark.requirement("observability.no-content")
def test_libraries_tell_only_warnings_and_only_their_first_line(open_log: OpenLog) -> None:
    log = open_log()
    logging.getLogger("openai._base_client").debug("Request options: %s", "sesquipedalian")
    logging.getLogger("httpx").info("POST /search?query=sesquipedalian")
    logging.getLogger("uvicorn.access").info("GET /search?query=sesquipedalian")
    assert log.text == ""
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: sesquipedalian")
    assert [line["message"] for line in log.lines] == [
        "Started server process [7]",
        "Task exception was never retrieved",
    ]
    assert "sesquipedalian" not in log.text


@pytest.mark.requirement("observability.no-content")
def test_an_error_that_ends_a_thread_is_logged_without_what_it_says(open_log: OpenLog) -> None:
    log = open_log()

    def fail() -> None:
        raise ValueError("sesquipedalian")

    thread = threading.Thread(target=fail, name="worker-1")
    thread.start()
    thread.join()
    (line,) = log.lines
    assert line["message"] == "thread worker-1 ended by an error"
    assert line["error"] == "ValueError"
    assert "sesquipedalian" not in log.text


def test_logging_is_put_back_as_it_was(open_log: OpenLog) -> None:
    root = logging.getLogger()
    server = logging.getLogger("uvicorn.error")
    own = logging.NullHandler()
    server.addHandler(own)
    try:
        outer = open_log()
        inner = open_log("text")
        logging.getLogger("ricordo.x").warning("one\ntwo\x1b[31m")
        assert outer.text == ""
        assert inner.text.endswith("WARNING ricordo.x one\\ntwo\\x1b[31m\n")
        assert len(root.handlers) == 1
        assert server.handlers == []
    finally:
        server.removeHandler(own)


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
def test_an_id_of_the_caller_is_taken_when_it_can_stand_in_a_log() -> None:
    for right in ("a", "A-1_2.b", "x" * MAX_REQUEST_ID_CHARS):
        assert new_request_id(right) == right
    for wrong in (None, "", "a b", "a\n", "é", 'a"', "x" * (MAX_REQUEST_ID_CHARS + 1)):
        made = new_request_id(wrong)
        assert made != wrong
        assert new_request_id(made) == made
        assert new_request_id(wrong) != made
    note_key("key-7")  # outside of a request there is nothing to note
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


@pytest.mark.requirement("observability.metrics")
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
    line = log.lines[-1]
    assert (line["level"], line["error"]) == ("info", "ValueError")
    assert "frames" not in line
    for number in range(3):  # what callers make up gives no new labels
        run(service, f"M{number}", f"/nowhere/{number}")
    assert log.lines[-1]["method"] == "OTHER"
    assert log.lines[-1]["route"] == "unmatched"
    run(service, "GET", "/v1/down")
    (line,) = [line for line in log.lines if line.get("status") == 503]
    assert line["error"] == "ricordo.errors.StorageUnavailable"
    assert line["frames"]
    assert "sesquipedalian" not in log.text
    assert samples(service, "ricordo_http_requests_total") == {
        ("POST", "/v1/fail", "5xx"): 1,
        ("GET", "/v1/refused", "4xx"): 1,
        ("GET", "/v1/down", "5xx"): 1,
        ("OTHER", "unmatched", "4xx"): 3,
    }


def test_a_streamed_answer_is_told_to_its_last_byte_or_its_error(
    memory: Memory, open_log: OpenLog
) -> None:
    service = Service(memory)
    log = open_log()
    assert run(service, "GET", "/v1/stream").content == b"onetwo"
    run(service, "GET", "/v1/stream", params={"breaks": "true"})
    whole, broken = log.lines
    assert whole["status"] == 200
    assert "incomplete" not in whole
    assert (broken["level"], broken["status"], broken["incomplete"]) == ("error", 200, True)
    assert broken["error"] == "RuntimeError"
    assert samples(service, "ricordo_http_requests_total") == {
        ("GET", "/v1/stream", "2xx"): 1,
        ("GET", "/v1/stream", "disconnected"): 1,
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
