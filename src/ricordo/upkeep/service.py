"""Upkeep: everything that keeps a store's memories clean."""

from ricordo.formation.conflicts import ModelJudge
from ricordo.formation.service import Formation
from ricordo.model.job import Report
from ricordo.model.reports import ConsolidationReport, RoundReport
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.upkeep.consolidation import Consolidation
from ricordo.upkeep.daily_round import run_round
from ricordo.upkeep.relations import refresh_relations
from ricordo.upkeep.schedule import UpkeepPolicy, ensure_planned, plan_rounds


def _silently(_progress: str) -> None:
    pass


class Upkeep:
    """Upkeep of any user's memories. ``report`` receives progress, and may raise to stop."""

    def __init__(
        self,
        database: Database,
        recall: Recall,
        formation: Formation,
        policy: UpkeepPolicy,
        link_min: float,
    ) -> None:
        self.policy = policy
        self._database = database
        self._recall = recall
        self._formation = formation
        self._link_min = link_min
        judge = None if formation.model is None else ModelJudge(formation.model)
        self._consolidation = Consolidation(
            database, recall, formation.policy, policy, link_min, judge
        )

    def ensure_planned(self) -> None:
        """Queue the planning job, where upkeep is automatic."""
        if self.policy.is_automatic:
            ensure_planned(self._database)

    def plan_rounds(self, report: Report) -> None:
        plan_rounds(self._database, report)

    def run_round(self, user_id: str, report: Report = _silently) -> RoundReport:
        return run_round(
            self._database,
            self._recall,
            self.policy,
            link_min=self._link_min,
            has_model=self._formation.model is not None,
            user_id=user_id,
            report=report,
        )

    def consolidate(
        self, user_id: str, report: Report = _silently, *, dry_run: bool = False
    ) -> ConsolidationReport:
        """Compare one user's memories with each other. Raises LanguageModelError."""
        return self._consolidation.run(user_id, report, dry_run=dry_run)

    def draw_insights(self, user_id: str) -> None:
        """Draw insights for one user; none without a model, or where they are disabled.

        Raises:
            BudgetExhausted, ModelUnavailable: try again later.
        """
        if self._formation.model is not None and self.policy.draws_insights:
            from ricordo.upkeep.insights import draw_insights  # loads slowly

            draw_insights(
                self._database, self._recall, self._formation.policy, self._formation.model, user_id
            )

    def relate(self, user_id: str, report: Report) -> None:
        refresh_relations(self._database, self._recall, user_id, report)
