"""How what formation does looks to people."""

from typing import TYPE_CHECKING, Final

from ricordo.cli.render import Listing, Shown
from ricordo.cli.tables import moment_text, more_text, one_line
from ricordo.model.vocabulary import Action

if TYPE_CHECKING:
    from ricordo.model.activity import ActivityEvent, Counters, DayActivity
    from ricordo.model.profile import Summary
    from ricordo.model.proposal import Proposal
    from ricordo.model.record import Page
    from ricordo.model.reports import AuditReport, Decision, Findings, FormationReport
    from ricordo.providers.chat import ModelReport

_COLOURS: Final = {
    Action.ADD.value: "green",
    Action.UPDATE.value: "green",
    Action.REPLACE.value: "green",
    Action.PROPOSE.value: "yellow",
    Action.DEFER.value: "yellow",
    Action.REJECT.value: "dim",
    Action.IGNORE.value: "dim",
}


def formation_table(report: "FormationReport") -> Shown:
    """What was decided about what was said."""
    if not report.turns and report.waits is None:
        return "Nothing new was said."
    if not report.decisions:
        return _note(report) or f"Nothing to remember in {report.turns} turns."
    rows = [
        [one.action.value, _number(one), one_line(one.content), one.reason]
        for one in report.decisions
    ]
    return Listing(["Decision", "ID", "Said", "Why"], rows, _note(report), _COLOURS)


def proposal_table(page: "Page[Proposal]") -> Shown:
    """What waits for the user, one a row."""
    if not page.items:
        return "Nothing waits for you."
    rows = [
        [
            str(one.id),
            one.kind.value,
            one.state.value,
            ", ".join(one.fields) if one.owner_id is None else f"shared by {one.owner_id}",
            moment_text(one.expires_at),
            one_line(one.content or ""),
            one_line(one.quote or ""),
        ]
        for one in page
    ]
    headings = ["ID", "Waits for", "State", "About", "Until (UTC)", "Would be stored", "Said"]
    return Listing(headings, rows, more_text(page.next_cursor))


def summary_text(summary: "Summary | None") -> str:
    """What is known of a user."""
    if summary is None:
        return "Nothing is known yet."
    return summary.content


def audit_table(report: "AuditReport") -> Shown:
    """What was found when memories were looked over."""
    kinds: dict[str, Findings] = {
        "duplicates": report.duplicates,
        "contradictions": report.contradictions,
        "junk": report.junk,
        "unverified": report.unverified,
        "expired": report.expired,
    }
    rows = [
        [kind, ", ".join(map(str, finding.ids)), finding.reason]
        for kind, findings in kinds.items()
        for finding in findings.listed
    ]
    counts = ", ".join(f"{kind} {findings.count}" for kind, findings in kinds.items())
    note = f"Of {report.memories} memories: {counts}."
    return Listing(["Finding", "Memories", "Why"], rows, note) if rows else f"{note} All is well."


def event_table(page: "Page[ActivityEvent]") -> Shown:
    """What background work did, one step a row."""
    if not page.items:
        return "Nothing has happened in the background."
    rows = [
        [
            moment_text(one.at),
            one.node,
            one.op,
            one.status.value,
            one.thread_id or "",
            "" if one.item_id is None else str(one.item_id),
            "" if one.similarity is None else f"{one.similarity:.2f}",
            one.detail or "",
        ]
        for one in page
    ]
    headings = ["At (UTC)", "Node", "Step", "Status", "Thread", "ID", "Similarity", "Detail"]
    return Listing(headings, rows, more_text(page.next_cursor))


def counter_table(counters: "Counters") -> Listing:
    """Every counter, one a row."""
    told = counters.to_dict()
    counts = told.pop("counts")
    rows = [[name, str(value)] for name, value in {**told, **counts}.items()]
    return Listing([], rows)


def daily_table(days: "tuple[DayActivity, ...]") -> Listing:
    """What happened, one day a row."""
    rows = [
        [
            one.day,
            str(one.memories_added),
            ", ".join(f"{action} {count}" for action, count in one.decisions.items() if count),
            str(one.model_calls),
            str(one.prompt_tokens + one.completion_tokens),
            str(one.recalls),
            _milliseconds(one.recall_p50_ms),
            _milliseconds(one.recall_p95_ms),
        ]
        for one in days
    ]
    headings = ["Day (UTC)", "Added", "Decisions", "Model calls", "Tokens", "Recalls"]
    return Listing([*headings, "Half in ms", "95 % in ms"], rows)


def model_lines(report: "ModelReport") -> Listing:
    """What a language model can do, or what is wrong."""
    told = {name: value for name, value in report.to_dict().items() if value is not None}
    return Listing([], [[name, str(value)] for name, value in told.items()])


def _milliseconds(taken: float | None) -> str:
    return "" if taken is None else f"{taken:.1f}"


def _number(decision: "Decision") -> str:
    numbers = (decision.memory_id, decision.proposal_id, decision.target_id)
    return next((str(number) for number in numbers if number is not None), "")


def _note(report: "FormationReport") -> str | None:
    if report.waits is not None:
        return f"The rest waits: {report.waits}."
    proposed = report.count(Action.PROPOSE)
    return f"{proposed} to decide: ricordo proposals" if proposed else None
