"""Cursor: ``projects/<folder>/agent-transcripts/<session>/<session>.jsonl`` in its folder.

A record is a message with its calls; results are missing, and so are ids and times but for a tag in
what the user wrote. The command line leaves out the folder of the session. Not documented: read as
others have recorded it of Cursor 3.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Final

from ricordo.coding_agents.entry import Entry, Position, Role, ToolCall
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
from ricordo.transfer.foreign_files import list_or_empty, object_or_empty, text

NAME: Final = "cursor"

_FILES: Final = (
    "projects/*/agent-transcripts/*.jsonl",
    "projects/*/agent-transcripts/*/*.jsonl",
)
_TRANSCRIPTS: Final = "agent-transcripts"
_QUERY: Final = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_TIME: Final = re.compile(
    r"<timestamp>[^<,]{0,12},\s*(?P<month>[A-Z][a-z]{2})[a-z]*\s+(?P<day>\d{1,2}),\s*(?P<year>\d{4}),"
    r"\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[AP]M)"
    r"(?:\s*\(UTC(?P<sign>[+-])(?P<hours>\d{1,2})(?::(?P<minutes>\d{2}))?\))?"
)
_MONTHS: Final = re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec")
_INJECTED: Final = re.compile(
    r"<(?P<tag>timestamp|manually_attached_skills|attached_files|open_and_recently_viewed_files|"
    r"system_reminder|user_info|rules|git_status|additional_context)>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL,
)
_NO_LETTER: Final = re.compile(r"[^A-Za-z0-9]")
_MAX_FOLDERS: Final = 5_000


def place(environ: Mapping[str, str], home: Path) -> Path:  # noqa: ARG001 - as for the others
    """Where the program keeps its things."""
    return home / ".cursor"


def sessions(at: Path) -> Iterator[Session]:
    """The sessions in that folder, or of one file; those of subagents left out."""
    folders: dict[str, str | None] = {}
    for path in [at] if at.is_file() else chain.from_iterable(map(at.glob, _FILES)):
        found = updated(path)
        if found is None or not any("role" in one for one in head(path)):
            continue
        name = _project_name(path)
        if name not in folders:
            folders[name] = folder_of(name)
        yield Session(
            agent=NAME,
            session_id=stored_id(path.stem),
            path=path,
            folder=folders[name],
            updated_at=found,
        )


def transcript_of(session_id: str, environ: Mapping[str, str], home: Path) -> Path | None:
    """The file of a session, which the command line does not name."""
    found = place(environ, home).glob(f"projects/*/{_TRANSCRIPTS}/**/*.jsonl")
    return next((path for path in found if path.stem == session_id), None)


def read(path: Path, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session. Raises OSError."""
    session_id, folder = stored_id(path.stem), folder_of(_project_name(path))
    at: datetime | None = None
    for line in lines(path, after.offset if after else 0):
        at = _time_in(line) or at
        yield from placed(list(_entries(line, session_id, folder, at)), line.start, line.end)


def folder_of(name: str) -> str | None:
    """The folder that such a name stands for: with signs for which it has hyphens; None where no
    folder on this disk has that name."""
    looked_at = 0

    def inside(folder: Path, rest: str) -> Path | None:
        nonlocal looked_at
        if not rest:
            return folder
        try:
            children = [one for one in folder.iterdir() if one.is_dir()]
        except OSError:
            return None
        for child in children:
            looked_at += 1
            own = _NO_LETTER.sub("-", child.name).lstrip("-")
            if looked_at > _MAX_FOLDERS or not own:
                continue
            if rest == own or rest.startswith(f"{own}-"):
                left = rest[len(own) :].lstrip("-")
                if (found := inside(child, left)) is not None:
                    return found
        return None

    found = inside(Path("/"), name.strip("-")) if name.strip("-") else None
    return None if found is None else str(found)


def _project_name(path: Path) -> str:
    parts = path.parts
    return parts[parts.index(_TRANSCRIPTS) - 1] if _TRANSCRIPTS in parts[1:] else ""


def _entries(
    line: Line, session_id: str, folder: str | None, at: datetime | None
) -> Iterator[Entry]:
    role = line.value.get("role")
    content = object_or_empty(line.value.get("message")).get("content")

    def made(number: int, role: Role, words: str, call: ToolCall | None = None) -> Entry:
        return Entry(
            id=made_id(session_id, line.start, number),
            role=role,
            content=words,
            at=at,
            session_id=session_id,
            cwd=folder,
            call=call,
        )

    if role == "user":
        if words := _users_words(texts(content)):
            yield made(0, "user", words)
    elif role == "assistant":
        if words := said(texts(content)):
            yield made(0, "assistant", words)
        for number, part in enumerate(list_or_empty(content), start=1):
            if isinstance(part, dict) and part.get("type") == "tool_use":
                arguments = given_arguments(part.get("input"))
                call = call_of(text(part.get("name")), arguments, "")
                yield made(number, "tool", "", call)


def _users_words(given: str) -> str:
    asked = _QUERY.findall(given)
    return said(_INJECTED.sub("", "\n".join(asked) if asked else given))


def _time_in(line: Line) -> datetime | None:
    if line.value.get("role") != "user":
        return None
    content = object_or_empty(line.value.get("message")).get("content")
    told = _TIME.search(texts(content))
    if told is None or told["month"] not in _MONTHS:
        return None
    hour = int(told["hour"]) % 12 + (12 if told["half"] == "PM" else 0)
    away = timedelta(hours=int(told["hours"] or 0), minutes=int(told["minutes"] or 0))
    try:
        zone = timezone(-away if told["sign"] == "-" else away)
        month = _MONTHS.index(told["month"]) + 1
        moment = datetime(
            int(told["year"]), month, int(told["day"]), hour, int(told["minute"]), tzinfo=zone
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
