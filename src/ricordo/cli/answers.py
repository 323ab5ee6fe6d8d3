"""What every command answers with ``--json``: the one place that says so.

The reference and its JSON Schema are written from this, and tests hold real answers against it. It
imports every record, so that no command imports it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from ricordo.bench.figures import FigureReport
from ricordo.bench.ladder import Rung
from ricordo.bench.recall import RecallReport
from ricordo.cli import shapes
from ricordo.cli.finding import CheckFinding
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.context import Context, Feedback, RecalledMemory, TokenSplit
from ricordo.model.embedding import EmbeddingState, EmbeddingStatus
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Theme
from ricordo.model.job import Job, JobStats
from ricordo.model.profile import Profile, ProfileUpdate, Summary
from ricordo.model.proposal import BlockedSender, Link, Proposal
from ricordo.model.record import Page
from ricordo.model.reports import (
    AuditReport,
    BackupReport,
    ConsolidationReport,
    ErasureReceipt,
    FormationReport,
    HomeReport,
    ImportReport,
    MirrorReport,
    MirrorStatus,
    RestoreReport,
    RoundReport,
)
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.search import (
    MemoryHit,
    QueryAnswer,
    Related,
    RelationGraph,
    SearchResults,
    TurnHit,
)
from ricordo.model.thread import (
    Checkpoint,
    CheckpointInfo,
    CompactionReport,
    DayLog,
    FormedTurn,
    Observed,
    Thread,
    Turn,
    Window,
)
from ricordo.providers.chat import ModelReport
from ricordo.providers.embedding_choice import EmbeddingTest
from ricordo.workers.looking import BrokerStatus


class ObservedAndFormed(TypedDict):
    """What was recorded, and what was formed from it."""

    thread_id: str
    recorded: int
    known: int
    formed: FormationReport


class Exchange(TypedDict):
    """What became of one message of a chat: what was sent, and what came back."""

    thread: str
    message: str
    answer: str | None
    error: str | None
    stopped: bool
    messages: list[dict[str, str]]
    memories: list[RecalledMemory]
    tokens: TokenSplit | None


class VectorsMade(TypedDict):
    """A change of where vectors are made, and how far the new ones have come."""

    provider: str
    model: str | None
    to_rebuild: int
    applied: bool
    made: int
    ready: int
    pending: int
    error: int
    problem: str | None


class VectorsAsked(TypedDict):
    """How many vectors were asked for, and how far they have come."""

    provider: str
    model: str | None
    put_back: int
    made: int
    ready: int
    pending: int
    error: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command writes to standard output with ``--json``.

    ``types`` are the kinds of answers by when each is given; the usual one is under the empty
    text. ``on_lines`` says that any number of them come, each on a line of its own. Without types
    there is no JSON, and ``instead`` says what there is.
    """

    types: Mapping[str, Any]
    on_lines: bool = False
    instead: str | None = None


def _one(usual: Any, **others: Any) -> Answer:
    return Answer({"": usual, **{name.replace("_", " "): kind for name, kind in others.items()}})


def _lines(**types: Any) -> Answer:
    return Answer({name.replace("_", " "): kind for name, kind in types.items()}, on_lines=True)


_AN_ITEM: Final = _one(Item)

ANSWERS: Final[Mapping[str, Answer]] = {
    "add": Answer({"": Added, "with `--batch`": tuple[Added, ...]}),
    "search": _one(SearchResults[MemoryHit]),
    "related": _one(tuple[Related, ...]),
    "graph": _one(RelationGraph),
    "query": _one(QueryAnswer),
    "context": _one(Context),
    "feedback": _one(Feedback),
    "get": Answer({"": Item, "for several": tuple[Item, ...]}),
    "list": _one(Page[Item]),
    "themes": _one(tuple[Theme, ...]),
    "history": _one(tuple[Change, ...]),
    "lineage": _one(Lineage),
    "source": _one(Turn | None),
    "changes": _one(Changes),
    "archive": _AN_ITEM,
    "restore": _AN_ITEM,
    "forget": _one(tuple[Item, ...]),
    "pin": _AN_ITEM,
    "verify": _AN_ITEM,
    "merge": _one(Added),
    "undo": _AN_ITEM,
    "theme": _one(Theme),
    "purge": _one(shapes.Purged),
    "consolidate": _one(ConsolidationReport),
    "upkeep": _one(RoundReport),
    "link": _one(Link),
    "unlink": _one(shapes.Unlinked),
    "links": _one(tuple[Link, ...]),
    "senders blocked": _one(tuple[BlockedSender, ...]),
    "senders block": _one(BlockedSender),
    "senders unblock": _one(shapes.Unblocked),
    "observe": Answer({"": Observed, "with `--form`": ObservedAndFormed}),
    "search-turns": _one(SearchResults[TurnHit]),
    "threads": _one(Page[Thread]),
    "thread": _one(Thread),
    "turns": _one(Page[Turn]),
    "redact": _one(Turn),
    "formed": _one(Page[FormedTurn]),
    "chat": Answer(
        {
            "for a message": Exchange,
            "for `/memories`": tuple[RecalledMemory, ...],
            "for `/prompt`": Context,
            "for `/window`": Window,
            "for `/forget`": tuple[Item, ...],
            "for `/help`": shapes.ChatHelp,
            "for what went wrong": shapes.ChatComplaint,
        },
        on_lines=True,
    ),
    "window": _one(Window),
    "compact": _one(CompactionReport),
    "resume": _one(Window),
    "log": _one(DayLog),
    "form": _one(FormationReport),
    "summary": _one(Summary | None),
    "audit": _one(AuditReport),
    "proposals list": _one(Page[Proposal]),
    "proposals approve": _one(Added),
    "proposals reject": _one(Proposal),
    "profile show": _one(Profile),
    "profile set": _one(ProfileUpdate),
    "profile unset": _one(ProfileUpdate),
    "checkpoint list": _one(Page[CheckpointInfo]),
    "checkpoint save": _one(Checkpoint),
    "checkpoint load": _one(Checkpoint),
    "checkpoint delete": _one(shapes.DeletedCheckpoint),
    "tools list": Answer(
        {"": tuple[shapes.ShownTool, ...], "with `--form`": tuple[dict[str, Any], ...]}
    ),
    "tools call": _one(dict[str, Any]),
    "tools guide": _one(shapes.ToolGuide),
    "init": _one(HomeReport),
    "mirror status": _one(MirrorStatus),
    "mirror sync": _one(MirrorReport),
    "mirror watch": _lines(whenever_something_was_done=MirrorReport),
    "export": Answer(
        {"to a file": shapes.Exported},
        instead="To standard output it writes the export itself, which is JSON Lines with and"
        " without `--json`: [its format](../howto/import-export.md).",
    ),
    "import": _one(ImportReport),
    "serve": _lines(
        for_the_first_key_on_a_terminal=CreatedKey,
        for_the_first_key_elsewhere=shapes.KeyFile,
        when_it_listens=shapes.Serving,
        when_it_stopped=shapes.ServingEnded,
    ),
    "mcp": Answer({}, instead="It speaks the Model Context Protocol, which is JSON-RPC."),
    "users": _one(tuple[str, ...]),
    "erase": _one(ErasureReceipt),
    "jobs list": _one(tuple[Job, ...]),
    "jobs stats": _one(tuple[JobStats, ...]),
    "jobs run": _one(shapes.JobsRun),
    "jobs retry": _one(shapes.JobRetried),
    "jobs cancel": _one(shapes.JobCancelled),
    "keys list": _one(Page[ApiKey]),
    "keys show": _one(ApiKey),
    "keys create": _one(CreatedKey),
    "keys revoke": _one(ApiKey),
    "keys check": _one(ApiKey),
    "worker": _lines(when_it_begins=shapes.Working, when_it_stopped=shapes.WorkEnded),
    "celery worker": Answer({}, instead="It writes its log until stopped, and has no `--json`."),
    "celery beat": Answer({}, instead="It writes its log until stopped, and has no `--json`."),
    "celery status": _one(BrokerStatus),
    "embeddings status": _one(EmbeddingStatus),
    "embeddings states": _one(tuple[EmbeddingState, ...]),
    "embeddings test": _one(EmbeddingTest),
    "embeddings set": _one(VectorsMade),
    "embeddings rebuild": _one(VectorsMade),
    "embeddings backfill": _one(VectorsAsked),
    "events": _one(Page[ActivityEvent]),
    "counters": _one(Counters),
    "daily": _one(tuple[DayActivity, ...]),
    "model test": _one(ModelReport),
    "backup make": _one(BackupReport),
    "backup check": _one(BackupReport),
    "backup restore": _one(RestoreReport),
    "reindex": _one(shapes.Reindexed),
    "migrate": _one(shapes.Migrated),
    "database encrypt": _one(shapes.ConvertedDatabase),
    "database decrypt": _one(shapes.ConvertedDatabase),
    "database rekey": _one(shapes.ConvertedDatabase),
    "database grant": Answer({"": shapes.GrantedRole, "with `--print`": shapes.PrintedGrant}),
    "doctor": _one(tuple[CheckFinding, ...]),
    "bench recall": Answer({"": RecallReport, "with `--ladder`": tuple[Rung, ...]}),
    "bench speed": _one(FigureReport),
    "completion": Answer(
        {"": shapes.CompletionScript, "with `--install`": shapes.CompletionInstalled}
    ),
    "version": _one(shapes.Versions),
}
"""Every command, by its words."""
