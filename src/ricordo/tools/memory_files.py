"""Files below ``/memories`` for models: the backend of Anthropic's memory tool
(``memory_20250818``)."""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import (
    Changed,
    Conflict,
    InvalidInput,
    InvalidValue,
    NotFound,
    Occupied,
    RicordoError,
    told_outside,
)
from ricordo.formation import agent_notes
from ricordo.frozen import dataclass, replace
from ricordo.limits import (
    MAX_CONTENT_CHARS,
    MAX_FILE_RETRIES,
    MAX_KEY_CHARS,
    MAX_MEMORY_FILES,
)
from ricordo.memories import additions, lifecycle
from ricordo.memories.lifecycle import record_change
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.item import Item
from ricordo.model.vocabulary import Event, MemoryType, Source, Status
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction, retried
from ricordo.storage.items import changed_at, find_items, update_item
from ricordo.storage.search_rows import text_hash
from ricordo.storage.sql import Condition
from ricordo.storage.tables import items
from ricordo.storage.where import not_expired
from ricordo.text.normalise import canonical
from ricordo.text.secrets import has_secret
from ricordo.tools import memory_file_text
from ricordo.tools.answers import hint_of
from ricordo.tools.memory_file_text import (
    ROOT,
    ROOT_KEY,
    directories_of,
    is_file_key,
    key_of,
    listed,
    shown,
    size_of,
)
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import check_of_person

__all__ = ["FileResult", "MemoryFiles"]

FILES_THEME: Final = "memory-files"
FILE_TAG: Final = "file"
_AROUND_LINE: Final = " \t#>*-"
_AFTER_SLASH: Final = chr(ord("/") + 1)
_noted: Final = partial(NewMemory, theme=FILES_THEME, source=Source.TOOL_CALL)

View = ReadTransaction | WriteTransaction
_NEED_NO_HINT: Final = (InvalidInput, NotFound, Conflict)
_TRIMMED: Final = " The blank space that it began with is not kept."


class FileMemories:
    """The files of one user, as memories of one theme. No other memory is read or written.

    An edit updates the memory of its file, which keeps its id, and history keeps the former text.
    Every write checks in its transaction that the file is still as it was read, otherwise the edit
    is applied again to the current text.
    """

    def __init__(self, user: UserMemory) -> None:
        check_of_person(user.scope, "a model's memory file")
        self._user = user
        self._scope = user.scope

    @property
    def database(self) -> Database:
        """The database; needed by :func:`retried`."""
        return self._user.database

    def look(self, key: str) -> tuple[Item | None, list[Item]]:
        """The file with this key, and the files in the directory of this name, by key. Raises
        CategoryNotAllowed: this scope does not include the theme of the files."""
        self._scope.check_reaches([FILES_THEME])
        with self.database.read(self._scope.user_id) as view:
            return self._file(view, key), self._files_in(view, key)

    def existing(self, field: str, key: str) -> Item:
        """The file with this key.

        Raises:
            NotFound: there is none.
            InvalidValue: it is a directory.
            CategoryNotAllowed: this scope does not include the theme of the files.
        """
        file, inside = self.look(key)
        if file is not None:
            return file
        if inside or key == ROOT_KEY:
            raise InvalidValue(field, f"{shown(key)} is a directory: name a file in it")
        raise missing(key)

    @retried
    def create(self, key: str, text: str) -> None:
        """Create a file.

        Raises:
            Occupied: the path is a file or directory already, or leads through a file.
            Conflict: the maximum number of files is reached.
            CategoryNotAllowed: this scope does not include the theme of the files.
        """
        with self.database.read(self._scope.user_id) as view:
            self._check_free(view, key)
        self._check_needs_no_consent("file_text", key, text, "")
        draft = NewMemory(
            content=text,
            theme=FILES_THEME,
            key=key,
            # A model's own words, which conversations never contradict.
            type=MemoryType.SUMMARY,
            tags=(FILE_TAG,),
            source=Source.TOOL_CALL,
            pinned=True,  # a model relies on its files
        )
        user_id = self._scope.user_id
        known, near = self._user.recall.prepare(user_id, [text])
        with self.database.write(user_id, known=known) as writing:
            self._check_free(writing, key)
            self._check_room(writing)
            added = additions.add_all(writing, self._scope, [draft], "create", adopts=False)[0]
            self._user.recall.relating.note(writing, [(added.id, text_hash(text))], known, near)

    def _check_needs_no_consent(self, field: str, key: str, text: str, before: str) -> None:
        """Refuse new lines that may not be stored unasked; what needs consent is proposed. Raises
        InvalidValue: which line it is, and what it holds."""
        if has_secret(text):  # of several lines, too
            agent_notes.check_no_secret(field, _noted(content=text), key)
        new = _notes(text, {*before.splitlines()})
        for note in new.values():
            agent_notes.check_no_secret(field, note, key)
        waiting = {
            number: waits
            for number, note in new.items()
            if (waits := agent_notes.proposed(self._user.parts.formation, self._scope, note))
            is not None
        }
        if waiting:
            told = "; ".join(
                f"line {number} ({', '.join(waits.fields)}): {waits.status.replace('_', ' ')}"
                for number, waits in waiting.items()
            )
            raise InvalidValue(field, f"needs the user's consent: {told}. Leave these lines out")

    def change(self, field: str, key: str, edit: Callable[[str], str], reason: str) -> bool:
        """Apply an edit to a file; False where the text stays the same.

        Raises:
            NotFound, InvalidValue: there is no such file, or the edit failed.
            Conflict: others kept changing it.
            CategoryNotAllowed: this scope does not include the theme of the files.
        """
        for _ in range(MAX_FILE_RETRIES):
            read = self.existing(field, key)
            text = edit(read.content)
            if text == read.content:
                return False
            self._check_needs_no_consent(field, key, text, read.content)
            try:
                self._put_text(read, text, reason)
            except Changed:
                continue
            return True
        raise Conflict(f"{shown(key)} keeps changing: view it and try again")

    def move(self, key: str, new_key: str) -> None:
        """Rename a file, or all files of a directory.

        Raises:
            NotFound: there is no such file or directory.
            Occupied: the new path exists, or leads through a file.
            InvalidValue: a path gets too long or tells that a line is a secret, or a directory
                would contain itself.
            Conflict: others kept changing them.
        """
        if new_key == key or new_key.startswith(f"{key}/"):
            raise InvalidValue("new_path", f"{shown(new_key)} is or is in {shown(key)} itself")

        def renamed(item: Item) -> str:
            return f"{new_key}{(item.key or '').removeprefix(key)}"

        def screen(item: Item) -> None:
            for note in _notes(item.content).values():
                agent_notes.check_no_secret("new_path", note, renamed(item))

        def rename(writing: WriteTransaction, item: Item) -> None:
            moved = renamed(item)
            if len(moved) > MAX_KEY_CHARS:
                raise InvalidValue(
                    "new_path", f"{shown(moved)} would be too long; take a shorter name"
                )
            draft = NewMemory(content=item.content, theme=FILES_THEME, key=moved)
            additions.update_keyed(writing, self._scope, item, draft, "rename")

        self._each(key, rename, lambda writing: self._check_free(writing, new_key), screen)

    def remove(self, key: str) -> int:
        """Forget a file, or all files of a directory; returns how many. Raises NotFound: there is
        no such file or directory; Conflict: others kept changing them."""

        def forget(writing: WriteTransaction, item: Item) -> None:
            lifecycle.forget(writing, self._scope, item.id, "delete")

        return self._each(key, forget, lambda _writing: None)

    def _each(
        self,
        key: str,
        work: Callable[[WriteTransaction, Item], None],
        check: Callable[[WriteTransaction], None],
        screen: Callable[[Item], None] = lambda _item: None,
    ) -> int:
        for _ in range(MAX_FILE_RETRIES):
            file, inside = self.look(key)
            concerned = inside if file is None else [file]
            if not concerned:
                raise missing(key)
            for item in concerned:
                screen(item)
            try:
                self._work_on(key, concerned, work, check)
            except Changed:
                continue
            return len(concerned)
        raise Conflict(f"{shown(key)} keeps changing: view it and try again")

    @retried
    def _work_on(
        self,
        key: str,
        read: Sequence[Item],
        work: Callable[[WriteTransaction, Item], None],
        check: Callable[[WriteTransaction], None],
    ) -> None:
        """Work on all files in one transaction."""
        touching = [item.id for item in read]
        with self.database.write(self._scope.user_id, touching=touching) as writing:
            file = self._file(writing, key)
            present = self._files_in(writing, key) if file is None else [file]
            if _versions(present) != _versions(read):
                raise Changed(touching[0])
            check(writing)
            for item in present:
                work(writing, item)

    @retried
    def _put_text(self, read: Item, text: str, reason: str) -> None:
        """Raises Changed where the file is no longer as it was read."""
        user_id = self._scope.user_id
        known, near = self._user.recall.prepare(user_id, [text])
        with self.database.write(user_id, touching=[read.id], known=known) as writing:
            present = self._file(writing, read.key or "")
            if present is None or (present.id, present.updated_at) != (read.id, read.updated_at):
                raise Changed(read.id)
            if canonical(text) == canonical(present.content):
                self._respell(writing, present, text, reason)
            else:
                draft = NewMemory(
                    content=text,
                    theme=FILES_THEME,
                    key=present.key,
                    source=Source.TOOL_CALL,
                    # An edit counts also where this machine's clock is behind.
                    valid_from=max(writing.now, present.valid_from),
                )
                additions.add_all(writing, self._scope, [draft], reason, adopts=False)
            written = [(present.id, text_hash(text))]
            self._user.recall.relating.renew(writing, written, known, near)

    def _respell(self, writing: WriteTransaction, present: Item, text: str, reason: str) -> None:
        """Change only case, white space or a full stop.

        Other memories ignore such a difference; in a file every character counts.
        """
        stamp = changed_at(writing, present)
        update_item(writing, present, {"content": text, "updated_at": stamp})
        record_change(
            writing,
            replace(present, content=text, updated_at=stamp),
            Event.UPDATE,
            actor=self._scope.actor,
            reason=reason,
            new_ref=present.id,
            before={"content": present.content},
        )

    def _check_free(self, view: View, key: str) -> None:
        self._scope.check_reaches([FILES_THEME])
        if self._file(view, key) is not None:
            raise Occupied(
                f"{shown(key)} already exists: change it with str_replace or insert, or take"
                " another path"
            )
        if self._files_in(view, key):
            raise Occupied(f"{shown(key)} is a directory: name a file in it")
        for directory in directories_of(key):
            if self._file(view, directory) is not None:
                raise Occupied(f"{shown(directory)} is a file: there can be nothing in it")

    def _check_room(self, writing: WriteTransaction) -> None:
        count = sa.select(sa.func.count()).select_from(items).where(self._are_files(writing))
        if writing.connection.execute(count).scalar_one() >= MAX_MEMORY_FILES:
            raise Conflict(
                f"there are {MAX_MEMORY_FILES} files already, the most allowed: delete some, or"
                " write to one that is there"
            )

    def _file(self, view: View, key: str) -> Item | None:
        found = find_items(view.connection, self._are_files(view) & (items.c.key == key))
        return found[0] if found else None

    def _files_in(self, view: View, directory: str) -> list[Item]:
        """All files below a directory, by key, without keys that are not valid paths."""
        within = sa.and_(items.c.key > f"{directory}/", items.c.key < f"{directory}{_AFTER_SLASH}")
        found = find_items(view.connection, self._are_files(view) & within)
        reachable = [item for item in found if is_file_key(item.key)]
        return sorted(reachable, key=lambda item: item.key or "")

    def _are_files(self, view: View) -> Condition:
        return sa.and_(
            items.c.user_id == self._scope.user_id,
            items.c.theme == FILES_THEME,
            items.c.status == Status.ACTIVE.value,
            items.c.key.is_not(None),
            # Each project has a directory of its own.
            items.c.project_id.is_(None)
            if self._scope.project_id is None
            else items.c.project_id == self._scope.project_id,
            not_expired(view.now),
        )


def _notes(text: str, known: Container[str] = ()) -> dict[int, NewMemory]:
    """What the lines say, by their numbers, without those that are known."""
    return {
        number: _noted(content=said)
        for number, line in enumerate(text.splitlines(), start=1)
        if line not in known and (said := line.strip(_AROUND_LINE)[:MAX_CONTENT_CHARS])
    }


def _versions(files: Iterable[Item]) -> list[tuple[int, datetime]]:
    return [(item.id, item.updated_at) for item in files]


def missing(key: str) -> NotFound:
    """The error for a path that does not exist."""
    return NotFound(f"nothing is at {shown(key)}: view /memories to see what there is")


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
        """What is in a directory, or the lines of a file. Raises NotFound: nothing is there;
        InvalidValue: the path or the lines are not allowed."""
        key = key_of("path", path)
        file, inside = self._files.look(key)
        if file is not None:
            first, last = 1, None
            if view_range is not None:
                first, last = memory_file_text.checked_range(file.content, view_range)
            lines = memory_file_text.numbered(file.content, first, last)
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
        text = memory_file_text.stored_text("file_text", file_text)
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
            text, passage = memory_file_text.replaced(content, old_str, new_str)
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
            return memory_file_text.inserted(content, insert_line, insert_text)

        if not self._files.change("path", key, edit, "insert"):
            return _unchanged(key)
        return f"Edited {shown(key)}."

    def delete(self, path: str) -> str:
        """Forget a file, or a directory with all that is in it; it can be restored for a while.
        Raises NotFound: nothing is there; InvalidValue: the path is not allowed, or is
        ``/memories`` itself."""
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
            message = told_outside(error, self._user.database.backend.location)
            if not isinstance(error, _NEED_NO_HINT):
                message = f"{message.removesuffix('.')}. {hint_of(error)}"
            return FileResult(f"Error: {message}", error)

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
    """The arguments as an object. Raises InvalidValue: they are not an object."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise InvalidValue("arguments", f"are not JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise InvalidValue("arguments", f"expected an object, got {type(given).__name__}")
    return dict(given)
