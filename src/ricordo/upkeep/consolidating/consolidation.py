"""Consolidating one user's memories: find near pairs, decide about each, do it.

Nothing is kept in memory between steps that a later run would need: what was done is noted with
what it did, so that a run that was stopped goes on where it ended.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ricordo import limits
from ricordo.errors import BadAnswer, LanguageModelError, ModelUnavailable
from ricordo.formation.conflicts import Judge
from ricordo.formation.schedule import FormationPolicy
from ricordo.model.job import Report
from ricordo.model.reports import CONSOLIDATION_PAIRS, ConsolidationReport, PairAction
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.recall.service import Recall
from ricordo.storage.daily_counters import tally_of
from ricordo.storage.database import Database, Reading
from ricordo.storage.users import upkeep_state
from ricordo.upkeep.consolidating.applying import Applier
from ricordo.upkeep.consolidating.deciding import Ruling, Table, as_question
from ricordo.upkeep.consolidating.neighbours import Neighbours
from ricordo.upkeep.consolidating.pairs import NearPair, unchecked_pairs
from ricordo.upkeep.consolidating.planning import Plan, next_portion, plan
from ricordo.upkeep.consolidating.pool import read_pool
from ricordo.upkeep.policy import UpkeepPolicy

DAY_IS_FULL: Final = "the day's pairs are used up"
NOT_ASKED: Final = "a dry run does not ask the model"


class Consolidation:
    """Consolidates the memories of any user."""

    def __init__(
        self,
        database: Database,
        recall: Recall,
        formation_policy: FormationPolicy,
        policy: UpkeepPolicy,
        link_min: float,
        judge: Judge | None,
    ) -> None:
        self._database = database
        self._daily_pairs = policy.daily_pairs
        self._judge = judge
        self._neighbours = Neighbours(database, recall, formation_policy.judge_min)
        self._table = Table(database.analyser, formation_policy.redundant_min, link_min)
        self._applier = Applier(database, policy.daily_pairs)

    def run(self, user_id: str, report: Report, *, dry_run: bool = False) -> ConsolidationReport:
        """Look at as many pairs as the user's day allows.

        A dry run says what would be done without the model, and writes nothing. ``report`` is
        told between two steps how far the work has come, and may stop it by raising: another run
        goes on from there.

        Raises:
            ModelUnavailable: the model is down; what could be done without it was done.
        """
        if user_id == GLOBAL_OWNER or not self._daily_pairs:
            return ConsolidationReport(dry_run=dry_run)
        planned = self._plan(user_id, report)
        if dry_run:
            return _as_planned(planned)
        work = _Work(self._applier, self._table, user_id, report)
        work.apply_ruled(planned.ruled)
        trouble = None if self._judge is None else work.ask(self._judge, planned.doubtful)
        if isinstance(trouble, ModelUnavailable):
            self._applier.leave(user_id, planned.changed_since)
            raise trouble
        waiting = planned.waiting + work.unanswered
        self._applier.finish(user_id, planned.changed_since if waiting else None)
        waits = DAY_IS_FULL if planned.waiting else None
        if trouble is not None:
            waits = " ".join(str(trouble).split())
        return _counted(work.done, waiting, waits, dry_run=False)

    def _plan(self, user_id: str, report: Report) -> Plan:
        with self._database.read(user_id) as view:
            looked_at = tally_of(view.connection, user_id, view.now, CONSOLIDATION_PAIRS)
            since = _changed_since(view, user_id)
            pool = read_pool(view, user_id, since)
        # Not ended in the middle, because the next turn would begin it anew.
        near = self._neighbours.of(user_id, pool)
        report(f"{len(near)} near pairs of {len(pool)} memories")
        blocks = unchecked_pairs(self._database, user_id, near, since)
        most = max(0, self._daily_pairs - looked_at)
        return plan(blocks, most, self._table, self._judge is not None, since)


def _changed_since(view: Reading, user_id: str) -> datetime:
    """From when on changes are looked at: some days; or since the last time, where that was longer
    ago; or since pairs have been waiting."""
    usual = view.now - timedelta(hours=limits.POOL_CHANGED_HOURS)
    state = upkeep_state(view.connection, user_id)
    known = (state.consolidated_at, state.pairs_wait_since)
    return min([usual, *(moment for moment in known if moment is not None)])


class _Work:
    """One run while it goes on."""

    def __init__(self, applier: Applier, table: Table, user_id: str, report: Report) -> None:
        self._applier = applier
        self._table = table
        self._user_id = user_id
        self._report = report
        self._gone: set[int] = set()
        self.done: list[Ruling] = []
        self.unanswered = 0

    def apply_ruled(self, rulings: Sequence[Ruling]) -> None:
        """Do what the rules decided: replacements one by one, what only is noted together."""
        for ruling in rulings:
            if ruling.takes_away:
                self._report(f"{len(self.done)} pairs done")
                self._apply(ruling)
        staying = [ruling for ruling in rulings if not ruling.takes_away]
        if staying:
            self._report(f"{len(self.done)} pairs done")
            self.done += self._applier.note(self._user_id, staying)

    def ask(self, judge: Judge, doubtful: Sequence[NearPair]) -> LanguageModelError | None:
        """Put what is in doubt before the model, portion by portion; why some is left, if it is.

        An answer that makes no sense leaves only its own portion for another day.
        """
        trouble: LanguageModelError | None = None
        left = list(doubtful)
        while left := [pair for pair in left if self._is_there(pair)]:
            count = next_portion(left)
            asked, left = left[:count], left[count:]
            self._report(f"{len(self.done)} pairs done, asking about {count} more")
            try:
                verdicts = judge(self._user_id, [as_question(pair) for pair in asked])
            except BadAnswer as problem:
                self.unanswered += count
                trouble = problem
                continue
            except LanguageModelError as problem:
                self.unanswered += count + len(left)
                return problem
            # Without a stop in between, which would waste the answer.
            for pair, verdict in zip(asked, verdicts, strict=True):
                if self._is_there(pair):
                    self._apply(self._table.by_verdict(pair, verdict))
        return trouble

    def _apply(self, ruling: Ruling) -> None:
        if not ruling.takes_away:
            self.done += self._applier.note(self._user_id, [ruling])
        elif self._applier.apply(self._user_id, ruling):
            self.done.append(ruling)
            self._gone.add(ruling.other.id)

    def _is_there(self, pair: NearPair) -> bool:
        return self._gone.isdisjoint((pair.older.id, pair.newer.id))


def _as_planned(planned: Plan) -> ConsolidationReport:
    waits = DAY_IS_FULL if planned.waiting else None
    if planned.doubtful:
        waits = NOT_ASKED
    waiting = planned.waiting + len(planned.doubtful)
    return _counted(planned.ruled, waiting, waits, dry_run=True)


def _counted(
    rulings: Sequence[Ruling], waiting: int, waits: str | None, *, dry_run: bool
) -> ConsolidationReport:
    actions = [one.action for one in rulings]
    return ConsolidationReport(
        pairs=len(rulings),
        merged=actions.count(PairAction.MERGE),
        superseded=actions.count(PairAction.SUPERSEDE),
        linked=actions.count(PairAction.LINK),
        waiting=waiting,
        waits=waits,
        decisions=tuple(one.decision for one in rulings),
        dry_run=dry_run,
    )
