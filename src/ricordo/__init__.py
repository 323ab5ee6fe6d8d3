"""ricordo: long-term memory for AI assistants and agents.

    import ricordo

    with ricordo.open() as memory:
        ana = memory.user("ana")
        ana.add("Prefers tea to coffee", theme="drinks")
        for hit in ana.search("What does she drink?"):
            print(hit.id, hit.content_snippet, hit.confidence)

Only what is listed in ``__all__`` is public. Importing the package does not load the database.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from ricordo.errors import (
    AccessDenied,
    AlreadyDecided,
    BadAnswer,
    BadEmbedding,
    BudgetExhausted,
    CategoryNotAllowed,
    Changed,
    CheckpointNotFound,
    Conflict,
    DatabaseKeyMismatch,
    DatabaseTooNew,
    DatabaseTooOld,
    EmbedderRefused,
    EmbedderUnavailable,
    EmbeddingError,
    FilesUnavailable,
    IllegalTransition,
    ImportFailed,
    InvalidBackup,
    InvalidCursor,
    InvalidInput,
    InvalidPolicy,
    InvalidValue,
    JobNotFound,
    KeyNotFound,
    LanguageModelError,
    MemoryNotFound,
    ModelRefused,
    ModelUnavailable,
    NotAuthenticated,
    NotFound,
    NothingToUndo,
    NotOwner,
    Occupied,
    OfferRefused,
    PermissionMissing,
    ProposalNotFound,
    RicordoError,
    RoleNotConfined,
    ScopeWidened,
    StorageBusy,
    StorageClosed,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    StoreNotEmpty,
    TargetRefused,
    ThemeNotFound,
    ThreadNotFound,
    UnknownField,
    UserNotFound,
)
from ricordo.model.draft import NewMemory
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Added, Item
from ricordo.model.job import Job
from ricordo.model.page import Page
from ricordo.model.scope import Scope
from ricordo.model.theme import Theme
from ricordo.model.thread import FormedTurn, NewTurn, Observed, Thread, Turn
from ricordo.model.vocabulary import (
    Action,
    ContextMode,
    ContextPolicy,
    Event,
    EventStatus,
    JobState,
    KeyKind,
    Lane,
    LinkState,
    MemoryType,
    Permission,
    ProposalKind,
    ProposalState,
    Source,
    Status,
    Undoable,
)
from ricordo.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.aio import AsyncMemory, AsyncUserMemory
    from ricordo.memory import Memory
    from ricordo.model.activity import ActivityEvent, Counters, DayActivity
    from ricordo.model.audit import AuditReport
    from ricordo.model.backup import BackupReport, RestoreReport
    from ricordo.model.checkpoint import Checkpoint, CheckpointInfo
    from ricordo.model.consolidation import ConsolidationReport, PairAction, PairDecision
    from ricordo.model.context import (
        Context,
        Feedback,
        RecalledMemory,
        RecalledTurn,
        TokenSplit,
    )
    from ricordo.model.conversation import CompactionReport, DayEntry, DayLog, Window
    from ricordo.model.embedding import EmbeddingChange, EmbeddingState, EmbeddingStatus
    from ricordo.model.formation import Decision, FormationReport
    from ricordo.model.graph import RelationEdge, RelationGraph
    from ricordo.model.history import Change, Changes
    from ricordo.model.job import JobStats
    from ricordo.model.key import ApiKey, CreatedKey
    from ricordo.model.lineage import Lineage
    from ricordo.model.mirror import MirrorEntry, MirrorReport, MirrorStatus
    from ricordo.model.profile import (
        FieldOutcome,
        FieldUpdate,
        Profile,
        ProfileField,
        ProfileUpdate,
    )
    from ricordo.model.proposal import Proposal
    from ricordo.model.query import Bullet, QueryAnswer, Returns
    from ricordo.model.receipt import ErasureReceipt, ImportReport
    from ricordo.model.search import MemoryHit, Related, SearchResults, Signals, TurnHit
    from ricordo.model.sharing import BlockedSender, Link
    from ricordo.model.summary import Summary
    from ricordo.model.upkeep import RoundReport
    from ricordo.settings import Settings
    from ricordo.tools import AsyncTools, ToolResult, Tools
    from ricordo.user_memory import UserMemory

__all__ = [
    "AccessDenied",
    "Action",
    "ActivityEvent",
    "Added",
    "AlreadyDecided",
    "ApiKey",
    "AsyncMemory",
    "AsyncTools",
    "AsyncUserMemory",
    "AuditReport",
    "BackupReport",
    "BadAnswer",
    "BadEmbedding",
    "BlockedSender",
    "BudgetExhausted",
    "Bullet",
    "CategoryNotAllowed",
    "Change",
    "Changed",
    "Changes",
    "Checkpoint",
    "CheckpointInfo",
    "CheckpointNotFound",
    "CompactionReport",
    "Conflict",
    "ConsolidationReport",
    "Context",
    "ContextMode",
    "ContextPolicy",
    "Counters",
    "CreatedKey",
    "DatabaseKeyMismatch",
    "DatabaseTooNew",
    "DatabaseTooOld",
    "DayActivity",
    "DayEntry",
    "DayLog",
    "Decision",
    "EmbedderRefused",
    "EmbedderUnavailable",
    "EmbeddingChange",
    "EmbeddingError",
    "EmbeddingState",
    "EmbeddingStatus",
    "ErasureReceipt",
    "Event",
    "EventStatus",
    "Feedback",
    "FieldOutcome",
    "FieldUpdate",
    "FilesUnavailable",
    "FormationReport",
    "FormedTurn",
    "IllegalTransition",
    "ImportFailed",
    "ImportReport",
    "InvalidBackup",
    "InvalidCursor",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidValue",
    "Item",
    "ItemFilter",
    "Job",
    "JobNotFound",
    "JobState",
    "JobStats",
    "KeyKind",
    "KeyNotFound",
    "Lane",
    "LanguageModelError",
    "Lineage",
    "Link",
    "LinkState",
    "Memory",
    "MemoryHit",
    "MemoryNotFound",
    "MemoryType",
    "MirrorEntry",
    "MirrorReport",
    "MirrorStatus",
    "ModelRefused",
    "ModelUnavailable",
    "NewMemory",
    "NewTurn",
    "NotAuthenticated",
    "NotFound",
    "NotOwner",
    "NothingToUndo",
    "Observed",
    "Occupied",
    "OfferRefused",
    "Page",
    "PairAction",
    "PairDecision",
    "Permission",
    "PermissionMissing",
    "Profile",
    "ProfileField",
    "ProfileUpdate",
    "Proposal",
    "ProposalKind",
    "ProposalNotFound",
    "ProposalState",
    "QueryAnswer",
    "RecalledMemory",
    "RecalledTurn",
    "Related",
    "RelationEdge",
    "RelationGraph",
    "RestoreReport",
    "Returns",
    "RicordoError",
    "RoleNotConfined",
    "RoundReport",
    "Scope",
    "ScopeWidened",
    "SearchResults",
    "Settings",
    "Signals",
    "Source",
    "Status",
    "StorageBusy",
    "StorageClosed",
    "StorageCorrupt",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StorageUnavailable",
    "StoreNotEmpty",
    "Summary",
    "TargetRefused",
    "Theme",
    "ThemeNotFound",
    "Thread",
    "ThreadNotFound",
    "TokenSplit",
    "ToolResult",
    "Tools",
    "Turn",
    "TurnHit",
    "Undoable",
    "UnknownField",
    "UserMemory",
    "UserNotFound",
    "Window",
    "__version__",
    "check_backup",
    "open",
    "open_async",
    "restore_backup",
]

_LAZY: Final = {
    "ActivityEvent": "ricordo.model.activity",
    "ApiKey": "ricordo.model.key",
    "AsyncMemory": "ricordo.aio",
    "AsyncTools": "ricordo.tools",
    "AsyncUserMemory": "ricordo.aio",
    "AuditReport": "ricordo.model.audit",
    "BackupReport": "ricordo.model.backup",
    "BlockedSender": "ricordo.model.sharing",
    "Bullet": "ricordo.model.query",
    "Change": "ricordo.model.history",
    "Changes": "ricordo.model.history",
    "Checkpoint": "ricordo.model.checkpoint",
    "CheckpointInfo": "ricordo.model.checkpoint",
    "CompactionReport": "ricordo.model.conversation",
    "ConsolidationReport": "ricordo.model.consolidation",
    "Context": "ricordo.model.context",
    "Counters": "ricordo.model.activity",
    "CreatedKey": "ricordo.model.key",
    "DayActivity": "ricordo.model.activity",
    "DayEntry": "ricordo.model.conversation",
    "DayLog": "ricordo.model.conversation",
    "Decision": "ricordo.model.formation",
    "EmbeddingChange": "ricordo.model.embedding",
    "EmbeddingState": "ricordo.model.embedding",
    "EmbeddingStatus": "ricordo.model.embedding",
    "ErasureReceipt": "ricordo.model.receipt",
    "Feedback": "ricordo.model.context",
    "FieldOutcome": "ricordo.model.profile",
    "FieldUpdate": "ricordo.model.profile",
    "FormationReport": "ricordo.model.formation",
    "ImportReport": "ricordo.model.receipt",
    "JobStats": "ricordo.model.job",
    "Lineage": "ricordo.model.lineage",
    "Link": "ricordo.model.sharing",
    "Memory": "ricordo.memory",
    "MemoryHit": "ricordo.model.search",
    "MirrorEntry": "ricordo.model.mirror",
    "MirrorReport": "ricordo.model.mirror",
    "MirrorStatus": "ricordo.model.mirror",
    "PairAction": "ricordo.model.consolidation",
    "PairDecision": "ricordo.model.consolidation",
    "Profile": "ricordo.model.profile",
    "ProfileField": "ricordo.model.profile",
    "ProfileUpdate": "ricordo.model.profile",
    "Proposal": "ricordo.model.proposal",
    "QueryAnswer": "ricordo.model.query",
    "RecalledMemory": "ricordo.model.context",
    "RecalledTurn": "ricordo.model.context",
    "Related": "ricordo.model.search",
    "RelationEdge": "ricordo.model.graph",
    "RelationGraph": "ricordo.model.graph",
    "RestoreReport": "ricordo.model.backup",
    "Returns": "ricordo.model.query",
    "RoundReport": "ricordo.model.upkeep",
    "SearchResults": "ricordo.model.search",
    "Settings": "ricordo.settings",
    "Signals": "ricordo.model.search",
    "Summary": "ricordo.model.summary",
    "TokenSplit": "ricordo.model.context",
    "ToolResult": "ricordo.tools",
    "Tools": "ricordo.tools",
    "TurnHit": "ricordo.model.search",
    "UserMemory": "ricordo.user_memory",
    "Window": "ricordo.model.conversation",
}
"""Names whose modules load the database or are seldom needed; they are loaded when first used."""


def open(url: "str | Path | None" = None, **settings: Any) -> "Memory":  # noqa: A001 - as in pathlib and zipfile, it reads as ricordo.open()
    """Open a store: a file, ``sqlite:///PATH``, ``postgresql://…``, or ``:memory:``.

    Without an address it is ``ricordo.db`` in ``~/.ricordo`` (or ``RICORDO_HOME``). It is made when
    it does not exist and upgraded when it is older. The settings are those of ``Settings``.

    Raises:
        UnknownField, InvalidValue: a setting does not exist or has a value that is not allowed.
        StorageError: the database cannot be opened, is damaged, or is newer than this ricordo.
    """
    from ricordo.wiring import open_memory

    return open_memory(url, **settings)


async def open_async(url: "str | Path | None" = None, **settings: Any) -> "AsyncMemory":
    """Open a store for an asynchronous program; see :func:`open`."""
    import asyncio

    from ricordo.aio import AsyncMemory

    return AsyncMemory(await asyncio.to_thread(open, url, **settings))


def restore_backup(
    path: "str | Path", url: "str | Path | None" = None, *, replace: bool = False, **settings: Any
) -> "RestoreReport":
    """Have a store hold what a backup of ``Memory.backup`` does, on whichever database it was made.

    ``url`` is as for :func:`open`. The store is a new or empty one or, with ``replace``, any: then
    all that it held is gone. No program may have it open. The backup is looked through first, and
    whatever goes wrong, the store is as it was.

    Raises:
        InvalidValue: there is no such file, or a setting has a value that is not allowed.
        InvalidBackup: it is no backup, or is damaged or was changed.
        StoreNotEmpty: the store holds something, and is not to be replaced.
        AccessDenied: on PostgreSQL, for a role that does not own the tables.
        StorageError: the store is in use, the backup is newer than this ricordo, …
    """
    from ricordo import wiring

    return wiring.restore_backup(path, url, replace=replace, **settings)


def check_backup(path: "str | Path", **settings: Any) -> "BackupReport":
    """What is in a backup, once all of it was read and found to be as it was made.

    Raises:
        InvalidValue: there is no such file, or a setting has a value that is not allowed.
        InvalidBackup: it is no backup, or is damaged or was changed.
        StorageError: it is encrypted with another key, or was made by a newer ricordo.
    """
    from ricordo import wiring

    return wiring.check_backup(path, **settings)


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'ricordo' has no attribute {name!r}")
    found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
