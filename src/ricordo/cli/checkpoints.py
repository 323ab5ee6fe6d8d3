"""States of programs: ``checkpoint list``, ``save``, ``load`` and ``delete``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from ricordo import limits
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import DeletedCheckpoint
from ricordo.cli.options import STANDARD_STREAM, Owner
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.cli.tables import table
from ricordo.errors import InvalidValue
from ricordo.operations import conversations as describe

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
