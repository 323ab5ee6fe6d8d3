"""A shelf of turns: besides terms and vectors, who spoke when in which thread, and what before."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from ricordo.indexing.postings import Ints
from ricordo.indexing.shelf import Column, Shelf
from ricordo.storage.backend import Row
from ricordo.storage.threads import SaidTurn

NO_TURN: Final = -1
_SAID_BYTES: Final = 250  # what Python needs for a short text and the tuple around it


class Codes:
    """Small numbers for words that repeat."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {}
        self.words: list[str | None] = []

    def of(self, word: str | None) -> int:
        """The number of a word, a new one where it has none."""
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self.words)
            self.words.append(word)
        return code

    def find(self, word: str | None) -> int:
        """The number of a word, or one that no word has."""
        return self._codes.get(word, NO_TURN)


class TurnShelf(Shelf):
    """What was said to and by one user."""

    def __init__(self, expected_rows: int = 0) -> None:
        super().__init__(expected_rows)
        self.threads = Codes()
        self.actors = Codes()
        self.roles = Codes()
        self._thread = Column(np.int32)
        self._actor = Column(np.int32)
        self._role = Column(np.int32)
        self._moment = Column(np.float64)
        self._month = Column(np.int32)
        self._day = Column(np.int32)
        self._before = Column(np.int32)
        self._place: dict[tuple[int, int], int] = {}
        self._lenders: Ints | None = None
        self._content_bytes = 0
        self.said: list[SaidTurn | None] = []

    def _append_all(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        start = self.rows
        super()._append_all(stored, vectors)
        self._lenders = None
        threads = [self.threads.of(one[3]) for one in stored]
        moments = [datetime.fromisoformat(one[7]) for one in stored]
        self._thread.fill(start, threads)
        self._actor.fill(start, [self.actors.of(one[5]) for one in stored])
        self._role.fill(start, [self.roles.of(one[6]) for one in stored])
        self._moment.fill(start, [moment.timestamp() for moment in moments])
        self._month.fill(start, [moment.year * 12 + moment.month - 1 for moment in moments])
        self._day.fill(start, [moment.day for moment in moments])
        self._before.fill(start, [NO_TURN] * len(stored))
        for row, (thread, one) in enumerate(zip(threads, stored, strict=True), start=start):
            self._follow(row, thread, one[4])
        for one, moment in zip(stored, moments, strict=True):
            _, _, _, thread_id, position, actor, role, _, message_id, content = one
            kept = None
            if content is not None:
                kept = SaidTurn(thread_id, position, message_id, role, actor, content, moment)
                self._content_bytes += _SAID_BYTES + len(content)
            self.said.append(kept)

    def can_let_go(self, count: int) -> bool:
        """Of none. Turns go only with their user; were one to go alone, what it is to others would
        have to go as well: the turn before, the lender of its nearness, a speaker of that name."""
        return not count

    @property
    def nbytes(self) -> int:
        """About how much memory the shelf takes."""
        return super().nbytes + self._content_bytes

    def _follow(self, row: int, thread: int, position: int) -> None:
        """Tie a turn to the one before and the one after, whichever came first."""
        self._place[thread, position] = row
        before = self._place.get((thread, position - 1))
        if before is not None:
            self._before.set(row, before)
        after = self._place.get((thread, position + 1))
        if after is not None:
            self._before.set(after, row)

    @property
    def lenders(self) -> Ints:
        """The row that lends each row a share of its nearness: the turn before, or itself."""
        if self._lenders is None:
            before = self.before
            usable = (before != NO_TURN) & self.with_vector[before]
            self._lenders = np.where(usable, before, np.arange(self.rows))
        return self._lenders

    def _set_vector(self, row: int, vector: Row | None) -> None:
        super()._set_vector(row, vector)
        self._lenders = None

    @property
    def speakers(self) -> tuple[str, ...]:
        """Everyone who has spoken, by name."""
        return tuple(name for name in self.actors.words if name is not None)

    @property
    def thread(self) -> Ints:
        """The number of each row's thread."""
        return self._thread.head(self.rows)  # type: ignore[no-any-return]

    @property
    def actor(self) -> Ints:
        """The number of each row's speaker."""
        return self._actor.head(self.rows)  # type: ignore[no-any-return]

    @property
    def role(self) -> Ints:
        """The number of each row's role."""
        return self._role.head(self.rows)  # type: ignore[no-any-return]

    @property
    def moment(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """When each turn was said, in seconds."""
        return self._moment.head(self.rows)  # type: ignore[no-any-return]

    @property
    def month(self) -> Ints:
        """The month of each turn, counted from year 0."""
        return self._month.head(self.rows)  # type: ignore[no-any-return]

    @property
    def day(self) -> Ints:
        """The day of the month of each turn."""
        return self._day.head(self.rows)  # type: ignore[no-any-return]

    @property
    def before(self) -> Ints:
        """The row of the turn before in the same thread, or ``NO_TURN``."""
        return self._before.head(self.rows)  # type: ignore[no-any-return]
