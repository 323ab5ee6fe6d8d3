"""Single values that come from outside: filters, cursors, times, settings, paths, arguments."""

import base64
import contextlib
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.agent_state.checkpoints import checked_json_text, json_text
from ricordo.errors import InvalidCursor, InvalidInput, InvalidValue, RicordoError
from ricordo.model import checks
from ricordo.model.checks import format_moment, parse_moment
from ricordo.model.filters import FILTER_NAMES, ItemFilter, Sort, SortColumn
from ricordo.model.record import decode_cursor, encode_cursor
from ricordo.model.search import QueryRequest
from ricordo.model.thread import NewTurn
from ricordo.operations.recall import query
from ricordo.settings import Settings
from ricordo.tools import Tools
from ricordo.tools.memory_file_text import ROOT, key_of, shown
from ricordo.web.memories import SORTS, MemoryFilter
from ricordo.wiring import read_settings
from tests.fuzz.mutating import altered, json_values, mutated, odd_texts
from tests.fuzz.running import FUZZ, FUZZ_SLOWLY
from tests.fuzz.stores import fresh_user

pytestmark = pytest.mark.requirement("faults.fuzzed")

MOMENTS = (
    "2026-01-31T12:00:00+00:00",
    "2026-01-31",
    "20260131T120000Z",
    "2026-W05-6T12",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-12:00",
    "2026-06-30 23:59:60",
)
anything = json_values(("user_id", "category", "a")) | st.binary(max_size=5) | st.just(10**5_000)
SETTINGS = tuple(Settings.model_fields)
TOOL_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_memories", {"query": "tea", "limit": 3, "category": "x"}),
    ("add_memory", {"content": "Likes tea", "category": "tastes", "type": "fact"}),
    ("memory_query", {"agent": "a", "query": "tea", "filters": {"tags": ["a"]}, "top_k": 2}),
    ("update_user_profile", {"fields": {"city": "Porto"}}),
    ("memory", {"action": "add", "content": "Likes tea"}),
)


@FUZZ
@given(mutated(MOMENTS) | odd_texts | st.datetimes() | st.dates() | anything)
def test_a_time_is_one_of_utc_or_refused(value: Any) -> None:
    try:
        moment = parse_moment("at", value)
    except InvalidValue as problem:
        assert len(str(problem)) < 300
        return
    assert moment.tzinfo is UTC
    written = format_moment(moment)
    assert parse_moment("at", written) == moment
    assert len(written) == len("2026-01-31T12:00:00.000000+00:00")


@FUZZ
@given(st.dictionaries(st.sampled_from(sorted(FILTER_NAMES)) | odd_texts, anything, max_size=4))
def test_a_filter_is_checked_to_the_last_value(given_values: dict[str, Any]) -> None:
    with contextlib.suppress(InvalidInput):
        ItemFilter.parse(given_values)
    with contextlib.suppress(InvalidInput):
        clean = query.accept(
            {
                "query": "x",
                "categories": given_values.get("category"),
                "filters": given_values,
                "top_k": given_values.get("limit", 1),
                "returns": given_values.get("type", "full"),
                "budget_tokens": given_values.get("key", 5),
                "threshold": given_values.get("role"),
            }
        )
        QueryRequest.of(**clean)
    with contextlib.suppress(InvalidInput):
        NewTurn.parse(given_values)


@FUZZ
@given(anything | st.sampled_from(SortColumn), anything | st.just("asc"))
def test_an_order_exists_or_is_refused(column: Any, order: Any) -> None:
    with contextlib.suppress(InvalidValue):
        assert Sort.parse(column, order).column in SortColumn


@FUZZ
@given(anything, st.integers(-5, 5), odd_texts)
def test_checks_say_what_is_allowed_whatever_is_given(value: Any, low: int, field: str) -> None:
    for check in (
        lambda: checks.text(field, value, 10),
        lambda: checks.reference(field, value),
        lambda: checks.integer(field, value, low, low + 5),
        lambda: checks.number(field, value, low, low + 5),
        lambda: checks.flag(field, value),
        lambda: checks.tags(value),
        lambda: checks.texts(field, value, 10),
        lambda: checks.json_object(field, value, 500),
        lambda: checks.json_list(field, value, 500),
        lambda: checks.path(field, value),
        lambda: checks.entries(field, value, 3),
        lambda: json_text(field, value, 500),
        lambda: checked_json_text(field, value, 500),
    ):
        with contextlib.suppress(InvalidValue):
            check()


CURSORS = [
    encode_cursor("created_at-desc", ["2026-01-31T12:00:00.000000+00:00", 5]),
    encode_cursor("threads", ["2026-01-31T12:00:00.000000+00:00", "t"]),
    encode_cursor("importance-asc", [None, 5]),
]


def packed(value: object) -> str:
    """A cursor of any shape."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@FUZZ
@given(
    mutated(CURSORS)
    | odd_texts
    | altered([["threads", "x", 5], ["created_at-desc", "2026-01-31", 5]], ["a"]).map(packed)
)
def test_a_cursor_is_ours_or_refused(cursor: str) -> None:
    for kind in ("created_at-desc", "threads"):
        with contextlib.suppress(InvalidCursor):
            place = decode_cursor(kind, cursor, (str, (int, str)))
            assert decode_cursor(kind, encode_cursor(kind, place), (str, (int, str))) == place


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from(SETTINGS), odd_texts | mutated(["1", "true", "/tmp/x"]), max_size=3
    ),
    st.dictionaries(st.sampled_from(SETTINGS), anything, max_size=2),
)
def test_settings_are_taken_or_refused_by_name(
    environment: dict[str, str], given_values: dict[str, Any]
) -> None:
    variables = {f"RICORDO_{name.upper()}": value for name, value in environment.items()}
    try:
        read_settings(variables, given_values)
    except InvalidInput as problem:
        assert "setting" in str(problem)


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from([*MemoryFilter.__slots__, "x"]),
        odd_texts | mutated([*MOMENTS, *SORTS, 'a, "b, ""c""", d', "Europe/Berlin", "../x"]),
        max_size=6,
    )
)
def test_the_form_of_the_page_becomes_filters_or_is_refused(fields: dict[str, str]) -> None:
    chosen = MemoryFilter.of(fields)
    assert MemoryFilter.of(chosen.parameters()).parameters() == chosen.parameters()
    with contextlib.suppress(InvalidInput):
        wanted = chosen.for_list()
        Sort.parse(wanted.pop("sort"), wanted.pop("order"))
        ItemFilter.parse(wanted)


@FUZZ
@given(mutated([f"{ROOT}/notes.md", f"{ROOT}/a/../b", "/memories", "C:\\x", f"{ROOT}//%2e%2e/x"]))
def test_a_path_of_a_memory_file_leads_nowhere_else(path: str) -> None:
    with contextlib.suppress(InvalidValue):
        key = key_of("path", path)
        names = key.split("/")[1:]
        assert all(name.strip(".") for name in names)
        assert key_of("path", shown(key)) == key


@FUZZ_SLOWLY
@given(data=st.data())
def test_whatever_a_model_calls_it_is_told_in_json(file_store: Memory, data: st.DataObject) -> None:
    user = fresh_user(file_store)
    tools = Tools(user, "standard", "query", "profile")
    name, arguments = data.draw(st.sampled_from(TOOL_CALLS))
    name = data.draw(st.just(name) | st.sampled_from(tools.names) | odd_texts)
    names = ["query", "limit", "content", "category", "filters", "fields", "id", "tags", "type"]
    given_value: Any = data.draw(
        altered([arguments], names) | mutated([json.dumps(arguments)]) | anything
    )
    told = tools.call(name, given_value)
    told.encode("utf-8")
    assert isinstance(json.loads(told), dict)


@FUZZ_SLOWLY
@given(data=st.data())
def test_what_is_stored_of_odd_values_comes_back_or_is_refused(
    store: Memory, data: st.DataObject
) -> None:
    user = fresh_user(store)
    fields = {
        "theme": odd_texts,
        "key": odd_texts,
        "tags": st.lists(odd_texts, max_size=3),
        "source_context": odd_texts,
        "valid_from": mutated(MOMENTS),
        "expires_at": mutated(MOMENTS),
        "created_at": st.datetimes(timezones=st.just(UTC)) | st.dates(),
        "run_id": odd_texts,
        "importance": st.integers(0, 6),
    }
    chosen = data.draw(st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True))
    values = {name: data.draw(fields[name]) for name in chosen}
    content = data.draw(odd_texts)
    try:
        added = user.add(content, **values)
    except RicordoError:
        assert user.revision() == 0
        return
    found = user.get(added.id, include_deleted=True)
    assert found.content == content.strip()
    for sort in data.draw(st.lists(st.sampled_from(SortColumn), max_size=2)):
        page = user.list(sort=sort, limit=1, status="any")
        with contextlib.suppress(InvalidCursor):
            cursor = page.next_cursor or data.draw(mutated(CURSORS) | odd_texts)
            user.list(sort=sort, limit=1, status="any", cursor=cursor)


def test_dates_at_both_ends_of_time_are_refused_or_taken() -> None:
    for value in (date.min, date.max, datetime.min.replace(tzinfo=UTC)):
        assert parse_moment("at", value).tzinfo is UTC
