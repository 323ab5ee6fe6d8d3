"""Recall before a chat, and storing the chat afterwards."""

import hashlib
import json
import logging
import threading
from collections.abc import Sequence
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue, in_log
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_CONTEXT_TOKENS
from ricordo.model.context import RecalledMemory, RecalledTurn
from ricordo.model.thread import NewTurn, Turn
from ricordo.prompt.budget import MESSAGE_TOKENS
from ricordo.prompt.fence import asking_tool
from ricordo.prompt.selection import says_only_the_time
from ricordo.proxy.wire import ASSISTANT, USER, ChatMessage, KeptState
from ricordo.recall.search import question_in
from ricordo.user_memory import UserMemory

_log = logging.getLogger(__name__)


class FaultLog:
    """Logs a problem with memory once, and again when it changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: str | None = None

    def note(self, problem: str | None) -> None:
        with self._lock:
            is_news, self._last = problem != self._last, problem
        if is_news and problem is not None:
            _log.warning("chats go on with less memory: %s", problem)
        elif is_news:
            _log.info("chats have memory again")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A text for the model, None where there is nothing to say, and what it shows."""

    text: str | None = None
    memories: tuple[RecalledMemory, ...] = ()
    quotes: tuple[RecalledTurn, ...] = ()


class ChatRecall:
    """Recall for chats that another program leads: it says itself who the assistant is, so that no
    prompt file is sent unless ``persona`` or ``user_file`` say so."""

    def __init__(
        self,
        modes: str,
        budget_tokens: int,
        faults: FaultLog,
        *,
        persona: bool = False,
        user_file: bool = False,
    ) -> None:
        self._modes = modes
        self._budget = budget_tokens
        self._persona = persona
        self._user_file = user_file
        self._faults = faults

    def recall(
        self, memory: UserMemory, message: str, thread: str | None, tools: Sequence[str]
    ) -> Recalled:
        """What to add for a message; nothing where memory fails, because the chat goes on.

        ``tools`` are the names of those that the model has.
        """
        try:
            return self._recalled(memory, question_in(storable(message)), thread, tools)
        except Exception as error:  # noqa: BLE001 - no chat may fail because of memory
            self._faults.note(in_log(error))
            return Recalled()

    def _recalled(
        self, memory: UserMemory, question: str, thread: str | None, tools: Sequence[str]
    ) -> Recalled:
        """The budget is for what is added, so the message comes on top of it."""
        count = memory.parts.prompting.policy.count
        beside = count(question) + MESSAGE_TOKENS if question else 0
        tool = asking_tool(tools)
        context = memory.context(
            question,
            thread=thread,
            modes=self._modes,
            budget_tokens=min(self._budget + beside, MAX_CONTEXT_TOKENS),
            reply_tokens=0,
            tools=[] if tool is None else [{"name": tool}],
            history=False,
            persona=self._persona,
            user_file=self._user_file,
        )
        # The problem itself may quote an endpoint's message, and that the user.
        self._faults.note("a part of it cannot be read now" if context.problems else None)
        if says_only_the_time(context.system):
            return Recalled()
        return Recalled(context.system, context.memories, context.quotes)


def storable(text: str) -> str:
    """A text without what no database can store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """A chat: the messages, the answer as far as there is one, and the recalled memories' ids.

    The upstream has ``kept`` what was said before the messages.
    """

    thread: str | None
    messages: Sequence[ChatMessage]
    answer: ChatMessage
    recalled: tuple[int, ...]
    kept: KeptState | None = None


def remember(memory: UserMemory, exchange: ChatExchange, *, asked: bool = False) -> None:
    """Store the messages and the answer.

    With ``asked`` the messages are stored already, and only the answer is not.

    Raises:
        RicordoError: they could not be stored.
    """
    if exchange.thread is not None:
        if asked:
            seed = _seed(memory, exchange.thread, exchange.kept)
            turns = turns_of(exchange.messages[-1:], exchange.answer, seed)
            turns = turns[-1:] if exchange.answer.has_content else []
        else:
            turns = _new_turns(memory, exchange.thread, exchange)
        if turns:
            memory.observe(turns, thread=exchange.thread)


def count_used(memory: UserMemory, exchange: ChatExchange) -> None:
    """Count which memories the answer used.

    Raises:
        RicordoError: they could not be counted.
    """
    answer = storable(exchange.answer.text).strip()
    if exchange.recalled and answer:
        memory.feedback(exchange.recalled, answer=answer[: limits.MAX_ANSWER_CHARS])


def turns_of(
    messages: Sequence[ChatMessage], answer: ChatMessage, seed: str | None = None
) -> list[NewTurn]:
    """The latest messages and the answer, with stable ids.

    Clients send the whole conversation, or its end, with every request. So the id of a message is a
    hash of itself and the message before it; and of a ``seed``, where they only send what is new.
    """
    whole = [_shortened(one) for one in (*messages, answer) if one.has_content]
    with_former = list(zip([None, *whole], whole, strict=False))
    latest = limits.MAX_OBSERVED_MESSAGES + int(answer.has_content)
    return [_turn(former, one, seed) for former, one in with_former[-latest:]]


def _new_turns(memory: UserMemory, thread: str, exchange: ChatExchange) -> list[NewTurn]:
    """The turns, without the first message of a request that is the end of a longer conversation.

    The message before it is missing, so its id differs from the stored one. That is the case where
    any later message is known already.
    """
    seed = _seed(memory, thread, exchange.kept)
    turns = turns_of(exchange.messages, exchange.answer, seed)
    if seed is not None:
        return turns
    sent = sum(one.has_content for one in exchange.messages)
    if not 1 < sent <= limits.MAX_OBSERVED_MESSAGES:
        return turns
    known = {turn.message_id for turn in _latest(memory, thread)}
    is_known = any(turn.message_id in known for turn in turns[1:])
    return turns[1:] if is_known else turns


def _seed(memory: UserMemory, thread: str, kept: KeptState | None) -> str | None:
    """What tells the same words of two requests apart, and not those of one that is sent again: the
    response that they follow; in a conversation of the upstream's the last answer."""
    if kept is None or kept.is_response:
        return None if kept is None else kept.id
    answers = (turn for turn in reversed(_latest(memory, thread)) if turn.role == ASSISTANT)
    return f"{kept.id} {next((turn.message_id for turn in answers), None)}"


def asked_last(memory: UserMemory, thread: str) -> str:
    """What the user said last in a conversation."""
    said = (turn.content for turn in reversed(_latest(memory, thread)) if turn.role == USER)
    return next(said, "")


def _latest(memory: UserMemory, thread: str) -> Sequence[Turn]:
    # Not memory.window(), which an agent restricted to categories may not read; it does not see
    # what is read here.
    scope = memory.scope
    return memory.parts.conversation.window(scope.user_id, thread, scope.project_id).turns


def _shortened(message: ChatMessage) -> ChatMessage:
    text = storable(message.text).strip()[: limits.MAX_TURN_CHARS].strip()
    return replace(message, text=text)


def _turn(former: ChatMessage | None, message: ChatMessage, seed: str | None) -> NewTurn:
    parts: list[object] = [None if former is None else _fingerprint(former), _fingerprint(message)]
    if seed is not None:
        parts.append(storable(seed))
    digest = hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
    turn: dict[str, Any] = {
        "role": message.role,
        "content": message.text,
        "id": f"chat-{digest[:32]}",
    }
    if not message.calls:
        return NewTurn.parse(turn)
    try:
        return NewTurn.parse({**turn, "tool_calls": list(message.calls)})
    except InvalidValue:  # too large or too deep: store only the names of the tools
        names = [{"name": name[: limits.MAX_REFERENCE_CHARS]} for _, name in _called(message)]
        return NewTurn.parse({**turn, "tool_calls": names[: limits.MAX_TRANSCRIPT_CALLS]})


def _fingerprint(message: ChatMessage) -> list[object]:
    """What clients send back unchanged: arguments of tools are often serialised again."""
    return [message.role, message.text, _called(message)]


def _called(message: ChatMessage) -> list[tuple[str, str]]:
    """The ids and names of the tools that a message calls."""
    found = []
    for call in message.calls:
        function = call.get("function")
        described = function if isinstance(function, dict) else call
        found.append((storable(str(call.get("id"))), storable(str(described.get("name")))))
    return found
