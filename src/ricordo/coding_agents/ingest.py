"""From the spool, where hooks put what happened, into the store; and what is shown of it again.

An event stays in the spool until what it tells of is committed. One that is worked off twice adds
nothing: entries have ids, which a conversation takes once.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ricordo_hook
from ricordo.coding_agents import capture, projects
from ricordo.coding_agents.entry import Entry, Position
from ricordo.coding_agents.projects import Project
from ricordo.coding_agents.rules import FOLDER, AgentSettings, Rules, read_settings
from ricordo.coding_agents.transcripts import cursor, opencode, readers
from ricordo.errors import FilesUnavailable, InvalidInput, OtherProject
from ricordo.files.disk import make_folder, remove_drafts, replace_file
from ricordo.frozen import dataclass, replace

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.user_memory import UserMemory

DEFAULT_USER: Final = "me"
_FAILED: Final = "failed"
_MAX_FAILED: Final = 50
_KEPT_SECONDS: Final = 30 * 24 * 3600.0
_MAX_EVENT_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a hook was told, and by whom."""

    agent: str
    event: str
    kind: str
    cwd: str
    environment: Mapping[str, str]
    payload: Mapping[str, Any]

    @property
    def session_id(self) -> str:
        return str(self.payload.get("conversation_id") or self.payload.get("session_id") or "")

    @property
    def folder(self) -> str:
        """Where the session is held."""
        return ricordo_hook.folder_in(self.payload) or self.cwd


def read_event(given: object) -> Event:
    """What a hook handed over. Raises InvalidInput."""
    if not isinstance(given, Mapping) or given.get("v") != ricordo_hook.VERSION:
        raise InvalidInput("it is not an event of this version")
    agent, event = given.get("agent"), given.get("event")
    kind = ricordo_hook.EVENTS.get(str(agent), {}).get(str(event))
    environment, text = given.get("env"), given.get("payload")
    if kind is None or not isinstance(environment, dict):
        raise InvalidInput("it is no event of an agent that is known")
    if not isinstance(text, str):
        raise InvalidInput("payload must be a text")
    payload: Any = {}
    with contextlib.suppress(ValueError, RecursionError):
        payload = json.loads(text)
    if not isinstance(payload, dict):
        raise InvalidInput("its payload is not an object")
    return Event(
        agent=str(agent),
        event=str(event),
        kind=kind,
        cwd=str(given.get("cwd") or ""),
        environment={str(name): str(value) for name, value in environment.items()},
        payload=payload,
    )


class Spool:
    """The folder that hooks put events into."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER / "spool"

    def waiting(self) -> list[Path]:
        """Events that are not worked off yet, the oldest first."""
        return sorted(self.folder.glob("*.event"))

    def read(self, path: Path) -> Event:
        """Raises InvalidInput for what is no event, OSError for what cannot be read."""
        with path.open("rb") as file:
            content = file.read(_MAX_EVENT_BYTES)
        try:
            return read_event(json.loads(content))
        except (ValueError, RecursionError):
            raise InvalidInput("it is not an event") from None

    def put_aside(self, path: Path) -> None:
        """Keep what cannot be worked off, so that it is in nobody's way."""
        aside = self.folder / _FAILED
        make_folder(aside)
        path.replace(aside / path.name)
        for old in sorted(aside.iterdir())[:-_MAX_FAILED]:
            old.unlink(missing_ok=True)

    def remove_left(self) -> None:
        """Remove drafts of hooks that were killed a while ago."""
        for path in self.folder.glob(".*.part"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 60:
                    path.unlink()


@dataclass(frozen=True, slots=True)
class Place:
    """Whose memory an event belongs to, and which project's."""

    user: str
    project: Project
    rules: Rules


class Ingest:
    """Stores what events tell of. For one thread at a time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.spool = Spool(home)
        self._sessions = home / FOLDER / "sessions"

    def settings(self) -> AgentSettings:
        """Raises InvalidInput, FilesUnavailable."""
        return read_settings(self.home)

    def place_of(self, event: Event, folder: str | None = None) -> Place:
        """Raises InvalidInput, FilesUnavailable."""
        settings = self.settings()
        project = projects.project_of(Path(folder or event.folder))
        named = event.environment.get("RICORDO_PROJECT")
        if named:
            project = replace(project, id=named)
        user = settings.user or event.environment.get("RICORDO_USER") or DEFAULT_USER
        return Place(user, project, Rules.of(self.home, settings, project))

    def store(self, memory: "Memory", event: Event) -> tuple[Place, capture.Captured]:
        """Store what came to a session's file since it was last read.

        Of a project that is off nothing is stored, now or when it is on again.

        Raises:
            RicordoError: something was not stored; the event is to be stored again.
            OSError: the session's file cannot be read.
        """
        known = self._known(event)
        place = self.place_of(event, known.get("folder"))
        if not event.session_id:
            return place, capture.Captured()
        after = known.get("after")
        last: list[Position] = []

        def read() -> Iterator[Entry]:
            entries = self._read(event, Position(after[0], after[1]) if after else None)
            return _noting(entries, last)

        try:
            done = capture.record(scope_of(memory, place), event.agent, read(), place.rules)
        except OtherProject:  # it has become another one since: the folder got a remote
            thread = capture.thread_of(event.agent, event.session_id)
            of_thread = memory.user(place.user).thread(thread).project_id
            scope = memory.user(place.user, project=of_thread)
            done = capture.record(scope, event.agent, read(), place.rules)
        kept = {"folder": known.get("folder") or event.folder, "after": after}
        if last:
            kept["after"] = [last[-1].offset, last[-1].last_id]
        self._keep(event, kept)
        return place, done

    def _read(self, event: Event, after: Position | None) -> Iterator[Entry]:
        given = event.payload.get("transcript_path")
        if event.agent == opencode.NAME:
            path = Path(given) if given else opencode.database_path(os.environ, Path.home())
        elif isinstance(given, str) and given:
            path = Path(given)
        else:
            found = None
            if event.agent == cursor.NAME:
                found = cursor.transcript_of(event.session_id, os.environ, Path.home())
            if found is None:
                return
            path = found
        try:
            yield from readers.read(event.agent, path, event.session_id, after)
        except FileNotFoundError:  # the agent keeps none, or has not begun it
            return

    # -- how far each session is stored

    def _file_of(self, event: Event) -> Path:
        name = f"{event.agent}:{event.session_id}".encode("utf-8", "replace")
        return self._sessions / f"{hashlib.sha256(name).hexdigest()[:32]}.json"

    def _known(self, event: Event) -> dict[str, Any]:
        """What is kept of a session; nothing where that is lost: then all of it is read again."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            found = json.loads(self._file_of(event).read_bytes())
            after = found["after"]
            if after is not None:
                Position(int(after[0]), after[1])
            return {"folder": str(found["folder"]), "after": after}
        return {}

    def _keep(self, event: Event, kept: Mapping[str, Any]) -> None:
        with contextlib.suppress(FilesUnavailable):  # it only spares reading
            make_folder(self._sessions)
            replace_file(self._file_of(event), json.dumps(kept).encode())

    def forget_old(self) -> None:
        """Forget how far sessions were read that nobody has gone on with for a month."""
        with contextlib.suppress(OSError, FilesUnavailable):
            for path in self._sessions.glob("*.json"):
                if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    path.unlink(missing_ok=True)
                    remove_drafts(path)
        self.spool.remove_left()

    # -- the brief that a hook can show by itself

    def note_brief(self, place: Place, environment: Mapping[str, str], text: str) -> None:
        """Keep what is to be shown at the next start, or nothing. Raises FilesUnavailable."""
        root = ricordo_hook.root_of(str(place.project.root))
        path = Path(ricordo_hook.brief_file(str(self.home / FOLDER), root))
        if not text:
            path.unlink(missing_ok=True)
            return
        title = ricordo_hook.brief_title(root, environment.get("RICORDO_USER", ""))
        make_folder(path.parent)
        replace_file(path, f"{title}\n{text}".encode())

    def forget_brief(self, root: Path) -> None:
        folder = str(self.home / FOLDER)
        Path(ricordo_hook.brief_file(folder, ricordo_hook.root_of(str(root)))).unlink(
            missing_ok=True
        )


def scope_of(memory: "Memory", place: Place) -> "UserMemory":
    return memory.user(place.user, project=place.project.id)


def _noting(entries: Iterator[Entry], last: list[Position]) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        if entry.after is not None:
            last[:] = [entry.after]
