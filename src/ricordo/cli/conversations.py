"""Conversations: ``observe`` to ``redact``, context windows, and forming memories."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.input import Unnamed, read_transcript
from ricordo.cli.options import (
    STANDARD_STREAM,
    Cursor,
    Limit,
    MemoryId,
    Named,
    Owner,
    Reason,
    completing_names,
)
from ricordo.cli.recall import Explain, ResultLimit, Threshold, warn
from ricordo.cli.render import Shown, TableListing, answer, progress_bar, working
from ricordo.cli.session import open_user
from ricordo.cli.tables import (
    audit_table,
    formation_table,
    memory_text,
    moment_text,
    more_text,
    summary_text,
)
from ricordo.model.thread import Observed, Thread

if TYPE_CHECKING:
    from ricordo.model.record import Page
    from ricordo.model.thread import CompactionReport, DayLog, FormedTurn, Turn, Window

ThreadId = Annotated[
    str,
    typer.Argument(
        metavar="THREAD",
        help="Name of the conversation.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
Transcript = Annotated[
    Path, typer.Argument(metavar="FILE", help="What was said; - is standard input.")
]
IntoThread = Annotated[
    str,
    typer.Option(
        "--thread",
        metavar="ID",
        help="Conversation it belongs to.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What the conversation is called.")]
DefaultRole = Annotated[
    str | None, typer.Option(metavar="NAME", help="Role where none is given (in plain text: user).")
]
DefaultActor = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who speaks in that role where no name is given.")
]
FormNow = Annotated[bool, typer.Option("--form", help="Form memories from it at once.")]
Asked = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")]
OfThread = Annotated[
    str | None,
    typer.Option(
        "--thread",
        metavar="ID",
        help="Conversation.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
OfRole = Annotated[str | None, typer.Option("--role", metavar="NAME", help="Role, e.g. user.")]
OfActor = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Who spoke.")]
Position = Annotated[int, typer.Argument(metavar="POSITION", help="Which turn, from 1 on.")]
Redacted = Annotated[
    str | None,
    typer.Option(metavar="WORDS", help="The words to take out; - reads them from standard input."),
]
Whole = Annotated[bool, typer.Option("--whole", help="Take out all of the turn.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Said at or after.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Said before.")]


def observe(
    *,
    path: Transcript = Path(STANDARD_STREAM),
    thread: IntoThread,
    title: Title = None,
    role: DefaultRole = None,
    actor: DefaultActor = None,
    form: FormNow = False,
    owner: Owner,
) -> None:
    """Record what was said, so that it can be found and formed into memories.

    Memories are formed at once with --form, and otherwise by: ricordo jobs run

    The content shows which of three it is. A JSON list of messages begins with [ and a message.
    JSON Lines begin with { and have a message on each line. Anything else is plain text, where
    NAME: TEXT or ROLE: TEXT begins a turn (roles: user, assistant, system, tool) and any other line
    goes on with it. Messages have role and content, and may have actor, at, id and tool_calls.

    All of it is checked before anything is recorded. A message with an id is recorded once.

    Example: ricordo observe --thread monday chat.txt
    """
    said = read_transcript(path, Unnamed(role, actor))
    recorded = known = 0
    wanted = not owner.as_json
    with open_user(owner) as memory:
        with progress_bar("Observing", wanted=wanted) as move:
            for start in range(0, len(said), limits.MAX_OBSERVED_TURNS):
                batch = said[start : start + limits.MAX_OBSERVED_TURNS]
                done = memory.observe(batch, thread=thread, title=title)
                recorded += done.recorded
                known += done.known
                move(start + len(batch), len(said))
        with working("Forming memories", wanted=wanted and form):
            report = memory.form(thread) if form else None
    observed = Observed(thread, recorded, known)
    if report is None:
        answer(owner.as_json, observed, _sentence)
    elif owner.as_json:
        answer(True, {**observed.to_dict(), "formed": report.to_dict()}, str)
    else:
        answer(False, observed, _sentence)
        answer(False, report, formation_table)


def search_turns(
    *,
    query: Asked,
    thread: OfThread = None,
    role: OfRole = None,
    actor: OfActor = None,
    since: Since = None,
    until: Until = None,
    limit: ResultLimit = limits.DEFAULT_RESULTS,
    threshold: Threshold = None,
    explain: Explain = False,
    owner: Owner,
) -> None:
    """Find what was said by meaning and by words, the best first.

    Example: ricordo search-turns "when does the train leave" --actor ben
    """
    with open_user(owner) as memory:
        found = memory.search_turns(
            query,
            limit=limit,
            thread=thread,
            role=role,
            actor=actor,
            since=since,
            until=until,
            threshold=threshold,
            explain=explain,
        )
    warn(found.degraded, owner)
    nothing = tables.nothing_found("ricordo threads", threshold)
    answer(owner.as_json, found, lambda hits: tables.turn_hit_table(hits, nothing))


def threads(
    *, limit: Limit = limits.DEFAULT_PAGE_ITEMS, cursor: Cursor = None, owner: Owner
) -> None:
    """List conversations, the latest first."""
    with open_user(owner) as memory:
        page = memory.threads(limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.thread_table)


def thread(*, thread_id: ThreadId, owner: Owner) -> None:
    """Show how long a conversation is, and how far memories have been formed from it."""
    with open_user(owner) as memory:
        found = memory.thread(thread_id)
    answer(owner.as_json, found, _thread_card)


def turns(
    *,
    thread_id: ThreadId,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """Show what was said in a conversation."""
    with open_user(owner) as memory:
        page = memory.turns(thread_id, limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.turn_table)


def redact(
    *,
    thread_id: ThreadId,
    position: Position,
    text: Redacted = None,
    whole: Whole = False,
    reason: Reason = None,
    owner: Owner,
) -> None:
    """Take words out of what was said, for good.

    Without more, the secrets that are recognised in the turn; [redacted] stands in their place.
    They also go from what the turn is found by, from quotes of it and from summaries.

    Example: ricordo redact monday 3
    """
    words = sys.stdin.read().rstrip("\n") if text == STANDARD_STREAM else text
    with open_user(owner) as memory:
        changed = memory.redact(thread_id, position, text=words, whole=whole, reason=reason)
    answer(owner.as_json, changed, lambda turn: f"Turn {turn.position} now says: {turn.content}")


def _thread_card(thread: Thread) -> TableListing:
    known = {name: value for name, value in thread.to_dict().items() if value is not None}
    return TableListing([], [[name, str(value)] for name, value in known.items()])


def _sentence(observed: Observed) -> str:
    known = f", known already {observed.known}" if observed.known else ""
    return f"Recorded {observed.recorded} turns in {observed.thread_id}{known}."


FromPosition = Annotated[
    int | None, typer.Option(metavar="N", help="Number of the turn to begin with.")
]


def source(*, memory_id: MemoryId, owner: Owner) -> None:
    """Show what was said that a memory was formed from."""
    with open_user(owner) as memory:
        found = memory.source_turn(memory_id)
    answer(owner.as_json, found, _source_table)


def formed(
    *,
    thread_id: ThreadId,
    from_position: FromPosition = None,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """Show what was said in a conversation, and below each turn the memories that came from it.

    Example: ricordo formed monday --from-position 20
    """
    with open_user(owner) as memory:
        page = memory.formed_turns(
            thread_id, from_position=from_position, limit=limit, cursor=cursor
        )
    answer(owner.as_json, page, _formed_table)


def _source_table(turn: "Turn | None") -> Shown:
    if turn is None:
        return "No recorded turn can be told to be its source."
    row = [turn.thread_id, *_said(turn)]
    return TableListing(["Thread", "", "At (UTC)", "Who", "Said"], [row])


def _formed_table(page: "Page[FormedTurn]") -> Shown:
    if not page.items:
        return "Nothing was said in this conversation from there on."
    rows = []
    for one in page:
        rows.append(_said(one.turn))
        rows += [["", "", "", f"→ {item.id} {memory_text(item)}"] for item in one.memories]
    return TableListing(["", "At (UTC)", "Who", "Said"], rows, more_text(page.next_cursor))


def _said(turn: "Turn") -> list[str]:
    return [str(turn.position), moment_text(turn.at), turn.actor or turn.role, turn.content]


ThreadName = Annotated[
    str,
    typer.Argument(
        metavar="THREAD",
        help="Name of the conversation.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
OfDay = Annotated[
    str | None, typer.Option(metavar="DATE", help="Day, such as 2026-01-31 (default: today).")
]


def window(*, thread: ThreadName, owner: Owner) -> None:
    """Show what a prompt shows of a conversation: its latest turns, and the rest in short."""
    with open_user(owner) as memory:
        found = memory.window(thread)
    answer(owner.as_json, found, window_text)


def compact(*, thread: ThreadName, owner: Owner) -> None:
    """Tell all but the latest turns of a conversation in short, now.

    A job does that by itself when a conversation has grown long enough. The turns stay recorded.
    """
    with open_user(owner) as memory, working("Compacting", wanted=not owner.as_json):
        report = memory.compact(thread)
    answer(owner.as_json, report, _report_text)


def resume(*, thread: ThreadName, owner: Owner) -> None:
    """Take up a conversation again: its last turns, what came before, what else was said today."""
    with open_user(owner) as memory:
        found = memory.resume(thread)
    answer(owner.as_json, found, window_text)


def log(*, day: OfDay = None, owner: Owner) -> None:
    """Show what the conversations of a day were about."""
    with open_user(owner) as memory:
        found = memory.day_log(day)
    answer(owner.as_json, found, _log_table)


def window_text(found: "Window") -> str:
    parts = []
    if found.today is not None:
        parts.append(f"Else today:\n{found.today}")
    if found.bridge is not None:
        parts.append(f"Up to turn {found.compacted_to}, in short:\n{found.bridge}")
    parts += [
        f"{turn.position}. {turn.actor or turn.role} ({moment_text(turn.at)}): {turn.content}"
        for turn in found.turns
    ]
    return "\n\n".join(parts) or "Nothing was said in this conversation."


def _report_text(report: "CompactionReport") -> str:
    if not report.compactions:
        return f"Nothing to compact: {report.open_turns} turns stay as they are."
    return (
        f"Told {report.turns} turns in short ({', '.join(report.made_by)});"
        f" {report.open_turns} stay as they are."
    )


def _log_table(found: "DayLog") -> Shown:
    if not found.entries:
        return f"Nothing was put into a summary on {found.day}."
    rows = [[moment_text(one.at), one.thread_id, one.summary] for one in found.entries]
    return TableListing(["Until (UTC)", "Thread", "What was said"], rows)


FormedThread = Annotated[
    str | None,
    typer.Argument(
        metavar="THREAD",
        help="Conversation to form; all of them when not given.",
        autocompletion=completing_names(Named.THREAD),
    ),
]


def form(*, thread: FormedThread = None, owner: Owner) -> None:
    """Form memories now from what is new in a conversation, or in all of them.

    What is sensitive is not stored but proposed: ricordo proposals

    Example: ricordo form monday
    """
    with open_user(owner) as memory, working("Forming memories", wanted=not owner.as_json):
        report = memory.form(thread)
    answer(owner.as_json, report, formation_table)


def summary(*, owner: Owner) -> None:
    """Tell what is known of a user, as one text."""
    with open_user(owner) as memory, working("Summing up", wanted=not owner.as_json):
        found = memory.summary()
    answer(owner.as_json, found, summary_text)


def audit(*, limit: Limit = limits.DEFAULT_PAGE_ITEMS, owner: Owner) -> None:
    """Look over what is stored: duplicates, contradictions, junk, unverified and expired."""
    with open_user(owner) as memory, working("Looking memories over", wanted=not owner.as_json):
        report = memory.audit(limit=limit)
    answer(owner.as_json, report, audit_table)
