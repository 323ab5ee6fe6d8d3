"""Google's Agent Development Kit on a ricordo store: a memory service.

``pip install 'ricordo[google-adk]'``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ricordo.errors import InvalidValue, NotFound
from ricordo.integrations.adapter import (
    AnyMemory,
    AnyUserMemory,
    any_store,
    any_user,
    every,
    in_thread,
    observe,
    said,
)
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.model import checks
from ricordo.model.context import RecalledMemory, RecalledTurn
from ricordo.model.thread import NewTurn
from ricordo.prompt.fence import one_line
from ricordo.proxy.memory import storable
from ricordo.proxy.wire import ASSISTANT, USER
from ricordo.recall.search import question_in
from ricordo.user_memory import UserMemory

try:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai.types import Content, Part
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.google_adk", "google-adk")) from missing

__all__ = ["RicordoMemoryService", "UserOfApp"]

UserOfApp = Callable[[str, str], AnyUserMemory]
"""Returns the user of a call by the names of the app and of the user."""

_TURN: Final = "turn:"


class RicordoMemoryService(BaseMemoryService):
    """The memory of all users of an app, for ``Runner(memory_service=...)``.

    The user is the ``user_id`` of the session. Each app is a project of its own: it sees what is
    known of the user, and nothing of what they did in other apps. For anything else give a function
    instead of a store: ``lambda app_name, user_id: memory.user(user_id)`` shares all.

    Raises:
        InvalidValue: this is no store.
    """

    def __init__(self, memory: AnyMemory | UserOfApp) -> None:
        if callable(memory):
            self._user_of = memory
            return
        store = any_store(memory)
        self._user_of = lambda app_name, user_id: store.user(user_id, project=app_name)

    async def add_session_to_memory(self, session: Session) -> None:
        """Record what was said in a session; adding it again records only what is new."""
        await self._record(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Record some events of a session. Raises UnknownField: there is ``custom_metadata``; a
        turn has none."""
        checks.known_fields("field of custom_metadata", custom_metadata or {}, ())
        await self._record(app_name, user_id, session_id, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember some texts. Their ``custom_metadata``, or that of all, are keywords of
        ``UserMemory.add``, as ``theme``.

        Raises:
            InvalidValue, UnknownField: one of them is not allowed; nothing was stored.
        """
        drafts = [_draft(entry, custom_metadata or {}) for entry in memories]
        user = self._user(app_name, user_id)
        await in_thread(user, lambda user: user.add_many(drafts) if drafts else ())

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """What matters for a message: memories, and what was said earlier."""
        question = question_in(storable(query))

        def find(user: UserMemory) -> list[MemoryEntry]:
            found = user.context(
                question, modes="recall", history=False, persona=False, user_file=False
            )
            zone = user.parts.prompting.policy.zone
            quotes = (
                _quote(one, [part.note(zone) for part in one.superseded]) for one in found.quotes
            )
            return [*map(_memory, found.memories), *quotes]

        return SearchMemoryResponse(memories=await in_thread(self._user(app_name, user_id), find))

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget a memory, or redact a turn, by the id that ``search_memory`` gave. Raises
        InvalidValue: there is no id, or it is none of these; NotFound: nothing of this user has it.
        """
        user = self._user(app_name, user_id)
        if memory_id is not None and memory_id.startswith(_TURN):
            turn_id, _, thread = memory_id.removeprefix(_TURN).partition(":")
            await in_thread(user, lambda user: _redact(user, thread, turn_id))
        elif memory_id is not None and memory_id.isdecimal():
            await in_thread(user, lambda user: user.forget(int(memory_id)))
        else:
            raise InvalidValue("memory_id", "expected the id of an entry that search_memory gave")

    async def _record(
        self, app_name: str, user_id: str, session_id: str | None, events: Iterable[Event]
    ) -> None:
        turns = [turn for turn in map(_turn, events) if turn is not None]
        thread = app_name if session_id is None else f"{app_name}/{session_id}"
        user = self._user(app_name, user_id)
        await in_thread(user, lambda user: observe(user, thread, turns))

    def _user(self, app_name: str, user_id: str) -> AnyUserMemory:
        return any_user(self._user_of(app_name, user_id), "memory")


def _turn(event: Event) -> NewTurn | None:
    """What the user or an agent said; no thoughts, no calls of tools and no parts of a stream."""
    if event.content is None or event.partial:
        return None
    is_user = event.author == USER
    return said(
        USER if is_user else ASSISTANT,
        _text(event.content),
        actor=None if is_user else event.author or None,
        at=datetime.fromtimestamp(event.timestamp, UTC),
        message_id=event.id or None,
    )


def _text(content: Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text and not part.thought)


def _draft(entry: MemoryEntry, common: Mapping[str, object]) -> dict[str, Any]:
    return {**common, **entry.custom_metadata, "content": _text(entry.content)}


def _memory(found: RecalledMemory) -> MemoryEntry:
    return MemoryEntry(
        id=str(found.id),
        content=_content(found.text),
        timestamp=found.since.isoformat(),
        custom_metadata={
            "theme": found.theme,
            "type": found.type.value,
            "confidence": found.confidence,
        },
    )


def _quote(found: RecalledTurn, notes: Iterable[str]) -> MemoryEntry:
    return MemoryEntry(
        id=f"{_TURN}{found.turn_id}:{found.thread_id}",
        content=_content(" ".join([found.text, *notes])),
        author=found.speaker,
        timestamp=found.at.isoformat(),
        custom_metadata={"confidence": found.confidence},
    )


def _content(text: str) -> Content:
    return Content(role=USER, parts=[Part(text=one_line(text))])


def _redact(user: UserMemory, thread: str, turn_id: str) -> None:
    for turn in every(lambda cursor: user.turns(thread, limit=MAX_PAGE_ITEMS, cursor=cursor)):
        if str(turn.id) == turn_id:
            user.redact(thread, turn.position, whole=True)
            return
    raise NotFound(f"no turn {turn_id} in {thread!r}")
