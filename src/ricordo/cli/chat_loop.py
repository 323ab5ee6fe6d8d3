"""The lines of a chat: messages, commands, and what is shown of either."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ricordo.cli.chat_exchange import Conversing
from ricordo.cli.prompting import request_text
from ricordo.cli.render import answer, harmless, say, write_lines
from ricordo.cli.shapes import ChatComplaint, ChatHelp
from ricordo.cli.windows import window_text
from ricordo.errors import RicordoError
from ricordo.model.proposal import attributed
from ricordo.model.record import Record

if TYPE_CHECKING:
    from ricordo.model.context import RecalledMemory
    from ricordo.model.thread import Window

_PROMPT: Final = "> "
_HELP: Final = """\
/memories    what was recalled for the last answer
/prompt      what was sent last
/window      what is shown of this conversation from now on
/forget ID   forget a memory
/help        this list
/quit        leave; so does the end of the input
// TEXT      a message that begins with a single /"""


def run_chat(talk: Conversing, *, as_json: bool) -> None:
    """Talk until the input ends.

    Raises:
        InvalidInput: the name of the conversation, a mode or the budget is not allowed.
        StorageError: the store could not be read at the start.
    """
    is_at_terminal = sys.stdin.isatty() and not as_json
    window = talk.take_up()
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
    """Takes lines and shows what becomes of them."""

    def __init__(self, talk: Conversing, *, as_json: bool) -> None:
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
        """Take one line; False when it says that the chat is over."""
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
        answer(self._as_json, () if last is None else last.memories, _memories_text)

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
    """What is typed or piped in, without empty lines."""
    while True:
        if is_at_terminal:
            try:
                line = input(_PROMPT)
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


def _greeting(talk: Conversing, window: "Window") -> str:
    model = talk.model
    who = "without a model" if model is None else f"with {model.provider}:{model.model}"
    before = f" {len(window.turns) + window.compacted_to} turns before." if window.turns else ""
    return f"Conversation {talk.thread}, {who}.{before} /help lists commands."


def _memories_text(memories: "Sequence[RecalledMemory]") -> str:
    lines = [
        f"{memory.id}  {attributed(memory.text, memory.owner_id, memory.type)}"
        for memory in memories
    ]
    return "\n".join(lines) or "Nothing was recalled."


def _ids(items: "Sequence[Record]") -> str:
    return ", ".join(str(getattr(item, "id", "")) for item in items)
