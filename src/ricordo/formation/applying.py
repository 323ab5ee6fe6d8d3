"""Carrying out what was decided: memories and proposals, within what a turn and a day may give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ricordo import limits
from ricordo.formation.comparing.resolving import Resolution
from ricordo.formation.consent import consenting
from ricordo.formation.consent.proposing import (
    Heard,
    keep_proposal,
    note_signal,
    settle_by_storing,
)
from ricordo.formation.deciding import decision_of, out_of_reach, put_off, too_many
from ricordo.formation.drafting import draft_of
from ricordo.formation.memory_writes import WRITING_ACTIONS, Prepared, write
from ricordo.formation.policy import FormationPolicy
from ricordo.model.activity import FORMED_WRITES
from ricordo.model.draft import NewMemory
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import Action
from ricordo.recall.service import Recall
from ricordo.storage.daily_counters import tally_of
from ricordo.storage.transaction import Writing
from ricordo.text.normalise import canonical


class Applier:
    """Carries out resolutions inside one transaction of one user."""

    def __init__(self, recall: Recall, policy: FormationPolicy) -> None:
        self._recall = recall
        self._policy = policy

    def apply(
        self,
        writing: Writing,
        thread_id: str,
        resolutions: Sequence[Resolution],
        prepared: Prepared,
    ) -> list[Decision]:
        """Write them in order; what became of each.

        What no longer fits into the day is put off, and so is all that was said after it.
        """
        left = self._policy.daily_writes - tally_of(
            writing.connection, writing.user_id, writing.now, FORMED_WRITES
        )
        decisions: list[Decision] = []
        per_turn: Counter[int] = Counter()
        for place, resolution in enumerate(resolutions):
            turn = resolution.candidate.passage.turn_id
            if left > 0 and _is_said_again(resolution, resolutions[place + 1 :]):
                decisions.append(self._note_said(writing, thread_id, resolution))
            elif resolution.action not in WRITING_ACTIONS:
                decisions.append(decision_of(resolution))
            elif _reaches_beyond(resolution):
                decisions.append(out_of_reach(resolution))
            elif left <= 0:
                decisions.append(put_off(resolution))
            elif per_turn[turn] >= limits.MAX_WRITES_PER_TURN:
                decisions.append(too_many(resolution))
            else:
                made = self._carry_out(writing, thread_id, resolution, prepared)
                written = made.action in WRITING_ACTIONS
                per_turn[turn] += written
                left -= written
                decisions.append(made)
        return decisions

    def _carry_out(
        self, writing: Writing, thread_id: str, resolution: Resolution, prepared: Prepared
    ) -> Decision:
        candidate = resolution.candidate
        waiting = consenting.waiting_for(
            writing.connection, writing.user_id, self._policy, candidate, writing.now
        )
        draft = draft_of(candidate, thread_id, writing.now)
        if waiting is not None and not waiting.is_ripe:
            return self._wait(writing, thread_id, resolution, draft, waiting)
        added = write(self._recall, writing, resolution, draft, prepared)
        settle_by_storing(writing, candidate, added.id)
        return decision_of(resolution, added)

    def _note_said(self, writing: Writing, thread_id: str, resolution: Resolution) -> Decision:
        """Count what is said again further on, so that the second time is the second."""
        candidate = resolution.candidate
        waiting = consenting.waiting_for(
            writing.connection, writing.user_id, self._policy, candidate, writing.now
        )
        if waiting is None or waiting.is_ripe:
            return decision_of(resolution)
        draft = draft_of(candidate, thread_id, writing.now)
        return self._wait(writing, thread_id, resolution, draft, waiting)

    def _wait(
        self,
        writing: Writing,
        thread_id: str,
        resolution: Resolution,
        draft: NewMemory,
        waiting: consenting.Waiting,
    ) -> Decision:
        ignored = replace(resolution, action=Action.IGNORE, targets=())
        if waiting.is_turned_down:
            return decision_of(replace(ignored, reason=consenting.TURNED_DOWN))
        if waiting.open is not None:
            note_signal(writing, waiting.open, resolution.candidate.passage.turn_id)
            again = replace(ignored, reason=consenting.PROPOSED_BEFORE)
            return replace(decision_of(again), proposal_id=waiting.open.id)
        candidate = resolution.candidate
        heard = Heard(candidate.quote, (candidate.passage.turn_id,), thread_id)
        proposal_id = keep_proposal(writing, self._policy, waiting, draft, heard)
        needed = consenting.reason_of(waiting)
        proposed = replace(resolution, action=Action.PROPOSE, reason=needed, targets=())
        return replace(decision_of(proposed), proposal_id=proposal_id)


def _reaches_beyond(resolution: Resolution) -> bool:
    """Whether what an agent recorded would take the place of what the agent may not touch."""
    observer = resolution.candidate.passage.observed_by
    if observer is None:
        return False
    return any(not observer.reaches(item.theme) for item in resolution.targets)


def _is_said_again(resolution: Resolution, later: Sequence[Resolution]) -> bool:
    """Whether the same conversation says the same once more, and that is to be written."""
    said = canonical(resolution.candidate.content)
    return resolution.action is Action.IGNORE and any(
        one.action in WRITING_ACTIONS and canonical(one.candidate.content) == said for one in later
    )
