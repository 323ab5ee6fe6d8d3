"""What the tests of the mirror share: a store with a folder, and a look at both."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa

from ricordo import Item, Memory, MirrorReport, UserMemory
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.tables import compactions, threads
from ricordo.text.normalise import content_hash

Place = tuple[str, str]


class Mirrored:
    """One user and their files."""

    def __init__(self, memory: Memory, user_id: str) -> None:
        assert memory.parts.files is not None
        self.memory = memory
        self.user: UserMemory = memory.user(user_id)
        self.files = memory.parts.files.of(user_id)

    @property
    def path(self) -> Path:
        return self.files.memory_file

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def sync(self, *, allow_deletes: bool = False) -> MirrorReport:
        return self.user.sync_mirror(allow_deletes=allow_deletes)

    def edit(self, *changes: tuple[str, str]) -> None:
        """Replace texts in the file, each of which must be there."""
        text = self.text
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        self.write(text)

    def write(self, text: str) -> None:
        self.path.write_bytes(text.encode("utf-8"))

    def active(self) -> set[tuple[str, str]]:
        """Theme and text of every active memory."""
        return {(item.theme, item.content) for item in self.own()}

    def own(self) -> list[Item]:
        """The user's own active memories."""
        mine = self.user.scope.user_id
        return [item for item in self.user.list(limit=1_000) if item.user_id == mine]

    def places(self) -> set[Place]:
        """Theme and what it comes to of every active memory."""
        return places(self.active())

    def shown(self) -> list[str]:
        """The lines of memories in the file."""
        return [line for line in self.text.split("\n") if line.startswith("- [")]

    def log(
        self, summary: str, thread: str = "t1", last: int = 15, day: str = "2026-01-02"
    ) -> None:
        """Put what was said in short where conversations put it."""
        row = {"user_id": self.user.scope.user_id, "thread_id": thread}
        with self.memory.database.write(row["user_id"]) as writing:
            known = sa.select(threads.c.thread_id).filter_by(**row)
            if writing.connection.execute(known).first() is None:
                made = {"turn_count": 0, "created_at": writing.now, "updated_at": writing.now}
                writing.connection.execute(sa.insert(threads).values(**row, **made))
            told = {"first_position": 1, "last_position": last, "day": day, "summary": summary}
            made = {"bridge": "", "made_by": "rules", "at": writing.now}
            writing.connection.execute(sa.insert(compactions).values(**row, **told, **made))
            writing.keeps_user = True

    def assert_settled(self) -> None:
        """A further synchronisation does nothing, and the database is sound."""
        before, revision = self.path.read_bytes(), self.user.revision()
        report = self.sync()
        assert (report.writes, report.written, report.applied) == (0, False, True)
        assert (self.path.read_bytes(), self.user.revision()) == (before, revision)
        assert {int(line[3 : line.index("]")]) for line in self.shown()} == {
            item.id for item in self.own()
        }
        with self.memory.database.read_all() as view:
            assert find_inconsistencies(view.connection) == []


def while_writing(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Have something done once, when the next file is on disk and does not have its name yet."""
    real = os.fsync
    waiting = [do]

    def fsync(handle: int) -> None:
        real(handle)
        if waiting:
            waiting.pop()()

    monkeypatch.setattr(os, "fsync", fsync)


def places(active: Iterable[tuple[str, str]]) -> set[Place]:
    return {(theme, content_hash(content)) for theme, content in active}
