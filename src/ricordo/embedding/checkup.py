"""Trying an embedder out, and saying in one line what is wrong."""

import time
from dataclasses import dataclass
from typing import Final

from ricordo.embedding.contract import Embedder
from ricordo.endpoints.timing import Monotonic
from ricordo.errors import EmbeddingError, InvalidInput
from ricordo.model.record import Record

_DEADLINE_SECONDS: Final = 15.0
_SAMPLES: Final = ("Prefers tea over coffee.", "The train to the coast leaves at nine.")


@dataclass(frozen=True, slots=True)
class EmbeddingTest(Record):
    """What came of it. ``problem`` is None when all is well."""

    ok: bool
    provider: str
    model: str | None
    dimensions: int | None
    latency_ms: float | None
    problem: str | None


def test_embedder(
    embedder: Embedder,
    *,
    deadline_seconds: float = _DEADLINE_SECONDS,
    monotonic: Monotonic = time.monotonic,
) -> EmbeddingTest:
    """Embed two short texts; the latency is that of the second call, after all is loaded."""
    try:
        vectors = embedder.embed(_SAMPLES, deadline_seconds=deadline_seconds)
        begun = monotonic()
        embedder.embed(_SAMPLES[:1], deadline_seconds=deadline_seconds)
        latency_ms = (monotonic() - begun) * 1_000
        name = embedder.model
    except (EmbeddingError, InvalidInput) as error:
        problem = " ".join(str(error).split())
        return EmbeddingTest(False, embedder.provider, _name(embedder), None, None, problem)
    return EmbeddingTest(True, embedder.provider, name, vectors.shape[1], latency_ms, None)


def _name(embedder: Embedder) -> str | None:
    try:
        return embedder.model
    except EmbeddingError:  # of a local model whose files are not there
        return None
