"""Codex: ``sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`` in its home.

What goes to the model and comes from it are ``response_item`` records. Beside them are events, of
which those of commands and of patches tell how a call ended.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ricordo.coding_agents.entry import Entry, Position, Role, ToolCall
from ricordo.coding_agents.transcripts.session_files import (
    Line,
    Session,
    call_of,
    given_arguments,
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
from ricordo.frozen import dataclass, replace
from ricordo.transfer.foreign_files import JsonObject, list_or_empty, moment, object_or_empty, text

NAME: Final = "codex"

_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_USERS_KIND: Final = "user."
_PROGRAMS_WORDS: Final = re.compile(
    r"\s*(?:# AGENTS\.md instructions for |"
    r"<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted|skill|"
    r"user_shell_command|subagent_notification|hook_prompt|permissions instructions)\b)"
)
_HEADER: Final = re.compile(r"\A(?:(?:[A-Z][\w ]{2,30}(?:: | with | ).{0,80}|)\n){1,8}?Output:\n")


@dataclass(frozen=True, slots=True)
class _Begun:
    """A call whose result was not read yet."""

    start: int
    id: str
    name: str
    arguments: Mapping[str, Any]
    output: str | None = None
    exit_code: int | None = None
    files: tuple[str, ...] = ()


class _Reading:
    """What one reading knows: whose session it is, and the calls without a result."""

    def __init__(self, path: Path) -> None:
        first = object_or_empty(next(head(path), {}).get("payload"))
        self.session_id = stored_id(text(first.get("id")) or path.stem)
        self.cwd = text(first.get("cwd")) or None
        self.begun: dict[str, _Begun] = {}


def place(environ: Mapping[str, str], home: Path) -> Path:
    """Where the program keeps its things."""
    given = environ.get("CODEX_HOME")
    return Path(given) if given else home / ".codex"


def sessions(at: Path) -> Iterator[Session]:
    """The sessions in that folder, or of one file; those of subagents left out."""
    kept = ("sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")
    for path in [at] if at.is_file() else chain.from_iterable(map(at.glob, kept)):
        found, first = updated(path), next(head(path), {})
        begun = object_or_empty(first.get("payload"))
        is_subagents = isinstance(begun.get("source"), dict)
        if found is None or first.get("type") != "session_meta" or is_subagents:
            continue
        yield Session(
            agent=NAME,
            session_id=stored_id(text(begun.get("id")) or path.stem),
            path=path,
            folder=text(begun.get("cwd")) or None,
            updated_at=found,
        )


def read(path: Path, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session; of a call, when its result is there. Raises OSError."""
    reading = _Reading(path)
    for line in lines(path, after.offset if after else 0):
        entry = _entry(line, reading)
        if entry is None:
            continue
        if entry.role == "user":
            reading.begun.clear()  # what was interrupted has no result
        waiting = min((one.start for one in reading.begun.values()), default=line.end)
        yield from placed([entry], line.start, min(line.end, waiting))


def _entry(line: Line, reading: _Reading) -> Entry | None:
    kind, payload = line.value.get("type"), object_or_empty(line.value.get("payload"))
    of_payload = payload.get("type")
    if kind == "turn_context":
        reading.cwd = text(payload.get("cwd")) or reading.cwd
    elif kind == "event_msg" and of_payload == "item_completed":
        _note_event(object_or_empty(payload.get("item")), reading)
    elif kind == "response_item":
        if of_payload == "message":
            return _message(line, payload, reading)
        if of_payload in _CALLS:
            _begin(line, payload, reading)
        elif of_payload in _RESULTS:
            return _result(line, payload, reading)
    return None


def _message(line: Line, payload: JsonObject, reading: _Reading) -> Entry | None:
    role: Role
    if payload.get("role") == "assistant":
        role, words = "assistant", said(texts(payload.get("content")))
    elif payload.get("role") == "user":
        role, words = "user", said(texts(_users_parts(payload)))
    else:
        return None
    if not words:
        return None
    given = text(payload.get("id"))
    entry_id = stored_id(given) if given else made_id(line.start, role, words)
    return _made(line, reading, entry_id, role, words)


def _users_parts(payload: JsonObject) -> list[Any]:
    """The parts of a message that the user wrote: newer files say so of each part."""
    parts = list_or_empty(payload.get("content"))
    passed = object_or_empty(payload.get("internal_chat_message_metadata_passthrough"))
    kinds = list_or_empty(passed.get("content_item_kinds"))
    if len(kinds) == len(parts):
        told = zip(parts, kinds, strict=True)
        parts = [part for part, kind in told if text(kind).startswith(_USERS_KIND)]
    return [part for part in parts if not _PROGRAMS_WORDS.match(texts([part]))]


def _begin(line: Line, payload: JsonObject, reading: _Reading) -> None:
    call_id = text(payload.get("call_id")) or text(payload.get("id"))
    arguments = given_arguments(payload.get("arguments", payload.get("input")))
    if payload.get("type") == "local_shell_call":
        arguments = object_or_empty(payload.get("action"))
    name = text(payload.get("name")) or "shell"
    own_id = text(payload.get("id")) or call_id
    own_id = stored_id(own_id) if own_id else made_id(line.start, name)
    reading.begun[call_id] = _Begun(line.start, own_id, name, arguments)


def _note_event(item: JsonObject, reading: _Reading) -> None:
    call_id = text(item.get("id"))
    begun = reading.begun.get(call_id)
    if begun is None:
        return
    code = item.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        output = text(item.get("aggregated_output"))
        reading.begun[call_id] = replace(begun, exit_code=code, output=output)
    elif item.get("type") == "FileChange":
        paths = tuple(map(text, object_or_empty(item.get("changes"))))
        reading.begun[call_id] = replace(begun, files=tuple(filter(None, paths)))


def _result(line: Line, payload: JsonObject, reading: _Reading) -> Entry | None:
    begun = reading.begun.pop(text(payload.get("call_id")), None)
    if begun is None:
        return None
    call = _ended(begun, payload.get("output"))
    return replace(_made(line, reading, begun.id, "tool", ""), call=call)


def _ended(begun: _Begun, given: Any) -> ToolCall:
    exit_code, failed = begun.exit_code, False
    if isinstance(given, str) and (whole := parsed(given)) and "output" in whole:
        given = whole  # as older versions wrote it
    if isinstance(given, dict):
        failed = given.get("success") is False
        stated = object_or_empty(given.get("metadata")).get("exit_code")
        if exit_code is None and isinstance(stated, int) and not isinstance(stated, bool):
            exit_code = stated
        given = given.get("output", given.get("content"))
    output = texts(given)
    call = call_of(begun.name, begun.arguments, output, failed=failed, exit_code=exit_code)
    shown = begun.output if begun.output is not None else _HEADER.sub("", call.output)
    told = call_of(begun.name, begun.arguments, shown, failed=failed, exit_code=call.exit_code)
    return replace(told, files=begun.files or told.files)


def _made(line: Line, reading: _Reading, entry_id: str, role: Role, content: str) -> Entry:
    return Entry(
        id=entry_id,
        role=role,
        content=content,
        at=moment(line.value.get("timestamp")),
        session_id=reading.session_id,
        cwd=reading.cwd,
    )
