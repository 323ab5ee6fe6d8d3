"""What the interface of LangGraph's stores documents, on its own store and on ours."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from ricordo import Memory
from ricordo.integrations.langgraph import RicordoStore
from ricordo.testing import WordEmbedder

pytestmark = pytest.mark.requirement("checkpoints.store")


def reference_store() -> BaseStore:
    """LangGraph's own store, with the same vectors of words as our tests have."""
    embedder = WordEmbedder()

    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(one) for one in vector] for vector in embedder.embed(texts)]

    return InMemoryStore(index={"dims": embedder.width, "embed": embed})


def names(found: Iterable[Item]) -> list[tuple[tuple[str, ...], str]]:
    """What names the items of a search."""
    return [(one.namespace, one.key) for one in found]


@pytest.fixture(
    params=["reference", "sqlite", pytest.param("postgresql", marks=pytest.mark.matrix)]
)
def store(request: pytest.FixtureRequest, open_store: Callable[..., Memory]) -> BaseStore:
    """The reference, and ours on each database."""
    if request.param == "reference":
        return reference_store()
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return RicordoStore(open_store(url).user("ana"))


def test_what_is_put_is_got_replaced_and_deleted(store: BaseStore) -> None:
    value = {"text": "tea", "nested": {"list": [1, 2.5, None, True]}, "": "é語"}
    given_value: dict[str, Any] = dict(value)
    store.put(("users", "1"), "prefs", given_value)
    given_value["more"] = 2
    found = store.get(("users", "1"), "prefs")
    assert found is not None
    assert (found.value, found.key, found.namespace) == (value, "prefs", ("users", "1"))
    assert found.created_at.tzinfo is not None
    assert found.updated_at >= found.created_at
    for namespace, key in ((("users",), "prefs"), (("users", "1"), "other"), (("user",), "prefs")):
        assert store.get(namespace, key) is None
    store.put(("users", "1"), "prefs", {"text": "coffee"})
    store.put(("users-1",), "prefs", {"text": "a label of its own"})
    (found,) = store.search(("users",))
    assert found.value == {"text": "coffee"}
    store.delete(("users", "1"), "prefs")
    store.delete(("users", "1"), "never")
    assert store.search(("users",)) == store.search(("users",), query="coffee") == []


def test_namespaces_that_are_not_allowed(store: BaseStore) -> None:
    wrong: dict[Any, str] = {
        (): "cannot be empty",
        ("a.b",): "cannot contain periods",
        ("a", ""): "cannot be empty",
        ("a", 1): "must be strings",
        ("langgraph", "a"): 'cannot be "langgraph"',
    }
    for namespace, message in wrong.items():
        with pytest.raises(InvalidNamespaceError, match=message):
            store.put(namespace, "k", {"text": "x"})


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


def test_limits_and_offsets(store: BaseStore) -> None:
    for number in range(12):
        store.put(("docs", str(number % 2)), f"d{number:02}", {"n": number})
    assert len(store.search(("docs",))) == 10
    pages = [store.search(("docs",), limit=5, offset=start) for start in (0, 5, 10, 15)]
    assert [len(page) for page in pages] == [5, 5, 2, 0]
    assert len({name for page in pages for name in names(page)}) == 12
    assert len(store.search(("docs", "1"), limit=20)) == 6
    assert len(store.search((), limit=20)) == 12
    assert len(store.search(("docs",), filter={"n": {"$gte": 6}}, limit=4, offset=4)) == 2
    assert store.list_namespaces(prefix=("*", "0")) == [("docs", "0")]
    assert store.list_namespaces(limit=1, offset=1) == [("docs", "1")]
    assert store.list_namespaces(max_depth=1) == [("docs",)]


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


def test_only_the_named_fields_are_searched(store: BaseStore) -> None:
    value = {"title": "gardening", "parts": [{"text": "roses"}, {"text": "tulips"}]}
    store.put(("docs",), "titled", value, index=["title"])
    store.put(("docs",), "parted", value, index=["parts[*].text"])
    store.put(("docs",), "hidden", value, index=False)
    assert names(store.search(("docs",), query="tulips", limit=1)) == [(("docs",), "parted")]
    assert names(store.search(("docs",), query="gardening", limit=1)) == [(("docs",), "titled")]
    assert store.get(("docs",), "hidden") is not None
    assert len(store.search(("docs",))) == 3
    found = store.search(("docs",), query="gardening")
    assert {one.key for one in found if one.score is not None} == {"titled", "parted"}


def test_a_batch_reads_what_was_there_before_it(store: BaseStore) -> None:
    store.put(("a",), "old", {"n": 1})
    results: list[Any] = store.batch(
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
    assert [results[at] for at in (0, 1, 5, 6, 7)] == [None] * 5
    assert results[2].value == {"n": 1}
    assert [one.key for one in results[3]] == ["old"]
    assert results[4] == [("a",)]
    assert store.get(("a",), "old") is None
    found = store.get(("b",), "k")
    assert found is not None and found.value == {"n": 4}


def test_the_same_asynchronously(store: BaseStore) -> None:
    async def run() -> None:
        await store.aput(("a",), "k", {"text": "green tea"}, index=["text"])
        await store.aput(("a", "b"), "k", {"text": "a dog"}, index=["text"])
        found = await store.aget(("a",), "k")
        assert found is not None and found.value == {"text": "green tea"}
        assert names(await store.asearch(("a",), query="tea", limit=1)) == [(("a",), "k")]
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


@pytest.mark.slow
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
