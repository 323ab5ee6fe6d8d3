"""What a model's endpoint keeps for users whom it cannot tell apart: who may name what of it."""

import hashlib
import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.vocabulary import UpstreamKind
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.wire import DECODING, KeptState, dumped
from ricordo.storage.database import Database
from ricordo.storage.upstream_ids import UpstreamId, forget_id, known_ids, note_ids

_PREVIOUS: Final = "previous_response_id"
_CONVERSATION: Final = "conversation"
_LISTS: Final = ("input", "items")
_REFERENCE: Final = "item_reference"
_COMPACT: Final = "compact"
_COUNT: Final = "input_tokens"
_KINDS: Final = {
    "responses": UpstreamKind.RESPONSE,
    "conversations": UpstreamKind.CONVERSATION,
}
_CARRYING: Final = {
    "message": ("content",),
    "reasoning": ("content", "encrypted_content"),
    "compaction": ("encrypted_content",),
    "mcp_approval_response": ("approval_request_id",),
}
"""Members by which an item of some type says what it is itself, so that its id is not looked up."""
_LOOKED_UP: Final = (
    *(_REFERENCE, "image_generation_call", "web_search_call", "file_search_call"),
    *("code_interpreter_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"),
)


@dataclass(frozen=True, slots=True)
class NamedId:
    """An id in a request, and the parameter that it is in; None for the path."""

    id: UpstreamId
    parameter: str | None

    def not_found(self) -> bytes:
        """The error for what is not there, or not this user's."""
        name = "previous response" if self.parameter == _PREVIOUS else self.id.kind.value
        error = {
            "message": f"{name.capitalize()} with id '{self.id.id}' not found.",
            "type": "invalid_request_error",
            "param": self.parameter,
            "code": "previous_response_not_found" if self.parameter == _PREVIOUS else None,
        }
        return dumped({"error": error}).encode("utf-8")


def is_kept(path: str) -> bool:
    """Whether a path is about what an endpoint keeps."""
    return path.split("/")[1] in _KINDS


def ids_named(path: str, body: bytes | None) -> list[NamedId]:
    """Everything kept that a request names.

    Names in a body count however they are spelled and however often they stand there: endpoints
    differ in which one they take.

    Raises:
        InvalidValue: the body cannot be read.
    """
    found = [] if (one := _id_of_path(path)) is None else [NamedId(one, None)]
    if not body or not body.strip():
        return found
    try:
        read = json.loads(body.decode("utf-8"), object_pairs_hook=_Members, **DECODING)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, _Members):
        raise InvalidValue("body", "expected a JSON object in UTF-8")
    return [*found, *_ids_of_body(read)]


class _Members(list[tuple[str, Any]]):
    """The members of an object, also those with the same name."""

    def all(self, *names: str) -> list[Any]:
        return [value for name, value in self if name.casefold() in names]

    def has(self, *names: str) -> bool:
        return any(self.all(*names))


def _id_of_path(path: str) -> UpstreamId | None:
    parts = path.split("/")
    kind = _KINDS[parts[1]]
    is_own = len(parts) == 3 and kind is UpstreamKind.RESPONSE and parts[2] in (_COMPACT, _COUNT)
    return None if len(parts) < 3 or is_own else UpstreamId(kind, parts[2])


def _ids_of_body(body: _Members) -> Iterable[NamedId]:
    for given in body.all(_PREVIOUS):
        yield from _named(UpstreamKind.RESPONSE, given, _PREVIOUS)
    for given in body.all(_CONVERSATION):
        for one in given.all("id") if isinstance(given, _Members) else [given]:
            yield from _named(UpstreamKind.CONVERSATION, one, _CONVERSATION)
    for name in _LISTS:
        for given in body.all(name):
            items = given if isinstance(given, list) and not isinstance(given, _Members) else []
            for item in items:
                if isinstance(item, _Members) and _is_looked_up(item):
                    for one in item.all("id"):
                        yield from _named(UpstreamKind.ITEM, one, name)


def _named(kind: UpstreamKind, given: object, parameter: str) -> Iterable[NamedId]:
    if given not in (None, ""):
        text = given if isinstance(given, str) else dumped(given)
        yield NamedId(UpstreamId(kind, text), parameter)


def _is_looked_up(item: _Members) -> bool:
    """Whether the endpoint may take an item from what it keeps, and not from the request."""
    kinds = [kind for kind in item.all("type") if kind is not None]
    if not kinds and item.has("role"):
        kinds = ["message"]
    if not kinds or not all(isinstance(kind, str) for kind in kinds):
        return True
    return any(
        kind in _LOOKED_UP or not item.has(*_CARRYING.get(kind, ("call_id",))) for kind in kinds
    )


def ids_given(path: str, answer: dict[str, Any]) -> Sequence[UpstreamId]:
    """What an answer hands out. Ids of what the client sent itself are not among them: it may have
    made them up."""
    _, kind, *rest = path.split("/")
    if kind == "conversations":
        found = answer.get("id")
        is_id = not rest and isinstance(found, str) and found
        return [UpstreamId(UpstreamKind.CONVERSATION, str(found))] if is_id else []
    if rest == [_COMPACT]:
        answer = {"id": answer.get("id")}
    return RESPONSES.ids_in(answer)


def thread_kept(kept: KeptState) -> str:
    """The conversation of what has none by another name."""
    if not kept.is_response:
        with suppress(InvalidValue):
            return checks.reference("thread", kept.id)
    return thread_of_words(kept.id)


def thread_of_words(text: str) -> str:
    return f"chat-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


class Keeping:
    """What the endpoint keeps for the user of one request."""

    def __init__(
        self,
        database: Database,
        user_id: str,
        path: str,
        *,
        agent: str | None = None,
        is_agents_own: bool = False,
        is_checked: bool = True,
        is_shared: bool = True,
        leaves_responses: bool = True,
    ) -> None:
        """``is_shared``: every user has the same credentials there. Without ``is_checked`` the
        caller acts for anybody. With ``is_agents_own`` the agent is kept to what it got itself."""
        self.path = path
        self.is_checked = is_checked and is_shared
        self._database = database
        self._user_id = user_id
        self._agent = agent
        self._is_agents_own = is_agents_own
        self._is_shared = is_shared
        self._leaves_responses = leaves_responses
        self._is_new = False
        self._lock = threading.Lock()
        self._waiting: dict[UpstreamId, str] = {}

    def begin(self, named: Sequence[NamedId] = ()) -> NamedId | None:
        """The first that the user did not get here, before anything else is done.

        Raises:
            StorageError: the database could not answer.
        """
        if not self._is_shared:
            return None
        agent = self._agent if self._is_agents_own else None
        known, is_user = known_ids(self._database, self._user_id, [one.id for one in named], agent)
        self._is_new = not is_user
        if not self.is_checked:
            return None
        return next((one for one in named if one.id not in known), None)

    def wanted(self, ids: Iterable[UpstreamId]) -> list[UpstreamId]:
        """Those that are to be noted."""
        return [
            one
            for one in ids
            if (self._leaves_responses if one.kind is UpstreamKind.RESPONSE else self._is_shared)
        ]

    def note(self, ids: Iterable[UpstreamId], thread: str | None = None) -> None:
        """Store whose the ids are, and those that could not be stored before.

        Raises:
            StorageError: the database could not do it.
        """
        with self._lock:
            for one in self.wanted(ids):
                is_response = one.kind is not UpstreamKind.CONVERSATION
                self._waiting[one] = thread or thread_kept(KeptState(one.id, is_response))
            if self._waiting:
                note_ids(
                    self._database,
                    self._user_id,
                    self._waiting,
                    agent=self._agent,
                    is_new=self._is_new,
                )
            self._waiting = {}

    def note_missing(self, ids: Iterable[UpstreamId]) -> None:
        """The same for ids that may be known, of what an endpoint keeps for everybody alike."""
        if not self._is_shared:
            return
        known, _ = known_ids(self._database, self._user_id, ids)
        self.note(one for one in ids if one not in known)

    def forget(self) -> None:
        """Forget what the endpoint has deleted; nothing where that was only a part."""
        gone = _id_of_path(self.path)
        if gone is not None and len(self.path.split("/")) == 3:
            forget_id(self._database, self._user_id, gone)
