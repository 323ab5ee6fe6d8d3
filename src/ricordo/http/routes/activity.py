"""What is known in short, what may be wrong with it, what was done, and upkeep now."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ricordo import limits
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routing import lengthy, router_for
from ricordo.http.schemas import PageRequest, QueryParameters, RequestBody, given_by
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.profile import Summary
from ricordo.model.record import Page, plain
from ricordo.model.reports import AuditReport, ConsolidationReport, RoundReport

router = router_for("Overview and upkeep", "/v1")


class AuditRequest(QueryParameters):
    """How much of an audit."""

    limit: int = Field(
        default=limits.DEFAULT_PAGE_ITEMS,
        ge=1,
        le=limits.MAX_PAGE_ITEMS,
        description="How many findings of each kind are listed; the counts are complete.",
    )


class CountersRequest(QueryParameters):
    """Since when to count."""

    days: int | None = Field(
        default=None,
        ge=1,
        le=limits.MAX_RECENCY_DAYS,
        description="Only the last ones, today included.",
    )


class DailyRequest(QueryParameters):
    """How far back to go."""

    days: int = Field(
        default=limits.DEFAULT_DAILY_DAYS,
        ge=1,
        le=limits.MAX_DAILY_DAYS,
        description="How many days, today included.",
    )


class ConsolidationRequest(RequestBody):
    """How to consolidate."""

    dry_run: bool = Field(default=False, description="Say what would be done, and do nothing.")


@router.get("/summary", response_model=Summary | None)
def read_summary(user: Acting) -> Response:
    """Read what is known of the user as one text; null when nothing is."""
    return JSONResponse(plain(user.summary()))


@router.get("/audit", response_model=AuditReport)
def audit(asked: Annotated[AuditRequest, Query()], user: Acting) -> Response:
    """Look over what is stored: duplicates, contradictions, junk, unverified and expired."""
    return answer(user.audit(**asked.given()))


@router.get("/events", response_model=Page[ActivityEvent])
def list_events(asked: Annotated[PageRequest, Query()], user: Acting) -> Response:
    """List the steps of background work for the user, the latest first."""
    return answer(user.events(**asked.given()))


@router.get("/counters", response_model=Counters)
def read_counters(asked: Annotated[CountersRequest, Query()], user: Acting) -> Response:
    """Count the user's memories, and how often things happened."""
    return answer(user.counters(**asked.given()))


@router.get("/activity/daily", response_model=list[DayActivity])
def read_daily(asked: Annotated[DailyRequest, Query()], user: Acting) -> Response:
    """Read what happened on each of the last days (UTC) for the user, today last."""
    return answer(user.daily(**asked.given()))


@router.post("/upkeep", response_model=RoundReport)
@lengthy
def upkeep(user: Acting) -> Response:
    """Do the user's round of upkeep now, which otherwise comes by itself every day."""
    return answer(user.upkeep())


@router.post("/consolidate", response_model=ConsolidationReport)
@lengthy
def consolidate(user: Acting, asked: ConsolidationRequest | None = None) -> Response:
    """Merge what says the same, replace what is outdated, link what belongs together."""
    return answer(user.consolidate(**given_by(asked)))
