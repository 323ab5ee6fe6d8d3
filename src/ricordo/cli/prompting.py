"""What a model is shown: ``context``, and what was of use in it: ``feedback``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo import limits
from ricordo.cli.options import STANDARD_STREAM, Acting, Owner, completing, words
from ricordo.cli.render import Shown, answer, say
from ricordo.cli.session import open_user
from ricordo.errors import InvalidValue
from ricordo.model.vocabulary import ContextMode

if TYPE_CHECKING:
    from ricordo.model.context import Context, Feedback

Message = Annotated[
    str, typer.Argument(metavar="MESSAGE", help="What the user says; may be left out.")
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="WORD",
        autocompletion=completing(ContextMode),
        help=f"What of memory to show, may be repeated: {words(ContextMode)} (default: tools).",
    ),
]
ContextBudget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="N",
        help=f"Tokens of the whole request (default: {limits.DEFAULT_CONTEXT_TOKENS}).",
    ),
]
Reply = Annotated[
    int | None, typer.Option("--reply", metavar="N", help="Tokens to set aside for the answer.")
]
ToolFile = Annotated[
    str | None,
    typer.Option(
        "--tools", metavar="FILE", help="JSON list of tool schemas that are sent along, or -."
    ),
]
ContextThreshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="SHARE", help="Leave out memories less sure than this."),
]
NoHistory = Annotated[
    bool,
    typer.Option("--no-history", help="Leave out earlier turns: the caller sends them itself."),
]
NoPersona = Annotated[
    bool,
    typer.Option("--no-persona", help="Leave out SOUL.md and RULES.md: the caller has its own."),
]
Recalled = Annotated[list[int], typer.Argument(metavar="ID...", help="Memories that were shown.")]
Used = Annotated[
    list[int] | None, typer.Option("--used", metavar="ID", help="One that was used; repeatable.")
]
GivenAnswer = Annotated[
    str | None, typer.Option("--answer", metavar="TEXT", help="The answer, to find that out.")
]


def context(
    *,
    message: Message = "",
    modes: Modes = None,
    budget_tokens: ContextBudget = None,
    reply_tokens: Reply = None,
    tools: ToolFile = None,
    threshold: ContextThreshold = None,
    no_history: NoHistory = False,
    no_persona: NoPersona = False,
    acting: Acting,
    owner: Owner,
) -> None:
    """Show what a model would be sent: system text, earlier turns, the message.

    Example: ricordo context "what should I cook?" --mode recall --thread kitchen
    """
    schemas = None if tools is None else _schemas(tools)
    with open_user(owner, acting) as memory:
        built = memory.context(
            message,
            modes=modes or ContextMode.TOOLS,
            budget_tokens=budget_tokens,
            reply_tokens=reply_tokens,
            tools=schemas,
            threshold=threshold,
            history=not no_history,
            persona=not no_persona,
        )
    if not owner.as_json:
        for problem in built.problems:
            say(f"warning: {problem}")
    answer(owner.as_json, built, request_text)


def feedback(
    *, recalled: Recalled, used: Used = None, reply: GivenAnswer = None, owner: Owner
) -> None:
    """Say which of the memories that a prompt showed an answer used.

    Example: ricordo feedback 12 17 --answer "Tea, as always?"
    """
    with open_user(owner) as memory:
        told = memory.feedback(recalled, used=used, answer=reply)
    answer(owner.as_json, told, _feedback_text)


def request_text(built: "Context") -> str:
    """A request for people to read: each message under its role, then where the tokens go."""
    parts = [f"[{message['role']}]\n{message['content']}" for message in built.messages]
    split = ", ".join(f"{name} {count}" for name, count in built.tokens.to_dict().items())
    notes = [f"tokens: {split}"]
    if built.confidence is not None:
        notes.append(f"confidence {built.confidence:.2f}")
    if built.left_out:
        notes.append(f"no room for: {', '.join(built.left_out)}")
    return "\n\n".join([*parts, f"({'; '.join(notes)})"])


def _feedback_text(told: "Feedback") -> Shown:
    used = ", ".join(map(str, told.used)) or "none"
    return f"Used: {used} ({len(told.used)} of {len(told.recalled)})."


def _schemas(given: str) -> Any:
    """The schemas in a file.

    Raises:
        InvalidValue: it cannot be read, or is not JSON.
    """
    try:
        if given == STANDARD_STREAM:
            return json.load(sys.stdin)
        return json.loads(Path(given).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidValue("tools", f"{given}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidValue("tools", f"{given}: not JSON in UTF-8 ({error})") from None
