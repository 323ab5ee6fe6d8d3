"""What memory adds to a chat: the text for the model, and the memories that are in it."""

from dataclasses import dataclass

from ricordo.errors import in_log
from ricordo.limits import MAX_CONTEXT_TOKENS
from ricordo.model.context import RecalledMemory
from ricordo.prompt.budget import MESSAGE_TOKENS
from ricordo.prompt.selection import says_only_the_time
from ricordo.proxy.complaints import Complaints
from ricordo.recall.words import question_in
from ricordo.user_memory import UserMemory


@dataclass(frozen=True, slots=True)
class Recalled:
    """A text for the model, None where there is nothing to say, and the memories in it."""

    text: str | None = None
    memories: tuple[RecalledMemory, ...] = ()


class Recalling:
    """Asks memory for what a chat is to know."""

    def __init__(
        self, modes: str, budget_tokens: int, complaints: Complaints, *, persona: bool
    ) -> None:
        self._modes = modes
        self._budget = budget_tokens
        self._persona = persona
        self._complaints = complaints

    def recall(self, memory: UserMemory, message: str, thread: str | None) -> Recalled:
        """What to add for a message; nothing where memory fails, because a chat goes on."""
        try:
            return self._recalled(memory, question_in(storable(message)), thread)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody's chat may fail for it
            self._complaints.note(in_log(error))
            return Recalled()

    def _recalled(self, memory: UserMemory, question: str, thread: str | None) -> Recalled:
        """The budget is for what is added; the message has its place beside it."""
        count = memory.parts.prompting.policy.count
        beside = count(question) + MESSAGE_TOKENS if question else 0
        context = memory.context(
            question,
            thread=thread,
            modes=self._modes,
            budget_tokens=min(self._budget + beside, MAX_CONTEXT_TOKENS),
            reply_tokens=0,
            history=False,
            persona=self._persona,
        )
        # What the problem itself says may quote an endpoint, and that what it was sent.
        self._complaints.note("a part of it cannot be read now" if context.problems else None)
        if says_only_the_time(context.system):
            return Recalled()
        return Recalled(context.system, context.memories)


def storable(text: str) -> str:
    """A text from outside without what no database can store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
