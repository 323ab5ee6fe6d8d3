"""Conversations: their turns and the memories formed from them."""

import json
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from ricordo import limits
from ricordo.web.activity import LATEST_EVENTS, is_about_proposal
from ricordo.web.page_request import Page
from ricordo.web.rendering import address, next_page
from ricordo.web.routing import page_router

_PATH: Final = "/ui/conversations"
_THREAD: Final = f"{_PATH}/thread"
_FOLDED_CHARS: Final = 1_200
_SHOWN_OF_FOLDED: Final = 400

router = page_router()


@router.get("/conversations")
def list_conversations(page: Page, project: str = "", cursor: str | None = None) -> Response:
    found = page.memory.threads(
        project_id=project or None, limit=limits.PAGE_ROWS, cursor=cursor or None
    )
    shown: dict[str, Any] = {
        "threads": found.items,
        "more": next_page(_PATH, found.next_cursor, project=project),
        "project": project,
        "is_first": not cursor,
    }
    if page.is_partial:
        return page.fragment("_turn_threads.html", **shown)
    return page.render("conversations.html", **shown)


@router.get("/conversations/thread")
def show_conversation(
    page: Page,
    id: str,
    first: Annotated[int | None, Query(alias="from")] = None,
    cursor: str | None = None,
) -> Response:
    """The id is a query parameter because it is free text, which a path cannot carry."""
    thread = page.memory.thread(id)
    formed = page.memory.formed_turns(
        id, from_position=first, limit=limits.PAGE_ROWS, cursor=cursor or None
    )
    shown: dict[str, Any] = {
        "turns": formed.items,
        "more": next_page(_THREAD, formed.next_cursor, id=id),
        "formed_position": thread.formed_position,
        "folded_chars": _FOLDED_CHARS,
        "shown_of_folded": _SHOWN_OF_FOLDED,
        "pretty": partial(json.dumps, indent=2, ensure_ascii=False),
    }
    if page.is_partial:
        return page.fragment("_turns.html", **shown)
    position = formed.items[0].turn.position if formed.items else 1
    before = {"from": max(1, position - limits.PAGE_ROWS)}
    return page.render(
        "conversation.html",
        **shown,
        thread=thread,
        events=page.memory.events(thread=id, limit=LATEST_EVENTS).items,
        is_about_proposal=is_about_proposal,
        earlier=address(_THREAD, id=id, **before) if position > 1 else None,
        # Only among the oldest open proposals.
        waiting=sum(
            proposal.thread_id == id for proposal in page.memory.proposals(limit=limits.PAGE_ROWS)
        ),
    )
