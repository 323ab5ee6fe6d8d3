"""Doing what the edits of MEMORY.md come to, as ordinary writes with history."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from ricordo.errors import Occupied, RicordoError, StorageError
from ricordo.files.mirror_merge import Add, Plan, Replace
from ricordo.files.mirror_text import Shown
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.reports import MirrorEntry
from ricordo.model.vocabulary import Source

_ADDED: Final = "added in MEMORY.md"
_CHANGED: Final = "edited in MEMORY.md"
_MOVED: Final = "moved in MEMORY.md"
_DELETED: Final = "deleted in MEMORY.md"
_BOTH_KEPT: Final = "changed in MEMORY.md and elsewhere: both are kept"


class MirrorWrites(Protocol):
    """The writes of a user that a mirror needs. Each raises StorageError, having done nothing."""

    def add_new(self, drafts: Sequence[NewMemory], reason: str) -> Sequence[Added]:
        """Remember things; what became of each, in order."""

    def replace_unchanged(self, old: Shown, content: str, theme: str, reason: str) -> Added | None:
        """Supersede a memory, if it still is as it was shown; None where it is not.

        Raises:
            Occupied: another memory of the theme has its key.
        """

    def forget_unchanged(self, old: Shown, reason: str) -> bool:
        """Soft-delete a memory, if it still is as it was shown; whether it was."""


@dataclass(slots=True)
class Outcome:
    """What was done to memories."""

    added: list[MirrorEntry] = field(default_factory=list)
    changed: list[MirrorEntry] = field(default_factory=list)
    moved: list[MirrorEntry] = field(default_factory=list)
    forgotten: list[MirrorEntry] = field(default_factory=list)
    conflicts: list[MirrorEntry] = field(default_factory=list)


def apply(plan: Plan, writes: MirrorWrites, outcome: Outcome) -> None:
    """Carry out a plan. What turns out otherwise than planned is added to its problems.

    Every text that the file has is stored in the end: what is deleted goes first, so that nothing
    new is taken for the same as a memory that goes, and what is new comes last.

    Raises:
        StorageError: the database could not do one of the writes; those before it are done.
    """
    _Applying(plan, writes, outcome).run()


class _Applying:
    def __init__(self, plan: Plan, writes: MirrorWrites, outcome: Outcome) -> None:
        self.plan = plan
        self.writes = writes
        self.outcome = outcome
        self.adds = list(plan.adds)
        self.replaced_by: dict[int, Replace] = {}
        """What was taken for the same as a memory, by that memory's id."""

    def run(self) -> None:
        for old in self.plan.forgets:
            self._forget(old)
        for step in self.plan.replaces:
            self._replace(step)
        self._add_all()

    def _forget(self, old: Shown) -> None:
        if self.writes.forget_unchanged(old, _DELETED):
            self.outcome.forgotten.append(MirrorEntry(note=_DELETED, id=old.id))
        else:
            self.plan.note("was deleted here, but has changed since: kept", None, old.id)

    def _replace(self, step: Replace) -> None:
        line, old = step.line, step.old
        reason = _MOVED if step.is_move else _CHANGED
        try:
            added = self._replaced(step, reason)
        except StorageError:
            raise
        except RicordoError as problem:
            if step.is_move:
                self.plan.note(f"not moved: {problem}", line, old.id)
            else:
                self.plan.refuse(line, f"not taken over: {problem}")
            return
        if added is None and step.is_move:
            self.plan.note("was moved here, but has changed since: left in place", line, old.id)
        elif added is None:
            self.adds.append(Add(line, step.content, step.theme, old.id))
        elif added.id == old.id:
            self.plan.note("says the same as before: left as it was", line, old.id)
        else:
            self._note_replaced(step, added, reason)

    def _replaced(self, step: Replace, reason: str) -> Added | None:
        try:
            return self.writes.replace_unchanged(step.old, step.content, step.theme, reason)
        except Occupied as problem:
            if step.is_move or step.theme == step.old.theme:
                raise
            self.plan.note(f"not moved: {problem}", step.line, step.old.id)
            return self.writes.replace_unchanged(step.old, step.content, step.old.theme, _CHANGED)

    def _note_replaced(self, step: Replace, added: Added, reason: str) -> None:
        entries = self.outcome.moved if step.is_move else self.outcome.changed
        entries.append(
            MirrorEntry(note=reason, line=step.line.number, id=step.old.id, new_id=added.id)
        )
        said_before = self.replaced_by.pop(step.old.id, None)
        if said_before is not None:  # two lines that took each other's text: it is wanted still
            self.adds.append(Add(said_before.line, said_before.content, said_before.theme))
        if not added.is_new:
            self.replaced_by[added.id] = step

    def _add_all(self) -> None:
        new = [step for step in self.adds if step.instead_of is None]
        for step, item_id in self._added(new, _ADDED):
            self.outcome.added.append(
                MirrorEntry(note=_ADDED, line=step.line.number, new_id=item_id)
            )
        in_conflict = [step for step in self.adds if step.instead_of is not None]
        for step, item_id in self._added(in_conflict, _BOTH_KEPT):
            self.outcome.conflicts.append(
                MirrorEntry(
                    note=_BOTH_KEPT, line=step.line.number, id=step.instead_of, new_id=item_id
                )
            )

    def _added(self, steps: Sequence[Add], reason: str) -> list[tuple[Add, int]]:
        """Remember what is new; what was there already is not in the answer."""
        drafts = [
            NewMemory(content=step.content, theme=step.theme, source=Source.FILE) for step in steps
        ]
        done = self.writes.add_new(drafts, reason)
        return [(step, added.id) for step, added in zip(steps, done, strict=True) if added.is_new]
