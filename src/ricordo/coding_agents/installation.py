"""The coding agents that are supported, and their hooks: put in, taken out, looked at."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import ricordo_hook
from ricordo.coding_agents import resident
from ricordo.coding_agents.rules import FOLDER
from ricordo.coding_agents.settings_files import (
    Change,
    Installed,
    Setting,
    SettingsFile,
    by_place,
    installing,
    is_in_place,
    read_record,
    remove_empty_folders,
    removing,
    write,
    write_record,
)
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, replace

# The coding agents that are supported: where their settings lie, and what is put into them.
#
# Their hooks were recorded and driven with Claude Code 2.1, Codex 0.169, Gemini CLI 0.61 and
# OpenCode 1.18. Cursor is served as its documentation says: it can be installed from no registry.

SERVER: Final = "ricordo"
_RUN: Final = "import sys;sys.path.append(sys.argv.pop(1));import ricordo_hook;ricordo_hook.main()"
_SECONDS: Final = 5
"""What an agent allows a hook, which takes a fraction of one."""
_LAST_SECONDS: Final = 2  # Codex gives the end of a session no more than three


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Whose settings: of the user or, with a ``root``, of one project alone."""

    user_home: Path
    environment: Mapping[str, str]
    root: Path | None = None

    def within(self, root: Path) -> "Where":
        return replace(self, root=root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What agents are to start: ``hook`` before the agent's and the event's name; ``server`` for
    MCP, None without it."""

    hook: tuple[str, ...]
    server: tuple[str, ...] | None

    def line(self, agent: str, event: str) -> str:
        """As a line for the shell."""
        return as_line([*self.hook, agent, event])


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One coding agent. ``afterwards`` is what its user has to do, or to know."""

    name: str
    title: str
    executable: str
    files: Callable[[Where, Commands], tuple[SettingsFile, ...]]
    afterwards: str


def commands(home: Path | None, *, with_server: bool) -> Commands:
    """How this installation of ricordo is started, by absolute paths, for a home folder; None for
    the one that is named by RICORDO_HOME when it is started, or else the usual one."""
    given = [] if home is None else ["--home", str(home)]
    packages = str(Path(ricordo_hook.__file__).absolute().parents[1])
    # Without what the environment or the folder of a project would put before it (-I), and without
    # the packages that are installed beside it (-S): it starts in a third of the time.
    hook = (sys.executable, "-I", "-S", "-c", _RUN, packages, *given)
    script = Path(sys.executable).with_name("ricordo.exe" if os.name == "nt" else "ricordo")
    own = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "ricordo"]
    return Commands(hook=hook, server=(*own, "agents", "mcp", *given) if with_server else None)


def as_line(command: list[str]) -> str:
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)


# -- each of them


def _hooks(agent: str, entry: Callable[[str], Mapping[str, Any]]) -> tuple[Setting, ...]:
    """One entry for each event, in the shape that three of the agents share."""
    return tuple(
        Setting(("hooks", event), {"hooks": [dict(entry(event))]}, in_list=True)
        for event in ricordo_hook.EVENTS[agent]
    )


def _server(path: tuple[str, ...], commands: Commands, **more: Any) -> tuple[Setting, ...]:
    if commands.server is None:
        return ()
    first, *rest = commands.server
    return (Setting((*path, SERVER), {**more, "command": first, "args": rest}),)


def _claude_code(where: Where, commands: Commands) -> tuple[SettingsFile, ...]:
    own = where.environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(own) if own else where.user_home / ".claude"
    state = (Path(own) if own else where.user_home) / ".claude.json"
    settings = folder / "settings.json"
    path: tuple[str, ...] = ("mcpServers",)
    if where.root is not None:  # neither is committed
        settings = where.root / ".claude" / "settings.local.json"
        path = ("projects", str(where.root), "mcpServers")
    hooks = _hooks("claude-code", lambda event: claude_code_hook(commands, event))
    server = _server(path, commands, type="stdio")
    files = (SettingsFile(settings, "json", hooks), SettingsFile(state, "json", server))
    return tuple(file for file in files if file.settings)


def claude_code_hook(commands: Commands, event: str) -> dict[str, Any]:
    line = commands.line("claude-code", event)
    return {"type": "command", "command": line, "timeout": _SECONDS}


def _codex(where: Where, commands: Commands) -> tuple[SettingsFile, ...]:
    own = where.environment.get("CODEX_HOME")
    folder = Path(own) if own else where.user_home / ".codex"
    if where.root is not None:
        folder = where.root / ".codex"

    def hook(event: str) -> dict[str, Any]:
        seconds = _LAST_SECONDS if event == "SessionEnd" else _SECONDS
        return {"type": "command", "command": commands.line("codex", event), "timeout": seconds}

    files = (
        SettingsFile(folder / "hooks.json", "json", _hooks("codex", hook)),
        SettingsFile(folder / "config.toml", "toml", _server(("mcp_servers",), commands)),
    )
    return tuple(file for file in files if file.settings)


def _gemini_cli(where: Where, commands: Commands) -> tuple[SettingsFile, ...]:
    top = where.root or Path(where.environment.get("GEMINI_CLI_HOME") or where.user_home)

    def hook(event: str) -> dict[str, Any]:
        line = commands.line("gemini-cli", event)
        return {"name": SERVER, "type": "command", "command": line, "timeout": _SECONDS * 1_000}

    settings = (*_hooks("gemini-cli", hook), *_server(("mcpServers",), commands))
    return (SettingsFile(top / ".gemini" / "settings.json", "json", settings),)


def _cursor(where: Where, commands: Commands) -> tuple[SettingsFile, ...]:
    folder = (where.root or where.user_home) / ".cursor"
    hooks = [
        Setting(
            ("hooks", event),
            {"command": commands.line("cursor", event), "timeout": _SECONDS},
            in_list=True,
        )
        for event in ricordo_hook.EVENTS["cursor"]
    ]
    settings = (Setting(("version",), 1), *hooks)
    files = (
        SettingsFile(folder / "hooks.json", "json", settings),
        SettingsFile(folder / "mcp.json", "json", _server(("mcpServers",), commands)),
    )
    return tuple(file for file in files if file.settings)


def _opencode(where: Where, commands: Commands) -> tuple[SettingsFile, ...]:
    own = where.environment.get("OPENCODE_CONFIG_DIR")
    base = where.environment.get("XDG_CONFIG_HOME") or where.user_home / ".config"
    folder = Path(own) if own else Path(base) / "opencode"
    plugins = folder / "plugin"
    if where.root is not None:
        folder, plugins = where.root, where.root / ".opencode" / "plugin"
    with_comments = folder / "opencode.jsonc"
    settings = with_comments if with_comments.exists() else folder / "opencode.json"
    plugin = SettingsFile(
        *(plugins / "ricordo.js", "text"),
        content=opencode_plugin(commands),
        command=commands.hook,
    )
    files = [plugin]
    if commands.server is not None:
        value = {"type": "local", "command": list(commands.server), "enabled": True}
        files.append(SettingsFile(settings, "json", (Setting(("mcp", SERVER), value),)))
    return tuple(files)


def opencode_plugin(commands: Commands) -> str:
    """A plugin for OpenCode, which has no hooks of its own; it only starts ours."""
    template = Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
    return template.replace('["ricordo-hook"]', json.dumps(list(commands.hook)))


PROGRAMS: Final[Mapping[str, Program]] = {
    one.name: one
    for one in (
        Program(
            name="claude-code",
            title="Claude Code",
            executable="claude",
            files=_claude_code,
            afterwards="The next session of Claude Code remembers; those that run go on as before.",
        ),
        Program(
            name="codex",
            title="Codex",
            executable="codex",
            files=_codex,
            afterwards="Codex runs no hook that you have not looked at: start it, and trust the new"
            " hooks when it asks, or by /hooks.",
        ),
        Program(
            name="gemini-cli",
            title="Gemini CLI",
            executable="gemini",
            files=_gemini_cli,
            afterwards="The next session of Gemini CLI remembers. Hooks of a project run only in a"
            " folder that it trusts.",
        ),
        Program(
            name="cursor",
            title="Cursor",
            executable="cursor",
            files=_cursor,
            afterwards="Cursor reads its hooks anew by itself. The first prompt of a session may"
            " come before the brief.",
        ),
        Program(
            name="opencode",
            title="OpenCode",
            executable="opencode",
            files=_opencode,
            afterwards="OpenCode loads the plugin when it is started again.",
        ),
    )
}


def program(name: str) -> Program:
    """Raises InvalidValue."""
    found = PROGRAMS.get(name)
    if found is None:
        raise InvalidValue("agent", f"{name!r} is not one of: {', '.join(PROGRAMS)}")
    return found


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

        The record is there before the files change, and goes after they are restored. Raises
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
    Raises InvalidInput: a file cannot be read as what it should be; FilesUnavailable: a file, or
    the record, cannot be read."""
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
