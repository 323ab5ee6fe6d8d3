"""Our entries in the settings files of other programs: put in, shown beforehand, taken back.

Everything else in a file stays as it is, comments and order included. What was put in is recorded
in the home folder, so that taking it back leaves the very bytes that were there before, or where
somebody changed the file since, all but our entries.
"""

import contextlib
import difflib
import hashlib
import json
import os
import re
import secrets
import tomllib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from ricordo.coding_agents import jsonc
from ricordo.errors import FilesUnavailable, InvalidInput
from ricordo.files.disk import file_errors, make_folder, replace_file, sync_folder
from ricordo.frozen import dataclass, field, replace

MARKS: Final = ("ricordo-hook", "ricordo_hook")
"""One of these is in every command of ours, whichever version wrote it."""

_RECORD: Final = "installed.json"
_BINARY: Final = getattr(os, "O_BINARY", 0)
_MAX_FILE_BYTES: Final = 64_000_000
_SPACE: Final = " \t\r\n\ufeff"
_HEADER: Final = re.compile(r"[ \t]*\[")

Form = Literal["json", "toml", "text"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A value at a path, or with ``in_list`` one more element of the list at that path."""

    path: tuple[str, ...]
    value: Any
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What of a file is ours: entries or, with the form ``text``, all of it."""

    path: Path
    form: Form
    settings: tuple[Setting, ...] = ()
    content: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; None where there is none. ``kept`` are entries of others that
    stand where ours would."""

    path: Path
    before: bytes | None
    after: bytes | None
    kept: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        return self.before == self.after

    @property
    def kind(self) -> str:
        if self.is_none:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"

    def diff(self) -> str:
        """The change as ``diff -u`` shows it."""
        old, new = (_shown(one) for one in (self.before, self.after))
        before, after = (
            str(self.path) if one is not None else "no file" for one in (self.before, self.after)
        )
        return "".join(difflib.unified_diff(old, new, before, after, n=2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was put into one file, for all projects or for that of a ``root``.

    ``before`` is what was there, where taking out does not give it. ``made`` are the objects and
    lists that were made for our entries, ``folders`` the folders. ``command`` is what a file that
    is all ours runs.
    """

    agent: str
    root: str = ""
    path: str
    form: Form
    settings: tuple[Setting, ...]
    after: str
    created: bool
    before: bytes | None = None
    made: tuple[tuple[str, ...], ...] = ()
    folders: tuple[str, ...] = field(default=())
    command: tuple[str, ...] = ()


# -- what changes


def installing(
    file: SettingsFile, known: Installed | None, agent: str, root: str = ""
) -> tuple[Change, Installed]:
    """The change that puts our entries into a file; none where they are there. Raises InvalidInput:
    the file cannot be read as what it should be; FilesUnavailable: it cannot be read at all."""
    before = _read(file.path)
    base = before
    if before is not None and not _is_there(file, before):
        base = _taken_back(known, before) if known else _without_marked(file, before)
    wanted, kept = _unclaimed(file, base)
    after = _with_settings(file, wanted, base)
    if known is not None and before == after:
        return Change(file.path, before, after, kept), known
    record = replace(_record(file, agent, wanted, base, after), root=root)
    return Change(file.path, before, after, kept), record


def removing(known: Installed) -> Change:
    """The change that takes our entries out of a file. Raises InvalidInput: the file cannot be read
    as what it should be; FilesUnavailable: it cannot be read at all."""
    path = Path(known.path)
    before = _read(path)
    return Change(path, before, _taken_back(known, before))


def is_in_place(known: Installed) -> bool:
    """Whether what was put into a file is still there; False where it cannot be read."""
    path = Path(known.path)
    try:
        content = _read(path)
        if content is None:
            return False
        if known.form == "text":
            return _digest(content) == known.after
        return _is_there(SettingsFile(path, known.form, known.settings), content)
    except (InvalidInput, FilesUnavailable):
        return False


def _taken_back(known: Installed, current: bytes | None) -> bytes | None:
    if current is None:
        return None
    if _digest(current) == known.after:
        if known.created:
            return None
        if known.before is not None:
            return known.before
    if known.form == "text":
        return None if _is_marked(_decoded(Path(known.path), current)) else current
    text = _decoded(Path(known.path), current)
    with _parsing(Path(known.path)):
        text = _without_settings(known.form, text, known.settings, known.made)
        is_empty = known.created and not _parsed(known.form, text)
    return None if is_empty else text.encode()


def _without_marked(file: SettingsFile, current: bytes) -> bytes:
    """Without what an installation wrote of which there is no record any more."""
    text = _decoded(file.path, current)
    if file.form != "json" or not any(mark in text for mark in MARKS):
        return current
    with _parsing(file.path):
        lists = tuple(setting for setting in file.settings if setting.in_list)
        return _without_settings(file.form, text, lists, ()).encode()


def _with_settings(
    file: SettingsFile, wanted: Sequence[Setting], base: bytes | None
) -> bytes | None:
    if file.form == "text":
        return file.content.encode()
    if not wanted:
        return base
    text = _decoded(file.path, base or b"")
    if file.form == "json" and not text.strip(_SPACE):
        text = "{}\n"
    with _parsing(file.path):
        for setting in wanted:
            if file.form == "toml":
                text = _with_table(text, setting)
            elif setting.in_list:
                text = jsonc.with_element(text, setting.path, setting.value)
            else:
                text = jsonc.with_member(text, setting.path, setting.value)
    return text.encode()


def _without_settings(
    form: Form, text: str, settings: Sequence[Setting], made: Sequence[tuple[str, ...]]
) -> str:
    for setting in reversed(settings):
        if form == "toml":
            text = _without_table(text, setting)
        elif setting.in_list:
            text = jsonc.without(text, setting.path, partial(_is_ours, value=setting.value))
        else:
            text = jsonc.without(text, setting.path)
    for path in sorted(made, key=len, reverse=True):
        if form == "json":
            text = jsonc.without_empty(text, path)
    return text


def _is_there(file: SettingsFile, current: bytes) -> bool:
    if file.form == "text":
        return False
    whole = _whole(file, current)
    for setting in file.settings:
        found = _at(whole, setting.path)
        if setting.in_list:
            ours = [one for one in found if _is_ours(one)] if isinstance(found, list) else []
            if ours != [setting.value]:
                return False
        elif found != setting.value:
            return False
    return True


def _unclaimed(
    file: SettingsFile, base: bytes | None
) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """The entries that are still missing, and the names of those that somebody else has."""
    if base is None or file.form == "text":
        return file.settings, ()
    whole = _whole(file, base)
    missing, kept = [], []
    for setting in file.settings:
        found = _at(whole, setting.path)
        if setting.in_list:
            if not (isinstance(found, list) and any(map(_is_ours, found))):
                missing.append(setting)
        elif found is None:
            missing.append(setting)
        elif found != setting.value:
            kept.append(".".join(setting.path))
    return tuple(missing), tuple(kept)


def _record(
    file: SettingsFile,
    agent: str,
    wanted: Sequence[Setting],
    base: bytes | None,
    after: bytes | None,
) -> Installed:
    whole = _whole(file, base)
    made = {
        setting.path[:length]
        for setting in wanted
        for length in range(1, len(setting.path) + setting.in_list)
        if _at(whole, setting.path[:length]) is None
    }
    record = Installed(
        agent=agent,
        path=str(file.path),
        form=file.form,
        settings=tuple(wanted),
        after=_digest(after or b""),
        created=base is None,
        made=tuple(sorted(made)),
        folders=tuple(map(str, _missing_folders(file.path))),
        command=file.command,
    )
    if base is None:
        return record
    if file.form != "text" and wanted:
        changed = _decoded(file.path, after or b"")
        text = _without_settings(file.form, changed, record.settings, record.made)
        if text.encode() == base:
            return record
    return replace(record, before=base)


def _whole(file: SettingsFile, content: bytes | None) -> Any:
    if content is None or file.form == "text":
        return {}
    text = _decoded(file.path, content)
    with _parsing(file.path):
        return _parsed(file.form, text) if text.strip(_SPACE) else {}


def _missing_folders(path: Path) -> list[Path]:
    return [folder for folder in path.parents if not folder.exists()]


def _is_ours(element: Any, value: Any = None) -> bool:
    return element == value or any(map(_is_marked, jsonc.strings_in(element)))


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def _parsed(form: Form, text: str) -> Any:
    return tomllib.loads(text) if form == "toml" else jsonc.parse(text).value


def _at(whole: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        whole = whole.get(key) if isinstance(whole, Mapping) else None
    return whole


@contextlib.contextmanager
def _parsing(path: Path) -> Any:
    try:
        yield
    except (jsonc.NotJson, tomllib.TOMLDecodeError) as problem:
        raise InvalidInput(
            f"{path} cannot be read ({problem}); nothing was changed. Correct it first."
        ) from None


# -- TOML: a table of its own, at the end


def _with_table(text: str, setting: Setting) -> str:
    line = "\r\n" if "\r\n" in text else "\n"
    before = tomllib.loads(text)
    block = line.join([f"[{'.'.join(map(_toml_key, setting.path))}]", *_toml_lines(setting.value)])
    gap = "" if not text else line if text.endswith("\n") else line * 2
    new = f"{text}{gap}{block}{line}"
    after = tomllib.loads(new)
    if _without_key(after, setting.path) != _without_key(before, setting.path):
        raise tomllib.TOMLDecodeError("its last table would take up what is added")
    return new


def _without_table(text: str, setting: Setting) -> str:
    """The text without the table and those within it. Raises TOMLDecodeError: it is written in a
    way that cannot be taken out alone."""
    whole = tomllib.loads(text)
    if _at(whole, setting.path) is None:
        return text
    wanted = _without_key(whole, setting.path)
    name = ".".join(map(_toml_key, setting.path))
    own = re.compile(rf"[ \t]*\[{re.escape(name)}(?:\.[^\]\n]*)?\][ \t]*(?:#.*)?\r?\n?$")
    kept: list[str] = []
    after: list[str] = []  # what stands between the table and the next one is not the table's
    within, place = False, 0
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line) and _is_toml(text[:place]):  # not in a value of several lines
            starts = own.match(line) is not None
            if starts and not within and kept and not kept[-1].strip():
                kept.pop()
            kept += [] if starts else after
            within, after = starts, []
        place += len(line)
        if not within:
            kept.append(line)
        else:
            after = [*after, line] if not line.strip() or line.lstrip().startswith("#") else []
    kept += after if any(map(str.strip, after)) else []
    new = "".join(kept)
    if tomllib.loads(new) != wanted:
        raise tomllib.TOMLDecodeError(f"take out [{name}] by hand: it stands among other things")
    return new


def _is_toml(text: str) -> bool:
    with contextlib.suppress(tomllib.TOMLDecodeError):
        tomllib.loads(text)
        return True
    return False


def _without_key(whole: Any, path: tuple[str, ...]) -> Any:
    """A copy without what is at a path, and without what is empty then."""
    if not isinstance(whole, Mapping) or path[0] not in whole:
        return whole
    inner = None if len(path) == 1 else _without_key(whole[path[0]], path[1:])
    rest = {key: value for key, value in whole.items() if key != path[0]}
    return rest if not inner else {**rest, path[0]: inner}


def _toml_lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in table.items()]


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_toml_lines(value))} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


# -- the files


def write(change: Change) -> None:
    """Make a change: all of it, or none. Raises FilesUnavailable: the file cannot be written, or is
    not any more as it was read."""
    path = change.path
    with file_errors(path):
        target = Path(os.path.realpath(path))
        if _read(path) != change.before:
            raise FilesUnavailable(f"{path}: somebody changed it meanwhile; do it again")
        if change.after is None:
            target.unlink(missing_ok=True)
        elif change.after != change.before:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, change.after)


def _replace(target: Path, content: bytes) -> None:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(FileNotFoundError):
            present = target.stat()
            draft.chmod(present.st_mode & 0o7777)
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):
                    os.chown(draft, present.st_uid, present.st_gid)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(target.parent)


def remove_empty_folders(known: Installed) -> None:
    """Remove the folders that were made for a file, as far as nothing else is in them."""
    for folder in known.folders:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def _read(path: Path) -> bytes | None:
    with file_errors(path):
        try:
            with path.open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return None
    if len(content) > _MAX_FILE_BYTES:
        raise FilesUnavailable(f"{path}: is too large to be a settings file")
    return content


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8; nothing was changed") from None


def _shown(content: bytes | None) -> list[str]:
    lines = (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- the record


Records = Mapping[tuple[str, str], Installed]
"""By the root that they are for, and the path of the file."""


def by_place(known: Iterable[Installed]) -> dict[tuple[str, str], Installed]:
    return {(one.root, one.path): one for one in known}


def read_record(folder: Path) -> Records:
    """What was put into which file. Raises FilesUnavailable: the record cannot be read."""
    path = folder / _RECORD
    content = _read(path)
    if content is None:
        return {}
    try:
        return by_place(map(_parsed_record, json.loads(content)["files"]))
    except (ValueError, KeyError, TypeError) as problem:
        raise FilesUnavailable(f"{path}: is damaged ({problem}); move it away") from None


def write_record(folder: Path, files: Records) -> None:
    """Raises FilesUnavailable."""
    rows = [_row(files[place]) for place in sorted(files)]
    make_folder(folder)
    text = json.dumps({"version": 1, "files": rows}, ensure_ascii=False, indent=1)
    replace_file(folder / _RECORD, text.encode())


def _row(known: Installed) -> dict[str, Any]:
    return {
        "agent": known.agent,
        "root": known.root,
        "path": known.path,
        "form": known.form,
        "settings": [[list(one.path), one.value, one.in_list] for one in known.settings],
        "after": known.after,
        "created": known.created,
        "before": None if known.before is None else b64encode(known.before).decode(),
        "made": [list(path) for path in known.made],
        "folders": list(known.folders),
        "command": list(known.command),
    }


def _parsed_record(row: Mapping[str, Any]) -> Installed:
    before = row["before"]
    return Installed(
        agent=row["agent"],
        root=row["root"],
        path=row["path"],
        form=row["form"],
        settings=tuple(
            Setting(tuple(path), value, bool(it)) for path, value, it in row["settings"]
        ),
        after=row["after"],
        created=row["created"],
        before=None if before is None else b64decode(before),
        made=tuple(tuple(path) for path in row["made"]),
        folders=tuple(row["folders"]),
        command=tuple(row["command"]),
    )
