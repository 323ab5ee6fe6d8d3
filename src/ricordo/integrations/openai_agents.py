"""The OpenAI Agents SDK on a ricordo store: a session that remembers, and memory as tools.

``pip install 'ricordo[openai-agents]'``.
"""

try:
    import agents  # noqa: F401 - checked once for all imports below
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(
        needs_extra("ricordo.integrations.openai_agents", "openai-agents")
    ) from missing

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from agents import FunctionTool, RunContextWrapper
from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from agents.tool_context import ToolContext

from ricordo import limits
from ricordo.agent_state import checkpoints
from ricordo.agent_state.checkpoints import JsonText, json_text, read_json
from ricordo.aio import AsyncUserMemory
from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import AnyUserMemory, any_user, in_thread
from ricordo.limits import MAX_OBSERVED_TURNS
from ricordo.model import checks
from ricordo.model.thread import NewTurn
from ricordo.proxy.memory import storable
from ricordo.proxy.wire import ASSISTANT, TOOL, USER, text_of
from ricordo.storage.checkpoints import find_state
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction, retried
from ricordo.tools import TOOL_SETS, AsyncTools, Tool, Tools, chosen
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import check_all_projects, check_whole

__all__ = ["MemorySession", "memory_tools"]

Who = AnyUserMemory | Callable[[RunContextWrapper[Any]], AnyUserMemory | Awaitable[AnyUserMemory]]
"""One user's memory, or a function from a run's context to a user's memory."""

_CALL: Final = "function_call"
_RESULT: Final = "function_call_output"
_OWN_TOOLS: Final = frozenset(tool.name for tools in TOOL_SETS.values() for tool in tools)
_PREFIX: Final = "agents"
_HEAD: Final = 0  # the number of the head row
_LAST: Final = "last_part"
_MAX_DIGITS: Final = 9
_FRAME_BYTES: Final = 2  # the brackets around the items of a part
MAX_SESSION_ID_CHARS: Final = limits.MAX_REFERENCE_CHARS - len(_PREFIX) - _MAX_DIGITS - 2
T = TypeVar("T")
_LOOK_BACK_ITEMS: Final = 100  # to find the call of a tool result; it is mostly the item before


def memory_tools(who: Who, *sets: str) -> list[FunctionTool]:
    """The tools of some sets (without any, the standard one) for ``Agent(tools=[...])``.

    ``who`` is one user's memory, or a function that takes the context of a run and returns the
    memory of its user, so that one agent serves many users. The model cannot choose the user.

    Raises:
        InvalidValue: there is no such set, or this is no user's memory.
    """
    if not callable(who):
        any_user(who, "who", or_function=True)
    return [_function_tool(who, tool, sets) for tool in chosen(*sets)]


def _function_tool(who: Who, tool: Tool, sets: tuple[str, ...]) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        user = await _user_of(who, context)
        if isinstance(user, AsyncUserMemory):
            return await AsyncTools(user, *sets).call(tool.name, arguments)
        return await asyncio.to_thread(Tools(user, *sets).call, tool.name, arguments)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema(),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode has no optional arguments
    )


async def _user_of(who: Who, context: RunContextWrapper[Any]) -> AnyUserMemory:
    found: Any = who
    if callable(who):
        found = who(context)
        if inspect.isawaitable(found):
            found = await found
    return any_user(found, "who")


def turns_of(items: Sequence[object], called: Mapping[str, str]) -> list[NewTurn]:
    """What users, assistants and tools said, in order; ``called`` are tool names by call id.

    Instructions, pictures and the model's reasoning are left out, and so are memory tool calls and
    their results: recalling a memory does not say it again.
    """
    turns = (_turn(item, called) for item in items if isinstance(item, Mapping))
    return [turn for turn in turns if turn is not None]


def calls_in(items: Iterable[object]) -> dict[str, str]:
    """The names of the tools that items call, by call id."""
    return {
        str(item.get("call_id")): str(item.get("name"))
        for item in items
        if isinstance(item, Mapping) and item.get("type") == _CALL
    }


def has_unknown_calls(items: Iterable[object], called: Mapping[str, str]) -> bool:
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
    except InvalidValue:  # too large to be stored: the tool's name is enough
        called = [{"name": name[: limits.MAX_REFERENCE_CHARS]}]
        return NewTurn.parse({"role": ASSISTANT, "content": None, "tool_calls": called})


# A session is a sequence of parts: each part is a state with a list of items, and a head row says
# which is the last. Adding rewrites only the last part, so a long session costs no more than a
# short one and is not limited by the size of one state. A step writes all rows in one transaction,
# which serialises the user's writes, so concurrent additions are not lost.


Item = Any
"""An item of the SDK: an input object of the Responses API."""

View = ReadTransaction | WriteTransaction


class SessionItems:
    """The items of one session of one user.

    Raises:
        InvalidValue: the session's name is not allowed.
        ScopeWidened: this memory is bound to another thread.
        PermissionMissing: it is restricted to some categories.
    """

    def __init__(self, user: UserMemory, session_id: str) -> None:
        self.session_id = checked_session_id(session_id)
        check_whole(user.scope, "a session of an agent")
        check_all_projects(user.scope, "a session of an agent")
        user.scope.narrow(thread_id=session_id)
        self.database: Database = user.database
        self._user_id = user.scope.user_id

    def latest(self, limit: int | None = None) -> list[Item]:
        """The latest items, or all, in the order in which they were added."""
        if limit == 0:
            return []
        if limit is not None and limit < 0:  # like the SDK's own sessions
            limit = None
        with self.database.read(self._user_id) as view:
            newest: list[Item] = []
            for number in range(self._last_part(view), _HEAD, -1):
                newest += reversed(self._part(view, number))
                if limit is not None and len(newest) >= limit:
                    break
        return [_unpacked(item) for item in newest[:limit][::-1]]

    def add(self, items: Sequence[Item]) -> None:
        """Append items, all or none. Raises InvalidValue: an item is not JSON, or too large."""
        most = limits.MAX_CHECKPOINT_BYTES - _FRAME_BYTES
        encoded = [json_text(f"items[{n}]", _packed(item), most) for n, item in enumerate(items)]
        if encoded:
            self._append(encoded)

    @retried
    def pop(self) -> Item | None:
        """Remove and return the last item; None where there is none."""
        with self.database.write(self._user_id) as writing:
            number = self._last_part(writing)
            if number == _HEAD:
                return None
            *before, popped = self._part(writing, number)
            if before:
                self._save(writing, number, before)
            else:
                checkpoints.delete(writing, self._name(number), None)
                self._set_last(writing, number - 1)
            return _unpacked(popped)

    @retried
    def clear(self) -> None:
        """Remove all items."""
        with self.database.write(self._user_id) as writing:
            for number in range(self._last_part(writing), _HEAD, -1):
                checkpoints.delete(writing, self._name(number), None)
            self._set_last(writing, _HEAD)

    @retried
    def _append(self, encoded: Sequence[JsonText]) -> None:
        with self.database.write(self._user_id) as writing:
            former = last = self._last_part(writing)
            present = self._part(writing, last) if last != _HEAD else []
            size = _size(json_text("items", present, limits.MAX_CHECKPOINT_BYTES))
            for number, items in _parts(last, present, size, encoded):
                last = number
                self._save(writing, number, items)
            if last != former:
                self._set_last(writing, last)

    def _last_part(self, view: View) -> int:
        head = self._state(view, _HEAD)
        return _HEAD if head is None else int(head[_LAST])

    def _set_last(self, writing: WriteTransaction, number: int) -> None:
        if number == _HEAD:
            checkpoints.delete(writing, self._name(_HEAD), None)
        else:
            self._save(writing, _HEAD, {_LAST: number})

    def _part(self, view: View, number: int) -> list[Item]:
        return list(self._state(view, number) or ())

    def _state(self, view: View, number: int) -> Any:
        found = find_state(view.connection, self._user_id, self._name(number))
        return None if found is None else read_json("items", found.state)

    def _save(self, writing: WriteTransaction, number: int, state: object) -> None:
        encoded = json_text("items", state, limits.MAX_CHECKPOINT_BYTES)
        checkpoints.save(writing, self._name(number), encoded, None)

    def _name(self, number: int) -> str:
        # The number comes first, so no two sessions share a row name.
        return f"{_PREFIX}/{number}/{self.session_id}"


def _packed(item: Item) -> Item:
    """An item as a state can hold it.

    A database cannot hold lone surrogates, which models sometimes send. Such an item is kept as its
    JSON text in ASCII. Raises InvalidValue: it is not an object.
    """
    if not isinstance(item, dict):
        raise InvalidValue("items", f"expected objects, got {type(item).__name__}")
    try:
        json.dumps(item, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(item)
    except (TypeError, ValueError, RecursionError):
        pass  # refused with an explanation when it is stored
    return item


def _unpacked(stored: Item) -> Item:
    return json.loads(stored) if isinstance(stored, str) else stored


def checked_session_id(value: object) -> str:
    """The name of a session: the rules of thread names, and room for a suffix. Raises InvalidValue:
    the name is not allowed."""
    name = checks.reference("session_id", value)
    if len(name) > MAX_SESSION_ID_CHARS:
        raise InvalidValue(
            "session_id", f"{len(name)} characters; allowed: at most {MAX_SESSION_ID_CHARS}"
        )
    return name


def _parts(
    last: int, present: list[Item], size: int, encoded: Sequence[JsonText]
) -> Iterator[tuple[int, list[Item]]]:
    """The numbered parts to write so that these items are at the end."""
    number, items = last, list(present)
    is_changed = False
    for one in encoded:
        is_full = size + _size(one) + 1 > limits.SESSION_PART_BYTES
        if number == _HEAD or is_full:
            if is_changed:
                yield number, items
            number, items, size = number + 1, [], _FRAME_BYTES
        items.append(one.value)
        size += _size(one) + 1
        is_changed = True
    yield number, items


def _size(encoded: JsonText) -> int:
    return len(encoded.text.encode("utf-8"))


class MemorySession:
    """The items of one conversation of a user with agents, for ``Runner.run(..., session=...)``.

    Items come back exactly as added, in order. What the user, the agents and their tools say is
    also observed as turns of the thread with the session's name, so that it can be searched and
    memories are formed; ``observe=False`` turns that off. ``pop_item`` and ``clear_session`` remove
    items, not observed turns.

    Raises:
        InvalidValue: the session's name is not allowed.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        user: UserMemory | AsyncUserMemory,
        session_id: str,
        *,
        observe: bool = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = checked_session_id(session_id)
        self.session_settings = session_settings
        self._user = any_user(user)
        self._observes = checks.flag("observe", observe)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, or all, the oldest first."""
        wanted = resolve_session_limit(limit, self.session_settings)
        found = await self._in_thread(lambda user: self._items(user).latest(wanted))
        return cast(list[TResponseInputItem], found)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all or none, and observe what they say. Raises InvalidValue: an item is not
        JSON, or larger than 8 MiB; nothing was added."""
        added = list(items)
        await self._in_thread(lambda user: self._add(user, added))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item; None where there is none."""
        popped = await self._in_thread(lambda user: self._items(user).pop())
        return cast(TResponseInputItem | None, popped)

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._in_thread(lambda user: self._items(user).clear())

    def _items(self, user: UserMemory) -> SessionItems:
        return SessionItems(user, self.session_id)

    def _add(self, user: UserMemory, added: list[TResponseInputItem]) -> None:
        items = self._items(user)
        items.add(added)
        if not self._observes:
            return
        called = calls_in(added)
        if has_unknown_calls(added, called):
            called = calls_in(items.latest(_LOOK_BACK_ITEMS + len(added)))
        turns = turns_of(added, called)
        for start in range(0, len(turns), MAX_OBSERVED_TURNS):
            user.observe(turns[start : start + MAX_OBSERVED_TURNS], thread=self.session_id)

    async def _in_thread(self, work: Callable[[UserMemory], T]) -> T:
        """Work in a thread; a cancelled caller waits until it is done.

        Otherwise the write could happen after what the caller does next.
        """
        task = asyncio.ensure_future(in_thread(self._user, work))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled from (None if task.cancelled() else task.exception())
        return task.result()
