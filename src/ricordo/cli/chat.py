"""A chat in the terminal: ``chat``."""

import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.cli.conversations import window_text
from ricordo.cli.derived import Given, some_options_of
from ricordo.cli.json_answers import ChatComplaint, ChatHelp
from ricordo.cli.recall import request_text
from ricordo.cli.render import answer, harmless, say, write_lines
from ricordo.cli.store import Owner, is_debugging
from ricordo.errors import InvalidInput, LanguageModelError, NotFound, RicordoError, StorageError
from ricordo.frozen import dataclass
from ricordo.limits import MAX_TURN_CHARS
from ricordo.model import checks
from ricordo.model.proposal import attributed
from ricordo.model.record import Record, plain
from ricordo.model.vocabulary import ContextMode
from ricordo.operations import recall as describe

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.model.context import Context, RecalledMemory, RecalledTurn
    from ricordo.model.thread import Window
    from ricordo.providers.chat import ChatModel
    from ricordo.user_memory import UserMemory

_MAX_SECONDS: Final = 86_400
_USUAL_MODES: Final = (ContextMode.RECALL, ContextMode.SUMMARY)

Seconds = Annotated[
    float, typer.Option(metavar="N", help="How many seconds one answer may take at most.")
]

_HELP: Final = """\
/memories    what was recalled for the last answer
/prompt      what was sent last
/window      what is shown of this conversation from now on
/forget ID   forget a memory
/help        this list
/quit        leave; so does the end of the input
// TEXT      a message that begins with a single /"""


def chat(
    *,
    given: Given = some_options_of(
        describe.context,
        *("thread", "modes", "budget_tokens"),
        modes="--mode -m",
        budget_tokens="--budget",
    ),
    seconds: Seconds = 300.0,
    owner: Owner,
) -> None:
    """Talk with a language model that remembers, in a conversation of the day unless one is named.

    The model is the one of the settings RICORDO_MODEL_PROVIDER, RICORDO_MODEL_NAME,
    RICORDO_MODEL_BASE_URL and RICORDO_MODEL_API_KEY. Without one, what would be sent is shown, and
    what is said is remembered all the same. It is shown memories and a summary (--mode).

    Each line of standard input is a message. /help lists what else a line can be. With --json each
    exchange is answered by one JSON object on a line.

    Example: ricordo chat --thread garden
    """
    from ricordo.user_memory.base import check_of_person  # takes long to load

    allowed = checks.number("seconds", seconds, 1, _MAX_SECONDS)
    with _open(owner) as memory:
        me = owner.memory_in(memory)
        check_of_person(me.scope, "a chat")
        day = me.parts.conversation.policy.day_of(memory.database.clock())
        thread = given.pop("thread", f"chat-{day}")
        talk = ChatLoop(me, thread, {"modes": _USUAL_MODES, **given}, allowed)
        run_chat(talk, as_json=owner.as_json)


@contextlib.contextmanager
def _open(owner: Owner) -> Iterator["Memory"]:
    """Open the store with background work, because a chat is long-lived."""
    from ricordo.wiring import open_memory

    if not is_debugging():  # log lines would appear between the lines of the chat
        logging.getLogger("ricordo").addHandler(logging.NullHandler())
    with open_memory(**owner.settings()) as memory:
        yield memory


Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """The result of one message.

    ``answer`` may be incomplete: then ``error`` says why, or ``is_stopped`` that the reader stopped
    it. Without a model there is none.
    """

    thread: str
    message: str
    context: "Context | None"
    answer: str | None
    error: str | None
    is_stopped: bool

    def to_dict(self) -> dict[str, Any]:
        """The exchange as JSON, with everything that was sent."""
        context = self.context
        return {
            "thread": self.thread,
            "message": self.message,
            "answer": self.answer,
            "error": self.error,
            "stopped": self.is_stopped,
            "messages": [] if context is None else [dict(one) for one in context.messages],
            "memories": [] if context is None else plain(context.memories),
            "tokens": None if context is None else plain(context.tokens),
        }


class ChatLoop:
    """A conversation of a user with the configured model, or with none."""

    def __init__(self, memory: "UserMemory", thread: str, wanted: Given, seconds: float) -> None:
        """``wanted`` is what each request is built with."""
        self.memory = memory
        self.thread = thread
        self.last: Context | None = None
        """The request that was sent last."""
        self._wanted = wanted
        self._seconds = seconds

    @property
    def model(self) -> "ChatModel | None":
        metered = self.memory.parts.formation.model
        return None if metered is None else metered.plain

    def resume(self) -> "Window":
        """Resume the conversation. Raises InvalidInput or StorageError."""
        describe.context.accept(self._wanted)  # what every message would be refused for
        return self.memory.resume(self.thread)

    def exchange(self, message: str, show: Show) -> ChatTurn:
        """Send a message and show the answer as it arrives; errors become part of the result.

        The message is recorded before the model is called, so it is kept whatever happens.
        """
        try:
            self.last = context = self.memory.context(
                message, thread=self.thread, tools=[], **self._wanted
            )
            self._record("user", message)
        except (InvalidInput, StorageError) as problem:
            return ChatTurn(self.thread, message, None, None, str(problem), is_stopped=False)
        model = self.model
        if model is None:
            return ChatTurn(self.thread, message, context, None, None, is_stopped=False)
        came: list[str] = []
        error: str | None = None
        is_stopped = False
        try:
            self._stream(model, context, came, show)
        except LanguageModelError as problem:
            error = str(problem)
        except KeyboardInterrupt:
            is_stopped = True
        answer = "".join(came)
        error = self._keep(context, answer) or error
        return ChatTurn(self.thread, message, context, answer, error, is_stopped=is_stopped)

    def finish(self) -> int:
        """Form memories from the conversation; how many. If that fails, a job does it later."""
        if not self.memory.parts.formation.policy.is_automatic:
            return 0
        with contextlib.suppress(RicordoError):
            return len(self.memory.form(self.thread).decisions)
        return 0

    def _stream(self, model: "ChatModel", context: "Context", came: list[str], show: Show) -> None:
        pieces = model.stream(
            context.messages,
            max_tokens=max(context.tokens.reply, 1),
            deadline_seconds=self._seconds,
        )
        with contextlib.closing(pieces):
            for piece in pieces:
                came.append(piece)
                show(piece)

    def _keep(self, context: "Context", answer: str) -> str | None:
        """Record the answer and which memories it used; returns what went wrong."""
        said = answer.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
        if not said.strip():
            return None
        try:
            self._record("assistant", said[:MAX_TURN_CHARS])
            shown = [memory.id for memory in context.memories]
            if shown:
                with contextlib.suppress(NotFound):  # deleted in between
                    self.memory.feedback(shown, answer=said)
        except (InvalidInput, StorageError) as problem:
            return str(problem)
        return None

    def _record(self, role: str, content: str) -> None:
        self.memory.observe([{"role": role, "content": content}], thread=self.thread)


def run_chat(talk: ChatLoop, *, as_json: bool) -> None:
    """Run the chat until the input ends. Raises InvalidInput: the thread, a mode or the budget is
    not allowed; StorageError: the store cannot be read at the start."""
    is_at_terminal = sys.stdin.isatty() and not as_json
    window = talk.resume()
    if is_at_terminal:
        say(_greeting(talk, window))
    screen = Screen(talk, as_json=as_json)
    with contextlib.suppress(KeyboardInterrupt):
        for line in _lines(is_at_terminal):
            if not screen.take(line):
                break
    with contextlib.suppress(KeyboardInterrupt):
        decided = talk.finish()
        if decided and is_at_terminal:
            say(f"Looked over {decided} new things to remember: ricordo list")


class Screen:
    def __init__(self, talk: ChatLoop, *, as_json: bool) -> None:
        self._talk = talk
        self._as_json = as_json
        self._commands: dict[str, Callable[[str], None]] = {
            "/memories": self._memories,
            "/prompt": self._prompt,
            "/window": self._window,
            "/forget": self._forget,
            "/help": self._help,
        }

    def take(self, line: str) -> bool:
        """Handle one line; False ends the chat."""
        word, _, rest = line.partition(" ")
        if word == "/quit":
            return False
        if not line.startswith("/"):
            self._send(line)
        elif line.startswith("//"):
            self._send(line[1:])
        else:
            self._run(word, rest.strip())
        return True

    def _run(self, word: str, rest: str) -> None:
        command = self._commands.get(word)
        if command is None:
            self._complain(f"there is no {word}; /help lists what there is")
            return
        try:
            command(rest)
        except RicordoError as problem:
            self._complain(str(problem))

    def _send(self, message: str) -> None:
        if self._as_json:
            exchange = self._talk.exchange(message, lambda _piece: None)
            write_lines([json.dumps(exchange.to_dict(), ensure_ascii=False)])
            return
        exchange = self._talk.exchange(message, _write)
        if exchange.answer:
            _write("\n")
        elif exchange.context is not None and self._talk.model is None:
            _write(f"{request_text(exchange.context)}\n")
        if exchange.is_stopped:
            say("(stopped; what came is kept)")
        if exchange.error is not None:
            self._complain(exchange.error)

    def _memories(self, _rest: str) -> None:
        last = self._talk.last
        shown = () if last is None else last.memories
        quotes = () if last is None else last.quotes
        answer(self._as_json, shown, lambda memories: _recalled_text(memories, quotes))

    def _prompt(self, _rest: str) -> None:
        last = self._talk.last
        if last is None:
            self._complain("nothing was sent yet")
        else:
            answer(self._as_json, last, request_text)

    def _window(self, _rest: str) -> None:
        answer(self._as_json, self._talk.memory.window(self._talk.thread), window_text)

    def _forget(self, rest: str) -> None:
        if not rest.isdecimal():
            self._complain("/forget needs the number of a memory; /memories shows them")
            return
        forgotten = self._talk.memory.forget(int(rest), reason="asked for in a chat")
        answer(self._as_json, forgotten, lambda items: f"Forgotten: {_ids(items)}.")

    def _help(self, _rest: str) -> None:
        answer(self._as_json, ChatHelp(help=_HELP.splitlines()), lambda _: _HELP)

    def _complain(self, problem: str) -> None:
        line = " ".join(problem.split())
        if self._as_json:
            write_lines([json.dumps(ChatComplaint(error=line), ensure_ascii=False)])
        else:
            say(f"error: {line}")


def _lines(is_at_terminal: bool) -> Iterator[str]:
    """Lines of the terminal or of standard input, without empty ones."""
    while True:
        if is_at_terminal:
            try:
                line = input("> ")
            except EOFError:
                say("")
                return
        else:
            read = sys.stdin.buffer.readline()
            if not read:
                return
            line = read.decode("utf-8", "replace").removeprefix("\ufeff")
        line = line.replace("\x00", "").strip()
        if line:
            yield line


def _write(piece: str) -> None:
    sys.stdout.write(harmless(piece))
    sys.stdout.flush()


def _greeting(talk: ChatLoop, window: "Window") -> str:
    model = talk.model
    who = "without a model" if model is None else f"with {model.provider}:{model.model}"
    before = f" {len(window.turns) + window.compacted_to} turns before." if window.turns else ""
    return f"Conversation {talk.thread}, {who}.{before} /help lists commands."


def _recalled_text(memories: "Sequence[RecalledMemory]", quotes: "Sequence[RecalledTurn]") -> str:
    lines = [
        f"{memory.id}  {attributed(memory.text, memory.owner_id, memory.type)}"
        for memory in memories
    ]
    lines += [f"said in {quote.thread_id}, {quote.speaker}: {quote.text}" for quote in quotes]
    return "\n".join(lines) or "Nothing was recalled."


def _ids(items: "Sequence[Record]") -> str:
    return ", ".join(str(getattr(item, "id", "")) for item in items)
