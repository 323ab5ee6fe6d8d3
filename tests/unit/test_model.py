"""The values of the model: times, cursors, scopes, the table of steps."""

import base64
import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import InvalidCursor, InvalidInput, InvalidValue, NewMemory, Scope, ScopeWidened
from ricordo.model import checks
from ricordo.model.checks import format_moment, parse_moment
from ricordo.model.filters import Sort
from ricordo.model.item import LEGAL_STEPS
from ricordo.model.record import decode_cursor, encode_cursor
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import Status

zoned = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.timezones())
comparable = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
)
plain = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20)


@pytest.mark.requirement("times.iso")
@given(zoned, zoned)
def test_times_round_trip_and_sort_as_text(one: datetime, other: datetime) -> None:
    assert parse_moment("at", format_moment(one)) == one.astimezone(UTC)
    assert (format_moment(one) < format_moment(other)) is (
        one.astimezone(UTC) < other.astimezone(UTC)
    )
    assert format_moment(one).endswith("+00:00")


@pytest.mark.requirement("times.iso")
def test_times_that_callers_write() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    for given_time in (
        "2026-01-31T12:00:00Z",
        "2026-01-31T14:00:00+02:00",
        "2026-01-31 12:00",
        noon,
        noon.astimezone(timezone(timedelta(hours=-5))),
    ):
        assert parse_moment("at", given_time) == noon
    assert parse_moment("at", "2026-01-31") == parse_moment("at", date(2026, 1, 31))
    outside = ("0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00")
    for wrong in ("", "now", "2026-13-01", 5, None, datetime(2026, 1, 1), *outside):
        with pytest.raises(InvalidValue):
            parse_moment("at", wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("items.list-cursor")
@given(st.text(max_size=10), comparable, st.integers(1, 2**60))
def test_cursors_round_trip(kind: str, value: object, item_id: int) -> None:
    cursor = encode_cursor(kind, [value, item_id])
    assert decode_cursor(kind, cursor, ((type(value),), int)) == [value, item_id]
    with pytest.raises(InvalidCursor):
        decode_cursor(kind + "x", cursor, ((type(value),), int))


@pytest.mark.requirement("items.list-cursor")
@pytest.mark.parametrize("wrong", [10**30, True, "a\x00b", "\ud800"])
def test_a_cursor_holds_only_what_databases_can_compare(wrong: object) -> None:
    packed = json.dumps(["kind", wrong]).encode()
    forged = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    with pytest.raises(InvalidCursor):
        decode_cursor("kind", forged, ((int, str),))


@pytest.mark.requirement("items.list-cursor")
@given(st.text(max_size=60))
def test_no_text_breaks_a_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor("kind", text, (str, int))


@pytest.mark.requirement("access.scope")
@pytest.mark.parametrize("wrong", ["", " ", "a\n", " ana", "x" * 201, "a\x00b", "\ud800", 5, None])
def test_names_are_kept_exactly_or_refused(wrong: object) -> None:
    with pytest.raises(InvalidValue):
        Scope(wrong)  # type: ignore[arg-type]
    if wrong is not None:
        with pytest.raises(InvalidValue):
            Scope("ana", agent_id=wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("access.scope")
def test_a_scope_never_widens() -> None:
    scope = Scope("ana", agent_id="helper")
    assert scope.narrow(thread_id="t1").narrow(agent_id="helper").thread_id == "t1"
    for change in ({"user_id": "ben"}, {"agent_id": "other"}):
        with pytest.raises(ScopeWidened):
            scope.narrow(**change)


@pytest.mark.requirement("items.lifecycle")
def test_the_table_of_steps_is_the_specified_one() -> None:
    assert {start: set(ends) for start, ends in LEGAL_STEPS.items()} == {
        Status.ACTIVE: {Status.ARCHIVED, Status.SUPERSEDED, Status.DELETED},
        Status.ARCHIVED: {Status.ACTIVE, Status.DELETED},
        Status.SUPERSEDED: {Status.ACTIVE, Status.DELETED},
        Status.DELETED: {Status.ACTIVE},
    }


@pytest.mark.requirement("faults.bad-input")
@given(
    st.dictionaries(
        st.sampled_from(sorted(NewMemory.__dataclass_fields__)) | st.text(max_size=8),
        plain | st.lists(plain, max_size=3),
        max_size=5,
    )
)
def test_whatever_is_given_is_accepted_or_refused_by_name(given_fields: dict[str, object]) -> None:
    try:
        made = NewMemory.parse(given_fields)
    except InvalidInput as problem:
        assert str(problem)
    else:
        assert 1 <= len(made.content) <= 8_000


@pytest.mark.requirement("faults.bad-input")
def test_turns_are_checked() -> None:
    for wrong, said in (
        ({"role": ""}, "role"),
        ({"content": "x" * 1_000_001}, "at most 1000000"),
        ({"tool_calls": "y"}, "tool_calls: expected a list"),
        ({"tool_calls": [float("nan")]}, "cannot be stored as JSON"),
        ({"tool_calls": ["a\x00"]}, "NUL"),
    ):
        with pytest.raises(InvalidInput, match=said):
            NewTurn(**{"role": "user", "content": "x", **wrong})  # type: ignore[arg-type]


@pytest.mark.requirement("faults.bad-input")
def test_json_is_bounded() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidValue, match="cannot be stored as JSON"):
        checks.json_object("meta", {"deep": deep}, 16_384)
    with pytest.raises(InvalidValue, match="at most 16384"):
        checks.json_object("meta", {"long": "x" * 20_000}, 16_384)
    with pytest.raises(InvalidValue, match="NUL"):
        checks.json_object("meta", {"a": "\\\x00"}, 16_384)
    assert checks.json_object("meta", {"a": "\\u0000"}, 16_384) == {"a": "\\u0000"}


@pytest.mark.requirement("faults.fuzzed")
def test_an_order_that_does_not_exist_is_refused_whatever_it_is() -> None:
    for order in ("up", None, 10**5_000, [[]]):
        with pytest.raises(InvalidValue, match="is not one of: asc, desc"):
            Sort.parse("id", order)
