"""Claude Code: ``projects/<folder>/<session>.jsonl`` in its configuration folder.

One record for each message or part of one; a call and its result are two. What the program puts
before the model itself is marked as such, or stands in tags in the user's text.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ricordo.coding_agents.entry import Entry, Position, Role
from ricordo.coding_agents.transcripts.session_files import (
    Line,
    Session,
    call_of,
    given_arguments,
    head,
    lines,
    made_id,
    placed,
    said,
    stored_id,
    texts,
    updated,
)
from ricordo.transfer.foreign_files import JsonObject, list_or_empty, moment, object_or_empty, text

NAME: Final = "claude-code"

_TAGS: Final = (
    "system-reminder",
    "task-notification",
    "teammate-message",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "command-message",
    "command-name",
    "command-args",
    "command-contents",
    "user-prompt-submit-hook",
    "user-memory-input",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "post-tool-use-hook",
)
_INJECTED: Final = re.compile(
    rf"<(?P<tag>{'|'.join(map(re.escape, _TAGS))})\b[^>]*>.*?(?:</(?P=tag)>|\Z)", re.DOTALL
)
_COMMAND: Final = re.compile(r"<command-name>\s*(/[^<\s]+)\s*</command-name>")
_COMMAND_ARGUMENTS: Final = re.compile(r"<command-args>(.+?)</command-args>", re.DOTALL)
_PROGRAMS_WORDS: Final = ("[Request interrupted by user", "Caveat: The messages below were")
_NO_MODEL: Final = "<synthetic>"
"""What the program names as the model of answers that it fills in itself."""

_ERROR_TAG: Final = re.compile(r"</?tool_use_error>")


class _Begun(NamedTuple):
    """A call whose result was not read yet."""

    start: int
    id: str
    name: str
    arguments: Mapping[str, Any]


def place(environ: Mapping[str, str], home: Path) -> Path:
    """Where the program keeps its things."""
    given = environ.get("CLAUDE_CONFIG_DIR")
    return Path(given) if given else home / ".claude"


def sessions(at: Path) -> Iterator[Session]:
    """The sessions in that folder, or of one file; those of subagents left out."""
    for path in [at] if at.is_file() else at.glob("projects/*/*.jsonl"):
        found = updated(path)
        record = next((one for one in head(path) if text(one.get("cwd"))), {})
        if found is None or not record or record.get("isSidechain") is True:
            continue
        yield Session(
            agent=NAME,
            session_id=stored_id(text(record.get("sessionId")) or path.stem),
            path=path,
            folder=text(record["cwd"]),
            updated_at=found,
        )


def read(path: Path, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session; of a call, when its result is there. Raises OSError."""
    begun: dict[str, _Begun] = {}
    for line in lines(path, after.offset if after else 0):
        record = line.value
        if record.get("isSidechain") is True or record.get("isMeta") is True:
            continue
        made = list(_entries(path, line, begun))
        if record.get("type") == "user" and any(entry.role == "user" for entry in made):
            begun.clear()  # what was interrupted has no result
        waiting = min((one.start for one in begun.values()), default=line.end)
        yield from placed(made, min(line.start, waiting), min(line.end, waiting))


def _entries(path: Path, line: Line, begun: dict[str, _Begun]) -> Iterator[Entry]:
    record = line.value
    kind, message = record.get("type"), object_or_empty(record.get("message"))
    if kind == "assistant":
        yield from _answer(path, line, message, begun)
    elif kind == "user":
        if record.get("isCompactSummary") is True or record.get("promptSource") == "system":
            return
        yield from _results(path, record, message, begun)
        if words := _users_words(texts(message.get("content"))):
            yield _entry(path, record, _id_of(line), "user", words)
    elif kind == "attachment":
        attached = object_or_empty(record.get("attachment"))
        if attached.get("type") == "queued_command" and (
            words := _users_words(texts(attached.get("prompt")))
        ):
            yield _entry(path, record, _id_of(line), "user", words)


def _answer(
    path: Path, line: Line, message: JsonObject, begun: dict[str, _Begun]
) -> Iterator[Entry]:
    record_id = _id_of(line)
    if line.value.get("isApiErrorMessage") is True or message.get("model") == _NO_MODEL:
        return
    content = message.get("content")
    if words := said(_INJECTED.sub("", texts(content))):
        yield _entry(path, line.value, record_id, "assistant", words)
    for part in list_or_empty(content):
        if isinstance(part, dict) and part.get("type") == "tool_use":
            call_id = text(part.get("id")) or record_id
            own_id = stored_id(f"{record_id}/{call_id}")
            arguments = given_arguments(part.get("input"))
            begun[call_id] = _Begun(line.start, own_id, text(part.get("name")), arguments)


def _results(
    path: Path, record: JsonObject, message: JsonObject, begun: dict[str, _Begun]
) -> Iterator[Entry]:
    for part in list_or_empty(message.get("content")):
        if not isinstance(part, dict) or part.get("type") != "tool_result":
            continue
        call = begun.pop(text(part.get("tool_use_id")), None)
        if call is None:
            continue
        failed = part.get("is_error") is True
        output = _ERROR_TAG.sub("", texts(part.get("content")))
        ended = None if failed else _exit_code(call.name, record.get("toolUseResult"))
        made = call_of(call.name, call.arguments, output, failed=failed, exit_code=ended)
        yield Entry(
            id=call.id,
            role="tool",
            content="",
            at=moment(record.get("timestamp")),
            session_id=_session_of(path, record),
            cwd=text(record.get("cwd")) or None,
            call=made,
        )


def _exit_code(name: str, result: object) -> int | None:
    """A command that failed says so in its output; another one ended well, if it has ended."""
    if name != "Bash" or not isinstance(result, dict):
        return None
    return None if result.get("interrupted") or result.get("backgroundTaskId") else 0


def _users_words(given: str) -> str:
    command = _COMMAND.search(given)
    arguments = _COMMAND_ARGUMENTS.search(given)
    if command and arguments:
        return said(f"{command[1]} {text(arguments[1])}")
    words = said(_INJECTED.sub("", given))
    return "" if words.startswith(_PROGRAMS_WORDS) else words


def _entry(path: Path, record: JsonObject, entry_id: str, role: Role, content: str) -> Entry:
    return Entry(
        id=entry_id,
        role=role,
        content=content,
        at=moment(record.get("timestamp")),
        session_id=_session_of(path, record),
        cwd=text(record.get("cwd")) or None,
    )


def _session_of(path: Path, record: JsonObject) -> str:
    return stored_id(text(record.get("sessionId")) or path.stem)


def _id_of(line: Line) -> str:
    given = text(line.value.get("uuid"))
    return stored_id(given) if given else made_id(line.start, line.value.get("message"))
