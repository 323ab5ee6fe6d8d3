"""The embedding model of each user, and its vectors."""

import logging
import time
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import EmbeddingError, InvalidInput, in_log
from ricordo.frozen import dataclass, field
from ricordo.index.cache import LruCache
from ricordo.model.embedding import KnownVectors, VectorModel
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import NONE, EmbedderRegistry, EmbeddingChoice, effective
from ricordo.providers.encryption import SecretBox
from ricordo.storage.database import Database, Step
from ricordo.storage.search_rows import find_choice, text_hash, vectors_of_texts
from ricordo.storage.sql import Row

# The choice is read from the database at each call, so that a change takes effect at once. No
# transaction is open while a vector is computed.

_USERS_COUNTED: Final = 1_024
_KNOWN_TEXTS: Final = 2_048  # vectors of recent texts, about 3 MB of a small model

_KNOWN_USERS: Final = 2_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query and its model.

    Without a ``vector`` the search uses words only; ``problem`` then says why, unless embeddings
    are off. ``others`` are those of the same query with other names.
    """

    model: VectorModel | None = None
    vector: Row | None = None
    problem: str | None = None
    embed_ms: float = 0.0
    others: tuple[Row, ...] = ()


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
        self.counted: LruCache[Hashable, list[Any]] = LruCache(_USERS_COUNTED)
        self._recent: LruCache[tuple[VectorModel, str], Row] = LruCache(_KNOWN_TEXTS)
        self._last_chosen: LruCache[str, ChosenEmbedder] = LruCache(_KNOWN_USERS)

    @property
    def is_fixed(self) -> bool:
        """True where users cannot choose: the operator, or the program, has chosen."""
        return self._given is not None or self.operator is not None

    def choice_of(self, connection: sa.Connection, user_id: str) -> EmbeddingChoice:
        """This user's embedding settings. Raises EmbeddingError: the user's stored key cannot be
        decrypted."""
        own = None if self.operator is not None else find_choice(connection, user_id)
        if own is None:
            return self._for_most
        return EmbeddingChoice.parse(
            own.provider,
            model=own.model,
            base_url=own.base_url,
            api_key=None if own.sealed_key is None else self.secrets.open(own.sealed_key),
            dimensions=own.dimensions,
            from_user=True,
        )

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
        chosen = ChosenEmbedder(embedder, model, None)
        self._last_chosen.put(user_id, chosen)
        return chosen

    def last_chosen(self, user_id: str) -> ChosenEmbedder | None:
        """The one of the last time, without a look at what is stored. None where there was none, or
        where it would send a text away: to whom is for the settings of now to say.
        """
        last = self._last_chosen.get(user_id)
        return last if last and last.embedder and last.embedder.is_local else None

    def query_vector(
        self, chosen: ChosenEmbedder, text: str, variants: Sequence[str] = ()
    ) -> QueryVector:
        """The vector of a query, and of its variants, or the problem; never raises."""
        if chosen.embedder is None:
            return QueryVector(None, problem=chosen.problem)
        started = time.perf_counter()
        vector: Row | None = None
        others: Sequence[Row] = ()
        problem = None
        try:
            vector, *others = self._vectors(
                chosen.embedder, [text, *variants], deadline_seconds=self._deadline_seconds
            )
        except (EmbeddingError, InvalidInput) as error:
            problem = _one_line(error)
            _log.warning("no vector for a question: %s", in_log(error))
        spent = (time.perf_counter() - started) * 1000
        return QueryVector(chosen.model, vector, problem, spent, tuple(others))

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
            found = vectors_of_texts(view.connection, user_id, model, set(by_hash))
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


def model_of(embedder: Embedder) -> VectorModel:
    return VectorModel(embedder.provider, embedder.model)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
