"""What the items of a session say, as turns of a conversation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model.thread import NewTurn
from ricordo.proxy.recalling import storable
from ricordo.proxy.said import ASSISTANT, TOOL, USER, text_of
from ricordo.tools import TOOL_SETS

_CALL: Final = "function_call"
_RESULT: Final = "function_call_output"
_OWN_TOOLS: Final = frozenset(tool.name for tools in TOOL_SETS.values() for tool in tools)


def turns_of(items: Sequence[object], called: Mapping[str, str]) -> list[NewTurn]:
    """What users, assistants and tools said, in order; ``called`` are tools' names by call.

    Instructions, pictures and the model's reasoning are nothing that was said. Calls of the tools
    of memory, and what they gave, are left out: what is remembered is not said again by recalling
    it.
    """
    turns = []
    for item in items:
        if isinstance(item, Mapping):
            turn = _turn(item, called)
            if turn is not None:
                turns.append(turn)
    return turns


def calls_in(items: Iterable[object]) -> dict[str, str]:
    """The names of the tools that items call, by the ids of the calls."""
    found = {}
    for item in items:
        if isinstance(item, Mapping) and item.get("type") == _CALL:
            found[str(item.get("call_id"))] = str(item.get("name"))
    return found


def unknown_calls(items: Iterable[object], called: Mapping[str, str]) -> bool:
    """Whether there is the result of a call that is not among these."""
    return any(
        isinstance(item, Mapping)
        and item.get("type") == _RESULT
        and str(item.get("call_id")) not in called
        for item in items
    )


def _turn(item: Mapping[str, Any], called: Mapping[str, str]) -> NewTurn | None:
    kind = item.get("type", "message")
    if kind == "message" and item.get("role") in (USER, ASSISTANT):
        return _said(item["role"], text_of(item.get("content"), "text"))
    if kind == _CALL and str(item.get("name")) not in _OWN_TOOLS:
        return _calling(item)
    if kind == _RESULT and called.get(str(item.get("call_id"))) not in _OWN_TOOLS:
        return _said(TOOL, text_of(item.get("output"), "text"))
    return None


def _said(role: str, text: str) -> NewTurn | None:
    cut = storable(text).strip()[: limits.MAX_TURN_CHARS].strip()
    return NewTurn(role=role, content=cut) if cut else None


def _calling(item: Mapping[str, Any]) -> NewTurn:
    name = storable(str(item.get("name")))
    function = {"name": name, "arguments": item.get("arguments")}
    call = {"id": item.get("call_id"), "type": "function", "function": function}
    try:
        return NewTurn.parse({"role": ASSISTANT, "content": None, "tool_calls": [call]})
    except InvalidValue:  # larger than can be stored: which tool was called is enough
        called = [{"name": name[: limits.MAX_REFERENCE_CHARS]}]
        return NewTurn.parse({"role": ASSISTANT, "content": None, "tool_calls": called})
