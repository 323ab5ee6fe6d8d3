"""Where memories come from: the turns behind them, and the memories behind turns."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import MemoryId, PageAsked, ThreadName
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routing import router_for, showing
from ricordo.model.record import Page, plain
from ricordo.model.thread import FormedTurn, Turn

router = router_for("Conversations", "/v1")


class FormedAsked(PageAsked):
    """Which page of a conversation."""

    from_position: int | None = Field(
        default=None, ge=1, le=limits.MAX_ID, description="The turn to begin with.", examples=[20]
    )


@router.get(
    "/memories/{id}/source-turn", response_model=Turn | None, responses=showing(examples.TURN)
)
def read_source_turn(id: MemoryId, user: Acting) -> Response:
    """Read what was said that a memory was formed from.

    Null where it was not formed from a conversation, or where that cannot be told for certain.
    """
    return JSONResponse(plain(user.source_turn(id)))


@router.get("/threads/{thread:path}/formed", response_model=Page[FormedTurn])
def list_formed_turns(
    thread: ThreadName, asked: Annotated[FormedAsked, Query()], user: Acting
) -> Response:
    """Read what was said in a conversation, each turn with the memories that came from it."""
    return answer(user.formed_turns(thread, **asked.given()))
