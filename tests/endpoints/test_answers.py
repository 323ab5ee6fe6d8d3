"""What endpoints answer: limits, statuses, and messages fit to be shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.providers.endpoint import (
    Deadline,
    bounded,
    check_not_compressed,
    may_pass,
    one_line,
    read_json,
    said,
)
from tests.endpoints.surroundings import SteppingTime

USED_UP = b'{"error": {"code": "insufficient_quota", "message": "no credit"}}'


class Wrong(Exception):
    pass


class Late(Exception):
    pass


def test_a_compressed_answer_is_not_read() -> None:
    for encoding in ("gzip", "br", "identity, gzip", ""):
        with pytest.raises(Wrong, match="compressed"):
            check_not_compressed(encoding, Wrong)
    for encoding in (None, "identity", "Identity"):
        check_not_compressed(encoding, Wrong)


def test_a_body_is_read_no_further_than_its_limit() -> None:
    deadline = Deadline(None, SteppingTime().timing.monotonic)
    limits = {"max_bytes": 5, "deadline": deadline, "too_large": Wrong, "too_late": Late}
    whole = [b"abc", b"", b"de"]
    assert list(bounded(whole, **limits)) == whole
    parts = iter([b"abc", b"def", b"never read"])
    with pytest.raises(Wrong, match="larger than 5 bytes"):
        list(bounded(parts, **limits))
    assert list(parts) == [b"never read"]


def test_a_body_is_read_no_longer_than_its_deadline() -> None:
    time = SteppingTime()
    deadline = Deadline(3.0, time.timing.monotonic)
    read = bounded([b"a"] * 9, max_bytes=99, deadline=deadline, too_large=Wrong, too_late=Late)
    assert next(read) == b"a"
    time.sleep(3.0)
    with pytest.raises(Late, match="did not end in time"):
        next(read)


def test_what_is_not_json() -> None:
    pages = (b"\n <!DOCTYPE html><p>", b"<html>")
    others = (b"tea", b"", b"\xff", b"[" * 100_000)
    for contents, what in ((pages, "an HTML page"), (others, "not JSON")):
        for content in contents:
            with pytest.raises(Wrong, match=f"the answer is {what}; is base_url right"):
                read_json(content, Wrong)
    assert read_json(b'{"a": 1}', Wrong) == {"a": 1}


def test_what_may_pass() -> None:
    assert all(may_pass(status, b"busy") for status in (408, 429, 500, 502, 503, 504, 529))
    assert not any(may_pass(status, b"no") for status in (302, 400, 401, 403, 404, 422, 501))


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
        (b'{"error": 5}', '{"error": 5}'),
        (b"", "no explanation"),
    ],
)
def test_what_is_wrong_in_one_line(content: bytes, line: str) -> None:
    assert said(content, None) == line


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_key_is_never_shown(before: str, after: str) -> None:
    assert "sk-secret" not in one_line(f"{before}sk-secret{after}", "sk-secret")
    body = json.dumps({"error": f"{before}sk-secret{after}"}).encode()
    assert "sk-secret" not in said(body, "sk-secret")


@pytest.mark.requirement("faults.fuzzed")
def test_what_is_told_does_not_end_with_space_where_it_is_cut() -> None:
    told = one_line("x" * 299 + " and more", None)
    assert told == "x" * 299 == one_line(told, None)
