"""Prompts for any user: gathers the material and has it assembled."""

from datetime import tzinfo
from typing import Final

from ricordo.access.policy import AccessPolicy
from ricordo.access.policy_file import PolicyFile
from ricordo.conversation.service import ConversationService
from ricordo.errors import StorageError
from ricordo.files.home import PromptFiles
from ricordo.formation.injected import FENCE_START
from ricordo.formation.narrative import TEMPLATE, current_summary
from ricordo.formation.passages import without_fenced
from ricordo.formation.profile import read_fields
from ricordo.frozen import dataclass, replace
from ricordo.index.cache import LruCache
from ricordo.memories.lookup import Cached, ThemeCounts, is_current, read_themes
from ricordo.model.activity import CONTEXTS, CONTEXTS_RECALLING, CONTEXTS_UNSURE
from ricordo.model.context import Context
from ricordo.model.item import Theme
from ricordo.model.profile import PROFILE_THEME, Profile, profile_text
from ricordo.model.thread import Turn, Window
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.budget import Budget, PromptRequest
from ricordo.prompt.builder import Builder, PromptMaterial
from ricordo.prompt.delta import DeltaReader, Fits, new_changes
from ricordo.prompt.fence import guide, may_open_a_tag, one_line
from ricordo.prompt.selection import Choice, MemorySelector, ThemeRules, date_and_time
from ricordo.recall.origins import superseded_statements
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.storage.history import user_version
from ricordo.storage.users import find_summary
from ricordo.storage.where import audience_of
from ricordo.text.secrets import without_secrets
from ricordo.text.tokens import TokenCounter

_USERS_REMEMBERED: Final = 1_024
_RUNS_REMEMBERED: Final = 1_024
_MOST_CHARS_PER_TOKEN: Final = 16
_SHOWN_BY_THEIR_END: Final = ("user", "assistant")  # where they do not fit


class Known:
    """Caches what prompts say of users until their memories change. Thread-safe."""

    def __init__(self, database: Database, counts: ThemeCounts) -> None:
        self._database = database
        self._counts = counts
        self._narratives: LruCache[str, Cached[str]] = LruCache(_USERS_REMEMBERED)
        self._of_run: LruCache[tuple[str, str | None, str, int], tuple[Theme, ...]] = LruCache(
            _RUNS_REMEMBERED
        )

    def themes_for_run(
        self, user_id: str, run_id: str | None, project: str | None
    ) -> tuple[Theme, ...]:
        """The themes for hints: constant within one run of an agent."""
        if run_id is None:
            return self.themes(user_id, project)
        with self._database.read(user_id) as view:
            _, epoch = user_version(view.connection, user_id)
        run = user_id, project, run_id, epoch
        themes = self._of_run.get(run)
        if themes is None:
            themes = self.themes(user_id, project)
            self._of_run.put(run, themes)
        return themes

    def themes(self, user_id: str, project: str | None) -> tuple[Theme, ...]:
        with self._database.read(user_id) as view:
            until = self._database.policy.global_until
            audience = audience_of(view.connection, user_id, until, view.now, project=project)
            counts = self._counts.seen(view, audience, user_id)
            return tuple(read_themes(view, audience, user_id, counts))

    def narrative(self, user_id: str) -> str:
        """What is known of a user; empty where nothing is."""
        cached = self._narratives.get(user_id)
        with self._database.read(user_id) as view:
            version = user_version(view.connection, user_id)
            if cached is not None and is_current(view, user_id, cached):
                stored = find_summary(view.connection, user_id)
                if stored is None or stored["made_by"] == TEMPLATE:
                    return cached.value
        known = current_summary(self._database, user_id)
        if known is None:
            return ""
        # A narrative by a model is stored, and may be rewritten for the same revision.
        if known.made_by == TEMPLATE and known.is_current and known.revision == version[0]:
            self._narratives.put(user_id, Cached(version, known.updated_at, known.content))
        return known.content


@dataclass(frozen=True, slots=True)
class PromptPolicy:
    zone: tzinfo
    count: TokenCounter
    budget_tokens: int
    threshold: float
    quotes: int


class PromptService:
    def __init__(
        self,
        database: Database,
        recall: Recall,
        conversation: ConversationService,
        files: PromptFiles,
        access: PolicyFile,
        policy: PromptPolicy,
        counts: ThemeCounts,
    ) -> None:
        self.policy = policy
        self.recall = recall
        self._database = database
        self._conversation = conversation
        self._files = files
        self._access = access
        self._selector = MemorySelector(database, recall, policy.quotes)
        self._known = Known(database, counts)

    def build(self, request: PromptRequest) -> Context:
        """A prompt within its budget. A failing store is reported in the prompt, not raised.

        Raises:
            InvalidValue: the message, the tools and the reply alone exceed the budget.
            InvalidPolicy: the policy file is broken; nothing was read.
        """
        budget = Budget.of(request, self.policy.count)
        rules = self._access.current()
        allowed = rules.allowed(request.agent, request.categories)
        material = self._material(request, rules, allowed)
        builder = Builder(request, budget, self.policy.zone)

        def read_changes(fits: Fits) -> tuple[str, ...]:
            if request.thread_id is None or material.unavailable is not None:
                return ()
            reader = DeltaReader(
                request.user_id,
                request.thread_id,
                allowed,
                request.shows_content,
                frozenset(one.item.id for one in material.choice.memories),
                request.project,
            )
            return new_changes(self._database, reader, fits)

        try:
            context, shown = builder.build(material, read_changes)
        except StorageError as problem:  # while reading changes; none of them counts as shown
            degraded = replace(material, problems=(*material.problems, str(problem)))
            context, shown = builder.build(degraded, lambda _fits: ())
        self.recall.memories.count_recalled(shown)
        counts = {CONTEXTS: 1}
        if context.confidence is not None:
            counts[CONTEXTS_RECALLING] = 1
            counts[CONTEXTS_UNSURE] = int(context.suggests_query)
        self.recall.accesses.count(request.user_id, counts, self._database.clock())
        return context

    def _material(
        self, request: PromptRequest, rules: AccessPolicy, allowed: frozenset[str] | None
    ) -> PromptMaterial:
        texts = self._files.read(
            request.user_id,
            with_persona=request.has_persona,
            with_user=request.has_user_file and _may_know_user(allowed),
        )
        plain = PromptMaterial(
            soul=texts.soul,
            rules=texts.rules,
            user=texts.user,
            now=date_and_time(self._database.clock(), self.policy.zone),
            problems=texts.problems,
        )
        try:
            return self._with_memories(request, rules, allowed, plain)
        except StorageError as problem:
            said = str(problem)
            return replace(plain, problems=(*plain.problems, said), unavailable=said)

    def _with_memories(
        self,
        request: PromptRequest,
        rules: AccessPolicy,
        allowed: frozenset[str] | None,
        plain: PromptMaterial,
    ) -> PromptMaterial:
        user_id, thread_id = request.user_id, request.thread_id
        window = None
        if thread_id is not None:
            window = self._conversation.window(user_id, thread_id, request.project)
        if window is not None and allowed is not None:
            # Turns of other conversations have no theme that could be allowed.
            window = replace(window, today=None)
        in_window = frozenset() if window is None else frozenset(turn.id for turn in window.turns)
        choice, problems = Choice(), plain.problems
        if request.has(ContextMode.RECALL):
            shown_as = ThemeRules.of(rules, self._known.themes(user_id, request.project))
            choice = self._selector.choose(
                *(user_id, request.message, request.threshold, shown_as, allowed, in_window),
                project=request.project,
            )
        if choice.degraded is not None:
            problems = (*problems, choice.degraded)
        user = plain.user
        if not user and request.shows_content and _may_know_user(allowed):
            user = profile_text(Profile(fields=read_fields(self._database, user_id)))
        shown = None
        if window and request.has_history:
            shown = _within_reach(window, request.budget_tokens).without_secrets()
        return replace(
            plain,
            user=without_secrets(user),
            guide=self._guide(request, allowed),
            narrative=self._narrative(request, allowed),
            window=shown,
            notes=self._notes(user_id, window, request.project) if window and shown else {},
            choice=choice,
            problems=problems,
        )

    def _notes(self, user_id: str, window: Window, project: str | None) -> dict[int, str]:
        with self._database.read(user_id) as view:
            superseded = superseded_statements(view, user_id, window.turns, project)
        return {
            turn_id: one_line(
                " ".join(one.note_without_memories(self.policy.zone) for one in statements)
            )
            for turn_id, statements in superseded.items()
        }

    def _guide(self, request: PromptRequest, allowed: frozenset[str] | None) -> str:
        if not request.has(ContextMode.TOOLS):
            return ""
        themes = self._known.themes_for_run(request.user_id, request.run_id, request.project)
        return guide([one for one in themes if allowed is None or one.slug in allowed])

    def _narrative(self, request: PromptRequest, allowed: frozenset[str] | None) -> str:
        """The narrative; not for agents that may read only some themes."""
        if not request.has(ContextMode.SUMMARY) or allowed is not None:
            return ""
        return without_secrets(self._known.narrative(request.user_id))


def _within_reach(window: Window, tokens: int) -> Window:
    """The window without what no prompt of so many tokens can show of a long turn."""
    most = tokens * _MOST_CHARS_PER_TOKEN

    def shortened(turn: Turn) -> Turn:
        content = turn.content
        if len(content) > most and may_open_a_tag(content):
            content = without_fenced(content)
        if len(content) <= most or FENCE_START in content:
            return replace(turn, content=content)
        shows_end = turn.role in _SHOWN_BY_THEIR_END
        return replace(turn, content=content[-most:] if shows_end else content[:most])

    return replace(window, turns=tuple(map(shortened, window.turns)))


def _may_know_user(allowed: frozenset[str] | None) -> bool:
    """Whether an agent restricted to these themes may see the profile."""
    return allowed is None or PROFILE_THEME in allowed
