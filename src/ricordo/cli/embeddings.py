"""Embedding providers: ``embeddings status``, ``states``, ``test``, ``set``, ``rebuild``,
``backfill``."""

import os
import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.cli.errors import exit_code_of
from ricordo.cli.options import STANDARD_STREAM, MemoryIds, Owner, Yes
from ricordo.cli.render import Shown, TableListing, answer, confirm, progress_bar, working
from ricordo.cli.session import open_user
from ricordo.errors import EmbeddingError, InvalidInput
from ricordo.limits import MAX_API_KEY_CHARS, MAX_VECTOR_WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ricordo.model.embedding import EmbeddingChange, EmbeddingState, EmbeddingStatus
    from ricordo.providers.embedding_choice import EmbeddingTest
    from ricordo.user_memory import UserMemory

KEY_VARIABLE: Final = "RICORDO_EMBEDDINGS_KEY"
_CONFIRMED: Final = "yes"
_NO_VECTORS: Final = "No vectors are made; search goes by words alone."
_PROVIDERS: Final = "local, llamacpp, ollama, openai, mistral, gemini, custom_http, none or default"

Chosen = Annotated[
    str, typer.Option("--provider", metavar="NAME", help=f"Who makes them: {_PROVIDERS}.")
]
Tested = Annotated[
    str | None,
    typer.Option("--provider", metavar="NAME", help=f"Instead of the present one: {_PROVIDERS}."),
]
Later = Annotated[
    bool, typer.Option("--later", help="Do not make the vectors now; leave them to a job.")
]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model; default: the provider's usual one.")
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="Address, up to before /embeddings."),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            metavar="KEY",
            help=f"Key; - reads it from standard input. Better than on the command line, where"
            f" others may see it: the variable {KEY_VARIABLE}.",
        ),
    ] = None
    dimensions: Annotated[
        int | None, typer.Option(metavar="N", help=f"Width to ask for (1 to {MAX_VECTOR_WIDTH}).")
    ] = None

    def settings(self, provider: str | None) -> dict[str, Any]:
        """The settings that were given; the key may come from the environment or a prompt."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**given, "api_key": self._key(provider)}

    def _key(self, provider: str | None) -> str | None:
        if self.api_key == STANDARD_STREAM:
            return sys.stdin.read(MAX_API_KEY_CHARS + 2).strip()
        if self.api_key is not None:
            return self.api_key
        from ricordo.providers.embedding_choice import PRESETS

        # The variable may always be set; providers without a key ignore it.
        return os.environ.get(KEY_VARIABLE) or None if provider in PRESETS else None


def status(*, owner: Owner) -> None:
    """Show where vectors are made, and how far that has come."""
    with open_user(owner) as memory:
        found = memory.embedding_status()
    answer(owner.as_json, found, _status_card)


def states(*, ids: MemoryIds, owner: Owner) -> None:
    """Show how far the vectors of single memories have come.

    Memories that do not exist are left out.
    """
    with open_user(owner) as memory:
        found = memory.embedding_states(ids)
    answer(owner.as_json, found, _state_table)


def test(*, provider: Tested = None, endpoint: Endpoint, owner: Owner) -> None:
    """Try a provider out: how wide its vectors are and how fast they come, or what is wrong.

    Without --provider, the present one. The exit code is 0 when it answers well.

    Example: ricordo embeddings test --provider ollama --model nomic-embed-text
    """
    with open_user(owner) as memory, working("Trying the provider", wanted=not owner.as_json):
        result = memory.test_embeddings(provider, **endpoint.settings(provider))
    shown = {field.name: getattr(result, field.name) for field in fields(result)}
    answer(owner.as_json, shown, lambda _: _test_sentence(result))
    if not result.ok:
        raise typer.Exit(exit_code_of(EmbeddingError()))


def set_provider(
    *, provider: Chosen, endpoint: Endpoint, yes: Yes = False, later: Later = False, owner: Owner
) -> None:
    """Choose where a user's vectors are made.

    A change of the model means that all vectors are made anew, so it asks first. The provider
    "default" goes back to the store's way.

    Example: ricordo embeddings set --provider openai --model text-embedding-3-small
    """
    settings = endpoint.settings(provider)
    with open_user(owner) as memory:
        planned = memory.set_embeddings(provider, **settings)
        if not yes and (planned.to_rebuild or planned.problem):
            confirm(_consequence(planned), _CONFIRMED)
        change = memory.set_embeddings(provider, **settings, confirm=True)
        _embed(memory, change.to_dict(), owner, later=later)


def rebuild(*, yes: Yes = False, later: Later = False, owner: Owner) -> None:
    """Make all vectors anew with the present model.

    It can be stopped and goes on where it was: ricordo embeddings backfill
    """
    with open_user(owner) as memory:
        planned = memory.rebuild_embeddings()
        if not yes:
            confirm(f"makes {planned.to_rebuild} vectors anew", _CONFIRMED)
        change = memory.rebuild_embeddings(confirm=True)
        _embed(memory, change.to_dict(), owner, later=later)


def backfill(*, later: Later = False, owner: Owner) -> None:
    """Make the vectors that are missing, were given up, or are of another model."""
    with open_user(owner) as memory:
        asked = memory.backfill_embeddings()
        _embed(memory, asked.to_dict(), owner, later=later)


def _embed(memory: "UserMemory", done: dict[str, Any], owner: Owner, *, later: bool) -> None:
    made = 0
    problem: EmbeddingError | InvalidInput | None = None
    if not later:
        try:
            with progress_bar("Making vectors", wanted=not owner.as_json) as progress:
                made = memory.fill_embeddings(progress=progress)
        except (EmbeddingError, InvalidInput) as error:
            problem = error
    now = memory.embedding_status()
    said = done.get("problem") if problem is None else " ".join(str(problem).split())
    shown = {
        **done,
        "provider": now.provider,
        "model": now.model,
        "made": made,
        "ready": now.ready,
        "pending": now.pending,
        "error": now.error,
        "problem": said,
    }
    answer(owner.as_json, shown, lambda _: _made_sentence(now, said))
    if problem is not None:
        raise typer.Exit(exit_code_of(problem))


def _consequence(planned: "EmbeddingChange") -> str:
    if planned.model is None:
        return f"drops {planned.to_rebuild} vectors, and search goes by words alone"
    trouble = "" if planned.problem is None else f", although {planned.problem}"
    return f"makes {planned.to_rebuild} vectors anew{trouble}"


def _made_sentence(now: "EmbeddingStatus", problem: str | None) -> str:
    if now.model is None and now.problem is None:
        return _NO_VECTORS
    waiting = f", {now.pending} wait for a job" if now.pending else ""
    failed = f", {now.error} failed: {now.last_error}" if now.error else ""
    trouble = "" if problem is None else f"\nStopped: {problem}"
    return f"{_provider_name(now)}: {now.ready} vectors are ready{waiting}{failed}.{trouble}"


def _provider_name(now: "EmbeddingStatus") -> str:
    return now.provider if now.model is None else f"{now.provider} {now.model}"


def _state_table(found: "Sequence[EmbeddingState]") -> Shown:
    if not found:
        return "There are no such memories."
    rows = [
        [
            str(one.id),
            one.state,
            one.provider or "",
            one.model or "",
            "" if one.dimensions is None else str(one.dimensions),
            one.error or "",
        ]
        for one in found
    ]
    return TableListing(["ID", "State", "Provider", "Model", "Dimensions", "Error"], rows)


def _status_card(now: "EmbeddingStatus") -> TableListing:
    rows = [
        ("provider", now.provider),
        ("model", now.model or ""),
        ("chosen by", now.origin),
        ("dimensions", "" if now.dimensions is None else str(now.dimensions)),
        ("memories", str(now.memories)),
        ("turns", str(now.turns)),
        ("ready", str(now.ready)),
        ("pending", f"{now.pending} ({now.stale} of another model)" if now.stale else now.pending),
        ("error", str(now.error)),
        ("last error", now.last_error or ""),
        ("problem", now.problem or ""),
    ]
    return TableListing([], [(name, str(value)) for name, value in rows if value != ""])


def _test_sentence(result: "EmbeddingTest") -> str:
    maker = result.provider if result.model is None else f"{result.provider} {result.model}"
    if not result.ok:
        return f"{maker} does not work: {result.problem}"
    if result.dimensions is None:
        return _NO_VECTORS
    return f"{maker} works: {result.dimensions} dimensions, {result.latency_ms:.0f} ms."
