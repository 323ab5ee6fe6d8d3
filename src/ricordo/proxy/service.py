"""The chat proxy: memory in front of any model, and every other byte as it was."""

import asyncio
import hashlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ricordo.errors import InvalidValue, in_log
from ricordo.limits import MAX_PROXIED_ANSWER_BYTES, MAX_PROXY_RECALL_SECONDS, MAX_WAITING_EXCHANGES
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.vocabulary import ContextMode
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.memory import ChatExchange, ChatRecall, FaultLog, Recalled, remember
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.stream import (
    AnswerStream,
    MemoryStreamFilter,
    PassThrough,
    StreamFilter,
    gathered,
)
from ricordo.proxy.upstream import (
    CallWatch,
    Upstream,
    UpstreamCall,
    UpstreamFault,
    from_upstream,
    upstreams_of,
)
from ricordo.proxy.wire import (
    NOTHING_HEARD,
    ChatMessage,
    JsonObject,
    Wire,
    dumped,
    first_of_user,
    last_of_user,
    read_object,
    with_last,
)
from ricordo.settings import Settings
from ricordo.user_memory import UserMemory

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)

_THREADS: Final = 2


class BackgroundWrites:
    """Runs work in threads of its own, so that it delays no chat and no cancelled request ends it.

    What fails is told to the log and to nobody else.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ricordo-proxy-after")
        self._lock = threading.Lock()
        self._waiting: set[Future[None]] = set()
        self._is_closed = False

    def do(self, work: Callable[[], None]) -> None:
        """Have something done soon. It is not done where too much waits already, or after the end:
        whoever asks for it has a chat to finish, and no use for an error."""
        with self._lock:
            refusal = self._refusal()
            if refusal is None:
                done = self._pool.submit(_quietly, work)
                self._waiting.add(done)
        if refusal is None:
            done.add_done_callback(self._forget)
        else:
            _log.warning("a chat is not remembered: %s", refusal)

    async def drain(self) -> None:
        """Wait until all that was to be done is done."""
        while True:
            with self._lock:
                waiting = list(self._waiting)
            if not waiting:
                return
            await asyncio.wait([asyncio.wrap_future(one) for one in waiting])

    async def close(self) -> None:
        """Finish what there is, and take no more."""
        await self.drain()
        with self._lock:
            self._is_closed = True
        await self.drain()  # what came in between
        self._pool.shutdown(wait=False)

    def _refusal(self) -> str | None:
        if self._is_closed:
            return "the service has stopped"
        has_room = len(self._waiting) < MAX_WAITING_EXCHANGES
        return None if has_room else f"{MAX_WAITING_EXCHANGES} others wait"

    def _forget(self, done: Future[None]) -> None:
        with self._lock:
            self._waiting.discard(done)


def _quietly(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the chat is over, and the log is all that is left
        _log.warning("a chat is not remembered: %s", in_log(error))


@dataclass(frozen=True)
class ChatRequest:
    """The body of a request and what of it could be read: nothing, where it is no JSON object."""

    wire: Wire
    body: bytes
    read: JsonObject | None

    @classmethod
    def parse(cls, wire: Wire, body: bytes) -> "ChatRequest":
        """Read a body, once. What it says of itself is not checked: that is for the upstream."""
        return cls(wire, body, JsonObject.read(body))

    @property
    def user(self) -> str | None:
        """The user that the body names."""
        return None if self.read is None else self.wire.user_in(self.read)

    @cached_property
    def said(self) -> Sequence[ChatMessage]:
        """The messages, without system prompts."""
        return () if self.read is None else tuple(self.wire.said_in(self.read))

    def with_system(self, text: str) -> bytes:
        """The body with one more system text in it, and otherwise the same to the byte."""
        if self.read is None:
            return self.body
        return self.wire.with_system(self.read, text).encode("utf-8")


THREAD_HEADERS: Final = ("x-ricordo-thread", "x-openwebui-chat-id")
_DIGITS: Final = 16


def user_in_body(named: str | None) -> str | None:
    """The user that the body of a request names; None for nobody, which means without memory.

    What it says may be meant for the upstream's own purposes, so a name there that nobody can have
    is no error.
    """
    try:
        return checks.user_id(named) if named else None
    except InvalidValue:
        return None


def thread_of(headers: Mapping[str, str], first_message: str) -> str | None:
    """The conversation that a request goes on with.

    Where no header names it, it is told by what the user said first, which all requests of a
    conversation have in common; None where there is nothing to tell it by.

    Raises:
        InvalidValue: a header has a name that no conversation can have.
    """
    named = _first(headers, THREAD_HEADERS)
    if named is not None:
        return checks.reference("thread", named)
    said = first_message.strip()
    if not said:
        return None
    digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
    return f"chat-{digest[:_DIGITS]}"


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The first of some headers that says anything; its bytes are UTF-8 where they are no ASCII."""
    given = {name.lower(): value for name, value in headers.items()}
    for name in names:
        value = given.get(name, "").strip()
        if value:
            try:
                return value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                return value
    return None


_JSON: Final = "application/json"
_PLAIN: Final = "identity"
_EVENTS: Final = "text/event-stream"
_MEMORIES: Final = "memories"
_FIRST_ERROR: Final = 400
_READ_AT_ONCE_BYTES: Final = 256 * 1024  # what is read without leaving it to a thread

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ProxyCaller:
    """Who asks, as authentication has found out. Without a ``user``, memory is off.

    ``categories`` are all that the agent may touch; None for everything. With
    ``pass_credentials`` the caller's own go to an upstream for which no key is set. With
    ``has_agents_key`` an agent speaks, whatever it may touch.
    """

    user: str | None
    agent: str | None = None
    categories: frozenset[str] | None = None
    pass_credentials: bool = False
    has_agents_key: bool = False


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """What goes back to the caller. A stream must be closed by whoever sends it."""

    status: int
    headers: Mapping[str, str]
    body: bytes | AnswerStream


@dataclass(slots=True)
class _Chat:
    """A chat of a user under way."""

    wire: Wire
    memory: UserMemory
    thread: str | None
    request: ChatRequest
    recalled: Recalled = field(default_factory=Recalled)

    @property
    def memories(self) -> str:
        """What the answer tells of what was recalled."""
        return dumped([one.to_dict() for one in self.recalled.memories])

    def exchange(self, answer: ChatMessage) -> ChatExchange:
        """What is to be remembered."""
        recalled = tuple(one.id for one in self.recalled.memories)
        return ChatExchange(self.thread, self.request.said, answer, recalled)


class ChatProxy:
    """Passes chats on to the upstreams of the settings. For one event loop."""

    def __init__(self, memory: Memory, settings: Settings, watch: CallWatch | None = None) -> None:
        """A proxy with the upstreams that are set; none may be.

        Raises:
            InvalidValue: an address or a mode in the settings is wrong.
        """
        self._memory = memory
        modes = [part.strip() for part in settings.proxy_modes.replace("+", ",").split(",")]
        checks.choices("setting proxy_modes", modes, ContextMode)
        self._complaints = FaultLog()
        self._recalling = ChatRecall(
            settings.proxy_modes,
            settings.context_tokens,
            self._complaints,
            persona=settings.proxy_persona,
        )
        self._threads = ThreadPoolExecutor(
            settings.async_threads, thread_name_prefix="ricordo-proxy"
        )
        self._afterwards = BackgroundWrites()
        self._upstreams = upstreams_of(settings, watch or CallWatch())
        self._open: set[AnswerStream] = set()

    def serves(self, wire: Wire) -> bool:
        """Whether there is an upstream for this wire format."""
        return wire.name in self._upstreams

    async def read(self, wire: Wire, body: bytes) -> ChatRequest:
        """Read the body of a request; never an error, whatever it holds."""
        return await self._reading(body, partial(ChatRequest.parse, wire, body))

    async def answer(
        self,
        request: ChatRequest,
        *,
        query: str,
        headers: Mapping[str, str],
        caller: ProxyCaller,
    ) -> ProxyAnswer:
        """Have a chat answered. What fails is an answer too, in the form of the wire format."""
        upstream = self._upstreams.get(request.wire.name)
        if upstream is None:
            return _no_upstream(request.wire)
        try:
            chat = self._chat(request, headers, caller)
        except InvalidValue as error:
            return error_answer(request.wire, 400, str(error), "invalid_value")
        body = request.body if chat is None else await self._prepared(chat)
        asking = upstream.chat(body, query, headers, pass_credentials=caller.pass_credentials)
        return await self._called(upstream, asking, chat)

    async def models(
        self, *, query: str, headers: Mapping[str, str], pass_credentials: bool
    ) -> ProxyAnswer:
        """The models of the upstream; of Anthropic's for a caller who speaks its wire format."""
        asks_anthropic = any(name.lower() == "anthropic-version" for name in headers)
        wires: tuple[Wire, ...] = (ANTHROPIC, OPENAI) if asks_anthropic else (OPENAI, ANTHROPIC)
        upstreams = [self._upstreams[wire.name] for wire in wires if self.serves(wire)]
        if not upstreams:
            return _no_upstream(wires[0])
        asking = upstreams[0].models(query, headers, pass_credentials=pass_credentials)
        return await self._called(upstreams[0], asking, None)

    async def drain(self) -> None:
        """Wait until every chat that ended is remembered."""
        await self._afterwards.drain()

    async def aclose(self) -> None:
        """Remember what is to be remembered and close every connection; before the store is.

        Answers that still come in are broken off, and remembered as far as they came.
        """
        for stream in list(self._open):
            await stream.aclose()
        await self._afterwards.close()
        self._threads.shutdown(wait=False)
        for upstream in self._upstreams.values():
            await upstream.close()

    # -- before the answer -----------------------------------------------------------------

    def _chat(
        self, request: ChatRequest, headers: Mapping[str, str], caller: ProxyCaller
    ) -> _Chat | None:
        """A chat with memory; None for somebody unknown, or where the body cannot be read.

        Raises:
            InvalidValue: the user, the agent or the thread has a name that cannot be.
        """
        if caller.user is None or request.read is None:
            return None
        scope: dict[str, Any] = {"agent": caller.agent}
        if caller.categories is not None:
            scope["categories"] = caller.categories
        memory = self._memory.user(caller.user, **scope)
        if caller.has_agents_key:
            memory = UserMemory(memory.parts, replace(memory.scope, has_agents_key=True))
        thread = thread_of(headers, first_of_user(request.said))
        return _Chat(request.wire, memory, thread, request)

    async def _prepared(self, chat: _Chat) -> bytes:
        """The body with what memory adds to it; as it is where that takes too long."""
        adding = self._in_thread(self._added, chat)
        try:
            chat.recalled, body = await asyncio.wait_for(adding, MAX_PROXY_RECALL_SECONDS)
        except TimeoutError:
            self._complaints.note("it takes too long")
            return chat.request.body
        return body

    def _added(self, chat: _Chat) -> tuple[Recalled, bytes]:
        question = last_of_user(chat.request.said)
        recalled = self._recalling.recall(chat.memory, question, chat.thread)
        body = chat.request.body
        return recalled, body if recalled.text is None else chat.request.with_system(recalled.text)

    # -- the answer ------------------------------------------------------------------------

    async def _called(
        self,
        upstream: Upstream,
        asking: "Coroutine[Any, Any, httpx2.Response]",
        chat: _Chat | None,
    ) -> ProxyAnswer:
        """What the upstream answers; its faults in the form of the wire format."""
        call = UpstreamCall(upstream.watch)
        try:
            return _without_key(await self._answered(await asking, chat, call), upstream)
        except UpstreamFault as error:
            call.failed(error.code)
            return error_answer(upstream.wire, error.status, str(error), error.code)
        except BaseException:  # cancelled: the client has gone
            call.left()
            raise

    async def _answered(
        self, response: "httpx2.Response", chat: _Chat | None, call: UpstreamCall
    ) -> ProxyAnswer:
        headers = from_upstream(response.headers.raw)
        encoding = response.headers.get("content-encoding", _PLAIN).strip().lower()
        if encoding != _PLAIN:  # although asked not to: it can be passed on, but not read
            headers["content-encoding"] = encoding
        if not response.is_success:
            chat = None
        is_readable = chat is not None and encoding == _PLAIN
        if headers.get("content-type", "").lower().startswith(_EVENTS):
            tap = (
                MemoryStreamFilter(chat.wire, chat.memories)
                if chat and is_readable
                else PassThrough()
            )
            stream = self._stream(response, tap, call, chat)
            return ProxyAnswer(response.status_code, headers, stream)
        body = await self._whole(response, chat, call, is_readable=is_readable)
        return ProxyAnswer(response.status_code, headers, body)

    async def _whole(
        self,
        response: "httpx2.Response",
        chat: _Chat | None,
        call: UpstreamCall,
        *,
        is_readable: bool,
    ) -> bytes | AnswerStream:
        """An answer that is not streamed; what is too large to be read passes as it is."""
        chunks = response.aiter_raw()
        body, is_all = await gathered(response, chunks, MAX_PROXIED_ANSWER_BYTES)
        if not is_all:
            return self._stream(response, PassThrough(), call, chat, first=body, chunks=chunks)
        call.answered(response.status_code)
        if chat is None:
            return body
        answer = await self._reading(body, partial(read_object, body)) if is_readable else None
        if answer is None or answer.get("error") is not None:
            self._remember(chat, NOTHING_HEARD)
            return body
        self._remember(chat, chat.wire.said_by(answer))
        return with_last(body, _MEMORIES, chat.memories)

    # -- after the answer ------------------------------------------------------------------

    def _stream(
        self,
        response: "httpx2.Response",
        tap: StreamFilter,
        call: UpstreamCall,
        chat: _Chat | None,
        *,
        first: bytes = b"",
        chunks: AsyncIterator[bytes] | None = None,
    ) -> AnswerStream:
        """A stream that is remembered when it is over, however it ends."""

        def ended() -> None:
            self._open.discard(stream)
            if chat is not None:
                self._remember(chat, tap.heard())

        stream = AnswerStream(response, tap, call, first=first, chunks=chunks, ended=ended)
        self._open.add(stream)
        return stream

    def _remember(self, chat: _Chat, answer: ChatMessage) -> None:
        self._afterwards.do(partial(remember, chat.memory, chat.exchange(answer)))

    # -- threads ---------------------------------------------------------------------------

    async def _reading(self, body: bytes, read: Callable[[], Found]) -> Found:
        """Read a text here, or in a thread where others would have to wait for it."""
        return read() if len(body) <= _READ_AT_ONCE_BYTES else await self._in_thread(read)

    async def _in_thread(self, work: Callable[..., Found], *given: Any) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)


def error_answer(wire: Wire, status: int, message: str, code: str) -> ProxyAnswer:
    """An error of ours, as clients of the wire format read it."""
    return ProxyAnswer(status, {"content-type": _JSON}, wire.error(status, message, code))


def _without_key(answer: ProxyAnswer, upstream: Upstream) -> ProxyAnswer:
    """The answer, where it is an error without the operator's key: some endpoints repeat it."""
    if answer.status < _FIRST_ERROR or not isinstance(answer.body, bytes):
        return answer
    return replace(answer, body=upstream.without_key(answer.body))


def _no_upstream(wire: Wire) -> ProxyAnswer:
    setting = "anthropic_url" if wire is ANTHROPIC else "upstream_url"
    message = f"this service has no model behind it; its setting {setting} names one"
    return error_answer(wire, 503, message, "no_upstream")
