"""Upkeep of one user's memory, when somebody does not want to wait for the daily round."""

from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.reports import ConsolidationReport, RoundReport
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.user_memory.bound import Bound


class Upkeeping(Bound):
    """Operations that keep memory clean."""

    def upkeep(self) -> RoundReport:
        """Do this user's round of upkeep now: forget what is not used, trim, ask for vectors.

        What takes longer (consolidation, insights, relations) is queued for a job. The round that
        comes by itself every day does the same.
        """
        return self.parts.upkeep.run_round(self.scope.user_id)

    def consolidate(self, *, dry_run: bool = False) -> ConsolidationReport:
        """Merge what says the same, replace what is outdated, link what belongs together.

        Each pair of memories is looked at once in 14 days, and so many a day
        (``consolidation_daily_pairs``). ``dry_run`` says what would be done without a language
        model, and does nothing. Anything that was done can be undone (:meth:`undo`).

        Raises:
            InvalidValue: global memories are not consolidated.
            LanguageModelError: the model could not answer; what was decided without it is done.
        """
        tries = checks.flag("dry_run", dry_run)
        if self.scope.user_id == GLOBAL_OWNER:
            raise InvalidValue("user_id", "global memories are not consolidated")
        return self.parts.upkeep.consolidate(self.scope.user_id, dry_run=tries)
