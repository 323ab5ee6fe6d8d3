"""Files of other systems: opened within limits, their values checked and cleaned."""

import contextlib
import io
import json
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.checks import parse_moment, theme_slug
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.json_bounds import JsonLines, JsonListing, OutOfBounds, opened_value

_CHUNK_BYTES: Final = 256 * 1024
# Other compression methods decompress everything at once.
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

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON document of an export; a list in it is read lazily.

    ``place`` names it in messages.
    """

    place: str
    data: Any


@dataclass(frozen=True, slots=True)
class Entries:
    """A list, or JSON Lines, that is read lazily.

    Iterating raises ImportFailed where it is not JSON, or beyond a limit.
    """

    place: str
    listing: JsonListing | JsonLines

    def __iter__(self) -> Iterator[Any]:
        for _, entry in self.numbered("entry"):
            yield entry

    def numbered(self, what: str) -> Iterator[tuple[str, Any]]:
        """The entries with their places: their lines, or ``what`` they are and their numbers."""
        is_lines = isinstance(self.listing, JsonLines)
        entries = iter(self.listing if is_lines else enumerate(self.listing, start=1))
        while True:
            try:
                number, entry = next(entries)
            except StopIteration:
                return
            except (ValueError, RecursionError) as problem:
                raise _refusal(self.place, problem) from None
            yield f"{self.place}, {'line' if is_lines else what} {number}", entry


def is_archive(path: Path) -> bool:
    """Whether a file begins like a zip archive. Raises ImportFailed."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError as error:
        raise _unreadable(path, error) from None


def read_text(path: Path, max_bytes: int | None = None) -> str:
    """The contents of a text file, by default up to the size limit of notes. Raises ImportFailed:
    it cannot be read, is too large or is not UTF-8."""
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
    """Open a JSON file. Raises ImportFailed: not readable, too large or not JSON."""
    return _document(str(path), lambda: _of_file(path))


def documents(path: Path, members: Collection[str]) -> Iterator[Document]:
    """The JSON file itself, or the members of a zip archive that match one of the patterns. Raises
    ImportFailed: not readable, too large, not JSON, or an archive without such members."""
    if not is_archive(path):
        yield document(path)
        return
    with _opened(path) as archive:
        chosen = _chosen(path, archive, members)
    for member in chosen:
        yield _document(f"{path}, {member.filename}", _unpacking(path, member))


def holds(path: Path, patterns: Collection[str]) -> bool:
    """Whether a zip archive has a member that matches one of the patterns. Raises ImportFailed."""
    with _opened(path) as archive:
        return any(_is_wanted(member.filename, patterns) for member in archive.infolist())


def members(path: Path) -> Iterator[tuple[str, Chunks]]:
    """All members of a zip archive, by their names. Raises ImportFailed."""
    with _opened(path) as archive:
        chosen = _chosen(path, archive, ["*"])
    for member in chosen:
        yield member.filename, _unpacking(path, member)


def parsed(place: str, text: str) -> Any:
    """Parse a JSON text of our own, without limits on the number of values. Raises ImportFailed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise _refusal(place, problem) from None


def _document(place: str, chunks: Chunks) -> Document:
    try:
        data = opened_value(chunks)
    except (ValueError, RecursionError) as problem:
        raise _refusal(place, problem) from None
    is_listed = isinstance(data, JsonListing | JsonLines)
    return Document(place, Entries(place, data) if is_listed else data)


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
    """Refuses large single reads, which zipfile does for the directory of an archive."""

    def read(self, size: int | None = -1, /) -> bytes:
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
    unpacked = sum(
        member.file_size for member in chosen
    )  # none decompresses to more than it declares
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
    if name.endswith("/") or "__MACOSX" in member.parts:
        return False
    return any(member.match(pattern) for pattern in patterns)


def _unreadable(path: Path, error: OSError) -> ImportFailed:
    return ImportFailed(f"{path}: cannot be read ({error.strerror})")


def _too_large(place: str) -> ImportFailed:
    return ImportFailed(f"{place}: larger than {limits.MAX_IMPORT_FILE_BYTES} bytes")


JsonObject = dict[str, Any]


def an_object(place: str, value: object) -> JsonObject:
    """The value as a JSON object. Raises ImportFailed."""
    if not isinstance(value, dict):
        raise ImportFailed(f"{place}: expected an object, got {kind_of(value)}")
    return value


def a_list(place: str, value: object) -> list[Any]:
    """The value as a JSON array. Raises ImportFailed."""
    if not isinstance(value, list):
        raise ImportFailed(f"{place}: expected a list, got {kind_of(value)}")
    return value


def listed(place: str, value: object) -> Iterable[Any]:
    """The entries of a document that must be a list. Raises ImportFailed."""
    return value if isinstance(value, Entries) else a_list(place, value)


def numbered(place: str, value: object, what: str) -> Iterator[tuple[str, Any]]:
    """The entries of a list, each with its place in messages. Raises ImportFailed."""
    if isinstance(value, Entries):
        yield from value.numbered(what)
        return
    for number, entry in enumerate(a_list(place, value), start=1):
        yield f"{place}, {what} {number}", entry


def a_text(place: str, value: object) -> str:
    """The value as a string. Raises ImportFailed."""
    if not isinstance(value, str):
        raise ImportFailed(f"{place}: expected text, got {kind_of(value)}")
    return value


def object_or_empty(value: object) -> JsonObject:
    """The value if it is an object; for optional parts of an export."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """The value if it is a list; for optional parts of an export."""
    return value if isinstance(value, list) else []


def first_object(value: object) -> JsonObject:
    """The first object of a list, to recognise a format; empty where there is none."""
    entries = value if isinstance(value, Entries) else list_or_empty(value)
    return object_or_empty(next(iter(entries), None))


def kind_of(value: object) -> str:
    """The JSON type, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | Entries) else "an object"


# The model refuses such values, but one stray character must not fail a whole import.


def text(value: object) -> str:
    """Stripped text without NUL characters and lone surrogates; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return _LONE_SURROGATE.sub("\ufffd", value.replace("\x00", "")).strip()


def title(value: object) -> str | None:
    """A title on one line, cut to the limit."""
    line = " ".join(text(value).split())
    return line[: limits.MAX_THREAD_TITLE_CHARS].rstrip() or None


def theme(value: object) -> str | None:
    try:
        return theme_slug(text(value))
    except InvalidValue:
        return None


def tags(values: Iterable[object]) -> tuple[str, ...]:
    """The valid tags, up to the limit of a memory."""
    cleaned = dict.fromkeys(text(value) for value in values)
    fitting = [tag for tag in cleaned if 0 < len(tag) <= limits.MAX_TAG_CHARS]
    return tuple(fitting[: limits.MAX_TAGS])


def reference(value: object) -> str | None:
    """A foreign identifier, or None where it cannot be stored unchanged."""
    try:
        return checks.optional_reference("reference", value)
    except InvalidValue:
        return None


def user(value: object) -> str | None:
    """The user of another system whose something is; None where it is nobody's."""
    return None if value is None else text(str(value)) or None


def origin(system: str, value: object) -> str | None:
    """The identifier of something in another system, or None without a usable one."""
    is_usable = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return reference(f"{system}:{value}") if is_usable else None


def thread_id(system: str, value: object) -> str | None:
    """The thread id of a conversation of another system, or None without a usable id."""
    return reference(f"{system}:{value}") if isinstance(value, str) and value else None


def moment(value: object) -> datetime | None:
    """A time in ISO 8601 or in seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            return parse_moment("time", value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def is_kept(found: ImportedData, text: str, maximum: int) -> bool:
    """Whether a text can be stored; empty and too long ones are counted as skipped."""
    if not text:
        found.skipped["empty"] += 1
    elif len(text) > maximum:
        found.skipped[f"longer than {maximum} characters"] += 1
    else:
        return True
    return False


# Folders of files, on the disk or in a zip archive.


class FileInFolder(NamedTuple):
    """A file, and how messages name it."""

    path: Path
    place: str


@contextlib.contextmanager
def opened_folder(path: Path) -> Iterator[list[FileInFolder]]:
    """The files of a folder or an archive by their names, but for hidden ones and links. Raises
    ImportFailed: it is neither, cannot be read, or has too many files or bytes."""
    if path.is_dir():
        yield _limited_folder(path, [FileInFolder(file, str(file)) for file in _folder_files(path)])
        return
    if not is_archive(path):
        raise ImportFailed(f"{path}: neither a folder nor a zip archive of one")
    with tempfile.TemporaryDirectory(prefix="ricordo-import-") as made:
        found: list[FileInFolder] = []
        for name, chunks in members(path):
            if _is_hidden(Path(name)):
                continue
            found.append(FileInFolder(Path(made, str(len(found))), f"{path}, {name}"))
            _limited_folder(path, found)
            with found[-1].path.open("wb") as file:
                file.writelines(chunks())
        yield found


def is_binary(path: Path) -> bool:
    """Whether a file begins with what no text has."""
    with path.open("rb") as file:
        return b"\x00" in file.read(8_192)


def _folder_files(path: Path) -> Iterator[Path]:
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


def _limited_folder(path: Path, files: list[FileInFolder]) -> list[FileInFolder]:
    if len(files) > limits.MAX_IMPORT_FOLDER_FILES:
        most = limits.MAX_IMPORT_FOLDER_FILES
        raise ImportFailed(f"{path}: more than {most} files; split the folder")
    return files
