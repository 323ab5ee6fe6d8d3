"""Real message brokers for the tests: Redis and RabbitMQ on loopback, each in a folder of its own.

A program that is missing is an error: scripts/services.sh installs it.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.waiting import wait_until

_RABBITMQ_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one that any user may run
_AMQP_GREETING = b"AMQP\x00\x00\x09\x01"


class _Ended(Exception):
    """A broker did not come up: maybe somebody has taken its port meanwhile."""


class Broker:
    """A broker that can be stopped and started again on the same port and data."""

    def __init__(
        self,
        url: str,
        port: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        greeting: bytes,
    ) -> None:
        self.url = url
        self.port = port
        self._command = command
        self._environment = environment
        self._greeting = greeting
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_until(self._answers)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def freeze(self) -> None:
        """Have it accept connections and never answer."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise _Ended("the broker ended by itself")
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.settimeout(5)
                connection.sendall(self._greeting)
                return bool(connection.recv(4))
        except OSError:
            return False


@contextlib.contextmanager
def redis_server(password: str | None = None) -> Iterator[Broker]:
    """A Redis server that keeps what it has over a restart."""
    program = _found("redis-server")
    credentials = "" if password is None else f":{password}@"
    with _folder() as folder:

        def made() -> Broker:
            port = free_port()
            command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
            command += ["--appendonly", "yes", "--save", ""]
            if password is not None:
                command += ["--requirepass", password]
            url = f"redis://{credentials}127.0.0.1:{port}/0"
            return Broker(url, port, command, {}, b"PING\r\n")

        yield from _running(made)


@contextlib.contextmanager
def rabbitmq_server() -> Iterator[Broker]:
    """A RabbitMQ server with a node name, a cookie and a port mapper of its own."""
    script = str(_RABBITMQ_SCRIPT) if _RABBITMQ_SCRIPT.exists() else _found("rabbitmq-server")
    with _folder() as folder, _port_mapper() as mapper_port:

        def made() -> Broker:
            port = free_port()
            environment = {
                "HOME": str(folder),  # where the cookie is kept
                "ERL_EPMD_PORT": str(mapper_port),
                "ERL_EPMD_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODENAME": f"ricordo-{secrets.token_hex(4)}@localhost",
                "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODE_PORT": str(port),
                "RABBITMQ_DIST_PORT": str(free_port()),
                "RABBITMQ_MNESIA_BASE": str(folder / "data"),
                "RABBITMQ_LOG_BASE": str(folder / "log"),
                "RABBITMQ_PID_FILE": str(folder / "pid"),
                "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
                "RABBITMQ_CONFIG_FILE": str(folder / "none"),
                "RABBITMQ_CONF_ENV_FILE": str(folder / "none-env"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            }
            url = f"amqp://guest:guest@127.0.0.1:{port}//"
            return Broker(url, port, [script], environment, _AMQP_GREETING)

        yield from _running(made)


def _running(made: Callable[[], Broker]) -> Iterator[Broker]:
    for tries_left in reversed(range(5)):
        broker = made()
        try:
            broker.start()
            break
        except _Ended:
            broker.stop()
            if not tries_left:
                raise
    try:
        yield broker
    finally:
        broker.stop()


@contextlib.contextmanager
def _port_mapper() -> Iterator[int]:
    """Erlang's port mapper, which would otherwise be started as a daemon and stay."""
    port = free_port()
    command = [_found("epmd"), "-port", str(port), "-address", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _accepts(port))
        yield port
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ricordo-broker-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _found(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    assert path is not None, f"{program} is not installed; run: sh scripts/services.sh"
    return path
