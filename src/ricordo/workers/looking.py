"""Looking at the broker from outside: does it answer, what waits there, who works."""

from dataclasses import dataclass
from typing import Final

from ricordo.jobs.broker import QUEUES, BrokerUnreachable, Messenger, masked
from ricordo.model.record import Record

_PING_SECONDS: Final = 1.5


@dataclass(frozen=True, slots=True)
class BrokerStatus(Record):
    """What was found. Where the broker does not answer, ``problem`` says why."""

    broker: str
    reachable: bool
    queues: dict[str, int]
    workers: tuple[str, ...]
    problem: str | None


def look_at(url: str) -> BrokerStatus:
    """Ask the broker for its queues, and whoever listens there for a sign of life."""
    messenger = Messenger(url)
    try:
        lengths = messenger.lengths()
        workers = tuple(sorted(messenger.ping(_PING_SECONDS)))
    except BrokerUnreachable as problem:
        return BrokerStatus(masked(url), False, {}, (), str(problem))
    finally:
        messenger.close()
    queues = {QUEUES[lane]: length for lane, length in lengths.items()}
    return BrokerStatus(masked(url), True, queues, workers, None)
