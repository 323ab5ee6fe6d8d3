"""Folders of files to import, on the disk or in a zip archive."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.transfer import foreign_files


class FileInFolder(NamedTuple):
    """A file, and how messages name it."""

    path: Path
    place: str


@contextlib.contextmanager
def opened(path: Path) -> Iterator[list[FileInFolder]]:
    """The files of a folder or an archive by their names, but for hidden ones and links.

    Raises:
        ImportFailed: it is neither, cannot be read, or has too many files or bytes.
    """
    if path.is_dir():
        yield _limited(path, [FileInFolder(file, str(file)) for file in _files(path)])
        return
    if not foreign_files.is_archive(path):
        raise ImportFailed(f"{path}: neither a folder nor a zip archive of one")
    with tempfile.TemporaryDirectory(prefix="ricordo-import-") as made:
        found: list[FileInFolder] = []
        for name, chunks in foreign_files.members(path):
            if _is_hidden(Path(name)):
                continue
            found.append(FileInFolder(Path(made, str(len(found))), f"{path}, {name}"))
            _limited(path, found)
            with found[-1].path.open("wb") as file:
                file.writelines(chunks())
        yield found


def is_binary(path: Path) -> bool:
    """Whether a file begins with what no text has."""
    with path.open("rb") as file:
        return b"\x00" in file.read(8_192)


def _files(path: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise ImportFailed(f"{error.filename}: cannot be read ({error.strerror})")

    for place, folders, names in os.walk(path, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _limited(path: Path, files: list[FileInFolder]) -> list[FileInFolder]:
    if len(files) > limits.MAX_IMPORT_FOLDER_FILES:
        most = limits.MAX_IMPORT_FOLDER_FILES
        raise ImportFailed(f"{path}: more than {most} files; split the folder")
    return files
