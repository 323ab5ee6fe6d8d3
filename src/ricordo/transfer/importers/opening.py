"""Opening foreign files: bounded in size, read in memory, never unpacked to disk."""

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NoReturn

from ricordo import limits
from ricordo.errors import ImportFailed

_CHUNK_BYTES: Final = 1024 * 1024
_ARCHIVE_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_MAC_LEFTOVERS: Final = "__MACOSX"
# What zipfile and its decompressors raise on damaged, encrypted or unsupported archives.
_UNREADABLE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON text of an export. ``place`` names it in messages."""

    place: str
    data: Any


def is_archive(path: Path) -> bool:
    """True where a file begins like a zip archive.

    Raises:
        ImportFailed: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(4) in _ARCHIVE_STARTS
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None


def read_text(path: Path) -> str:
    """The whole of a text file.

    Raises:
        ImportFailed: it cannot be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            raw = _read_bounded(file)
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None
    return _decoded(str(path), raw)


def documents(path: Path, members: Collection[str]) -> Iterator[Document]:
    """The JSON file itself or, of a zip archive, the members that match one of the patterns.

    Raises:
        ImportFailed: not readable, too large, not JSON, or an archive without such members.
    """
    if not is_archive(path):
        yield Document(str(path), parsed(str(path), read_text(path)))
        return
    with _opened(path) as archive:
        for member in _chosen(path, archive, members):
            place = f"{path}, {member.filename}"
            raw = _unpacked(place, archive, member)
            yield Document(place, parsed(place, _decoded(place, raw)))


def parsed(place: str, text: str) -> Any:
    """A JSON text as Python values.

    Raises:
        ImportFailed: it is not JSON, or nested too deeply to be read.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise ImportFailed(f"{place}: not valid JSON ({problem})") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except _UNREADABLE as problem:
        raise ImportFailed(f"{path}: not a readable zip archive ({problem})") from None


def _chosen(
    path: Path, archive: zipfile.ZipFile, patterns: Collection[str]
) -> list[zipfile.ZipInfo]:
    chosen = [member for member in archive.infolist() if _is_wanted(member.filename, patterns)]
    if not chosen:
        raise ImportFailed(f"{path}: the archive holds no {' or '.join(sorted(patterns))}")
    if sum(member.file_size for member in chosen) > limits.MAX_IMPORT_FILE_BYTES:
        raise _too_large(str(path))
    return sorted(chosen, key=lambda member: member.filename)


def _is_wanted(name: str, patterns: Collection[str]) -> bool:
    member = PurePosixPath(name)
    if name.endswith("/") or _MAC_LEFTOVERS in member.parts:
        return False
    return any(member.match(pattern) for pattern in patterns)


def _unpacked(place: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(member) as file:
            return _read_bounded(file)
    except _UNREADABLE as problem:
        raise ImportFailed(f"{place}: cannot be unpacked ({problem})") from None


def _read_bounded(file: IO[bytes]) -> bytes:
    """Everything, or a little more than the maximum where there is more than that."""
    chunks: list[bytes] = []
    size = 0
    while size <= limits.MAX_IMPORT_FILE_BYTES and (chunk := file.read(_CHUNK_BYTES)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _decoded(place: str, raw: bytes) -> str:
    # Also where an archive declared a smaller size: it can lie.
    if len(raw) > limits.MAX_IMPORT_FILE_BYTES:
        raise _too_large(place)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ImportFailed(f"{place}: not text in UTF-8 (byte {problem.start})") from None


def _too_large(place: str) -> ImportFailed:
    return ImportFailed(f"{place}: larger than {limits.MAX_IMPORT_FILE_BYTES} bytes")
