"""How memories hang together: ``graph``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Owner
from ricordo.cli.render import Listing, Shown, answer
from ricordo.cli.session import open_user
from ricordo.cli.tables import one_line

if TYPE_CHECKING:
    from ricordo.model.search import RelationGraph

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
    return Listing(["ID", "Theme", "Related to", "Memory"], rows, note)
