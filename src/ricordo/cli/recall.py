"""Recall: ``search``, ``related``, ``graph``, ``query``, ``context`` and ``feedback``."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.render import Shown, TableListing, answer, say
from ricordo.cli.store import STANDARD_STREAM, Acting, Owner, open_user
from ricordo.cli.tables import one_line
from ricordo.errors import InvalidValue
from ricordo.model.filters import FILTERS
from ricordo.model.search import QUERY_FILTERS
from ricordo.operations import recall as describe

if TYPE_CHECKING:
    from ricordo.model.context import Context, Feedback
    from ricordo.model.search import QueryAnswer, RelationGraph

FILTER_SPELLINGS: Final = {
    "tags": "--tag",
    "thread_id": "--thread",
    "agent_id": "--agent",
    "run_id": "--run",
    "actor_id": "--actor",
    "project_id": "--only-project",
    "pinned": "--pinned/--not-pinned",
}
"""How filters are called that have a longer name in the library."""
QueryFilters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help=f"One of: {', '.join(sorted(QUERY_FILTERS))}; may be given several times.",
    ),
]
ToolFile = Annotated[
    str | None,
    typer.Option(
        "--tools", metavar="FILE", help="JSON list of tool schemas that are sent along, or -."
    ),
]


def search(
    *, given: Given = options_of(describe.search, query="QUERY", **FILTER_SPELLINGS), owner: Owner
) -> None:
    """Find memories by meaning and by words, the best first.

    Example: ricordo search "what does she drink" --theme drinks
    """
    with open_user(owner) as memory:
        found = memory.search(**given)
    warn(found.degraded, owner)
    nothing = tables.nothing_found("ricordo list --status any", given.get("threshold"))
    answer(owner.as_json, found, lambda hits: tables.hit_table(hits, nothing))


def query(
    *,
    given: Given = options_of(
        describe.query,
        "filters",
        agent="--agent",
        query="TEXT",
        categories="--category --theme",
        budget_tokens="--budget",
    ),
    filters: QueryFilters = None,
    owner: Owner,
) -> None:
    """Answer an agent's question in a few lines that never exceed a budget of tokens.

    Example: ricordo query "what is planned" --agent planner --filter pinned=true
    """
    with open_user(owner) as memory:
        found: QueryAnswer = memory.query(**{**given, "filters": _read_filters(filters or ())})
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
        read = FILTERS[name].kind.from_text(value) if name in FILTERS else value
        found.setdefault(name, []).append(read)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _graph_table(found: "RelationGraph") -> Shown:
    named = [
        f"{', '.join(one.names)}{f' ({one.told})' if one.told else ''}:"
        f" {', '.join(map(str, one.memories))}"
        for one in found.entities
    ]
    said = "\n".join(["Named in:", *named]) if named else ""
    if not found.memories:
        return said or "No memories here are about the same."
    near: dict[int, list[str]] = {item.id: [] for item in found.memories}
    for edge in found.relations:
        near[edge.one].append(f"{edge.other} ({edge.similarity:.2f})")
        near[edge.other].append(f"{edge.one} ({edge.similarity:.2f})")
    rows = [
        [str(item.id), item.theme, ", ".join(near[item.id]), one_line(item.content)]
        for item in found.memories
    ]
    more = "More are related; --limit shows more at once." if found.more else ""
    note = "\n".join(filter(None, (more, said))) or None
    return TableListing(["ID", "Theme", "Related to", "Memory"], rows, note)


def context(
    *,
    given: Given = options_of(
        describe.context,
        *("tools", "thread", "agent"),  # the last two are those of who acts
        message="MESSAGE",
        modes="--mode -m",
        budget_tokens="--budget",
        reply_tokens="--reply",
        history="/--no-history",
        persona="/--no-persona",
        user_file="/--no-user-file",
    ),
    tools: ToolFile = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Show what a model would be sent: system text, earlier turns, the message.

    Example: ricordo context "what should I cook?" --mode recall --thread kitchen
    """
    schemas = None if tools is None else _schemas(tools)
    with open_user(owner, acting) as memory:
        built = memory.context(**given, tools=schemas)
    if not owner.as_json:
        for problem in built.problems:
            say(f"warning: {problem}")
    answer(owner.as_json, built, request_text)


def request_text(built: "Context") -> str:
    parts = [f"[{message['role']}]\n{message['content']}" for message in built.messages]
    split = ", ".join(f"{name} {count}" for name, count in built.tokens.to_dict().items())
    notes = [f"tokens: {split}"]
    if built.confidence is not None:
        notes.append(f"confidence {built.confidence:.2f}")
    if built.left_out:
        notes.append(f"no room for: {', '.join(built.left_out)}")
    return "\n\n".join([*parts, f"({'; '.join(notes)})"])


def _feedback_text(done: "Feedback") -> str:
    used = ", ".join(map(str, done.used)) or "none"
    return f"Used: {used} ({len(done.used)} of {len(done.recalled)})."


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


related = command_of(describe.related, tables.related_table)
graph = command_of(
    describe.relation_graph, _graph_table, example="ricordo graph work --limit 20", theme="THEME"
)
feedback = command_of(
    describe.feedback,
    _feedback_text,
    example='ricordo feedback 12 17 --answer "Tea, as always?"',
    recalled="ID",
)
