"""Measuring speed, and the invented texts that it is measured with, at a size without judgement."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo.errors import InvalidValue, UserNotFound
from ricordo.transfer.exports import Progress, no_progress
from ricordo.wiring import open_memory
from ricordo_bench.figures import Better, judged
from ricordo_bench.speed import Kind, measure_speed, plan_speed
from ricordo_bench.stores import (
    TOPIC_NAMES,
    Ground,
    InventedTexts,
    Sizes,
    SyntheticEmbedder,
    search_latencies,
    synthetic,
)

DEAR = (Kind.START, Kind.USERS, Kind.RESIDENT, Kind.ADD, Kind.SEARCH)


def silent(what: str) -> Progress:
    return no_progress


def test_a_floor_is_met_or_missed() -> None:
    for value, better, met in (
        (10.0, Better.LOWER, True),
        (15.0, Better.LOWER, True),
        (20.0, Better.LOWER, False),
        (20.0, Better.HIGHER, True),
        (10.0, Better.HIGHER, False),
    ):
        assert judged("figure", value, "ms", floor=15.0, better=better).met is met
    assert judged("without", 10.0, "ms").met is None
    assert judged("small", 10.0, "ms", floor=15.0, at_full_size=False).met is None


def test_what_is_planned() -> None:
    full, small = Sizes(100_000, 200), Sizes(200, 4)
    assert (full.small, full.users, full.of_each, full.are_full) == (10_000, 100, 1_000, True)
    assert (small.small, small.users, small.of_each, small.are_full) == (20, 100, 2, False)
    assert plan_speed().kinds == tuple(kind for kind in Kind if kind is not Kind.POSTGRES)
    assert plan_speed(postgres_url="postgresql://x").kinds == tuple(Kind)
    assert plan_speed(["search", "start"]).kinds == (Kind.START, Kind.SEARCH)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kinds": ["taste"]}, "kind: 'taste' is not one of: start, add"),
        ({"kinds": ["postgres"]}, "postgres needs the address"),
        ({"size": 5}, "size: 5 is not a whole number from 100"),
        ({"queries": 0}, "queries: 0 is not a whole number"),
    ]
    for given, message in wrong:
        with pytest.raises(InvalidValue, match=message):
            plan_speed(**given)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow if kind in DEAR else ())
        for kind in Kind
        if kind is not Kind.POSTGRES
    ],
)
def test_every_kind_gives_its_figures(kind: Kind, tmp_path: Path) -> None:
    plan = plan_speed([kind], size=200, queries=4)
    figures = list(measure_speed(plan, tmp_path, silent))
    assert figures
    for figure in figures:
        assert figure.name
        assert figure.unit in ("ms", "s", "/s", "times", "MB")
        assert figure.value > 0 or figure.unit == "s"
        assert figure.met is None or kind is Kind.START
    if kind is Kind.USERS:
        one_p50, one_p95, many_p50, many_p95, *ratios = [figure.value for figure in figures]
        assert ratios == pytest.approx([many_p50 / one_p50, many_p95 / one_p95])


@pytest.mark.slow
def test_postgresql_is_left_as_it_was(postgres_url: str, tmp_path: Path) -> None:
    plan = plan_speed(["postgres"], size=200, queries=4, postgres_url=postgres_url)
    names = [figure.name for figure in measure_speed(plan, tmp_path, silent)]
    assert "PostgreSQL against SQLite, p95" in names
    with open_memory(postgres_url, run_jobs=False) as memory:
        assert memory.users() == ()
        with pytest.raises(UserNotFound):
            memory.erase_user("bench:ana")


@pytest.mark.slow
def test_a_filled_store_has_ready_vectors_and_finds_what_is_asked(tmp_path: Path) -> None:
    ground = Ground(tmp_path, Sizes(200, 10), silent)
    assert ground.small is ground.small
    assert [searches.user for searches in ground.small.searches] == ["bench:ana"]
    assert len(ground.crowd.searches) == 100
    alone, among_many = search_latencies([ground.loner, ground.crowd])
    assert alone.calls == among_many.calls == 100  # one query for each of the many users
    with synthetic(ground.small.url) as memory:
        user = memory.user("bench:ana")
        assert len(user.list(limit=100)) == 20
        queries = ground.small.searches[0].queries
        best = [user.search(query, limit=1, threshold=0)[0].signals for query in queries]
        assert all(signals.semantic for signals in best)
        assert any(signals.fts for signals in best)


def test_texts_are_sentences_of_8_to_25_words_in_which_few_words_are_used_often() -> None:
    assert InventedTexts(3).texts(50) == InventedTexts(3).texts(50) != InventedTexts(4).texts(50)
    texts = InventedTexts().texts(2_000)
    assert len(texts) == len(set(texts)) == 2_000
    lengths = {len(text.split()) for text in texts}
    assert (min(lengths), max(lengths)) == (8, 25)
    assert all(text.endswith(".") and text[0].isupper() for text in texts)
    counts = Counter(" ".join(texts).lower().split())
    assert sum(count for _, count in counts.most_common(20)) > counts.total() / 5
    assert sum(1 for count in counts.values() if count == 1) > len(counts) / 5


def test_vectors_have_unit_length_and_lie_near_their_topic() -> None:
    first, second = TOPIC_NAMES[:2]
    texts = [f"about {first} {n}" for n in range(30)] + [f"about {second} {n}" for n in range(30)]
    vectors = SyntheticEmbedder().embed(texts)
    assert (vectors.shape, vectors.dtype) == ((60, 384), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = vectors @ vectors.T
    same = cosines[:30, :30][~np.eye(30, dtype=bool)]
    other = cosines[:30, 30:]
    assert same.mean() > 0.3
    assert abs(other.mean()) < 0.2
    assert same.max() < 0.99
