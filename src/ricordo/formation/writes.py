"""From a candidate to a stored memory, and from a memory back to its turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import Candidate, source_role
from ricordo.formation.conflicts import Resolution
from ricordo.index.relations import Neighbours
from ricordo.memories import additions, replacement, sharing
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.item import Added, Item
from ricordo.model.scope import Scope
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import Action, Event, Source
from ricordo.recall.service import Recall
from ricordo.storage.database import WriteTransaction
from ricordo.storage.search_rows import text_hash

WRITING_ACTIONS: Final = frozenset({Action.ADD, Action.UPDATE, Action.REPLACE, Action.UNLINK})


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """The vectors that a write needs, computed before its transaction."""

    known: KnownVectors
    near: Neighbours


def prepare(recall: Recall, user_id: str, resolutions: Sequence[Resolution]) -> PreparedWrite:
    """Compute the vectors of what may be written. No transaction may be open."""
    texts = [one.candidate.content for one in resolutions if one.action in WRITING_ACTIONS]
    known = recall.embedders.known_vectors(user_id, texts)
    return PreparedWrite(known, recall.relating.neighbours(user_id, known))


def write(
    recall: Recall,
    writing: WriteTransaction,
    resolution: Resolution,
    draft: NewMemory,
    prepared: PreparedWrite,
) -> Added:
    """Write one memory as the resolution says, and record its relations."""
    added = _written(writing, resolution, draft)
    entry = [(added.id, text_hash(draft.content))]
    if added.updated:
        recall.relating.renew(writing, entry, prepared.known, prepared.near)
    elif added.is_new:
        recall.relating.note(writing, entry, prepared.known, prepared.near)
    return added


def _written(writing: WriteTransaction, resolution: Resolution, draft: NewMemory) -> Added:
    scope = Scope(writing.user_id, agent_id=draft.agent_id)
    targets = [item.id for item in resolution.targets]
    if resolution.action is Action.REPLACE:
        # The model's explanation is stored with the replaced memory.
        why = resolution.reason if resolution.why is None else resolution.why
        return replacement.replace_with(
            writing, scope, targets, draft, Event.SUPERSEDE, why, reason_to_add=resolution.reason
        )
    if resolution.action is Action.UNLINK:
        for target in targets:
            sharing.unlink(writing, scope, target, None)
    return additions.add_all(writing, scope, [draft], resolution.reason)[0]


def draft_of(candidate: Candidate, thread_id: str, now: datetime) -> NewMemory:
    """The memory as it would be written: valid from when it was said, with its quote."""
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
        valid_from=min(passage.at, now),  # not in the future, if a clock is ahead
    )


def source_of(candidate: Candidate) -> Source:
    """A tool, an explicit request, or the conversation."""
    if not candidate.passage.is_from_user:
        return Source.TOOL_CALL
    return Source.USER_EXPLICIT if candidate.is_explicit else Source.CONVERSATION


def source_among(item: Item, said: Iterable[Turn]) -> Turn | None:
    """The turn that a memory was formed from; None if that is not certain: a wrong turn is worse
    than none.

    ``said`` must have every possible turn: the one with its message id or, for a memory without
    one, all of its thread at the time from which it is valid.

    A message id alone decides. Without one, a turn must have none either, and match the memory's
    quote, role, speaker and time. If several match that say different things, it could be any of
    them; if they say the same, it is the first.
    """
    found = [turn for turn in said if may_be_source(item, turn)]
    if len({turn.content for turn in found}) != 1:
        return None
    return min(found, key=lambda turn: turn.position)


def may_be_source(item: Item, turn: Turn) -> bool:
    """Whether a memory can have been formed from a turn."""
    if item.thread_id is None or item.thread_id != turn.thread_id:
        return False
    if item.message_id is not None or turn.message_id is not None:
        return item.message_id == turn.message_id
    return (
        item.source_context is not None
        and item.valid_from == turn.at
        and item.role is not None
        and item.role == source_role(turn.role)
        and item.actor_id == turn.actor
        and item.source_context in turn.content
    )
