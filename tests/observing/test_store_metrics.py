"""What Prometheus is told of a store and of what is done in the process."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from ricordo.errors import StorageClosed
from ricordo.memory import Memory
from ricordo.model.activity import NewJob
from ricordo.observability.metrics import ServiceMetrics, watch_steps
from ricordo.observability.traces import Tracing
from ricordo.testing import ManualClock
from tests.support.endpoints import EmbeddingServer, FaultyModel
from tests.support.scripted_model import read_tastes

pytestmark = pytest.mark.requirement("observability.metrics")

PAGE = Path(__file__).parents[2] / "docs/howto/observability.md"


def families(metrics: ServiceMetrics) -> dict[str, Metric]:
    content, content_type = metrics.render()
    assert content_type.startswith("text/plain; version=")
    return {one.name: one for one in text_string_to_metric_families(content.decode())}


def values(metrics: ServiceMetrics, family: str) -> dict[str, float]:
    """The values of a family, by its labels in one word."""
    return {
        " ".join(sample.labels.values()): sample.value
        for sample in families(metrics)[family].samples
        if not sample.name.endswith("_created")
    }


def counts(metrics: ServiceMetrics, family: str, label: str) -> dict[str, float]:
    """How often a histogram was told of something, by one of its labels."""
    return {
        sample.labels[label]: sample.value
        for sample in families(metrics)[family].samples
        if sample.name.endswith("_count")
    }


def test_the_store_is_told_in_figures(memory: Memory, clock: ManualClock) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    ana.add("Plays tennis on Mondays")
    gone = ana.add("Plays chess on Tuesdays")
    ana.forget(gone.id)
    ben.add("Has a dog", expires_at=clock() + timedelta(days=1))
    ben.observe([{"role": "user", "content": "I love jazz music."}], thread="monday")
    ben.form("monday")
    clock.advance(days=2)
    job = NewJob(kind="embed", user_id="ana", run_at=clock(), unique_key="", payload={})
    with memory.database.write("ana") as writing:
        writing.enqueue(job)
    clock.advance(minutes=3)
    metrics = ServiceMetrics(memory)
    assert values(metrics, "ricordo_jobs")["embed queued"] == 1
    assert values(metrics, "ricordo_jobs")["embed dead"] == 0
    assert values(metrics, "ricordo_jobs_due")["embed"] == 1
    assert values(metrics, "ricordo_job_oldest_due_seconds")["embed"] == 180
    assert values(metrics, "memory_total_count") == {
        "active": 2,
        "archived": 0,
        "superseded": 0,
        "deleted": 1,
        "expired": 1,
    }
    assert memory.counters().memory_total_count == 2
    assert values(metrics, "ricordo_users") == {"": 2}
    assert values(metrics, "ricordo_store_up") == {"": 1}
    assert values(metrics, "ricordo_vectors_pending") == {"item": 0, "turn": 0}
    assert values(metrics, "ricordo_database_bytes")[""] > 10_000
    assert values(metrics, "ricordo_formation_decisions")["add"] == 1
    assert values(metrics, "ricordo_formation_runs") == {"": 1}
    assert values(metrics, "memory_replacement_rate") == {"": 0}
    assert values(metrics, "memory_dedup_rate") == {"": 0}


def test_formation_shows_in_the_rates_and_the_tokens(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    with FaultyModel() as server:
        server.answer_with(read_tastes)
        memory = open_store(
            backend_url,
            model_provider="custom_http",
            model_name="scripted",
            model_base_url=server.base_url,
        )
        ana = memory.user("ana")
        for number in range(2):
            ana.observe([{"role": "user", "content": "I love jazz."}], thread=f"day-{number}")
            ana.form(f"day-{number}")
    metrics = ServiceMetrics(memory)
    counters = memory.counters()
    assert values(metrics, "memory_dedup_rate")[""] == counters.memory_dedup_rate == 0.5
    calls = values(metrics, "ricordo_model_calls")
    assert calls == {"ok": counters.counts["model_calls"], "failed": 0}
    tokens = values(metrics, "ricordo_model_tokens")
    assert tokens["prompt"] == counters.counts["model_prompt_tokens"] > 0
    assert tokens["completion"] == counters.counts["model_completion_tokens"] > 0
    assert values(metrics, "ricordo_model_tokens_today")[""] == counters.tokens_today > 0


def test_figures_are_kept_for_a_while_and_a_counter_never_shrinks(memory: Memory) -> None:
    now = 100.0
    metrics = ServiceMetrics(memory, lambda: now)

    def form(user: str) -> None:
        talking = memory.user(user)
        talking.observe([{"role": "user", "content": "I love jazz music."}], thread="monday")
        talking.form("monday")

    def runs() -> float:
        return values(metrics, "ricordo_formation_runs")[""]

    form("ana")
    assert runs() == 1
    form("ben")
    now += 9
    assert runs() == 1
    now += 2
    assert runs() == 2
    memory.erase_user("ben")
    assert memory.counters().counts["formation_runs"] == 1
    now += 3600
    assert runs() == 2
    form("cleo")
    now += 3600
    assert runs() == 3


def test_a_store_that_is_down_is_told_as_down(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    metrics, other = ServiceMetrics(memory), ServiceMetrics(memory)
    watch_steps(memory, metrics, Tracing())
    metrics.rate_limited()
    metrics.authentication_failed()
    metrics.upstream_finished("timeout", 1.5)
    memory.close()
    with pytest.raises(StorageClosed):
        memory.user("ana").search("tennis")
    assert values(metrics, "ricordo_recall_failures")["search"] == 1
    assert values(metrics, "ricordo_store_up") == {"": 0}
    assert "ricordo_users" not in families(metrics)
    # What the service says itself is counted all the same, by each by itself.
    assert values(metrics, "ricordo_rate_limited_requests") == {"": 1}
    assert values(other, "ricordo_rate_limited_requests") == {"": 0}
    assert values(metrics, "ricordo_authentication_failures") == {"": 1}
    upstream = counts(metrics, "ricordo_upstream_seconds", "outcome")
    assert upstream.pop("timeout") == 1
    assert set(upstream.values()) == {0}


def test_every_way_of_recalling_is_timed(memory: Memory) -> None:
    metrics = ServiceMetrics(memory)
    watch_steps(memory, metrics, Tracing())
    ana = memory.user("ana")
    ana.add("Plays tennis on Mondays")
    ana.search("tennis")
    ana.search("chess")
    ana.search_turns("tennis")
    ana.query(None, "tennis")
    ana.context("When do I play?", modes="recall")
    counted = counts(metrics, "ricordo_recall_seconds", "kind")
    assert counted == {"search": 2, "search_turns": 1, "query": 1, "context": 1}
    assert set(values(metrics, "ricordo_recall_failures").values()) == {0}


def test_embedders_are_timed_and_their_failures_counted(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    with EmbeddingServer() as server:
        memory = open_store(
            sqlite_url,
            embedder=None,
            embedding_provider="custom_http",
            embedding_model=server.model,
            embedding_base_url=server.base_url,
        )
        metrics = ServiceMetrics(memory)
        watch_steps(memory, metrics, Tracing())
        ana = memory.user("ana")
        ana.add("Plays tennis on Mondays")
        assert values(metrics, "ricordo_vectors_pending")["item"] == 1
        memory.run_jobs()
        assert values(metrics, "ricordo_embedding_failures") == {"": 0}
        server.fault = "html"
        assert ana.search("chess").degraded is not None
    timed = families(metrics)["ricordo_embedding_seconds"].samples
    assert [one.value for one in timed if one.name.endswith("_count")] == [2]
    assert values(metrics, "ricordo_embedding_failures") == {"": 1}


def test_the_page_lists_every_metric(memory: Memory) -> None:
    shown = re.findall(
        r"^\| `([a-z_]+)` \| ([a-z_, ]*) \| (.+) \|$", PAGE.read_text(), re.MULTILINE
    )
    listed = {name: labels for name, labels, _ in shown}
    found = {}
    for family in ServiceMetrics(memory).registry.collect():
        suffix = "_total" if family.type == "counter" else ""
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        found[family.name + suffix] = ", ".join(sorted(labels))
    unknown = {"ricordo_http_requests_total", "ricordo_http_request_seconds"}  # before any request
    unknown |= {name for name in listed if name.startswith("ricordo_job")}  # before any job
    assert set(listed) == set(found)
    for name in set(listed) - unknown:
        assert ", ".join(sorted(filter(None, listed[name].split(", ")))) == found[name], name
