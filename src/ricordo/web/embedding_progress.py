"""How far a user's vectors have come, as the page tells it while they are made."""

import zlib
from dataclasses import dataclass
from typing import Final, Self

from ricordo import errors
from ricordo.model.embedding import EmbeddingStatus

_PHASES: Final = {
    "empty": "There is nothing to make vectors of yet.",
    "off": "Nothing makes vectors: memories are found by their words alone.",
    "unusable": "No vectors can be made with the present settings.",
    "ready": "All vectors are ready.",
    "failed": "Some vectors could not be made.",
    "waiting": "The last try did not work. It is tried again by itself.",
    "working": "Vectors are being made.",
}


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """A status in words. ``error`` is what the provider said, ``seen`` stands for all of it: who
    has seen the same need not be told again."""

    status: EmbeddingStatus
    phase: str
    error: str | None
    seen: str

    @classmethod
    def of(cls, status: EmbeddingStatus) -> Self:
        """What to tell of a status."""
        phase = _phase(status)
        error = None if phase in ("ready", "off") else status.problem or status.last_error
        counted = (status.ready, status.pending, status.error, error)
        return cls(
            status, phase, _plain(error), f"{phase}-{zlib.crc32(repr(counted).encode()):08x}"
        )

    @property
    def sentence(self) -> str:
        """How it stands, in one sentence."""
        return _PHASES[self.phase]

    @property
    def is_moving(self) -> bool:
        """Whether it will change by itself, so that it is worth looking again."""
        return self.phase in ("working", "waiting")

    @property
    def can_be_retried(self) -> bool:
        """Whether asking again is of use."""
        return self.phase in ("failed", "waiting") or (self.is_moving and self.status.error > 0)

    @property
    def total(self) -> int:
        """How many vectors there are to be."""
        return self.status.ready + self.status.pending + self.status.error

    def is_new_phase(self, seen: str) -> bool:
        """Whether more has changed than numbers since somebody has seen it."""
        return seen.partition("-")[0] != self.phase


def _phase(status: EmbeddingStatus) -> str:
    if status.problem is not None:
        return "unusable"
    if status.model is None:
        return "off"
    if status.pending:
        # Where some were given up, the last error is theirs; the others may well go on.
        return "waiting" if status.last_error and not status.error else "working"
    if status.error:
        return "failed"
    return "ready" if status.ready else "empty"


def _plain(error: str | None) -> str | None:
    """What went wrong without the name of our error, which a job puts before it."""
    if error is None:
        return None
    name, colon, rest = error.partition(": ")
    return rest if colon and hasattr(errors, name) else error
