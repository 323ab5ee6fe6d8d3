"""Administration: all users together, for whoever has the permission."""

from typing import Annotated

from fastapi import Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, QueryAsked, given_by
from ricordo.http.callers import Managing, ReadingAll
from ricordo.http.files import LinesResponse, received_file
from ricordo.http.gating import GatedRoute
from ricordo.http.lengthy import at_length, lengthy
from ricordo.http.routes.activity import CountersAsked, DailyAsked
from ricordo.http.routes.changing import PurgeAsked, Purged
from ricordo.http.routes.transfer import FILE, LINES
from ricordo.http.routing import router_for
from ricordo.model.activity import Counters, DayActivity
from ricordo.model.reports import ErasureReceipt, ImportReport
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.providers.chat import ModelReport

# Without idempotency keys: all of this can be done twice as it is, and of a user who is erased
# nothing may be kept.
router = router_for("Administration", "/v1/admin", route_class=GatedRoute)


class UsersAsked(QueryAsked):
    """Which page of the users."""

    limit: int = Field(
        default=limits.DEFAULT_PAGE_ITEMS,
        ge=1,
        le=limits.MAX_PAGE_ITEMS,
        description="How many entries at most.",
    )
    after: str = Field(default="", description="Where to go on: the last user of the page before.")


class ReindexAsked(Asked):
    """What to make anew."""

    everything: bool = Field(default=False, description="Also the indexes, as after damage to one.")


class Reindexed(BaseModel):
    """How many search terms were made anew."""

    reindexed: int


@router.get("/users", response_model=list[str])
def list_users(asked: Annotated[UsersAsked, Query()], store: ReadingAll) -> Response:
    """List who has anything stored, in order."""
    return answer(store.users(**asked.given()))


@router.delete("/users/{user:path}", response_model=ErasureReceipt)
def erase_user(
    user: Annotated[str, Path(description="The user; * for the global memories.")], store: Managing
) -> Response:
    """Remove every trace of a user, for good."""
    return answer(store.erase_user(user))


@router.get("/counters", response_model=Counters)
def read_all_counters(asked: Annotated[CountersAsked, Query()], store: ReadingAll) -> Response:
    """Count all users' memories, and how often things happened."""
    return answer(store.counters(**asked.given()))


@router.get("/activity/daily", response_model=list[DayActivity])
def read_all_daily(asked: Annotated[DailyAsked, Query()], store: ReadingAll) -> Response:
    """Read what happened on each of the last days (UTC) for all users, today last."""
    return answer(store.daily(**asked.given()))


@router.get("/model/test", response_model=ModelReport)
@lengthy
def test_model(store: ReadingAll) -> Response:
    """Ask the language model something small; what it can do, or what is wrong."""
    return answer(store.test_model())


@router.post("/purge", response_model=Purged)
@lengthy
def purge_all(store: Managing, asked: PurgeAsked | None = None) -> Response:
    """Remove every user's forgotten memories for good whose time has come."""
    return answer({"purged": store.purge(**given_by(asked))})


@router.post("/reindex", response_model=Reindexed)
@lengthy
def reindex(store: Managing, asked: ReindexAsked | None = None) -> Response:
    """Make the search terms anew that are missing or outdated, which may take long.

    On PostgreSQL `everything` is for the owner of the tables (`ricordo reindex --all`).
    """
    return answer({"reindexed": store.reindex(**given_by(asked))})


@router.get("/export", response_class=StreamingResponse, responses=LINES)
def export_store(request: Request, store: ReadingAll) -> Response:
    """Read every user's data as JSON Lines."""
    slots = request.app.state.exports
    return LinesResponse(store.export_lines(), "ricordo-store.jsonl", GLOBAL_OWNER, slots)


@router.post("/import", response_model=ImportReport, openapi_extra=FILE)
async def import_store(request: Request, store: Managing) -> Response:
    """Bring in an export of any number of users, each under their own name."""
    async with received_file(request, GLOBAL_OWNER) as path:
        return answer(await at_length(store.import_file, path))
