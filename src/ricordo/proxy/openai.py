"""The wire format of OpenAI's ``/v1/chat/completions``."""

from collections.abc import Sequence
from typing import Any, Final

from ricordo.limits import MAX_OBSERVED_ANSWER_CHARS, MAX_TOOL_CALLS_BYTES
from ricordo.proxy.wire import (
    ASSISTANT,
    TOOL,
    USER,
    Carrier,
    ChatMessage,
    JsonObject,
    KeptState,
    Span,
    StreamListener,
    TextBuffer,
    dumped,
    objects,
    text_of,
)
from ricordo.storage.upstream_ids import UpstreamId

SYSTEM_ROLES: Final = ("system", "developer")
_ROLES: Final = {USER: USER, ASSISTANT: ASSISTANT, TOOL: TOOL, "function": TOOL}
MOST_CALLS: Final = 1_000


class OpenAiWire:
    name = "openai"
    path = "/chat/completions"
    count_path = "/responses/input_tokens"  # chats have none of their own
    models_path = "/models"

    def key_header(self, key: str) -> tuple[str, str]:
        return "authorization", f"Bearer {key}"

    def user_in(self, request: JsonObject) -> str | None:
        user = request.value("user")
        return user if isinstance(user, str) else None

    def messages_in(self, request: JsonObject) -> list[ChatMessage]:
        found = (_message_in(message) for message in objects(request.value("messages")))
        return [one for one in found if one is not None and one.has_content]

    def with_system(self, request: JsonObject, text: str) -> str:
        """One more message after the client's own system messages, in the same role: some endpoints
        refuse ``system`` beside ``developer``."""
        messages = request.members.get("messages")
        return request.text if messages is None else after_systems(request, messages, text)

    def goes_on(self, request: JsonObject) -> KeptState | None:  # noqa: ARG002
        """Nothing is kept."""
        return None

    def carrier(self, event: dict[str, Any]) -> Carrier:
        """The first event, unless it is an error. Some endpoints always have the field."""
        return Carrier(event.get("error") is None)

    def message_in(self, answer: dict[str, Any]) -> ChatMessage:
        for choice in objects(answer.get("choices"))[:1]:
            message = choice.get("message")
            if isinstance(message, dict):
                return _message_in({**message, "role": ASSISTANT}) or ChatMessage(ASSISTANT, "")
        return ChatMessage(ASSISTANT, "")

    def ids_in(self, answer: dict[str, Any]) -> Sequence[UpstreamId]:  # noqa: ARG002
        """Nothing is kept."""
        return ()

    def listener(self) -> StreamListener:
        return OpenAiListener()

    def error(self, status: int, message: str, code: str) -> bytes:
        kind = "invalid_request_error" if status < 500 else "api_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        return dumped({"error": error}).encode("utf-8")


class OpenAiListener:
    """Joins the deltas of the first choice."""

    ids: Sequence[UpstreamId] = ()

    def __init__(self) -> None:
        self._text = TextBuffer(MAX_OBSERVED_ANSWER_CHARS)
        self._calls: dict[int, _Call] = {}

    def add(self, event: dict[str, Any]) -> None:
        for choice in objects(event.get("choices")):
            delta = choice.get("delta")
            if choice.get("index", 0) == 0 and isinstance(delta, dict):
                self._text.add(text_of(delta.get("content"), "text"))
                self._text.add(text_of(delta.get("refusal")))
                for call in objects(delta.get("tool_calls")):
                    self._add_call(call)

    def message(self) -> ChatMessage:
        calls = [self._calls[index].whole() for index in sorted(self._calls)]
        return ChatMessage(ASSISTANT, self._text.joined(), tuple(calls))

    def _add_call(self, delta: dict[str, Any]) -> None:
        index = delta.get("index", 0)
        if not isinstance(index, int) or len(self._calls) >= MOST_CALLS:
            return
        call = self._calls.setdefault(index, _Call())
        function = delta.get("function")
        if isinstance(delta.get("id"), str):
            call.id = call.id or delta["id"]
        if isinstance(function, dict):
            call.name.add(text_of(function.get("name")))
            call.arguments.add(text_of(function.get("arguments")))


class _Call:
    """A tool call whose parts arrive in pieces."""

    def __init__(self) -> None:
        self.id = ""
        self.name = TextBuffer(MAX_TOOL_CALLS_BYTES)
        self.arguments = TextBuffer(MAX_TOOL_CALLS_BYTES)

    def whole(self) -> dict[str, Any]:
        function = {"name": self.name.joined(), "arguments": self.arguments.joined()}
        return {"id": self.id, "type": "function", "function": function}


def after_systems(request: JsonObject, messages: Span, text: str) -> str:
    """The request with one more message after the first system messages of a list."""
    if not isinstance(messages.value, list) or not messages.value:
        return request.text
    role, place, is_first = SYSTEM_ROLES[0], messages.start, True
    for message in request.elements(messages):
        its_role = message.value.get("role") if isinstance(message.value, dict) else None
        if its_role not in SYSTEM_ROLES:
            place = message.start if is_first else place
            break
        role, place, is_first = str(its_role), message.end, False
    ours = dumped({"role": role, "content": text})
    return request.with_inserted(place, f"{ours}," if is_first else f",{ours}")


def _message_in(message: dict[str, Any]) -> ChatMessage | None:
    given = message.get("role")
    role = _ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        return None
    text = text_of(message.get("content"), "text", "refusal")
    text = text or text_of(message.get("refusal"))
    calls = objects(message.get("tool_calls")) if role == ASSISTANT else []
    return ChatMessage(role, text, tuple(calls[:MOST_CALLS]))


OPENAI: Final = OpenAiWire()
