"""Brokers: a Redis for each test, one RabbitMQ for all, because it takes its time to start."""

from collections.abc import Iterator

import pytest
from celery import Celery

from tests.support.brokers import Broker, rabbitmq_server, redis_server
from tests.workers.crew import emptied

# Here, because two threads that are the first to load it at once may find it half loaded.
assert Celery


@pytest.fixture
def redis() -> Iterator[Broker]:
    with redis_server() as broker:
        yield broker


@pytest.fixture(scope="session")
def one_rabbitmq() -> Iterator[Broker]:
    with rabbitmq_server() as broker:
        yield broker


@pytest.fixture
def rabbitmq(one_rabbitmq: Broker) -> Broker:
    emptied(one_rabbitmq)
    return one_rabbitmq
