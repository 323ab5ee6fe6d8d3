"""Tables and sentences for the records of the model."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ricordo.cli.render import Shown, TableListing
from ricordo.model.proposal import attributed
from ricordo.model.record import Page, plain
from ricordo.model.vocabulary import Action, Status

if TYPE_CHECKING:
    from ricordo.model.activity import Counters
    from ricordo.model.item import Change, Changes, Item
    from ricordo.model.profile import Summary
    from ricordo.model.proposal import Link
    from ricordo.model.record import Record
    from ricordo.model.reports import (
        AuditReport,
        Decision,
        ErasureReceipt,
        Findings,
        FormationReport,
    )
    from ricordo.model.search import Hit, MemoryHit, QueryAnswer, SearchResults, TurnHit

_MAX_LISTED_CHARS: Final = 200
_CARD_FIRST: Final = ("id", "content")

_COLOURS: Final = {
    Action.ADD.value: "green",
    Action.UPDATE.value: "green",
    Action.REPLACE.value: "green",
    Action.CLOSE.value: "green",
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


Columns = Mapping[str, str | Callable[[Any], object]]
"""By their headings: a field of the record, or what a function reads from it."""


def table(
    columns: Columns,
    empty: str = "",
    *,
    note: str | None = None,
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Iterable[Any]], Shown]:
    """A function that shows records in a table, or says that there are none."""

    def shown(found: Iterable[Any]) -> Shown:
        rows = [
            [
                _cell(getattr(one, read) if isinstance(read, str) else read(one))
                for read in columns.values()
            ]
            for one in found
        ]
        if empty and not rows:
            return empty
        more = more_text(getattr(found, "next_cursor", None))
        return TableListing(list(columns), rows, note or more, colours)

    return shown


def short(field: str) -> Callable[[Any], str]:
    """What a field says, on one line."""
    return lambda record: one_line(getattr(record, field) or "")


def _cell(value: object) -> str:
    if value is None:
        return ""
    return moment_text(value) if isinstance(value, datetime) else str(value)


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


def card(record: "Record") -> TableListing:
    """What is known of a record, a field on each line."""
    known = {name: value for name, value in record.to_dict().items() if value is not None}
    return TableListing([], [[name, _plain_text(value)] for name, value in known.items()])


def anything(value: object) -> Shown:
    """Any result: a card for a record, a table for several."""
    more = more_text(getattr(value, "next_cursor", None))
    found = plain(value.items if isinstance(value, Page) else value)
    if isinstance(found, dict):
        return TableListing([], [[name, _plain_text(one)] for name, one in found.items()])
    if not isinstance(found, list):
        return "Done." if found is None else _plain_text(found)
    if not found:
        return "Nothing."
    if not isinstance(found[0], dict):
        return "\n".join(map(_plain_text, found))
    rows = [[one_line(_plain_text(cell)) for cell in row.values()] for row in found]
    return TableListing(list(found[0]), rows, more)


def _hit_text(hit: "MemoryHit") -> str:
    """A memory's text; another user's is quoted, with their name."""
    return attributed(_snippet(hit), hit.owner_id, hit.type)


_UNLIKELY: Final = "Nothing likely was found. What is nearest: --threshold 0"


def hit_table(found: "SearchResults[MemoryHit]", nothing: str) -> Shown:
    """Search results, one per row, followed by the parts of the score if they are known.

    Without a query there are times in place of scores.
    """
    if not found.results:
        return nothing if found.confidence is None else _UNLIKELY
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
        return nothing if found.confidence is None else _UNLIKELY
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
                " ".join([_snippet(hit), *_place(hit), *(one.note(UTC) for one in hit.superseded)]),
            ],
            hit,
        )
    ]
    return TableListing(headings, rows)


def _place(hit: "TurnHit") -> list[str]:
    """Where in a long turn it stands."""
    return [] if hit.part is None else [f"[characters {hit.part.start} to {hit.part.end}]"]


def nothing_found(everything: str, threshold: float | None) -> str:
    """The message for an empty search result, with the command that lists everything."""
    if threshold is not None:
        return f"Nothing found that is {threshold:g} sure. A lower --threshold shows more."
    return f"Nothing found. Everything there is: {everything}"


related_table = table(
    {
        "ID": "id",
        "Similarity": lambda one: f"{one.similarity:.2f}",
        "Both name": lambda one: ", ".join(one.names),
        "Theme": "theme",
        "Type": "type",
        "Memory": short("content"),
    },
    empty="No other memory is about the same.",
)


def query_lines(found: "QueryAnswer") -> str:
    """The answer to a query, as it goes into a prompt."""
    lines = [bullet.text for bullet in found.bullets]
    lines += [f"[{item.theme}] {item.content}" for item in found.items]
    lines += [f"(related) {bullet.text}" for bullet in found.related]
    return "\n".join(lines) or "Nothing found."


def _details(change: "Change") -> str:
    details = []
    if change.old_ref not in (None, change.item_id):
        details.append(f"from {change.old_ref}")
    if change.new_ref not in (None, change.item_id):
        details.append(f"to {change.new_ref}")
    if change.other_user is not None:
        details.append(f"user {change.other_user}")
    return ", ".join(details)


_CHANGE: Final[Columns] = {
    "Revision": "revision",
    "At (UTC)": "at",
    "Event": "event",
    "Memory": "item_id",
    "By": "actor",
    "Reason": short("reason"),
    "Details": _details,
}
history_table = table(_CHANGE, empty="Nothing is recorded of this memory.")


def changes_table(found: "Changes") -> Shown:
    position = f"At revision {found.revision}."
    if not found.changes:
        return f"Nothing changed. {position}"
    last = found.changes[-1].revision
    is_newest_first = found.changes[0].revision > last or found.revision == last
    further = f"--before {last}" if is_newest_first else f"--since {last}"
    note = f"{position} More: add {further}" if found.more else position
    return table(_CHANGE, note=note)(found.changes)


theme_table = table(
    {
        "Theme": "slug",
        "Name": "display_name",
        "Memories": "active_count",
        "Context": "context",
        "RAG length": "rag_length",
        "Description": short("description"),
    },
    empty="No themes yet. A memory brings its own: ricordo add --theme THEME 'TEXT'",
)


project_table = table(
    {
        "Project": "project_id",
        "Memories": "memories",
        "Conversations": "threads",
        "Last (UTC)": "last_activity",
    },
    empty="No projects yet. What is written in one is of it: ricordo add --project NAME 'TEXT'",
)


thread_table = table(
    {
        "Thread": "thread_id",
        "Turns": "turn_count",
        "Updated (UTC)": "updated_at",
        "Project": "project_id",
        "Title": short("title"),
    },
    empty="No conversations yet. Bring some in: ricordo observe FILE or ricordo import FILE",
)


turn_table = table(
    {
        "": "position",
        "At (UTC)": "at",
        "Who": lambda turn: turn.actor or turn.role,
        "Said": "content",
    },
    empty="Nothing was said in this conversation.",
)


job_table = table(
    {
        "ID": "id",
        "Kind": "kind",
        "User": "user_id",
        "State": "state",
        "Due (UTC)": "run_at",
        "Tries": lambda job: f"{job.attempts}/{job.max_attempts}",
        "Progress": short("progress"),
        "Last error": short("last_error"),
    },
    empty="No jobs.",
)


job_stats_table = table(
    {
        "Kind": "kind",
        "Lane": "lane",
        "Queued": "queued",
        "Due": "due",
        "Running": "running",
        "Done": "done",
        "Dead": "dead",
        "Cancelled": "cancelled",
        "Due since (UTC)": "oldest_due_at",
    },
    empty="No jobs.",
)


def link_table(empty: str, *, with_id: bool = False) -> Callable[["Iterable[Link]"], Shown]:
    """A table of users a memory is shared with or offered to, or the ``empty`` message."""
    return table(
        {
            **({"ID": "id"} if with_id else {}),
            "User": "user_id",
            "State": "state",
            "Since (UTC)": "since",
            "Until (UTC)": "expires_at",
        },
        empty,
    )


blocked_table = table(
    {"User": "user_id", "Since (UTC)": "since"},
    empty="Nobody is blocked. Block somebody: ricordo senders block USER",
)


def receipt_text(receipt: "ErasureReceipt", what: str) -> str:
    moment = receipt.erased_at.isoformat(sep=" ", timespec="seconds")
    rows = ", ".join(f"{table} {count}" for table, count in receipt.removed.items())
    later = "" if receipt.scrubbed else "\nFreed space is overwritten later: ricordo jobs run"
    return f"Erased {what} at {moment}. Removed: {rows}.{later}"


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


proposal_table = table(
    {
        "ID": "id",
        "Waits for": "kind",
        "State": "state",
        "About": lambda one: (
            ", ".join(one.fields) if one.owner_id is None else f"shared by {one.owner_id}"
        ),
        "Until (UTC)": "expires_at",
        "Would be stored": short("content"),
        "Said": short("quote"),
    },
    empty="Nothing waits for you.",
)


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
        [kind, ", ".join(map(str, finding.ids)), finding.reason, "", "", ""]
        for kind, findings in kinds.items()
        for finding in findings.listed
    ]
    counts = ", ".join(f"{kind} {findings.count}" for kind, findings in kinds.items())
    note = f"Of {report.memories} memories: {counts}.{'' if rows else ' All is well.'}"
    rows += [
        [
            one.action.value,
            "" if one.item_id is None else str(one.item_id),
            one.reason or "",
            moment_text(one.at),
            one.thread_id or "",
            one_line(one.content or ""),
        ]
        for one in report.decisions
    ]
    headings = ["Finding", "IDs", "Why", "At (UTC)", "Thread", "Says"]
    return TableListing(headings, rows, note, _COLOURS) if rows else note


event_table = table(
    {
        "At (UTC)": "at",
        "Node": "node",
        "Step": "op",
        "Status": "status",
        "Thread": "thread_id",
        "ID": "item_id",
        "Similarity": lambda one: None if one.similarity is None else f"{one.similarity:.2f}",
        "Detail": "detail",
    },
    empty="Nothing has happened in the background.",
)


def counter_table(counters: "Counters") -> TableListing:
    values = counters.to_dict()
    counts = values.pop("counts")
    rows = [[name, str(value)] for name, value in {**values, **counts}.items()]
    return TableListing([], rows)


daily_table = table(
    {
        "Day (UTC)": "day",
        "Added": "memories_added",
        "Decisions": lambda one: ", ".join(
            f"{action} {count}" for action, count in one.decisions.items() if count
        ),
        "Model calls": "model_calls",
        "Tokens": lambda one: one.prompt_tokens + one.completion_tokens,
        "Recalls": "recalls",
        "Half in ms": lambda one: _milliseconds(one.recall_p50_ms),
        "95 % in ms": lambda one: _milliseconds(one.recall_p95_ms),
    }
)


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
