"""Administration of background jobs."""

from dataclasses import fields
from http import HTTPStatus
from typing import Annotated, Any, get_type_hints

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field, create_model

from ricordo import limits
from ricordo.http.answers import answer, nothing
from ricordo.http.asked import Asked, QueryAsked, given_by
from ricordo.http.callers import Managing, ReadingAll
from ricordo.http.lengthy import lengthy
from ricordo.http.routing import router_for
from ricordo.model.job import Job, JobStats
from ricordo.model.vocabulary import JobState

router = router_for("Administration: jobs", "/v1/admin/jobs")

JobId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The job.", examples=[12])]


def _shown_fields() -> dict[str, Any]:
    """What ``Job.to_dict`` shows: all but the token that only its worker may know."""
    hints = get_type_hints(Job)
    return {
        field.name: (hints[field.name], ...) for field in fields(Job) if field.name != "lease_token"
    }


JobShown: Any = create_model("Job", __doc__="A job as it stands in the queue.", **_shown_fields())


class JobsAsked(QueryAsked):
    """Which jobs."""

    state: str | None = Field(default=None, description=f"One of: {', '.join(JobState)}.")
    kind: str | None = Field(default=None, examples=["form"])
    limit: int = Field(
        default=limits.DEFAULT_PAGE_ITEMS,
        ge=1,
        le=limits.MAX_PAGE_ITEMS,
        description="How many entries at most.",
    )


class RunAsked(Asked):
    """How much to do."""

    limit: int = Field(
        default=limits.MAX_JOBS_PER_RUN,
        ge=1,
        le=limits.MAX_JOBS_PER_RUN,
        description="How many jobs at most.",
    )


class JobsRun(BaseModel):
    """How many jobs there were."""

    ran: int


@router.get("", response_model=list[JobShown])
def list_jobs(asked: Annotated[JobsAsked, Query()], store: ReadingAll) -> Response:
    """List background jobs in the order in which they run or ran."""
    return answer(store.jobs(**asked.given()))


@router.get("/stats", response_model=list[JobStats])
def read_job_stats(store: ReadingAll) -> Response:
    """Count how many jobs of each kind wait, run, are done, dead or cancelled."""
    return answer(store.job_stats())


@router.post("/run", response_model=JobsRun)
@lengthy
def run_jobs(store: Managing, asked: RunAsked | None = None) -> Response:
    """Run what is due now, and answer when it is done, which may take long."""
    return answer({"ran": store.run_jobs(**given_by(asked))})


@router.post("/{id}/retry", status_code=HTTPStatus.NO_CONTENT, response_model=None)
def retry_job(id: JobId, store: Managing) -> Response:
    """Give a dead job a fresh set of attempts."""
    store.retry_job(id)
    return nothing()


@router.post("/{id}/cancel", status_code=HTTPStatus.NO_CONTENT, response_model=None)
def cancel_job(id: JobId, store: Managing) -> Response:
    """Take a job out of the queue that waits, or is dead."""
    store.cancel_job(id)
    return nothing()
