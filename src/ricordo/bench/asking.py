"""What an agent's question costs with everything in it, and what a relation costs a write."""

from itertools import pairwise
from typing import Final

from ricordo.bench.figures import Figure, judged
from ricordo.bench.ground import USER, Ground, synthetic
from ricordo.bench.latency import latency, times_ms
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.storage.relations import add_relations
from ricordo.wiring import open_memory

_QUERY_FLOOR_MS: Final = 150.0
_RELATION_FLOOR_MS: Final = 2.0
_WARM_UP: Final = 3
_RELATIONS: Final = 100


def query_figures(ground: Ground) -> list[Figure]:
    """``query`` for bullets, embedding the query with the shipped model included."""
    (searches,) = ground.small.searches
    with open_memory(ground.small.url, run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(searches.user)
        for text in searches.queries[:_WARM_UP]:
            user.query(None, text)
        times = latency(times_ms(lambda text: user.query(None, text), searches.queries))
    name = f"query for bullets, {ground.sizes.small:,} memories, with embedding"
    full = ground.sizes.are_full
    return [
        judged(f"{name}, p50", times.p50_ms, "ms"),
        judged(f"{name}, p95", times.p95_ms, "ms", floor=_QUERY_FLOOR_MS, at_full_size=full),
    ]


def relation_figures(ground: Ground) -> list[Figure]:
    """One more edge in a write that is under way."""
    with synthetic(ground.small.url) as memory:
        ids = [item.id for item in memory.user(USER).list(limit=_RELATIONS + 1)]
        with memory.database.write(USER) as writing:
            pairs = list(pairwise(ids))
            times = latency(times_ms(lambda pair: add_relations(writing, [(*pair, 0.9)]), pairs))
    full = ground.sizes.are_full
    return [
        judged(
            "a relation at write, p95",
            times.p95_ms,
            "ms",
            floor=_RELATION_FLOOR_MS,
            at_full_size=full,
        )
    ]
