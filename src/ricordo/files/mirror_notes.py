"""What the mirror notes beside MEMORY.md: what each copy of it said when it was written.

An editor may hold a copy for an hour and save it over newer ones. Its lines are then compared with
what that copy said, not with the newest: a memory that came later is not one that was deleted.
"""

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import read_file, replace_file
from ricordo.files.mirror_reading import Digests
from ricordo.model.checks import format_moment

_VERSION: Final = 1
_SERIES: Final = re.compile("[0-9a-f]+")
_MAX_COPY: Final = 10**17  # nobody makes so many; MEMORY.md names them with up to 18 digits

UNUSABLE: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What reading notes may raise that somebody else has written, or half of which is gone."""


class _Noted(NamedTuple):
    """What a line said from one copy of the file to another; ``last`` is None where it still does.

    By their digests, so that nothing of what was deleted stays behind in the notes.
    """

    id: int
    theme: str
    digest: str
    first: int
    last: int | None


@dataclass(slots=True)
class Notes:
    """The notes of one user's mirror."""

    user_id: str
    series: str = field(default_factory=lambda: secrets.token_hex(4))
    newest: int = 0
    oldest: int = 1
    ended_from: int = 1
    """The first copy that has a last line to know a whole file by."""
    lines: list[_Noted] = field(default_factory=list)
    daily_reached: dict[str, int] = field(default_factory=dict)
    """Up to which place the daily logs have each conversation, by its key."""
    daily_since: datetime | None = None
    """Of conversations that are not noted any more the logs have everything up to this time."""

    @property
    def copy(self) -> str:
        """The name of the newest copy."""
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
        """Whether a copy was written with a last line; of one that is not known, the newest."""
        series, _, number = (copy or self.copy).partition("-")
        wanted = int(number) if series == self.series else self.newest
        return self.newest > 0 and wanted >= self.ended_from

    def begin_copy(self, said: Digests) -> None:
        """Note what a new copy says."""
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
        """Without the copies that nobody can still have, and never more than is sensible."""
        ended = sorted((one.last for one in lines if one.last is not None), reverse=True)
        self.oldest = max(self.oldest, self.newest - limits.MAX_MIRROR_COPIES, 1)
        if len(ended) > limits.MAX_MIRRORED_ITEMS:
            self.oldest = max(self.oldest, ended[limits.MAX_MIRRORED_ITEMS] + 1)
        return [one for one in lines if one.last is None or one.last >= self.oldest]

    def note_logged(self, entries: Iterable[tuple[str, int, datetime]]) -> None:
        """Note what the daily logs have now: conversation, place and time of each entry."""
        reached = self.daily_reached
        newest = self.daily_since
        for key, place, at in entries:
            reached[key] = max(place, reached.pop(key, 0))  # the latest are noted last
            newest = at if newest is None else max(newest, at)
        if len(reached) > limits.MAX_MIRRORED_ITEMS:
            kept = list(reached.items())[-limits.MAX_MIRRORED_ITEMS :]
            self.daily_reached, self.daily_since = dict(kept), newest

    @classmethod
    def load(cls, path: Path, user_id: str) -> Self:
        """The notes of a user; fresh ones where there are none that can be read.

        Raises:
            FilesUnavailable: they are another user's, and so is the file that they are about.
        """
        try:
            held = read_file(path, limits.MAX_MIRROR_FILE_BYTES)
            noted = {} if held is None else json.loads(held)
            loaded = cls._from_json(noted)
        except (FilesUnavailable, *UNUSABLE):
            return cls(user_id)
        if loaded.user_id != user_id:
            raise FilesUnavailable(
                f"{path.parent}: is the mirror of another user; move it away, or remove its"
                f" {path.name} to have what it says taken over"
            )
        return loaded

    @classmethod
    def _from_json(cls, noted: dict[str, Any]) -> Self:
        if noted["version"] != _VERSION:
            raise ValueError(noted["version"])
        since = str(noted["daily_since"])
        newest, series = int(noted["newest"]), str(noted["series"])
        if not _SERIES.fullmatch(series) or not 0 <= newest < _MAX_COPY:
            raise ValueError("a copy that MEMORY.md could not name")
        return cls(
            _text(noted["user"]),
            series=series,
            newest=newest,
            oldest=int(noted["oldest"]),
            ended_from=int(noted.get("ended_from", newest + 1)),
            lines=[_noted(entry, newest) for entry in noted["lines"]],
            daily_reached={_text(key): int(at) for key, at in noted["daily_reached"].items()},
            daily_since=datetime.fromisoformat(since).astimezone(UTC) if since else None,
        )

    def save(self, path: Path) -> None:
        """Write the notes down.

        Raises:
            FilesUnavailable: they cannot be written.
        """
        noted = {
            "version": _VERSION,
            "user": self.user_id,
            "series": self.series,
            "newest": self.newest,
            "oldest": self.oldest,
            "ended_from": self.ended_from,
            "daily_reached": self.daily_reached,
            "daily_since": "" if self.daily_since is None else format_moment(self.daily_since),
            "lines": self.lines,
        }
        replace_file(path, json.dumps(noted, ensure_ascii=False).encode("utf-8"))


def _noted(entry: Iterable[Any], newest: int) -> _Noted:
    item_id, theme, said, first, last = entry
    ended = None if last is None else int(last)
    if max(int(first), ended or 0) > newest:  # else what is still to be written would be its base
        raise ValueError("a line of a copy that does not exist yet")
    return _Noted(int(item_id), _text(theme), _text(said), int(first), ended)


def _text(noted: object) -> str:
    """A text that can be written again: one from outside may have halves of characters.

    Raises:
        ValueError: it cannot.
    """
    text = str(noted)
    text.encode("utf-8")
    return text
