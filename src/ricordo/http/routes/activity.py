"""Summary, audit, activity and upkeep of a user."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ricordo import limits
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routing import lengthy, router_for
from ricordo.http.schemas import PageRequest, QueryParameters, RequestBody, count_field, given_by
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.profile import Summary
from ricordo.model.record import Page, plain
from ricordo.model.reports import AuditReport, ConsolidationReport, RoundReport

router = router_for("Overview and upkeep", "/v1")


class AuditRequest(QueryParameters):
    """How much of an audit."""

    limit: int = count_field(
        limits.DEFAULT_PAGE_ITEMS,
        limits.MAX_PAGE_ITEMS,
        "How many findings of each kind are listed; the counts are complete.",
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

    days: int = count_field(
        limits.DEFAULT_DAILY_DAYS, limits.MAX_DAILY_DAYS, "How many days, today included."
    )


class ConsolidationRequest(RequestBody):
    """How to consolidate."""

    dry_run: bool = Field(default=False, description="Say what would be done, and do nothing.")


@router.get("/summary", response_model=Summary | None)
def read_summary(user: Acting) -> Response:
    """Read what is known of the user as one text; null when nothing is."""
    return JSONResponse(plain(user.summary()))


@router.get("/audit", response_model=AuditReport)
def audit(query: Annotated[AuditRequest, Query()], user: Acting) -> Response:
    """Look over what is stored: duplicates, contradictions, junk, unverified and expired."""
    return answer(user.audit(**query.given()))


@router.get("/events", response_model=Page[ActivityEvent])
def list_events(query: Annotated[PageRequest, Query()], user: Acting) -> Response:
    """List the steps of background work for the user, the latest first."""
    return answer(user.events(**query.given()))


@router.get("/counters", response_model=Counters)
def read_counters(query: Annotated[CountersRequest, Query()], user: Acting) -> Response:
    """Count the user's memories, and how often things happened."""
    return answer(user.counters(**query.given()))


@router.get("/activity/daily", response_model=list[DayActivity])
def read_daily(query: Annotated[DailyRequest, Query()], user: Acting) -> Response:
    """Read what happened on each of the last days (UTC) for the user, today last."""
    return answer(user.daily(**query.given()))


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
