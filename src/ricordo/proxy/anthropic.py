"""The wire format of Anthropic's ``/v1/messages``."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ricordo.limits import MAX_OBSERVED_ANSWER_CHARS, MAX_TOOL_CALLS_BYTES
from ricordo.proxy.wire import (
    ASSISTANT,
    TOOL,
    USER,
    Carrier,
    ChatMessage,
    JsonObject,
    TextBuffer,
    dumped,
    joined,
    objects,
    read_object,
    text_of,
)
from ricordo.storage.upstream_ids import UpstreamId

_TEXT: Final = "text"
_CALL: Final = "tool_use"
_RESULT: Final = "tool_result"
_MOST_BLOCKS: Final = 1_000
_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


class AnthropicWire:
    name = "anthropic"
    path = "/v1/messages"
    count_path = "/v1/messages/count_tokens"
    models_path = "/v1/models"

    def key_header(self, key: str) -> tuple[str, str]:
        return "x-api-key", key

    def user_in(self, request: JsonObject) -> str | None:
        metadata = request.value("metadata")
        user = metadata.get("user_id") if isinstance(metadata, dict) else None
        return user if isinstance(user, str) else None

    def messages_in(self, request: JsonObject) -> list[ChatMessage]:
        """Messages, and tool results, which are part of a user's message."""
        found = [
            one for message in objects(request.value("messages")) for one in _messages_in(message)
        ]
        return [one for one in found if one.has_content]

    def with_system(self, request: JsonObject, text: str) -> str:
        """One more block after the client's own, so that its cache marks stay valid."""
        system = request.members.get("system")
        block = dumped({"type": _TEXT, "text": text})
        if system is None:
            return request.with_first("system", dumped(text))
        if system.value in (None, ""):
            return request.with_replaced(system, dumped(text))
        if isinstance(system.value, str):
            theirs = f'{{"type":"text","text":{request.raw(system)}}}'
            return request.with_replaced(system, f"[{theirs},{block}]")
        if isinstance(system.value, list):
            comma = "," if system.value else ""
            return request.with_inserted(system.end - 1, f"{comma}{block}")
        return request.text

    def goes_on(self, request: JsonObject) -> None:  # noqa: ARG002 - it keeps nothing
        return None

    def carrier(self, event: dict[str, Any]) -> Carrier:
        """The event that starts a message, and the message in it; pings may come before."""
        kind = event.get("type")
        is_start = kind == "message_start"
        return Carrier(is_start, ("message",) if is_start else (), is_last=kind != "ping")

    def message_in(self, answer: dict[str, Any]) -> ChatMessage:
        blocks = objects(answer.get("content"))
        calls = [block for block in blocks if block.get("type") == _CALL]
        return ChatMessage(ASSISTANT, text_of(blocks, _TEXT), tuple(calls[:_MOST_BLOCKS]))

    def ids_in(self, answer: dict[str, Any]) -> Sequence[UpstreamId]:  # noqa: ARG002
        """Nothing is kept."""
        return ()

    def listener(self) -> "AnthropicListener":
        return AnthropicListener()

    def error(self, status: int, message: str, code: str) -> bytes:  # noqa: ARG002 - has none
        kind = _KINDS.get(status, "api_error")
        return dumped({"type": "error", "error": {"type": kind, "message": message}}).encode()


class AnthropicListener:
    """Joins the blocks of a streamed message."""

    ids: Sequence[UpstreamId] = ()

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}

    def add(self, event: dict[str, Any]) -> None:
        index = event.get("index")
        if not isinstance(index, int):
            return
        start, delta = event.get("content_block"), event.get("delta")
        if isinstance(start, dict) and len(self._blocks) < _MOST_BLOCKS:
            self._blocks[index] = _Block(start)
        elif isinstance(delta, dict) and index in self._blocks:
            self._blocks[index].add(delta)

    def message(self) -> ChatMessage:
        blocks = [self._blocks[index].whole() for index in sorted(self._blocks)]
        texts = [block["text"] for block in blocks if block["type"] == _TEXT]
        calls = [block for block in blocks if block["type"] == _CALL]
        return ChatMessage(ASSISTANT, joined(texts)[:MAX_OBSERVED_ANSWER_CHARS], tuple(calls))


class _Block:
    """A block whose parts arrive in pieces; only texts and tool calls are kept."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._kind = start.get("type")
        self._text = TextBuffer(MAX_OBSERVED_ANSWER_CHARS)
        self._input = TextBuffer(MAX_TOOL_CALLS_BYTES)
        self._text.add(text_of(start.get("text")))

    def add(self, delta: dict[str, Any]) -> None:
        self._text.add(text_of(delta.get("text")))
        self._input.add(text_of(delta.get("partial_json")))

    def whole(self) -> dict[str, Any]:
        if self._kind == _TEXT:
            return {"type": _TEXT, "text": self._text.joined()}
        if self._kind != _CALL:
            return {"type": ""}
        text = self._input.joined()
        given = read_object(text.encode("utf-8", "replace")) if text else self._start.get("input")
        # Incomplete JSON is kept as text.
        return {**self._start, "type": _CALL, "input": text if given is None else given}


def _messages_in(message: dict[str, Any]) -> Iterator[ChatMessage]:
    role, content = message.get("role"), message.get("content")
    blocks = objects(content)
    if role == ASSISTANT:
        calls = [block for block in blocks if block.get("type") == _CALL]
        yield ChatMessage(ASSISTANT, text_of(content, _TEXT), tuple(calls[:_MOST_BLOCKS]))
    elif role == USER:
        for block in blocks:
            if block.get("type") == _RESULT:
                yield ChatMessage(TOOL, text_of(block.get("content"), _TEXT))
        yield ChatMessage(USER, text_of(content, _TEXT))


ANTHROPIC: Final = AnthropicWire()
