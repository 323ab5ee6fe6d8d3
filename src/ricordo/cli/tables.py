"""Tables and sentences for the records of the model."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ricordo.cli.render import Shown, TableListing
from ricordo.model.proposal import attributed
from ricordo.model.vocabulary import Action, Status

if TYPE_CHECKING:
    from ricordo.model.activity import ActivityEvent, Counters, DayActivity
    from ricordo.model.item import Change, Changes, Item, Theme
    from ricordo.model.job import Job, JobStats
    from ricordo.model.profile import Summary
    from ricordo.model.proposal import BlockedSender, Link, Proposal
    from ricordo.model.record import Page
    from ricordo.model.reports import AuditReport, Decision, Findings, FormationReport
    from ricordo.model.search import Hit, MemoryHit, QueryAnswer, Related, SearchResults, TurnHit
    from ricordo.model.thread import Thread, Turn
    from ricordo.providers.chat import ModelReport

_MAX_LISTED_CHARS: Final = 200
_CARD_FIRST: Final = ("id", "content")

_COLOURS: Final = {
    Action.ADD.value: "green",
    Action.UPDATE.value: "green",
    Action.REPLACE.value: "green",
    Action.PROPOSE.value: "yellow",
    Action.DEFER.value: "yellow",
    Action.REJECT.value: "dim",
    Action.IGNORE.value: "dim",
}


def one_line(text: str) -> str:
    """The text on one line, cut to the width of a cell."""
    joined = " ".join(text.split())
    if len(joined) <= _MAX_LISTED_CHARS:
        return joined
    return f"{joined[: _MAX_LISTED_CHARS - 1]}…"


def memory_table(page: "Page[Item]", *, with_owner: bool, filtered: bool) -> Shown:
    if not page.items:
        return _no_memories(filtered)
    headings = ["ID", "Theme", "Type", "Key", "Updated (UTC)", "Memory"]
    rows = [
        [
            str(item.id),
            item.theme,
            item.type,
            item.key or "",
            moment_text(item.updated_at),
            memory_text(item),
        ]
        for item in page
    ]
    if with_owner or any(item.user_id != page.items[0].user_id for item in page):
        headings.insert(1, "User")
        for row, item in zip(rows, page, strict=True):
            row.insert(1, item.user_id)
    return TableListing(headings, rows, more_text(page.next_cursor))


def memory_card(item: "Item") -> TableListing:
    known = {name: value for name, value in item.to_dict().items() if value not in (None, [], "")}
    names = [*_CARD_FIRST, *(name for name in known if name not in _CARD_FIRST)]
    return TableListing([], [[name, _plain_text(known[name])] for name in names])


def _hit_text(hit: "MemoryHit") -> str:
    """A memory's text; another user's is quoted, with their name."""
    return attributed(_snippet(hit), hit.owner_id, hit.type)


def hit_table(found: "SearchResults[MemoryHit]", nothing: str) -> Shown:
    """Search results, one per row, followed by the parts of the score if they are known.

    Without a query there are times in place of scores.
    """
    if not found.results:
        return nothing
    if found.confidence is None:
        rows = [
            [str(hit.id), hit.theme, moment_text(hit.created_at), _hit_text(hit)] for hit in found
        ]
        return TableListing(["ID", "Theme", "Noted (UTC)", "Memory"], rows)
    rows = [
        row
        for hit in found
        for row in _explained([str(hit.id), *_marks(hit), hit.theme, _hit_text(hit)], hit)
    ]
    return TableListing(["ID", "Score", "Confidence", "Theme", "Memory"], rows)


def turn_hit_table(found: "SearchResults[TurnHit]", nothing: str) -> Shown:
    if not found.results:
        return nothing
    headings = ["Thread", "Score", "Confidence", "At (UTC)", "Who", "Said"]
    rows = [
        row
        for hit in found
        for row in _explained(
            [
                hit.thread_id,
                *_marks(hit),
                moment_text(hit.at),
                hit.actor or hit.role,
                _snippet(hit),
            ],
            hit,
        )
    ]
    return TableListing(headings, rows)


def nothing_found(everything: str, threshold: float | None) -> str:
    """The message for an empty search result, with the command that lists everything."""
    if threshold is not None:
        return f"Nothing found that is {threshold:g} sure. A lower --threshold shows more."
    return f"Nothing found. Everything there is: {everything}"


def related_table(found: "Sequence[Related]") -> Shown:
    if not found:
        return "No other memory is about the same."
    rows = [
        [str(one.id), f"{one.similarity:.2f}", one.theme, one.type, one_line(one.content)]
        for one in found
    ]
    return TableListing(["ID", "Similarity", "Theme", "Type", "Memory"], rows)


def query_lines(found: "QueryAnswer") -> str:
    """The answer to a query, as it goes into a prompt."""
    lines = [bullet.text for bullet in found.bullets]
    lines += [f"[{item.theme}] {item.content}" for item in found.items]
    lines += [f"(related) {bullet.text}" for bullet in found.related]
    return "\n".join(lines) or "Nothing found."


def history_table(changes: "Sequence[Change]") -> Shown:
    if not changes:
        return "Nothing is recorded of this memory."
    return _changes(changes, None)


def changes_table(found: "Changes") -> Shown:
    position = f"At revision {found.revision}."
    if not found.changes:
        return f"Nothing changed. {position}"
    last = found.changes[-1].revision
    note = f"{position} More: add --since {last}" if found.more else position
    return _changes(found.changes, note)


def theme_table(themes: "Sequence[Theme]") -> Shown:
    if not themes:
        return "No themes yet. A memory brings its own: ricordo add --theme THEME 'TEXT'"
    headings = ["Theme", "Name", "Memories", "Context", "RAG length", "Description"]
    rows = [
        [
            theme.slug,
            theme.display_name,
            str(theme.active_count),
            theme.context,
            _plain_text(theme.rag_length),
            one_line(theme.description or ""),
        ]
        for theme in themes
    ]
    return TableListing(headings, rows)


def thread_table(page: "Page[Thread]") -> Shown:
    if not page.items:
        return "No conversations yet. Bring some in: ricordo observe FILE or ricordo import FILE"
    rows = [
        [
            thread.thread_id,
            str(thread.turn_count),
            moment_text(thread.updated_at),
            one_line(thread.title or ""),
        ]
        for thread in page
    ]
    return TableListing(
        ["Thread", "Turns", "Updated (UTC)", "Title"], rows, more_text(page.next_cursor)
    )


def turn_table(page: "Page[Turn]") -> Shown:
    if not page.items:
        return "Nothing was said in this conversation."
    rows = [
        [str(turn.position), moment_text(turn.at), turn.actor or turn.role, turn.content]
        for turn in page
    ]
    return TableListing(["", "At (UTC)", "Who", "Said"], rows, more_text(page.next_cursor))


def job_table(jobs: "Sequence[Job]") -> Shown:
    if not jobs:
        return "No jobs."
    rows = [
        [
            str(job.id),
            job.kind,
            job.user_id,
            job.state,
            moment_text(job.run_at),
            f"{job.attempts}/{job.max_attempts}",
            one_line(job.progress or ""),
            one_line(job.last_error or ""),
        ]
        for job in jobs
    ]
    headings = ["ID", "Kind", "User", "State", "Due (UTC)", "Tries", "Progress", "Last error"]
    return TableListing(headings, rows)


def job_stats_table(stats: "Sequence[JobStats]") -> Shown:
    if not stats:
        return "No jobs."
    rows = [
        [
            one.kind,
            one.lane,
            *[str(count) for count in (one.queued, one.due, one.running, one.done)],
            *[str(count) for count in (one.dead, one.cancelled)],
            "" if one.oldest_due_at is None else moment_text(one.oldest_due_at),
        ]
        for one in stats
    ]
    headings = ["Kind", "Lane", "Queued", "Due", "Running", "Done", "Dead", "Cancelled"]
    return TableListing([*headings, "Due since (UTC)"], rows)


def name_table(heading: str, empty: str) -> Callable[[Sequence[str]], Shown]:
    """A table of names, or the ``empty`` message."""

    def shown(names: Sequence[str]) -> Shown:
        return TableListing([heading], [[name] for name in names]) if names else empty

    return shown


def link_table(empty: str) -> Callable[["Sequence[Link]"], Shown]:
    """A table of users a memory is shared with or offered to, or the ``empty`` message."""

    def shown(links: "Sequence[Link]") -> Shown:
        rows = [
            [
                one.user_id,
                one.state.value,
                moment_text(one.since),
                "" if one.expires_at is None else moment_text(one.expires_at),
            ]
            for one in links
        ]
        return (
            TableListing(["User", "State", "Since (UTC)", "Until (UTC)"], rows) if rows else empty
        )

    return shown


def blocked_table(found: "Sequence[BlockedSender]") -> Shown:
    if not found:
        return "Nobody is blocked. Block somebody: ricordo senders block USER"
    return TableListing(
        ["User", "Since (UTC)"], [[one.user_id, moment_text(one.since)] for one in found]
    )


def done(verb: str) -> Callable[["Item"], str]:
    return lambda item: f"{verb} {item.id}: {one_line(item.content)}"


def _marks(hit: "Hit") -> list[str]:
    return [f"{hit.score:.3f}", f"{hit.confidence:.2f}"]


def _snippet(hit: "Hit") -> str:
    return " ".join(hit.content_snippet.split())


def _explained(row: list[str], hit: "Hit") -> Iterator[list[str]]:
    yield row
    if hit.explanation is not None:
        parts = (_part(name, value) for name, value in hit.explanation.items())
        yield [*[""] * (len(row) - 1), ", ".join(filter(None, parts))]


def _part(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(filter(None, (_part(key, one) for key, one in value.items())))
        return f"{name} ({inner})" if inner else ""
    if value is None:
        return ""
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def _changes(changes: "Sequence[Change]", note: str | None) -> TableListing:
    headings = ["Revision", "At (UTC)", "Event", "Memory", "By", "Reason", "Details"]
    rows = [
        [
            str(change.revision),
            moment_text(change.at),
            change.event,
            str(change.item_id),
            change.actor,
            one_line(change.reason or ""),
            _details(change),
        ]
        for change in changes
    ]
    return TableListing(headings, rows, note)


def _details(change: "Change") -> str:
    details = []
    if change.old_ref not in (None, change.item_id):
        details.append(f"from {change.old_ref}")
    if change.new_ref not in (None, change.item_id):
        details.append(f"to {change.new_ref}")
    if change.other_user is not None:
        details.append(f"user {change.other_user}")
    return ", ".join(details)


def _no_memories(filtered: bool) -> str:
    if filtered:
        return "No memories match. All of them: ricordo list --status any"
    return "No memories yet. Add one: ricordo add 'Prefers tea to coffee'"


def memory_text(item: "Item") -> str:
    """The memory's text on one line, with its status where that is not "active"."""
    marks = ["pinned"] if item.pinned else []
    if item.status != Status.ACTIVE:
        marks.append(item.status)
    text = one_line(item.content)
    return f"{text} [{', '.join(marks)}]" if marks else text


def more_text(cursor: str | None) -> str | None:
    """The hint for the next page, if there is one."""
    return None if cursor is None else f"More: add --cursor {cursor}"


def moment_text(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="minutes")[:16]


def _plain_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def formation_table(report: "FormationReport") -> Shown:
    if not report.turns and report.waits is None:
        return "Nothing new was said."
    if not report.decisions:
        return _note(report) or f"Nothing to remember in {report.turns} turns."
    rows = [
        [one.action.value, _number(one), one_line(one.content), one.reason]
        for one in report.decisions
    ]
    return TableListing(["Decision", "ID", "Said", "Why"], rows, _note(report), _COLOURS)


def proposal_table(page: "Page[Proposal]") -> Shown:
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
    return TableListing(headings, rows, more_text(page.next_cursor))


def summary_text(summary: "Summary | None") -> str:
    if summary is None:
        return "Nothing is known yet."
    return summary.content


def audit_table(report: "AuditReport") -> Shown:
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
    return (
        TableListing(["Finding", "Memories", "Why"], rows, note) if rows else f"{note} All is well."
    )


def event_table(page: "Page[ActivityEvent]") -> Shown:
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
    return TableListing(headings, rows, more_text(page.next_cursor))


def counter_table(counters: "Counters") -> TableListing:
    values = counters.to_dict()
    counts = values.pop("counts")
    rows = [[name, str(value)] for name, value in {**values, **counts}.items()]
    return TableListing([], rows)


def daily_table(days: "tuple[DayActivity, ...]") -> TableListing:
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
    return TableListing([*headings, "Half in ms", "95 % in ms"], rows)


def model_lines(report: "ModelReport") -> TableListing:
    known = {name: value for name, value in report.to_dict().items() if value is not None}
    return TableListing([], [[name, str(value)] for name, value in known.items()])


def _milliseconds(taken: float | None) -> str:
    return "" if taken is None else f"{taken:.1f}"


def _number(decision: "Decision") -> str:
    numbers = (decision.memory_id, decision.proposal_id, decision.target_id)
    return next((str(number) for number in numbers if number is not None), "")


def _note(report: "FormationReport") -> str | None:
    if report.waits is not None:
        return f"The rest waits: {report.waits}."
    proposed = report.count(Action.PROPOSE)
    if not proposed:
        return None
    return (
        f"{proposed} {'proposal waits' if proposed == 1 else 'proposals wait'}: ricordo proposals"
    )
