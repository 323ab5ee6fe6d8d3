"""The memories: looking through them, and searching them."""

from typing import Any, Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.model.embedding import EmbeddingState
from ricordo.model.item import Item
from ricordo.model.search import MemoryHit
from ricordo.model.vocabulary import MemoryType
from ricordo.web.forms import Posted
from ricordo.web.headers import PRIVATE
from ricordo.web.memory_filter import SORTS, STATUSES, MemoryFilter
from ricordo.web.rendering import address
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor

_PATH: Final = "/ui/memories"
_SEE_OTHER: Final = 303

router = page_router()


@router.get("/memories")
def list_memories(visit: Visiting, request: Request, cursor: str | None = None) -> Response:
    """A page of the memories that fit the filters; for htmx only the list itself."""
    asked = MemoryFilter.of(request.query_params)
    listed = _listed(visit, asked, cursor)
    if visit.is_partial:
        return visit.fragment("_memories.html", **listed)
    return visit.page("memories.html", **listed, **_around(visit, asked))


@router.post("/memories")
def search_memories(visit: Visiting, form: Posted) -> Response:
    """What answers a question best. It comes by POST, so that it stands in no address and no log.

    Without a question the filters alone are meant, which make an address of their own.
    """
    asked = MemoryFilter.of(form)
    where = address(_PATH, **asked.parameters())
    question = form.get("q")
    if question is not None:
        found = _found(visit, asked, question)
        if visit.is_partial:
            return _addressed(visit, visit.fragment("_memories.html", **found), where, "Replace")
        return visit.page("memories.html", **found, **_around(visit, asked, question))
    if not visit.is_partial:
        return RedirectResponse(where, _SEE_OTHER, PRIVATE)
    return _addressed(visit, visit.fragment("_memories.html", **_listed(visit, asked)), where)


def _addressed(visit: Visitor, answer: Response, where: str, how: str = "Push") -> Response:
    """A part of the page whose filters make an address: the browser shows it, as a new step of
    its history or in place of the last, unless it does already."""
    shown = visit.request.headers.get("hx-current-url", "").partition("#")[0]
    if not shown.endswith(where):
        answer.headers[f"HX-{how}-Url"] = where
    return answer


def _listed(visit: Visitor, asked: MemoryFilter, cursor: str | None = None) -> dict[str, Any]:
    """A page of the list, and the address of the next."""
    page = visit.memory.list(**asked.for_list(), limit=limits.PAGE_ROWS, cursor=cursor or None)
    more = None
    if page.next_cursor is not None:
        more = address(_PATH, **asked.parameters(), cursor=page.next_cursor)
    return {
        "results": None,
        "items": page.items,
        "more": more,
        "vectors": _vectors(visit, page.items),
        "is_first": not cursor,
        "is_narrowed": asked.is_narrowed,
    }


def _found(visit: Visitor, asked: MemoryFilter, question: str) -> dict[str, Any]:
    """What a search found, with the reasons for each."""
    results = visit.memory.search(
        question, **asked.for_search(), limit=limits.PAGE_RESULTS, explain=True
    )
    return {
        "results": results,
        "vectors": _vectors(visit, results.results),
        "is_narrowed": asked.is_narrowed,
    }


def _around(visit: Visitor, asked: MemoryFilter, question: str = "") -> dict[str, Any]:
    """What stands around the list: the form as it was filled in."""
    themes = visit.memory.themes()
    return {
        "question": question,
        "asked": asked,
        "themes": themes,
        "active_count": sum(theme.active_count for theme in themes),
        "types": tuple(MemoryType),
        "statuses": STATUSES,
        "sorts": SORTS,
    }


def _vectors(
    visit: Visitor, shown: tuple[Item, ...] | tuple[MemoryHit, ...]
) -> dict[int, EmbeddingState]:
    """What became of the vectors of these memories."""
    if not shown:
        return {}
    return {state.id: state for state in visit.memory.embedding_states([one.id for one in shown])}
