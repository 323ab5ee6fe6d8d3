"""The activity page: daily charts, key figures, job queue and latest events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from starlette.responses import Response

from ricordo.errors import InvalidValue, PermissionMissing
from ricordo.formation.consent import PROPOSED_BEFORE
from ricordo.frozen import dataclass
from ricordo.model.activity import (
    KNOWN_ALREADY,
    RECALLED_SHOWN,
    ActivityEvent,
    Counters,
    JobStats,
    decisions_counter,
)
from ricordo.model.vocabulary import Action, Permission
from ricordo.web.charts import ChartPart, daily_charts, exact, strips
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.routing import page_router
from ricordo.web.wording import JOBS

PERIODS: Final = (7, 30, 90)
EVERYBODY: Final = "everybody"
LATEST_EVENTS: Final = 20
_JOB_STATES: Final = ("Due now", "Later", "Running", "Failed for good")
_WRITING: Final = (Action.ADD, Action.UPDATE, Action.REPLACE, Action.UNLINK)

router = page_router()


@dataclass(frozen=True, slots=True)
class Headline:
    name: str
    value: str
    hint: str


@dataclass(frozen=True, slots=True)
class JobRow:
    """The jobs of one kind, by :data:`_JOB_STATES`."""

    kind: str
    figures: tuple[int, ...]
    parts: tuple[ChartPart, ...]
    oldest_due_at: datetime | None


@router.get("/activity")
def show_activity(page: Page, days: str = "30", whose: str = "") -> Response:
    if days not in map(str, PERIODS):
        allowed = ", ".join(map(str, PERIODS))
        raise InvalidValue("days", f"this is not one of: {allowed}")
    if whose not in ("", EVERYBODY):
        raise InvalidValue("whose", f"this is neither {EVERYBODY} nor empty")
    may_see_everybody = page.may(Permission.READ_ALL)
    of_everybody = whose == EVERYBODY
    if of_everybody and not may_see_everybody:
        raise PermissionMissing(f"the activity of all users needs {Permission.READ_ALL}")
    period = int(days)
    source = page.store if of_everybody else page.memory
    counters = source.counters(days=period)
    charts = daily_charts(source.daily(days=period))
    return page.render(
        "activity.html",
        periods=PERIODS,
        days=period,
        whose=whose or None,
        of_everybody=of_everybody,
        may_see_everybody=may_see_everybody,
        figures=_figures(
            counters, _seen(page) if not of_everybody else counters.memory_total_count
        ),
        charts=charts,
        nothing_yet=not counters.memory_total_count and all(chart.is_empty for chart in charts),
        jobs=_job_rows(page.store.job_stats()) if may_see_everybody else None,
        job_states=_JOB_STATES,
        job_names=JOBS,
        # Events and vectors belong to one user.
        events=() if of_everybody else page.memory.events(limit=LATEST_EVENTS).items,
        vectors=None if of_everybody else page.memory.embedding_status(),
        is_about_proposal=is_about_proposal,
    )


def is_about_proposal(event: ActivityEvent) -> bool:
    """Whether an event's id is that of a proposal."""
    return event.op == Action.PROPOSE or event.detail == PROPOSED_BEFORE


def _seen(page: PageRequest) -> int:
    """The active memories that the user sees, as the list has them: also those of others."""
    return sum(theme.active_count for theme in page.memory.themes())


def _figures(counters: Counters, active: int) -> tuple[Headline, ...]:
    counts = counters.counts
    written = sum(counts.get(decisions_counter(action), 0) for action in _WRITING)
    found = written + counts.get(KNOWN_ALREADY, 0)
    recalled = counts.get(RECALLED_SHOWN, 0)
    return (
        Headline("Memories", exact(active), _active_now(active - counters.memory_total_count)),
        Headline(
            "Replaced",
            _rate(counters.memory_replacement_rate, written),
            "of what was formed replaced something",
        ),
        Headline(
            "Known already",
            _rate(counters.memory_dedup_rate, found),
            "of what formation found",
        ),
        Headline(
            "Useful",
            _rate(counters.retrieval_hit_rate, recalled),
            "of recalled memories with feedback",
        ),
        Headline("Tokens", exact(counters.tokens_today), "spent today"),
    )


def _active_now(of_others: int) -> str:
    return f"active now, {exact(of_others)} of them of others" if of_others else "active now"


def _rate(share: float, counted: int) -> str:
    return f"{share:.0%}" if counted else "–"


def _job_rows(stats: Sequence[JobStats]) -> list[JobRow]:
    """Kinds with queued, running or failed jobs, those with the most first."""
    figures = {one: (one.due, max(one.queued - one.due, 0), one.running, one.dead) for one in stats}
    shown = sorted(
        (one for one in stats if any(figures[one])), key=lambda one: (-sum(figures[one]), one.kind)
    )
    drawn = strips([figures[one] for one in shown])
    return [
        JobRow(one.kind, figures[one], parts, one.oldest_due_at)
        for one, parts in zip(shown, drawn, strict=True)
    ]
