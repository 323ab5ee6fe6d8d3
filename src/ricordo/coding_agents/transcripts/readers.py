"""Every agent whose session files can be read, by its name."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ricordo.coding_agents.entry import Entry, Position
from ricordo.coding_agents.transcripts import claude_code, codex, cursor, gemini_cli, opencode
from ricordo.coding_agents.transcripts.session_files import Session
from ricordo.errors import InvalidValue

_PLACES: Final[Mapping[str, Callable[[Mapping[str, str], Path], Path]]] = {
    claude_code.NAME: claude_code.place,
    codex.NAME: codex.place,
    cursor.NAME: cursor.place,
    gemini_cli.NAME: gemini_cli.place,
    opencode.NAME: opencode.database_path,
}
_LISTINGS: Final[Mapping[str, Callable[[Path], Iterator[Session]]]] = {
    claude_code.NAME: claude_code.sessions,
    codex.NAME: codex.sessions,
    cursor.NAME: cursor.sessions,
    gemini_cli.NAME: gemini_cli.sessions,
    opencode.NAME: opencode.sessions,
}
_OF_FILES: Final[Mapping[str, Callable[[Path, Position | None], Iterator[Entry]]]] = {
    claude_code.NAME: claude_code.read,
    codex.NAME: codex.read,
    cursor.NAME: cursor.read,
    gemini_cli.NAME: gemini_cli.read,
}
READABLE: Final = tuple(_LISTINGS)
"""The agents that have session files."""


def sessions(agent: str, environ: Mapping[str, str], home: Path) -> list[Session]:
    """All sessions of an agent on this disk, the newest first. Raises InvalidValue."""
    return sessions_at(agent, place_of(agent, environ, home))


def place_of(agent: str, environ: Mapping[str, str], home: Path) -> Path:
    """The folder or file that an agent keeps its sessions in. Raises InvalidValue."""
    found = _PLACES.get(agent)
    if found is None:
        raise _unknown(agent)
    return found(environ, home)


def sessions_at(agent: str, path: Path) -> list[Session]:
    """Those in a folder like the agent's own, or in one file, the newest first. Raises
    InvalidValue."""
    listing = _LISTINGS.get(agent)
    if listing is None:
        raise _unknown(agent)
    return sorted(listing(path), key=lambda one: one.updated_at, reverse=True)


def read(agent: str, path: Path, session_id: str, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session's file that come after a position, the oldest first.

    Some that were read already may come again, with the same ids. Raises OSError: it cannot be
    read; InvalidValue: the agent has no session files.
    """
    if agent == opencode.NAME:
        return opencode.read(path, session_id, after)
    reader = _OF_FILES.get(agent)
    if reader is None:
        raise _unknown(agent)
    return reader(path, after)


def _unknown(agent: str) -> InvalidValue:
    return InvalidValue("agent", f"{agent!r} is not one of: {', '.join(READABLE)}")
