"""The graph of related memories, and the list of themes."""

from typing import Final

from starlette.responses import Response

from ricordo.limits import DEFAULT_GRAPH_MEMORIES
from ricordo.model.vocabulary import MemoryType
from ricordo.web.charts import cut, strips
from ricordo.web.graph_layout import LayoutEdge, LayoutNode, draw_graph
from ricordo.web.page_request import Page
from ricordo.web.routing import page_router

_LETTERS_IN_LIST: Final = 120
_PAIRS_AT_FIRST: Final = 20
_COLOURS: Final = {kind.value: number for number, kind in enumerate(MemoryType, start=1)}
"""The colour number of each memory type, the same in every picture."""

router = page_router()


@router.get("/graph")
def show_graph(page: Page, theme: str = "") -> Response:
    graph = page.memory.relation_graph(theme or None, limit=DEFAULT_GRAPH_MEMORIES)
    shown = {item.type.value for item in graph.memories}
    nodes = [LayoutNode(item.id, item.type.value, item.content) for item in graph.memories]
    edges = [LayoutEdge(edge.one, edge.other, edge.similarity) for edge in graph.relations]
    return page.render(
        "graph.html",
        themes=page.memory.themes(),
        theme=theme,
        graph=graph,
        drawing=draw_graph(nodes, edges),
        texts={item.id: cut(item.content, _LETTERS_IN_LIST) for item in graph.memories},
        kinds=[(number, kind) for kind, number in _COLOURS.items() if kind in shown],
        colours=_COLOURS,
        pairs_at_first=_PAIRS_AT_FIRST,
    )


themes_router = page_router()


@themes_router.get("/themes")
def show_themes(page: Page) -> Response:
    themes = page.memory.themes()
    drawn = strips([(theme.active_count,) for theme in themes])
    return page.render(
        "themes.html",
        themes=list(zip(themes, drawn, strict=True)),
        active_count=sum(theme.active_count for theme in themes),
        described_by_policy=page.memory.parts.access.for_themes().categories,
    )
