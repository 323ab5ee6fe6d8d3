"""Where this user's vectors are made: looking, trying, changing, making them."""

from collections.abc import Iterable

from ricordo import limits
from ricordo.errors import Conflict, InvalidValue
from ricordo.index import rebuild
from ricordo.index.backfill import count_waiting
from ricordo.index.embedders import model_of
from ricordo.index.rebuild import ModelCandidate
from ricordo.memories.lookup import read_states
from ricordo.model import checks
from ricordo.model.embedding import (
    ChoiceOrigin,
    EmbeddingBackfill,
    EmbeddingChange,
    EmbeddingState,
    EmbeddingStatus,
)
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import NONE, EmbeddingTest, effective, test_embedder
from ricordo.storage.database import retried
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory.bound import Bound


class Embeddings(Bound):
    """Operations on vectors."""

    def embedding_status(self) -> EmbeddingStatus:
        """Where the vectors are made, who decided that, and how far it has come."""
        with self.database.read(self.scope.user_id) as view:
            return rebuild.read_status(self.recall.embedders, view.connection, self.scope.user_id)

    def embedding_states(self, ids: Iterable[int]) -> tuple[EmbeddingState, ...]:
        """How far the vector of each of these memories has come, in the order of the ids.

        What does not exist or is another user's is left out, and what has no vector where none are
        made. Of memories that others share, only
        the state is told, not where their owner has vectors made.

        Raises:
            InvalidValue: something that is no id, or too many.
        """
        listed = checks.entries("ids", ids, limits.MAX_PAGE_ITEMS)
        wanted = [checks.memory_id(item_id) for item_id in listed]
        with self.database.read(self.scope.user_id) as view:
            chosen = self.recall.embedders.chosen(view.connection, self.scope.user_id)
            are_made = chosen.embedder is not None or chosen.problem is not None
            return tuple(read_states(view, self._audience(view), wanted, are_made=are_made))

    def test_embeddings(
        self,
        provider: str | None = None,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
    ) -> EmbeddingTest:
        """Call the endpoint and say how wide and how fast it answers, or what is wrong.

        Without arguments the present provider is tried, otherwise the one that is named. Nothing
        is stored.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
        """
        if provider is None:
            for name, value in {
                "model": model,
                "base_url": base_url,
                "api_key": api_key,
                "dimensions": dimensions,
            }.items():
                if value is not None:
                    raise InvalidValue(name, "needs a provider, too")
            return self._test_present()
        choice = rebuild.read_choice(provider, model, base_url, api_key, dimensions)
        wanted = choice or effective(None, None, None)
        return _tested(self.recall.embedders.for_choice(wanted))

    def set_embeddings(
        self,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        confirm: bool = False,
    ) -> EmbeddingChange:
        """Choose where this user's vectors are made, in place of the store's way.

        Without ``confirm`` nothing is changed, and the answer says how many vectors would have to
        be made anew and whether the endpoint answers. With it, the choice is effective at once;
        vectors of another model are dropped, and a job makes them anew. The key is stored
        encrypted and never shown again, so it has to be given with every change. ``default`` goes
        back to the store's way.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
            TargetRefused: the address is inside the operator's network.
            Conflict: the operator has chosen for everybody.
            EmbedderRefused: the key cannot be encrypted, because its secret key cannot be read.
        """
        choice = rebuild.read_choice(provider, model, base_url, api_key, dimensions)
        confirmed = checks.flag("confirm", confirm)
        self._refuse_if_decided()
        wanted = rebuild.candidate(self.recall.embedders, choice)
        problem = rebuild.try_out(self.recall.embedders, choice)
        if confirmed:
            count = self._change(wanted)
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, wanted.model)
        return EmbeddingChange(
            provider=wanted.provider,
            model=None if wanted.model is None else wanted.model.model,
            to_rebuild=count,
            applied=confirmed,
            problem=problem,
        )

    def reset_embeddings(self, *, confirm: bool = False) -> EmbeddingChange:
        """Go back to the store's way of making vectors; see :meth:`set_embeddings`.

        Raises:
            Conflict: the operator has chosen for everybody.
        """
        return self.set_embeddings(rebuild.STORES_WAY, confirm=confirm)

    def rebuild_embeddings(self, *, confirm: bool = False) -> EmbeddingChange:
        """Make all vectors anew with the present model.

        Without ``confirm`` nothing is changed, and the answer says how many they are.

        Raises:
            Conflict: nothing makes vectors here.
            EmbeddingError, InvalidInput: the present settings cannot be used.
        """
        confirmed = checks.flag("confirm", confirm)
        present = model_of(self._present())
        if confirmed:
            count = self._rebuild()
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, None)
        return EmbeddingChange(
            provider=present.provider,
            model=present.model,
            to_rebuild=count,
            applied=confirmed,
            problem=None,
        )

    @retried
    def backfill_embeddings(self) -> EmbeddingBackfill:
        """Ask again for vectors that were given up or are of another model; a job makes them.

        Raises:
            Conflict: nothing makes vectors here.
            EmbeddingError, InvalidInput: the present settings cannot be used.
        """
        present = model_of(self._present())
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.backfill(writing, present)

    def fill_embeddings(self, *, progress: Progress = no_progress) -> int:
        """Make the vectors that wait now, in this thread; how many were made.

        ``progress`` is told how many are made and how many there are. It can be stopped anywhere
        and goes on with the next call, or with the job that does the same.

        Raises:
            EmbeddingError, InvalidInput: the embedder does not do it; what was made is kept.
        """
        with self.database.read(self.scope.user_id) as view:
            total = count_waiting(view.connection, self.scope.user_id)
        made = 0

        def tick(count: int) -> None:
            nonlocal made
            made += count
            progress(made, max(made, total))

        progress(0, total)
        self.recall.filling.fill(self.scope.user_id, tick)
        total = max(made, total)  # another worker may have made the rest
        progress(total, total)
        return made

    def _present(self) -> Embedder:
        with self.database.read(self.scope.user_id) as view:
            embedder = self.recall.embedders.embedder_of(view.connection, self.scope.user_id)
        if embedder is None:
            raise Conflict("nothing makes vectors here: the embedding provider is 'none'")
        return embedder

    def _test_present(self) -> EmbeddingTest:
        with self.database.read(self.scope.user_id) as view:
            chosen = self.recall.embedders.chosen(view.connection, self.scope.user_id)
            if chosen.problem is not None:
                status = rebuild.read_status(
                    self.recall.embedders, view.connection, self.scope.user_id
                )
                return EmbeddingTest(False, status.provider, None, None, None, chosen.problem)
        return _tested(chosen.embedder)

    def _refuse_if_decided(self) -> None:
        with self.database.read(self.scope.user_id) as view:
            origin = rebuild.origin_of(self.recall.embedders, view.connection, self.scope.user_id)
        if origin is ChoiceOrigin.OPERATOR:
            raise Conflict(
                "the operator has chosen the embedding provider for everybody;"
                " a choice of one's own would have no effect"
            )

    def _change(self, wanted: ModelCandidate) -> int:
        key = None if wanted.choice is None else wanted.choice.api_key
        sealed = None if key is None else self.recall.embedders.secrets.seal(key)
        return self._store(wanted, sealed)

    @retried
    def _store(self, wanted: ModelCandidate, sealed_key: str | None) -> int:
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.change_choice(writing, wanted, sealed_key)

    @retried
    def _rebuild(self) -> int:
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.rebuild_all(writing)


def _tested(embedder: Embedder | None) -> EmbeddingTest:
    """A try of an embedder; without one there is nothing that could go wrong."""
    if embedder is None:
        return EmbeddingTest(True, NONE, None, None, None, None)
    return test_embedder(embedder)
