"""States of programs: ``checkpoint list``, ``save``, ``load`` and ``delete``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.options import STANDARD_STREAM, Cursor, Limit, Named, Owner, completing_names
from ricordo.cli.render import Shown, TableListing, answer
from ricordo.cli.session import open_user
from ricordo.cli.shapes import DeletedCheckpoint
from ricordo.cli.tables import moment_text, more_text
from ricordo.errors import InvalidValue

if TYPE_CHECKING:
    from ricordo.model.record import Page
    from ricordo.model.thread import Checkpoint, CheckpointInfo

ThreadId = Annotated[
    str,
    typer.Argument(
        metavar="THREAD",
        help="Name of the conversation.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
StateFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The state as JSON; - is standard input.")
]
ExpectedVersion = Annotated[
    int | None,
    typer.Option(
        "--expect", metavar="N", help="Save only over this version; 0: only where there is none."
    ),
]
DeletedVersion = Annotated[
    int | None, typer.Option("--expect", metavar="N", help="Delete only this version.")
]


def list_checkpoints(
    *, limit: Limit = limits.DEFAULT_PAGE_ITEMS, cursor: Cursor = None, owner: Owner
) -> None:
    """List the states that programs have saved, the latest first."""
    with open_user(owner) as memory:
        page = memory.checkpoints(limit=limit, cursor=cursor)
    answer(owner.as_json, page, _table)


def save(
    *,
    thread: ThreadId,
    path: StateFile = Path(STANDARD_STREAM),
    expected_version: ExpectedVersion = None,
    owner: Owner,
) -> None:
    """Save a program's state of a conversation, which is any JSON value.

    Example: echo '{"step": 3}' | ricordo checkpoint save monday
    """
    state = _read_state(path)
    with open_user(owner) as memory:
        saved = memory.save_checkpoint(thread, state, expected_version=expected_version)
    answer(owner.as_json, saved, _saved_sentence)


def load(*, thread: ThreadId, owner: Owner) -> None:
    """Show the state of a conversation that was saved last, as JSON."""
    with open_user(owner) as memory:
        found = memory.load_checkpoint(thread)
    answer(owner.as_json, found, lambda one: json.dumps(one.state, ensure_ascii=False, indent=2))


def delete(*, thread: ThreadId, expected_version: DeletedVersion = None, owner: Owner) -> None:
    """Remove the state that is saved for a conversation."""
    with open_user(owner) as memory:
        deleted = memory.delete_checkpoint(thread, expected_version=expected_version)
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


def _saved_sentence(saved: "Checkpoint") -> str:
    return f"Saved version {saved.version} of {saved.thread_id}."


def _table(page: "Page[CheckpointInfo]") -> Shown:
    if not page.items:
        return "No checkpoints. Save one: ricordo checkpoint save THREAD FILE"
    rows = [
        [one.thread_id, str(one.version), f"{one.size_bytes:,}", moment_text(one.updated_at)]
        for one in page
    ]
    headings = ["Thread", "Version", "Bytes", "Saved (UTC)"]
    return TableListing(headings, rows, more_text(page.next_cursor))
