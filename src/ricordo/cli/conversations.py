"""What was said: ``observe``, ``search-turns``, ``threads`` and ``turns``."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Final

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.options import STANDARD_STREAM, Cursor, Limit, Owner
from ricordo.cli.render import answer, progress_bar
from ricordo.cli.searching import Explain, ResultLimit, Threshold, warn
from ricordo.cli.session import open_user
from ricordo.errors import ImportFailed, InvalidInput
from ricordo.model.thread import NewTurn, Observed

_MAX_TRANSCRIPT_BYTES: Final = 64 * 1024 * 1024  # it is read as a whole
_ROLES: Final = ("user", "assistant", "system", "tool")
_USUAL_ROLE: Final = "user"
_MAX_NAME_CHARS: Final = 60
_NAME: Final = re.compile(r"[^\W_][\w.'’-]*(?: [\w.'’-]+){0,3}")
_LIST_OF_MESSAGES: Final = re.compile(r"\[\s*[{\]]")

ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="Name of the conversation.")]
Transcript = Annotated[
    Path, typer.Argument(metavar="FILE", help="What was said; - is standard input.")
]
IntoThread = Annotated[
    str, typer.Option("--thread", metavar="ID", help="Conversation it belongs to.")
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What the conversation is called.")]
DefaultRole = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Role where none is given (in plain text: user)."),
]
DefaultActor = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who speaks in that role where no name is given.")
]
Asked = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")]
OfThread = Annotated[str | None, typer.Option("--thread", metavar="ID", help="Conversation.")]
OfRole = Annotated[str | None, typer.Option("--role", metavar="NAME", help="Role, e.g. user.")]
OfActor = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Who spoke.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Said at or after.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Said before.")]


def observe(
    *,
    path: Transcript = Path(STANDARD_STREAM),
    thread: IntoThread,
    title: Title = None,
    role: DefaultRole = None,
    actor: DefaultActor = None,
    owner: Owner,
) -> None:
    """Record what was said, so that it can be found.

    The content shows which of three it is. A JSON list of messages begins with [ and a message.
    JSON Lines begin with { and have a message on each line. Anything else is plain text, where
    NAME: TEXT or ROLE: TEXT begins a turn (roles: user, assistant, system, tool) and any other line
    goes on with it. Messages have role and content, and may have actor, at, id and tool_calls.

    All of it is checked before anything is recorded. A message with an id is recorded once.

    Example: ricordo observe --thread monday chat.txt
    """
    said = _read_transcript(path, _Unnamed(role, actor))
    recorded = known = 0
    with open_user(owner) as memory, progress_bar("Observing", wanted=not owner.as_json) as move:
        for start in range(0, len(said), limits.MAX_OBSERVED_TURNS):
            batch = said[start : start + limits.MAX_OBSERVED_TURNS]
            done = memory.observe(batch, thread=thread, title=title)
            recorded += done.recorded
            known += done.known
            move(start + len(batch), len(said))
    answer(owner.as_json, Observed(thread, recorded, known), _sentence)


def search_turns(
    *,
    query: Asked,
    thread: OfThread = None,
    role: OfRole = None,
    actor: OfActor = None,
    since: Since = None,
    until: Until = None,
    limit: ResultLimit = limits.DEFAULT_RESULTS,
    threshold: Threshold = None,
    explain: Explain = False,
    owner: Owner,
) -> None:
    """Find what was said by meaning and by words, the best first.

    Example: ricordo search-turns "when does the train leave" --actor ben
    """
    with open_user(owner) as memory:
        found = memory.search_turns(
            query,
            limit=limit,
            thread=thread,
            role=role,
            actor=actor,
            since=since,
            until=until,
            threshold=threshold,
            explain=explain,
        )
    warn(found.degraded, owner)
    nothing = tables.nothing_found("ricordo threads", threshold)
    answer(owner.as_json, found, lambda hits: tables.turn_hit_table(hits, nothing))


def threads(
    *, limit: Limit = limits.DEFAULT_PAGE_ITEMS, cursor: Cursor = None, owner: Owner
) -> None:
    """List conversations, the latest first."""
    with open_user(owner) as memory:
        page = memory.threads(limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.thread_table)


def turns(
    *,
    thread_id: ThreadId,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    owner: Owner,
) -> None:
    """Show what was said in a conversation."""
    with open_user(owner) as memory:
        page = memory.turns(thread_id, limit=limit, cursor=cursor)
    answer(owner.as_json, page, tables.turn_table)


def _sentence(observed: Observed) -> str:
    known = f", known already {observed.known}" if observed.known else ""
    return f"Recorded {observed.recorded} turns in {observed.thread_id}{known}."


# -- reading a transcript ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """Who speaks where a transcript does not say so."""

    role: str | None
    actor: str | None

    @property
    def is_known(self) -> bool:
        return self.role is not None or self.actor is not None

    def completing(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message with what it leaves open. The actor is somebody in that one role."""
        if message.get("role") is None and self.role is not None:
            message = {**message, "role": self.role}
        in_role = message.get("role") == (self.role or _USUAL_ROLE)
        if message.get("actor") is None and self.actor is not None and in_role:
            message = {**message, "actor": self.actor}
        return message


def _read_transcript(path: Path, unnamed: _Unnamed) -> list[NewTurn]:
    """What was said in a file.

    Raises:
        ImportFailed: the file cannot be read; or names the place and what is wrong with it.
    """
    name = "standard input" if str(path) == STANDARD_STREAM else str(path)
    said: list[NewTurn] = []
    for place, message in _messages(name, _content(path, name), unnamed):
        try:
            if not isinstance(message, dict):
                raise InvalidInput("not a message, that is an object with role and content")
            said.append(NewTurn.parse(unnamed.completing(message)))
        except InvalidInput as problem:
            raise ImportFailed(f"{name}, {place}: {problem}") from None
    if not said:
        raise ImportFailed(f"{name}: nothing was said in it")
    return said


def _content(path: Path, name: str) -> str:
    if str(path) == STANDARD_STREAM:
        return _limited(sys.stdin.buffer, name)
    try:
        with path.open("rb") as file:
            return _limited(file, name)
    except OSError as error:
        raise ImportFailed(f"{name}: cannot be read ({error.strerror})") from None


def _limited(file: IO[bytes], name: str) -> str:
    content = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    if len(content) > _MAX_TRANSCRIPT_BYTES:
        raise ImportFailed(f"{name}: longer than {_MAX_TRANSCRIPT_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        number = content.count(b"\n", 0, problem.start) + 1
        raise ImportFailed(f"{name}, line {number}: not text in UTF-8") from None


def _messages(name: str, text: str, unnamed: _Unnamed) -> Iterator[tuple[str, Any]]:
    """The messages of a transcript, whatever it is, each with its place for error messages."""
    begin = text.lstrip()
    if _LIST_OF_MESSAGES.match(begin):
        listed = _loaded(name, text, 1)
        yield from ((f"message {number}", one) for number, one in enumerate(listed, 1))
    elif begin.startswith("{"):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"line {number}", _loaded(name, line, number)
    else:
        yield from _spoken(name, text, unnamed)


def _loaded(name: str, text: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        number = first_line + problem.lineno - 1
        raise ImportFailed(f"{name}, line {number}: not JSON ({problem.msg})") from None
    except (ValueError, RecursionError) as problem:
        raise ImportFailed(f"{name}, line {first_line}: not JSON ({problem})") from None


def _spoken(name: str, text: str, unnamed: _Unnamed) -> Iterator[tuple[str, dict[str, str]]]:
    """The turns of plain text: a line with a speaker begins one, all others go on with it."""
    place = ""
    turn: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        begun = _beginning(line, unnamed)
        if begun is None and turn:
            turn["content"] += f"\n{line}"
            continue
        if begun is None and not line.strip():
            continue
        if begun is None and not unnamed.is_known:
            raise ImportFailed(
                f"{name}, line {number}: no speaker; expected NAME: TEXT (--actor or --role says"
                " who speaks where there is no name)"
            )
        if turn:
            yield place, turn
        place = f"line {number}"
        turn = begun or {"role": unnamed.role or _USUAL_ROLE, "content": line}
    if turn:
        yield place, turn


def _beginning(line: str, unnamed: _Unnamed) -> dict[str, str] | None:
    """The turn that a line begins; None where it names no speaker."""
    given, colon, said = line.partition(":")
    speaker = given.strip()
    is_spaced = not said or said[0].isspace()  # "10:30" and "https://" name nobody
    if not colon or not is_spaced or not _is_name(speaker):
        return None
    if speaker.lower() in _ROLES:
        return {"role": speaker.lower(), "content": said}
    return {"role": unnamed.role or _USUAL_ROLE, "actor": speaker, "content": said}


def _is_name(given: str) -> bool:
    if len(given) > _MAX_NAME_CHARS or not _NAME.fullmatch(given):
        return False
    first, *others = given.split()
    # "Here is why:" is a sentence that goes on; names of several words have capitals at both ends.
    return not others or not (first.islower() or others[-1].islower())
