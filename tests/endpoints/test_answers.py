"""What endpoints answer: limits, statuses, and messages fit to be shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.endpoints.answers import (
    bounded,
    check_not_compressed,
    may_pass,
    one_line,
    read_json,
    said,
)
from ricordo.endpoints.timing import Deadline
from tests.endpoints.surroundings import SteppingTime

USED_UP = b'{"error": {"code": "insufficient_quota", "message": "no credit"}}'
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "code"]), inner)
    ),
)
contents = st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode())


class Wrong(Exception):
    pass


class Late(Exception):
    pass


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", ""])
def test_a_compressed_answer_is_not_read(encoding: str) -> None:
    with pytest.raises(Wrong, match="compressed"):
        check_not_compressed(encoding, Wrong)


@pytest.mark.parametrize("encoding", [None, "identity", "Identity"])
def test_an_answer_as_it_is(encoding: str | None) -> None:
    check_not_compressed(encoding, Wrong)


def test_a_body_within_its_limits_is_whole() -> None:
    parts = [b"abc", b"", b"de"]
    deadline = Deadline(None, SteppingTime().timing.monotonic)
    read = bounded(parts, max_bytes=5, deadline=deadline, too_large=Wrong, too_late=Late)
    assert list(read) == parts


def test_a_body_is_read_no_further_than_its_limit() -> None:
    parts = iter([b"abc", b"def", b"never read"])
    deadline = Deadline(None, SteppingTime().timing.monotonic)
    with pytest.raises(Wrong, match="larger than 5 bytes"):
        list(bounded(parts, max_bytes=5, deadline=deadline, too_large=Wrong, too_late=Late))
    assert list(parts) == [b"never read"]


def test_a_body_is_read_no_longer_than_its_deadline() -> None:
    time = SteppingTime()
    deadline = Deadline(3.0, time.timing.monotonic)
    read = bounded([b"a"] * 9, max_bytes=99, deadline=deadline, too_large=Wrong, too_late=Late)
    assert next(read) == b"a"
    time.sleep(3.0)
    with pytest.raises(Late, match="did not end in time"):
        next(read)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\n <!DOCTYPE html><p>", "an HTML page"),
        (b"<html>", "an HTML page"),
        (b"tea", "not JSON"),
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_not_json(content: bytes, what: str) -> None:
    with pytest.raises(Wrong, match=f"the answer is {what}; is base_url right"):
        read_json(content, Wrong)


def test_what_is_json() -> None:
    assert read_json(b'{"a": 1}', Wrong) == {"a": 1}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass(status: int) -> None:
    assert may_pass(status, b"busy")


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 422, 501])
def test_what_will_not_pass(status: int) -> None:
    assert not may_pass(status, b"no")


def test_a_used_up_quota_will_not_pass() -> None:
    assert not may_pass(429, USED_UP)
    assert not may_pass(429, USED_UP.replace(b"code", b"type"))
    assert may_pass(503, USED_UP)  # only a limit of the rate is told apart by it


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"error": {"message": "no such model"}}', "no such model"),
        (b'{"error": "no such model"}', "no such model"),
        (b'[{"error": {"message": "no such model"}}]', "no such model"),
        (b'{"message": "no such model"}', "no such model"),
        (b'{"detail": "no such\\n model"}', "no such model"),
        (b"<html>no such model</html>", "an HTML page"),
        (b"no such\tmodel", "no such model"),
        (b"", "no explanation"),
    ],
)
def test_what_is_wrong_in_one_line(content: bytes, line: str) -> None:
    assert said(content, None) == line


@given(contents)
def test_whatever_is_said_can_be_shown(content: bytes) -> None:
    line = said(content, None)
    assert line.isprintable()
    assert 0 < len(line) <= 300
    assert may_pass(429, content) in (True, False)


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_key_is_never_shown(before: str, after: str) -> None:
    assert "sk-secret" not in one_line(f"{before}sk-secret{after}", "sk-secret")
    body = json.dumps({"error": f"{before}sk-secret{after}"}).encode()
    assert "sk-secret" not in said(body, "sk-secret")


@pytest.mark.requirement("faults.fuzzed")
def test_what_is_told_does_not_end_with_space_where_it_is_cut() -> None:
    told = one_line("x" * 299 + " and more", None)
    assert told == "x" * 299 == one_line(told, None)
