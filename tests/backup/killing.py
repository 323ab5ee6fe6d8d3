"""Processes that make or restore a backup, or encrypt a store, and are killed in the middle."""

import itertools
import json
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ricordo.storage.sqlite import rekey
from ricordo.storage.sqlite.connection import DatabaseKey
from ricordo.wiring import open_memory, restore_backup

_PRELOADED = ["tests.backup.killing", "ricordo.wiring", "ricordo.storage.postgres.backend"]
_COMMANDS = frozenset({"execute", "executemany", "backup", "commit"})
_CHANGES = frozenset({"fsync", "link", "replace", "unlink"})
_LAST = {
    "make": {"put_in_place"},
    "restore": {"take_over", "_into_server"},
    "convert": {"convert"},
}
"""By which function all is done, but for tidying up."""
AT_THE_END = 0


def make(url: str, path: str) -> None:
    with open_memory(url, run_jobs=False, upkeep=False, embedding_provider="none") as memory:
        memory.backup(path, force=True)


def restore(url: str, path: str) -> None:
    restore_backup(path, url, replace=True)


def convert(keys: str, path: str) -> None:
    """From the first to the second of two keys in JSON; null is for no encryption."""
    old, new = (key if key is None else DatabaseKey(key) for key in json.loads(keys))
    rekey.convert(Path(path), old, new)


def steps_of(what: str, url: str, path: Path, some: int) -> list[int]:
    """Which steps to die at: some of all those of a run to its end, and just when all is done. A
    step is a command to the database, or a change in a folder."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = _context().Process(target=_counted, args=(writer, what, url, str(path)))
    process.start()
    names: list[str] = reader.recv()
    process.join()
    assert process.exitcode == 0
    return [*range(1, len(names), max(1, len(names) // some)), AT_THE_END]


def killed_at(step: int, what: str, url: str, path: Path) -> bool:
    """Run one of these in a process that dies at its nth step; False when there were fewer, so
    that it has come to its end."""
    process = _context().Process(target=_until, args=(step, what, url, str(path)))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def killed_at_size(max_bytes: int, what: str, url: str, path: Path) -> None:
    """Run one of these in a process that the system kills as it makes any file larger."""
    process = _context().Process(target=_limited, args=(max_bytes, what, url, str(path)))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGXFSZ


def _limited(max_bytes: int, what: str, url: str, path: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    globals()[what](url, path)


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _counted(pipe: Any, what: str, url: str, path: str) -> None:
    names: list[str] = []
    _watched(names.append, lambda: None, what, url, path)
    pipe.send(names)


def _until(step: int, what: str, url: str, path: str) -> None:
    left = itertools.count(1 - step)

    def count(_name: str) -> None:
        if next(left) == 0:
            _die()

    ended = _die if step == AT_THE_END else lambda: None
    _watched(count, ended, what, url, path)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watched(
    note: Callable[[str], None], ended: Callable[[], None], what: str, url: str, path: str
) -> None:
    def watch(frame: FrameType, event: str, called: Any) -> None:
        """Called by the interpreter at every call of a function, just before it runs."""
        if event == "c_call":  # of SQLite's driver and the system
            name = getattr(called, "__name__", "")
            of_system = getattr(called, "__module__", None) == os.name
            is_step = name in (_CHANGES if of_system else _COMMANDS)
        else:
            name = frame.f_code.co_name
            in_driver = f"{os.sep}psycopg{os.sep}" in frame.f_code.co_filename
            is_step = event == "call" and in_driver and name in _COMMANDS
            if event == "return" and name in _LAST[what] and "ricordo" in frame.f_code.co_filename:
                ended()
        if is_step:
            note(name)

    sys.setprofile(watch)
    globals()[what](url, path)
    sys.setprofile(None)
