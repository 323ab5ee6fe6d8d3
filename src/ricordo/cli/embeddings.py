"""Embedding providers: ``embeddings status``, ``states``, ``test``, ``set``, ``rebuild``,
``backfill``."""

import os
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.errors import exit_code_of
from ricordo.cli.render import TableListing, answer, confirm, progress_bar, working
from ricordo.cli.store import STANDARD_STREAM, Owner, Yes, open_user
from ricordo.cli.tables import table
from ricordo.errors import EmbeddingError, InvalidInput
from ricordo.limits import MAX_API_KEY_CHARS
from ricordo.operations import maintenance as describe

if TYPE_CHECKING:
    from ricordo.model.embedding import (
        EmbeddingChange,
        EmbeddingStatus,
        EmbeddingTest,
    )
    from ricordo.user_memory import UserMemory

KEY_VARIABLE: Final = "RICORDO_EMBEDDINGS_KEY"
_CONFIRMED: Final = "yes"
_NO_VECTORS: Final = "No vectors are made; search goes by words alone."

ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        help=f"Key; - reads it from standard input. Better than on the command line, where"
        f" others may see it: the variable {KEY_VARIABLE}.",
    ),
]
Later = Annotated[
    bool, typer.Option("--later", help="Do not make the vectors now; leave them to a job.")
]


def _with_key(given: Given, api_key: str | None) -> Given:
    """The settings of an endpoint; the key may come from the environment or standard input."""
    if api_key == STANDARD_STREAM:
        api_key = sys.stdin.read(MAX_API_KEY_CHARS + 2).strip()
    if api_key is None:
        from ricordo.providers.embedding_choice import PRESETS

        # The variable may always be set; providers without a key ignore it.
        if given.get("provider") in PRESETS:
            api_key = os.environ.get(KEY_VARIABLE) or None
    return {**given, "api_key": api_key}


def test(
    *,
    given: Given = options_of(describe.test_embeddings, "api_key"),
    api_key: ApiKey = None,
    owner: Owner,
) -> None:
    """Test a provider: the width of its vectors, how fast it answers, or what is wrong.

    Without --provider, the present one. The exit code is 0 when it answers well.

    Example: ricordo embeddings test --provider ollama --model nomic-embed-text
    """
    settings = _with_key(given, api_key)
    with open_user(owner) as memory, working("Trying the provider", wanted=not owner.as_json):
        result = memory.test_embeddings(**settings)
    shown = {field.name: getattr(result, field.name) for field in fields(result)}
    answer(owner.as_json, shown, lambda _: _test_sentence(result))
    if not result.ok:
        raise typer.Exit(exit_code_of(EmbeddingError()))


def set_provider(
    *,
    given: Given = options_of(describe.set_embeddings, "api_key", "confirm", provider="--provider"),
    api_key: ApiKey = None,
    yes: Yes = False,
    later: Later = False,
    owner: Owner,
) -> None:
    """Choose where a user's vectors are computed.

    A change of the model means that all vectors are rebuilt, so it asks first. The provider
    "default" goes back to the provider of the store.

    Example: ricordo embeddings set --provider openai --model text-embedding-3-small
    """
    settings = _with_key(given, api_key)
    with open_user(owner) as memory:
        planned = memory.set_embeddings(**settings)
        if not yes and (planned.to_rebuild or planned.problem):
            confirm(_consequence(planned), _CONFIRMED)
        change = memory.set_embeddings(**settings, confirm=True)
        _embed(memory, change.to_dict(), owner, later=later)


def rebuild(
    *,
    given: Given = options_of(describe.rebuild_embeddings, "confirm"),
    yes: Yes = False,
    later: Later = False,
    owner: Owner,
) -> None:
    """Rebuild all vectors with the present model.

    It can be stopped and goes on where it was: ricordo embeddings backfill
    """
    with open_user(owner) as memory:
        planned = memory.rebuild_embeddings(**given)
        if not yes:
            confirm(f"makes {planned.to_rebuild} vectors anew", _CONFIRMED)
        change = memory.rebuild_embeddings(**given, confirm=True)
        _embed(memory, change.to_dict(), owner, later=later)


def backfill(
    *,
    given: Given = options_of(describe.backfill_embeddings),
    later: Later = False,
    owner: Owner,
) -> None:
    """Compute the vectors that are missing, failed, or are of another model."""
    with open_user(owner) as memory:
        asked = memory.backfill_embeddings(**given)
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


status = command_of(describe.embedding_status, _status_card)
states = command_of(
    describe.embedding_states,
    table(
        {
            "ID": "id",
            "State": "state",
            "Provider": "provider",
            "Model": "model",
            "Dimensions": "dimensions",
            "Error": "error",
        },
        empty="There are no such memories.",
    ),
    about="Show the state of the vectors of single memories.\n\n"
    "Memories that do not exist are left out.",
    ids="ID",
)
