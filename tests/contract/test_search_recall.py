"""A filter combined with a search loses nothing: held against looking at every memory."""

import itertools
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.indexing import bm25
from ricordo.testing.embedder import WordEmbedder
from tests.support import postgres
from tests.support.searching import WIDTH, Searching

CANDIDATES = 10
numbers = itertools.count()
VOCABULARY = ("tea", "boat", "lemon", "cat", "garden", "rain", "piano", "bread", "snow")
words = st.sampled_from(VOCABULARY)
texts = st.lists(words, min_size=1, max_size=6).map(" ".join)
drafts = st.lists(
    st.fixed_dictionaries(
        {
            "content": texts,
            "theme": st.sampled_from(["a", "b", "c"]),
            "type": st.sampled_from(["fact", "preference", "episode"]),
            "importance": st.integers(1, 5),
            "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True),
            "pinned": st.booleans(),
        }
    ),
    min_size=25,
    max_size=60,
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "theme": st.sampled_from(["a", "b", ["a", "c"]]),
        "types": st.sampled_from(["fact", ["episode", "preference"]]),
        "tags": st.sampled_from(["x", ["x", "y"]]),
        "importance_min": st.integers(1, 5),
        "pinned": st.booleans(),
        "status": st.sampled_from(["active", "archived", "any"]),
        "contains": words,
    },
)


@pytest.fixture
def noisy(searching: Searching) -> Memory:
    """A store in which most of what is near belongs to somebody else."""
    memory = searching.open(candidates=CANDIDATES, global_until=0, relations_per_memory=0)
    memory.user("noise").add_many(
        [" ".join(pair) for pair in itertools.permutations(VOCABULARY, 2)] * 2
        + [" ".join(three) for three in itertools.combinations(VOCABULARY, 3)]
    )
    return memory


@pytest.mark.requirement("recall.filters-exact")
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    given_drafts=drafts,
    archived=st.sets(st.integers(0, 24), max_size=12),
    asked=st.lists(st.tuples(texts, filters), min_size=2, max_size=4),
)
def test_the_best_that_pass_are_all_there(
    noisy: Memory,
    given_drafts: list[dict[str, Any]],
    archived: set[int],
    asked: list[tuple[str, dict[str, Any]]],
) -> None:
    user = noisy.user(f"user-{next(numbers)}")
    added = user.add_many(given_drafts)
    for place in archived:
        if user.get(added[place].id).status == "active":
            user.archive(added[place].id)
    embedder = WordEmbedder(WIDTH)
    for query, wanted in asked:
        passing = user.list(limit=1000, **wanted).items
        found = user.search(query, limit=50, **wanted)
        ids = {hit.id for hit in found}
        assert ids <= {item.id for item in passing}
        if not passing:
            continue
        near = embedder.embed([item.content for item in passing]) @ embedder.embed([query])[0]
        cut = np.sort(near)[::-1][:CANDIDATES].min()
        assert {
            item.id for item, cosine in zip(passing, near, strict=True) if cosine > cut + 1e-5
        } <= ids
        assert len(ids) >= min(CANDIDATES, len(passing))
        assert_best_words(noisy, query, passing, ids)


def assert_best_words(memory: Memory, query: str, passing: Any, ids: set[int]) -> None:
    """Whatever has all words of the question and nothing else cannot be missing."""
    asked = set(memory.database.analyser.query_terms(query))
    weights = dict.fromkeys(asked, 1.0)
    terms = {item.id: memory.database.analyser.terms(item.content) for item in passing}
    whole = [item.id for item in passing if set(terms[item.id]) == asked]
    best = sorted(whole, key=lambda one: -bm25.score(" ".join(terms[one]), weights, 4.0))
    if len(whole) <= CANDIDATES // 2:
        assert set(best) <= ids


@pytest.mark.requirement("recall.filters-exact")
def test_the_vector_index_of_postgresql_walks_on_past_others(
    postgres_url: str, open_store: Any
) -> None:
    """Three of hundreds of near rows pass; an index walk that gives up early finds fewer."""
    memory = open_store(
        postgres_url,
        embedder=WordEmbedder(WIDTH),
        index_cache_mb=0,
        exact_scan_rows=0,
        relations_per_memory=0,
    )
    for name in ("noise", "more noise"):
        memory.user(name).add_many([f"tea tea tea {number}" for number in range(500)])
    ana = memory.user("ana")
    ana.add_many([f"tea tea tea {number}" for number in range(100)])
    far = [one.id for one in ana.add_many([f"boat {n}" for n in range(3)])]
    for item_id in far:
        ana.pin(item_id)
    with psycopg.connect(postgres.as_owner(postgres_url), autocommit=True) as connection:
        connection.execute("ANALYZE")
    assert {hit.id for hit in ana.search("tea tea tea", pinned=True)} == set(far)
    assert len(ana.search("tea tea tea", limit=50)) == 50
