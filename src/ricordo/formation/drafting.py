"""From a candidate to the memory that it would become."""

from datetime import datetime

from ricordo import limits
from ricordo.formation.candidate import Candidate
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source


def draft_of(candidate: Candidate, thread_id: str, now: datetime) -> NewMemory:
    """The memory as it would be written: true from when it was said, with the words it rests on."""
    passage = candidate.passage
    return NewMemory(
        content=candidate.content,
        theme=candidate.theme,
        type=candidate.type,
        key=candidate.key,
        importance=candidate.importance,
        source=source_of(candidate),
        source_context=candidate.quote[: limits.MAX_SOURCE_CONTEXT_CHARS],
        thread_id=thread_id,
        agent_id=None if passage.observed_by is None else passage.observed_by.agent,
        message_id=passage.message_id,
        actor_id=passage.actor,
        role=passage.role,
        valid_from=min(passage.at, now),  # a clock that is ahead does not make it start later
    )


def source_of(candidate: Candidate) -> Source:
    """How it came to be known: by a tool, because the user asked to keep it, or in passing."""
    if not candidate.passage.is_from_user:
        return Source.TOOL_CALL
    return Source.USER_EXPLICIT if candidate.is_explicit else Source.CONVERSATION
