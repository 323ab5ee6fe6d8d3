"""Where tests put their files: in memory where there is room, because a disk takes its time."""

import os
import shutil
import tempfile
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_NEEDED_BYTES = 4 * 1024**3
_VARIABLE = "TMPDIR"


def keep_in_memory() -> None:
    """Make temporary files of this run, and of its processes, in memory.

    Not where somebody has said where they go, and not where programs could not be run from it.
    """
    if _VARIABLE not in os.environ and _has_room(_IN_MEMORY):
        os.environ[_VARIABLE] = str(_IN_MEMORY)
        tempfile.tempdir = None  # so that it is looked up again


def _has_room(folder: Path) -> bool:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return False
    may_run_programs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return may_run_programs and shutil.disk_usage(folder).free >= _NEEDED_BYTES
