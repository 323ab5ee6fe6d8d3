"""From what was said to what is known: forming it now, telling it, looking it over."""

from ricordo import limits
from ricordo.formation.audit import audit
from ricordo.formation.narrative import current_summary
from ricordo.model import checks
from ricordo.model.profile import Summary
from ricordo.model.reports import AuditReport, FormationReport
from ricordo.user_memory.bound import Bound


class Forming(Bound):
    """Operations that turn conversations into memories."""

    def form(self, thread: str | None = None) -> FormationReport:
        """Form memories now from what is new in a conversation, or in all of them.

        Each turn is formed once. With a language model set (``model_provider``) it does the
        reading, without one rules do. What is sensitive becomes a proposal, unless the user asked
        for it to be remembered.

        Raises:
            ThreadNotFound: this user has no such conversation.
            ScopeWidened: this memory is bound to another thread.
            LanguageModelError: the model could not answer; what was said stays, and a job tries
                again.
        """
        wanted = checks.optional_reference("thread", thread)
        bound_to = self.scope.narrow(thread_id=wanted).thread_id
        return self.formation.form(self.scope.user_id, bound_to)

    def summary(self) -> Summary | None:
        """What is known of this user as one text; None when nothing is.

        It is made anew after each formation, by the language model or else by a template.
        """
        return current_summary(self.database, self.scope.user_id)

    def audit(self, *, limit: int = limits.DEFAULT_PAGE_ITEMS) -> AuditReport:
        """Look over what is stored: duplicates, contradictions, junk, unverified and expired.

        At most ``limit`` findings of each kind are listed; the counts are complete.
        """
        most = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        return audit(
            self.database,
            self.recall,
            self.scope.user_id,
            limit=most,
            redundant_min=self.formation.policy.redundant_min,
        )
