"""Measuring speed: that every figure comes out, at a size at which nothing is judged."""

from pathlib import Path

import pytest

from ricordo.bench.figures import Better, judged
from ricordo.bench.ground import Ground, Sizes, search_latencies, synthetic
from ricordo.bench.speed import Kind, measure_speed, plan_speed
from ricordo.errors import InvalidValue, UserNotFound
from ricordo.transfer.progress import Progress, no_progress
from ricordo.wiring import open_memory


def silent(what: str) -> Progress:
    return no_progress


def test_a_floor_is_met_or_missed() -> None:
    assert judged("fast", 10.0, "ms", floor=15.0).met is True
    assert judged("slow", 20.0, "ms", floor=15.0).met is False
    assert judged("many", 20.0, "/s", floor=15.0, better=Better.HIGHER).met is True
    assert judged("few", 10.0, "/s", floor=15.0, better=Better.HIGHER).met is False
    assert judged("just", 15.0, "ms", floor=15.0).met is True
    assert judged("without", 10.0, "ms").met is None
    assert judged("small", 10.0, "ms", floor=15.0, at_full_size=False).met is None


def test_everything_follows_from_the_size() -> None:
    full = Sizes(100_000, 200)
    assert (full.small, full.users, full.of_each, full.are_full) == (10_000, 100, 1_000, True)
    small = Sizes(200, 4)
    assert (small.small, small.users, small.of_each, small.are_full) == (20, 100, 2, False)


def test_what_is_measured_when_nothing_is_said() -> None:
    assert plan_speed().kinds == tuple(kind for kind in Kind if kind is not Kind.POSTGRES)
    assert plan_speed(postgres_url="postgresql://x").kinds == tuple(Kind)
    assert plan_speed(["search", "start"]).kinds == (Kind.START, Kind.SEARCH)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kinds": ["taste"]}, "kind: 'taste' is not one of: start, add"),
        ({"kinds": ["postgres"]}, "postgres needs the address"),
        ({"size": 5}, "size: 5 is not a whole number from 100"),
        ({"queries": 0}, "queries: 0 is not a whole number"),
    ],
)
def test_what_cannot_be_measured_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        plan_speed(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.POSTGRES])
def test_every_kind_gives_its_figures(kind: Kind, tmp_path: Path) -> None:
    plan = plan_speed([kind], size=200, queries=4)
    figures = list(measure_speed(plan, tmp_path, silent))
    assert figures
    for figure in figures:
        assert figure.name
        assert figure.unit in ("ms", "s", "/s", "times", "MB")
        assert figure.value > 0 or figure.unit == "s"
        assert figure.met is None or kind is Kind.START


def test_postgresql_is_left_as_it_was(postgres_url: str, tmp_path: Path) -> None:
    plan = plan_speed(["postgres"], size=200, queries=4, postgres_url=postgres_url)
    names = [figure.name for figure in measure_speed(plan, tmp_path, silent)]
    assert "PostgreSQL against SQLite, p95" in names
    with open_memory(postgres_url, run_jobs=False) as memory:
        assert memory.users() == ()
        with pytest.raises(UserNotFound):
            memory.erase_user("bench:ana")


def test_stores_that_are_compared_are_searched_equally_often(tmp_path: Path) -> None:
    ground = Ground(tmp_path, Sizes(200, 4), silent)
    alone, among_many = search_latencies([ground.loner, ground.crowd])
    assert alone.calls == among_many.calls == 100  # one query for each of the many users


def test_a_ratio_is_that_of_the_figures_beside_it(tmp_path: Path) -> None:
    plan = plan_speed(["users"], size=200, queries=4)
    figures = [figure.value for figure in measure_speed(plan, tmp_path, silent)]
    one_p50, one_p95, many_p50, many_p95, ratio_p50, ratio_p95 = figures
    assert ratio_p50 == pytest.approx(many_p50 / one_p50)
    assert ratio_p95 == pytest.approx(many_p95 / one_p95)


def test_a_filled_store_has_ready_vectors_and_finds_what_is_asked(tmp_path: Path) -> None:
    ground = Ground(tmp_path, Sizes(200, 10), silent)
    assert ground.small is ground.small
    assert [searches.user for searches in ground.small.searches] == ["bench:ana"]
    assert len(ground.crowd.searches) == 100
    with synthetic(ground.small.url) as memory:
        user = memory.user("bench:ana")
        assert len(user.list(limit=100)) == 20
        queries = ground.small.searches[0].queries
        best = [user.search(query, limit=1)[0].signals for query in queries]
        assert all(signals.semantic for signals in best)
        assert any(signals.fts for signals in best)
