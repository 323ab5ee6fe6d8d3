"""What endpoints answer: limits, statuses, and messages fit to be shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.providers.endpoint import Endpoint, error_status, may_pass, one_line, read_json, said

USED_UP = b'{"error": {"code": "insufficient_quota", "message": "no credit"}}'


class Wrong(Exception):
    pass


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


def test_an_error_in_an_answer_that_says_it_is_well() -> None:
    assert error_status(b'{"error": {"message": "overloaded", "code": 503}}') == 503
    for other in (
        b"x",
        b'["error"]',
        b'{"error": {"code": 200}}',
        b'{"error": {"code": "503"}}',
        b'{"error": {"code": 503}, "choices": []}',
        b'{"error": {"code": 503}, "data": []}',
    ):
        assert error_status(other) is None


def test_a_key_is_taken_out_of_an_answer_unless_it_is_a_dummy() -> None:
    answer = b"no, sk-secret-key"
    assert Endpoint("p", "http://a", "sk-secret-key").without_key(answer) == b"no, [key]"
    for key in (None, "", "no"):
        assert Endpoint("p", "http://a", key).without_key(answer) == answer


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
