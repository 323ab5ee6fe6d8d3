"""What the interface of LangGraph's stores documents, on its own store and on ours."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from ricordo import Memory
from ricordo.integrations.langgraph import RicordoStore
from tests.conftest import BACKENDS
from tests.integrations.stores import names, reference_store


@pytest.fixture(params=["reference", *BACKENDS])
def store(request: pytest.FixtureRequest, open_store: Callable[..., Memory]) -> BaseStore:
    """The reference, and ours on each database."""
    if request.param == "reference":
        return reference_store()
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return RicordoStore(open_store(url).user("ana"))


@pytest.mark.requirement("checkpoints.store")
def test_what_is_put_is_got(store: BaseStore) -> None:
    value = {"text": "tea", "nested": {"list": [1, 2.5, None, True]}, "": "é語"}
    store.put(("users", "1"), "prefs", value)
    found = store.get(("users", "1"), "prefs")
    assert found is not None
    assert (found.value, found.key, found.namespace) == (value, "prefs", ("users", "1"))
    assert found.created_at.tzinfo is not None
    assert found.updated_at >= found.created_at
    assert store.get(("users",), "prefs") is None
    assert store.get(("users", "1"), "other") is None
    assert store.get(("users", "1", "2"), "prefs") is None


@pytest.mark.requirement("checkpoints.store")
def test_a_put_replaces(store: BaseStore) -> None:
    store.put(("a",), "k", {"text": "one", "more": 1})
    store.put(("a",), "k", {"text": "two"})
    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == {"text": "two"}
    assert len(store.search(("a",))) == 1


@pytest.mark.requirement("checkpoints.store")
def test_a_delete_removes(store: BaseStore) -> None:
    store.put(("a",), "k", {"text": "one"})
    store.put(("a",), "other", {"text": "two"})
    store.delete(("a",), "k")
    store.delete(("a",), "never")
    assert store.get(("a",), "k") is None
    assert names(store.search(("a",))) == [(("a",), "other")]
    assert names(store.search(("a",), query="one")) == [(("a",), "other")]


@pytest.mark.requirement("checkpoints.store")
def test_what_was_read_is_a_copy(store: BaseStore) -> None:
    given_value: dict[str, Any] = {"list": [1]}
    store.put(("a",), "k", given_value)
    given_value["list2"] = 2
    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == {"list": [1]}


@pytest.mark.requirement("checkpoints.store")
@pytest.mark.parametrize(
    ("namespace", "message"),
    [
        ((), "cannot be empty"),
        (("a.b",), "cannot contain periods"),
        (("a", ""), "cannot be empty"),
        (("a", 1), "must be strings"),
        (("langgraph", "a"), 'cannot be "langgraph"'),
        (("a\x00",), "NUL"),
    ],
)
def test_namespaces_that_are_not_allowed(store: BaseStore, namespace: Any, message: str) -> None:
    with pytest.raises(InvalidNamespaceError, match=message):
        store.put(namespace, "k", {"text": "x"})


@pytest.mark.requirement("checkpoints.store")
def test_filters(store: BaseStore) -> None:
    for number in range(6):
        value = {"n": number, "even": number % 2 == 0, "in": {"a": number, "b": [number]}}
        store.put(("docs",), f"d{number}", value)

    def keys(wanted: dict[str, Any]) -> set[str]:
        return {one.key for one in store.search(("docs",), filter=wanted, limit=20)}

    assert keys({"n": 3}) == keys({"n": {"$eq": 3}}) == {"d3"}
    assert keys({"n": {"$ne": 3}}) == {"d0", "d1", "d2", "d4", "d5"}
    assert keys({"n": {"$gt": 3}}) == {"d4", "d5"}
    assert keys({"n": {"$gte": 3}}) == {"d3", "d4", "d5"}
    assert keys({"n": {"$lt": 2}}) == {"d0", "d1"}
    assert keys({"n": {"$lte": 2}}) == {"d0", "d1", "d2"}
    assert keys({"n": {"$gt": 1, "$lt": 4}}) == {"d2", "d3"}
    assert keys({"even": True, "n": {"$gt": 1}}) == {"d2", "d4"}
    assert keys({"in": {"a": 2}}) == {"d2"}
    assert keys({"in": {"b": [4]}}) == {"d4"}
    assert keys({"absent": None}) == {f"d{number}" for number in range(6)}
    assert keys({"absent": 1}) == set()
    found = store.search(("docs",), query="n even", filter={"n": {"$gte": 4}})
    assert {one.key for one in found} == {"d4", "d5"}


@pytest.mark.requirement("checkpoints.store")
def test_limits_and_offsets(store: BaseStore) -> None:
    for number in range(12):
        store.put(("docs", str(number % 2)), f"d{number:02}", {"n": number})
    assert len(store.search(("docs",))) == 10
    pages = [store.search(("docs",), limit=5, offset=start) for start in (0, 5, 10, 15)]
    assert [len(page) for page in pages] == [5, 5, 2, 0]
    assert len({name for page in pages for name in names(page)}) == 12
    assert len(store.search(("docs", "1"), limit=20)) == 6
    assert len(store.search((), limit=20)) == 12
    filtered = store.search(("docs",), filter={"n": {"$gte": 6}}, limit=4, offset=4)
    assert len(filtered) == 2


@pytest.mark.requirement("checkpoints.store")
def test_prefixes_are_whole_labels(store: BaseStore) -> None:
    for namespace in [("a",), ("a", "b"), ("ab",), ("a-b",), ("a", "b", "c"), ("b", "a")]:
        store.put(namespace, "k", {"text": "x"})
    found = {one.namespace for one in store.search(("a",), limit=20)}
    assert found == {("a",), ("a", "b"), ("a", "b", "c")}


@pytest.mark.requirement("checkpoints.store")
def test_meaning(store: BaseStore) -> None:
    store.put(("notes",), "tea", {"text": "she drinks green tea"})
    store.put(("notes",), "dog", {"text": "the dog barks at night"})
    store.put(("other",), "tea", {"text": "green tea elsewhere"})
    found = store.search(("notes",), query="green tea")
    assert names(found)[0] == (("notes",), "tea")
    assert found[0].score is not None
    assert [one.namespace for one in found] == [("notes",)] * len(found)
    first = store.search(("notes",), query="the dog barks", limit=1)
    assert names(first) == [(("notes",), "dog")]
    scores = [one.score for one in store.search((), query="green tea")]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]


@pytest.mark.requirement("checkpoints.store")
def test_only_the_named_fields_are_searched(store: BaseStore) -> None:
    value = {"title": "gardening", "parts": [{"text": "roses"}, {"text": "tulips"}]}
    store.put(("docs",), "titled", value, index=["title"])
    store.put(("docs",), "parted", value, index=["parts[*].text"])
    store.put(("docs",), "found", {"title": "cooking"}, index=["title"])
    best = store.search(("docs",), query="tulips", limit=1)
    assert names(best) == [(("docs",), "parted")]
    assert names(store.search(("docs",), query="gardening", limit=1)) == [(("docs",), "titled")]


@pytest.mark.requirement("checkpoints.store")
def test_what_is_not_indexed_can_still_be_got_and_listed(store: BaseStore) -> None:
    store.put(("docs",), "hidden", {"text": "green tea"}, index=False)
    store.put(("docs",), "shown", {"text": "green tea"})
    assert store.get(("docs",), "hidden") is not None
    assert len(store.search(("docs",))) == 2
    scored = [one.key for one in store.search(("docs",), query="tea") if one.score is not None]
    assert scored == ["shown"]


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "1", "v1"),
    ("users", "2", "v1"),
    ("users", "2", "v2"),
]


@pytest.mark.requirement("checkpoints.store")
def test_listing_namespaces(store: BaseStore) -> None:
    for namespace in NAMESPACES:
        store.put(namespace, "k", {"text": "x"})
        store.put(namespace, "k2", {"text": "x"})
    assert store.list_namespaces() == sorted(NAMESPACES)
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(suffix=("f",)) == [
        ("a", "b", "f"),
        ("a", "c", "f"),
        ("b", "a", "f"),
    ]
    assert store.list_namespaces(prefix=("users", "*", "v1")) == NAMESPACES[6:8]
    assert store.list_namespaces(suffix=("2", "*")) == NAMESPACES[7:9]
    assert store.list_namespaces(prefix=("a",), suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("b",), ("users",)]
    assert store.list_namespaces(limit=2, offset=1) == sorted(NAMESPACES)[1:3]
    assert store.list_namespaces(prefix=("nothing",)) == []


@pytest.mark.requirement("checkpoints.store")
def test_a_batch_reads_what_was_there_before_it(store: BaseStore) -> None:
    store.put(("a",), "old", {"n": 1})
    results = store.batch(
        [
            PutOp(("a",), "new", {"n": 2}),
            GetOp(("a",), "new"),
            GetOp(("a",), "old"),
            SearchOp(("a",)),
            ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
            PutOp(("a",), "old", None),
            PutOp(("b",), "k", {"n": 3}),
            PutOp(("b",), "k", {"n": 4}),
        ]
    )
    assert results[0] is None
    assert results[1] is None
    assert results[2].value == {"n": 1}  # type: ignore[union-attr]
    assert [one.key for one in results[3]] == ["old"]  # type: ignore[union-attr]
    assert results[4] == [("a",)]
    assert results[5:] == [None, None, None]
    assert store.get(("a",), "old") is None
    assert store.get(("b",), "k").value == {"n": 4}  # type: ignore[union-attr]


@pytest.mark.requirement("checkpoints.store")
def test_the_same_asynchronously(store: BaseStore) -> None:
    async def run() -> None:
        await store.aput(("a",), "k", {"text": "green tea"}, index=["text"])
        await store.aput(("a", "b"), "k", {"text": "a dog"}, index=["text"])
        found = await store.aget(("a",), "k")
        assert found is not None
        assert found.value == {"text": "green tea"}
        assert len(await store.asearch(("a",))) == 2
        best = await store.asearch(("a",), query="tea", limit=1)
        assert names(best) == [(("a",), "k")]
        assert await store.alist_namespaces() == [("a",), ("a", "b")]
        await store.adelete(("a",), "k")
        assert await store.aget(("a",), "k") is None

    asyncio.run(run())


labels = st.sampled_from(["a", "b", "a-b", "é", "x y"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(["k", "k.1", "", "ключ", "a b"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["x", "y", ""]))
values = st.dictionaries(
    st.sampled_from(["n", "s", "deep"]),
    st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.just("n"), scalars)),
    max_size=3,
)
operations = st.lists(
    st.tuples(namespaces, keys, st.one_of(st.none(), values), st.booleans()), max_size=12
)
plain_filters = st.dictionaries(
    st.sampled_from(["n", "s", "deep"]),
    st.one_of(
        scalars,
        st.fixed_dictionaries({"n": scalars}),
        scalars.map(lambda one: {"$eq": one}),
        scalars.map(lambda one: {"$ne": one}),
    ),
    max_size=2,
)
paths = st.lists(st.one_of(labels, st.just("*")), max_size=2).map(tuple)


@pytest.mark.requirement("checkpoints.store")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    done=operations,
    prefix=namespaces,
    wanted=plain_filters,
    begins=paths,
    ends=paths,
    depth=st.one_of(st.none(), st.integers(1, 3)),
)
def test_random_operations_end_like_those_of_the_reference(
    memory: Memory,
    done: list[Any],
    prefix: tuple[str, ...],
    wanted: dict[str, Any],
    begins: tuple[str, ...],
    ends: tuple[str, ...],
    depth: int | None,
) -> None:
    user = memory.user("ana")
    user.add("Is here already")
    memory.erase_user("ana")
    ours = RicordoStore(user)
    kept: dict[tuple[tuple[str, ...], str], Any] = {}
    for namespace, key, value, is_indexed in done:
        if value is None:
            ours.delete(namespace, key)
            kept.pop((namespace, key), None)
        else:
            ours.put(namespace, key, value, index=None if is_indexed else False)
            kept[namespace, key] = value
    reference = InMemoryStore()  # made anew: it also lists namespaces that became empty
    for (namespace, key), value in kept.items():
        reference.put(namespace, key, value)
    for namespace, key, _, _ in done:
        one, other = ours.get(namespace, key), reference.get(namespace, key)
        assert (one and one.value) == (other and other.value)

    def everything(store: BaseStore, **asked: Any) -> dict[Any, Any]:
        found = store.search(prefix[:1], limit=100, **asked)
        return {(one.namespace, one.key): one.value for one in found}

    assert everything(ours) == everything(reference)
    assert everything(ours, filter=wanted) == everything(reference, filter=wanted)
    reference = InMemoryStore()
    for (namespace, key), value in kept.items():
        reference.put(namespace, key, value)
    asked: dict[str, Any] = {"prefix": begins, "suffix": ends, "max_depth": depth}
    assert ours.list_namespaces(**asked) == reference.list_namespaces(**asked)
