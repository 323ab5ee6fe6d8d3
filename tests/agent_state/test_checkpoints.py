"""States that programs save per conversation."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import (
    CheckpointNotFound,
    Conflict,
    InvalidCursor,
    InvalidValue,
    Memory,
    ScopeWidened,
    UserMemory,
)
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite

pytestmark = pytest.mark.requirement("checkpoints.states")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(2**64, 2**200),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Equal to the last digit and in the order of keys: 1, 1.0 and True are three."""
    return json.dumps(one) == json.dumps(other)


@given(state=json_values)
def test_any_json_value_comes_back_exactly(ana: UserMemory, state: Any) -> None:
    saved = ana.save_checkpoint("t", state)
    loaded = ana.load_checkpoint("t")
    assert same(saved.state, state)
    assert same(loaded.state, state)
    assert (loaded.version, loaded.thread_id) == (saved.version, "t")


def test_the_edges_come_back_too(ana: UserMemory) -> None:
    edges = [None, "", [], {}, 0, -0.0, 1e-320, [10**400], "\x00\x1f\u2028😀", {"": {"": []}}]
    for state in edges:
        ana.save_checkpoint("t", state)
        assert same(ana.load_checkpoint("t").state, state)


def test_what_was_saved_is_a_copy(ana: UserMemory) -> None:
    state: dict[str, Any] = {"list": [1], "pair": (1, 2)}
    saved = ana.save_checkpoint("t", state)
    state["list"].append(2)
    assert saved.state == ana.load_checkpoint("t").state == {"list": [1], "pair": [1, 2]}


def nested(depth: int) -> Any:
    state: Any = 1
    for _ in range(depth):
        state = [state]
    return state


@on_sqlite
def test_what_is_not_json_is_refused(ana: UserMemory) -> None:
    circle: list[Any] = []
    circle.append(circle)
    refused: list[tuple[Any, str]] = [
        (float("nan"), "is not JSON"),
        ({"a": [float("inf")]}, "is not JSON"),
        ({"a": {1: "one"}}, "key 1 is not text"),
        ({None: 1}, "key None is not text"),
        ([{True: 1}], "key True is not text"),
        ({"a": {1, 2}}, "type set is not JSON serializable"),
        (b"bytes", "type bytes is not JSON serializable"),
        ({"a": "\ud800"}, "lone surrogates"),
        ({"\ud800": "a"}, "lone surrogates"),
        (["x" * (8 * 1024 * 1024)], "8388612 bytes as JSON; allowed: at most 8388608"),
        ([10**5_000], "is not JSON"),
        (nested(201), "nested more than 200 deep"),
        (nested(5_000), "nested more than 200 deep"),
        (circle, "Circular"),
    ]
    for state, message in refused:
        with pytest.raises(InvalidValue, match=message) as caught:
            ana.save_checkpoint("t", state)
        assert caught.value.field == "state"
    with pytest.raises(CheckpointNotFound):
        ana.load_checkpoint("t")
    ana.save_checkpoint("t", nested(200))
    assert ana.load_checkpoint("t").state == nested(200)


@on_sqlite
def test_names_of_threads_are_checked(ana: UserMemory) -> None:
    names: list[Any] = ["", " t", "a\x00b", "x" * 201, 5]
    for name in names:
        for call in (ana.load_checkpoint, ana.delete_checkpoint):
            with pytest.raises(InvalidValue, match="thread"):
                call(name)
        with pytest.raises(InvalidValue, match="thread"):
            ana.save_checkpoint(name, 1)


def test_nobodys_save_is_overwritten_unseen(ana: UserMemory, clock: ManualClock) -> None:
    first = ana.save_checkpoint("t", "one", expected_version=0)
    with pytest.raises(Conflict, match="'t' is at version 1; no checkpoint was expected"):
        ana.save_checkpoint("t", "other", expected_version=0)
    clock.advance(hours=1)
    second = ana.save_checkpoint("t", "two", expected_version=1)
    assert (first.version, second.version) == (1, 2)
    assert first.created_at == first.updated_at == second.created_at
    assert second.updated_at - second.created_at == timedelta(hours=1)
    with pytest.raises(Conflict, match="'t' is at version 2; version 1 was expected"):
        ana.save_checkpoint("t", "late", expected_version=1)
    with pytest.raises(Conflict, match="'new' has none; version 3 was expected"):
        ana.save_checkpoint("new", "x", expected_version=3)
    with pytest.raises(InvalidValue, match="expected_version: -1"):
        ana.save_checkpoint("t", "x", expected_version=-1)
    assert ana.load_checkpoint("t") == second


def test_of_many_who_save_at_once_one_wins(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(backend_url).user("ana")
    ana.save_checkpoint("t", 0)
    won: list[int] = []
    lost: list[str] = []
    together = threading.Barrier(6)

    def save(number: int) -> None:
        together.wait()
        try:
            ana.save_checkpoint("t", number, expected_version=1)
            won.append(number)
        except Conflict as problem:
            lost.append(str(problem))

    threads = [threading.Thread(target=save, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    assert ana.load_checkpoint("t").state == won[0]


def test_lists_are_paged_the_latest_first(ana: UserMemory, clock: ManualClock) -> None:
    for number in range(5):
        ana.save_checkpoint(f"t{number}", "é" * number)
        clock.advance(minutes=number // 2)
    first = ana.checkpoints(limit=3)
    rest = ana.checkpoints(limit=3, cursor=first.next_cursor)
    listed = [*first, *rest]
    assert [one.thread_id for one in listed] == ["t4", "t3", "t2", "t1", "t0"]
    assert [one.size_bytes for one in listed] == [10, 8, 6, 4, 2]
    assert rest.next_cursor is None
    assert not hasattr(listed[0], "state")
    with pytest.raises(InvalidCursor):
        ana.checkpoints(cursor="nonsense")


def test_deleting_what_was_seen(ana: UserMemory, memory: Memory) -> None:
    assert ana.delete_checkpoint("t") is ana.delete_checkpoint("t", expected_version=0) is False
    assert memory.users() == ()
    with pytest.raises(Conflict, match="'t' has none; version 1 was expected"):
        ana.delete_checkpoint("t", expected_version=1)
    ana.save_checkpoint("t", "one")
    ana.save_checkpoint("t", "two")
    with pytest.raises(Conflict, match="'t' is at version 2; version 1 was expected"):
        ana.delete_checkpoint("t", expected_version=1)
    with pytest.raises(InvalidValue, match="expected_version: -1"):
        ana.delete_checkpoint("t", expected_version=-1)
    assert ana.load_checkpoint("t").state == "two"
    assert ana.delete_checkpoint("t", expected_version=2) is True
    assert ana.delete_checkpoint("t") is False
    with pytest.raises(CheckpointNotFound, match="no checkpoint of thread 't'"):
        ana.load_checkpoint("t")


def test_users_are_kept_apart(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    ana.save_checkpoint("t", "ana's")
    with pytest.raises(CheckpointNotFound):
        ben.load_checkpoint("t")
    assert ben.delete_checkpoint("t") is False
    assert len(ben.checkpoints()) == 0
    ben.save_checkpoint("t", "ben's", expected_version=0)
    assert ana.load_checkpoint("t").state == "ana's"


def test_a_scope_bound_to_a_thread_refuses_others(memory: Memory) -> None:
    memory.user("ana").save_checkpoint("other", 1)
    bound = memory.user("ana", thread="own")
    bound.save_checkpoint("own", 2)
    for call in (
        lambda: bound.save_checkpoint("other", 3),
        lambda: bound.load_checkpoint("other"),
        lambda: bound.delete_checkpoint("other"),
    ):
        with pytest.raises(ScopeWidened):
            call()
    assert [one.thread_id for one in bound.checkpoints()] == ["own"]
