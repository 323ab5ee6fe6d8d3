"""Keeps ``USER.md`` and the profile in the store in sync."""

import contextlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable, InvalidInput
from ricordo.files.disk import is_being_written
from ricordo.files.home import USER_STARTER, FilesFolder, Span, comment_spans, decoded
from ricordo.files.sync import (
    Side,
    SyncedFile,
    Unreadable,
    changed_side,
    looks_accidental,
    require_settled,
)
from ricordo.formation.profile import check_harmless, read_fields, set_fields
from ricordo.formation.service import Formation
from ricordo.limits import MAX_PROFILE_FIELD_CHARS
from ricordo.model.group import is_person
from ricordo.model.profile import (
    FieldChange,
    ProfileField,
    checked_change,
    field_content,
    field_key,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Source
from ricordo.text.normalise import content_hash

# Only field lines are changed. Everything else stays, byte for byte.

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")
_BULLET: Final = re.compile(r" {0,3}[-*+][ \t]+")
_EMPHASIS: Final = ("**", "__", "*", "_")
_MAX_RAW_LABEL_CHARS: Final = MAX_PROFILE_FIELD_CHARS + 2 * max(map(len, _EMPHASIS))
_BYTE_ORDER_MARK: Final = "\ufeff"

_EDITED: Final = "edited in USER.md"
_FIELDS: Final = "fields"
_WAITS: Final = "it may be being saved, and is read again when it has been quiet for a while"
_ASKS: Final = (
    "nothing was taken over, in case that is a mistake; if it is meant, run: ricordo profile unset"
    " FIELD; to have the lines written again, empty the file"
)


@dataclass(frozen=True, slots=True)
class FieldLine:
    """A line that may be a field. ``value_span`` is the stripped value; ``end`` is after the line
    break."""

    key: str
    label: str
    value: str
    start: int
    end: int
    value_span: Span
    has_comment: bool


def field_lines(text: str) -> dict[str, FieldLine]:
    """The lines ``- Name: value`` by the key of their name, the first of each."""
    found: dict[str, FieldLine] = {}
    for line in all_field_lines(text):
        found.setdefault(line.key, line)
    return found


def with_fields(text: str, wanted: Mapping[str, tuple[str, str] | None]) -> str:
    """The text with fields set to ``(label, value)``, or removed for None.

    An existing line keeps its label and place. A new one goes after the last field, or to the end.
    """
    for key, said in wanted.items():
        line = field_lines(text).get(key)
        if said is None:
            text = _without(text, key)
        elif line is None:
            text = _added(text, *said, wanted.keys())
        elif line.value != said[1]:
            text = _changed(text, line, said[1])
    return text


def all_field_lines(text: str) -> Iterator[FieldLine]:
    """Every line ``- Name: value``, in order, outside of comments."""
    comments = iter(comment_spans(text))
    nobody = (len(text), len(text))
    comment = next(comments, nobody)
    for found in _LINE.finditer(text):
        while comment != nobody and comment[1] <= found.start():
            comment = next(comments, nobody)
        is_inside = comment[0] < found.start() < comment[1]
        line = None if is_inside else _field_line(text, found.span(), comment[0])
        if line is not None:
            yield line


def _field_line(text: str, span: Span, next_comment: int) -> FieldLine | None:
    start, end = span
    bullet = _BULLET.match(text, start + len(_mark_of(text[:1], start)), end)
    stop = min(end, next_comment)
    colon = text.find(":", start, stop)
    if bullet is None or colon < bullet.end() or colon - bullet.end() > _MAX_RAW_LABEL_CHARS:
        return None
    raw = text[bullet.end() : colon].strip()
    key = field_key(raw)
    if not key:
        return None
    first = colon + 1 + _closing_emphasis(raw, text[colon + 1 : stop])
    value = text[first:stop].strip()
    if value:
        first = text.index(value, first)
    return FieldLine(
        key=key,
        label=raw,
        value=value,
        start=start,
        end=end,
        value_span=(first, first + len(value)),
        has_comment=next_comment < end,
    )


def _closing_emphasis(raw_label: str, rest: str) -> int:
    """The length of the closing emphasis in ``**City:** Bekasi``."""
    for sign in _EMPHASIS:
        if raw_label.startswith(sign) and not raw_label.endswith(sign) and rest.startswith(sign):
            return len(sign)
    return 0


def _changed(text: str, line: FieldLine, value: str) -> str:
    first, last = line.value_span
    space = "" if text[first - 1] in " \t" else " "
    return f"{text[:first]}{space}{value}{text[last:]}"


def _without(text: str, key: str) -> str:
    lines = [line for line in all_field_lines(text) if line.key == key]
    for line in reversed(lines):
        text = _removed(text, line)
    return text


def _removed(text: str, line: FieldLine) -> str:
    if line.has_comment:  # not ours to remove
        first, last = line.value_span
        return text[:first] + text[last:]
    return text[: line.start] + _mark_of(text[:1], line.start) + text[line.end :]


def _added(text: str, label: str, value: str, fields: Collection[str]) -> str:
    place = _place_for_more(text, fields)
    ending = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    before = ""
    if text[:place] not in ("", _BYTE_ORDER_MARK):
        ends_line = text[place - 1] == "\n"
        opens_list = place == len(text) and not _ends_in_list(text)
        before = ending if opens_list or not ends_line else ""  # a list follows an empty line
    return f"{text[:place]}{before}- {field_content(label, value)}{ending}{text[place:]}"


def _place_for_more(text: str, fields: Collection[str]) -> int:
    """After the last field line, and after a comment that begins on it."""
    own = [line.end for key, line in field_lines(text).items() if key in fields]
    if not own:
        return len(text)
    place = max(own)
    for start, end in comment_spans(text):
        if start < place < end:
            following = text.find("\n", end)
            place = len(text) if following < 0 else following + 1
    return place


def _ends_in_list(text: str) -> bool:
    last = text.removesuffix("\n").rpartition("\n")[2]
    return not last.strip() or _BULLET.match(last) is not None


def _mark_of(first: str, place: int) -> str:
    """A byte order mark, where the line begins with one."""
    return first if place == 0 and first == _BYTE_ORDER_MARK else ""


class ProfileFiles:
    """Syncs the profiles of all users with their ``USER.md``.

    Since the last sync:
    - only the store changed: the line is changed, added or removed;
    - only the line was edited or deleted: the memory is updated or deleted, with history;
    - both changed: the line wins, the store's value stays in history;
    - the store changed and the line is gone: the line comes back;
    - lines are gone and the file was saved just now: nothing, it may be incomplete;
    - many lines are gone at once: nothing, until a person confirms.

    The database is written first, then the file, then the notes. An interrupted sync is completed
    by the next one.
    """

    def __init__(
        self,
        folder: FilesFolder | None,
        formation: Formation,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._formation = formation
        self._wall_clock = wall_clock  # the clock that file times are compared with

    def follow(self, user_id: str, taking: Collection[str] = ()) -> tuple[str, ...]:
        """Sync file and store; returns problems, one line each.

        New lines of the file are the person's own text, except those of fields in ``taking``: these
        are about to be set and become part of their history.
        """
        if self._folder is None or not is_person(user_id):
            return ()
        files = self._folder.of(user_id)
        with contextlib.suppress(OSError):  # a folder that may not be entered
            if not (files.profile.exists() or files.memory.is_dir()):
                return ()
        problems: dict[str, None] = {}
        try:
            with files.profile_sync.locked():
                self._follow(files.profile_sync, taking, problems)
        except FilesUnavailable as problem:
            problems[str(problem)] = None
        return tuple(problems)

    def _follow(self, file: SyncedFile, taking: Collection[str], problems: dict[str, None]) -> None:
        file.check_owner()
        fields = file.read_notes().get(_FIELDS)
        given = fields.items() if isinstance(fields, dict) else ()
        noted = {key: value for key, value in given if isinstance(value, str)}
        agreed = noted

        def merged(contents: bytes | None) -> bytes | None:
            nonlocal agreed
            text = decoded(contents or b"")
            plan = _Plan(file.path, text, noted, self._stored(file.user_id), problems)
            self._check_missing(plan)
            edits = plan.edits(taking)
            if edits:
                require_settled(file.path, contents)
                self._apply(file.user_id, edits, plan)
            stored = self._stored(file.user_id)
            new = plan.text_with(stored)
            agreed = plan.agreed(new, stored)
            return contents if new == plan.text else new.encode("utf-8")

        file.rewrite(merged)
        if agreed != noted:
            file.write_notes({_FIELDS: agreed})

    def _check_missing(self, plan: "_Plan") -> None:
        """Refuse a file whose missing lines may not have been deleted: unlike MEMORY.md, it has no
        end mark that shows it is complete. Raises Unreadable."""
        missing, known = len(plan.missing()), len(plan.noted)
        is_emptied = plan.is_empty and bool(plan.stored)
        if not (missing or is_emptied):
            return
        if is_being_written(plan.path, self._wall_clock(), limits.PROFILE_QUIET_SECONDS):
            raise Unreadable(f"{'is empty' if is_emptied else f'lacks {missing} fields'}; {_WAITS}")
        if looks_accidental(missing, known):
            raise Unreadable(f"lacks {missing} of {known} fields; {_ASKS}")

    def _stored(self, user_id: str) -> dict[str, ProfileField]:
        return {one.key: one for one in read_fields(self._formation.database, user_id)}

    def _apply(self, user_id: str, edits: list[FieldChange], plan: "_Plan") -> None:
        """Apply edited lines as ordinary writes with history."""
        try:
            set_fields(self._formation, Scope(user_id), edits, Source.FILE, _EDITED)
        except InvalidInput as problem:
            for edit in edits:
                plan.leave(edit.key, str(problem))


@dataclass(slots=True)
class _Plan:
    path: Path
    text: str
    noted: Mapping[str, str]
    stored: Mapping[str, ProfileField]
    problems: dict[str, None]
    """Problems to report, in order."""
    left: set[str] = field(default_factory=set)
    """Fields left unchanged on both sides because of a problem."""
    is_empty: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip("\ufeff \t\r\n"):
            # An empty file was removed or truncated, not emptied field by field.
            self.text, self.noted, self.is_empty = USER_STARTER, {}, True

    def missing(self) -> list[str]:
        """Fields that were in sync and have no line any more."""
        lines = self._lines()
        return [key for key in self.noted if key in self.stored and key not in lines]

    def edits(self, taking: Collection[str]) -> list[FieldChange]:
        """Edits of lines, as changes of the store."""
        lines = self._lines()
        found = []
        for key in dict.fromkeys((*self.stored, *self.noted, *taking)):
            edit = self._edit(key, lines.get(key), key in taking)
            if edit is not None:
                found.append(edit)
        return found

    def _edit(self, key: str, line: FieldLine | None, is_taken: bool) -> FieldChange | None:
        known, agreed = self.stored.get(key), self.noted.get(key)
        in_file = None if line is None else content_hash(line.value)
        in_store = None if known is None else content_hash(known.value)
        side = changed_side(agreed, in_file, in_store)
        if side in (Side.NONE, Side.STORE):
            return None
        if line is None:
            if side is Side.FILE and known is not None:
                return FieldChange(known.label, None)
            self._add_problem(f"{key} was removed here but changed in the store; it is back")
            return None
        if in_store is None and agreed is None and not is_taken:
            return None  # text of their own that looks like a field
        if side is Side.BOTH:
            self._add_problem(
                f"{key} was changed both here and in the store; the line is kept,"
                " the other value is in history"
            )
        label = line.label.strip("*_ ") if known is None else known.label
        try:
            change = checked_change(label, line.value)
            check_harmless(change)
        except InvalidInput as problem:
            self.leave(key, str(problem))
            return None
        return change

    def leave(self, key: str, problem: str) -> None:
        self.left.add(key)
        self._add_problem(f"not taken over: {problem}")

    def _add_problem(self, problem: str) -> None:
        self.problems[f"{self.path}: {problem}"] = None

    def text_with(self, stored: Mapping[str, ProfileField]) -> str:
        lines = self._lines()
        wanted: dict[str, tuple[str, str] | None] = {}
        for key in self.noted:
            if key not in stored and key not in self.left:
                wanted[key] = None
        for key, known in stored.items():
            line = lines.get(key)
            if line is not None and (key in self.left or _agree(line.value, known.value)):
                wanted[key] = (known.label, line.value)
            elif self._fits_a_line(known):
                wanted[key] = (known.label, known.value)
        return with_fields(self.text, wanted)

    def _fits_a_line(self, known: ProfileField) -> bool:
        """Whether a value fits on a line; words of a conversation may not."""
        try:
            checked_change(known.label, known.value)
        except InvalidInput as problem:
            self._add_problem(f"not written: {problem}")
            return False
        return True

    def agreed(self, text: str, stored: Mapping[str, ProfileField]) -> dict[str, str]:
        """What file and store agree on now; for fields that were left, the former agreement."""
        lines = field_lines(text)
        found = {key: self.noted[key] for key in self.left if key in self.noted}
        for key, known in stored.items():
            if key in lines and _agree(lines[key].value, known.value):
                found[key] = content_hash(known.value)
        return found

    def _lines(self) -> dict[str, FieldLine]:
        return {key: line for key, line in field_lines(self.text).items() if line.value}


def _agree(one: str, other: str) -> bool:
    return content_hash(one) == content_hash(other)
