"""The items of an agent's session, kept exactly and in order as states of a program.

A session is a row of parts: each part is a state with a list of items, and a head says which part
is the last. Adding rewrites the last part alone, so that a long session costs no more than a short
one and is not bound by the size of one state. All rows of a step are written in one transaction,
in which the user's other writes wait, so nothing that two processes add at once gets lost.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ricordo import limits
from ricordo.agent_state import checkpoints
from ricordo.agent_state.checkpoints import JsonText, json_text, read_json
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.storage.checkpoints import find_state
from ricordo.storage.database import Database, Reading, retried
from ricordo.storage.transaction import Writing
from ricordo.user_memory import UserMemory
from ricordo.user_memory.confining import check_whole

_PREFIX: Final = "agents"
_HEAD: Final = 0  # the number of the row that says which part is the last
_LAST: Final = "last_part"
_MAX_DIGITS: Final = 9
_FRAME_BYTES: Final = 2  # the brackets around the items of a part
MAX_SESSION_ID_CHARS: Final = limits.MAX_REFERENCE_CHARS - len(_PREFIX) - _MAX_DIGITS - 2

Item = Any
"""What the SDK keeps: an object as the Responses interface takes it for input."""

View = Reading | Writing


class SessionItems:
    """The items of one session of one user.

    Raises:
        InvalidValue: the session cannot have that name.
        ScopeWidened: this memory is bound to another thread.
        PermissionMissing: it is kept to some categories.
    """

    def __init__(self, user: UserMemory, session_id: str) -> None:
        self.session_id = checked_session_id(session_id)
        check_whole(user.scope, "a session of an agent")
        user.scope.narrow(thread_id=session_id)
        self.database: Database = user.database
        self._user_id = user.scope.user_id

    def latest(self, limit: int | None = None) -> list[Item]:
        """The latest items, or all, in the order in which they were added."""
        if limit == 0:
            return []
        if limit is not None and limit < 0:  # as the SDK's own sessions take it
            limit = None
        with self.database.read(self._user_id) as view:
            newest: list[Item] = []
            for number in range(self._last_part(view), _HEAD, -1):
                newest += reversed(self._part(view, number))
                if limit is not None and len(newest) >= limit:
                    break
        return [_unpacked(item) for item in newest[:limit][::-1]]

    def add(self, items: Sequence[Item]) -> None:
        """Add items at the end, all of them or none.

        Raises:
            InvalidValue: an item is not JSON, or too large.
        """
        most = limits.MAX_CHECKPOINT_BYTES - _FRAME_BYTES
        encoded = [json_text(f"items[{n}]", _packed(item), most) for n, item in enumerate(items)]
        if encoded:
            self._append(encoded)

    @retried
    def pop(self) -> Item | None:
        """Take the last item away; None where there is none."""
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
        """Take all items away."""
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

    def _set_last(self, writing: Writing, number: int) -> None:
        if number == _HEAD:
            checkpoints.delete(writing, self._name(_HEAD), None)
        else:
            self._save(writing, _HEAD, {_LAST: number})

    def _part(self, view: View, number: int) -> list[Item]:
        return list(self._state(view, number) or ())

    def _state(self, view: View, number: int) -> Any:
        found = find_state(view.connection, self._user_id, self._name(number))
        return None if found is None else read_json("items", found.state)

    def _save(self, writing: Writing, number: int, state: object) -> None:
        encoded = json_text("items", state, limits.MAX_CHECKPOINT_BYTES)
        checkpoints.save(writing, self._name(number), encoded, None)

    def _name(self, number: int) -> str:
        # The number comes first: whatever a session is called, no two rows share a name.
        return f"{_PREFIX}/{number}/{self.session_id}"


def _packed(item: Item) -> Item:
    """An item as a state can hold it.

    A database cannot hold half of a character (a lone surrogate), which models sometimes send.
    Such an item is kept as a text, the JSON of it in ASCII.

    Raises:
        InvalidValue: it is not an object.
    """
    if not isinstance(item, dict):
        raise InvalidValue("items", f"expected objects, got {type(item).__name__}")
    try:
        json.dumps(item, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(item)
    except (TypeError, ValueError, RecursionError):
        pass  # refused with an explanation when it is to be stored
    return item


def _unpacked(stored: Item) -> Item:
    return json.loads(stored) if isinstance(stored, str) else stored


def checked_session_id(value: object) -> str:
    """The name of a session, as strict as those of threads, and with room for what we add to it.

    Raises:
        InvalidValue: a session cannot have that name.
    """
    name = checks.reference("session_id", value)
    if len(name) > MAX_SESSION_ID_CHARS:
        raise InvalidValue(
            "session_id", f"{len(name)} characters; allowed: at most {MAX_SESSION_ID_CHARS}"
        )
    return name


def _parts(
    last: int, present: list[Item], size: int, encoded: Sequence[JsonText]
) -> Iterator[tuple[int, list[Item]]]:
    """The parts that have to be written so that these items stand at the end, with numbers."""
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
