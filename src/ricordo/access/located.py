"""The values of a policy file, each with the place where it stands."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ricordo.errors import InvalidPolicy

_MAX_SHOWN_CHARS: Final = 60


class Kind(StrEnum):
    """What a place in the file holds, in the words of messages."""

    TEXT = "text"
    NUMBER = "a whole number"
    NOTHING = "nothing"
    OTHER = "a value that YAML does not take for text (put it in quotes)"
    LIST = "a list"
    MAPPING = "a mapping"


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its place. Of ``text``, ``entries`` and ``pairs`` its kind uses one."""

    file: str
    line: int
    column: int
    kind: Kind
    text: str = ""
    entries: tuple["Node", ...] = ()
    pairs: tuple[tuple["Node", "Node"], ...] = ()

    def wrong(self, problem: str) -> InvalidPolicy:
        """The error to raise about this place."""
        return InvalidPolicy(self.file, problem, self.line, self.column)

    @property
    def shown(self) -> str:
        """The value in a message: its words, or what it is where it has none."""
        if self.kind in (Kind.LIST, Kind.MAPPING, Kind.NOTHING):
            return self.kind.value
        rendered = repr(self.text)
        if len(rendered) > _MAX_SHOWN_CHARS:
            rendered = f"{rendered[: _MAX_SHOWN_CHARS - 3]}..."
        return f"{rendered}, {self.kind.value}" if self.kind is Kind.OTHER else rendered
