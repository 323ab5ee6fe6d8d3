"""The same contents give the same answers: on both databases, in memory and in the database."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.searching import ENGINES, WIDTH

pytestmark = pytest.mark.requirement("recall.congruence")

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
numbers = itertools.count()

pieces = st.sampled_from(
    [
        *("tea", "green tea", "user_prefs_v2", "getUserById", "ERR-4512", "nasi goreng", "Straße"),
        *("naïve café", "東京駅", "🎸", "C++", "boats", "boating", "in May 2025", "o'clock"),
        *("100%", "the"),
    ]
)
texts = st.lists(pieces, min_size=1, max_size=5).map(" ".join)
days = st.integers(-400, 0).map(lambda number: START + timedelta(days=number))
drafts = st.lists(
    st.fixed_dictionaries(
        {"content": texts},
        optional={
            "theme": st.sampled_from(["work", "food"]),
            "type": st.sampled_from(["fact", "insight", "episode", "preference"]),
            "key": st.sampled_from([None, "k1", "k2"]),
            "tags": st.lists(st.sampled_from(["tea", "urgent"]), max_size=2),
            "importance": st.integers(1, 5),
            "confidence": st.integers(0, 100),
            "created_at": days,
        },
    ),
    min_size=1,
    max_size=15,
)
queries = st.lists(
    st.lists(pieces | st.sampled_from(["grene", "boatt", "tae", "ERR", "*"]), max_size=3).map(
        " ".join
    ),
    min_size=1,
    max_size=4,
)
wanted = st.sampled_from(
    [{}, {"status": "any"}, {"theme": "work"}, {"types": ["fact", "insight"]}, {"tags": "tea"}]
)


@dataclass(frozen=True)
class Stores:
    """One store on each database, each opened with both engines."""

    written: list[Memory]
    searched: dict[str, list[Memory]]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, postgres_database: str) -> Iterator[Stores]:
    postgres.empty(postgres_database)
    path: Path = tmp_path_factory.mktemp("agrees") / "ricordo.db"
    clock = ManualClock(START)
    opened: dict[str, list[Memory]] = {
        engine: [
            open_memory(
                url, clock=clock, run_jobs=False, embedder=WordEmbedder(WIDTH), **ENGINES[engine]
            )
            for url in (str(path), postgres_database)
        ]
        for engine in ENGINES
    }
    yield Stores(opened["indexes"], opened)
    for memories in opened.values():
        for memory in memories:
            memory.close()


def answers(memory: Memory, user_id: str, query: str, **filters: Any) -> list[tuple[int, float]]:
    """Places in the order of their ids, because ids need not be the same numbers."""
    user = memory.user(user_id)
    ids = sorted(item.id for item in user.list(limit=1000, status="any"))
    found = user.search(query, limit=50, **filters)
    return [(ids.index(hit.id), hit.score) for hit in found]


def assert_alike(
    stores: Stores,
    first: list[dict[str, Any]],
    second: list[dict[str, Any]],
    asked: list[str],
    filters: dict[str, Any],
) -> None:
    user_id = f"user-{next(numbers)}"
    for memory in stores.written:
        user = memory.user(user_id)
        user.add_many([{**draft, "key": None} for draft in first])
        user.search(asked[0])  # from here on the index in memory follows
        for draft in second:
            user.add(**{**draft, "created_at": None})
    for query in asked:
        found = {
            engine: [answers(memory, user_id, query, **filters) for memory in memories]
            for engine, memories in stores.searched.items()
        }
        for sqlite, postgresql in found.values():
            assert [place for place, _ in sqlite] == [place for place, _ in postgresql]
            assert [score for _, score in sqlite] == pytest.approx(
                [score for _, score in postgresql], abs=1e-4
            )
        in_memory, in_database = (dict(found[engine][0]) for engine in ENGINES)
        assert set(in_memory) == set(in_database)
        # Where words match nearly alike, normalising makes much of little differences between the
        # engines: the best of one is near the best of the other, or among its first.
        best = [place for place, _ in found["database"][0][:1]]
        first_in_memory = list(in_memory)[:3]
        assert all(
            place in first_in_memory or in_memory[place] >= max(in_memory.values()) - 0.25
            for place in best
        )


def test_a_few_memories_are_found_alike(stores: Stores) -> None:
    kept = [{"content": "green tea in May 2025", "key": "k"}, {"content": "boats and naïve café"}]
    new = [{"content": "getUserById", "tags": ["tea"]}, {"content": "green boats", "key": "k"}]
    assert_alike(stores, kept, new, ["grene tea", "boating", "cafe"], {"status": "any"})


@pytest.mark.slow
@settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
)
@given(first=drafts, second=drafts, asked=queries, filters=wanted)
def test_memories_are_found_alike(
    stores: Stores,
    first: list[dict[str, Any]],
    second: list[dict[str, Any]],
    asked: list[str],
    filters: dict[str, Any],
) -> None:
    assert_alike(stores, first, second, asked, filters)
