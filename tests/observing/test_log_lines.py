"""One line for each record, with nothing in it that an exception says."""

import json
import logging
import re
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import (
    EmbedderRefused,
    FilesUnavailable,
    InvalidValue,
    ModelUnavailable,
    StorageBusy,
    in_log,
)
from ricordo.observing.current import CurrentRequest, current_request
from ricordo.observing.log_lines import JsonLines, TextLines
from tests.observing.conftest import OpenLog

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


@given(message=ANY_TEXT)
def test_text_for_people_has_no_control_characters(message: str) -> None:
    line = TextLines().format(record_of("%s", message))
    assert line.isprintable()


@given(message=ANY_TEXT)
def test_values_that_do_not_fit_a_message_are_not_shown(message: str) -> None:
    line = json.loads(JsonLines().format(record_of("%d of %s", f"sesquipedalian {message}")))
    assert line["message"] == "%d of %s (its values do not fit)"


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
