"""Gemini CLI: ``tmp/<project>/chats/session-<time>-<id>.jsonl`` in its folder.

A record that was added to is written again with the same id; ``$set`` replaces the history, with
what is there already. Older versions wrote one JSON document, anew each time.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ricordo.coding_agents.entry import Entry, Position, Role
from ricordo.coding_agents.transcripts.session_files import (
    MAX_LINE_BYTES,
    Session,
    call_of,
    head,
    lines,
    made_id,
    parsed,
    placed,
    said,
    stored_id,
    texts,
    updated,
)
from ricordo.frozen import replace
from ricordo.transfer.foreign_files import JsonObject, list_or_empty, moment, object_or_empty, text

NAME: Final = "gemini-cli"

_INJECTED: Final = re.compile(
    r"<(?P<tag>hook_context|session_context|state_snapshot)>.*?(?:</(?P=tag)>|\Z)", re.DOTALL
)
_REFERENCED: Final = re.compile(
    r"--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL
)
_FRAME: Final = re.compile(r"\A<untrusted_context>\n(?:Output: )?|\n?</untrusted_context>\s*\Z")
_LAST_LINES: Final = re.compile(r"\n(?:Process Group PGID|Background PIDs): [^\n]*")
_EXIT_LINE: Final = re.compile(r"\nExit Code: (-?[0-9]{1,9})(?=\n|\Z)")
_ENDED: Final = ("success", "error", "cancelled")


def place(environ: Mapping[str, str], home: Path) -> Path:
    """Where the program keeps its things."""
    given = environ.get("GEMINI_CLI_HOME")
    return (Path(given) if given else home) / ".gemini"


def sessions(at: Path) -> Iterator[Session]:
    """The sessions in that folder, or of one file; those of subagents left out."""
    for path in [at] if at.is_file() else at.glob("tmp/*/chats/session-*.json*"):
        found, first = updated(path), _first(path)
        if found is None or first.get("kind", "main") != "main" or "sessionId" not in first:
            continue
        yield Session(
            agent=NAME,
            session_id=_session_of(path, first),
            path=path,
            folder=_folder(path),
            updated_at=found,
        )


def read(path: Path, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session. Raises OSError."""
    if path.suffix == ".json":
        yield from _read_whole(path, after)
        return
    session_id, folder = _session_of(path, _first(path)), _folder(path)
    given: set[str] = set()
    for line in lines(path, after.offset if after else 0):
        found = _entries(line.value, session_id, folder)
        entries = [entry for entry in found if entry.id not in given]
        given.update(entry.id for entry in entries)
        yield from placed(entries, line.start, line.end)


def _read_whole(path: Path, after: Position | None) -> Iterator[Entry]:
    whole = _whole(path)
    session_id, folder = _session_of(path, whole), _folder(path)
    messages = list_or_empty(whole.get("messages"))
    start = after.offset if after and after.offset <= len(messages) else 0
    for number, message in enumerate(messages[start:], start=start):
        entries = list(_entries(object_or_empty(message), session_id, folder))
        yield from placed(entries, number, number + 1)


def _whole(path: Path) -> JsonObject:
    with path.open("rb") as file:
        return parsed(file.read(MAX_LINE_BYTES)) or {}


def _entries(record: JsonObject, session_id: str, folder: str | None) -> Iterator[Entry]:
    at, kind = moment(record.get("timestamp")), record.get("type")

    def made(entry_id: str, role: Role, content: str) -> Entry:
        return Entry(
            id=entry_id, role=role, content=content, at=at, session_id=session_id, cwd=folder
        )

    if kind not in ("user", "gemini"):
        return
    content = record.get("displayContent", record.get("content"))
    given = text(record.get("id"))
    record_id = stored_id(given) if given else made_id(text(record.get("timestamp")), content)
    words = said(_REFERENCED.sub("", _INJECTED.sub("", texts(content))))
    if words:
        yield made(record_id, "user" if kind == "user" else "assistant", words)
    for number, one in enumerate(list_or_empty(record.get("toolCalls"))):
        call = object_or_empty(one)
        status = call.get("status")
        if status not in _ENDED:
            continue
        output, code = _output(call)
        arguments = object_or_empty(call.get("args"))
        name = text(call.get("name"))
        ended = code if code is not None or name != "run_shell_command" else 0
        told = call_of(
            name,
            arguments,
            output,
            failed=status != "success",
            exit_code=ended if status == "success" else code,
        )
        own_id = stored_id(f"{record_id}/{text(call.get('id')) or number}")
        ended_at = moment(call.get("timestamp")) or at
        yield replace(made(own_id, "tool", ""), call=told, at=ended_at)


def _output(call: JsonObject) -> tuple[str, int | None]:
    """What a call gave back, and its exit code where it states one."""
    given = [
        object_or_empty(
            object_or_empty(object_or_empty(part).get("functionResponse")).get("response")
        )
        for part in list_or_empty(call.get("result"))
    ]
    output = "\n".join(text(one.get("output")) or text(one.get("error")) for one in given)
    output = _LAST_LINES.sub("", _FRAME.sub("", output))
    stated = _EXIT_LINE.search(output)
    return _EXIT_LINE.sub("", output), int(stated[1]) if stated else None


def _first(path: Path) -> JsonObject:
    if path.suffix == ".json":
        try:
            return _whole(path)
        except OSError:
            return {}
    return next(head(path), {})


def _session_of(path: Path, first: JsonObject) -> str:
    return stored_id(text(first.get("sessionId")) or path.stem)


def _folder(path: Path) -> str | None:
    try:
        told = (path.parent.parent / ".project_root").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return text(told) or None
