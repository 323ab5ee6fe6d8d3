"""The message broker: URLs, queues, and messages that wake workers.

A message only names a due job; the row is authoritative. A lost message is sent again by the sweep,
and a duplicate finds nothing to do.
"""

import contextlib
import importlib.util
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from ricordo import fork_safety
from ricordo.errors import InvalidValue, in_log, needs_extra
from ricordo.jobs.queue import JobQueue, kinds_in, lane_of
from ricordo.model.vocabulary import Lane

if TYPE_CHECKING:
    from celery import Celery

# Celery is imported only where something is sent: it loads slowly and is optional.

SCHEMES: Final = ("redis", "rediss", "amqp", "amqps")
QUEUES: Final = {lane: f"ricordo.{lane.value}" for lane in Lane}
RUN_TASK: Final = "ricordo.run_job"
SWEEP_TASK: Final = "ricordo.sweep"
_ANSWER_SECONDS: Final = 2.0
"""A broker that takes longer to answer counts as unreachable."""

# Short timeouts for either transport; each ignores the other's.
_SENDING_OPTIONS: Final = {
    "socket_connect_timeout": _ANSWER_SECONDS,  # Redis
    "socket_timeout": _ANSWER_SECONDS,
    "confirm_publish": True,  # RabbitMQ: a message counts as sent when it is confirmed
    "read_timeout": _ANSWER_SECONDS,
    "write_timeout": _ANSWER_SECONDS,
}
_SETTING: Final = "setting broker_url"

_FIRST_RETRY_SECONDS: Final = 0.5
_LONGEST_RETRY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 2.5
_PATIENCE: Final = timedelta(minutes=15)
"""When a message is sent again while the queue is not empty: the job most likely just waits, and
another message would only lengthen the queue."""

_log = logging.getLogger(__name__)


class BrokerUnreachable(Exception):
    pass


def checked_url(url: str) -> str:
    """The broker's URL, or several failover URLs separated by ``;``. Raises InvalidValue."""
    for one in url.split(";"):
        try:
            scheme = urlsplit(one).scheme if "://" in one else ""
        except ValueError:
            scheme = ""
        if scheme not in SCHEMES:
            # The URL itself is not shown, because it may have a password.
            raise InvalidValue(_SETTING, f"must begin with {'://, '.join(SCHEMES)}://")
    if importlib.util.find_spec("celery") is None:
        raise InvalidValue(_SETTING, needs_extra("a broker", "celery"))
    return url


def masked(urls: str) -> str:
    """The URLs without passwords, for display."""
    shown = []
    for url in urls.split(";"):
        parts = urlsplit(url)
        credentials, at, host = parts.netloc.rpartition("@")
        name, colon, _ = credentials.partition(":")
        place = f"{name}{colon}{'***' if colon else ''}{at}{host}"
        # Without the query, which may have secrets, too.
        shown.append(urlunsplit((parts.scheme, place, parts.path, "", "")))
    return ";".join(shown)


def celery_configuration(url: str) -> dict[str, Any]:
    """What senders and workers share. Both must declare the queues identically."""
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
    """Durable classic queues.

    Quorum queues would replicate messages, but the job rows have the same information.
    """
    from kombu import Exchange, Queue

    # Via the default exchange, messages need no binding that could be lost.
    return [
        Queue(name, Exchange(""), routing_key=name, queue_arguments={"x-queue-type": "classic"})
        for name in QUEUES.values()
    ]


class Messenger:
    """One lazy connection to the broker. Not thread-safe."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._app: Celery | None = None
        self._connection: Any = None
        self._producer: Any = None

    def connect(self) -> None:
        """Connect if necessary. Raises BrokerUnreachable."""
        if self._producer is not None:
            return
        app = self._celery()
        self._connection = app.connection_for_write(
            connect_timeout=_ANSWER_SECONDS, heartbeat=0, transport_options=_SENDING_OPTIONS
        )
        with _as_unreachable(self):
            self._connection.ensure_connection(
                max_retries=1, interval_start=0, interval_step=0, timeout=_ANSWER_SECONDS
            )
            self._producer = app.amqp.Producer(self._connection.channel())

    def send(self, job_id: int, lane: Lane) -> None:
        """Notify the workers of a lane of a job, possibly twice. Raises BrokerUnreachable."""
        is_new = self._producer is None
        self.connect()
        try:
            self._publish(job_id, lane)
        except BrokerUnreachable:
            if is_new:
                raise
            # An idle connection may have been closed; that is no outage.
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
        """The number of messages in each lane's queue. Raises BrokerUnreachable."""
        self.connect()
        queues = {queue.name: queue for queue in _queues()}
        with _as_unreachable(self):
            channel = self._producer.channel
            return {
                lane: queues[name](channel).queue_declare().message_count
                for lane, name in QUEUES.items()
            }

    def ping(self, seconds: float) -> list[str]:
        """The names of the workers that answer in time. Raises BrokerUnreachable."""
        self.connect()
        with _as_unreachable(self):
            replies = self._celery().control.ping(timeout=seconds, connection=self._connection)
        return [name for reply in replies or () for name in reply]

    def close(self, *, is_broken: bool = False) -> None:
        """Close the connection. The next message opens another."""
        connection, _ = self.abandon()
        if connection is not None:
            with contextlib.suppress(*_broker_errors(connection)):
                # RabbitMQ waits for an answer, which a broken connection could not give.
                if is_broken and self._url.startswith("amqp"):
                    connection.collect()
                else:
                    connection.release()

    def abandon(self) -> tuple[Any, Any]:
        """Forget the parent's connection without closing it; for a child process."""
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
    """Turn transport errors into BrokerUnreachable, and drop the connection."""
    try:
        yield
    except _broker_errors(messenger._connection) as error:
        messenger.close(is_broken=True)
        raise BrokerUnreachable(str(error) or type(error).__name__) from error


def _broker_errors(connection: Any) -> tuple[type[BaseException], ...]:
    from kombu.exceptions import KombuError

    return (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)


def send_waiting(
    queue: JobQueue,
    kinds: frozenset[str],
    messenger: Messenger,
    resend_after: timedelta | None = None,
) -> int:
    """Send a message for each due job without one; how many.

    ``resend_after`` also sends another for jobs whose message is older and which still wait.

    Raises:
        BrokerUnreachable: the broker did not take all of them; the rest counts as not sent.
    """
    messenger.connect()  # nothing is written while the broker is down
    waiting = queue.take_unsent(kinds, resend_after)
    sent = 0
    try:
        for job_id, kind in waiting:
            messenger.send(job_id, lane_of(kind))
            sent += 1
    finally:
        if sent < len(waiting):
            queue.note_unsent([job_id for job_id, _ in waiting[sent:]])
    return sent


def sweep(queue: JobQueue, kinds: frozenset[str], messenger: Messenger) -> int:
    """Send messages for jobs that have become due, and for lost messages; how many.

    A job that waits although its lane's queue is empty has lost its message, unless a worker has
    just fetched it. Raises BrokerUnreachable.
    """
    lengths = messenger.lengths()
    return sum(
        send_waiting(
            queue,
            kinds_in(kinds, lane),
            messenger,
            resend_after=_PATIENCE if lengths[lane] else queue.lease,
        )
        for lane in Lane
    )


class BrokerWaker:
    """Sends messages for new jobs in its own thread, so that no write waits for the broker."""

    def __init__(
        self,
        queue: JobQueue,
        kinds: frozenset[str],
        url: str,
        poll_seconds: float,
        maintain: Callable[[], object] = lambda: None,
    ) -> None:
        """``maintain`` is called every ``poll_seconds``. Raises InvalidValue."""
        self._queue = queue
        self._kinds = kinds
        self._url = checked_url(url)
        self._poll_seconds = poll_seconds
        self._maintain = maintain
        self._messenger = Messenger(self._url)
        self._wanted = False
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_new = False
        self._failures = 0
        self._retry_at = 0.0
        self._maintain_at = 0.0

    def reset_after_fork(self) -> Any:
        """Threads do not survive a fork; the child's starts with its first queued job."""
        inherited = (self._lock, self._stop, self._wake, self._thread, self._messenger.abandon())
        self._set_up()
        return inherited

    def start(self) -> None:
        self._wanted = True
        self._start_thread()

    def wake(self) -> None:
        self._has_new = True
        if self._wanted:
            self._start_thread()
        self._wake.set()

    def stop(self) -> None:
        """Send what is left if the broker answers soon, and end the thread."""
        self._wanted = False
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, name="ricordo-waker", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        while True:
            is_last = self._stop.is_set()
            self._wake.clear()
            if self._has_new and (is_last or time.monotonic() >= self._retry_at):
                self._send()
            if is_last:
                self._messenger.close()
                return
            if time.monotonic() >= self._maintain_at:  # not with every wake-up
                self._maintain_at = time.monotonic() + self._poll_seconds
                try:
                    self._maintain()
                except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
                    _log.warning("the job queue cannot be maintained now: %s", in_log(error))
            pause = self._poll_seconds
            if self._has_new:
                pause = min(pause, max(0.0, self._retry_at - time.monotonic()))
            self._wake.wait(pause)

    def _send(self) -> None:
        self._has_new = False
        try:
            while send_waiting(self._queue, self._kinds, self._messenger):
                pass
        except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
            self._has_new = True
            self._note_failure(error)
        else:
            if self._failures:
                _log.info("workers are woken again at %s", masked(self._url))
            self._failures = 0

    def _note_failure(self, error: Exception) -> None:
        """Log a failure once, and retry with growing pauses."""
        if self._failures == 0 and not self._stop.is_set():
            is_broker = isinstance(error, BrokerUnreachable)
            _log.warning(
                "%s at %s fails, jobs wait until it works again: %s",
                "the broker" if is_broker else "waking workers",
                masked(self._url),
                error if is_broker else in_log(error),
            )
        pause = min(_FIRST_RETRY_SECONDS * 2.0 ** min(self._failures, 30), _LONGEST_RETRY_SECONDS)
        self._failures += 1
        self._retry_at = time.monotonic() + pause
