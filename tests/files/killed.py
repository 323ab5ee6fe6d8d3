"""Processes that synchronise a mirror or change a profile, and may die at any step."""

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


def killed_at(url: str, files: Path, step: int, work: str = "mirror") -> bool:
    """Work in a process that dies at its nth step; False when there were fewer."""
    process = started(url, files, step, work)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return bool(process.exitcode)


def started(url: str, files: Path, step: int = 0, work: str = "mirror") -> Any:
    """A process that synchronises the mirror of ``me``, or changes the profile of ``ana``."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.files.killed"])
    process = context.Process(target=_work, args=(url, files, step, work))
    process.start()
    return process


def _work(url: str, files: Path, step: int, work: str) -> None:
    user_id = "me" if work == "mirror" else "ana"
    settings: dict[str, Any] = {"files": files, "files_user": user_id, "run_jobs": False}
    memory = open_memory(url, embedding_provider="none", **settings)
    user = memory.user(user_id)
    if step:
        _die_at(step)
    if work == "mirror":
        user.sync_mirror()
    else:
        user.update_user_profile({"city": "Rome"}, explicit=True)
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
