"""Recall: ``search``, ``related``, ``graph``, ``query``, ``context`` and ``feedback``."""

import contextlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.options import (
    STANDARD_STREAM,
    Acting,
    Filters,
    MemoryId,
    Named,
    Owner,
    completing,
    completing_names,
    words,
)
from ricordo.cli.render import Shown, TableListing, answer, say
from ricordo.cli.session import open_user
from ricordo.cli.tables import one_line
from ricordo.errors import InvalidValue
from ricordo.model.search import QUERY_FILTERS, Returns
from ricordo.model.vocabulary import ContextMode

if TYPE_CHECKING:
    from ricordo.model.context import Context, Feedback
    from ricordo.model.search import RelationGraph

EVERYTHING: Final = "*"
_TRUTH: Final = {"true": True, "false": False}

Asked = Annotated[
    str, typer.Argument(metavar="QUERY", help="What to look for; * is everything, newest first.")
]
ResultLimit = Annotated[
    int, typer.Option("--limit", metavar="N", help=f"How many at most (1 to {limits.MAX_RESULTS}).")
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
    """Say on standard error why a search was degraded; with ``--json`` the answer says it."""
    if degraded is not None and not owner.as_json:
        say(f"warning: degraded, found by words alone: {degraded}")


def _read_filters(given: Iterable[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` filters; a repeated name collects its values. Raises InvalidValue."""
    found: dict[str, list[Any]] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise InvalidValue("filter", f"{entry!r} is not NAME=VALUE, e.g. type=preference")
        found.setdefault(name, []).append(_typed(name, value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _typed(name: str, value: str) -> object:
    """Convert a value to the field's type; the library refuses what cannot be converted."""
    if name == "pinned":
        return _TRUTH.get(value.lower(), value)
    if name in ("importance_min", "importance_max"):
        with contextlib.suppress(ValueError):
            return int(value)
    return value


OfTheme = Annotated[
    str | None,
    typer.Argument(
        metavar="THEME",
        help="Heading; all of them by default.",
        show_default=False,
        autocompletion=completing_names(Named.THEME),
    ),
]
GraphLimit = Annotated[
    int,
    typer.Option(
        "--limit", metavar="N", help=f"How many at most (2 to {limits.MAX_GRAPH_MEMORIES})."
    ),
]


def graph(
    *, theme: OfTheme = None, limit: GraphLimit = limits.DEFAULT_GRAPH_MEMORIES, owner: Owner
) -> None:
    """List the memories that are about the same as others, the most connected first.

    Example: ricordo graph work --limit 20
    """
    with open_user(owner) as memory:
        found = memory.relation_graph(theme, limit=limit)
    answer(owner.as_json, found, _table)


def _table(found: "RelationGraph") -> Shown:
    if not found.memories:
        return "No memories here are about the same."
    near: dict[int, list[str]] = {item.id: [] for item in found.memories}
    for edge in found.relations:
        near[edge.one].append(f"{edge.other} ({edge.similarity:.2f})")
        near[edge.other].append(f"{edge.one} ({edge.similarity:.2f})")
    rows = [
        [str(item.id), item.theme, ", ".join(near[item.id]), one_line(item.content)]
        for item in found.memories
    ]
    note = "More are related; --limit shows more at once." if found.more else None
    return TableListing(["ID", "Theme", "Related to", "Memory"], rows, note)


Message = Annotated[
    str, typer.Argument(metavar="MESSAGE", help="What the user says; may be left out.")
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="WORD",
        autocompletion=completing(ContextMode),
        help=f"What of memory to show, may be repeated: {words(ContextMode)} (default: tools).",
    ),
]
ContextBudget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="N",
        help=f"Tokens of the whole request (default: {limits.DEFAULT_CONTEXT_TOKENS}).",
    ),
]
Reply = Annotated[
    int | None, typer.Option("--reply", metavar="N", help="Tokens to set aside for the answer.")
]
ToolFile = Annotated[
    str | None,
    typer.Option(
        "--tools", metavar="FILE", help="JSON list of tool schemas that are sent along, or -."
    ),
]
ContextThreshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="SHARE", help="Leave out memories less sure than this."),
]
NoHistory = Annotated[
    bool,
    typer.Option("--no-history", help="Leave out earlier turns: the caller sends them itself."),
]
NoPersona = Annotated[
    bool,
    typer.Option("--no-persona", help="Leave out SOUL.md and RULES.md: the caller has its own."),
]
Recalled = Annotated[list[int], typer.Argument(metavar="ID...", help="Memories that were shown.")]
Used = Annotated[
    list[int] | None, typer.Option("--used", metavar="ID", help="One that was used; repeatable.")
]
GivenAnswer = Annotated[
    str | None, typer.Option("--answer", metavar="TEXT", help="The answer, to find that out.")
]


def context(
    *,
    message: Message = "",
    modes: Modes = None,
    budget_tokens: ContextBudget = None,
    reply_tokens: Reply = None,
    tools: ToolFile = None,
    threshold: ContextThreshold = None,
    no_history: NoHistory = False,
    no_persona: NoPersona = False,
    acting: Acting,
    owner: Owner,
) -> None:
    """Show what a model would be sent: system text, earlier turns, the message.

    Example: ricordo context "what should I cook?" --mode recall --thread kitchen
    """
    schemas = None if tools is None else _schemas(tools)
    with open_user(owner, acting) as memory:
        built = memory.context(
            message,
            modes=modes or ContextMode.TOOLS,
            budget_tokens=budget_tokens,
            reply_tokens=reply_tokens,
            tools=schemas,
            threshold=threshold,
            history=not no_history,
            persona=not no_persona,
        )
    if not owner.as_json:
        for problem in built.problems:
            say(f"warning: {problem}")
    answer(owner.as_json, built, request_text)


def feedback(
    *, recalled: Recalled, used: Used = None, reply: GivenAnswer = None, owner: Owner
) -> None:
    """Say which of the memories that a prompt showed an answer used.

    Example: ricordo feedback 12 17 --answer "Tea, as always?"
    """
    with open_user(owner) as memory:
        feedback_given = memory.feedback(recalled, used=used, answer=reply)
    answer(owner.as_json, feedback_given, _feedback_text)


def request_text(built: "Context") -> str:
    parts = [f"[{message['role']}]\n{message['content']}" for message in built.messages]
    split = ", ".join(f"{name} {count}" for name, count in built.tokens.to_dict().items())
    notes = [f"tokens: {split}"]
    if built.confidence is not None:
        notes.append(f"confidence {built.confidence:.2f}")
    if built.left_out:
        notes.append(f"no room for: {', '.join(built.left_out)}")
    return "\n\n".join([*parts, f"({'; '.join(notes)})"])


def _feedback_text(feedback_given: "Feedback") -> Shown:
    used = ", ".join(map(str, feedback_given.used)) or "none"
    return f"Used: {used} ({len(feedback_given.used)} of {len(feedback_given.recalled)})."


def _schemas(given: str) -> Any:
    """Read tool schemas from a JSON file. Raises InvalidValue."""
    try:
        if given == STANDARD_STREAM:
            return json.load(sys.stdin)
        return json.loads(Path(given).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidValue("tools", f"{given}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidValue("tools", f"{given}: not JSON in UTF-8 ({error})") from None
