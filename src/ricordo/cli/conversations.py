"""Conversations: ``observe`` to ``redact``, windows, forming memories, states of programs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.input import Unnamed, read_transcript
from ricordo.cli.json_answers import DeletedCheckpoint
from ricordo.cli.recall import warn
from ricordo.cli.render import Shown, TableListing, answer, progress_bar, working
from ricordo.cli.store import STANDARD_STREAM, Owner, open_user
from ricordo.cli.tables import memory_text, moment_text, more_text, table
from ricordo.errors import InvalidValue
from ricordo.model.thread import Observed
from ricordo.operations import conversations as describe
from ricordo.operations import recall as describe_recall

if TYPE_CHECKING:
    from ricordo.model.record import Page
    from ricordo.model.thread import CompactionReport, DayLog, FormedTurn, Turn, Window

Transcript = Annotated[
    Path, typer.Argument(metavar="FILE", help="What was said; - is standard input.")
]
DefaultRole = Annotated[
    str | None, typer.Option(metavar="NAME", help="Role where none is given (in plain text: user).")
]
DefaultActor = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who speaks in that role where no name is given.")
]
FormNow = Annotated[bool, typer.Option("--form", help="Form memories from it at once.")]


def observe(
    *,
    path: Transcript = Path(STANDARD_STREAM),
    given: Given = options_of(describe.observe, "messages"),
    role: DefaultRole = None,
    actor: DefaultActor = None,
    form: FormNow = False,
    owner: Owner,
) -> None:
    """Record what was said, to be found again and to form memories from.

    Memories are formed at once with --form, and otherwise by: ricordo jobs run

    The content shows which of three it is. A JSON list of messages begins with [ and a message.
    JSON Lines begin with { and have a message on each line. Anything else is plain text, where
    NAME: TEXT or ROLE: TEXT begins a turn (roles: user, assistant, system, tool) and any other line
    goes on with it. Messages have role and content, and may have actor, at, id and tool_calls.

    All of it is checked before anything is recorded. A message with an id is recorded once.

    Example: ricordo observe --thread monday chat.txt
    """
    said = read_transcript(path, Unnamed(role, actor))
    thread = given["thread"]
    recorded = known = 0
    wanted = not owner.as_json
    with open_user(owner) as memory:
        with progress_bar("Observing", wanted=wanted) as move:
            for start in range(0, len(said), limits.MAX_OBSERVED_TURNS):
                batch = said[start : start + limits.MAX_OBSERVED_TURNS]
                done = memory.observe(batch, **given)
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
        answer(False, report, tables.formation_table)


def search_turns(*, given: Given = options_of(describe_recall.search_turns), owner: Owner) -> None:
    """Find what was said by meaning and by words, the best first.

    Example: ricordo search-turns "when does the train leave" --actor ben
    """
    with open_user(owner) as memory:
        found = memory.search_turns(given.pop("query"), **given)
    warn(found.degraded, owner)
    nothing = tables.nothing_found("ricordo threads", given.get("threshold"))
    answer(owner.as_json, found, lambda hits: tables.turn_hit_table(hits, nothing))


def redact(
    *,
    given: Given = options_of(describe.redact, thread_id="THREAD"),
    owner: Owner,
) -> None:
    """Remove words from what was said, for good.

    Without more, the secrets that are recognised in the turn; [redacted] stands in their place.
    They also go from what the turn is found by, from quotes of it and from summaries. The words
    of --text - are read from standard input.

    Example: ricordo redact monday 3
    """
    if given.get("text") == STANDARD_STREAM:
        given["text"] = sys.stdin.read().rstrip("\n")
    with open_user(owner) as memory:
        changed = memory.redact(**given)
    answer(owner.as_json, changed, lambda turn: f"Turn {turn.position} now says: {turn.content}")


def _sentence(observed: Observed) -> str:
    known = f", known already {observed.known}" if observed.known else ""
    return f"Recorded {observed.recorded} turns in {observed.thread_id}{known}."


def _source_table(turn: "Turn | None") -> Shown:
    if turn is None:
        return "No recorded turn can be told to be its source."
    return TableListing(["Thread", "", "At (UTC)", "Who", "Said"], [[turn.thread_id, *_said(turn)]])


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
        f"Summarised {report.turns} turns ({', '.join(report.made_by)});"
        f" {report.open_turns} stay as they are."
    )


def _log_table(found: "DayLog") -> Shown:
    if not found.entries:
        return f"Nothing was put into a summary on {found.day}."
    rows = [[moment_text(one.at), one.thread_id, one.summary] for one in found.entries]
    return TableListing(["Until (UTC)", "Thread", "What was said"], rows)


threads = command_of(describe.threads, tables.thread_table, project_id="--only-project")
thread = command_of(describe.thread, tables.card, thread_id="THREAD")
turns = command_of(describe.turns, tables.turn_table, thread_id="THREAD")
source = command_of(describe_recall.source_turn, _source_table)
formed = command_of(
    describe_recall.formed_turns,
    _formed_table,
    example="ricordo formed monday --from-position 20",
    thread_id="THREAD",
)
window = command_of(describe.window, window_text, thread="THREAD")
compact = command_of(describe.compact, _report_text, doing="Summarising", thread="THREAD")
resume = command_of(describe.resume, window_text, thread="THREAD")
log = command_of(describe.day_log, _log_table)
form = command_of(
    describe.form,
    tables.formation_table,
    about="Form memories now from what is new in a conversation, or in all of them.\n\n"
    "What is sensitive is not stored but proposed: ricordo proposals",
    example="ricordo form monday",
    doing="Forming memories",
    thread="THREAD",
)
summary = command_of(describe.summary, tables.summary_text, doing="Summing up")
audit = command_of(describe.audit, tables.audit_table, doing="Examining memories")

_SPELT: Final = {"thread": "THREAD", "expected_version": "--expect"}
StateFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The state as JSON; - is standard input.")
]


def save(
    *,
    given: Given = options_of(describe.save_checkpoint, "state", **_SPELT),
    path: StateFile = Path(STANDARD_STREAM),
    owner: Owner,
) -> None:
    """Save a program's state of a conversation, which is any JSON value.

    Example: echo '{"step": 3}' | ricordo checkpoint save monday
    """
    state = _read_state(path)
    with open_user(owner) as memory:
        saved = memory.save_checkpoint(state=state, **given)
    done = f"Saved version {saved.version} of {saved.thread_id}."
    answer(owner.as_json, saved, lambda _: done)


def delete(
    *, given: Given = options_of(describe.delete_checkpoint, **_SPELT), owner: Owner
) -> None:
    """Remove the state that is saved for a conversation."""
    thread = given["thread"]
    with open_user(owner) as memory:
        deleted = memory.delete_checkpoint(**given)
    said = f"Deleted: {thread}" if deleted else f"Nothing is saved for {thread}."
    done = DeletedCheckpoint(thread_id=thread, deleted=deleted)
    answer(owner.as_json, done, lambda _: said)


def _read_state(path: Path) -> object:
    maximum = limits.MAX_CHECKPOINT_BYTES
    try:
        if str(path) == STANDARD_STREAM:
            content = sys.stdin.buffer.read(maximum + 1)
        else:
            with path.open("rb") as file:
                content = file.read(maximum + 1)
    except OSError as error:
        raise InvalidValue("state", f"{path} cannot be read ({error.strerror})") from None
    if len(content) > maximum:
        raise InvalidValue("state", f"{path}: more than {maximum} bytes, the most allowed")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InvalidValue("state", f"{path}: not JSON in UTF-8 ({problem})") from None


_TABLE: Final = table(
    {
        "Thread": "thread_id",
        "Version": "version",
        "Bytes": lambda one: f"{one.size_bytes:,}",
        "Saved (UTC)": "updated_at",
    },
    empty="No checkpoints. Save one: ricordo checkpoint save THREAD FILE",
)

list_checkpoints = command_of(describe.checkpoints, _TABLE)
load = command_of(
    describe.load_checkpoint,
    lambda found: json.dumps(found.state, ensure_ascii=False, indent=2),
    about="Show the state of a conversation that was saved last, as JSON.",
    thread="THREAD",
)
