"""What commands ask of a service that runs on the same store, instead of opening it themselves.

They reach it over a socket in the home folder that only its owner can open. Its name holds what
both have to agree on: the version, the store and the settings of the environment. A command with
others finds nothing, and opens the store. A request is a line of JSON, checked like any other; the
answer is a pickle, of which the command reads nothing but values and errors of ours.
"""

import contextlib
import hashlib
import io
import json
import logging
import os
import pickle
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ricordo.errors import InvalidInput, RicordoError, StorageUnavailable
from ricordo.operations.operation import STORE_OPERATIONS, USER_OPERATIONS, Operation
from ricordo.version import __version__

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from ricordo.memory import Memory

_PREFIX: Final = "RICORDO_"
_OF_A_COMMAND: Final = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        *("HOME", "URL", "USER", "GROUP", "PROJECT", "API_KEY", "DEBUG"),
        *("HOST", "PORT", "WORKERS", "UPSTREAM_URL"),
    )
)
"""Variables that say where, who or how to serve, and not how a store behaves."""
_LONGEST_PATH: Final = 100  # bytes; of an address there is room for 104 on macOS, 108 on Linux
_LINE_BYTES: Final = 64_000_000
_LINE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.5
_log: Final = logging.getLogger(__name__)


def socket_path(url: str | None, home: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Where a service with these options and variables listens; None where it cannot."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    folder = Path(home or environment.get("RICORDO_HOME") or "~/.ricordo").expanduser().absolute()
    place = url or environment.get("RICORDO_URL") or str(folder / "ricordo.db")
    if "://" not in place or place.startswith("sqlite:///"):
        place = place.removeprefix("sqlite:///")
        if place.startswith(":"):
            return None
        place = str(Path(place).expanduser().absolute())
    settings = sorted(
        (name, value)
        for name, value in environment.items()
        if name.startswith(_PREFIX) and name not in _OF_A_COMMAND and value
    )
    agreed = json.dumps([__version__, place, settings]).encode()
    path = folder / f"service-{hashlib.sha256(agreed).hexdigest()[:12]}.sock"
    return path if len(os.fsencode(path)) <= _LONGEST_PATH else None


def is_callable_elsewhere(operation: Operation[..., Any]) -> bool:
    """True for what takes and gives plain values, and does not take long."""
    return bool(operation.routes) and not any(one.is_lengthy for one in operation.routes)


# -- the service -----------------------------------------------------------------------------


@contextlib.contextmanager
def answering_commands(memory: "Memory", path: Path | None) -> Iterator[None]:
    """Answer commands at this socket meanwhile; nothing where another process does already."""
    from concurrent.futures import ThreadPoolExecutor

    listener = None if path is None else _listener(path)
    if listener is None:
        yield
        return
    assert path is not None
    pool = ThreadPoolExecutor(memory.settings.service_threads, thread_name_prefix="ricordo-command")
    is_ending = threading.Event()
    thread = threading.Thread(
        target=_accept, args=(listener, pool, memory, is_ending), name="ricordo-commands"
    )
    thread.start()
    ours = path.stat().st_ino
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.stat().st_ino == ours:  # not that of another process which began as we did
                path.unlink()
        is_ending.set()
        thread.join()
        listener.close()
        pool.shutdown()


def _listener(path: Path) -> socket.socket | None:
    """A socket at this path, in place of one that a killed service left; None where one is alive,
    or none can be there: commands then open the store."""
    with contextlib.suppress(OSError), _connected(path):
        return None
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        listener.bind(str(draft))
        draft.chmod(0o600)
        listener.listen(64)
        listener.settimeout(_LOOK_SECONDS)
        draft.rename(path)  # nobody can connect before only its owner can
    except OSError as problem:
        listener.close()
        _log.warning("commands cannot ask this service: %s", problem)
        return None
    return listener


def _accept(
    listener: socket.socket,
    pool: "ThreadPoolExecutor",
    memory: "Memory",
    is_ending: threading.Event,
) -> None:
    while not is_ending.is_set():
        with contextlib.suppress(TimeoutError):
            channel, _ = listener.accept()
            pool.submit(_serve, channel, memory)


def _serve(channel: socket.socket, memory: "Memory") -> None:
    with channel:
        try:
            channel.settimeout(_LINE_SECONDS)
            with channel.makefile("rb") as lines:
                request = json.loads(lines.readline(_LINE_BYTES))
            channel.settimeout(None)
            channel.sendall(pickle.dumps(_answer(memory, request)))
        except OSError:
            return  # the command is gone, or says nothing
        except Exception:  # noqa: BLE001 - the command is told that there is no answer
            _log.exception("a command could not be answered")


def _answer(memory: "Memory", request: Mapping[str, Any]) -> tuple[bool, Any]:
    """Whether it succeeded, and the result or the error."""
    of_user = request["user"] is not None or request["everyone"]
    operation = (USER_OPERATIONS if of_user else STORE_OPERATIONS).get(request["operation"])
    try:
        if operation is None or not is_callable_elsewhere(operation):
            raise InvalidInput(f"no operation {request['operation']!r}")
        bound: Any = memory
        if request["everyone"]:
            bound = memory.global_memories()
        elif of_user:
            bound = memory.user(request["user"], group=request["group"])
        for narrower in request["narrowed"]:
            bound = bound.narrow(**narrower)
        return True, getattr(bound, operation.name)(**request["given"])
    except RicordoError as error:
        return False, error


# -- the command -----------------------------------------------------------------------------


def call(path: Path, request: Mapping[str, Any]) -> Any:
    """What a service answers.

    Raises:
        ConnectionError, FileNotFoundError: there is none.
        RicordoError: what the operation raised, or it ended before it answered.
        TypeError: a value of the request is not plain.
    """
    line = json.dumps(request).encode() + b"\n"
    with _connected(path) as channel:
        try:
            channel.sendall(line)
            with channel.makefile("rb") as stream:
                answer = stream.read()
        except OSError:
            answer = b""
    if not answer:
        raise StorageUnavailable(
            "the service ended before it answered; look whether it was done, and try again"
        )
    succeeded, found = _Values(io.BytesIO(answer)).load()
    if not succeeded:
        raise found
    return found


def _connected(path: Path) -> socket.socket:
    """A connection to the owner of the socket, who is this user. Raises OSError."""
    if path.stat().st_uid != os.getuid():
        raise ConnectionRefusedError(f"{path} is another user's")
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.connect(str(path))
    except OSError:
        channel.close()
        raise
    return channel


class _Values(pickle.Unpickler):
    """Reads values of the model and errors, and nothing that does something when it is read."""

    def find_class(self, module: str, name: str) -> Any:
        is_ours = module == "ricordo.errors" or module.startswith("ricordo.model.")
        if (is_ours or module == "datetime") and "." not in name:
            found = super().find_class(module, name)
            if getattr(found, "__module__", None) == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value of ours")
