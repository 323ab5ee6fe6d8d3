"""Processes that synchronise a mirror, and may die at any step."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

from ricordo.wiring import open_memory

_FILE_STEPS: Final = (os.replace, os.rename, os.fsync, os.unlink)
_DATABASE_STEPS: Final = frozenset({"commit"})


def killed_at(url: str, files: Path, step: int) -> bool:
    """Synchronise in a process that dies at its nth step; False when there were fewer."""
    process = started(url, files, step)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return bool(process.exitcode)


def started(url: str, files: Path, step: int = 0) -> Any:
    """A process that synchronises."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.files.killed"])
    process = context.Process(target=_sync, args=(url, files, step))
    process.start()
    return process


def _sync(url: str, files: Path, step: int) -> None:
    memory = open_memory(url, run_jobs=False, embedding_provider="none", files=files)
    if step:
        _die_at(step)
    memory.user("me").sync_mirror()
    sys.setprofile(None)
    memory.close()


def _die_at(step: int) -> None:
    """Die just before the nth write to disk from now on: of a file, or of the database."""
    left = step

    def watch(frame: FrameType, event: str, called: Any) -> None:
        nonlocal left
        if event == "c_call":
            is_step = called in _FILE_STEPS or getattr(called, "__name__", "") in _DATABASE_STEPS
        else:
            in_driver = f"{os.sep}psycopg{os.sep}" in frame.f_code.co_filename
            is_step = event == "call" and in_driver and frame.f_code.co_name in _DATABASE_STEPS
        left -= is_step
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)
