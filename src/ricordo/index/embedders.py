"""The embedding model of each user, and its vectors."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.errors import EmbeddingError, InvalidInput, in_log
from ricordo.model.embedding import KnownVectors, StoredChoice, VectorModel
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import NONE, EmbedderRegistry, EmbeddingChoice, effective
from ricordo.providers.encryption import SecretBox
from ricordo.storage.database import Database, Step
from ricordo.storage.search_rows import find_choice, text_hash, vectors_of_texts
from ricordo.storage.sql import Row
from ricordo.storage.tables import INDEXED

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Recent(Generic[Key, Kept]):
    """The values used last. Thread- and fork-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def reset_after_fork(self) -> Any:
        """A thread that the child does not have may hold the lock."""
        inherited = (self._lock, self._kept)
        self._set_up()
        return inherited

    def get(self, key: Key) -> Kept | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Key, value: Kept) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)


# The choice is read from the database at each call, so that a change takes effect at once. No
# transaction is open while a vector is computed.

_KNOWN_TEXTS: Final = 2_048  # vectors of recent texts, about 3 MB of a small model

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query and its model.

    Without a ``vector`` the search uses words only; ``problem`` then says why, unless embeddings
    are off.
    """

    model: VectorModel | None = None
    vector: Row | None = None
    problem: str | None = None
    embed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ChosenEmbedder:
    """A user's embedder. ``problem`` says why it cannot be used."""

    embedder: Embedder | None = field(compare=False)
    model: VectorModel | None
    problem: str | None


class Embedders:
    """The embedders of all users, chosen by the operator, by themselves, or by default."""

    def __init__(
        self,
        database: Database,
        registry: EmbedderRegistry,
        secrets: SecretBox,
        operator: EmbeddingChoice | None,
        given: Embedder | None,
        query_deadline_seconds: float,
    ) -> None:
        self._database = database
        self._registry = registry
        self.secrets = secrets
        self.operator = operator
        self._for_most = effective(operator, None, None)
        self._given = given
        # Then no user's choice has to be looked up.
        self._makes_none = given is None and operator is not None and operator.provider == NONE
        self._deadline_seconds = query_deadline_seconds
        self._recent: Recent[tuple[VectorModel, str], Row] = Recent(_KNOWN_TEXTS)

    @property
    def is_fixed(self) -> bool:
        """True where users cannot choose: the operator, or the program, has chosen."""
        return self._given is not None or self.operator is not None

    def choice_of(self, connection: sa.Connection, user_id: str) -> EmbeddingChoice:
        """This user's embedding settings.

        Raises:
            EmbeddingError: the user's stored key cannot be decrypted.
        """
        own = None if self.operator is not None else find_choice(connection, user_id)
        return self._for_most if own is None else self._opened(own)

    def embedder_of(self, connection: sa.Connection, user_id: str) -> Embedder | None:
        """This user's embedder; None where embeddings are off.

        Raises:
            EmbeddingError, InvalidInput: the user's settings cannot be used.
        """
        if self._given is not None:
            return self._given
        return self._registry.get(self.choice_of(connection, user_id))

    def for_choice(self, choice: EmbeddingChoice) -> Embedder | None:
        return self._registry.get(choice)

    def chosen(self, connection: sa.Connection, user_id: str) -> ChosenEmbedder:
        """This user's embedder or problem; never raises."""
        try:
            embedder = self.embedder_of(connection, user_id)
            model = None if embedder is None else model_of(embedder)
        except (EmbeddingError, InvalidInput) as problem:
            return ChosenEmbedder(None, None, _one_line(problem))
        return ChosenEmbedder(embedder, model, None)

    def query_vector(self, chosen: ChosenEmbedder, text: str) -> QueryVector:
        """The vector of a query or the problem; never raises."""
        if chosen.embedder is None:
            return QueryVector(None, problem=chosen.problem)
        started = time.perf_counter()
        vector: Row | None = None
        problem = None
        try:
            vector = self._vectors(
                chosen.embedder, [text], deadline_seconds=self._deadline_seconds
            )[0]
        except (EmbeddingError, InvalidInput) as error:
            problem = _one_line(error)
            _log.warning("no vector for a question: %s", in_log(error))
        spent = (time.perf_counter() - started) * 1000
        return QueryVector(chosen.model, vector, problem, spent)

    def known_vectors(self, user_id: str, texts: Iterable[str]) -> KnownVectors:
        """Vectors before a write: computed locally, or of the same texts before.

        Does not wait for a remote model: a job calls it after the write.
        """
        if self._makes_none:
            return KnownVectors(None)
        by_hash = {text_hash(text): text for text in texts}
        with self._database.read(user_id) as view:
            chosen = self.chosen(view.connection, user_id)
            embedder, model = chosen.embedder, chosen.model
            if embedder is None or model is None:
                # Chosen but unusable: its texts wait.
                return KnownVectors(None if chosen.problem is None else VectorModel("", ""))
            found: dict[str, Row] = {}
            for kind in INDEXED:
                found |= vectors_of_texts(view.connection, kind, user_id, model, set(by_hash))
        missing = [digest for digest in by_hash if digest not in found]
        if embedder.is_local and missing:
            try:
                made = self._vectors(embedder, [by_hash[digest] for digest in missing])
                found |= dict(zip(missing, made, strict=True))
            except (EmbeddingError, InvalidInput) as error:
                _log.warning("vectors are left to a job: %s", in_log(error))
        return KnownVectors(model, found)

    def close(self) -> None:
        self._registry.close()

    def _vectors(
        self, embedder: Embedder, texts: Sequence[str], deadline_seconds: float | None = None
    ) -> list[Row]:
        model = model_of(embedder)
        known: dict[str, Row] = {}
        missing = []
        for text in dict.fromkeys(texts):
            recent = self._recent.get((model, text_hash(text)))
            if recent is None:
                missing.append(text)
            else:
                known[text] = recent
        if missing:
            with self._database.watch(Step.EMBEDDING):
                made = embedder.embed(missing, deadline_seconds=deadline_seconds)
            for text, vector in zip(missing, made, strict=True):
                known[text] = vector
                self._recent.put((model, text_hash(text)), vector)
        return [known[text] for text in texts]

    def _opened(self, own: StoredChoice) -> EmbeddingChoice:
        key = None if own.sealed_key is None else self.secrets.open(own.sealed_key)
        return EmbeddingChoice.parse(
            own.provider,
            model=own.model,
            base_url=own.base_url,
            api_key=key,
            dimensions=own.dimensions,
            from_user=True,
        )


def model_of(embedder: Embedder) -> VectorModel:
    return VectorModel(embedder.provider, embedder.model)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
