"""The graph of related memories, and the list of themes."""

from typing import Final

from starlette.responses import Response

from ricordo.limits import DEFAULT_GRAPH_MEMORIES
from ricordo.model.vocabulary import MemoryType
from ricordo.web.charts import cut, strips
from ricordo.web.graph_layout import LayoutNode, Tie, web_of
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting

_LETTERS_IN_LIST: Final = 120
_PAIRS_AT_FIRST: Final = 20
_COLOURS: Final = {kind.value: number for number, kind in enumerate(MemoryType, start=1)}
"""The colour number of each memory type, the same in every picture."""

router = page_router()


@router.get("/graph")
def show_graph(visit: Visiting, theme: str = "") -> Response:
    graph = visit.memory.relation_graph(theme or None, limit=DEFAULT_GRAPH_MEMORIES)
    shown = {item.type.value for item in graph.memories}
    nodes = [LayoutNode(item.id, item.type.value, item.content) for item in graph.memories]
    ties = [Tie(edge.one, edge.other, edge.similarity) for edge in graph.relations]
    return visit.page(
        "graph.html",
        themes=visit.memory.themes(),
        theme=theme,
        graph=graph,
        web=web_of(nodes, ties),
        texts={item.id: cut(item.content, _LETTERS_IN_LIST) for item in graph.memories},
        kinds=[(number, kind) for kind, number in _COLOURS.items() if kind in shown],
        colours=_COLOURS,
        pairs_at_first=_PAIRS_AT_FIRST,
    )


themes_router = page_router()


@themes_router.get("/themes")
def show_themes(visit: Visiting) -> Response:
    themes = visit.memory.themes()
    drawn = strips([(theme.active_count,) for theme in themes])
    return visit.page(
        "themes.html",
        themes=list(zip(themes, drawn, strict=True)),
        active_count=sum(theme.active_count for theme in themes),
    )
