"""What reaches a model: prompts, and which of the memories in them were of use."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue, MemoryNotFound
from ricordo.memories.lookup import read_history, read_item
from ricordo.model import checks
from ricordo.model.context import Context, Feedback
from ricordo.model.item import Item
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.request import PromptRequest
from ricordo.prompt.selection import give_feedback, used_in
from ricordo.storage.backend import Step
from ricordo.user_memory.bound import Bound


class Prompting(Bound):
    """Operations for whoever talks to a model."""

    def context(
        self,
        message: str = "",
        *,
        thread: str | None = None,
        modes: Iterable[ContextMode | str] | ContextMode | str = ContextMode.TOOLS,
        budget_tokens: int | None = None,
        reply_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        threshold: float | None = None,
        agent: str | None = None,
        history: bool = True,
        persona: bool = True,
    ) -> Context:
        """A request to a model that knows this user: system text, earlier turns, the message.

        ``modes`` are one or more of ``tools`` (a guide to the memory tools and the themes there
        are, nothing of what memories say), ``recall`` (the memories that matter for the message)
        and ``summary`` (what is known of the user as one text). With a ``thread`` the request has
        its latest turns, what came before them in short, and what changed in memory since the
        thread last looked; without ``history`` only that, for callers who send the turns of the
        conversation themselves; without ``persona`` neither ``SOUL.md`` nor ``RULES.md``, for
        callers who say themselves who the assistant is. ``tools`` are the schemas that the caller
        sends along; they and ``reply_tokens`` are part of the budget, which is never exceeded.
        Memories that are less sure than ``threshold`` are not shown. ``agent`` is who asks, None
        for the agent of this scope or the user: nothing outside its allowlist is shown, and nothing
        outside the categories of this scope, where it has any: then also no turns.

        A store that fails is no error: the prompt says that memory is unavailable.

        Raises:
            InvalidValue: a value is not allowed, or the message alone is more than the budget.
            InvalidPolicy: the policy file is broken; nothing was read.
            ScopeWidened: another agent or thread than the one of this scope.
        """
        named = checks.optional_reference("thread", thread)
        asking = self.scope.narrow(agent_id=agent, thread_id=named)
        policy = self.parts.prompting.policy
        least = checks.optional_share("threshold", threshold)
        request = PromptRequest.parse(
            user_id=self.scope.user_id,
            message=message,
            thread_id=asking.thread_id,
            agent=asking.agent_id,
            run_id=asking.run_id,
            modes=modes,
            threshold=policy.threshold if least is None else least,
            budget_tokens=policy.budget_tokens if budget_tokens is None else budget_tokens,
            reply_tokens=reply_tokens,
            tools=tools,
            categories=self.scope.categories,
            history=history,
            persona=persona,
        )
        started = time.perf_counter()
        with self.database.watch(Step.CONTEXT):
            built = self.parts.prompting.build(request)
        if built.confidence is not None:  # None where nothing was looked for, or could be
            self._count_recall(started)
        return built

    def feedback(
        self,
        recalled: Iterable[int],
        *,
        used: Iterable[int] | None = None,
        answer: str | None = None,
    ) -> Feedback:
        """Say which of the memories that a prompt showed an answer used.

        Either name them (``used``), or give the ``answer``: then those count of whose words it has
        at least half. What was used counts as recalled once more, and the share of it is counted as
        ``retrieval_hit_rate``.

        Raises:
            InvalidValue: neither or both are given, or something was used that was not recalled.
            MemoryNotFound: another user's memory, or none; nothing was counted.
        """
        shown = _ids("recalled", recalled)
        if (used is None) == (answer is None):
            raise InvalidValue("used", "give either this or answer")
        found = self._still_there(shown)
        if used is None:
            said = checks.text("answer", answer, limits.MAX_ANSWER_CHARS)
            present = [item for item in found.values() if item is not None]
            of_use = used_in(said, present, self.database.analyser)
        else:
            of_use = _ids("used", used)
            strange = [item_id for item_id in of_use if item_id not in found]
            if strange:
                listed = ", ".join(map(str, strange))
                raise InvalidValue("used", f"not among what was recalled: {listed}")
        return give_feedback(self.database, self.recall, self.scope.user_id, found, of_use)

    def _still_there(self, ids: Sequence[int]) -> dict[int, Item | None]:
        """The memories by id; None for what this user forgot since.

        Raises:
            MemoryNotFound: this user never had to do with such a memory.
        """
        found: dict[int, Item | None] = {}
        with self.database.read(self.scope.user_id) as view:
            audience = self._audience(view)
            for item_id in ids:
                try:
                    found[item_id] = read_item(view, audience, item_id)
                except MemoryNotFound:
                    read_history(view, audience, self.scope.user_id, item_id, 1)
                    found[item_id] = None
        return found


def _ids(field: str, given: Iterable[int]) -> list[int]:
    listed = checks.entries(field, given, limits.MAX_RECALLED_MEMORIES)
    return list(dict.fromkeys(checks.memory_id(item_id) for item_id in listed))
