"""Saving and loading the state of a program per conversation."""

from ricordo.agent_state.json_text import JsonText, read_json
from ricordo.errors import CheckpointNotFound, Conflict
from ricordo.model.thread import Checkpoint
from ricordo.storage.checkpoints import (
    Standing,
    delete_state,
    find_state,
    put_state,
    standing_of,
)
from ricordo.storage.database import Reading
from ricordo.storage.transaction import Writing


def save(writing: Writing, thread_id: str, state: JsonText, expected: int | None) -> Checkpoint:
    """Put a state in the place of the one before.

    Raises:
        Conflict: another version is there than the expected one.
    """
    present = standing_of(writing.connection, writing.user_id, thread_id)
    _check_expected(thread_id, present, expected)
    stands = put_state(writing, thread_id, state.text, present, writing.now)
    return Checkpoint(
        thread_id=thread_id,
        version=stands.version,
        state=state.value,
        created_at=stands.created_at,
        updated_at=writing.now,
    )


def load(view: Reading, user_id: str, thread_id: str) -> Checkpoint:
    """The state that was saved last.

    Raises:
        CheckpointNotFound: nothing is saved for this conversation.
    """
    found = find_state(view.connection, user_id, thread_id)
    if found is None:
        raise CheckpointNotFound(thread_id)
    return Checkpoint(
        thread_id=thread_id,
        version=found.version,
        state=read_json("state", found.state),
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def delete(writing: Writing, thread_id: str, expected: int | None) -> bool:
    """Remove what was saved for a conversation; False where nothing was.

    Raises:
        Conflict: another version is there than the expected one.
    """
    if expected is not None:
        present = standing_of(writing.connection, writing.user_id, thread_id)
        _check_expected(thread_id, present, expected)
    return delete_state(writing, thread_id)


def _check_expected(thread_id: str, present: Standing | None, expected: int | None) -> None:
    there = 0 if present is None else present.version
    if expected is None or expected == there:
        return
    stands = "has none" if present is None else f"is at version {there}"
    wanted = "no checkpoint was expected" if expected == 0 else f"version {expected} was expected"
    raise Conflict(f"thread {thread_id!r} {stands}; {wanted}: load it and try again")
