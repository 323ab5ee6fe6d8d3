"""Put hooks into the settings of a coding agent, take them out, and look how they stand."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import ricordo_hook
from ricordo.coding_agents import resident
from ricordo.coding_agents.programs import PROGRAMS, Commands, Program, Where
from ricordo.coding_agents.rules import FOLDER
from ricordo.coding_agents.settings_files import (
    Change,
    Installed,
    by_place,
    installing,
    is_in_place,
    read_record,
    remove_empty_folders,
    removing,
    write,
    write_record,
)
from ricordo.frozen import dataclass

_PROBE_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an installation or its removal would change; nothing is written yet."""

    home: Path
    changes: tuple[Change, ...]
    records: tuple[Installed, ...]
    is_removal: bool = False

    @property
    def kept(self) -> tuple[str, ...]:
        """Entries of somebody else that stand where ours would."""
        return tuple(f"{name} in {one.path}" for one in self.changes for name in one.kept)

    @property
    def is_done(self) -> bool:
        return all(change.is_none for change in self.changes)

    def diff(self) -> str:
        return "".join(change.diff() for change in self.changes)

    def carry_out(self) -> None:
        """Change the files, one after the other; each is as it was or as it is to be.

        The record is there before the files change, and goes after they are restored.

        Raises:
            FilesUnavailable: a file cannot be written, or was changed meanwhile.
        """
        folder = self.home / FOLDER
        known = read_record(folder)
        of_plan = by_place(self.records)
        if not self.is_removal and {**known, **of_plan} != known:
            write_record(folder, {**known, **of_plan})
        for change in self.changes:
            if not change.is_none:
                write(change)
        if self.is_removal:
            for one in self.records:
                remove_empty_folders(one)
            write_record(
                folder, {place: one for place, one in known.items() if place not in of_plan}
            )


def plan_installation(home: Path, program: Program, where: Where, commands: Commands) -> Plan:
    """Raises InvalidInput for a file that cannot be read as it should be, FilesUnavailable."""
    known = read_record(home / FOLDER)
    root = "" if where.root is None else str(where.root)
    planned = [
        installing(file, known.get((root, str(file.path))), program.name, root)
        for file in program.files(where, commands)
    ]
    return Plan(
        home=home,
        changes=tuple(change for change, _ in planned),
        records=tuple(record for change, record in planned if record.settings or not change.kept),
    )


def plan_removal(home: Path, program: Program, root: Path | None) -> Plan:
    """What takes an installation back: everywhere or, with a ``root``, in that project alone.

    Raises:
        InvalidInput: a file cannot be read as what it should be.
        FilesUnavailable: a file, or the record, cannot be read.
    """
    known = [
        one
        for one in read_record(home / FOLDER).values()
        if one.agent == program.name and (root is None or one.root == str(root))
    ]
    changes = tuple(map(removing, known))
    return Plan(home=home, changes=changes, records=tuple(known), is_removal=True)


# -- how it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """How one agent stands. ``files`` says of each whether our entries are in it;
    ``hook_answers`` is None where none is installed."""

    agent: str
    found: str | None
    files: Mapping[str, bool]
    hook_answers: bool | None
    last_event: str | None
    last_event_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentStatus:
    """The process behind the hooks; ``pid`` is None where none runs. ``waiting`` events are not
    stored yet, ``failed`` ones could not be read."""

    pid: int | None
    version: str | None
    waiting: int
    failed: int


def statuses(home: Path) -> list[AgentStatus]:
    """Raises FilesUnavailable."""
    known = read_record(home / FOLDER)
    return [_status(home, program, known.values()) for program in PROGRAMS.values()]


def _status(home: Path, program: Program, known: Iterable[Installed]) -> AgentStatus:
    own = [one for one in known if one.agent == program.name]
    event, at = _last_event(home, program.name)
    return AgentStatus(
        agent=program.name,
        found=shutil.which(program.executable),
        files={one.path: is_in_place(one) for one in own},
        hook_answers=_answers(own) if own else None,
        last_event=event,
        last_event_at=at,
    )


def _last_event(home: Path, agent: str) -> tuple[str | None, datetime | None]:
    path = home / FOLDER / "seen" / agent
    try:
        event = path.read_text("utf-8")[:100]
        return event, datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None, None


def _answers(known: Sequence[Installed]) -> bool:
    """Whether the command that was put in still runs, asked by an event of our own."""
    for line in _command_lines(known):
        try:
            done = subprocess.run(  # noqa: S603 - as agents run it; we wrote it
                line if isinstance(line, str) else list(line),
                shell=isinstance(line, str),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
            if json.loads(done.stdout) != {"ricordo": ricordo_hook.VERSION}:
                return False
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return False
    return True


def _command_lines(known: Sequence[Installed]) -> set[str | tuple[str, ...]]:
    """Our commands, each once, with an event that only answers."""
    found: set[str | tuple[str, ...]] = set()
    for one in known:
        if one.form == "text":
            found.add((*one.command, one.agent, ricordo_hook.PROBE))
        for setting in one.settings:
            if setting.in_list:
                event = f" {setting.path[-1]}"
                for hook in setting.value.get("hooks", [setting.value]):
                    found.add(f"{hook['command'].removesuffix(event)} {ricordo_hook.PROBE}")
    return found


def resident_status(home: Path) -> ResidentStatus:
    folder = home / FOLDER
    found = resident.answers(folder) or {}
    spool = folder / "spool"
    return ResidentStatus(
        pid=found.get("pid"),
        version=found.get("version"),
        waiting=len(list(spool.glob("*.event"))),
        failed=len(list((spool / "failed").glob("*.event"))),
    )


def environment() -> Where:
    """Where the settings of this user are."""
    return Where(user_home=Path.home(), environment=dict(os.environ))
