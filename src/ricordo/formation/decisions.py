"""Decisions of formation: rejection codes, counters, log lines and reports."""

import functools
import hashlib
import hmac
import json
import logging
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from ricordo.errors import EmbedderRefused
from ricordo.formation.conflicts import IDENTICAL, REDUNDANT, WRITING_ACTIONS, Resolution
from ricordo.frozen import dataclass, replace
from ricordo.model.activity import FORMED_WRITES, KNOWN_ALREADY, decisions_counter
from ricordo.model.item import Added
from ricordo.model.reports import Decision, PastDecision
from ricordo.model.vocabulary import Action, EventStatus
from ricordo.providers.encryption import SecretBox
from ricordo.storage.activity import page_of_events, put_events, tally
from ricordo.storage.database import WriteTransaction
from ricordo.storage.formation import proposed_contents
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.text.secrets import without_secrets

NODE: Final = "formation"
DAILY_CAP: Final = "the daily number of memories is reached"
TURN_CAP: Final = "enough from one turn"
_SKIPPED: Final = frozenset({Action.IGNORE, Action.REJECT, Action.DEFER})
_KNOWN: Final = frozenset({IDENTICAL, REDUNDANT})

LOGGER: Final = "ricordo.decisions"
FIELDS: Final = "fields"
"""The attribute of a log record that holds its values, for handlers."""
_EVENT: Final = "memory_decision"
_PURPOSE: Final = "ricordo log pseudonyms"
_log = logging.getLogger(LOGGER)


class RejectionCode(StrEnum):
    """What was wrong with a candidate.

    The first are for code that makes candidates, those from ``EMPTY`` on the validator's.
    """

    TOO_MANY = "too_many"
    MATERIAL = "material"
    UNSUPPORTED = "unsupported"
    NOT_ASKED_FOR = "not_asked_for"
    NOT_UNDERSTOOD = "not_understood"
    OUT_OF_REACH = "out_of_reach"
    ROLE_PLAY = "role_play"
    TAKEN_BACK = "taken_back"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    NO_EVIDENCE = "no_evidence"
    FROM_A_TOOL = "from_a_tool"
    SECRET = "secret"  # noqa: S105 - the name of a rule
    ADDRESSES_THE_MODEL = "addresses_the_model"
    MARKUP = "markup"
    PLACEHOLDER = "placeholder"
    QUESTION = "question"
    NOT_NEUTRAL = "not_neutral"
    NUMBERED = "numbered"
    NOT_STEPS = "not_steps"
    NOT_THIRD_PERSON = "not_third_person"
    NO_REFERENT = "no_referent"
    ABOUT_THE_CONVERSATION = "about_the_conversation"
    NOT_PAST = "not_past"
    DANGLING_TIME = "dangling_time"
    OTHER_LANGUAGE = "other_language"
    NOT_KEPT = "not_kept"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Rejection:
    """``detail`` is for a log: it does not repeat what was said."""

    code: RejectionCode
    detail: str


def decision_of(resolution: Resolution, added: Added | None = None) -> Decision:
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


def not_written(resolution: Resolution, action: Action, reason: str) -> Decision:
    return decision_of(replace(resolution, action=action, reason=reason, targets=()))


def rejected(content: str, rejection: Rejection) -> Decision:
    reason = rejection.code.value
    if rejection.code is RejectionCode.NOT_KEPT:
        reason = f"{reason}: {rejection.detail}"
    return Decision(action=Action.REJECT, reason=reason, content=without_secrets(content))


def said_again(
    user_id: str, resolutions: Sequence[Resolution], decisions: Sequence[Decision]
) -> list[int]:
    """The user's own memories that were repeated, so that there was nothing to write.

    ``decisions`` may go on with candidates that never had a resolution.
    """
    repeated = []
    for resolution, decision in zip(resolutions, decisions, strict=False):
        if not _is_known(decision):
            continue
        if decision.memory_id is not None:  # found to exist while writing
            repeated.append(decision.memory_id)
        else:
            repeated += [item.id for item in resolution.targets if item.user_id == user_id]
    return repeated


def note_decisions(writing: WriteTransaction, thread_id: str, decisions: Sequence[Decision]) -> int:
    """Count decisions and record them as events; returns how many memories were written."""
    counts = Counter(decisions_counter(one.action) for one in decisions)
    written = sum(one.action in WRITING_ACTIONS for one in decisions)
    known = sum(_is_known(one) for one in decisions)
    tally(writing, {**counts, FORMED_WRITES: written, KNOWN_ALREADY: known})
    put_events(writing, [_event(thread_id, one) for one in decisions])
    return written


def past_decisions(
    connection: sa.Connection,
    user_id: str,
    thread_id: str | None,
    action: Action | None,
    limit: int,
) -> tuple[PastDecision, ...]:
    steps = (NODE, [one.value for one in Action if action in (None, one)])
    found = page_of_events(connection, user_id, limit, None, thread_id, steps).items
    ids = {event.item_id for event in found if event.item_id is not None}
    # Memories and proposals have ids of one series.
    says = proposed_contents(connection, user_id, ids)
    own = (items.c.user_id == user_id) & items.c.id.in_(ids)
    says |= {item.id: item.content for item in find_items(connection, own)}
    return tuple(
        PastDecision(
            at=event.at,
            thread_id=event.thread_id,
            action=Action(event.op),
            reason=event.detail,
            theme=event.theme,
            item_id=event.item_id,
            content=None if event.item_id is None else says.get(event.item_id),
        )
        for event in found
    )


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


class DecisionLog:
    """Logs one line for each formed segment to ``ricordo.decisions``.

    Logs outlive erased users, so names appear as pseudonyms.
    """

    def __init__(self, secret: SecretBox) -> None:
        self._secret = secret

    def write(
        self,
        user_id: str,
        thread_id: str,
        *,
        read_by: str,
        turns: int,
        input_chars: int,
        material: Mapping[str, int],
        decisions: list[Decision],
    ) -> None:
        if not _log.isEnabledFor(logging.INFO):
            return
        line = {
            "event": _EVENT,
            "user": self._pseudonym(user_id),
            "thread": self._pseudonym(user_id, thread_id),
            "read_by": read_by,
            "turns": turns,
            "input_chars": input_chars,
            "material": dict(sorted(material.items())),
            "extracted_count": len(decisions),
            "decisions": [_shown(decision) for decision in decisions],
        }
        _log.info(json.dumps(line, ensure_ascii=False), extra={FIELDS: line})

    def _pseudonym(self, *names: str) -> str:
        """The same for the same names; cannot be reversed without the key."""
        said = json.dumps(names).encode("utf-8")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()[:16]

    @functools.cached_property
    def _key(self) -> bytes:
        """The key shared by all processes of this store; if it cannot be stored, one of this
        process.
        """
        try:
            return self._secret.key_for(_PURPOSE)
        except EmbedderRefused:
            return secrets.token_bytes(32)


def _shown(decision: Decision) -> dict[str, object]:
    fields = decision.to_dict()
    del fields["content"]
    del fields["key"]  # may reveal what the memory is about
    return {name: value for name, value in fields.items() if value is not None}
