"""Prompts for any user: gathers what one may show and has it put together."""

from dataclasses import dataclass, replace
from datetime import tzinfo

from ricordo.access.policy import AccessPolicy
from ricordo.access.policy_file import PolicyFile
from ricordo.conversation.service import ConversationService
from ricordo.errors import StorageError
from ricordo.files.prompt_files import PromptFiles
from ricordo.formation.profile import read_fields
from ricordo.model.activity import CONTEXTS, CONTEXTS_RECALLING, CONTEXTS_UNSURE
from ricordo.model.context import Context
from ricordo.model.profile import PROFILE_THEME, Profile, profile_text
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.budget import Budget
from ricordo.prompt.building import Builder
from ricordo.prompt.choosing import Choice, Choosing, ThemeRules
from ricordo.prompt.delta import Fits, Looking, look
from ricordo.prompt.guide import guide
from ricordo.prompt.known import Known
from ricordo.prompt.lines import date_and_time
from ricordo.prompt.material import Material
from ricordo.prompt.request import PromptRequest
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.text.secrets import without_secrets
from ricordo.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class PromptPolicy:
    """What the operator says about prompts."""

    zone: tzinfo
    count: TokenCounter
    budget_tokens: int
    threshold: float
    quotes: int


class Prompting:
    """Builds prompts."""

    def __init__(
        self,
        database: Database,
        recall: Recall,
        conversation: ConversationService,
        files: PromptFiles,
        access: PolicyFile,
        policy: PromptPolicy,
    ) -> None:
        self.policy = policy
        self.recall = recall
        self._database = database
        self._conversation = conversation
        self._files = files
        self._access = access
        self._choosing = Choosing(database, recall, policy.quotes)
        self._known = Known(database)

    def build(self, request: PromptRequest) -> Context:
        """A prompt within its budget. A store that fails is told in the prompt, not raised.

        Raises:
            InvalidValue: the message, the tools and the reply alone are more than the budget.
            InvalidPolicy: the policy file is broken; nothing was read.
        """
        budget = Budget.of(request, self.policy.count)
        rules = self._access.current()
        allowed = rules.allowed(request.agent, request.categories)
        material = self._material(request, rules, allowed)
        tells = request.thread_id is not None and material.unavailable is None
        builder = Builder(request, budget, self.policy.zone)

        def looked(fits: Fits) -> tuple[str, ...]:
            return self._new_to(request, allowed, fits) if tells else ()

        try:
            context, shown = builder.build(material, looked)
        except StorageError as problem:  # while looking for changes; none of them counts as told
            tells = False
            told = replace(material, problems=(*material.problems, str(problem)))
            context, shown = builder.build(told, looked)
        self.recall.memories.count_recalled(shown)
        self._count(request, context)
        return context

    def _material(
        self, request: PromptRequest, rules: AccessPolicy, allowed: frozenset[str] | None
    ) -> Material:
        texts = self._files.read(request.user_id, with_persona=request.has_persona)
        plain = Material(
            soul=texts.soul,
            rules=texts.rules,
            user=texts.user if _may_know_user(allowed) else "",
            now=date_and_time(self._database.clock(), self.policy.zone),
            problems=texts.problems,
        )
        try:
            return self._remembered(request, rules, allowed, plain)
        except StorageError as problem:
            said = str(problem)
            return replace(plain, problems=(*plain.problems, said), unavailable=said)

    def _remembered(
        self,
        request: PromptRequest,
        rules: AccessPolicy,
        allowed: frozenset[str] | None,
        plain: Material,
    ) -> Material:
        """The same with what the store knows."""
        user_id, thread_id = request.user_id, request.thread_id
        window = None if thread_id is None else self._conversation.window(user_id, thread_id)
        if window is not None and allowed is not None:
            # What was said in other conversations is filed under no theme that could be allowed.
            window = replace(window, today=None)
        in_window = frozenset() if window is None else frozenset(turn.id for turn in window.turns)
        choice, problems = Choice(), plain.problems
        if request.has(ContextMode.RECALL):
            shown_as = ThemeRules.of(rules, self._known.themes(user_id))
            choice = self._choosing.choose(
                user_id, request.message, request.threshold, shown_as, allowed, in_window
            )
        if choice.degraded is not None:
            problems = (*problems, choice.degraded)
        user = plain.user
        if not user and request.shows_content and _may_know_user(allowed):
            user = profile_text(Profile(fields=read_fields(self._database, user_id)))
        return replace(
            plain,
            user=without_secrets(user),
            guide=self._guide(request, allowed),
            narrative=self._narrative(request, allowed),
            window=window.without_secrets() if window and request.has_history else None,
            choice=choice,
            problems=problems,
        )

    def _guide(self, request: PromptRequest, allowed: frozenset[str] | None) -> str:
        if not request.has(ContextMode.TOOLS):
            return ""
        themes = self._known.themes_for_run(request.user_id, request.run_id)
        return guide([one for one in themes if allowed is None or one.slug in allowed])

    def _narrative(self, request: PromptRequest, allowed: frozenset[str] | None) -> str:
        """What is known of the user; not for agents that may read only some of it."""
        if not request.has(ContextMode.SUMMARY) or allowed is not None:
            return ""
        return without_secrets(self._known.narrative(request.user_id))

    def _new_to(
        self, request: PromptRequest, allowed: frozenset[str] | None, fits: Fits
    ) -> tuple[str, ...]:
        if request.thread_id is None:
            return ()
        looking = Looking(request.user_id, request.thread_id, allowed, request.shows_content)
        return look(self._database, looking, fits)

    def _count(self, request: PromptRequest, context: Context) -> None:
        counts = {CONTEXTS: 1}
        if context.confidence is not None:
            counts[CONTEXTS_RECALLING] = 1
            counts[CONTEXTS_UNSURE] = int(context.suggests_query)
        self.recall.accesses.count(request.user_id, counts, self._database.clock())


def _may_know_user(allowed: frozenset[str] | None) -> bool:
    """Whether an agent that may read these themes may see the profile."""
    return allowed is None or PROFILE_THEME in allowed
