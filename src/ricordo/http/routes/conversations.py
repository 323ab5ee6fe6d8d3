"""Conversations: recording, reading and summarising them."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ricordo import limits
from ricordo.http import examples
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routing import lengthy, router_for, showing
from ricordo.http.schemas import MemoryId, PageRequest, RequestBody, ThreadName
from ricordo.model.record import Page, plain
from ricordo.model.reports import FormationReport
from ricordo.model.search import SearchResults, TurnHit
from ricordo.model.thread import (
    CompactionReport,
    DayLog,
    FormedTurn,
    Observed,
    Thread,
    Turn,
    Window,
)

router = router_for("Conversations", "/v1")


class MessageRequest(RequestBody):
    """One thing that was said."""

    role: str = Field(max_length=limits.MAX_REFERENCE_CHARS, examples=["user", "assistant"])
    content: str | None = Field(
        default=None,
        max_length=limits.MAX_TURN_CHARS,
        description="What was said; a message that only calls tools may do without.",
        examples=["I moved to Bekasi in May."],
    )
    actor: str | None = Field(default=None, description="Who speaks, where that is not the user.")
    at: str | None = Field(
        default=None, description="When; now by default.", examples=["2026-05-01T09:30:00Z"]
    )
    id: str | None = Field(
        default=None,
        description="The message's own id: sent again, it is recorded once.",
        examples=["message-1"],
    )
    tool_calls: list[Any] | None = Field(default=None, description="Calls of tools, as JSON.")


class TurnsRequest(RequestBody):
    """What was said, in order."""

    messages: list[MessageRequest] = Field(max_length=limits.MAX_OBSERVED_TURNS)
    title: str | None = Field(
        default=None, max_length=limits.MAX_THREAD_TITLE_CHARS, description="Of the conversation."
    )


class RedactionRequest(RequestBody):
    """What to take out of a turn."""

    text: str | None = Field(
        default=None,
        max_length=limits.MAX_TURN_CHARS,
        description="These words.",
        examples=["qwerty"],
    )
    whole: bool = Field(default=False, description="All of it.")
    reason: str | None = Field(default=None, max_length=limits.MAX_REASON_CHARS)


class TurnSearchRequest(RequestBody):
    """A question about what was said."""

    query: str = Field(
        max_length=limits.MAX_QUERY_CHARS, examples=["Where did I say I was moving to?"]
    )
    limit: int = Field(default=limits.DEFAULT_RESULTS, ge=1, le=limits.MAX_RESULTS)
    thread: str | None = Field(default=None, description="Only in this conversation.")
    role: str | None = Field(default=None, examples=["user"])
    actor: str | None = None
    since: str | None = Field(default=None, examples=["2026-05-01"])
    until: str | None = Field(default=None, description="Not including this moment.")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Leave out what is less sure to be an answer."
    )
    explain: bool = Field(default=False, description="Add every part of every score.")


@router.get("/threads", response_model=Page[Thread])
def list_threads(query: Annotated[PageRequest, Query()], user: Acting) -> Response:
    """List the user's conversations, the latest first."""
    return answer(user.threads(**query.given()))


@router.get("/threads/{thread:path}/standing", response_model=Thread)
def read_thread(thread: ThreadName, user: Acting) -> Response:
    """Read how long a conversation is, and how far memories have been formed from it."""
    return answer(user.thread(thread))


@router.post(
    "/threads/{thread:path}/turns", status_code=HTTPStatus.CREATED, response_model=Observed
)
def observe(thread: ThreadName, body: TurnsRequest, user: Acting) -> Response:
    """Record what was said, so that it can be found and formed into memories.

    Recording is all that is waited for. Memories are formed in the background once the conversation
    has been silent for a moment; `…/form` does it at once.
    """
    return answer(user.observe(**body.given(), thread=thread), HTTPStatus.CREATED)


@router.get("/threads/{thread:path}/turns", response_model=Page[Turn])
def list_turns(
    thread: ThreadName, query: Annotated[PageRequest, Query()], user: Acting
) -> Response:
    """Read what was said in a conversation, in order."""
    return answer(user.turns(thread, **query.given()))


@router.post("/threads/{thread:path}/turns/{position}/redaction", response_model=Turn)
def redact_turn(
    thread: ThreadName,
    position: Annotated[int, Path(ge=1, le=limits.MAX_ID, examples=[3])],
    body: RedactionRequest,
    user: Acting,
) -> Response:
    """Take words out of what was said, for good; `[redacted]` stands in their place.

    Without `text` and `whole`, the secrets that are recognised in the turn. They also go from what
    the turn is found by, from quotes of it and from summaries.
    """
    return answer(user.redact(thread, position, **body.given()))


@router.post("/turns/search", response_model=SearchResults[TurnHit])
def search_turns(body: TurnSearchRequest, user: Acting) -> Response:
    """Find what was said that answers a question best."""
    given = body.given()
    return answer(user.search_turns(given.pop("query"), **given))


@router.get("/threads/{thread:path}/window", response_model=Window)
def read_window(thread: ThreadName, user: Acting) -> Response:
    """Read a conversation as a prompt shows it: its latest turns, and the rest in short.

    A conversation in which nothing was said yet has an empty window.
    """
    return answer(user.window(thread))


@router.post("/threads/{thread:path}/compact", response_model=CompactionReport)
@lengthy
def compact(thread: ThreadName, user: Acting) -> Response:
    """Tell all but the latest turns of a conversation in short, now.

    A job does that whenever a conversation has become long. The turns stay recorded.
    """
    return answer(user.compact(thread))


@router.post("/threads/{thread:path}/resume", response_model=Window)
@lengthy
def resume(thread: ThreadName, user: Acting) -> Response:
    """Take up a conversation again, after a break or a restart.

    Beside its window it has what else the user talked about today, which this server then goes on
    showing until the next summary.
    """
    return answer(user.resume(thread))


@router.post("/threads/{thread:path}/form", response_model=FormationReport)
@lengthy
def form_thread(thread: ThreadName, user: Acting) -> Response:
    """Form memories now from what is new in a conversation."""
    return answer(user.form(thread))


@router.post("/form", response_model=FormationReport)
@lengthy
def form(user: Acting) -> Response:
    """Form memories now from what is new in all conversations of the user."""
    return answer(user.form())


@router.get("/log", response_model=DayLog)
def read_todays_log(user: Acting) -> Response:
    """Read what the user's conversations of today were about, as far as it was put in short."""
    return answer(user.day_log())


@router.get("/log/{day}", response_model=DayLog)
def read_log(
    day: Annotated[str, Path(description="The day.", examples=["2026-05-01"])], user: Acting
) -> Response:
    """Read what the user's conversations of a day were about.

    Days are those of the service's time zone.
    """
    return answer(user.day_log(day))


origins_router = router_for("Conversations", "/v1")


class FormedRequest(PageRequest):
    """Which page of a conversation."""

    from_position: int | None = Field(
        default=None, ge=1, le=limits.MAX_ID, description="The turn to begin with.", examples=[20]
    )


@origins_router.get(
    "/memories/{id}/source-turn", response_model=Turn | None, responses=showing(examples.TURN)
)
def read_source_turn(id: MemoryId, user: Acting) -> Response:
    """Read what was said that a memory was formed from.

    Null where it was not formed from a conversation, or where that cannot be told for certain.
    """
    return JSONResponse(plain(user.source_turn(id)))


@origins_router.get("/threads/{thread:path}/formed", response_model=Page[FormedTurn])
def list_formed_turns(
    thread: ThreadName, query: Annotated[FormedRequest, Query()], user: Acting
) -> Response:
    """Read what was said in a conversation, each turn with the memories that came from it."""
    return answer(user.formed_turns(thread, **query.given()))
