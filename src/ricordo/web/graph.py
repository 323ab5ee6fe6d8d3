"""The graph of memories and of whom they name, and the list of themes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ricordo.limits import DEFAULT_GRAPH_MEMORIES
from ricordo.model.item import Item
from ricordo.model.search import NamedEntity, RelationEdge, RelationGraph
from ricordo.model.vocabulary import MemoryType
from ricordo.web.charts import cut, strips
from ricordo.web.graph_layout import LayoutEdge, LayoutNode, draw_graph
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.projects import chosen_projects
from ricordo.web.routing import page_router

_LETTERS_IN_LIST: Final = 120
_PAIRS_AT_FIRST: Final = 20
_MOST_ENTITIES: Final = 30
_MOST_PROJECTS: Final = 10
_MOST_OF_ONE: Final = 12  # memories drawn around one who is named
_MOST_OF_PROJECT: Final = 8
_MOST_MEMORIES: Final = 120
_NAMED: Final = 0.5  # how strong the line to one who is named is
_ENTITY: Final = "entity"
_PROJECT: Final = "project"
_COLOURS: Final = {kind.value: number for number, kind in enumerate(MemoryType, start=1)}
"""The colour number of each memory type, the same in every picture."""

router = page_router()


class _Hub(NamedTuple):
    """Somebody, something or a project, with the memories around it. Its number is negative, so
    that it is not that of a memory."""

    number: int
    kind: str
    name: str
    about: str
    memories: Sequence[int]


@router.get("/graph")
def show_graph(page: Page, theme: str = "") -> Response:
    graph = page.memory.relation_graph(theme or None, limit=DEFAULT_GRAPH_MEMORIES)
    named = graph.entities[:_MOST_ENTITIES]
    memories = _memories(page, graph, named, theme)
    hubs = [*_entities(named, memories), *_projects(memories.values(), len(named))]
    pairs = _pairs(graph, hubs, page.memory.recall.relating.link_min)
    shown = {item.type.value for item in memories.values()}
    themes = page.memory.themes()
    return page.render(
        "graph.html",
        themes=themes,
        theme=theme,
        has_more=graph.more,
        pairs=pairs,
        hubs={hub.number: hub for hub in hubs},
        drawing=draw_graph(list(_nodes(memories, hubs)), list(_edges(pairs, hubs))),
        texts={item.id: cut(item.content, _LETTERS_IN_LIST) for item in memories.values()},
        kinds=[(number, kind) for kind, number in _COLOURS.items() if kind in shown],
        colours=_COLOURS,
        pairs_at_first=_PAIRS_AT_FIRST,
        is_bare=not any(one.active_count for one in themes),
        count=sum(one.active_count for one in themes if theme in ("", one.slug)),
        **({} if memories else _why_empty(page)),
    )


def _memories(
    page: PageRequest, graph: RelationGraph, named: Sequence[NamedEntity], theme: str
) -> dict[int, Item]:
    """Those that are related, and the latest that name each or are of a project."""
    found = {item.id: item for item in graph.memories}
    around = (item_id for one in named for item_id in one.memories[:_MOST_OF_ONE])
    missing = [item_id for item_id in dict.fromkeys(around) if item_id not in found]
    found |= {item.id: item for item in page.memory.get_many(missing[:_MOST_MEMORIES])}
    for project in chosen_projects(page)[:_MOST_PROJECTS]:
        if len(found) < _MOST_MEMORIES:
            of_it = {"project_id": project.project_id, "theme": theme or None}
            found |= {item.id: item for item in page.memory.list(**of_it, limit=_MOST_OF_PROJECT)}
    return dict(list(found.items())[:_MOST_MEMORIES])


def _entities(named: Sequence[NamedEntity], memories: Mapping[int, Item]) -> Iterator[_Hub]:
    for number, one in enumerate(named, start=1):
        also = [*([one.told] if one.told else []), *one.names[1:]]
        drawn = [item_id for item_id in one.memories if item_id in memories]
        yield _Hub(-number, _ENTITY, one.names[0], ", ".join(also), drawn)


def _projects(memories: Iterable[Item], after: int) -> Iterator[_Hub]:
    """The projects of what is drawn, those with the most first."""
    found: dict[str, list[int]] = {}
    for item in memories:
        if item.project_id is not None:
            found.setdefault(item.project_id, []).append(item.id)
    ranked = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))[:_MOST_PROJECTS]
    for number, (project, ids) in enumerate(ranked, start=after + 1):
        yield _Hub(-number, _PROJECT, project, "", ids)


def _nodes(memories: Mapping[int, Item], hubs: Iterable[_Hub]) -> Iterator[LayoutNode]:
    yield from (LayoutNode(item.id, item.type.value, item.content) for item in memories.values())
    yield from (LayoutNode(hub.number, hub.kind, hub.name) for hub in hubs)


def _pairs(graph: RelationGraph, hubs: Sequence[_Hub], least: float) -> list[RelationEdge]:
    """The pairs that are alike; those that only name the same are around whom they name."""
    names = {hub.name for hub in hubs if hub.kind == _ENTITY}
    return [
        edge for edge in graph.relations if edge.similarity >= least or names.isdisjoint(edge.names)
    ]


def _edges(pairs: Iterable[RelationEdge], hubs: Sequence[_Hub]) -> Iterator[LayoutEdge]:
    yield from (LayoutEdge(edge.one, edge.other, edge.similarity) for edge in pairs)
    for hub in hubs:
        yield from (LayoutEdge(hub.number, item_id, _NAMED) for item_id in hub.memories)


def _why_empty(page: PageRequest) -> dict[str, Any]:
    """What keeps memories from being related: how near they have to be, and their vectors."""
    return {
        "least": page.memory.recall.relating.link_min,
        "is_off": not page.memory.recall.relating.per_memory,
        "vectors": None if page.is_confined else page.memory.embedding_status(),
    }


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
