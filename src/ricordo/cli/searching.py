"""Finding: ``search``, ``related`` and ``query``."""

import contextlib
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.filtering import Filters
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import MemoryId, Owner, completing, words
from ricordo.cli.render import answer, say
from ricordo.cli.session import open_user
from ricordo.errors import InvalidValue
from ricordo.model.search import QUERY_FILTERS, Returns

EVERYTHING: Final = "*"
_NUMBERS: Final = ("importance_min", "importance_max")
_FLAGS: Final = ("pinned",)
_TRUTH: Final = {"true": True, "false": False}

Asked = Annotated[
    str, typer.Argument(metavar="QUERY", help="What to look for; * is everything, newest first.")
]
ResultLimit = Annotated[
    int,
    typer.Option("--limit", metavar="N", help=f"How many at most (1 to {limits.MAX_RESULTS})."),
]
Threshold = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Only hits at least this sure to be an answer (0 to 1)."),
]
RecencyDays = Annotated[
    float | None, typer.Option(metavar="DAYS", help="Only what was noted in the last so many days.")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Show every part of the score below each hit.")
]
Question = Annotated[str, typer.Argument(metavar="TEXT", help="What the agent needs to know.")]
Agent = Annotated[
    str | None, typer.Option(metavar="ID", help="Agent that asks; it gets what it may read.")
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        "--theme",
        metavar="NAME",
        help="Heading; may be given several times.",
        autocompletion=completing_names(Named.THEME),
    ),
]
QueryFilters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help=f"One of: {', '.join(sorted(QUERY_FILTERS))}; may be given several times.",
    ),
]
TopK = Annotated[
    int, typer.Option(metavar="N", help=f"How many at most (1 to {limits.MAX_RESULTS}).")
]
Returned = Annotated[
    str,
    typer.Option(
        metavar="FORM",
        help=f"Lines for a prompt, or whole memories: {words(Returns)}.",
        autocompletion=completing(Returns),
    ),
]
Budget = Annotated[
    int, typer.Option("--budget", metavar="TOKENS", help="How long the answer may be.")
]
RelatedBullets = Annotated[
    int,
    typer.Option(
        metavar="N",
        help=f"How many bullets about the same to add (0 to {limits.MAX_RELATED_BULLETS}).",
    ),
]


def search(
    *,
    query: Asked = EVERYTHING,
    limit: ResultLimit = limits.DEFAULT_RESULTS,
    threshold: Threshold = None,
    recency_days: RecencyDays = None,
    explain: Explain = False,
    filters: Filters,
    owner: Owner,
) -> None:
    """Find memories by meaning and by words, the best first.

    Example: ricordo search "what does she drink" --theme drinks
    """
    with open_user(owner) as memory:
        found = memory.search(
            query,
            limit=limit,
            threshold=threshold,
            recency_days=recency_days,
            explain=explain,
            **filters.given(),
        )
    warn(found.degraded, owner)
    nothing = tables.nothing_found("ricordo list --status any", threshold)
    answer(owner.as_json, found, lambda hits: tables.hit_table(hits, nothing))


def related(
    *, memory_id: MemoryId, limit: ResultLimit = limits.DEFAULT_RESULTS, owner: Owner
) -> None:
    """List the memories that are about the same as one, the most similar first."""
    with open_user(owner) as memory:
        found = memory.related(memory_id, limit=limit)
    answer(owner.as_json, found, tables.related_table)


def query(
    *,
    query: Question,
    agent: Agent = None,
    categories: Categories = None,
    filters: QueryFilters = None,
    top_k: TopK = limits.DEFAULT_QUERY_RESULTS,
    returns: Returned = Returns.BULLETS.value,
    budget_tokens: Budget = limits.DEFAULT_BUDGET,
    threshold: Threshold = None,
    related: RelatedBullets = 0,
    owner: Owner,
) -> None:
    """Answer an agent's question in a few lines that never exceed a budget of tokens.

    Example: ricordo query "what is planned" --agent planner --filter pinned=true
    """
    with open_user(owner) as memory:
        found = memory.query(
            agent,
            query,
            categories=categories or None,
            filters=_read_filters(filters or ()),
            top_k=top_k,
            returns=returns,
            budget_tokens=budget_tokens,
            threshold=threshold,
            related=related,
        )
    warn(found.degraded, owner)
    answer(owner.as_json, found, tables.query_lines)


def warn(degraded: str | None, owner: Owner) -> None:
    """Tell people why a search was not all that it could be; programs read it in the answer."""
    if degraded is not None and not owner.as_json:
        say(f"warning: degraded, found by words alone: {degraded}")


def _read_filters(given: Iterable[str]) -> dict[str, Any]:
    """Filters of a query as they were typed; a name that comes several times has all its values.

    Raises:
        InvalidValue: not NAME=VALUE.
    """
    found: dict[str, list[Any]] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise InvalidValue("filter", f"{entry!r} is not NAME=VALUE, e.g. type=preference")
        found.setdefault(name, []).append(_typed(name, value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _typed(name: str, value: str) -> object:
    """A value as the library takes it; what is not of the right kind is left for it to refuse."""
    if name in _FLAGS:
        return _TRUTH.get(value.lower(), value)
    if name in _NUMBERS:
        with contextlib.suppress(ValueError):
            return int(value)
    return value
