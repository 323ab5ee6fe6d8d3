"""How fast a search is: many memories, many users, one database beside the other."""

import contextlib
from typing import Final

from ricordo.bench.figures import Figure, judged
from ricordo.bench.ground import (
    USER,
    Ground,
    Sizes,
    search_latencies,
    search_latency,
    synthetic,
)
from ricordo.bench.latency import Latency
from ricordo.errors import UserNotFound

_SMALL_FLOOR_MS: Final = 15.0
_LARGE_FLOOR_MS: Final = 40.0
_CROWD_FLOOR: Final = 1.5
_POSTGRES_FLOOR: Final = 3.0


def size_figures(ground: Ground) -> list[Figure]:
    """One user with few and with many memories."""
    sizes = ground.sizes
    return [
        *_search_figures(
            f"search, {sizes.small:,} memories",
            search_latency(ground.small),
            floor=_SMALL_FLOOR_MS,
            at_full_size=sizes.are_full,
        ),
        *_search_figures(
            f"search, {sizes.large:,} memories",
            search_latency(ground.large),
            floor=_LARGE_FLOOR_MS,
            at_full_size=sizes.are_full,
        ),
    ]


def crowd_figures(ground: Ground) -> list[Figure]:
    """Many users in one store, by turns with one user alone who has as much as each of them."""
    sizes = ground.sizes
    alone, among_many = search_latencies([ground.loner, ground.crowd])
    return [
        *_search_figures(f"search, 1 user with {sizes.of_each:,}", alone),
        *_search_figures(f"search, {sizes.users:,} users with {sizes.of_each:,} each", among_many),
        *_ratio_figures("many users against one", among_many, alone, _CROWD_FLOOR, sizes),
    ]


def postgres_figures(ground: Ground, postgres_url: str) -> list[Figure]:
    """The same data on both databases, searched by turns. What was stored there is removed."""
    sizes = ground.sizes
    _erase(postgres_url)
    try:
        there_filled = ground.filled(postgres_url, [USER], sizes.small)
        here, there = search_latencies([ground.small, there_filled])
    finally:
        _erase(postgres_url)
    return [
        *_search_figures(f"search on SQLite, by turns, {sizes.small:,} memories", here),
        *_search_figures(f"search on PostgreSQL, by turns, {sizes.small:,} memories", there),
        *_ratio_figures("PostgreSQL against SQLite", there, here, _POSTGRES_FLOOR, sizes),
    ]


def _ratio_figures(
    name: str, these: Latency, those: Latency, floor: float, sizes: Sizes
) -> list[Figure]:
    full = sizes.are_full
    slow_ends = these.p95_ms / those.p95_ms
    return [
        judged(f"{name}, p50", these.p50_ms / those.p50_ms, "times"),
        judged(f"{name}, p95", slow_ends, "times", floor=floor, at_full_size=full),
    ]


def _search_figures(
    name: str, times: Latency, *, floor: float | None = None, at_full_size: bool = True
) -> list[Figure]:
    return [
        judged(f"{name}, p50", times.p50_ms, "ms"),
        judged(f"{name}, p95", times.p95_ms, "ms", floor=floor, at_full_size=at_full_size),
    ]


def _erase(url: str) -> None:
    with synthetic(url) as memory, contextlib.suppress(UserNotFound):
        memory.erase_user(USER)
