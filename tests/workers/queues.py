"""Looking into a broker's queues, and emptying them."""

from kombu import Connection

from ricordo.jobs.broker import Messenger, celery_configuration
from tests.support.brokers import Broker


def waiting(broker: Broker) -> int:
    """How many messages wait."""
    messenger = Messenger(broker.url)
    try:
        return sum(messenger.lengths().values())
    finally:
        messenger.close()


def emptied(broker: Broker) -> None:
    """Lose all messages that wait; on Redis, everything."""
    with Connection(broker.url) as connection:
        channel = connection.default_channel
        if broker.url.startswith("redis"):
            channel.client.flushall()
            return
        for queue in celery_configuration(broker.url)["task_queues"]:
            queue(channel).declare()
            channel.queue_purge(queue.name)
