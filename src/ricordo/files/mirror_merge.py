"""Merging a person's edits of MEMORY.md with what happened to the memories meanwhile."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.files.mirror_text import (
    Digests,
    Leftover,
    MirrorLine,
    ReadFile,
    ShownMemory,
    as_written,
)
from ricordo.files.sync import Side, SyncedFile, Unreadable, changed_side, looks_accidental
from ricordo.formation.screening import holds_secret
from ricordo.model.checks import format_moment
from ricordo.model.draft import NewMemory
from ricordo.model.reports import MirrorEntry

_VERSION: Final = 1
_SERIES: Final = re.compile("[0-9a-f]+")
_MAX_COPY: Final = 10**17  # a bound nobody reaches; MEMORY.md has ids of up to 18 digits
UNUSABLE: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What reading damaged or foreign notes may raise."""


@dataclass(frozen=True, slots=True)
class Replace:
    """A line has another text or theme now."""

    line: MirrorLine
    old: ShownMemory
    content: str
    theme: str

    @property
    def is_move(self) -> bool:
        return self.content == self.old.content


@dataclass(frozen=True, slots=True)
class Add:
    """A new line. ``instead_of`` is the memory whose line it was, where that changed as well."""

    line: MirrorLine
    content: str
    theme: str
    instead_of: int | None = None


@dataclass(slots=True)
class MergePlan:
    forgets: list[ShownMemory] = field(default_factory=list)
    replaces: list[Replace] = field(default_factory=list)
    adds: list[Add] = field(default_factory=list)
    problems: list[MirrorEntry] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether no memory changes and every line was understood."""
        return not (self.forgets or self.replaces or self.adds or self.leftovers)

    def refuse(self, line: MirrorLine, why: str) -> None:
        """Keep a line that cannot be taken over."""
        self.leftovers.append(Leftover(line.number, line.raw))
        self.note(why, line, line.id)

    def note(self, what: str, line: MirrorLine | None, item_id: int | None) -> None:
        """Report something that differs from the file."""
        number = None if line is None else line.number
        self.problems.append(MirrorEntry(note=what, line=number, id=item_id))


def merge(
    read: ReadFile, base: Digests | None, stored: Mapping[int, ShownMemory], *, allow_deletes: bool
) -> MergePlan:
    """Compute the plan. Without a ``base`` nothing is deleted or replaced. Raises Unreadable.

    A three-way merge of what the copy said when it was written (the base), what the file says now,
    and what is stored now. It writes nothing and returns a plan.
    """
    merging = _Merge(read, base, stored)
    merging.compare()
    if base is not None:
        merging.plan_deletions(base, allow_deletes=allow_deletes)
    plan = merging.plan
    for left in read.leftovers:
        plan.leftovers.append(left)
        plan.problems.append(
            MirrorEntry(note="not understood: neither a heading nor a memory", line=left.number)
        )
    if read.waiting_at is not None:
        plan.problems.append(MirrorEntry(note='waits under "Not understood"', line=read.waiting_at))
    return plan


class _Merge:
    def __init__(
        self, read: ReadFile, base: Digests | None, stored: Mapping[int, ShownMemory]
    ) -> None:
        self.read = read
        self.base: Digests = {} if base is None else base
        self.knows_base = base is not None
        self.stored = stored
        self.plan = MergePlan()
        self.seen: set[int] = set()
        """Ids with a line, or mentioned in lines that were not understood."""

    def compare(self) -> None:
        holders = self._lines_by_id()
        loose: list[MirrorLine] = []
        for line in self.read.lines:
            if line.id is not None and holders.get(line.id) is line:
                self.seen.add(line.id)
            else:
                loose.append(line)
        strays = self._without_line()
        for line in self.read.lines:
            if line.id is not None and holders.get(line.id) is line:
                self._compare_known(line, line.id)
        for line in loose:
            self._take_loose(line, strays)
        self.seen |= self.read.mentioned()

    def _lines_by_id(self) -> dict[int, MirrorLine]:
        """The line of each memory of the copy: the unchanged one where several have its id."""
        found: dict[int, MirrorLine] = {}
        ranks: dict[int, int] = {}
        for line in self.read.lines:
            if line.id is None or not self._is_of_copy(line):
                continue
            theme, digest = self._base_of(line.id)
            rank = 2 * (line.digest == digest) + (line.theme == theme)
            if line.id not in found or rank > ranks[line.id]:
                found[line.id], ranks[line.id] = line, rank
        return found

    def _is_of_copy(self, line: MirrorLine) -> bool:
        if line.id in self.base:
            return True
        # Without a known copy, only an unchanged line can be matched.
        present = self.stored.get(line.id or 0)
        return present is not None and line.digest == present.digest

    def _base_of(self, item_id: int) -> tuple[str, str]:
        if item_id in self.base:
            return self.base[item_id]
        present = self.stored[item_id]
        return present.theme, present.digest

    def _without_line(self) -> dict[str, list[int]]:
        """Memories of the copy without a line, by text: lines may have lost their id."""
        found: dict[str, list[int]] = {}
        for item_id, (_, said) in self.base.items():
            if item_id not in self.seen and item_id in self.stored:
                found.setdefault(said, []).append(item_id)
        return found

    def _take_loose(self, line: MirrorLine, strays: dict[str, list[int]]) -> None:
        if line.id is not None and line.id not in self.seen:
            self.plan.note(
                f"{line.id} is not the number of a memory of this file: taken as a new line",
                line,
                line.id,
            )
        candidates = strays.get(line.digest, [])
        if candidates:
            there = [one for one in candidates if self.base[one][0] == line.theme]
            met = (there or candidates)[0]
            candidates.remove(met)
            self.seen.add(met)
            self._compare_known(line, met)
        elif line.theme is None:
            self.plan.refuse(line, "is under a heading that names no theme")
        else:
            self._add(line, line.theme, None)

    def _compare_known(self, line: MirrorLine, item_id: int) -> None:
        base = self._base_of(item_id)
        theme = line.theme or base[0]
        present = self.stored.get(item_id)
        in_store = None if present is None else (present.theme, present.digest)
        side = changed_side(base, (theme, line.digest), in_store)
        if side in (Side.NONE, Side.STORE):
            return
        if item_id not in self.base and self.knows_base:
            self._add(line, theme, None)  # the text of a memory that was not in this copy
        elif item_id not in self.base:
            what = f"of which copy this file was made is not known: {item_id} stays where it is"
            self.plan.note(what, line, item_id)
        elif present is not None and line.digest == base[1]:  # moved only
            self.plan.replaces.append(Replace(line, present, present.content, theme))
        elif present is not None and side is Side.FILE:
            content = self._checked(line)
            if content is not None:
                self.plan.replaces.append(Replace(line, present, content, theme))
        else:
            self._add(line, theme, item_id)

    def _add(self, line: MirrorLine, theme: str, instead_of: int | None) -> None:
        content = self._checked(line)
        if content is not None:
            self.plan.adds.append(Add(line, content, theme, instead_of))

    def _checked(self, line: MirrorLine) -> str | None:
        try:
            content = NewMemory(content=as_written(line.text)).content
        except InvalidValue as problem:
            self.plan.refuse(line, f"cannot be stored: {problem.problem}")
            return None
        if holds_secret(content, line.theme):
            self.plan.refuse(line, "holds a secret, such as a password or a code: not taken over")
            return None
        return content

    def plan_deletions(self, base: Digests, *, allow_deletes: bool) -> None:
        """Plan to forget memories without a line, unless they changed meanwhile."""
        alive = [item_id for item_id in base if item_id in self.stored]
        missing = [item_id for item_id in alive if item_id not in self.seen]
        if not allow_deletes and looks_accidental(len(missing), len(alive)):
            raise Unreadable(
                f"lacks {len(missing)} of {len(alive)} memories: nothing was taken over, in case"
                " that is a mistake; if it is meant, run: ricordo mirror sync --allow-deletes; to"
                " have the file written again, remove it"
            )
        for item_id in missing:
            present = self.stored[item_id]
            in_store = (present.theme, present.digest)
            if changed_side(base[item_id], None, in_store) is Side.FILE:
                self.plan.forgets.append(present)
            else:
                self.plan.note("was deleted here, but has changed since: kept", None, item_id)


class _Noted(NamedTuple):
    """A line's digest from the ``first`` to the ``last`` copy; None where it is still current.

    Digests only, so that no deleted text stays behind in the notes.
    """

    id: int
    theme: str
    digest: str
    first: int
    last: int | None


@dataclass(slots=True)
class Notes:
    """An editor may keep a copy open and save it over newer ones. Its lines are then compared with
    what that copy said: a memory that was added later was not deleted.
    """

    series: str = field(default_factory=lambda: secrets.token_hex(4))
    newest: int = 0
    oldest: int = 1
    ended_from: int = 1
    """The first copy that was written with a last line."""
    lines: list[_Noted] = field(default_factory=list)
    daily_reached: dict[str, int] = field(default_factory=dict)
    """Up to which position the daily logs have each conversation, by its key."""
    daily_since: datetime | None = None
    """For conversations that are no longer noted, the logs have everything up to this time."""

    @property
    def copy(self) -> str:
        return f"{self.series}-{self.newest}"

    def base(self, copy: str | None) -> Digests | None:
        """What a copy said when it was written; None where that is not known."""
        series, _, number = (copy or "").partition("-")
        if series != self.series or not self.oldest <= int(number) <= self.newest:
            return None
        wanted = int(number)
        return {
            one.id: (one.theme, one.digest)
            for one in self.lines
            if one.first <= wanted and (one.last is None or wanted <= one.last)
        }

    def has_last_line(self, copy: str | None) -> bool:
        """Whether a copy was written with a last line; for an unknown one, the newest."""
        series, _, number = (copy or self.copy).partition("-")
        wanted = int(number) if series == self.series else self.newest
        return self.newest > 0 and wanted >= self.ended_from

    def begin_copy(self, said: Digests) -> None:
        former = self.newest
        self.newest += 1
        same = {one.id for one in self.lines if one.last is None and said.get(one.id) == one[1:3]}
        lines = [
            one if one.last is not None or one.id in same else one._replace(last=former)
            for one in self.lines
        ]
        new = [
            _Noted(item_id, theme, digest, self.newest, None)
            for item_id, (theme, digest) in said.items()
            if item_id not in same
        ]
        self.lines = self._trimmed([*lines, *new])

    def _trimmed(self, lines: list[_Noted]) -> list[_Noted]:
        """Drop copies that are too old to be open anywhere, and bound the number of lines."""
        ended = sorted((one.last for one in lines if one.last is not None), reverse=True)
        self.oldest = max(self.oldest, self.newest - limits.MAX_MIRROR_COPIES, 1)
        if len(ended) > limits.MAX_MIRRORED_ITEMS:
            self.oldest = max(self.oldest, ended[limits.MAX_MIRRORED_ITEMS] + 1)
        return [one for one in lines if one.last is None or one.last >= self.oldest]

    def note_logged(self, entries: Iterable[tuple[str, int, datetime]]) -> None:
        """Note new entries of the daily logs: conversation, position and time."""
        reached = self.daily_reached
        newest = self.daily_since
        for key, place, at in entries:
            reached[key] = max(place, reached.pop(key, 0))  # keeps the latest at the end
            newest = at if newest is None else max(newest, at)
        if len(reached) > limits.MAX_MIRRORED_ITEMS:
            kept = list(reached.items())[-limits.MAX_MIRRORED_ITEMS :]
            self.daily_reached, self.daily_since = dict(kept), newest

    @classmethod
    def load(cls, file: SyncedFile) -> Self:
        """The notes of a mirror; new ones where they are not usable. Raises FilesUnavailable."""
        try:
            return cls._from_json(file.read_notes())
        except UNUSABLE:
            return cls()

    @classmethod
    def _from_json(cls, noted: dict[str, Any]) -> Self:
        if noted["version"] != _VERSION:
            raise ValueError(noted["version"])
        since = str(noted["daily_since"])
        newest, series = int(noted["newest"]), str(noted["series"])
        oldest = int(noted["oldest"])
        if not _SERIES.fullmatch(series) or not 0 < oldest <= newest + 1 <= _MAX_COPY:
            raise ValueError("a copy that MEMORY.md could not name")
        return cls(
            series=series,
            newest=newest,
            oldest=oldest,
            ended_from=int(noted.get("ended_from", newest + 1)),
            lines=[_noted(entry, newest) for entry in noted["lines"]],
            daily_reached={_text(key): int(at) for key, at in noted["daily_reached"].items()},
            daily_since=datetime.fromisoformat(since).astimezone(UTC) if since else None,
        )

    def save(self, file: SyncedFile) -> None:
        """Save the notes. Raises FilesUnavailable."""
        file.write_notes(
            {
                "version": _VERSION,
                "series": self.series,
                "newest": self.newest,
                "oldest": self.oldest,
                "ended_from": self.ended_from,
                "daily_reached": self.daily_reached,
                "daily_since": "" if self.daily_since is None else format_moment(self.daily_since),
                "lines": self.lines,
            }
        )


def _noted(entry: Iterable[Any], newest: int) -> _Noted:
    item_id, theme, said, first, last = entry
    ended = None if last is None else int(last)
    if (
        max(int(first), ended or 0) > newest
    ):  # otherwise the base would include what is not written yet
        raise ValueError("a line of a copy that does not exist yet")
    return _Noted(int(item_id), _text(theme), _text(said), int(first), ended)


def _text(noted: object) -> str:
    """The text, if it has no lone surrogates. Raises ValueError."""
    text = str(noted)
    text.encode("utf-8")
    return text
