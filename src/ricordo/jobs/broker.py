"""How a message broker is spoken to: which ones there are, which queues, and how to send.

Celery is imported only where something is sent, because it takes long to load and need not be
installed.
"""

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from ricordo.errors import InvalidValue
from ricordo.model.vocabulary import Lane

if TYPE_CHECKING:
    from celery import Celery

SCHEMES: Final = ("redis", "rediss", "amqp", "amqps")
QUEUES: Final = {Lane.FAST: "ricordo.fast", Lane.SLOW: "ricordo.slow"}
RUN_TASK: Final = "ricordo.run_job"
SWEEP_TASK: Final = "ricordo.sweep"
_ANSWER_SECONDS: Final = 2.0
"""How long a broker may take to answer before it counts as unreachable."""

_SETTING: Final = "setting broker_url"


class BrokerUnreachable(Exception):
    """The broker did not take a message, or does not answer."""


def checked_url(url: str) -> str:
    """The address of a broker; several with ``;`` between them stand in for each other.

    Raises:
        InvalidValue: an address of another kind, or Celery is not installed.
    """
    for one in url.split(";"):
        try:
            scheme = urlsplit(one).scheme if "://" in one else ""
        except ValueError:
            scheme = ""
        if scheme not in SCHEMES:
            # The address itself is not shown, because there may be a password in it.
            raise InvalidValue(_SETTING, f"must begin with {'://, '.join(SCHEMES)}://")
    if importlib.util.find_spec("celery") is None:
        raise InvalidValue(_SETTING, "needs Celery: pip install 'ricordo[celery]'")
    return url


def masked(url: str) -> str:
    """The address without passwords, for people to see."""
    return ";".join(_masked(one) for one in url.split(";"))


def _masked(url: str) -> str:
    parts = urlsplit(url)
    credentials, at, host = parts.netloc.rpartition("@")
    name, colon, _ = credentials.partition(":")
    shown = f"{name}{colon}{'***' if colon else ''}{at}{host}"
    return urlunsplit((parts.scheme, shown, parts.path, "", ""))  # a query may hold secrets, too


def celery_configuration(url: str) -> dict[str, Any]:
    """What senders and workers have in common. Both must describe the queues alike."""
    return {
        "broker_url": url,
        "broker_connection_timeout": _ANSWER_SECONDS,
        "task_queues": _queues(),
        "task_default_queue": QUEUES[Lane.FAST],
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "event_serializer": "json",
        "result_backend": None,
        "task_ignore_result": True,
    }


def _queues() -> list[Any]:
    """Durable, so that a restart of the broker costs no time; on RabbitMQ without replicas.

    Quorum queues would keep messages safe on several machines. What they would keep is known from
    the job rows anyway, and a single broker need not pay for it.
    """
    from kombu import Exchange, Queue

    # By the nameless exchange a message reaches its queue without a binding that could be lost.
    return [
        Queue(name, Exchange(""), routing_key=name, queue_arguments={"x-queue-type": "classic"})
        for name in QUEUES.values()
    ]


class Messenger:
    """One connection to the broker, for one thread at a time. Made when first needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._app: Celery | None = None
        self._connection: Any = None
        self._producer: Any = None

    def connect(self) -> None:
        """See to it that there is a connection.

        Raises:
            BrokerUnreachable: it does not answer in time.
        """
        if self._producer is not None:
            return
        app = self._celery()
        self._connection = app.connection_for_write(
            connect_timeout=_ANSWER_SECONDS, heartbeat=0, transport_options=_sending_options()
        )
        with _as_unreachable(self):
            self._connection.ensure_connection(
                max_retries=1, interval_start=0, interval_step=0, timeout=_ANSWER_SECONDS
            )
            self._producer = app.amqp.Producer(self._connection.channel())

    def send(self, job_id: int, lane: Lane) -> None:
        """Tell the workers of a lane that there is a job. May happen twice for one call.

        Raises:
            BrokerUnreachable: the broker did not take it.
        """
        is_new = self._producer is None
        self.connect()
        try:
            self._publish(job_id, lane)
        except BrokerUnreachable:
            if is_new:
                raise
            # A connection that was idle for long can be closed by now; that is no outage.
            self.connect()
            self._publish(job_id, lane)

    def _publish(self, job_id: int, lane: Lane) -> None:
        with _as_unreachable(self):
            self._celery().send_task(
                RUN_TASK,
                args=[job_id],
                queue=QUEUES[lane],
                producer=self._producer,
                retry=False,
                add_to_parent=False,
                confirm_timeout=_ANSWER_SECONDS,
            )

    def lengths(self) -> dict[Lane, int]:
        """How many messages wait in each lane's queue.

        Raises:
            BrokerUnreachable: it does not answer in time.
        """
        self.connect()
        queues = {queue.name: queue for queue in _queues()}
        with _as_unreachable(self):
            channel = self._producer.channel
            return {
                lane: queues[name](channel).queue_declare().message_count
                for lane, name in QUEUES.items()
            }

    def ping(self, seconds: float) -> list[str]:
        """The names of the workers that answer within so many seconds.

        Raises:
            BrokerUnreachable: the broker itself does not answer.
        """
        self.connect()
        with _as_unreachable(self):
            replies = self._celery().control.ping(timeout=seconds, connection=self._connection)
        return [name for reply in replies or () for name in reply]

    def hang_up(self) -> None:
        """Drop the connection without a word; one that is broken would not hear it."""
        connection, _ = self.abandon()
        if connection is not None:
            with contextlib.suppress(*_broker_errors(connection)):
                # RabbitMQ is asked before a connection is closed, Redis is not.
                if self._url.startswith("amqp"):
                    connection.collect()
                else:
                    connection.release()

    def close(self) -> None:
        """Give the connection back. The next message makes another."""
        connection, _ = self.abandon()
        if connection is not None:
            with contextlib.suppress(*_broker_errors(connection)):
                connection.release()

    def abandon(self) -> tuple[Any, Any]:
        """Leave the connection as it is and forget it; for a child process, whose it is not."""
        left = (self._connection, self._producer)
        self._connection = self._producer = None
        return left

    def _celery(self) -> "Celery":
        if self._app is None:
            from celery import Celery

            self._app = Celery("ricordo-sender", set_as_current=False)
            self._app.conf.update(celery_configuration(self._url))
        return self._app


@contextlib.contextmanager
def _as_unreachable(messenger: Messenger) -> Iterator[None]:
    """Turn what goes wrong between us and the broker into one error, and hang up."""
    try:
        yield
    except _broker_errors(messenger._connection) as error:
        messenger.hang_up()
        raise BrokerUnreachable(str(error) or type(error).__name__) from error


def _broker_errors(connection: Any) -> tuple[type[BaseException], ...]:
    from kombu.exceptions import KombuError

    return (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)


def _sending_options() -> dict[str, Any]:
    """Short waits of either transport, each of which ignores what is the other's."""
    return {
        "socket_connect_timeout": _ANSWER_SECONDS,  # Redis
        "socket_timeout": _ANSWER_SECONDS,
        "confirm_publish": True,  # RabbitMQ: a message counts as sent when it says so
        "read_timeout": _ANSWER_SECONDS,
        "write_timeout": _ANSWER_SECONDS,
    }
