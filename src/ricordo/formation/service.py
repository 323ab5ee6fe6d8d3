"""The formation service: reads conversations, decides, and writes memories and proposals."""

import contextlib
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ricordo import limits
from ricordo.errors import BudgetExhausted, InvalidValue, LanguageModelError, StorageBusy
from ricordo.formation import consent, schedule
from ricordo.formation.candidate import Candidate
from ricordo.formation.conflicts import (
    CONTRADICTION,
    IDENTICAL,
    NEW,
    PUT_RIGHT,
    WRITING_ACTIONS,
    Answered,
    KnownMemories,
    ModelJudge,
    Resolution,
    Resolver,
    with_memories_of,
)
from ricordo.formation.consent import must_wait
from ricordo.formation.decisions import (
    DAILY_CAP,
    NODE,
    TURN_CAP,
    DecisionLog,
    RejectionCode,
    decision_of,
    not_written,
    note_decisions,
    said_again,
)
from ricordo.formation.earlier_turns import EarlierTurns
from ricordo.formation.proposals import (
    ProposalEvidence,
    keep_proposal,
    note_signal,
    settle_by_storing,
)
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.segment import Found, Segment, next_segment
from ricordo.index.relations import PreparedWrite
from ricordo.memories import additions, replacement, sharing
from ricordo.memories.lifecycle import own_item
from ricordo.metering import MeteredModel, next_day
from ricordo.model.activity import FORMATION_FAILURES, FORMATION_RUNS, FORMED_WRITES
from ricordo.model.draft import NewMemory
from ricordo.model.group import is_person
from ricordo.model.item import Added, Item
from ricordo.model.reports import Decision, FormationReport
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Action, Event, EventStatus, Source, Status
from ricordo.recall.service import Recall
from ricordo.storage.activity import put_events, tally, tally_of
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import advance, state_of, unformed_threads
from ricordo.storage.history import revision_of
from ricordo.storage.links import owner_of_linked
from ricordo.storage.threads import mark_ended
from ricordo.text.normalise import canonical

RULES: Final = "rules"
_ATTEMPTS: Final = 20


def write(
    recall: Recall,
    writing: WriteTransaction,
    resolution: Resolution,
    draft: NewMemory,
    prepared: PreparedWrite,
) -> Added:
    """Write one memory as the resolution says, and record its relations."""
    scope = Scope(writing.user_id, agent_id=draft.agent_id)
    targets = [item.id for item in resolution.targets]
    if resolution.action is Action.REPLACE:
        # The model's explanation is stored with the replaced memory.
        why = resolution.reason if resolution.why is None else resolution.why
        added = replacement.replace_with(
            writing, scope, targets, draft, Event.SUPERSEDE, why, reason_to_add=resolution.reason
        )
    else:
        for target in targets if resolution.action is Action.UNLINK else ():
            sharing.unlink(writing, scope, target, None)
        added = additions.add_all(writing, scope, [draft], resolution.reason)[0]
    recall.relating.written(writing, [(added, draft.content)], prepared)
    return added


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
        tags=candidate.tags or None,
        project_id=candidate.project_id,
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


class DecisionWriter:
    """Carries out resolutions inside one transaction of one user."""

    def __init__(self, recall: Recall, policy: FormationPolicy) -> None:
        self._recall = recall
        self._policy = policy

    def apply(
        self,
        writing: WriteTransaction,
        thread_id: str,
        resolutions: Sequence[Resolution],
        prepared: PreparedWrite,
    ) -> list[Decision]:
        """Write them in order; returns the decisions.

        What exceeds the daily limit is deferred, and so is all that was said after it. What exceeds
        that of a turn is rejected; requests and proposals do not count.
        """
        left = self._policy.daily_writes - tally_of(
            writing.connection, writing.user_id, writing.now, FORMED_WRITES
        )
        decisions: list[Decision] = []
        per_turn: Counter[int] = Counter()
        for place, resolution in enumerate(resolutions):
            candidate = resolution.candidate
            turn, is_explicit = candidate.passage.turn_id, candidate.is_explicit
            if left > 0 and _is_said_again(resolution, resolutions[place + 1 :]):
                decisions.append(self._note_said(writing, thread_id, resolution))
            elif resolution.action is Action.CLOSE:
                decisions.append(_close(writing, resolution))
            elif resolution.action not in WRITING_ACTIONS:
                decisions.append(decision_of(resolution))
            elif _exceeds_access(resolution):
                reason = RejectionCode.OUT_OF_REACH.value
                decisions.append(not_written(resolution, Action.REJECT, reason))
            elif left <= 0:
                decisions.append(not_written(resolution, Action.DEFER, DAILY_CAP))
            else:
                may_write = is_explicit or per_turn[turn] < limits.MAX_WRITES_PER_TURN
                decision = self._carry_out(writing, thread_id, resolution, prepared, may_write)
                written = decision.action in WRITING_ACTIONS
                per_turn[turn] += written and not is_explicit
                left -= written
                decisions.append(decision)
        return decisions

    def _carry_out(
        self,
        writing: WriteTransaction,
        thread_id: str,
        resolution: Resolution,
        prepared: PreparedWrite,
        may_write: bool,
    ) -> Decision:
        candidate = resolution.candidate
        if consent.is_refuted_by_user(writing, candidate):
            return not_written(resolution, Action.IGNORE, consent.REFUTED)
        waiting = consent.waiting_for(writing, self._policy, candidate)
        draft = draft_of(candidate, thread_id, writing.now)
        if waiting is not None and not waiting.is_ripe:
            return self._wait(writing, thread_id, resolution, draft, waiting)
        if not may_write:
            return not_written(resolution, Action.REJECT, TURN_CAP)
        resolution = _as_it_stands(writing, resolution)
        if resolution.action is Action.IGNORE:
            return decision_of(resolution)
        added = write(self._recall, writing, resolution, draft, prepared)
        settle_by_storing(writing, candidate, added.id)
        return decision_of(resolution, added)

    def _note_said(
        self, writing: WriteTransaction, thread_id: str, resolution: Resolution
    ) -> Decision:
        """Count what is repeated further on, so that the second time is the second."""
        candidate = resolution.candidate
        waiting = consent.waiting_for(writing, self._policy, candidate)
        if waiting is None or waiting.is_ripe:
            return decision_of(resolution)
        draft = draft_of(candidate, thread_id, writing.now)
        return self._wait(writing, thread_id, resolution, draft, waiting)

    def _wait(
        self,
        writing: WriteTransaction,
        thread_id: str,
        resolution: Resolution,
        draft: NewMemory,
        waiting: consent.PendingConsent,
    ) -> Decision:
        if resolution.reason in (CONTRADICTION, PUT_RIGHT) and not consent.may_mislead(waiting):
            scope = Scope(writing.user_id, agent_id=draft.agent_id)
            over = [item.id for item in resolution.targets]
            replacement.end(writing, scope, over, draft.start(writing.now), resolution.reason)
        ignored = replace(resolution, action=Action.IGNORE, targets=())
        if waiting.is_turned_down:
            return decision_of(replace(ignored, reason=consent.TURNED_DOWN))
        if waiting.open is not None:
            note_signal(writing, waiting.open, resolution.candidate.passage.turn_id)
            again = replace(ignored, reason=consent.PROPOSED_BEFORE)
            return replace(decision_of(again), proposal_id=waiting.open.id)
        candidate = resolution.candidate
        evidence = ProposalEvidence(candidate.quote, (candidate.passage.turn_id,), thread_id)
        proposal_id = keep_proposal(writing, self._policy, waiting, draft, evidence)
        needed = consent.reason_of(waiting)
        proposed = replace(resolution, action=Action.PROPOSE, reason=needed, targets=())
        return replace(decision_of(proposed), proposal_id=proposal_id)


def _close(writing: WriteTransaction, resolution: Resolution) -> Decision:
    """End what was open, by nothing else."""
    at = min(resolution.candidate.passage.at, writing.now)
    over = [item.id for item in resolution.targets]
    replacement.end(writing, Scope(writing.user_id), over, at, resolution.reason)
    return decision_of(resolution)


def _as_it_stands(writing: WriteTransaction, resolution: Resolution) -> Resolution:
    """Without what an earlier statement of the same conversation has replaced or unlinked."""
    if resolution.action not in (Action.REPLACE, Action.UNLINK):
        return resolution
    scope = Scope(writing.user_id)

    def is_there(item: Item) -> bool:
        if resolution.action is Action.UNLINK:
            return owner_of_linked(writing.connection, writing.user_id, item.id) is not None
        return own_item(writing, scope, item.id).status is Status.ACTIVE

    left = tuple(filter(is_there, resolution.targets))
    if left:
        return replace(resolution, targets=left)
    if resolution.candidate.is_change:
        return replace(resolution, action=Action.IGNORE, reason=IDENTICAL, targets=())
    return replace(resolution, action=Action.ADD, reason=NEW, targets=())


def _exceeds_access(resolution: Resolution) -> bool:
    """Whether what an agent recorded would replace what the agent may not touch."""
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


class _Changed(Exception):
    """The user's memories have changed since they were read."""


class Formation:
    """Forms the conversations of any user.

    Reading and deciding happen outside of any transaction, because a model or an embedder may be
    slow; writing is one transaction, which first checks whether anything has changed.
    """

    def __init__(
        self,
        database: Database,
        recall: Recall,
        policy: FormationPolicy,
        model: MeteredModel | None,
    ) -> None:
        self.database = database
        self.recall = recall
        self.policy = policy
        self.model = model
        known = KnownMemories(database, recall)
        judge = None if model is None else ModelJudge(model)
        waits = functools.partial(must_wait, policy)
        self._resolver = Resolver(known, policy, judge, waits)
        self.rules_only = Resolver(known, policy, None, waits)
        self._earlier = EarlierTurns(database, recall)
        self._writer = DecisionWriter(recall, policy)
        self._log = DecisionLog(recall.embedders.secrets)

    def form(
        self, user_id: str, thread_id: str | None, project: str | None = None
    ) -> FormationReport:
        """Form what is new in one conversation, or in all of them; with a ``project``, in those of
        it and of none.

        If the day's budget runs out, the report says so and the rest is formed later.

        Raises:
            ThreadNotFound: this user has no such conversation.
            LanguageModelError: the model could not answer; earlier segments stay formed.
            StorageBusy: the user's memories kept changing; earlier segments stay formed.
        """
        if not is_person(user_id):
            raise InvalidValue("user_id", "global memories are not formed from conversations")
        threads = [thread_id] if thread_id is not None else self._unformed(user_id, project)
        most = None if self.model is None else self.model.read_chars
        turns = 0
        decisions: list[Decision] = []
        for place, one in enumerate(threads):
            while segment := next_segment(self.database, user_id, one, most):
                waits = None
                try:
                    formed = self.form_segment(user_id, segment)
                except BudgetExhausted as problem:
                    waits = str(problem)
                else:
                    turns += len(segment.new)
                    decisions += formed
                    if any(decision.action is Action.DEFER for decision in formed):
                        waits = DAILY_CAP
                if waits is not None:
                    self._form_tomorrow(user_id, threads[place:])
                    return FormationReport(
                        threads=place + 1, turns=turns, decisions=tuple(decisions), waits=waits
                    )
        return FormationReport(
            threads=len(threads), turns=turns, decisions=tuple(decisions), waits=None
        )

    def form_segment(self, user_id: str, segment: Segment) -> list[Decision]:
        """Form one segment; returns the decisions, empty if another process has formed it.

        Raises:
            BudgetExhausted, LanguageModelError: see ``form``. Nothing was written.
        """
        from ricordo.formation.extraction import find_candidates  # slow to import

        try:
            found = find_candidates(self.model, user_id, segment)
            decisions = self._decide_and_write(user_id, segment, found)
        except LanguageModelError as problem:
            self._note_failure(user_id, segment.thread_id, problem)
            raise
        if decisions is None:
            return []
        self._log.write(
            user_id,
            segment.thread_id,
            read_by=RULES if self.model is None else self.model.name,
            turns=len(segment.new),
            input_chars=segment.chars,
            material=found.material,
            decisions=decisions,
        )
        return decisions

    def close(self) -> None:
        """Close the model's connections."""
        if self.model is not None:
            self.model.close()

    def _decide_and_write(
        self, user_id: str, segment: Segment, found: Found
    ) -> list[Decision] | None:
        """Decide by what is known now, and write if that has not changed.

        Repeated memories count as recalled. None if another process has formed the segment.
        """
        answered: Answered = {}
        place = segment.thread_id, segment.project_id
        ended = self._earlier.ended_by(user_id, *place, found.told)
        for _ in range(_ATTEMPTS):
            with self.database.read(user_id) as view:
                revision = revision_of(view.connection, user_id)
            told = [one for one in found.candidates if one.project_id is None]
            resolutions = self._resolver.resolve(user_id, told, answered)
            resolutions = with_memories_of(user_id, resolutions, ended.memories)
            resolutions = self._with_work(user_id, segment, found, resolutions)
            over = {**ended.turns, **self._earlier.answers_to(user_id, resolutions)}
            writing = [one.candidate for one in resolutions if one.action in WRITING_ACTIONS]
            proposed = consent.touched_fields  # what needs consent is not written
            texts = [one.content for one in writing if not proposed(self.policy, one)]
            prepared = self.recall.prepare(user_id, texts)
            with contextlib.suppress(_Changed):
                decisions = self._write(
                    user_id, segment, found, resolutions, over, prepared, revision
                )
                repeated = said_again(user_id, resolutions, decisions or ())
                self.recall.accesses.note(user_id, repeated, self.database.clock())
                return decisions
        raise StorageBusy(f"the memories of user {user_id!r} change all the time; try again")

    def _with_work(
        self, user_id: str, segment: Segment, found: Found, told: Sequence[Resolution]
    ) -> list[Resolution]:
        """With what is about the project, in the order in which it was said."""
        work = [one for one in found.candidates if one.project_id is not None]
        if not work or segment.project_id is None:
            return list(told)
        from ricordo.formation.work_known import known_of_project, resolve_work

        with self.database.read(user_id) as view:
            known = known_of_project(view, user_id, segment.project_id)
        both = [*told, *resolve_work(work, known)]
        return sorted(both, key=lambda one: one.candidate.passage.position)

    @retried
    def _write(
        self,
        user_id: str,
        segment: Segment,
        found: Found,
        resolutions: Sequence[Resolution],
        over: Mapping[int, datetime],
        prepared: PreparedWrite,
        revision: int,
    ) -> list[Decision] | None:
        touching = [item.id for one in resolutions for item in one.targets]
        with self.database.write(user_id, touching=touching, known=prepared.known) as writing:
            present = state_of(writing.connection, user_id, segment.thread_id)
            if present is None or present.formed_position != segment.formed_position:
                return None
            if writing.revision != revision:
                raise _Changed
            carried_out = self._writer.apply(writing, segment.thread_id, resolutions, prepared)
            mark_ended(writing, over)
            decisions = [*carried_out, *found.refused]
            if note_decisions(writing, segment.thread_id, decisions):
                schedule.plan_summary(writing)
            tally(writing, {FORMATION_RUNS: 1})
            advance(writing, segment.thread_id, _reached(segment, resolutions, carried_out))
        return decisions

    def _unformed(self, user_id: str, project: str | None) -> list[str]:
        with self.database.read(user_id) as view:
            behind = unformed_threads(
                view.connection, user_id, limits.MAX_THREADS_PER_FORMING, project=project
            )
        return [state.thread_id for state in behind]

    @retried
    def _form_tomorrow(self, user_id: str, threads: Sequence[str]) -> None:
        if not self.policy.is_automatic:
            return
        with self.database.write(user_id) as writing:
            for thread_id in threads:
                schedule.plan_forming(writing, thread_id, next_day(writing.now))

    @retried
    def _note_failure(self, user_id: str, thread_id: str, problem: LanguageModelError) -> None:
        waits = isinstance(problem, BudgetExhausted)
        with self.database.write(user_id) as writing:
            tally(writing, {} if waits else {FORMATION_FAILURES: 1})
            put_events(
                writing,
                [
                    {
                        "node": NODE,
                        "op": "read",
                        "status": (EventStatus.SKIPPED if waits else EventStatus.ERROR).value,
                        "thread_id": thread_id,
                        "detail": type(problem).__name__,
                    }
                ],
            )


def _reached(
    segment: Segment, resolutions: Sequence[Resolution], decisions: Sequence[Decision]
) -> int:
    """The last turn that is done: the last one, or the one before the first deferred."""
    for resolution, decision in zip(resolutions, decisions, strict=True):
        if decision.action is Action.DEFER:
            return resolution.candidate.passage.position - 1
    return segment.reached
