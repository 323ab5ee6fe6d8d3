"""JSON that is added to stays what it is everywhere else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.proxy.json_text import JsonObject, read_object, with_last

NUMBERS = (
    b'{"a": 1e400, "b":0.10,"c": 12345678901234567890123, "d": -0.0, "e": 1E+2, "f": 9'
    + b"9" * 5_000
    + b"}"
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(st.text(), values, max_size=6)
spaces = st.text(alphabet=" \t\r\n", max_size=3)


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """An object in one of the many ways to write it."""
    text = json.dumps(
        draw(objects),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 3])),
        separators=draw(st.sampled_from([(",", ":"), (" , ", " : ")])),
    )
    whole = draw(spaces) + text + draw(spaces)
    return whole.encode("utf-8", "surrogatepass")


@given(written(), st.text())
def test_a_member_is_put_behind_all_others(body: bytes, value: str) -> None:
    changed = with_last(body, "memories", json.dumps(value))
    end = body.rindex(b"}")
    added = len(changed) - len(body)
    assert changed[:end] + changed[end + added :] == body
    try:
        before = json.loads(body)
    except UnicodeDecodeError:
        return
    assert json.loads(changed) == {**before, "memories": value}


@given(written())
def test_an_object_is_read_as_it_is(body: bytes) -> None:
    read = JsonObject.read(body)
    try:
        expected = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        assert read is None
        return
    assert read is not None
    found = {name: span.value for name, span in read.members.items()}
    assert found == expected == read_object(body)
    for span in read.members.values():
        assert json.loads(read.raw(span)) == span.value
        if isinstance(span.value, list):
            assert [one.value for one in read.elements(span)] == span.value


def test_of_members_with_one_name_the_last_counts() -> None:
    read = JsonObject.read(b'{"a": 1, "a": [2], "b": 3}')
    assert read is not None and read.value("a") == [2]
    assert read.text[read.members["a"].start :].startswith("[2]")


def test_numbers_of_any_size_are_no_trouble() -> None:
    read = JsonObject.read(NUMBERS)
    assert read is not None
    assert read.with_first("x", "1").encode() == NUMBERS.replace(b"{", b'{"x":1,')
    found = read_object(NUMBERS)
    assert found is not None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"[]",
        b'"a"',
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,',
        b'{"a":1,}',
        b'{"a" 1}',
        b"{a:1}",
        b'{"a":1} x',
        b'{"a":1}{}',
        b'\xff{"a":1}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_whatever_is_no_object_is_not_read(body: bytes) -> None:
    assert JsonObject.read(body) is None
    assert read_object(body) is None


@given(objects)
def test_a_first_member_goes_before_all_others(value: dict[str, Any]) -> None:
    body = json.dumps(value)
    read = JsonObject.read(body.encode())
    assert read is not None
    changed = read.with_first("zz", '"new"')
    assert json.loads(changed) == {"zz": "new", **value} or "zz" in value
    assert changed.endswith(body[1:])
