"""Disks that are full, as tests need them: a small file system, or a limit on the size of files."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ricordo.errors import StorageError, StorageFull, StorageUnavailable

_BALLAST = "ballast"
_PIECES = (1 << 16, 1 << 12, 1)


class SmallFileSystem:
    """A file system in memory that can be filled to the last byte. Only root may mount one."""

    error: type[StorageError] = StorageFull
    status = 507

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.folder / _BALLAST).open("ab", buffering=0) as ballast:
            for size in _PIECES:
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(b"x" * size)

    def free(self) -> None:
        """Give the room back."""
        (self.folder / _BALLAST).unlink(missing_ok=True)


class LimitedFiles:
    """No file of this process may grow, as under a quota: anybody may set that for themselves.

    SQLite cannot tell it from a disk that fails.
    """

    error: type[StorageError] = StorageUnavailable
    status = 503

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Let no file become larger than the largest in the folder."""
        limit_files(max(path.stat().st_size for path in self.folder.iterdir()))

    def free(self) -> None:
        """Let files grow again."""
        limit_files(resource.RLIM_INFINITY)


Disk = SmallFileSystem | LimitedFiles


def limit_files(size: int) -> None:
    """Let this process write no file beyond so many bytes; what would is refused with EFBIG."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = hard if size == resource.RLIM_INFINITY else size
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def limited_files(folder: Path) -> Iterator[LimitedFiles]:
    """A folder whose files can be kept from growing."""
    folder.mkdir()
    disk = LimitedFiles(folder)
    try:
        yield disk
    finally:
        disk.free()


@contextlib.contextmanager
def small_file_system(folder: Path, megabytes: int = 8) -> Iterator[SmallFileSystem]:
    """A folder with a file system of its own."""
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder)
    try:
        yield SmallFileSystem(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def mount(*arguments: object) -> None:
    """Mount something, or the same anew with other options."""
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


def may_mount() -> bool:
    """Whether this process may mount file systems: it runs as root, and not in a container that
    forbids it."""
    if os.geteuid() != 0:
        return False
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True
    )
    return tried.returncode == 0
