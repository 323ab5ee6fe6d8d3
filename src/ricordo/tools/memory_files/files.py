"""The commands of the memory tool, on the files of one user."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ricordo.errors import (
    Conflict,
    InvalidInput,
    InvalidValue,
    NotFound,
    RicordoError,
    told_outside,
)
from ricordo.model import checks
from ricordo.tools.failures import hint_of
from ricordo.tools.memory_files import editing
from ricordo.tools.memory_files.file_memories import FileMemories, missing
from ricordo.tools.memory_files.listing import listed, size_of
from ricordo.tools.memory_files.paths import ROOT, ROOT_KEY, key_of, shown
from ricordo.user_memory import UserMemory

_TELL_WHAT_TO_DO: Final = (InvalidInput, NotFound, Conflict)
_TRIMMED: Final = " The blank space that it began with is not kept."


@dataclass(frozen=True, slots=True)
class FileResult:
    """What to tell a model. ``error`` is why the command failed."""

    text: str
    error: RicordoError | None = None

    @property
    def is_error(self) -> bool:
        """Whether the command failed."""
        return self.error is not None


class MemoryFiles:
    """Files below ``/memories`` for a model that keeps notes of one user, each of them a memory.

    Every command answers with a text for the model. The model can never choose the user.
    """

    def __init__(self, user: UserMemory) -> None:
        self._user = user
        self._files = FileMemories(user)

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """What is in a directory, or the lines of a file.

        Raises:
            NotFound: nothing is there.
            InvalidValue: the path or the lines are not allowed.
        """
        key = key_of("path", path)
        file, inside = self._files.look(key)
        if file is not None:
            first, last = 1, None
            if view_range is not None:
                first, last = editing.checked_range(file.content, view_range)
            lines = editing.numbered(file.content, first, last)
            return f"{shown(key)} with line numbers:\n{lines}"
        if not inside and key != ROOT_KEY:
            raise missing(key)
        if view_range is not None:
            raise InvalidValue("view_range", f"{shown(key)} is a directory: leave it out")
        sizes = {item.key or "": size_of(item.content) for item in inside}
        return f"Files and directories in {shown(key)}, up to 2 levels deep:\n{listed(key, sizes)}"

    def create(self, path: str, file_text: str) -> str:
        """Make a new file.

        Raises:
            Occupied: there is something of that name.
            InvalidValue: the path or the text is not allowed.
            Conflict: there are as many files as there may be.
        """
        key = self._key_of_file("path", path)
        text = editing.stored_text("file_text", file_text)
        self._files.create(key, text)
        is_trimmed = not file_text.startswith(text[0])
        return f"Created {shown(key)}.{_TRIMMED if is_trimmed else ''}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Put one text in the place of another that occurs exactly once in a file.

        Raises:
            NotFound: there is no such file.
            InvalidValue: the text does not occur or occurs several times, or is not allowed.
            Conflict: others changed the file again and again.
        """
        key = self._key_of_file("path", path)
        passage = ""

        def edit(content: str) -> str:
            nonlocal passage
            text, passage = editing.replaced(content, old_str, new_str)
            return text

        if not self._files.change("path", key, edit, "str_replace"):
            return _unchanged(key)
        return f"Edited {shown(key)}. The lines around the change are now:\n{passage}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines into a file, after the line of this number; 0 is before the first.

        Raises:
            NotFound: there is no such file.
            InvalidValue: there is no such line, or the text is not allowed.
            Conflict: others changed the file again and again.
        """
        key = self._key_of_file("path", path)

        def edit(content: str) -> str:
            return editing.inserted(content, insert_line, insert_text)

        if not self._files.change("path", key, edit, "insert"):
            return _unchanged(key)
        return f"Edited {shown(key)}."

    def delete(self, path: str) -> str:
        """Forget a file, or a directory with all that is in it; it can be restored for a while.

        Raises:
            NotFound: nothing is there.
            InvalidValue: the path is not allowed, or is ``/memories`` itself.
        """
        key = self._key_of_file("path", path)
        self._files.remove(key)
        return f"Deleted {shown(key)}."

    def rename(self, old_path: str, new_path: str) -> str:
        """Give a file or directory another name, also in another directory.

        Raises:
            NotFound: nothing is there.
            Occupied: there is something of the new name.
            InvalidValue: a path is not allowed.
        """
        old_key = self._key_of_file("old_path", old_path)
        new_key = self._key_of_file("new_path", new_path)
        self._files.move(old_key, new_key)
        return f"Renamed {shown(old_key)} to {shown(new_key)}."

    def clear(self) -> int:
        """Forget all files, for the program and not for the model; how many there were."""
        _, inside = self._files.look(ROOT_KEY)
        return self._files.remove(ROOT_KEY) if inside else 0

    def call(self, arguments: object) -> str:
        """Run the command of a tool call, an object or its JSON; what to tell the model.

        A failure is told, too, never raised.
        """
        return self.run(arguments).text

    def run(self, arguments: object) -> FileResult:
        """Run the command of a tool call; like :meth:`call`, and says whether it failed."""
        try:
            return FileResult(self._answer(_unpacked(arguments)))
        except RicordoError as error:
            told = told_outside(error, self._user.database.backend.location)
            if not isinstance(error, _TELL_WHAT_TO_DO):
                told = f"{told.removesuffix('.')}. {hint_of(error)}"
            return FileResult(f"Error: {told}", error)

    def _answer(self, arguments: dict[str, Any]) -> str:
        name = arguments.pop("command", None)
        command = _COMMANDS.get(name) if isinstance(name, str) else None
        if command is None:
            raise InvalidValue("command", f"expected one of {', '.join(_COMMANDS)}")
        checks.known_fields(f"argument of {name}", arguments, command.fields)
        given = {field: value for field, value in arguments.items() if value is not None}
        for field in command.required:
            if field not in given:
                raise InvalidValue(field, f"is missing; {name} needs it")
        return command.method(self, **given)

    @staticmethod
    def _key_of_file(field: str, path: str) -> str:
        key = key_of(field, path)
        if key == ROOT_KEY:
            raise InvalidValue(field, f"{ROOT} itself cannot be changed: name something in it")
        return key


@dataclass(frozen=True, slots=True)
class _Command:
    method: Callable[..., str]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


_COMMANDS: Final = {
    "view": _Command(MemoryFiles.view, ("path",), ("view_range",)),
    "create": _Command(MemoryFiles.create, ("path", "file_text")),
    "str_replace": _Command(MemoryFiles.str_replace, ("path", "old_str"), ("new_str",)),
    "insert": _Command(MemoryFiles.insert, ("path", "insert_line", "insert_text")),
    "delete": _Command(MemoryFiles.delete, ("path",)),
    "rename": _Command(MemoryFiles.rename, ("old_path", "new_path")),
}


def _unchanged(key: str) -> str:
    return (
        f"{shown(key)} stays as it was: the text is the same. Blank space at the ends of a file is"
        " not kept."
    )


def _unpacked(given: object) -> dict[str, Any]:
    """The arguments as an object.

    Raises:
        InvalidValue: they are none.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise InvalidValue("arguments", f"are not JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise InvalidValue("arguments", f"expected an object, got {type(given).__name__}")
    return dict(given)
