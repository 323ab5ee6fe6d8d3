"""Decisions as they are reported, counted and noted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ricordo.formation.comparing.resolving import IDENTICAL, REDUNDANT, Resolution
from ricordo.formation.memory_writes import WRITING_ACTIONS
from ricordo.formation.writing.rejection import Rejection, RejectionCode
from ricordo.model.activity import FORMED_WRITES, KNOWN_ALREADY, decisions_counter
from ricordo.model.item import Added
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import Action, EventStatus
from ricordo.storage.daily_counters import tally
from ricordo.storage.history import put_events
from ricordo.storage.transaction import Writing
from ricordo.text.secrets import without_secrets

NODE: Final = "formation"
DAILY_CAP: Final = "the daily number of memories is reached"
TURN_CAP: Final = "enough from one turn"
_SKIPPED: Final = frozenset({Action.IGNORE, Action.REJECT, Action.DEFER})
_KNOWN: Final = frozenset({IDENTICAL, REDUNDANT})


def decision_of(resolution: Resolution, added: Added | None = None) -> Decision:
    """A resolution as it is reported."""
    candidate = resolution.candidate
    target = resolution.targets[0].id if resolution.targets else None
    action, reason = resolution.action, resolution.reason
    if added is not None and added.duplicate:
        action, reason = Action.IGNORE, IDENTICAL
    return Decision(
        action=action,
        reason=reason,
        content=candidate.content,
        theme=candidate.theme,
        type=candidate.type.value,
        key=candidate.key,
        memory_id=None if added is None else added.id,
        target_id=target,
        similarity=None if resolution.similarity is None else round(resolution.similarity, 4),
    )


def put_off(resolution: Resolution) -> Decision:
    """What no longer fits into the day."""
    return decision_of(replace(resolution, action=Action.DEFER, reason=DAILY_CAP, targets=()))


def too_many(resolution: Resolution) -> Decision:
    """What goes beyond the most that one turn may give."""
    return decision_of(replace(resolution, action=Action.REJECT, reason=TURN_CAP, targets=()))


def out_of_reach(resolution: Resolution) -> Decision:
    """What an agent recorded that would change what the agent may not touch."""
    reason = RejectionCode.OUT_OF_REACH.value
    return decision_of(replace(resolution, action=Action.REJECT, reason=reason, targets=()))


def turned_away(content: str, rejection: Rejection) -> Decision:
    """What is not written as a memory should be, or rests on nothing that was said."""
    shown = without_secrets(content)
    return Decision(action=Action.REJECT, reason=rejection.code.value, content=shown)


def said_again(
    user_id: str, resolutions: Sequence[Resolution], decisions: Sequence[Decision]
) -> list[int]:
    """The user's own memories that were said once more, so that there was nothing to write.

    There may be more decisions, of what never came to a resolution, after the others.
    """
    met = []
    for resolution, decision in zip(resolutions, decisions, strict=False):
        if not _is_known(decision):
            continue
        if decision.memory_id is not None:  # met only when it was about to be written
            met.append(decision.memory_id)
        else:
            met += [item.id for item in resolution.targets if item.user_id == user_id]
    return met


def note_decisions(writing: Writing, thread_id: str, decisions: Sequence[Decision]) -> int:
    """Count what was decided and note it as events; how many memories were written."""
    counts = Counter(decisions_counter(one.action) for one in decisions)
    written = sum(one.action in WRITING_ACTIONS for one in decisions)
    known = sum(_is_known(one) for one in decisions)
    tally(writing, {**counts, FORMED_WRITES: written, KNOWN_ALREADY: known})
    put_events(writing, [_event(thread_id, one) for one in decisions])
    return written


def _is_known(decision: Decision) -> bool:
    return decision.action is Action.IGNORE and decision.reason in _KNOWN


def _event(thread_id: str, decision: Decision) -> dict[str, object]:
    status = EventStatus.SKIPPED if decision.action in _SKIPPED else EventStatus.OK
    return {
        "node": NODE,
        "op": decision.action.value,
        "status": status.value,
        "thread_id": thread_id,
        "item_id": decision.memory_id or decision.proposal_id or decision.target_id,
        "theme": decision.theme,
        "similarity": decision.similarity,
        "detail": decision.reason,
    }
