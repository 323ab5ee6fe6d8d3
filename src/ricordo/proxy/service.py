"""The chat proxy: adds memory to chats and passes everything else on unchanged."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from ricordo.errors import InvalidValue, RicordoError, in_log
from ricordo.limits import MAX_PROXIED_ANSWER_BYTES, MAX_PROXY_MEMORY_SECONDS
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.budget import tool_names
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.app_prompts import is_task, own_words
from ricordo.proxy.background import BackgroundWrites, log_errors
from ricordo.proxy.kept import (
    Keeping,
    NamedId,
    ids_given,
    ids_named,
    is_kept,
    thread_kept,
    thread_of_words,
)
from ricordo.proxy.memory import (
    ChatExchange,
    ChatRecall,
    FaultLog,
    Recalled,
    asked_last,
    count_used,
    remember,
)
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.ratings import RATED_HEADER, NamedRating, rate_all, ratings_named
from ricordo.proxy.responses import RESPONSES
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
    NO_MESSAGE,
    USER,
    ChatMessage,
    JsonObject,
    KeptState,
    Wire,
    dumped,
    first_of_user,
    last_of_user,
    objects,
    read_object,
    with_last,
)
from ricordo.settings import Settings
from ricordo.storage.upstream_ids import UpstreamId, thread_of_response
from ricordo.user_memory import UserMemory

if TYPE_CHECKING:
    import httpx2

THREAD_HEADERS: Final = ("x-ricordo-thread", "x-openwebui-chat-id")
RECORDED_HEADER: Final = "x-ricordo-recorded"
"""Of an answer: whether what the user said is stored for good."""
TASK_HEADER: Final = "x-ricordo-task"
"""Of a request: whether it is a task of the application, which memory has no part in. Of an answer:
that it was."""
_PLAIN: Final = "identity"
_PATH_CHARS: Final = "/:@!$&'()*+,;=~"
_EVENTS: Final = "text/event-stream"
_READ_AT_ONCE_BYTES: Final = 256 * 1024  # parsed on the event loop; more in a thread


@dataclass(frozen=True)
class ChatRequest:
    """A request body, and its JSON object; None where it is not one.

    With ``recognises`` prompts of applications are told from what the user says.
    """

    wire: Wire
    body: bytes
    read: JsonObject | None
    recognises: bool = True

    @classmethod
    def parse(cls, wire: Wire, body: bytes, *, recognises: bool = True) -> "ChatRequest":
        """Parse a body. Its content is not validated: that is up to the upstream."""
        return cls(wire, body, JsonObject.read(body), recognises)

    @property
    def user(self) -> str | None:
        return None if self.read is None else self.wire.user_in(self.read)

    @cached_property
    def messages(self) -> Sequence[ChatMessage]:
        """The messages without system prompts, and without templates around the user's words."""
        if not self.recognises:
            return self._written
        said = (
            replace(one, text=own_words(one.text)) if one.role == USER else one
            for one in self._written
        )
        return tuple(one for one in said if one.has_content)

    @property
    def kept(self) -> KeptState | None:
        """What the upstream has of the conversation, beside the messages."""
        return None if self.read is None else self.wire.goes_on(self.read)

    @property
    def is_kept(self) -> bool:
        """Whether a later request may go on from the answer."""
        return self.read is not None and self.read.value("store") is not False

    @cached_property
    def is_task(self) -> bool:
        """Whether it looks like a task of the application."""
        return self.recognises and self.read is not None and is_task(self.read, self._written)

    @cached_property
    def _written(self) -> Sequence[ChatMessage]:
        return () if self.read is None else tuple(self.wire.messages_in(self.read))

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools that the model has."""
        return () if self.read is None else tool_names(objects(self.read.value("tools")))

    def with_system(self, text: str) -> bytes:
        """The body with one more system text, and otherwise the same to the byte."""
        if self.read is None:
            return self.body
        return self.wire.with_system(self.read, text).encode("utf-8")


def user_in_body(named: str | None) -> str | None:
    """The user that the body names; None means without memory.

    The field may be meant for the upstream, so an invalid name is not an error.
    """
    try:
        return checks.user_id(named) if named else None
    except InvalidValue:
        return None


def task_named(headers: Mapping[str, str]) -> bool | None:
    """What the header says of the request being a task; None where it says nothing.

    Raises:
        InvalidValue: it says something else.
    """
    said = {value.strip().lower() for name, value in headers.items() if name.lower() == TASK_HEADER}
    if not said:
        return None
    if said not in ({"true"}, {"false"}):
        raise InvalidValue("X-Ricordo-Task", "expected true or false")
    return said == {"true"}


def thread_of(
    headers: Mapping[str, str], first_message: str, kept: KeptState | None = None
) -> str | None:
    """The conversation of a request.

    Without a header it is what the upstream has ``kept``, or identified by the user's first
    message, which all requests of a conversation share; None where there is none.

    Raises:
        InvalidValue: the name in a header is not allowed.
    """
    given = {name.lower(): value.strip() for name, value in headers.items()}
    named = next((given[name] for name in THREAD_HEADERS if given.get(name)), None)
    if named is not None:
        with suppress(UnicodeError):  # bytes outside ASCII are UTF-8, as a rule
            named = named.encode("latin-1").decode("utf-8")
        return checks.reference("thread", named)
    if kept is not None:
        return thread_kept(kept)
    message = first_message.strip()
    return thread_of_words(message) if message else None


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ProxyCaller:
    """The authenticated caller. Without a ``user``, memory is off.

    ``categories`` are all that the agent may access; None for everything. With ``pass_credentials``
    the caller's own go to an upstream that has no configured key. With ``is_agent`` the
    caller is an agent. Memory is kept to the ``project``, if there is one. Who ``acts_for_all`` has
    not said for whom alone, and may name what the endpoint keeps for anybody.
    """

    user: str | None
    agent: str | None = None
    categories: frozenset[str] | None = None
    pass_credentials: bool = False
    is_agent: bool = False
    project: str | None = None
    acts_for_all: bool = False


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """The response for the caller, who must close a streamed body."""

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
    is_task: bool
    keeping: Keeping | None = None
    counts: bool = False
    """Whether only tokens are counted."""
    follows: str | None = None
    """The response whose conversation is to be looked up."""
    ratings: Sequence[NamedRating] = ()
    """What the client says of memories of earlier answers."""
    rated: Sequence[int] | None = None
    recalled: Recalled = field(default_factory=Recalled)
    asked: "Future[bool] | None" = None
    """The writing of the messages, which an answer that is streamed begins with."""
    answered: "Future[bool] | None" = None
    """The writing of the answer, and of the messages where it is the first."""

    def note(self, ids: Sequence[UpstreamId]) -> None:
        """Store whose ids are, and of which conversation; may ask the store."""
        if self.asked is not None:  # it began before, and makes the user
            self.asked.result()
        if self.keeping is not None:
            self.keeping.note(ids, self.find_thread())

    @property
    def shown(self) -> dict[str, str]:
        """What the model was shown, as members of the answer."""
        found = self.recalled
        return {
            "memories": dumped([one.to_dict() for one in found.memories]),
            "quotes": dumped([one.to_dict() for one in found.quotes]),
        }

    def find_thread(self) -> str | None:
        """The conversation; may ask the store."""
        if self.follows is not None:
            scope = self.memory.scope
            known = thread_of_response(self.memory.database, scope.user_id, self.follows)
            self.thread, self.follows = known or self.thread, None
        return self.thread

    def exchange(self, answer: ChatMessage) -> ChatExchange:
        """What is stored; may ask the store."""
        recalled = tuple(one.id for one in self.recalled.memories)
        thread = self.find_thread()
        return ChatExchange(thread, self.request.messages, answer, recalled, self.request.kept)


class ChatProxy:
    """Passes chats on to the configured upstreams. For one event loop."""

    def __init__(self, memory: Memory, settings: Settings, watch: CallWatch | None = None) -> None:
        """Raises InvalidValue where an address or a mode in the settings is wrong."""
        self._memory = memory
        modes = [part.strip() for part in settings.proxy_modes.replace("+", ",").split(",")]
        checks.choices("setting proxy_modes", modes, ContextMode)
        self._faults = FaultLog()
        self._recall = ChatRecall(
            settings.proxy_modes,
            settings.context_tokens,
            self._faults,
            persona=settings.proxy_persona,
            user_file=settings.proxy_user_file,
        )
        self._threads = ThreadPoolExecutor(
            settings.async_threads, thread_name_prefix="ricordo-proxy"
        )
        self._background = BackgroundWrites()
        self._recognises = settings.proxy_recognise_prompts
        self._upstreams = upstreams_of(settings, watch or CallWatch())
        self._open: set[AnswerStream] = set()

    def serves(self, wire: Wire) -> bool:
        return wire.name in self._upstreams

    async def read(self, wire: Wire, body: bytes) -> ChatRequest:
        recognises = self._recognises
        return await self._parse(
            body, partial(ChatRequest.parse, wire, body, recognises=recognises)
        )

    async def answer(
        self,
        request: ChatRequest,
        *,
        query: str,
        headers: Mapping[str, str],
        caller: ProxyCaller,
        counts: bool = False,
    ) -> ProxyAnswer:
        """Answer a chat. Errors are responses, too, in the wire format.

        With ``counts`` the upstream counts the tokens of what it would get, and nothing is stored.
        """
        wire = request.wire
        upstream = self._upstreams.get(wire.name)
        if upstream is None:
            return _no_upstream(wire)
        try:
            chat = await self._parse(request.body, partial(self._chat, request, headers, caller))
        except InvalidValue as error:
            return error_answer(wire, 400, str(error), "invalid_value")
        path = wire.count_path if counts else wire.path
        keeping = self._keeping(upstream, path, caller, leaves_responses=request.is_kept)
        is_task = chat is not None and chat.is_task
        chat = None if is_task else chat
        refusal = await self._refusal(keeping, wire, request.body, chat)
        if refusal is not None:
            return refusal
        if chat is not None:
            chat.counts, chat.keeping = counts, keeping
        body = request.body if chat is None else await self._with_memories(chat)
        call_upstream = upstream.send(
            "POST", path, query, headers, body, pass_credentials=caller.pass_credentials
        )
        answer = await self._call(
            upstream, call_upstream, *((None, None) if counts else (chat, keeping))
        )
        if is_task:
            answer = replace(answer, headers={**answer.headers, TASK_HEADER: "true"})
        return answer

    async def models(
        self,
        *,
        model: str | None = None,
        query: str,
        headers: Mapping[str, str],
        caller: ProxyCaller,
    ) -> ProxyAnswer:
        """The models of the upstream, or one; Anthropic's for a client of its wire format."""
        is_anthropic = any(name.lower() == "anthropic-version" for name in headers)
        wires: tuple[Wire, ...] = (ANTHROPIC, OPENAI) if is_anthropic else (OPENAI, ANTHROPIC)
        wire = next((one for one in wires if self.serves(one)), wires[0])
        return await self.pass_on(
            wire,
            "GET",
            wire.models_path if model is None else f"{wire.models_path}/{model}",
            query=query,
            headers=headers,
            caller=caller,
        )

    async def pass_on(
        self,
        wire: Wire,
        method: str,
        path: str,
        *,
        query: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        caller: ProxyCaller,
    ) -> ProxyAnswer:
        """The upstream's answer to a request that memory has no part in.

        ``path`` is below the upstream's URL, and not quoted.
        """
        upstream = self._upstreams.get(wire.name)
        if upstream is None:
            return _no_upstream(wire)
        if not {".", ".."}.isdisjoint(path.split("/")):  # it would lead elsewhere
            return error_answer(wire, 404, "no such path", "not_found")
        keeping = self._keeping(upstream, path, caller)
        refusal = await self._refusal(keeping, wire, body)
        if refusal is not None:
            return refusal
        call_upstream = upstream.send(
            method,
            quote(path, safe=_PATH_CHARS),
            query,
            headers,
            body,
            pass_credentials=caller.pass_credentials,
        )
        answer = await self._call(upstream, call_upstream, None, keeping)
        if keeping is not None and method == "DELETE" and answer.status < 300:
            await self._store(keeping.forget)
        return answer

    async def drain(self) -> None:
        """Wait until every finished chat is stored."""
        await self._background.drain()

    async def aclose(self) -> None:
        """Store finished chats and close all connections; call it before closing the store.

        Responses under way are cut off, and stored as far as they came.
        """
        for stream in list(self._open):
            await stream.aclose()
        await self._background.close()
        self._threads.shutdown(wait=False)
        for upstream in self._upstreams.values():
            await upstream.close()

    def _chat(
        self, request: ChatRequest, headers: Mapping[str, str], caller: ProxyCaller
    ) -> _Chat | None:
        """A chat with memory; None for an unknown user or an unreadable body.

        Raises:
            InvalidValue: a header, or the name of the user, agent or thread, is not allowed.
        """
        named, ratings = task_named(headers), ratings_named(headers)
        if caller.user is None or request.read is None:
            return None
        scope: dict[str, Any] = {"agent": caller.agent, "project": caller.project}
        if caller.categories is not None:
            scope["categories"] = caller.categories
        memory = self._memory.user(caller.user, **scope)
        if caller.is_agent:
            memory = UserMemory(memory.parts, replace(memory.scope, is_agent=True))
        kept = request.kept
        thread = thread_of(headers, first_of_user(request.messages), kept)
        is_looked_up = kept is not None and kept.is_response and thread_of(headers, "") is None
        is_task = request.is_task if named is None else named
        follows = kept.id if kept is not None and is_looked_up else None
        more: dict[str, Any] = {"follows": follows, "ratings": ratings}
        return _Chat(request.wire, memory, thread, request, is_task, **more)

    async def _with_memories(self, chat: _Chat) -> bytes:
        """The body with recalled memories; unchanged where recall takes too long."""
        recall = self._in_thread(self._recalled, chat)
        try:
            chat.recalled, body = await asyncio.wait_for(recall, MAX_PROXY_MEMORY_SECONDS)
        except TimeoutError:
            self._faults.note("it takes too long")
            return chat.request.body
        return body

    def _recalled(self, chat: _Chat) -> tuple[Recalled, bytes]:
        request = chat.request
        question = last_of_user(request.messages)
        try:
            if chat.keeping is not None:
                chat.keeping.begin()
            thread = chat.find_thread()
            if chat.ratings and not chat.counts:  # first, so that they count for this answer
                chat.rated = rate_all(chat.memory.narrow(thread=thread), chat.ratings)
            if request.kept is not None and thread is not None and not question:
                question = asked_last(chat.memory, thread)  # tools have answered since
        except Exception as error:  # noqa: BLE001 - no chat may fail because of memory
            self._faults.note(in_log(error))
            return Recalled(), request.body
        # Who counts tokens is told no news: that is for the chat itself.
        thread = None if chat.counts else thread
        recalled = self._recall.recall(chat.memory, question, thread, request.tools)
        body = request.body
        return recalled, body if recalled.text is None else request.with_system(recalled.text)

    async def _call(
        self,
        upstream: Upstream,
        call_upstream: "Coroutine[Any, Any, httpx2.Response]",
        chat: _Chat | None,
        keeping: Keeping | None,
    ) -> ProxyAnswer:
        """The upstream's response; its faults in the wire format."""
        call = UpstreamCall(upstream.watch)
        try:
            response = await call_upstream
            return _without_key(
                await self._respond(upstream, response, chat, keeping, call), upstream
            )
        except UpstreamFault as error:
            call.failed(error.code)
            return error_answer(upstream.wire, error.status, str(error), error.code)
        except BaseException:  # cancelled: the client has gone
            call.left()
            raise

    async def _respond(
        self,
        upstream: Upstream,
        response: "httpx2.Response",
        chat: _Chat | None,
        keeping: Keeping | None,
        call: UpstreamCall,
    ) -> ProxyAnswer:
        headers = from_upstream(response.headers.raw)
        encoding = response.headers.get("content-encoding", _PLAIN).strip().lower()
        if encoding != _PLAIN:  # compressed against our request: pass it on unread
            headers["content-encoding"] = encoding
        if not response.is_success:
            chat = keeping = None
        is_readable = encoding == _PLAIN
        chunks = upstream.parts(response)
        if headers.get("content-type", "").lower().startswith(_EVENTS):
            stream_filter: StreamFilter = PassThrough()
            if chat and is_readable:
                stream_filter = MemoryStreamFilter(chat.wire, chat.shown)
            elif keeping and is_readable:
                stream_filter = PassThrough(RESPONSES.listener())
            body: bytes | AnswerStream = self._stream(
                response, chunks, stream_filter, call, chat, keeping
            )
        else:
            body = await self._whole(response, chunks, chat, keeping, call, is_readable=is_readable)
        if chat is not None:
            headers[RECORDED_HEADER] = await self._recorded(chat, body)
            if chat.rated is not None:
                headers[RATED_HEADER] = " ".join(map(str, chat.rated)) or "none"
        return ProxyAnswer(response.status_code, headers, body)

    async def _whole(
        self,
        response: "httpx2.Response",
        chunks: AsyncIterator[bytes],
        chat: _Chat | None,
        keeping: Keeping | None,
        call: UpstreamCall,
        *,
        is_readable: bool,
    ) -> bytes | AnswerStream:
        """A response that is not streamed; one that is too large to parse passes unchanged."""
        body, is_all = await gathered(response, chunks, MAX_PROXIED_ANSWER_BYTES)
        if not is_all:
            return self._stream(response, chunks, PassThrough(), call, chat, keeping, first=body)
        call.answered(response.status_code)
        if chat is None and keeping is None:
            return body
        answer = await self._parse(body, partial(read_object, body)) if is_readable else None
        ids = [] if keeping is None or answer is None else ids_given(keeping.path, answer)
        if chat is None:
            if keeping is not None and ids:
                await self._store(partial(keeping.note_missing, ids))
            return body
        if answer is None or answer.get("error") is not None:
            self._remember(chat, NO_MESSAGE, ids)
            return body
        self._remember(chat, chat.wire.message_in(answer), ids)
        return with_last(body, chat.shown)

    async def _recorded(self, chat: _Chat, body: bytes | AnswerStream) -> str:
        """Wait until what was said is committed, and with a ``body`` that is whole the answer, too.

        Nothing is sent before: whoever sees an answer may rely on it.
        """
        if isinstance(body, bytes):
            written = chat.answered
        else:

            def write() -> None:
                remember(chat.memory, chat.exchange(NO_MESSAGE))

            chat.asked = written = self._background.do(write)
        if written is None or chat.thread is None:  # dropped, or there are no words
            return "no"
        try:
            is_written = await _done(written)
        except BaseException:  # cancelled: the client has gone
            if isinstance(body, AnswerStream):
                await body.aclose()
            raise
        return "pending" if is_written is None else "yes" if is_written else "no"

    def _stream(
        self,
        response: "httpx2.Response",
        chunks: AsyncIterator[bytes],
        stream_filter: StreamFilter,
        call: UpstreamCall,
        chat: _Chat | None,
        keeping: Keeping | None,
        *,
        first: bytes = b"",
    ) -> AnswerStream:
        """A streamed response, stored when it ends in whatever way."""

        async def gives(ids: Sequence[UpstreamId]) -> None:
            if keeping is None or not keeping.wanted(ids):
                return
            if chat is None:
                await self._store(partial(keeping.note_missing, ids))
            else:
                await self._store(partial(chat.note, ids))

        def ended() -> None:
            self._open.discard(stream)
            if chat is not None:
                self._remember(chat, stream_filter.message())

        stream = AnswerStream(
            response, stream_filter, call, first=first, chunks=chunks, gives=gives, ended=ended
        )
        self._open.add(stream)
        return stream

    def _remember(self, chat: _Chat, answer: ChatMessage, ids: Sequence[UpstreamId] = ()) -> None:
        def write() -> None:
            log_errors(partial(chat.note, ids))
            asked = chat.asked is not None and chat.asked.result()  # it began before
            exchange = chat.exchange(answer)
            remember(chat.memory, exchange, asked=asked)
            if exchange.recalled and answer.text:  # the client need not wait for that
                self._background.do(partial(count_used, chat.memory, exchange))

        chat.answered = self._background.do(write)

    def _keeping(
        self, upstream: Upstream, path: str, caller: ProxyCaller, *, leaves_responses: bool = True
    ) -> Keeping | None:
        """What the upstream keeps for the caller's user; None for what has no part in that."""
        if caller.user is None or upstream.wire is not OPENAI or not is_kept(path):
            return None
        return Keeping(
            self._memory.database,
            caller.user,
            path,
            agent=caller.agent,
            is_agents_own=caller.categories is not None,
            is_checked=not caller.acts_for_all,
            is_shared=upstream.has_key or not caller.pass_credentials,
            leaves_responses=leaves_responses,
        )

    async def _refusal(
        self, keeping: Keeping | None, wire: Wire, body: bytes | None, chat: _Chat | None = None
    ) -> ProxyAnswer | None:
        """The answer where a request names what its user did not get here.

        A ``chat`` that names nothing asks the store together with its memories.
        """
        if keeping is None:
            return None
        named: Sequence[NamedId] = ()
        try:
            if keeping.is_checked:
                named = await self._parse(body or b"", partial(ids_named, keeping.path, body))
            if chat is not None and not named:
                return None
            finding = self._in_thread(keeping.begin, named)
            stranger = await asyncio.wait_for(finding, MAX_PROXY_MEMORY_SECONDS)
        except InvalidValue as error:
            return error_answer(wire, 400, str(error), "invalid_value")
        except (RicordoError, TimeoutError) as error:
            self._faults.note(in_log(error))
            if not named:
                return None
            message = "whose the response or conversation is cannot be checked now; try again"
            return error_answer(wire, 503, message, "not_checked")
        if stranger is None:
            return None
        headers = {"content-type": "application/json"}
        return ProxyAnswer(404, headers, stranger.not_found())

    async def _store(self, work: Callable[[], None]) -> None:
        """Do something that an answer waits for, though not for ever."""
        writing = self._background.do(work)
        if writing is not None:
            await _done(writing)

    async def _parse(self, body: bytes, read: Callable[[], Found]) -> Found:
        """Parse small texts here, large ones in a thread."""
        return read() if len(body) <= _READ_AT_ONCE_BYTES else await self._in_thread(read)

    async def _in_thread(self, work: Callable[..., Found], *given: Any) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)


async def _done(writing: "Future[bool]") -> bool | None:
    """Whether something was written; None where that takes too long."""
    try:
        async with asyncio.timeout(MAX_PROXY_MEMORY_SECONDS):
            return await asyncio.shield(asyncio.wrap_future(writing))
    except TimeoutError:
        return None


def error_answer(wire: Wire, status: int, message: str, code: str) -> ProxyAnswer:
    return ProxyAnswer(
        status, {"content-type": "application/json"}, wire.error(status, message, code)
    )


def _without_key(answer: ProxyAnswer, upstream: Upstream) -> ProxyAnswer:
    """Remove the operator's key from an error response: some endpoints echo it."""
    if answer.status < 400 or not isinstance(answer.body, bytes):
        return answer
    return replace(answer, body=upstream.without_key(answer.body))


def _no_upstream(wire: Wire) -> ProxyAnswer:
    setting = "anthropic_url" if wire is ANTHROPIC else "upstream_url"
    message = f"this service has no model behind it; its setting {setting} names one"
    return error_answer(wire, 503, message, "no_upstream")
