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
    GrantNotFound,
    GroupNotFound,
    IllegalTransition,
    ImportFailed,
    InvalidBackup,
    InvalidCursor,
    InvalidInput,
    InvalidPolicy,
    InvalidSignature,
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
    OtherProject,
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
    WebhookNotFound,
)
from ricordo.model.activity import Job
from ricordo.model.draft import NewMemory
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Added, Item, Theme
from ricordo.model.record import Page
from ricordo.model.scope import Scope
from ricordo.model.thread import FormedTurn, NewTurn, Observed, Thread, Turn
from ricordo.model.vocabulary import (
    Action,
    ContextMode,
    ContextPolicy,
    Event,
    EventStatus,
    GroupRole,
    JobState,
    KeyKind,
    Lane,
    LinkState,
    MemoryType,
    Ownership,
    Permission,
    ProposalKind,
    ProposalState,
    Source,
    Status,
    Undoable,
    Verdict,
    WebhookState,
)
from ricordo.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.access.webhook_signatures import verify_webhook
    from ricordo.aio import AsyncMemory, AsyncUserMemory
    from ricordo.memory import Memory
    from ricordo.model.activity import ActivityEvent, Counters, DayActivity, JobStats
    from ricordo.model.context import (
        Context,
        Feedback,
        RecalledMemory,
        RecalledTurn,
        TokenSplit,
    )
    from ricordo.model.embedding import EmbeddingChange, EmbeddingState, EmbeddingStatus
    from ricordo.model.group import Group, GroupMember, Membership
    from ricordo.model.item import Change, Changes, Lineage, Project, Rating
    from ricordo.model.profile import (
        FieldOutcome,
        FieldUpdate,
        Profile,
        ProfileField,
        ProfileUpdate,
        Summary,
    )
    from ricordo.model.proposal import BlockedSender, Link, Proposal, Proposed
    from ricordo.model.reports import (
        AuditReport,
        BackupReport,
        ConsolidationReport,
        Decision,
        ErasureReceipt,
        FormationReport,
        ImportReport,
        MirrorEntry,
        MirrorReport,
        MirrorStatus,
        PairAction,
        PairDecision,
        RestoreReport,
        RoundReport,
    )
    from ricordo.model.scope import ApiKey, CreatedKey, Grant
    from ricordo.model.search import (
        Bullet,
        MemoryHit,
        NamedEntity,
        QueryAnswer,
        Related,
        RelationEdge,
        RelationGraph,
        Returns,
        SearchResults,
        Signals,
        SupersededStatement,
        TurnHit,
        TurnPart,
    )
    from ricordo.model.thread import (
        Checkpoint,
        CheckpointInfo,
        CompactionReport,
        DayEntry,
        DayLog,
        Window,
    )
    from ricordo.model.webhook import Webhook, WebhookDelivery, WebhookSecret
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
    "Grant",
    "GrantNotFound",
    "Group",
    "GroupMember",
    "GroupNotFound",
    "GroupRole",
    "IllegalTransition",
    "ImportFailed",
    "ImportReport",
    "InvalidBackup",
    "InvalidCursor",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidSignature",
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
    "Membership",
    "Memory",
    "MemoryHit",
    "MemoryNotFound",
    "MemoryType",
    "MirrorEntry",
    "MirrorReport",
    "MirrorStatus",
    "ModelRefused",
    "ModelUnavailable",
    "NamedEntity",
    "NewMemory",
    "NewTurn",
    "NotAuthenticated",
    "NotFound",
    "NotOwner",
    "NothingToUndo",
    "Observed",
    "Occupied",
    "OfferRefused",
    "OtherProject",
    "Ownership",
    "Page",
    "PairAction",
    "PairDecision",
    "Permission",
    "PermissionMissing",
    "Profile",
    "ProfileField",
    "ProfileUpdate",
    "Project",
    "Proposal",
    "ProposalKind",
    "ProposalNotFound",
    "ProposalState",
    "Proposed",
    "QueryAnswer",
    "Rating",
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
    "SupersededStatement",
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
    "TurnPart",
    "Undoable",
    "UnknownField",
    "UserMemory",
    "UserNotFound",
    "Verdict",
    "Webhook",
    "WebhookDelivery",
    "WebhookNotFound",
    "WebhookSecret",
    "WebhookState",
    "Window",
    "__version__",
    "check_backup",
    "open",
    "open_async",
    "restore_backup",
    "verify_webhook",
]

_LAZY: Final = {
    name: f"ricordo.{module}"
    for module, names in {
        "access.webhook_signatures": "verify_webhook",
        "aio": "AsyncMemory AsyncUserMemory",
        "memory": "Memory",
        "model.activity": "ActivityEvent Counters DayActivity JobStats",
        "model.context": "Context Feedback RecalledMemory RecalledTurn TokenSplit",
        "model.embedding": "EmbeddingChange EmbeddingState EmbeddingStatus",
        "model.group": "Group GroupMember Membership",
        "model.item": "Change Changes Lineage Project Rating",
        "model.profile": "FieldOutcome FieldUpdate Profile ProfileField ProfileUpdate Summary",
        "model.proposal": "BlockedSender Link Proposal Proposed",
        "model.reports": (
            "AuditReport BackupReport ConsolidationReport Decision ErasureReceipt FormationReport "
            "ImportReport MirrorEntry MirrorReport MirrorStatus PairAction PairDecision "
            "RestoreReport RoundReport"
        ),
        "model.scope": "ApiKey CreatedKey Grant",
        "model.search": (
            "Bullet MemoryHit NamedEntity QueryAnswer Related RelationEdge RelationGraph Returns "
            "SearchResults Signals SupersededStatement TurnHit TurnPart"
        ),
        "model.thread": "Checkpoint CheckpointInfo CompactionReport DayEntry DayLog Window",
        "model.webhook": "Webhook WebhookDelivery WebhookSecret",
        "settings": "Settings",
        "tools": "AsyncTools ToolResult Tools",
        "user_memory": "UserMemory",
    }.items()
    for name in names.split()
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
