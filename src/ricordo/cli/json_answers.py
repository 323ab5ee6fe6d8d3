"""JSON output of commands that is no record of the library.

Imports nothing heavy, because the commands themselves use these types.
"""

from typing import Any, TypedDict


class Purged(TypedDict):
    """How many memories were removed for good."""

    purged: int


class DeletedCheckpoint(TypedDict):
    """Whose state was removed, and whether there was one."""

    thread_id: str
    deleted: bool


class GrantedRole(TypedDict):
    """A role that can use the database, and whether it was made for that."""

    role: str
    created: bool


class ConvertedDatabase(TypedDict):
    """A file that was written anew, and whether it is encrypted now."""

    database: str
    encrypted: bool


class PrintedGrant(TypedDict):
    """The SQL that would let a role in."""

    role: str
    statements: list[str]


class JobsRun(TypedDict):
    """How many jobs were run."""

    ran: int


class JobRetried(TypedDict):
    """The number of a job that is queued again."""

    retried: int


class JobCancelled(TypedDict):
    """The number of a job that will not run."""

    cancelled: int


class Reindexed(TypedDict):
    """How many memories and turns got new terms."""

    reindexed: int


class Unlinked(TypedDict):
    """A memory, and who no longer sees it."""

    id: int
    unlinked: str


class Unblocked(TypedDict):
    """Who can offer memories again."""

    unblocked: str


class RemovedMember(TypedDict):
    """A group, and who is no longer in it."""

    group: str
    removed: str


class Exported(TypedDict):
    """Where an export was written, and how long it is."""

    path: str
    lines: int


class Versions(TypedDict):
    """What is in use, and where the database is."""

    version: str
    python: str
    sqlite: str
    database: str


Migrated = TypedDict("Migrated", {"from": str | None, "to": str, "up_to_date": bool})
Migrated.__doc__ = "The version of the schema before and after, and whether it is the latest."


class Serving(TypedDict):
    """Where the service listens. The first line, after the first key where that is made."""

    listening: str
    database: str


class KeyFile(TypedDict):
    """Where the first key was put, when what the service prints goes to no terminal."""

    key_id: str
    file: str


class ServingEnded(TypedDict):
    """The last line of a service that was told to stop."""

    stopped: bool


class Working(TypedDict):
    """What a worker works on. The first line."""

    working: str
    threads: int
    lane: str | None


class WorkEnded(TypedDict):
    """What a worker worked on. The last line."""

    stopped: str


class CompletionScript(TypedDict):
    """What makes a shell complete commands."""

    shell: str
    script: str


class CompletionInstalled(TypedDict):
    """The file that makes a shell complete commands from its next start on."""

    shell: str
    installed: str


class ShownTool(TypedDict):
    """A tool as a model is told of it; ``input_schema`` is JSON Schema."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ToolGuide(TypedDict):
    """How a model should use the tools."""

    guide: str


class ChatComplaint(TypedDict):
    """A line of a chat that was not understood, or could not be done."""

    error: str


class ChatHelp(TypedDict):
    """What a line of a chat can be."""

    help: list[str]


class ChangedSettings(TypedDict):
    """A settings file of a coding agent: whether it is created, changed, removed or left alone."""

    path: str
    change: str


class AgentInstallation(TypedDict):
    """What an installation for a coding agent, or its removal, changes.

    ``done`` is false where it was only shown. ``kept`` are entries of somebody else that stand
    where ours would. ``afterwards`` is what is left to do.
    """

    agent: str
    done: bool
    files: list[ChangedSettings]
    diff: str
    kept: list[str]
    afterwards: list[str]


class AgentFile(TypedDict):
    """A settings file that entries were put into, and whether they are still there."""

    path: str
    in_place: bool


class AgentState(TypedDict):
    """How a coding agent stands: where its program is, whether its hooks answer, what came last."""

    agent: str
    program: str | None
    files: list[AgentFile]
    hook_answers: bool | None
    last_event: str | None
    last_event_at: str | None


class AgentStates(TypedDict):
    """How all coding agents stand, the process behind their hooks, and this folder's project.

    ``waiting`` events are not stored yet; ``failed`` ones could not be read.
    """

    agents: list[AgentState]
    pid: int | None
    version: str | None
    waiting: int
    failed: int
    project: str
    on: bool


class ProjectTurned(TypedDict):
    """A project that coding agents capture, or do not, and whether that is new."""

    project: str
    on: bool
    changed: bool


class EventsStored(TypedDict):
    """How many events of coding agents are stored now, and how many still wait."""

    stored: int
    waiting: int
