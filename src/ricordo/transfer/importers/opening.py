"""Opening foreign files: bounded in size, read piece by piece, never unpacked to disk."""

import contextlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.transfer.json_bounds import Listing, OutOfBounds, opened_value

_CHUNK_BYTES: Final = 256 * 1024
_ARCHIVE_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_MAC_LEFTOVERS: Final = "__MACOSX"
# The others unpack as much as there is at once, whatever one asks for.
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile and its decompressors raise on damaged, encrypted or unsupported archives.
_UNREADABLE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
Chunks = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON text of an export; a list in it is read while one goes through it.

    ``place`` names it in messages.
    """

    place: str
    data: Any


@dataclass(frozen=True, slots=True)
class Entries:
    """A list that is read while one goes through it.

    Going through it raises ImportFailed where it is not JSON, or beyond a limit.
    """

    place: str
    listing: Listing

    def __iter__(self) -> Iterator[Any]:
        """Read the entries."""
        entries = iter(self.listing)
        while True:
            try:
                entry = next(entries)
            except StopIteration:
                return
            except (ValueError, RecursionError) as problem:
                raise _refusal(self.place, problem) from None
            yield entry


def is_archive(path: Path) -> bool:
    """True where a file begins like a zip archive.

    Raises:
        ImportFailed: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(4) in _ARCHIVE_STARTS
    except OSError as error:
        raise _unreadable(path, error) from None


def read_text(path: Path, max_bytes: int | None = None) -> str:
    """The whole of a text file, as large as one of notes may be unless said otherwise.

    Raises:
        ImportFailed: it cannot be read, is too large or is not UTF-8.
    """
    most = limits.MAX_IMPORT_TEXT_BYTES if max_bytes is None else max_bytes
    most = min(most, limits.MAX_IMPORT_FILE_BYTES)
    raw = bytearray()
    for chunk in _of_file(path):
        raw += chunk
        if len(raw) > most:
            raise ImportFailed(f"{path}: larger than {most} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise _refusal(str(path), problem) from None


def document(path: Path) -> Document:
    """A JSON file.

    Raises:
        ImportFailed: not readable, too large or not JSON.
    """
    return _document(str(path), lambda: _of_file(path))


def documents(path: Path, members: Collection[str]) -> Iterator[Document]:
    """The JSON file itself or, of a zip archive, the members that match one of the patterns.

    Raises:
        ImportFailed: not readable, too large, not JSON, or an archive without such members.
    """
    if not is_archive(path):
        yield document(path)
        return
    with _opened(path) as archive:
        chosen = _chosen(path, archive, members)
    for member in chosen:
        yield _document(f"{path}, {member.filename}", _unpacking(path, member))


def parsed(place: str, text: str) -> Any:
    """A JSON text of one's own as Python values, whatever their number.

    Raises:
        ImportFailed: it is not JSON, or nested too deeply to be read.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise _refusal(place, problem) from None


def _document(place: str, chunks: Chunks) -> Document:
    try:
        data = opened_value(chunks)
    except (ValueError, RecursionError) as problem:
        raise _refusal(place, problem) from None
    return Document(place, Entries(place, data) if isinstance(data, Listing) else data)


def _refusal(place: str, problem: ValueError | RecursionError) -> ImportFailed:
    if isinstance(problem, OutOfBounds):
        return ImportFailed(f"{place}: {problem}")
    if isinstance(problem, UnicodeDecodeError):
        return ImportFailed(f"{place}: not text in UTF-8 (byte {problem.start})")
    return ImportFailed(f"{place}: not valid JSON ({problem})")


def _of_file(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from _read_bounded(str(path), file)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unpacking(path: Path, member: zipfile.ZipInfo) -> Chunks:
    place = f"{path}, {member.filename}"

    def chunks() -> Iterator[bytes]:
        with _opened(path) as archive:
            try:
                with archive.open(member) as file:
                    yield from _read_bounded(place, file)
            except ImportFailed:
                raise
            except _UNREADABLE as problem:
                raise ImportFailed(f"{place}: cannot be unpacked ({problem})") from None

    return chunks


def _read_bounded(place: str, file: IO[bytes]) -> Iterator[bytes]:
    size = 0
    while chunk := file.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > limits.MAX_IMPORT_FILE_BYTES:
            raise _too_large(place)
        yield chunk


class _BoundedReads(io.FileIO):
    """A file of which nobody reads much at once, as zipfile would do with a directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes, if they are not too many."""
        most = limits.MAX_ARCHIVE_DIRECTORY_BYTES
        if size is not None and size > most:
            raise zipfile.BadZipFile(f"its directory is larger than {most} bytes")
        return super().read(size) or b""


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        file = _BoundedReads(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except _UNREADABLE as problem:
            raise ImportFailed(f"{path}: not a readable zip archive ({problem})") from None
        with archive:
            yield archive


def _chosen(
    path: Path, archive: zipfile.ZipFile, patterns: Collection[str]
) -> list[zipfile.ZipInfo]:
    chosen = [member for member in archive.infolist() if _is_wanted(member.filename, patterns)]
    if not chosen:
        raise ImportFailed(f"{path}: the archive holds no {' or '.join(sorted(patterns))}")
    unpacked = sum(member.file_size for member in chosen)  # none gives out more than it says
    if unpacked > limits.MAX_IMPORT_FILE_BYTES:
        raise _too_large(str(path))
    ratio = limits.MAX_UNPACKED_RATIO
    if unpacked > max(ratio * path.stat().st_size, limits.MIN_UNPACKED_BYTES):
        raise ImportFailed(f"{path}: unpacks to more than {ratio} times its size")
    for member in chosen:
        if member.compress_type not in _METHODS:
            what = "packed in a way that is not read; allowed: deflate, or not packed"
            raise ImportFailed(f"{path}, {member.filename}: {what}")
    return sorted(chosen, key=lambda member: member.filename)


def _is_wanted(name: str, patterns: Collection[str]) -> bool:
    member = PurePosixPath(name)
    if name.endswith("/") or _MAC_LEFTOVERS in member.parts:
        return False
    return any(member.match(pattern) for pattern in patterns)


def _unreadable(path: Path, error: OSError) -> ImportFailed:
    return ImportFailed(f"{path}: cannot be read ({error.strerror})")


def _too_large(place: str) -> ImportFailed:
    return ImportFailed(f"{place}: larger than {limits.MAX_IMPORT_FILE_BYTES} bytes")
