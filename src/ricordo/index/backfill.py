"""Computes missing vectors."""

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbeddingError, InvalidInput
from ricordo.frozen import dataclass
from ricordo.index.embedders import Embedders, model_of
from ricordo.index.relations import Relating
from ricordo.limits import EMBEDDING_FILL_SECONDS, MAX_JOB_ERROR_CHARS
from ricordo.model.embedding import KnownVectors, VectorModel
from ricordo.model.vocabulary import JobState, Status, VectorState
from ricordo.providers.embedder import Embedder
from ricordo.storage.database import Database, Step, WriteTransaction, retried
from ricordo.storage.search_rows import EMBED_JOB, vectors_of_texts
from ricordo.storage.sql import PreparedStatement, Row, Words, among, bound_list
from ricordo.storage.tables import INDEXED, ITEMS, SEARCHED, Indexed, jobs
from ricordo.text.pieces import first_piece

FILL_BATCH: Final = 64
PROBE_TEXT: Final = "Prefers tea over coffee."
"""Whether an endpoint works is tested with this."""

_LOCKS: Final = 64
_KINDS: Final = tuple(chain.from_iterable(SEARCHED.values()))

Tick = Callable[[int], None]
"""Called with the number of vectors made, after each batch."""


def silently(_made: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class PendingText:
    id: int
    content: str
    text_hash: str


def _is_pending(kind: Indexed) -> sa.ColumnElement[bool]:
    return sa.and_(
        kind.index.c.user_id == sa.bindparam("of_user", type_=Words),
        # A literal, so that the partial index is used.
        kind.index.c.state == sa.literal_column("'pending'"),
    )


def _still_pending(kind: Indexed) -> sa.Select[Any]:
    source = kind.joined() if kind is ITEMS else kind.index
    status = kind.source.c.status if kind is ITEMS else sa.null()
    return (
        sa.select(kind.index.c.id, kind.index.c.text_hash, status)
        .select_from(source)
        .where(_is_pending(kind), among(kind.index.c.id, bound_list("ids", sa.BigInteger())))
    )


_next: Final = {
    kind: PreparedStatement(
        sa.select(kind.index.c.id, kind.text(), kind.index.c.text_hash)
        .select_from(kind.joined())
        .where(_is_pending(kind))
        .order_by(kind.index.c.id)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )
    for kind in _KINDS
}
_still: Final = {kind.name: PreparedStatement(_still_pending(kind)) for kind in INDEXED}
_set_ready: Final = {
    kind.name: PreparedStatement(
        sa.update(kind.index)
        .where(
            kind.index.c.user_id == sa.bindparam("of_user", type_=Words),
            kind.index.c.id == sa.bindparam("row_id", type_=sa.BigInteger),
        )
        .values(
            stamp=sa.bindparam("stamp"),
            state=sa.literal_column(f"'{VectorState.READY.value}'"),
            provider=sa.bindparam("provider"),
            model=sa.bindparam("model"),
            dimensions=sa.bindparam("dimensions"),
            error=sa.null(),
            vector=sa.bindparam("vector"),
        )
    )
    for kind in INDEXED
}


def count_pending(connection: sa.Connection, user_id: str) -> int:
    return sum(
        connection.execute(
            sa.select(sa.func.count()).select_from(kind.index).where(_is_pending(kind)),
            {"of_user": user_id},
        ).scalar_one()
        for kind in INDEXED
    )


def _mark_failed(
    writing: WriteTransaction,
    kind: Indexed,
    problem: EmbeddingError | InvalidInput,
    only: PendingText | None = None,
) -> None:
    """Record why one text, or all pending ones, did not get a vector."""
    where = _is_pending(kind)
    if only is not None:
        same = sa.and_(kind.index.c.id == only.id, kind.index.c.text_hash == only.text_hash)
        where = sa.and_(where, same)
    message = " ".join(str(problem).split())[:MAX_JOB_ERROR_CHARS]
    marked = sa.update(kind.index).where(where)
    writing.next_stamp()  # so that what is counted is counted again
    writing.connection.execute(
        marked.values(state=VectorState.ERROR.value, error=message), {"of_user": writing.user_id}
    )


class VectorBackfill:
    """Computes missing vectors in batches. Safe across threads and processes.

    Texts are read in one transaction, embedded outside of any, and written in another if their text
    and the user's model are unchanged. So it is safe to run twice or to be killed.
    """

    def __init__(self, database: Database, embedders: Embedders, relating: Relating) -> None:
        self.database = database
        self._embedders = embedders
        self._relating = relating
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        # One thread at a time per user, so that no text is embedded twice.
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def reset_after_fork(self) -> Any:
        """A thread that the child does not have may hold a lock."""
        inherited = self._locks
        self._set_up()
        return inherited

    def fill(self, user_id: str, tick: Tick = silently) -> int:
        """Compute all missing vectors of a user; returns how many.

        A text that the model refuses is marked with its error, and the others go on.

        Raises:
            EmbeddingError, InvalidInput: the embedder does not do it; what was made is kept.
        """
        made = 0
        for kind in _KINDS:
            while (done := self._fill_batch(kind, user_id)) is not None:
                made += done
                tick(done)
        return made

    @retried
    def give_up(self, user_id: str, problem: EmbeddingError | InvalidInput) -> None:
        """Mark all pending texts as failed, with the reason; ``backfill`` retries.

        Not if another job is queued: the user has changed the provider or added texts since.
        """
        queued = sa.exists().where(
            jobs.c.kind == EMBED_JOB,
            jobs.c.user_id == user_id,
            jobs.c.state == JobState.QUEUED.value,
        )
        with self.database.write(user_id) as writing:
            if writing.connection.execute(sa.select(queued)).scalar_one():
                return
            for kind in INDEXED:
                _mark_failed(writing, kind, problem)

    def _fill_batch(self, kind: Indexed, user_id: str) -> int | None:
        """Compute the next vectors; how many, or None where nothing is pending."""
        with self._locks[hash(user_id) % _LOCKS]:
            with self.database.read(user_id) as view:
                given = {"of_user": user_id, "size": FILL_BATCH}
                batch = [
                    PendingText(row_id, text if kind is ITEMS else first_piece(text), digest)
                    for row_id, text, digest in _next[kind].run(view.connection, given)
                ]
                if not batch:
                    return None
                embedder = self._embedders.embedder_of(view.connection, user_id)
            if embedder is None:
                return None
            return self._embed_batch(kind, user_id, embedder, batch)

    def _embed_batch(
        self, kind: Indexed, user_id: str, embedder: Embedder, batch: Sequence[PendingText]
    ) -> int:
        """Embed and store a batch, halving it when the embedder refuses it.

        One text can fail a whole request; halving isolates it, and only it is marked.
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

    def _vectors(
        self, user_id: str, embedder: Embedder, part: Sequence[PendingText]
    ) -> dict[str, Row]:
        texts = {one.text_hash: one.content for one in part}
        with self.database.read(user_id) as view:
            found = vectors_of_texts(view.connection, user_id, model_of(embedder), set(texts))
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
        part: Sequence[PendingText],
        vectors: dict[str, Row],
    ) -> int:
        # Of one width: an endpoint may change its width under the same name.
        width = len(next(iter(vectors.values())))
        same = {digest: vector for digest, vector in vectors.items() if len(vector) == width}
        known = KnownVectors(model, same)
        near = self._relating.neighbours(user_id, known) if kind is ITEMS else {}
        texts = {one.id: one for one in part}
        with self.database.write(user_id, known=known) as writing:
            if self._embedders.chosen(writing.connection, user_id).model != model:
                return 0  # somebody has changed the provider meanwhile
            given = {"of_user": user_id, "ids": list(texts)}
            # None where the user was erased meanwhile.
            rows = [
                (texts[row_id], status)
                for row_id, digest, status in _still[kind.name].run(writing.connection, given)
                if texts[row_id].text_hash == digest
            ]
            if rows:
                stamp = writing.next_stamp()
                ready = [
                    {
                        "of_user": user_id,
                        "row_id": text.id,
                        "stamp": stamp,
                        "provider": model.provider,
                        "model": model.model,
                        "dimensions": len(vectors[text.text_hash]),
                        "vector": vectors[text.text_hash],
                    }
                    for text, _ in rows
                ]
                _set_ready[kind.name].run_many(writing.connection, ready)
                active = [
                    (text.id, text.text_hash)
                    for text, status in rows
                    if status == Status.ACTIVE.value
                ]
                self._relating.note(writing, active, known, near)
            return len(rows)

    @retried
    def _mark_one(
        self,
        kind: Indexed,
        user_id: str,
        model: VectorModel,
        one: PendingText,
        problem: EmbeddingError,
    ) -> None:
        with self.database.write(user_id) as writing:
            if self._embedders.chosen(writing.connection, user_id).model == model:
                _mark_failed(writing, kind, problem, only=one)


def _check_that_it_works(embedder: Embedder, problem: EmbeddingError) -> None:
    """Distinguish a bad text from a broken endpoint. Raises EmbeddingError: the embedder does not
    take a harmless text either."""
    try:
        embedder.embed([PROBE_TEXT], deadline_seconds=EMBEDDING_FILL_SECONDS)
    except (BadEmbedding, EmbedderRefused):
        raise problem from None
