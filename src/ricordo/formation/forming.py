"""Forming memories from a conversation, step by step.

Reading and deciding happen outside of any transaction, because a model or an embedder may take its
time; writing is one transaction, which first looks whether anything has changed meanwhile.
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Final

from ricordo import limits
from ricordo.errors import BudgetExhausted, InvalidValue, LanguageModelError, StorageBusy
from ricordo.formation import scheduling
from ricordo.formation.applying import Applier
from ricordo.formation.comparing.judging import ModelJudge
from ricordo.formation.comparing.resolving import Answered, Resolution, Resolver
from ricordo.formation.comparing.standing import KnownMemories
from ricordo.formation.consent.consenting import must_wait
from ricordo.formation.deciding import DAILY_CAP, NODE, note_decisions, said_again
from ricordo.formation.decision_log import DecisionLog
from ricordo.formation.found import Found
from ricordo.formation.memory_writes import Prepared, prepare
from ricordo.formation.policy import FormationPolicy
from ricordo.formation.stretch import Stretch, next_stretch
from ricordo.metering import MeteredModel, next_day
from ricordo.model.activity import FORMATION_FAILURES, FORMATION_RUNS
from ricordo.model.reports import Decision, FormationReport
from ricordo.model.vocabulary import GLOBAL_OWNER, Action, EventStatus
from ricordo.recall.service import Recall
from ricordo.storage.daily_counters import tally
from ricordo.storage.database import Database, retried
from ricordo.storage.formation import advance, state_of, unformed_threads
from ricordo.storage.history import put_events, revision_of

RULES: Final = "rules"
_ATTEMPTS: Final = 20


class _MovedOn(Exception):
    """The user's memories have changed since they were looked at."""


class Formation:
    """Forms the conversations of any user."""

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
        self._applier = Applier(recall, policy)
        self._log = DecisionLog(recall.embedders.secrets)

    def form(self, user_id: str, thread_id: str | None) -> FormationReport:
        """Form what is new in one conversation, or in all of them.

        Where the day's budget ends it, the report says so and the rest is formed later.

        Raises:
            ThreadNotFound: this user has no such conversation.
            LanguageModelError: the model could not answer; what was formed before it stays.
            StorageBusy: the user's memories change all the time; what was formed before it stays.
        """
        if user_id == GLOBAL_OWNER:
            raise InvalidValue("user_id", "global memories are not formed from conversations")
        threads = [thread_id] if thread_id is not None else self._unformed(user_id)
        turns = 0
        decisions: list[Decision] = []
        for place, one in enumerate(threads):
            while stretch := next_stretch(self.database, user_id, one):
                try:
                    made = self.form_stretch(user_id, stretch)
                    waits = DAILY_CAP if _is_put_off(made) else None
                except BudgetExhausted as problem:
                    made, waits = [], str(problem)
                else:
                    turns += len(stretch.new)
                decisions += made
                if waits is not None:
                    self._form_tomorrow(user_id, threads[place:])
                    return _report(place + 1, turns, decisions, waits)
        return _report(len(threads), turns, decisions, None)

    def form_stretch(self, user_id: str, stretch: Stretch) -> list[Decision]:
        """Form one part of a conversation; what was decided.

        Nothing when somebody else has formed it at the same time.

        Raises:
            BudgetExhausted, LanguageModelError: see ``form``. Nothing was written.
        """
        from ricordo.formation.finding import find_candidates  # takes long to load

        try:
            found = find_candidates(self.model, user_id, stretch)
            decisions = self._decide_and_write(user_id, stretch, found)
        except LanguageModelError as problem:
            self._note_failure(user_id, stretch.thread_id, problem)
            raise
        if decisions is None:
            return []
        self._log.write(
            user_id,
            stretch.thread_id,
            read_by=RULES if self.model is None else self.model.name,
            turns=len(stretch.new),
            input_chars=stretch.chars,
            material=found.material,
            decisions=decisions,
        )
        return decisions

    def close(self) -> None:
        """Let go of the model's connections."""
        if self.model is not None:
            self.model.close()

    def _decide_and_write(
        self, user_id: str, stretch: Stretch, found: Found
    ) -> list[Decision] | None:
        """Decide by what is known now, and write if it still is so then.

        What was known already counts as recalled. None when somebody else has formed the same
        stretch.
        """
        answered: Answered = {}
        for _ in range(_ATTEMPTS):
            with self.database.read(user_id) as view:
                revision = revision_of(view.connection, user_id)
            resolutions = self._resolver.resolve(user_id, found.candidates, answered)
            prepared = prepare(self.recall, user_id, resolutions)
            with contextlib.suppress(_MovedOn):
                made = self._write(user_id, stretch, found, resolutions, prepared, revision)
                met = said_again(user_id, resolutions, made or ())
                self.recall.accesses.note(user_id, met, self.database.clock())
                return made
        raise StorageBusy(f"the memories of user {user_id!r} change all the time; try again")

    @retried
    def _write(
        self,
        user_id: str,
        stretch: Stretch,
        found: Found,
        resolutions: Sequence[Resolution],
        prepared: Prepared,
        revision: int,
    ) -> list[Decision] | None:
        touching = [item.id for one in resolutions for item in one.targets]
        with self.database.write(user_id, touching=touching, known=prepared.known) as writing:
            present = state_of(writing.connection, user_id, stretch.thread_id)
            if present is None or present.formed_position != stretch.formed_position:
                return None
            if writing.revision != revision:
                raise _MovedOn
            carried_out = self._applier.apply(writing, stretch.thread_id, resolutions, prepared)
            decisions = [*carried_out, *found.refused]
            if note_decisions(writing, stretch.thread_id, decisions):
                scheduling.plan_summary(writing)
            tally(writing, {FORMATION_RUNS: 1})
            advance(writing, stretch.thread_id, _reached(stretch, resolutions, carried_out))
        return decisions

    def _unformed(self, user_id: str) -> list[str]:
        with self.database.read(user_id) as view:
            behind = unformed_threads(view.connection, user_id, limits.MAX_THREADS_PER_FORMING)
        return [state.thread_id for state in behind]

    @retried
    def _form_tomorrow(self, user_id: str, threads: Sequence[str]) -> None:
        if not self.policy.is_automatic:
            return
        with self.database.write(user_id) as writing:
            for thread_id in threads:
                scheduling.plan_forming(writing, thread_id, next_day(writing.now))

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


def _report(
    threads: int, turns: int, decisions: Sequence[Decision], waits: str | None
) -> FormationReport:
    return FormationReport(threads=threads, turns=turns, decisions=tuple(decisions), waits=waits)


def _is_put_off(decisions: Sequence[Decision]) -> bool:
    return any(decision.action is Action.DEFER for decision in decisions)


def _reached(
    stretch: Stretch, resolutions: Sequence[Resolution], decisions: Sequence[Decision]
) -> int:
    """The last turn that is done with: all, or those before the first that was put off."""
    for resolution, decision in zip(resolutions, decisions, strict=True):
        if decision.action is Action.DEFER:
            return resolution.candidate.passage.position - 1
    return stretch.reached
