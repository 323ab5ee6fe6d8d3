"""A chat in the terminal: ``chat``."""

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Owner, completing, words
from ricordo.cli.session import is_debugging
from ricordo.model import checks
from ricordo.model.vocabulary import ContextMode

if TYPE_CHECKING:
    from ricordo.memory import Memory

_MAX_SECONDS = 86_400

InThread = Annotated[
    str | None,
    typer.Option(
        "--thread",
        metavar="ID",
        help="Conversation (default: one a day, by its date).",
        autocompletion=completing_names(Named.THREAD),
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Tokens of a whole request"
        f" (default: RICORDO_CONTEXT_TOKENS, or {limits.DEFAULT_CONTEXT_TOKENS}).",
    ),
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="WORD",
        autocompletion=completing(ContextMode),
        help="What of memory to show the model, may be repeated:"
        f" {words(ContextMode)} (default: recall and summary).",
    ),
]
Seconds = Annotated[
    float, typer.Option(metavar="N", help="How many seconds one answer may take at most.")
]


def chat(
    *,
    thread: InThread = None,
    budget: Budget = None,
    mode: Modes = None,
    seconds: Seconds = 300.0,
    owner: Owner,
) -> None:
    """Talk with a language model that remembers.

    The model is the one of the settings RICORDO_MODEL_PROVIDER, RICORDO_MODEL_NAME,
    RICORDO_MODEL_BASE_URL and RICORDO_MODEL_API_KEY. Without one, what would be sent is shown, and
    what is said is remembered all the same.

    Each line of standard input is a message. /help lists what else a line can be. With --json each
    exchange is answered by one JSON object on a line.

    Example: ricordo chat --thread garden
    """
    from ricordo.cli.chat_exchange import Conversing
    from ricordo.cli.chat_loop import run_chat

    allowed = checks.number("seconds", seconds, 1, _MAX_SECONDS)
    modes = mode or [ContextMode.RECALL, ContextMode.SUMMARY]
    with _open(owner) as memory:
        me = memory.global_memories() if owner.of_everyone else memory.user(owner.user)
        day = me.parts.conversation.policy.day_of(memory.database.clock())
        name = f"chat-{day}" if thread is None else thread
        talk = Conversing(me, name, modes, budget, allowed)
        run_chat(talk, as_json=owner.as_json)


@contextlib.contextmanager
def _open(owner: Owner) -> Iterator["Memory"]:
    """The store with its background work, because a chat goes on for a while."""
    from ricordo.wiring import open_memory

    if not is_debugging():  # nothing may be written between the lines
        logging.getLogger("ricordo").addHandler(logging.NullHandler())
    with open_memory(**owner.settings()) as memory:
        yield memory
