"""One exchange of a chat: what is sent, what comes back, and what is kept of it."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ricordo.errors import InvalidInput, LanguageModelError, NotFound, RicordoError, StorageError
from ricordo.limits import MAX_TURN_CHARS
from ricordo.model.record import plain

if TYPE_CHECKING:
    from ricordo.model.context import Context
    from ricordo.model.thread import Window
    from ricordo.providers.chat import ChatModel
    from ricordo.user_memory import UserMemory

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What became of one message.

    ``answer`` is what came, even if it broke off: then ``error`` says why, or ``is_stopped`` that
    whoever reads it had enough. Without a model there is none.
    """

    thread: str
    message: str
    context: "Context | None"
    answer: str | None
    error: str | None
    is_stopped: bool

    def to_dict(self) -> dict[str, Any]:
        """The exchange as JSON can carry it, with all that was sent."""
        context = self.context
        return {
            "thread": self.thread,
            "message": self.message,
            "answer": self.answer,
            "error": self.error,
            "stopped": self.is_stopped,
            "messages": [] if context is None else [dict(one) for one in context.messages],
            "memories": [] if context is None else plain(context.memories),
            "tokens": None if context is None else plain(context.tokens),
        }


class Conversing:
    """A conversation of a user with the model that the settings name, or with none."""

    def __init__(
        self,
        memory: "UserMemory",
        thread: str,
        modes: Sequence[str],
        budget: int | None,
        seconds: float,
    ) -> None:
        self.memory = memory
        self.thread = thread
        self.last: Context | None = None
        """What was sent last."""
        self._modes = modes
        self._budget = budget
        self._seconds = seconds

    @property
    def model(self) -> "ChatModel | None":
        """Who answers, if anybody."""
        metered = self.memory.formation.model
        return None if metered is None else metered.plain

    def take_up(self) -> "Window":
        """What was said before, made ready to go on from.

        Raises:
            InvalidInput: the name of the conversation, a mode or the budget is not allowed.
            StorageError: the store could not be read.
        """
        self._check()
        return self.memory.resume(self.thread)

    def exchange(self, message: str, show: Show) -> Exchange:
        """Send a message and show the answer as it comes; every problem is part of the result.

        The message is recorded before the model is asked, so that it stays whatever happens then.
        """
        try:
            self.last = context = self._context(message)
            self._record("user", message)
        except (InvalidInput, StorageError) as problem:
            return Exchange(self.thread, message, None, None, str(problem), is_stopped=False)
        model = self.model
        if model is None:
            return Exchange(self.thread, message, context, None, None, is_stopped=False)
        came: list[str] = []
        error: str | None = None
        is_stopped = False
        try:
            self._stream(model, context, came, show)
        except LanguageModelError as problem:
            error = str(problem)
        except KeyboardInterrupt:
            is_stopped = True
        answer = "".join(came)
        error = self._keep(context, answer) or error
        return Exchange(self.thread, message, context, answer, error, is_stopped=is_stopped)

    def finish(self) -> int:
        """Form memories from what was said, now that it is over; how many there were.

        Where that fails, a job does it another time.
        """
        if not self.memory.formation.policy.is_automatic:
            return 0
        with contextlib.suppress(RicordoError):
            return len(self.memory.form(self.thread).decisions)
        return 0

    def _check(self) -> None:
        """Refuse at the start what every message would be refused for."""
        from ricordo.prompt.request import PromptRequest

        policy = self.memory.parts.prompting.policy
        PromptRequest.parse(
            user_id=self.memory.scope.user_id,
            message="",
            thread_id=self.thread,
            agent=None,
            run_id=None,
            modes=self._modes,
            threshold=policy.threshold,
            budget_tokens=policy.budget_tokens if self._budget is None else self._budget,
            reply_tokens=None,
            tools=None,
        )

    def _context(self, message: str) -> "Context":
        return self.memory.context(
            message, thread=self.thread, modes=self._modes, budget_tokens=self._budget
        )

    def _stream(self, model: "ChatModel", context: "Context", came: list[str], show: Show) -> None:
        pieces = model.stream(
            context.messages,
            max_tokens=max(context.tokens.reply, 1),
            deadline_seconds=self._seconds,
        )
        with contextlib.closing(pieces):
            for piece in pieces:
                came.append(piece)
                show(piece)

    def _keep(self, context: "Context", answer: str) -> str | None:
        """Record what came and what of memory it used; what went wrong, if anything did."""
        said = answer.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
        if not said.strip():
            return None
        try:
            self._record("assistant", said[:MAX_TURN_CHARS])
            shown = [memory.id for memory in context.memories]
            if shown:
                with contextlib.suppress(NotFound):  # forgotten in between
                    self.memory.feedback(shown, answer=said)
        except (InvalidInput, StorageError) as problem:
            return str(problem)
        return None

    def _record(self, role: str, content: str) -> None:
        self.memory.observe([{"role": role, "content": content}], thread=self.thread)
