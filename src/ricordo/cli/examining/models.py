"""Who makes vectors and who reads conversations: do they answer?"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ricordo.cli.finding import CheckFinding, ok, warning
from ricordo.cli.options import Store

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.model.embedding import VectorModel


class MadeVectors(NamedTuple):
    """Whose vectors are made now, and how wide they are."""

    model: "VectorModel"
    width: int


@contextlib.contextmanager
def store_apart(store: Store) -> Iterator["Memory"]:
    """A throw-away store with the same settings, so that none is made or changed.

    Raises:
        InvalidInput: a setting has a value that is not allowed.
        StorageError: there is no room for files that are thrown away.
    """
    from ricordo.wiring import TEMPORARY, open_memory

    with open_memory(**{**store.settings(), "url": TEMPORARY, "run_jobs": False}) as memory:
        yield memory


def embedder(memory: "Memory") -> tuple[CheckFinding, MadeVectors | None]:
    """Whether texts become vectors."""
    from ricordo.index.embedders import model_of
    from ricordo.model.vocabulary import GLOBAL_OWNER
    from ricordo.providers.embedding_choice import test_embedder

    with memory.database.read(GLOBAL_OWNER) as view:
        chosen = memory.recall.embedders.chosen(view.connection, GLOBAL_OWNER)
    if chosen.embedder is None and chosen.problem is None:
        return ok("embedder", "none: search goes by words alone"), None
    if chosen.embedder is None:
        return _no_vectors(str(chosen.problem)), None
    tried = test_embedder(chosen.embedder)
    if not tried.ok or tried.dimensions is None:
        # Errors themselves do not say it, because users read them, too.
        address = memory.settings.embedding_base_url or memory.settings.llamacpp_url
        named = tried.provider if address is None else f"{tried.provider} at {address}"
        return _no_vectors(f"{named}: {tried.problem}"), None
    made = MadeVectors(model_of(chosen.embedder), tried.dimensions)
    found = f"{tried.provider} {tried.model}: {tried.dimensions} wide, {tried.latency_ms:.0f} ms"
    return ok("embedder", found), made


def _no_vectors(trouble: str) -> CheckFinding:
    advice = "check RICORDO_EMBEDDING_…; until then search goes by words alone"
    return warning("embedder", trouble, advice)


def language_model(memory: "Memory") -> CheckFinding:
    """Whether the language model answers; without one there is nothing to check."""
    if memory.formation.model is None:
        return ok("model", "none: rules read conversations")
    tried = memory.test_model()
    named = f"{tried.provider} {tried.model}"
    if not tried.ok:
        advice = "check RICORDO_MODEL_…; until then conversations wait to be formed"
        return warning("model", f"{named}: {tried.problem}", advice)
    return ok("model", f"{named}: {tried.structured_output}, {tried.latency_ms:.0f} ms")
