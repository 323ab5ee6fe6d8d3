"""Conversations: their turns and the memories formed from them."""

import json
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from ricordo import limits
from ricordo.web.rendering import address
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting

_PATH: Final = "/ui/conversations"
_THREAD: Final = f"{_PATH}/thread"
_FOLDED_CHARS: Final = 1_200
_SHOWN_OF_FOLDED: Final = 400

router = page_router()


@router.get("/conversations")
def list_conversations(visit: Visiting, cursor: str | None = None) -> Response:
    page = visit.memory.threads(limit=limits.PAGE_ROWS, cursor=cursor or None)
    more = None if page.next_cursor is None else address(_PATH, cursor=page.next_cursor)
    shown: dict[str, Any] = {"threads": page.items, "more": more, "is_first": not cursor}
    if visit.is_partial:
        return visit.fragment("_turn_threads.html", **shown)
    return visit.page("conversations.html", **shown)


@router.get("/conversations/thread")
def show_conversation(
    visit: Visiting,
    id: str,
    first: Annotated[int | None, Query(alias="from")] = None,
    cursor: str | None = None,
) -> Response:
    """The id is a query parameter because it is free text, which a path cannot carry."""
    thread = visit.memory.thread(id)
    page = visit.memory.formed_turns(
        id, from_position=first, limit=limits.PAGE_ROWS, cursor=cursor or None
    )
    shown: dict[str, Any] = {
        "turns": page.items,
        "more": None
        if page.next_cursor is None
        else address(_THREAD, id=id, cursor=page.next_cursor),
        "formed_position": thread.formed_position,
        "folded_chars": _FOLDED_CHARS,
        "shown_of_folded": _SHOWN_OF_FOLDED,
        "pretty": partial(json.dumps, indent=2, ensure_ascii=False),
    }
    if visit.is_partial:
        return visit.fragment("_turns.html", **shown)
    return visit.page(
        "conversation.html",
        **shown,
        thread=thread,
        earlier=_earlier(id, page.items[0].turn.position if page.items else 1),
        # Only among the oldest open proposals.
        waiting=sum(
            proposal.thread_id == id for proposal in visit.memory.proposals(limit=limits.PAGE_ROWS)
        ),
    )


def _earlier(thread_id: str, position: int) -> str | None:
    if position <= 1:
        return None
    return address(_THREAD, id=thread_id, **{"from": max(1, position - limits.PAGE_ROWS)})
