"""The wire format of OpenAI's ``/v1/responses``."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ricordo.limits import MAX_OBSERVED_ANSWER_CHARS, MAX_TOOL_CALLS_BYTES
from ricordo.model.vocabulary import UpstreamKind
from ricordo.proxy.openai import MOST_CALLS, SYSTEM_ROLES, OpenAiWire, after_systems
from ricordo.proxy.wire import (
    ASSISTANT,
    TOOL,
    USER,
    Carrier,
    ChatMessage,
    JsonObject,
    KeptState,
    StreamListener,
    TextBuffer,
    dumped,
    joined,
    objects,
    text_of,
)
from ricordo.storage.upstream_ids import UpstreamId

_ROLES: Final = (USER, ASSISTANT)
_ENDINGS: Final = ("response.completed", "response.incomplete", "response.failed", "error")
_CALL: Final = "_call"
_RESULT: Final = "_call_output"


class ResponsesWire(OpenAiWire):
    path = "/responses"

    def messages_in(self, request: JsonObject) -> list[ChatMessage]:
        given = request.value("input")
        items = [{"role": USER, "content": given}] if isinstance(given, str) else objects(given)
        return [one for one in _messages(items) if one.has_content]

    def goes_on(self, request: JsonObject) -> KeptState | None:
        given = request.value("conversation")
        conversation = given.get("id") if isinstance(given, dict) else given
        if isinstance(conversation, str) and conversation:
            return KeptState(conversation, is_response=False)
        former = request.value("previous_response_id")
        return KeptState(former, is_response=True) if former and isinstance(former, str) else None

    def with_system(self, request: JsonObject, text: str) -> str:
        """At the end of ``instructions``, which the upstream never keeps; after the client's system
        messages where it has those instead."""
        items = request.members.get("input")
        kept = self.goes_on(request)
        if items is None and kept is None:
            return request.text
        instructions = request.members.get("instructions")
        if instructions is not None and instructions.value:
            if not isinstance(instructions.value, str):
                return request.text
            return request.with_inserted(instructions.end - 1, dumped(f"\n\n{text}")[1:-1])
        listed = None if items is None else items.value
        has_template = request.value("prompt") is not None  # with instructions of its own
        begins_conversation = kept is None and _role(listed) in SYSTEM_ROLES
        if items is not None and (has_template or begins_conversation):
            if not isinstance(listed, str):
                return after_systems(request, items, text)
            ours = dumped({"role": SYSTEM_ROLES[0], "content": text})
            theirs = f'{{"role":"user","content":{request.raw(items)}}}'
            return request.with_replaced(items, f"[{ours},{theirs}]")
        if instructions is not None:
            return request.with_replaced(instructions, dumped(text))
        return request.with_first("instructions", dumped(text))

    def carrier(self, event: dict[str, Any]) -> Carrier:
        """The response in the events that begin and end it."""
        kind = event.get("type")
        is_last = kind in _ENDINGS
        has_response = is_last or kind == "response.created"
        return Carrier(members=("response",) if has_response else (), is_last=is_last)

    def message_in(self, answer: dict[str, Any]) -> ChatMessage:
        return _answer(_messages(objects(answer.get("output"))))

    def ids_in(self, answer: dict[str, Any]) -> list[UpstreamId]:
        conversation = answer.get("conversation")
        found = [
            *_ids(UpstreamKind.RESPONSE, answer),
            *_ids(UpstreamKind.CONVERSATION, conversation),
        ]
        for item in objects(answer.get("output")):
            found += _ids(UpstreamKind.ITEM, item)
        return found

    def listener(self) -> StreamListener:
        return ResponsesListener()


class ResponsesListener:
    """Collects the items of the output, as far as they came."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._items: dict[int, _Item] = {}
        self._ids: dict[UpstreamId, None] = {}

    @property
    def ids(self) -> Sequence[UpstreamId]:
        return tuple(self._ids)

    def add(self, event: dict[str, Any]) -> None:
        response, item, index = (event.get(name) for name in ("response", "item", "output_index"))
        if isinstance(response, dict):
            self._response = response
            self._ids.update(dict.fromkeys(RESPONSES.ids_in(response)))
        if not isinstance(index, int):
            return
        if index not in self._items and len(self._items) >= MOST_CALLS:
            return
        self._ids.update(dict.fromkeys(_ids(UpstreamKind.ITEM, item)))
        if isinstance(item, dict):
            self._items[index] = _Item(item)
        else:
            self._items.setdefault(index, _Item({"role": ASSISTANT})).add(event)

    def message(self) -> ChatMessage:
        whole = objects(self._response.get("output"))
        items = whole or [self._items[index].whole() for index in sorted(self._items)]
        return _answer(_messages(items))


class _Item:
    """An item whose parts arrive in pieces, until it comes whole."""

    def __init__(self, item: dict[str, Any]) -> None:
        self._item = item
        self._text = TextBuffer(MAX_OBSERVED_ANSWER_CHARS)
        self._given = TextBuffer(MAX_TOOL_CALLS_BYTES)
        self._part: object = 0

    def add(self, event: dict[str, Any]) -> None:
        kind, delta = event.get("type"), text_of(event.get("delta"))
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            part = event.get("content_index", 0)
            self._text.add(delta if part == self._part else f"\n{delta}")
            self._part = part
        elif kind in (
            "response.function_call_arguments.delta",
            "response.custom_tool_call_input.delta",
        ):
            self._given.add(delta)

    def whole(self) -> dict[str, Any]:
        text, given = self._text.joined(), self._given.joined()
        item = self._item
        if text and not item.get("content"):
            item = {**item, "content": text}
        for name in ("arguments", "input"):
            if given and item.get(name) == "":
                item = {**item, name: given}
        return item


def _role(items: object) -> object:
    """The role of the first item."""
    first = items[0] if isinstance(items, list) and items else None
    return first.get("role") if isinstance(first, dict) else None


def _messages(items: Iterable[dict[str, Any]]) -> Iterator[ChatMessage]:
    """The messages in items; what an answer consists of is one."""
    answer: list[ChatMessage] = []
    for item in items:
        message = _message_of(item)
        if message is not None and message.role == ASSISTANT:
            answer.append(message)
        elif message is not None:
            if answer:
                yield _joined(answer)
            answer = []
            yield message
    if answer:
        yield _joined(answer)


def _message_of(item: dict[str, Any]) -> ChatMessage | None:
    """None for an item that nobody said, and for a system message."""
    kind, role = item.get("type") or "message", item.get("role")
    if kind == "message":
        text = text_of(item.get("content"), "text", "refusal")
        return ChatMessage(str(role), text) if role in _ROLES else None
    if not isinstance(kind, str):
        return None
    if kind.endswith(_RESULT):
        return ChatMessage(TOOL, text_of(item.get("output"), "text"))
    call = _call_of(item, kind) if kind.endswith(_CALL) else None
    return None if call is None else ChatMessage(ASSISTANT, "", (call,))


def _call_of(item: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """A call in the form of chat completions; None where only the upstream can answer it."""
    call_id, name = item.get("call_id"), item.get("name")
    if not (isinstance(call_id, str) or isinstance(name, str)):
        return None
    call = {"id": call_id if isinstance(call_id, str) else item.get("id")}
    name = name if isinstance(name, str) else kind.removesuffix(_CALL)
    given = item.get("arguments")
    if isinstance(given, str):
        function = {"name": name, "arguments": given[:MAX_TOOL_CALLS_BYTES]}
        return {**call, "type": "function", "function": function}
    return {**call, "type": kind, "name": name, "input": item.get("input", item.get("action"))}


def _joined(messages: list[ChatMessage]) -> ChatMessage:
    texts = [one.text for one in messages if one.text]
    calls = [call for one in messages for call in one.calls]
    return ChatMessage(ASSISTANT, joined(texts), tuple(calls[:MOST_CALLS]))


def _answer(said: Iterable[ChatMessage]) -> ChatMessage:
    whole = _joined([one for one in said if one.role == ASSISTANT])
    text = whole.text[:MAX_OBSERVED_ANSWER_CHARS]
    return ChatMessage(ASSISTANT, text, whole.calls)


def _ids(kind: UpstreamKind, given: object) -> list[UpstreamId]:
    found = given.get("id") if isinstance(given, dict) else None
    return [UpstreamId(kind, found)] if isinstance(found, str) and found else []


RESPONSES: Final = ResponsesWire()
