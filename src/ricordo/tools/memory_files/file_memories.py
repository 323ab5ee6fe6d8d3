"""Memory files as memories: one keyed memory for each file, in a theme of their own.

A change updates the memory of its file, which keeps its id; the former text is kept as history.
Whoever edits has read the text before, so every write checks in its transaction that nobody has
changed it since, and otherwise the edit is made again on what is there now.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ricordo.errors import Changed, Conflict, InvalidValue, NotFound, Occupied
from ricordo.formation.agent_notes import check_no_secret
from ricordo.index.relations import Neighbours
from ricordo.limits import MAX_FILE_RETRIES, MAX_KEY_CHARS, MAX_MEMORY_FILES
from ricordo.memories import additions, lifecycle
from ricordo.memories.lifecycle import record_change
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.item import Item
from ricordo.model.vocabulary import Event, MemoryType, Source
from ricordo.storage.database import Database, retried
from ricordo.storage.items import changed_at, update_item
from ricordo.storage.search_rows import text_hash
from ricordo.storage.transaction import Writing
from ricordo.text.normalise import canonical
from ricordo.tools.memory_files.file_rows import (
    FILES_THEME,
    View,
    count_files,
    files_in,
    find_file,
)
from ricordo.tools.memory_files.paths import ROOT_KEY, directories_of, shown
from ricordo.user_memory import UserMemory

FILE_TAG: Final = "file"


class FileMemories:
    """The files of one user. Only memories of the files' theme are ever read or written."""

    def __init__(self, user: UserMemory) -> None:
        self._user = user
        self._scope = user.scope

    @property
    def database(self) -> Database:
        """The store, for transactions that are begun again."""
        return self._user.database

    def look(self, key: str) -> tuple[Item | None, list[Item]]:
        """The file that has this key, and the files in the directory of this name, by key.

        Raises:
            CategoryNotAllowed: this scope does not reach the theme of the files.
        """
        self._scope.check_reaches([FILES_THEME])
        with self.database.read(self._scope.user_id) as view:
            return self._file(view, key), self._files_in(view, key)

    def existing(self, field: str, key: str) -> Item:
        """The file that has this key.

        Raises:
            NotFound: there is none.
            InvalidValue: it is a directory.
            CategoryNotAllowed: this scope does not reach the theme of the files.
        """
        file, inside = self.look(key)
        if file is not None:
            return file
        if inside or key == ROOT_KEY:
            raise InvalidValue(field, f"{shown(key)} is a directory: name a file in it")
        raise missing(key)

    @retried
    def create(self, key: str, text: str) -> None:
        """Make a new file.

        Raises:
            Occupied: there is one, or a directory, of that name, or a file in the way.
            Conflict: there are as many files as there may be.
            CategoryNotAllowed: this scope does not reach the theme of the files.
        """
        check_no_secret("file_text", text)
        draft = NewMemory(
            content=text,
            theme=FILES_THEME,
            key=key,
            # A model's own words: what is said in conversations is never held against them.
            type=MemoryType.SUMMARY,
            tags=(FILE_TAG,),
            source=Source.TOOL_CALL,
            pinned=True,  # a model counts on its files staying
        )
        known, near = self._look_up(text)
        with self.database.write(self._scope.user_id, known=known) as writing:
            self._check_free(writing, key)
            self._check_room(writing)
            added = additions.add_all(writing, self._scope, [draft], "create", adopts=False)[0]
            self._user.recall.relating.note(writing, [(added.id, text_hash(text))], known, near)

    def change(self, field: str, key: str, edit: Callable[[str], str], reason: str) -> bool:
        """Edit a file: what the edit makes of the text that is there takes its place.

        False where that is the same text.

        Raises:
            NotFound, InvalidValue: there is no such file, or what the edit says.
            Conflict: others changed it again and again.
            CategoryNotAllowed: this scope does not reach the theme of the files.
        """
        for _ in range(MAX_FILE_RETRIES):
            read = self.existing(field, key)
            text = edit(read.content)
            if text == read.content:
                return False
            check_no_secret(field, text)
            try:
                self._put_text(read, text, reason)
            except Changed:
                continue
            return True
        raise Conflict(f"{shown(key)} is being changed all the time: view it and try again")

    def move(self, key: str, new_key: str) -> None:
        """Give a file, or all files of a directory, another name.

        Raises:
            NotFound: there is no such file or directory.
            Occupied: there is something of the new name, or a file in the way.
            InvalidValue: a name gets too long, or a directory would be in itself.
            Conflict: others changed them again and again.
        """
        if new_key == key or new_key.startswith(f"{key}/"):
            raise InvalidValue("new_path", f"{shown(new_key)} is or is in {shown(key)} itself")

        def rename(writing: Writing, item: Item) -> None:
            moved = f"{new_key}{(item.key or '').removeprefix(key)}"
            if len(moved) > MAX_KEY_CHARS:
                raise InvalidValue(
                    "new_path", f"{shown(moved)} would be too long; take a shorter name"
                )
            draft = NewMemory(content=item.content, theme=FILES_THEME, key=moved)
            additions.update_keyed(writing, self._scope, item, draft, "rename")

        self._each(key, rename, lambda writing: self._check_free(writing, new_key))

    def remove(self, key: str) -> int:
        """Forget a file, or all files of a directory; how many.

        Raises:
            NotFound: there is no such file or directory.
            Conflict: others changed them again and again.
        """

        def forget(writing: Writing, item: Item) -> None:
            lifecycle.forget(writing, self._scope, item.id, "delete")

        return self._each(key, forget, lambda _writing: None)

    def _each(
        self,
        key: str,
        work: Callable[[Writing, Item], None],
        check: Callable[[Writing], None],
    ) -> int:
        for _ in range(MAX_FILE_RETRIES):
            file, inside = self.look(key)
            concerned = inside if file is None else [file]
            if not concerned:
                raise missing(key)
            try:
                self._work_on(key, concerned, work, check)
            except Changed:
                continue
            return len(concerned)
        raise Conflict(f"{shown(key)} is being changed all the time: view it and try again")

    @retried
    def _work_on(
        self,
        key: str,
        read: Sequence[Item],
        work: Callable[[Writing, Item], None],
        check: Callable[[Writing], None],
    ) -> None:
        """All of it or nothing."""
        touching = [item.id for item in read]
        with self.database.write(self._scope.user_id, touching=touching) as writing:
            file = self._file(writing, key)
            present = self._files_in(writing, key) if file is None else [file]
            if [item.id for item in present] != touching:
                raise Changed(touching[0])
            check(writing)
            for item in present:
                work(writing, item)

    @retried
    def _put_text(self, read: Item, text: str, reason: str) -> None:
        """Raises Changed where the file is no longer as it was read."""
        known, near = self._look_up(text)
        user_id = self._scope.user_id
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
                    # An edit counts, also where the clock of this machine is behind another's.
                    valid_from=max(writing.now, present.valid_from),
                )
                additions.add_all(writing, self._scope, [draft], reason, adopts=False)
            written = [(present.id, text_hash(text))]
            self._user.recall.relating.renew(writing, written, known, near)

    def _respell(self, writing: Writing, present: Item, text: str, reason: str) -> None:
        """Change no more than case, spaces or a full stop.

        Said again like that, other memories stay as they are; of a file, every character counts.
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

    def _look_up(self, text: str) -> tuple[KnownVectors, Neighbours]:
        """What a write needs of vectors, found out before its transaction."""
        recall, user_id = self._user.recall, self._scope.user_id
        known = recall.embedders.known_vectors(user_id, [text])
        return known, recall.relating.neighbours(user_id, known)

    def _check_free(self, writing: Writing, key: str) -> None:
        self._scope.check_reaches([FILES_THEME])
        if self._file(writing, key) is not None:
            raise Occupied(
                f"{shown(key)} already exists: change it with str_replace or insert, or take"
                " another path"
            )
        if self._files_in(writing, key):
            raise Occupied(f"{shown(key)} is a directory: name a file in it")
        for directory in directories_of(key):
            if self._file(writing, directory) is not None:
                raise Occupied(f"{shown(directory)} is a file: there can be nothing in it")

    def _check_room(self, writing: Writing) -> None:
        if count_files(writing, self._scope.user_id) >= MAX_MEMORY_FILES:
            raise Conflict(
                f"there are {MAX_MEMORY_FILES} files already, the most allowed: delete some, or"
                " write to one that is there"
            )

    def _file(self, view: View, key: str) -> Item | None:
        return find_file(view, self._scope.user_id, key)

    def _files_in(self, view: View, directory: str) -> list[Item]:
        return files_in(view, self._scope.user_id, directory)


def missing(key: str) -> NotFound:
    """What to say of a path that leads nowhere."""
    return NotFound(f"nothing is at {shown(key)}: view /memories to see what there is")
