"""``agents``: hooks of coding agents, and what they capture; ``tools``: what a model can call."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.cli.json_answers import (
    AgentFile,
    AgentInstallation,
    AgentState,
    AgentStates,
    ChangedSettings,
    EventsStored,
    ProjectTurned,
)
from ricordo.cli.render import TableListing, answer, confirm, say, working
from ricordo.cli.store import (
    STANDARD_STREAM,
    Acting,
    AsJson,
    Owner,
    Place,
    Store,
    UserOption,
    Yes,
    completing,
    open_user,
    words,
)
from ricordo.errors import RicordoError
from ricordo.frozen import dataclass
from ricordo.model.vocabulary import SchemaForm, ToolSet

if TYPE_CHECKING:
    from ricordo.coding_agents.installation import Plan
    from ricordo.tools import Tool

_NAMES: Final = ("claude-code", "codex", "gemini-cli", "cursor", "opencode")
_STORED_SECONDS: Final = 60.0


def _matching(incomplete: str) -> list[str]:
    return [name for name in _NAMES if name.startswith(incomplete)]


AgentName = Annotated[
    str,
    typer.Argument(metavar="AGENT", help=f"Which: {', '.join(_NAMES)}.", autocompletion=_matching),
]
ProjectOnly = Annotated[
    bool, typer.Option("--project-only", help="Only for the project of this folder.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Any folder of the project.", show_default=False)
]
Whose = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        help="Whose memory it is, written into agents.toml (default: RICORDO_USER, or me).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Home:
    """The home folder and the output format."""

    home: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Home folder (default: RICORDO_HOME, or ~/.ricordo)."),
    ] = None
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        return _folder(self.home)


def _folder(given: Path | None) -> Path:
    return (given or Path(os.environ.get("RICORDO_HOME") or "~/.ricordo")).expanduser().absolute()


def install(
    agent: AgentName,
    *,
    project_only: ProjectOnly = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    user: Whose = None,
    store: Store,
) -> None:
    """Put hooks, and the tools of memory, into the settings of a coding agent.

    It first shows what would change, and asks. All other entries stay as they are; uninstall takes
    exactly these back. What is captured says agents.toml in the home folder.

    Example: ricordo agents install claude-code --dry-run
    """
    from ricordo.coding_agents import installation, projects, rules

    chosen = installation.program(agent)
    home = _folder(store.home)
    rules.read_settings(home)
    named = home if store.home is not None or os.environ.get("RICORDO_HOME") else None
    has_server = find_spec("mcp") is not None
    where = installation.environment()
    if project_only:
        where = where.within(projects.project_of(Path.cwd()).root)
    commands = installation.commands(named, with_server=has_server)
    plan = installation.plan_installation(home, chosen, where, commands)
    afterwards = [chosen.afterwards]
    if not has_server:
        afterwards.append("For the tools of memory: pip install 'ricordo[mcp]', and install again.")
    given = {"user": user, "url": store.db}
    done = _carry_out(plan, dry_run, yes, store.as_json)
    if done:
        rules.name_settings(home, **{name: one for name, one in given.items() if one is not None})
    _tell(plan, agent, done, afterwards if done else [], store.as_json)
    _catch_up(home)


def uninstall(
    agent: AgentName,
    *,
    project_only: ProjectOnly = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    place: Home,
) -> None:
    """Take out of the settings of a coding agent what install put in.

    A file that nobody changed since is as it was before, to the byte. What was remembered stays.
    """
    from ricordo.coding_agents import installation, projects

    chosen = installation.program(agent)
    root = projects.project_of(Path.cwd()).root if project_only else None
    plan = installation.plan_removal(place.folder, chosen, root)
    done = _carry_out(plan, dry_run, yes, place.as_json)
    _tell(plan, agent, done, [], place.as_json)
    _catch_up(place.folder)


def _carry_out(plan: "Plan", dry_run: bool, yes: bool, as_json: bool) -> bool:
    if dry_run:
        return False
    if not plan.is_done and not yes:
        if not as_json:
            say(plan.diff())
        confirm("changes these files", "yes")
    plan.carry_out()
    return True


def _tell(plan: "Plan", agent: str, done: bool, afterwards: list[str], as_json: bool) -> None:
    files = [ChangedSettings(path=str(one.path), change=one.kind) for one in plan.changes]
    report = AgentInstallation(
        agent=agent,
        done=done,
        files=files,
        diff=plan.diff(),
        kept=list(plan.kept),
        afterwards=afterwards,
    )
    answer(as_json, report, _installation_text)


def _installation_text(report: AgentInstallation) -> str:
    if not report["files"]:
        return f"Nothing is installed for {report['agent']}."
    if not report["diff"]:
        lines = ["Nothing to change."]
    elif report["done"]:
        lines = [f"{one['change'].capitalize()}: {one['path']}" for one in report["files"]]
    else:
        lines = [report["diff"].rstrip("\n")]
    lines += [f"Left alone, because it is somebody else's: {name}" for name in report["kept"]]
    return "\n".join([*lines, *report["afterwards"]])


def status(place: Home) -> None:
    """Show which coding agents remember, whether their hooks answer, and what came last."""
    from ricordo.coding_agents import installation, projects, rules

    home = place.folder
    _catch_up(home)
    project = projects.project_of(Path.cwd())
    behind = installation.resident_status(home)
    with working("Asking the hooks", wanted=not place.as_json):
        found = installation.statuses(home)
    states = [
        AgentState(
            agent=one.agent,
            program=one.found,
            files=[AgentFile(path=path, in_place=there) for path, there in one.files.items()],
            hook_answers=one.hook_answers,
            last_event=one.last_event,
            last_event_at=None if one.last_event_at is None else one.last_event_at.isoformat(),
        )
        for one in found
    ]
    is_on = not rules.Rules.of(home, rules.read_settings(home), project).is_off
    report = AgentStates(
        agents=states,
        pid=behind.pid,
        version=behind.version,
        waiting=behind.waiting,
        failed=behind.failed,
        project=project.id,
        on=is_on,
    )
    answer(place.as_json, report, _status_text)


def _status_text(report: AgentStates) -> str:
    lines: list[str] = []
    for one in report["agents"]:
        lines += _agent_lines(one)
    running = "not running (the next hook starts it)"
    if report["pid"] is not None:
        running = f"running, process {report['pid']}, ricordo {report['version']}"
    lines.append(f"Process behind the hooks: {running}")
    lines.append(f"Waiting to be stored: {report['waiting']}")
    if report["failed"]:
        lines.append(f"Could not be read: {report['failed']} (in agents/spool/failed)")
    lines.append(f"This project: {report['project']}, {'on' if report['on'] else 'off'}")
    return "\n".join(lines)


def _agent_lines(one: AgentState) -> list[str]:
    if not one["files"]:
        where = f"not installed; its program is {one['program'] or 'not found'}"
        return [f"{one['agent']}: {where}"]
    broken = [file["path"] for file in one["files"] if not file["in_place"]]
    state = "installed" if not broken else "installed in part"
    lines = [f"{one['agent']}: {state}, hooks {'answer' if one['hook_answers'] else 'fail'}"]
    lines += [f"  {file['path']}" for file in one["files"] if file["in_place"]]
    lines += [f"  {path}: our entries are gone" for path in broken]
    if broken or not one["hook_answers"]:
        lines.append(f"  Put it right: ricordo agents install {one['agent']}")
    if one["last_event"] is not None:
        lines.append(f"  last event: {one['last_event']} at {one['last_event_at']}")
    return lines


def off(folder: Folder = Path(), *, place: Home) -> None:
    """Capture nothing of a project, and show nothing of it. What was remembered stays."""
    _turn(folder, place, off=True)


def on(folder: Folder = Path(), *, place: Home) -> None:
    """Capture a project again that was turned off."""
    _turn(folder, place, off=False)


def _turn(folder: Path, place: Home, *, off: bool) -> None:
    from ricordo.coding_agents import projects, rules
    from ricordo.coding_agents.ingest import Ingest

    project = projects.project_of(folder)
    changed = rules.turn(place.folder, project.id, off=off)
    if off:
        Ingest(place.folder).forget_brief(project.root)
    report = ProjectTurned(project=project.id, on=not off, changed=changed)
    answer(place.as_json, report, _turned_text)
    _catch_up(place.folder)


def _turned_text(report: ProjectTurned) -> str:
    state = "on" if report["on"] else "off"
    return f"{report['project']} is {state}{'' if report['changed'] else ' already'}."


def drain(place: Home) -> None:
    """Store now what hooks have noted. Otherwise the process behind them does it."""
    with working("Storing", wanted=not place.as_json):
        report = _drained(place.folder)
    answer(
        place.as_json,
        report,
        lambda found: f"Stored {found['stored']} events; {found['waiting']} wait.",
    )


def _drained(home: Path) -> EventsStored:
    from ricordo.coding_agents.ingest import Spool
    from ricordo.coding_agents.resident import drain_here

    before = len(Spool(home).waiting())
    waiting = drain_here(home, _STORED_SECONDS) if before else 0
    return EventsStored(stored=max(before - waiting, 0), waiting=waiting)


def _catch_up(home: Path) -> None:
    """Store what still waits; a command that was about something else does not fail over it."""
    try:
        _drained(home)
    except RicordoError as problem:
        say(f"What hooks have noted is not stored yet: {problem}")


def mcp(place: Place) -> None:
    """Serve memory over MCP to a coding agent: of the project of the folder it is started in.

    Coding agents start this themselves. User and store are those of agents.toml.
    """
    from ricordo.cli import serve
    from ricordo.coding_agents import projects, rules

    home = _folder(place.home)
    settings = rules.read_settings(home)
    project = os.environ.get("RICORDO_PROJECT") or projects.project_of(Path.cwd()).id
    user = settings.user or os.environ.get("RICORDO_USER")
    whose: dict[str, Any] = {"project": project, **({"user": user} if user else {})}
    serve.mcp(place=Place(db=place.db or settings.url, home=home), whose=UserOption(**whose))


Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME",
        autocompletion=completing(ToolSet),
        help=f"Set of tools, may be given again: {words(ToolSet)}.",
    ),
]
WantedForm = Annotated[
    SchemaForm | None,
    typer.Option(
        "--form",
        metavar="NAME",
        autocompletion=completing(SchemaForm),
        help=f"Print JSON schemas for this interface: {words(SchemaForm)}.",
    ),
]
ToolName = Annotated[str, typer.Argument(metavar="NAME", help="The tool, such as memory_search.")]
CallArguments = Annotated[
    str, typer.Argument(metavar="JSON", help="Its arguments as a JSON object; - is standard input.")
]


def list_tools(*, sets: Sets = None, form: WantedForm = None, as_json: AsJson = False) -> None:
    """List the tools that a model can be given, or print their JSON schemas.

    Example: ricordo tools list --set profile --form anthropic
    """
    from ricordo.tools import chosen, tool

    tools = chosen(*(sets or ToolSet))
    if form is not None:
        answer(True, tuple(tool.FORMS[form](tools)), str)
        return
    answer(as_json, tuple(tool.anthropic(tools)), lambda _: _table(tools))


def call(
    *,
    name: ToolName,
    arguments: CallArguments = "{}",
    sets: Sets = None,
    owner: Owner,
    acting: Acting,
) -> None:
    """Call a tool as a model would, and show what the model would be told.

    Example: ricordo tools call memory_search '{"query": "tea"}'
    """
    from ricordo.tools import Tools

    given = sys.stdin.read() if arguments == STANDARD_STREAM else arguments
    with open_user(owner, acting) as memory:
        result = Tools(memory, *(sets or ToolSet)).run(name, given)
    if result.error is not None:
        raise result.error
    answer(owner.as_json, result.value, _indented)


def guide(*, sets: Sets = None, owner: Owner) -> None:
    """Print how a model should use the tools, for a system prompt."""
    from ricordo.tools import Tools

    with open_user(owner) as memory:
        text = Tools(memory, *(sets or ())).guide()
    answer(owner.as_json, {"guide": text}, lambda _: text)


def _table(tools: "tuple[Tool, ...]") -> TableListing:
    rows = [
        (tool.name, ", ".join(one.name for one in tool.parameters), tool.description)
        for tool in tools
    ]
    return TableListing(("tool", "arguments", "what it is for"), rows)


def _indented(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
