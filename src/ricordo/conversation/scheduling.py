"""When conversations are compacted: the job that is queued with the turn that fills the window."""

from typing import Final

from ricordo.conversation.policy import ConversationPolicy
from ricordo.model.job import NewJob
from ricordo.storage.threads import count_open_turns
from ricordo.storage.transaction import Writing

COMPACT_JOB: Final = "compact"
"""Kind of the job that tells the oldest open turns of a conversation in short."""


def plan_after_turns(
    writing: Writing, policy: ConversationPolicy, thread_id: str, recorded: int
) -> None:
    """Queue the compaction of a conversation whose window has just been filled.

    Not with every turn from then on: where a model is down, each of them would make the job try
    again at once. Should the job be lost, the next full window queues another.
    """
    open_turns = count_open_turns(writing.connection, writing.user_id, thread_id)
    if open_turns // policy.window_turns > (open_turns - recorded) // policy.window_turns:
        plan_compaction(writing, thread_id)


def plan_compaction(writing: Writing, thread_id: str) -> None:
    """Queue the compaction of one conversation of the writing user."""
    writing.enqueue(
        NewJob(
            kind=COMPACT_JOB,
            user_id=writing.user_id,
            run_at=writing.now,
            unique_key=thread_id,
            payload={},
        )
    )
