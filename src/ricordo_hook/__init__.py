"""What coding agents run at their events: ``ricordo-hook AGENT EVENT``, the payload on its input.

It imports nothing but a few modules of the standard library, and nothing of ricordo, so that it
takes milliseconds. Whatever happens it ends in time, with exit code 0, and says only what the
agent's protocol has room for. The work is done by a resident process (``ricordo.coding_agents``),
which it asks over a socket in the home folder, and starts where there is none. What is to be
stored is put into a folder first, so that nothing is lost when that process is not there.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import time

TYPE_CHECKING = False  # typing takes as long to load as what is loaded here
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

VERSION = 1
"""Of the requests: lines of JSON."""

DEADLINE_SECONDS = 0.25
"""After which the agent goes on without us, from when this process was made."""

_LEAST_SECONDS = 0.05  # on a machine so busy that starting Python took all of it
_USUAL_START_SECONDS = 0.02

MAX_PAYLOAD_BYTES = 10_000_000
MAX_LOG_BYTES = 200_000
PROBE = "Probe"
"""An event of our own, by which ``ricordo agents status`` finds out whether a hook answers."""

EVENTS = {
    "claude-code": {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "Stop": "turn",
        "PreCompact": "turn",
        "SessionEnd": "end",
    },
    "codex": {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "Stop": "turn",
        "SessionEnd": "end",
    },
    "gemini-cli": {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterAgent": "turn",
        "SessionEnd": "end",
    },
    "cursor": {
        "sessionStart": "start",
        "beforeSubmitPrompt": "prompt",
        "stop": "turn",
        "sessionEnd": "end",
    },
    "opencode": {"start": "start", "prompt": "prompt", "turn": "turn", "end": "end"},
}
"""What the events of each agent mean: show what is known, show what fits, store what happened."""

_FORWARDED = ("RICORDO_USER", "RICORDO_PROJECT")
_NEEDED = ("session_id", "conversation_id", "transcript_path", "cwd")
_LONGEST_NEEDED = 4096
"""Of what happened, where it can be read: nothing that was said lies about in the spool."""
_SOCKET = "resident.sock"
_PORT = "resident.port"
_LONGEST_ADDRESS = 100  # bytes; some systems have room for 104 with the end


def main(arguments: list[str] | None = None) -> None:
    """Run one event and end the process, in time and with exit code 0."""
    started = time.monotonic() - _age_seconds()
    given = list(sys.argv[1:] if arguments is None else arguments)
    agent, event, home = _read_arguments(given)
    left = max(started + DEADLINE_SECONDS - time.monotonic(), _LEAST_SECONDS)
    _thread.start_new_thread(_end_late, (left, home, agent, event))
    try:
        said = _run(agent, event, home, started)
        if said:
            os.write(1, said.encode())
    except BaseException as problem:  # noqa: BLE001 - nothing may reach the agent
        log(home, agent, event, problem)
    os._exit(0)


def _read_arguments(given: list[str]) -> tuple[str, str, str]:
    home = os.environ.get("RICORDO_HOME") or os.path.join("~", ".ricordo")
    if "--home" in given[:-1]:
        place = given.index("--home")
        home = given[place + 1]
        del given[place : place + 2]
    agent, event = [*given, "", ""][:2]
    return agent, event, os.path.expanduser(home)


def _age_seconds() -> float:
    """How long ago this process was made, or how long it usually takes to come here."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return min(max(age, 0.0), DEADLINE_SECONDS)
    except (OSError, ValueError, IndexError, AttributeError):
        return _USUAL_START_SECONDS


def _end_late(seconds: float, home: str, agent: str, event: str) -> None:
    time.sleep(seconds)
    try:
        log(home, agent, event, TimeoutError("took too long"))
    finally:
        os._exit(0)


def _run(agent: str, event: str, home: str, started: float) -> str:
    if event == PROBE:
        return json.dumps({"ricordo": VERSION})
    kind = EVENTS.get(agent, {}).get(event)
    if kind is None:
        raise ValueError("no such agent or event")
    if agent == "claude-code" and os.environ.get("CURSOR_VERSION"):
        return ""  # Cursor runs the hooks of Claude Code, too; these are no sessions of that
    payload = _read_payload()
    folder = os.path.join(home, "agents")
    header = {
        "v": VERSION,
        "agent": agent,
        "event": event,
        "kind": kind,
        "at": time.time(),
        "cwd": _here(),
        "env": {name: os.environ[name] for name in _FORWARDED if os.environ.get(name)},
    }
    for place in (home, folder):
        os.makedirs(place, 0o700, exist_ok=True)
    _note_seen(folder, agent, event)
    if kind in ("start", "prompt"):
        left = started + DEADLINE_SECONDS - time.monotonic() - 0.03
        return _show(folder, home, header, payload, max(left, _LEAST_SECONDS / 2))
    return _hand_over(folder, home, header, payload)


def _show(folder: str, home: str, header: dict[str, Any], payload: bytes, seconds: float) -> str:
    """What the agent is to be shown: the answer of the resident or, at the start, what it noted."""
    text = payload.decode("utf-8", "replace")
    try:
        answer = ask(folder, {**header, "do": "show", "payload": text}, seconds)
    except OSError as problem:
        answer = None
        if not _is_silent(problem):
            start_resident(home)
    if answer is not None and answer.get("ok"):
        shown = answer.get("text") or ""
    elif header["kind"] == "start":
        shown = _noted_brief(folder, header, text)
    else:
        shown = ""
    return said(header["agent"], header["event"], shown)


def said(agent: str, event: str, text: str) -> str:
    """A text in the words of an agent's protocol."""
    if not text:
        return ""
    if agent == "opencode":
        return json.dumps({"text": text})
    if agent == "cursor":
        goes_on = {"continue": True} if event == "beforeSubmitPrompt" else {}
        return json.dumps({**goes_on, "additional_context": text})
    shown = {"hookEventName": event, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": shown})


def _hand_over(folder: str, home: str, header: dict[str, Any], payload: bytes) -> str:
    """Put where to read what happened into the spool, and let the resident know."""
    event = {**header, "payload": json.dumps(_needed(payload))}
    request = {"v": VERSION, "do": "ingest"}
    try:
        spool(folder, event)
    except OSError as problem:  # a full disk: perhaps the resident can still take it
        log(home, header["agent"], header["event"], problem)
        request = {**event, "do": "ingest"}
    try:
        ask(folder, request, 0.1)
    except OSError as problem:
        if not _is_silent(problem):
            start_resident(home)
    return ""


def _needed(payload: bytes) -> dict[str, str]:
    """Raises ValueError where the payload names no session."""
    text = payload.decode("utf-8", "replace")
    try:
        given = json.loads(text)
    except ValueError:  # it was cut, or is no JSON at all
        import re

        named = "|".join(_NEEDED)
        found = re.findall(
            rf'"({named})"\s*:\s*("(?:[^"\\]|\\.){{1,{_LONGEST_NEEDED}}}")', text[:100_000]
        )
        given = {name: json.loads(value) for name, value in reversed(found)}
    if not isinstance(given, dict) or not (given.get("session_id") or given.get("conversation_id")):
        raise ValueError("it names no session")
    needed = {name: given.get(name) for name in _NEEDED} | {"cwd": folder_in(given)}
    return {
        name: value
        for name, value in needed.items()
        if value and isinstance(value, str) and len(value) <= _LONGEST_NEEDED
    }


def _is_silent(problem: OSError) -> bool:
    """There is a resident, but it has not answered in time: another would not help."""
    return isinstance(problem, TimeoutError)


def spool(folder: str, event: dict[str, Any]) -> None:
    """Write an event so that a reader sees all of it or nothing. Raises OSError."""
    place = os.path.join(folder, "spool")
    os.makedirs(place, 0o700, exist_ok=True)
    name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}"
    draft = os.path.join(place, f".{name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(draft, flags, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(event).encode())
        os.replace(draft, os.path.join(place, f"{name}.event"))
    except BaseException:
        os.unlink(draft)
        raise


def ask(folder: str, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The resident's answer. Raises OSError, a TimeoutError where it is there but does not say."""
    ends = time.monotonic() + seconds
    channel = connect(folder, max(seconds, 0.001))
    with channel:
        line = json.dumps(with_secret(folder, request)).encode() + b"\n"
        channel.settimeout(max(ends - time.monotonic(), 0.001))
        channel.sendall(line)
        got = b""
        while not got.endswith(b"\n"):
            channel.settimeout(max(ends - time.monotonic(), 0.001))
            piece = channel.recv(1 << 16)
            if not piece:
                raise ConnectionError("the resident hung up")
            got += piece
    answer = json.loads(got)
    return answer if isinstance(answer, dict) else {}


def connect(folder: str, seconds: float) -> socket.socket:
    """A connection to the resident. Raises OSError where there is none."""
    import socket

    if not hasattr(socket, "AF_UNIX"):
        with open(os.path.join(folder, _PORT), encoding="utf-8") as file:
            port = int(file.readline())
        return socket.create_connection(("127.0.0.1", port), seconds)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.settimeout(seconds)
        with at_socket(folder) as address:
            channel.connect(address)
    except BaseException:
        channel.close()
        raise
    return channel


class at_socket:  # noqa: N801 - reads as open() does
    """The address of the socket: where its path is too long, from within its folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.before: str | None = None

    def __enter__(self) -> str:
        path = os.path.join(self.folder, _SOCKET)
        if len(os.fsencode(path)) < _LONGEST_ADDRESS:
            return path
        self.before = _here()
        os.chdir(self.folder)
        return _SOCKET

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self.before:
            os.chdir(self.before)


def with_secret(folder: str, request: dict[str, Any]) -> dict[str, Any]:
    """A request as the resident takes it where anybody on the machine may connect to it."""
    import socket

    if hasattr(socket, "AF_UNIX"):
        return request
    with open(os.path.join(folder, _PORT), encoding="utf-8") as file:
        return {**request, "secret": file.read().split()[1]}


def start_resident(home: str) -> None:
    """Start the resident process, which goes on after this one and has nothing of it open."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = (
        f"import sys; sys.path.insert(0, {package!r});"
        " from ricordo.coding_agents.resident import main; main()"
    )
    # Not what PYTHONPATH of a project, or its folder, would put before our own packages.
    command = [sys.executable, "-E", "-P", "-c", code, "--home", home]
    if not hasattr(os, "fork"):
        import subprocess

        subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=0x00000008 | 0x08000000,  # DETACHED_PROCESS, CREATE_NO_WINDOW
            close_fds=True,
            cwd=home,
        )
        return
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nowhere, handle)
        os.closerange(3, 4096)
        os.chdir(home)
        os.execv(command[0], command)  # noqa: S606
    finally:
        os._exit(1)


def brief_file(folder: str, root: str) -> str:
    """Where the resident notes what to show at the start of a session in a project."""
    import binascii

    return os.path.join(folder, "briefs", f"{binascii.crc32(os.fsencode(root)):08x}.txt")


def brief_title(root: str, user: str) -> str:
    """The first line of such a file: for whom and what it is."""
    return json.dumps([user, root])


def _noted_brief(folder: str, header: dict[str, Any], payload: str) -> str:
    try:
        given = json.loads(payload)
    except ValueError:
        given = {}
    if not isinstance(given, dict) or given.get("source") == "resume":  # it was shown before
        return ""
    root = root_of(folder_in(given) or header["cwd"])
    try:
        with open(brief_file(folder, root), encoding="utf-8") as file:
            title, _, text = file.read(200_000).partition("\n")
    except OSError:
        return ""
    return text if title == brief_title(root, header["env"].get("RICORDO_USER", "")) else ""


def folder_in(payload: Mapping[str, Any]) -> str:
    """Where a payload says that the session is held; empty where it does not."""
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return str(payload.get("cwd") or first or "")


def root_of(folder: str) -> str:
    """The working tree that a folder is in, or else the folder itself."""
    place = os.path.realpath(folder)
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return os.path.realpath(folder)
        place = above
    return place


def _read_payload() -> bytes:
    """The input up to its end, or as much of it as is taken."""
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(0, 1 << 20):  # to the end, so that who writes it is not interrupted
        if size < MAX_PAYLOAD_BYTES:
            pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[:MAX_PAYLOAD_BYTES]


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return os.path.expanduser("~")


def _note_seen(folder: str, agent: str, event: str) -> None:
    """When which event came last, for ``ricordo agents status``."""
    try:
        os.makedirs(os.path.join(folder, "seen"), 0o700, exist_ok=True)
        with open(os.path.join(folder, "seen", agent), "w", encoding="utf-8") as file:
            file.write(event)
    except OSError:  # it is not needed
        pass


def log(home: str, agent: str, event: str, problem: BaseException, who: str = "hook") -> None:
    """Note a fault: what kind and where it is, nothing of what was said."""
    try:
        place = os.path.join(home, "logs")
        os.makedirs(place, 0o700, exist_ok=True)
        path = os.path.join(place, "agents.log")
        if os.path.exists(path) and os.path.getsize(path) > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        what = type(problem).__name__
        if isinstance(problem, OSError) and problem.strerror:
            what = f"{what}: {problem.strerror}"
        if problem.__traceback__ is not None:
            frame = problem.__traceback__
            while frame.tb_next is not None:
                frame = frame.tb_next
            file = os.path.basename(frame.tb_frame.f_code.co_filename)
            what = f"{what} ({file}:{frame.tb_lineno})"
        known = agent if agent in EVENTS else "(unknown agent)"
        named = event if event in EVENTS.get(agent, ()) else "(unknown event)"
        line = f"{moment} {who} {known} {named}: {what}\n"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line.encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except Exception:  # noqa: BLE001, S110 - there is nowhere else to say it
        pass
