"""How each value of the model looks to people."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ricordo.cli.render import Listing, Shown
from ricordo.model.proposal import attributed
from ricordo.model.vocabulary import Status

if TYPE_CHECKING:
    from ricordo.model.item import Change, Changes, Item, Theme
    from ricordo.model.job import Job, JobStats
    from ricordo.model.proposal import BlockedSender, Link
    from ricordo.model.record import Page
    from ricordo.model.search import Hit, MemoryHit, QueryAnswer, Related, SearchResults, TurnHit
    from ricordo.model.thread import Thread, Turn

_MAX_LISTED_CHARS: Final = 200
_CARD_FIRST: Final = ("id", "content")


def one_line(text: str) -> str:
    """A text as it fits into a row of a table or into a sentence."""
    joined = " ".join(text.split())
    if len(joined) <= _MAX_LISTED_CHARS:
        return joined
    return f"{joined[: _MAX_LISTED_CHARS - 1]}…"


def memory_table(page: "Page[Item]", *, with_owner: bool, filtered: bool) -> Shown:
    """Memories, one a row."""
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
    return Listing(headings, rows, more_text(page.next_cursor))


def memory_card(item: "Item") -> Listing:
    """One memory with everything that is known of it."""
    known = {name: value for name, value in item.to_dict().items() if value not in (None, [], "")}
    names = [*_CARD_FIRST, *(name for name in known if name not in _CARD_FIRST)]
    return Listing([], [[name, _plain_text(known[name])] for name in names])


def _of(hit: "MemoryHit") -> str:
    """What a memory says; what is another's is quoted, with their name."""
    return attributed(_said(hit), hit.owner_id, hit.type)


def hit_table(found: "SearchResults[MemoryHit]", nothing: str) -> Shown:
    """Memories that were found, one a row; below each, what its score is made of if that is known.

    Where nothing in particular was asked for, there are no scores, but times.
    """
    if not found.results:
        return nothing
    if found.confidence is None:
        rows = [[str(hit.id), hit.theme, moment_text(hit.created_at), _of(hit)] for hit in found]
        return Listing(["ID", "Theme", "Noted (UTC)", "Memory"], rows)
    rows = [
        row
        for hit in found
        for row in _explained([str(hit.id), *_marks(hit), hit.theme, _of(hit)], hit)
    ]
    return Listing(["ID", "Score", "Confidence", "Theme", "Memory"], rows)


def turn_hit_table(found: "SearchResults[TurnHit]", nothing: str) -> Shown:
    """What was said and found, one turn a row."""
    if not found.results:
        return nothing
    headings = ["Thread", "Score", "Confidence", "At (UTC)", "Who", "Said"]
    rows = [
        row
        for hit in found
        for row in _explained(
            [hit.thread_id, *_marks(hit), moment_text(hit.at), hit.actor or hit.role, _said(hit)],
            hit,
        )
    ]
    return Listing(headings, rows)


def nothing_found(everything: str, threshold: float | None) -> str:
    """What to say when a search finds nothing, and which command shows everything."""
    if threshold is not None:
        return f"Nothing found that is {threshold:g} sure. A lower --threshold shows more."
    return f"Nothing found. Everything there is: {everything}"


def related_table(found: "Sequence[Related]") -> Shown:
    """Neighbours of a memory, one a row."""
    if not found:
        return "No other memory is about the same."
    rows = [
        [str(one.id), f"{one.similarity:.2f}", one.theme, one.type, one_line(one.content)]
        for one in found
    ]
    return Listing(["ID", "Similarity", "Theme", "Type", "Memory"], rows)


def query_lines(found: "QueryAnswer") -> str:
    """The answer to a query as a prompt may have it: one line each, or whole memories."""
    lines = [bullet.text for bullet in found.bullets]
    lines += [f"[{item.theme}] {item.content}" for item in found.items]
    lines += [f"(related) {bullet.text}" for bullet in found.related]
    return "\n".join(lines) or "Nothing found."


def history_table(changes: "Sequence[Change]") -> Shown:
    """What happened to one memory."""
    if not changes:
        return "Nothing is recorded of this memory."
    return _changes(changes, None)


def changes_table(found: "Changes") -> Shown:
    """What happened to a user's memories, and where that leaves off."""
    position = f"At revision {found.revision}."
    if not found.changes:
        return f"Nothing changed. {position}"
    last = found.changes[-1].revision
    note = f"{position} More: add --since {last}" if found.more else position
    return _changes(found.changes, note)


def theme_table(themes: "Sequence[Theme]") -> Shown:
    """Headings, with how many memories each has."""
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
    return Listing(headings, rows)


def thread_table(page: "Page[Thread]") -> Shown:
    """Conversations, one a row."""
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
    return Listing(["Thread", "Turns", "Updated (UTC)", "Title"], rows, more_text(page.next_cursor))


def turn_table(page: "Page[Turn]") -> Shown:
    """What was said, one turn a row, whole."""
    if not page.items:
        return "Nothing was said in this conversation."
    rows = [
        [str(turn.position), moment_text(turn.at), turn.actor or turn.role, turn.content]
        for turn in page
    ]
    return Listing(["", "At (UTC)", "Who", "Said"], rows, more_text(page.next_cursor))


def job_table(jobs: "Sequence[Job]") -> Shown:
    """Background jobs, one a row."""
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
    return Listing(headings, rows)


def job_stats_table(stats: "Sequence[JobStats]") -> Shown:
    """How many jobs of each kind stand where."""
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
    return Listing([*headings, "Due since (UTC)"], rows)


def name_table(heading: str, empty: str) -> Callable[[Sequence[str]], Shown]:
    """Names below each other, or what to say when there are none."""

    def shown(names: Sequence[str]) -> Shown:
        return Listing([heading], [[name] for name in names]) if names else empty

    return shown


def link_table(empty: str) -> Callable[["Sequence[Link]"], Shown]:
    """Who sees a memory or was offered it, or what to say when nobody is."""

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
        return Listing(["User", "State", "Since (UTC)", "Until (UTC)"], rows) if rows else empty

    return shown


def blocked_table(found: "Sequence[BlockedSender]") -> Shown:
    """Who is blocked, and since when."""
    if not found:
        return "Nobody is blocked. Block somebody: ricordo senders block USER"
    return Listing(
        ["User", "Since (UTC)"], [[one.user_id, moment_text(one.since)] for one in found]
    )


def done(verb: str) -> Callable[["Item"], str]:
    """A sentence about what was done to a memory."""
    return lambda item: f"{verb} {item.id}: {one_line(item.content)}"


def _marks(hit: "Hit") -> list[str]:
    return [f"{hit.score:.3f}", f"{hit.confidence:.2f}"]


def _said(hit: "Hit") -> str:
    return " ".join(hit.content_snippet.split())


def _explained(row: list[str], hit: "Hit") -> Iterator[list[str]]:
    yield row
    if hit.explanation is not None:
        parts = (_part(name, value) for name, value in hit.explanation.items())
        yield [*[""] * (len(row) - 1), ", ".join(filter(None, parts))]


def _part(name: str, value: object) -> str:
    """A part of a score in a few words; nothing where there is none."""
    if isinstance(value, Mapping):
        inner = ", ".join(filter(None, (_part(key, one) for key, one in value.items())))
        return f"{name} ({inner})" if inner else ""
    if value is None:
        return ""
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def _changes(changes: "Sequence[Change]", note: str | None) -> Listing:
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
    return Listing(headings, rows, note)


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
    """What a memory says, on one line, and how it stands where that is not as usual."""
    marks = ["pinned"] if item.pinned else []
    if item.status != Status.ACTIVE:
        marks.append(item.status)
    text = one_line(item.content)
    return f"{text} [{', '.join(marks)}]" if marks else text


def more_text(cursor: str | None) -> str | None:
    """How to get the next page, if there is one."""
    return None if cursor is None else f"More: add --cursor {cursor}"


def moment_text(moment: datetime) -> str:
    """A time to the minute."""
    return moment.isoformat(sep=" ", timespec="minutes")[:16]


def _plain_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
