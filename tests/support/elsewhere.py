"""A process that finds nothing of what only POSIX has: python -m tests.support.elsewhere PROGRAM …

What the standard library and other packages need of the system they have loaded before. What is
hidden then is what Windows lacks, and files that are open can be neither renamed nor removed.
"""

import functools
import importlib
import os
import signal
import socket
import sys
import types
from pathlib import Path
from typing import Any

LOADED_BEFORE = (
    *("asyncio", "fcntl", "multiprocessing.pool", "subprocess", "uuid", "ctypes"),
    *("alembic.config", "anyio", "onnxruntime", "rich.console", "uvicorn.config", "uvicorn.server"),
)
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "uvloop")
OF_OS = (
    *("chown", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getuid", "killpg"),
    *("nice", "posix_spawn", "register_at_fork", "sched_getaffinity", "setsid", "sync", "sysconf"),
    *("uname", "wait", "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"),
)
OF_SIGNAL = (
    *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGURG", "SIGUSR1"),
    *("SIGUSR2", "alarm", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait"),
)
OF_SOCKET = ("AF_UNIX", "SO_PEERCRED", "SO_REUSEPORT")


def hide() -> None:
    """Take away what is POSIX's own; before anything of ricordo is loaded."""
    assert "ricordo" not in sys.modules
    for name in LOADED_BEFORE:
        importlib.import_module(name)
    fcntl = sys.modules["fcntl"]
    socket.socketpair = functools.partial(socket.socketpair, socket.AF_UNIX)  # of event loops
    sys.modules["msvcrt"] = locks_of_windows(fcntl)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.addaudithook(_keep_open_files)

    import ricordo.platforms

    ricordo.platforms.REPLACES_OPEN_FILES = False  # type: ignore[misc]


def locks_of_windows(fcntl: Any) -> types.ModuleType:
    """Its locks, which end with the handle, as those of Windows do."""
    made = types.ModuleType("msvcrt")

    def locking(handle: int, mode: int, length: int) -> None:
        assert (mode, length) == (3, 1)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    vars(made).update(locking=locking, LK_NBLCK=3)
    return made


_MOVING = {"os.rename": 2, "os.remove": 1, "os.rmdir": 0}


def _keep_open_files(event: str, arguments: tuple[Any, ...]) -> None:
    """As on Windows, where the C library lets nobody remove or rename what somebody has open."""
    if event not in _MOVING:
        return
    for path in arguments[: _MOVING[event]]:
        named = os.path.realpath(os.fsdecode(path))
        for handle in Path("/proc/self/fd").iterdir():
            try:
                is_open = str(handle.readlink()) == named
            except OSError:
                continue
            if is_open:
                raise PermissionError(13, "The process cannot access the file", named)


if __name__ == "__main__":
    program, *rest = sys.argv[1:]
    hide()
    sys.argv = [program, *rest]
    if program == "ricordo":
        from ricordo.cli.main import run

        run()
    else:
        exec(compile(Path(program).read_text(encoding="utf-8"), program, "exec"))
