"""Making the vectors that are missing: what was written while no vector was known.

Texts are read in one transaction, turned into vectors outside of any, and written in another, which
takes only what still has the same text, for the model that is still the user's. So it does no harm
to run twice or to be killed, and a search in between finds these texts by their words.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from ricordo import forks
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbeddingError, InvalidInput
from ricordo.indexing.embedders import Embedders, model_of
from ricordo.indexing.relating import Relating
from ricordo.indexing.waiting import (
    Waiting,
    is_job_waiting,
    mark_failed,
    next_waiting,
    still_waiting,
    store_vectors,
)
from ricordo.limits import EMBEDDING_FILL_SECONDS
from ricordo.model.embedding import KnownVectors, VectorModel
from ricordo.providers.embedder import Embedder
from ricordo.storage.backend import INDEXED, ITEMS, Indexed, Row, Step
from ricordo.storage.database import Database, retried
from ricordo.storage.search_rows import vectors_of_texts

FILL_BATCH: Final = 64
"""How many vectors are made between two transactions."""

_PROBE: Final = "Prefers tea over coffee."
_LOCKS: Final = 64

Tick = Callable[[int], None]
"""Told how many vectors were made, after each batch."""


def _silently(_made: int) -> None:
    pass


class Filling:
    """Makes missing vectors, batch by batch. Safe from many threads and processes at once."""

    def __init__(self, database: Database, embedders: Embedders, relating: Relating) -> None:
        self.database = database
        self._embedders = embedders
        self._relating = relating
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        # Two threads that fill for one user take turns, so that no text is sent out twice.
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def reset_after_fork(self) -> Any:
        """A lock may have been held by a thread that the child does not have."""
        inherited = self._locks
        self._set_up()
        return inherited

    def fill(self, user_id: str, tick: Tick = _silently) -> int:
        """Make all vectors that a user's texts wait for; how many were made.

        A text that the model cannot take is marked with its error, and the others go on.

        Raises:
            EmbeddingError, InvalidInput: the embedder does not do it; what was made is kept.
        """
        made = 0
        for kind in INDEXED:
            while (done := self._fill_batch(kind, user_id)) is not None:
                made += done
                tick(done)
        return made

    @retried
    def give_up(self, user_id: str, problem: EmbeddingError | InvalidInput) -> None:
        """Mark what still waits as failed, with the reason; ``backfill`` tries again.

        Where another job is queued, the user has chosen another provider or added texts since:
        what waits is left to that job.
        """
        with self.database.write(user_id) as writing:
            if is_job_waiting(writing):
                return
            for kind in INDEXED:
                mark_failed(writing, kind, problem)

    def _fill_batch(self, kind: Indexed, user_id: str) -> int | None:
        """Make the vectors of the next texts; how many, or None where none waits."""
        with self._locks[hash(user_id) % _LOCKS]:
            with self.database.read(user_id) as view:
                batch = next_waiting(view.connection, kind, user_id, FILL_BATCH)
                if not batch:
                    return None
                embedder = self._embedders.embedder_of(view.connection, user_id)
            if embedder is None:
                return None
            return self._work_off(kind, user_id, embedder, batch)

    def _work_off(
        self, kind: Indexed, user_id: str, embedder: Embedder, batch: Sequence[Waiting]
    ) -> int:
        """Make and write the vectors of a batch, halving what the embedder does not take.

        One text can spoil the answer for a whole request. What is left of the halving is that
        text, and it alone is marked.
        """
        made = 0
        parts = [batch]
        while parts:
            part = parts.pop()
            try:
                vectors = self._vectors(user_id, embedder, part)
            except (BadEmbedding, EmbedderRefused) as problem:
                if part is batch:
                    _check_that_it_works(embedder, problem)
                if len(part) == 1:
                    self._mark_one(kind, user_id, model_of(embedder), part[0], problem)
                else:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
            else:
                made += self._write(kind, user_id, model_of(embedder), part, vectors)
        return made

    def _vectors(self, user_id: str, embedder: Embedder, part: Sequence[Waiting]) -> dict[str, Row]:
        """The vectors by the hash of the text; what is stored already is not made again."""
        texts = {one.text_hash: one.content for one in part}
        found: dict[str, Row] = {}
        with self.database.read(user_id) as view:
            for kind in INDEXED:
                found |= vectors_of_texts(
                    view.connection, kind, user_id, model_of(embedder), set(texts)
                )
        missing = [digest for digest in texts if digest not in found]
        if missing:
            with self.database.watch(Step.EMBEDDING):
                made = embedder.embed(
                    [texts[digest] for digest in missing], deadline_seconds=EMBEDDING_FILL_SECONDS
                )
            found |= dict(zip(missing, made, strict=True))
        return found

    @retried
    def _write(
        self,
        kind: Indexed,
        user_id: str,
        model: VectorModel,
        part: Sequence[Waiting],
        vectors: dict[str, Row],
    ) -> int:
        known = KnownVectors(model, _of_one_width(vectors))
        near = self._relating.neighbours(user_id, known) if kind is ITEMS else {}
        with self.database.write(user_id, known=known) as writing:
            if self._embedders.chosen(writing.connection, user_id).model != model:
                return 0  # somebody has changed the provider meanwhile
            rows = still_waiting(writing, kind, part)
            if rows:
                made = [(one.id, vectors[one.text_hash]) for one, _ in rows]
                store_vectors(writing, kind, model, made)
                active = [(one.id, one.text_hash) for one, is_active in rows if is_active]
                self._relating.note(writing, active, known, near)
            return len(rows)

    @retried
    def _mark_one(
        self,
        kind: Indexed,
        user_id: str,
        model: VectorModel,
        one: Waiting,
        problem: EmbeddingError,
    ) -> None:
        with self.database.write(user_id) as writing:
            if self._embedders.chosen(writing.connection, user_id).model == model:
                mark_failed(writing, kind, problem, only=one)


def _check_that_it_works(embedder: Embedder, problem: EmbeddingError) -> None:
    """Tell one text that cannot be taken from an endpoint that takes none.

    Raises:
        EmbeddingError: the embedder does not take a harmless text either.
    """
    try:
        embedder.embed([_PROBE], deadline_seconds=EMBEDDING_FILL_SECONDS)
    except (BadEmbedding, EmbedderRefused):
        raise problem from None


def _of_one_width(vectors: dict[str, Row]) -> dict[str, Row]:
    """Those that can be compared: an endpoint may have changed its width under the same name."""
    width = len(next(iter(vectors.values())))
    return {digest: vector for digest, vector in vectors.items() if len(vector) == width}
