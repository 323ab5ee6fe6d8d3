"""The process behind the hooks: it holds the open store, one for each home folder.

A hook starts it and asks it, in lines of JSON over a socket that only its owner can reach. It ends
when nobody has asked for a while. What hooks put into the spool it stores in the background, and
tries again for as long as the store cannot be reached.
"""

import argparse
import contextlib
import hmac
import json
import os
import secrets
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ricordo_hook
from ricordo import version
from ricordo.coding_agents.ingest import Event, Ingest, Place, read_event
from ricordo.coding_agents.rules import FOLDER
from ricordo.errors import FilesUnavailable, InvalidInput, RicordoError, StorageError
from ricordo.files.disk import Busy, locked

if TYPE_CHECKING:
    from ricordo.memory import Memory

IDLE_SECONDS: Final = 900.0
SHOW_SECONDS: Final = 0.18
"""How long an answer may take; the hook waits a little longer."""

_LOCK: Final = "resident.lock"
_NEXT_LOCK: Final = "resident.next.lock"
_SOCKET: Final = "resident.sock"
_PORT: Final = "resident.port"
_PREDECESSOR_SECONDS: Final = 60.0
_LINE_BYTES: Final = 64_000_000
_LINE_SECONDS: Final = 5.0
_CONNECTIONS: Final = 16
_LOOK_SECONDS: Final = 0.5
_TRIES: Final = 3
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_BRIEF_AGAIN_SECONDS: Final = (0.0, 20.0, 90.0)
"""When a project's brief is noted after something was stored: memories are formed meanwhile."""
_NOBODY: Final = "nobody in particular"
_CREDENTIALS: Final = struct.Struct("3i")
_LOCAL_PEERCRED: Final = 0x001  # of macOS


class Resident:
    """Everything of the process but its beginning and its end."""

    def __init__(
        self, home: Path, idle_seconds: float = IDLE_SECONDS, *, run_jobs: bool = True
    ) -> None:
        self.home = home
        self._run_jobs = run_jobs
        self.folder = home / FOLDER
        self.idle_seconds = idle_seconds
        self.ingest = Ingest(home)
        self.stopping = threading.Event()
        self._wake = threading.Event()
        self._drained = threading.Condition()
        self._rounds = 0
        self._memory: Memory | None = None
        self._opening = threading.Lock()
        self._asked_at = time.monotonic()
        self._held: list[Event] = []
        self._failures: dict[str, int] = {}
        self._briefs: dict[str, tuple[Place, Mapping[str, str], list[float]]] = {}
        self._shows = ThreadPoolExecutor(4, "show")
        self._code = Path(version.__file__)
        self._code_made_at = _made_at(self._code)

    # -- the store

    def memory(self) -> "Memory":
        """The store, opened when it is first needed. Raises RicordoError."""
        with self._opening:
            if self._memory is None:
                self._memory = open_store(self.home, run_jobs=self._run_jobs)
            return self._memory

    def warm_up(self) -> None:
        """Load what a search needs, so that the first prompt is not late; of nobody, so that
        nothing counts as looked at."""
        with contextlib.suppress(RicordoError):
            self.memory().user(_NOBODY).search(_NOBODY, limit=1)

    def close(self) -> None:
        self._shows.shutdown(wait=False, cancel_futures=True)
        if self._memory is not None:
            self._memory.close()

    # -- requests

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; nothing that is asked ends the process."""
        if request.get("v") != ricordo_hook.VERSION:
            return refusal(f"only version {ricordo_hook.VERSION} is spoken here")
        action = self._ACTIONS.get(str(request.get("do")))
        if action is None:
            return refusal(f"expected one of: {', '.join(sorted(self._ACTIONS))}")
        try:
            return {"v": ricordo_hook.VERSION, "ok": True, **action(self, request)}
        except InvalidInput as problem:
            return refusal(str(problem))
        except TooLate:
            return refusal("it took too long")
        except Exception as problem:  # noqa: BLE001 - the next request may go well
            self._log(problem, request.get("agent"), request.get("event"))
            return refusal(type(problem).__name__)

    def _ping(self, _request: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": version.__version__,
            "open": self._memory is not None,
            "waiting": len(self.ingest.spool.waiting()) + len(self._held),
        }

    def _show(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._asked_at = time.monotonic()
        event = read_event(request)
        shown = self._shows.submit(self._shown, event)
        return {"text": shown.result(SHOW_SECONDS)}

    def _shown(self, event: Event) -> str:
        from ricordo.coding_agents import brief

        place = self.ingest.place_of(event)
        if event.kind == "prompt":
            return brief.for_prompt(self.memory(), place, event, SHOW_SECONDS * 0.9)
        text = brief.at_start(self.memory(), place, event)
        if event.payload.get("source") != "resume":
            with contextlib.suppress(FilesUnavailable):
                self.ingest.note_brief(place, event.environment, text)
        return text

    def _take(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What is in the spool is stored in the background; so is what could not be put there."""
        self._asked_at = time.monotonic()
        if "payload" in request:
            self._held.append(read_event(request))
        self._wake.set()
        return {}

    def _drain(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Wait until the spool was worked off once more, or could not be."""
        seconds = request.get("seconds", 30.0)
        if not isinstance(seconds, int | float) or not 0 <= seconds <= 600:
            raise InvalidInput("seconds must be a number from 0 to 600")
        with self._drained:
            wanted = self._rounds + 2  # the present round may have begun before
            self._wake.set()
            ends = time.monotonic() + seconds
            while self._rounds < wanted and time.monotonic() < ends:
                self._wake.set()
                self._drained.wait(0.05)
        return {"waiting": len(self.ingest.spool.waiting()) + len(self._held)}

    def _stop(self, _request: Mapping[str, Any]) -> dict[str, Any]:
        self.stopping.set()
        self._wake.set()
        return {}

    _ACTIONS: Final[Mapping[str, Callable[["Resident", Mapping[str, Any]], dict[str, Any]]]] = {
        "ping": _ping,
        "show": _show,
        "ingest": _take,
        "drain": _drain,
        "stop": _stop,
    }

    # -- storing, in a thread of its own

    def work(self) -> None:
        """Work off the spool until the process ends."""
        pause = 0.0
        self.ingest.forget_old()
        while not self.stopping.is_set():
            self._wake.wait(pause or self._until_next_brief())
            self._wake.clear()
            done = self.work_off()
            pause = 0.0 if done else min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
            self._note_briefs()
            with self._drained:
                self._rounds += 1
                self._drained.notify_all()

    def work_off(self) -> bool:
        """Store what waits; False where something has to wait for better times."""
        for path in self.ingest.spool.waiting():
            try:
                event = self.ingest.spool.read(path)
            except FileNotFoundError:  # another process was quicker
                continue
            except (OSError, InvalidInput) as problem:
                self._log(problem)
                self._put_aside(path)
                continue
            if not self._stored(event, path.name):
                if self._failures.get(path.name, 0) < _TRIES:
                    return False
                self._put_aside(path)
                continue
            path.unlink(missing_ok=True)
            self._failures.pop(path.name, None)
            self._asked_at = time.monotonic()
        while self._held:
            if not self._stored(self._held[0], "held"):
                if self._failures.get("held", 0) < _TRIES:
                    return False
                self._failures.pop("held")
            self._held.pop(0)
        return True

    def _stored(self, event: Event, name: str) -> bool:
        try:
            place, done = self.ingest.store(self.memory(), event)
        except (StorageError, FilesUnavailable, OSError, MemoryError) as problem:
            self._log(problem, event.agent, event.event)  # of the surroundings, not of the event
            return False
        except Exception as problem:  # noqa: BLE001 - the other events can go on
            self._log(problem, event.agent, event.event)
            self._failures[name] = self._failures.get(name, 0) + 1
            return False
        if done.recorded:
            due = [time.monotonic() + seconds for seconds in _BRIEF_AGAIN_SECONDS]
            self._briefs[str(place.project.root)] = (place, event.environment, due)
        return True

    def _put_aside(self, path: Path) -> None:
        try:
            self.ingest.spool.put_aside(path)
        except (OSError, FilesUnavailable) as problem:
            self._log(problem)

    def _until_next_brief(self) -> float:
        due = min((times[0] for _, _, times in self._briefs.values()), default=None)
        left = 60.0 if due is None else due - time.monotonic()
        return min(max(left, 0.01), 60.0)

    def _note_briefs(self, *, all_of_them: bool = False) -> None:
        from ricordo.coding_agents import brief

        now = time.monotonic()
        for root, (place, environment, due) in list(self._briefs.items()):
            if due[0] > now and not all_of_them:
                continue
            try:
                text = brief.noted(self.memory(), place)
                self.ingest.note_brief(place, environment, text)
            except Exception as problem:  # noqa: BLE001 - it is made again at the next start
                self._log(problem)
            left = [] if all_of_them else [one for one in due if one > now]
            if left:
                self._briefs[root] = (place, environment, left)
            else:
                del self._briefs[root]

    def finish(self) -> None:
        """The last round, after nobody can ask any more."""
        self.work_off()
        self._note_briefs(all_of_them=True)

    @property
    def is_outdated(self) -> bool:
        """Whether another version was installed since: what is loaded and what is not loaded yet
        do not go together any more."""
        return _made_at(self._code) != self._code_made_at

    def is_idle(self) -> bool:
        return time.monotonic() - self._asked_at > self.idle_seconds

    def _log(self, problem: BaseException, agent: object = "", event: object = "") -> None:
        ricordo_hook.log(str(self.home), str(agent), str(event), problem, who="resident")


def open_store(home: Path, *, run_jobs: bool) -> "Memory":
    """The store of a home folder, as the settings of coding agents and the environment name it.
    Raises RicordoError: it cannot be opened."""
    from ricordo.coding_agents.rules import read_settings
    from ricordo.wiring import open_memory

    return open_memory(read_settings(home).url, home=home, run_jobs=run_jobs)


def _made_at(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def refusal(why: str) -> dict[str, Any]:
    return {"v": ricordo_hook.VERSION, "ok": False, "error": why}


# -- the socket


class Door:
    """Where requests come in: a socket in the home folder or, where there are none, a port of this
    machine and a secret in the home folder."""

    def __init__(self, folder: Path) -> None:
        self.secret = ""
        self._folder = folder
        if hasattr(socket, "AF_UNIX"):
            with contextlib.suppress(FileNotFoundError):
                (folder / _SOCKET).unlink()  # of one that was killed: we hold the lock
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)
            try:
                with ricordo_hook.at_socket(str(folder)) as address:
                    self.socket.bind(address)
            finally:
                os.umask(before)
            (folder / _SOCKET).chmod(0o600)
            self._left = folder / _SOCKET
        else:
            from ricordo.files.disk import replace_file

            self.socket = socket.create_server(("127.0.0.1", 0))
            self.secret = secrets.token_hex(32)
            self._left = folder / _PORT
            port = self.socket.getsockname()[1]
            replace_file(self._left, f"{port}\n{self.secret}\n".encode())
        self.socket.listen(64)
        self.socket.settimeout(_LOOK_SECONDS)

    def close(self) -> None:
        self._left.unlink(missing_ok=True)
        self.socket.close()

    def lets_in(self, channel: socket.socket) -> bool:
        """Whether whoever connects is the same user; True where the system does not tell."""
        own = getattr(os, "getuid", lambda: None)()
        theirs = _user_of(channel)
        return own is None or theirs is None or theirs == own


def _user_of(channel: socket.socket) -> int | None:
    with contextlib.suppress(OSError, struct.error):
        if hasattr(socket, "SO_PEERCRED"):
            size = _CREDENTIALS.size
            given = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            return int(_CREDENTIALS.unpack(given)[1])
        if sys.platform == "darwin":
            given = channel.getsockopt(0, _LOCAL_PEERCRED, 128)
            return int(struct.unpack_from("2I", given)[1])
    return None


def serve(resident: Resident, door: Door) -> None:
    """Answer until nobody has asked for long enough, or the process is to end."""
    free = threading.Semaphore(_CONNECTIONS)

    def attend(channel: socket.socket) -> None:
        try:
            with channel, contextlib.suppress(OSError):
                _attend(resident, door, channel)
        finally:
            free.release()

    while not resident.stopping.is_set() and not resident.is_idle():
        try:
            channel, _ = door.socket.accept()
        except TimeoutError:
            if resident.is_outdated or not resident.folder.is_dir():
                break
            continue
        if not door.lets_in(channel) or not free.acquire(timeout=_LOOK_SECONDS):
            channel.close()
            continue
        threading.Thread(target=attend, args=(channel,), daemon=True).start()


def _attend(resident: Resident, door: Door, channel: socket.socket) -> None:
    line = _line(channel)
    try:
        request = json.loads(line) if line is not None else None
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        answer = refusal("expected one line with a JSON object")
    elif door.secret and not hmac.compare_digest(str(request.get("secret")), door.secret):
        return
    else:
        answer = resident.answer(request)
    channel.settimeout(_LINE_SECONDS)
    channel.sendall(json.dumps(answer).encode() + b"\n")


def _line(channel: socket.socket) -> bytes | None:
    """What is sent up to the end of the line; None for too much, or too slowly."""
    ends = time.monotonic() + _LINE_SECONDS
    got = bytearray()
    while not got.endswith(b"\n"):
        left = ends - time.monotonic()
        if left <= 0 or len(got) > _LINE_BYTES:
            return None
        channel.settimeout(left)
        piece = channel.recv(1 << 20)
        if not piece:
            return None
        got += piece
    return bytes(got)


def _is_alone(folder: Path, locks: contextlib.ExitStack) -> bool:
    """Whether this is the only resident of the folder; one that is just ending is waited for, by
    one alone."""
    with contextlib.suppress(Busy):
        locks.enter_context(locked(folder / _LOCK, 0.0))
        return True
    ends = time.monotonic() + _PREDECESSOR_SECONDS
    with contextlib.suppress(Busy), locked(folder / _NEXT_LOCK, 0.0):
        while answers(folder) is None and time.monotonic() < ends:
            with contextlib.suppress(Busy):
                locks.enter_context(locked(folder / _LOCK, _LOOK_SECONDS / 5))
                return True
    return False


def answers(folder: Path, seconds: float = 1.0) -> dict[str, Any] | None:
    """What a resident that is there says of itself; None where there is none."""
    with contextlib.suppress(OSError, ValueError):
        return ricordo_hook.ask(str(folder), {"v": ricordo_hook.VERSION, "do": "ping"}, seconds)
    return None


def drain_here(home: Path, seconds: float) -> int:
    """Have what is in the spool stored, by the resident or, without one, in this process; how many
    events still wait. Raises RicordoError: the store cannot be opened."""
    with contextlib.suppress(OSError, ValueError):
        request = {"v": ricordo_hook.VERSION, "do": "drain", "seconds": seconds}
        answer = ricordo_hook.ask(str(home / FOLDER), request, seconds + 5)
        if answer.get("ok"):
            return int(answer["waiting"])
    one = Resident(home, run_jobs=False)
    try:
        one.memory()
        one.work_off()
    finally:
        one.close()
    return len(one.ingest.spool.waiting())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="ricordo-resident")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS)
    given = parser.parse_args(arguments)
    home = given.home.expanduser().absolute()
    if not (home / FOLDER).is_dir():  # hooks make it; it is gone again
        return
    with contextlib.ExitStack() as locks:
        if _is_alone(home / FOLDER, locks):
            _run(home, given.idle)


def _run(home: Path, idle_seconds: float) -> None:
    # Threads that multiply matrices wait by spinning, which an agent beside us would notice.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    resident = Resident(home, idle_seconds)
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: resident._stop({}))
    door = Door(home / FOLDER)
    worker = threading.Thread(target=resident.work, name="spool", daemon=True)
    resident._wake.set()
    worker.start()
    try:
        threading.Thread(target=resident.warm_up, name="warm-up", daemon=True).start()
        serve(resident, door)
    finally:
        resident.stopping.set()
        resident._wake.set()
        door.close()
        worker.join(_LONGEST_PAUSE)
        if not resident.is_outdated and resident.folder.is_dir():  # else the next one does it
            resident.finish()
        resident.close()
