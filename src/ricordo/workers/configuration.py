"""Celery's settings, derived from ricordo's."""

from typing import Any, Final

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.jobs.broker import (
    QUEUES,
    SWEEP_TASK,
    BrokerUnreachable,
    Messenger,
    celery_configuration,
    checked_url,
    masked,
)
from ricordo.model.record import Record
from ricordo.model.vocabulary import Lane
from ricordo.settings import Settings

IN_MEMORY: Final = "celery.beat:Scheduler"
"""The schedule is kept in memory: it has nothing worth a file."""

_REDELIVERY_SECONDS: Final = 300
"""Redis: when messages fetched by a killed worker are delivered again."""

_KEPT_SWEEPS: Final = 2
"""A sweep message expires after this many sweep intervals."""

_PING_SECONDS: Final = 1.5


def broker_of(settings: Settings) -> str:
    """The broker's URL. Raises InvalidValue: it is not set, or not a known kind of broker."""
    if settings.broker_url is None:
        raise InvalidValue(
            "setting broker_url", "is not set; RICORDO_BROKER_URL=redis://… or amqp://… is needed"
        )
    return checked_url(settings.broker_url.get_secret_value())


def worker_configuration(settings: Settings) -> dict[str, Any]:
    """The settings of workers and of beat. Raises InvalidValue: there is no usable broker URL."""
    return {
        **celery_configuration(broker_of(settings)),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # a worker outlives any outage
        "broker_transport_options": {
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "visibility_timeout": _REDELIVERY_SECONDS,
            "confirm_publish": True,
        },
        # Without this, beat would never reconnect after an outage.
        "task_publish_retry": True,
        "task_publish_retry_policy": {"max_retries": 3, "interval_start": 0, "interval_max": 1},
        # The lease of a job, not the broker, says when a worker counts as lost.
        "task_acks_late": False,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_send_task_events": False,
        "beat_scheduler": IN_MEMORY,
        "beat_schedule": {
            "sweep": {
                "task": SWEEP_TASK,
                "schedule": settings.job_poll_seconds,
                "options": {
                    "queue": QUEUES[Lane.FAST],
                    "expires": _KEPT_SWEEPS * settings.job_poll_seconds,
                },
            }
        },
    }


@dataclass(frozen=True, slots=True)
class BrokerStatus(Record):
    """What was found. Where the broker does not answer, ``problem`` says why."""

    broker: str
    reachable: bool
    queues: dict[str, int]
    workers: tuple[str, ...]
    problem: str | None


def look_at(url: str) -> BrokerStatus:
    """Query the broker for its queues, and ping the workers."""
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
