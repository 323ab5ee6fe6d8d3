"""Administration of all users, for keys with the permission."""

from dataclasses import fields
from http import HTTPStatus
from typing import Annotated, Any, get_type_hints

from fastapi import Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field, create_model

from ricordo import limits
from ricordo.http.auth import Caller, Calling, GatedRoute, Managing, ReadingAll, check_may_give
from ricordo.http.files import LinesResponse, received_file
from ricordo.http.responses import answer, nothing
from ricordo.http.routes.activity import CountersRequest, DailyRequest
from ricordo.http.routes.memories import (
    ForgetRequest,
    GetRequest,
    ListRequest,
    NewMemoryRequest,
    PurgeRequest,
    PurgeResponse,
)
from ricordo.http.routes.transfer import FILE, LINES
from ricordo.http.routing import lengthy, router_for, run_lengthy
from ricordo.http.schemas import (
    MemoryId,
    PageRequest,
    QueryParameters,
    RequestBody,
    count_field,
    given_by,
)
from ricordo.memory import Memory
from ricordo.model.activity import Counters, DayActivity
from ricordo.model.item import Added, Item
from ricordo.model.job import Job, JobStats
from ricordo.model.record import Page
from ricordo.model.reports import ErasureReceipt, ImportReport
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import GLOBAL_OWNER, JobState, Permission
from ricordo.providers.chat import ModelReport
from ricordo.user_memory import UserMemory

# No idempotency keys: these requests can be repeated anyway, and nothing of an erased user may be
# stored.
router = router_for("Administration", "/v1/admin", route_class=GatedRoute)


class UsersRequest(QueryParameters):
    """Which page of the users."""

    limit: int = count_field(limits.DEFAULT_PAGE_ITEMS, limits.MAX_PAGE_ITEMS)
    after: str = Field(default="", description="Where to go on: the last user of the page before.")


class ReindexRequest(RequestBody):
    """What to make anew."""

    everything: bool = Field(default=False, description="Also the indexes, as after damage to one.")


class ReindexResponse(BaseModel):
    """How many search terms were made anew."""

    reindexed: int


@router.get("/users", response_model=list[str])
def list_users(query: Annotated[UsersRequest, Query()], store: ReadingAll) -> Response:
    """List who has anything stored, in order."""
    return answer(store.users(**query.given()))


@router.delete("/users/{user:path}", response_model=ErasureReceipt)
def erase_user(
    user: Annotated[str, Path(description="The user; * for the global memories.")], store: Managing
) -> Response:
    """Remove every trace of a user, for good."""
    return answer(store.erase_user(user))


@router.get("/counters", response_model=Counters)
def read_all_counters(query: Annotated[CountersRequest, Query()], store: ReadingAll) -> Response:
    """Count all users' memories, and how often things happened."""
    return answer(store.counters(**query.given()))


@router.get("/activity/daily", response_model=list[DayActivity])
def read_all_daily(query: Annotated[DailyRequest, Query()], store: ReadingAll) -> Response:
    """Read what happened on each of the last days (UTC) for all users, today last."""
    return answer(store.daily(**query.given()))


@router.get("/model/test", response_model=ModelReport)
@lengthy
def test_model(store: ReadingAll) -> Response:
    """Ask the language model something small; what it can do, or what is wrong."""
    return answer(store.test_model())


@router.post("/purge", response_model=PurgeResponse)
@lengthy
def purge_all(store: Managing, asked: PurgeRequest | None = None) -> Response:
    """Remove every user's forgotten memories for good whose time has come."""
    return answer({"purged": store.purge(**given_by(asked))})


@router.post("/reindex", response_model=ReindexResponse)
@lengthy
def reindex(store: Managing, asked: ReindexRequest | None = None) -> Response:
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
        return answer(await run_lengthy(store.import_file, path))


jobs_router = router_for("Administration: jobs", "/v1/admin/jobs")

JobId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The job.", examples=[12])]


def _shown_fields() -> dict[str, Any]:
    """The fields of ``Job.to_dict``: all but the token that only its worker may know."""
    hints = get_type_hints(Job)
    return {
        field.name: (hints[field.name], ...) for field in fields(Job) if field.name != "lease_token"
    }


JobShown: Any = create_model("Job", __doc__="A job as it stands in the queue.", **_shown_fields())


class JobsRequest(QueryParameters):
    """Which jobs."""

    state: str | None = Field(default=None, description=f"One of: {', '.join(JobState)}.")
    kind: str | None = Field(default=None, examples=["form"])
    limit: int = count_field(limits.DEFAULT_PAGE_ITEMS, limits.MAX_PAGE_ITEMS)


class RunRequest(RequestBody):
    """How much to do."""

    limit: int = count_field(
        limits.MAX_JOBS_PER_RUN, limits.MAX_JOBS_PER_RUN, "How many jobs at most."
    )


class JobsRunResponse(BaseModel):
    """How many jobs there were."""

    ran: int


@jobs_router.get("", response_model=list[JobShown])
def list_jobs(query: Annotated[JobsRequest, Query()], store: ReadingAll) -> Response:
    """List background jobs in the order in which they run or ran."""
    return answer(store.jobs(**query.given()))


@jobs_router.get("/stats", response_model=list[JobStats])
def read_job_stats(store: ReadingAll) -> Response:
    """Count how many jobs of each kind wait, run, are done, dead or cancelled."""
    return answer(store.job_stats())


@jobs_router.post("/run", response_model=JobsRunResponse)
@lengthy
def run_jobs(store: Managing, asked: RunRequest | None = None) -> Response:
    """Run what is due now, and answer when it is done, which may take long."""
    return answer({"ran": store.run_jobs(**given_by(asked))})


@jobs_router.post("/{id}/retry", status_code=HTTPStatus.NO_CONTENT, response_model=None)
def retry_job(id: JobId, store: Managing) -> Response:
    """Give a dead job a fresh set of attempts."""
    store.retry_job(id)
    return nothing()


@jobs_router.post("/{id}/cancel", status_code=HTTPStatus.NO_CONTENT, response_model=None)
def cancel_job(id: JobId, store: Managing) -> Response:
    """Take a job out of the queue that waits, or is dead."""
    store.cancel_job(id)
    return nothing()


# No idempotency keys: their responses are stored, and secrets must not be.
keys_router = router_for("Administration: keys", "/v1/admin/keys", route_class=GatedRoute)


class NewKeyRequest(RequestBody):
    """A key of a user, of an agent of one (with `agent`), or of a service (without `user`)."""

    name: str = Field(
        max_length=limits.MAX_KEY_NAME_CHARS, description="For people.", examples=["chat front end"]
    )
    user: str | None = Field(default=None, description="The one user whom it acts for.")
    agent: str | None = Field(default=None, description="The agent of that user whose key it is.")
    categories: list[str] | None = Field(
        default=None, description="All that an agent's key can read and write."
    )
    permissions: list[str] = Field(
        default=[],
        description=f"Of a service's key: {', '.join(Permission)}; of an agent's: share.",
    )
    expires_days: int | None = Field(
        default=None, ge=1, le=limits.MAX_KEY_DAYS, description="How long it is good."
    )


class KeysRequest(PageRequest):
    """Which keys."""

    user: str | None = Field(default=None, description="Only those of this user.")
    include_revoked: bool = Field(default=False, description="Also those that were revoked.")


@keys_router.post("", status_code=HTTPStatus.CREATED, response_model=CreatedKey)
def create_key(body: NewKeyRequest, store: Managing, caller: Calling) -> Response:
    """Make a key. Its secret is in this answer, and nowhere else ever after.

    Nobody can give a permission that they do not have.
    """
    check_may_give(caller, body.permissions)
    created = store.create_key(**body.given())
    return answer(created, HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


@keys_router.get("", response_model=Page[ApiKey])
def list_keys(query: Annotated[KeysRequest, Query()], store: ReadingAll) -> Response:
    """List the keys, the newest first, without their secrets."""
    return answer(store.keys(**query.given()))


@keys_router.get("/{id}", response_model=ApiKey)
def read_key(id: Annotated[str, Path(description="The key.")], store: ReadingAll) -> Response:
    """Read one key, without its secret; also one that was revoked."""
    return answer(store.key(id))


@keys_router.delete("/{id}", response_model=ApiKey)
def revoke_key(id: Annotated[str, Path(description="The key.")], store: Managing) -> Response:
    """End a key: it is refused from now on."""
    return answer(store.revoke_key(id))


memories_router = router_for("Administration: memories", "/v1/admin")


@memories_router.get("/memories", response_model=Page[Item])
def list_all_memories(query: Annotated[ListRequest, Query()], store: ReadingAll) -> Response:
    """List all users' memories. Takes what the list of one user's takes."""
    return answer(store.list(**query.arguments()))


@memories_router.get("/global/memories", response_model=Page[Item])
def list_global_memories(query: Annotated[ListRequest, Query()], store: ReadingAll) -> Response:
    """List the memories that every user sees who has few of their own."""
    return answer(store.global_memories().list(**query.arguments()))


@memories_router.post(
    "/global/memories",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={200: {"model": Added, "description": "It was there already, or was updated."}},
)
def add_global_memory(body: NewMemoryRequest, store: Managing, caller: Calling) -> Response:
    """Keep a memory that every user sees who has few of their own."""
    added = _global_memories(store, caller).add(**body.given())
    return answer(added, HTTPStatus.CREATED if added.is_new else HTTPStatus.OK)


@memories_router.get("/global/memories/{id}", response_model=Item)
def get_global_memory(
    id: MemoryId, query: Annotated[GetRequest, Query()], store: ReadingAll
) -> Response:
    """Read one of the memories that everybody sees."""
    return answer(store.global_memories().get(id, **query.given()))


@memories_router.delete("/global/memories/{id}", response_model=Item)
def forget_global_memory(
    id: MemoryId, query: Annotated[ForgetRequest, Query()], store: Managing, caller: Calling
) -> Response:
    """Forget one of the memories that everybody sees."""
    (forgotten,) = _global_memories(store, caller).forget(id, **query.given())
    return answer(forgotten)


def _global_memories(store: Memory, caller: Caller) -> UserMemory:
    """The global memories; history names the agent, else the key, as the actor."""
    key = None if caller.key is None else caller.key.id
    return store.global_memories(actor=caller.agent or key)
