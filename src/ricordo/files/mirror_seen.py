"""How a mirror and its user stood when they were last brought together."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import Stamp, read_file, replace_file
from ricordo.files.mirror_notes import UNUSABLE
from ricordo.model.reports import MirrorEntry

_VERSION: Final = 1

Position = tuple[int, int, str]
"""Where a user's change feed and daily logs stand."""


@dataclass(frozen=True, slots=True)
class Seen:
    """While position and stamp are the same, there is nothing to do."""

    position: Position
    stamp: Stamp | None
    problems: tuple[MirrorEntry, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """What was noted last; None where that cannot be told."""
        try:
            held = read_file(path, limits.MAX_MIRROR_FILE_BYTES)
            return None if held is None else cls._from_json(json.loads(held))
        except (FilesUnavailable, *UNUSABLE):
            return None

    @classmethod
    def _from_json(cls, noted: dict[str, Any]) -> Self | None:
        if noted["version"] != _VERSION:
            return None
        revision, count, newest = noted["position"]
        stamp = noted["stamp"]
        return cls(
            (int(revision), int(count), str(newest)),
            None if stamp is None else (int(stamp[0]), int(stamp[1]), int(stamp[2])),
            tuple(MirrorEntry(**entry) for entry in noted["problems"]),
        )

    def save(self, path: Path) -> None:
        """Note it.

        Raises:
            FilesUnavailable: it cannot be written.
        """
        noted = {
            "version": _VERSION,
            "position": self.position,
            "stamp": self.stamp,
            "problems": [entry.to_dict() for entry in self.problems],
        }
        replace_file(path, json.dumps(noted, ensure_ascii=False).encode("utf-8"))
