"""Webhooks delivered by Celery workers."""

import os
from pathlib import Path

import pytest

from ricordo.wiring import open_memory
from tests.support.brokers import Broker
from tests.support.receivers import receiver
from tests.support.waiting import wait_until
from tests.workers.crew import OURS, crew


@pytest.mark.slow
@pytest.mark.requirement("webhooks.one-at-a-time")
def test_celery_delivers_in_order_one_request_at_a_time(
    tmp_path: Path, sqlite_url: str, redis: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_WEBHOOK_LOOPBACK", "true")
    assert "RICORDO_BROKER_URL" not in os.environ
    with (
        receiver() as hook,
        crew(tmp_path / "crew", sqlite_url, redis.url, upkeep=False) as hired,
        open_memory(
            sqlite_url, broker_url=redis.url, embedding_provider="none", upkeep=False
        ) as memory,
    ):
        hired.start(*OURS, "worker", "--concurrency", "3", "--beat", "--pool", "threads")
        ana = memory.user("ana")
        ana.create_webhook(hook.url)
        for number in range(20):
            ana.add(f"Fact {number}")
        wait_until(lambda: 20 in hook.revisions)
        assert hook.revisions == list(range(1, 21))
        assert hook.most_at_once == 1
