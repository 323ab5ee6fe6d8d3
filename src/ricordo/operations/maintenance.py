"""Maintenance of one user: upkeep, activity, embeddings, the mirror, import and export."""

from collections.abc import Iterator
from typing import Annotated

from ricordo import limits
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.embedding import (
    EmbeddingBackfill,
    EmbeddingChange,
    EmbeddingState,
    EmbeddingStatus,
    EmbeddingTest,
)
from ricordo.model.fields import AsGiven, Flag, Integer, Reference, Text
from ricordo.model.record import Page
from ricordo.model.reports import (
    ConsolidationReport,
    ImportReport,
    MirrorReport,
    MirrorStatus,
    RoundReport,
)
from ricordo.model.scope import Grant
from ricordo.model.vocabulary import GroupRole
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import (
    Confirm,
    Consented,
    DailyDays,
    Days,
    DryRun,
    Ids,
    ImportFormat,
    OnlyCount,
    OptionalThread,
    PageCursor,
    PageLimit,
    PathOf,
    Progress,
)

overview = Catalogue("Overview and upkeep")
embeddings = Catalogue("Settings")
programs = Catalogue("Connected programs")
transfer = Catalogue("Export and import")

Provider = Text(
    limits.MAX_REFERENCE_CHARS,
    about="local, llamacpp, ollama, openai, mistral, gemini, custom_http, none or default.",
    example="local",
    metavar="NAME",
)
ModelName = Annotated[
    str | None, AsGiven(about="Default: the provider's usual one.", metavar="NAME")
]
BaseUrl = Annotated[str | None, AsGiven(about="Address, up to before /embeddings.", metavar="URL")]
ApiKeyText = Annotated[str | None, AsGiven(about="Stored encrypted, and never shown again.")]
Dimensions = Annotated[
    int | None, Integer(1, limits.MAX_VECTOR_WIDTH, about="How wide vectors are.")
]


@overview("POST /v1/upkeep upkeep", is_lengthy=True)
def upkeep() -> RoundReport:
    """Do this user's round of upkeep now: forget what is not used, trim, ask for vectors.

    What takes longer (consolidation, insights, relations) is queued for a job. The round that
    comes by itself every day does the same.
    """


@overview("POST /v1/consolidate consolidate", is_lengthy=True)
def consolidate(*, dry_run: DryRun = False) -> ConsolidationReport:
    """Merge duplicates, replace what is outdated, link what belongs together.

    Each pair of memories is looked at once in 14 days, and so many a day
    (``consolidation_daily_pairs``). ``dry_run`` says what would be done without a language
    model, and does nothing. Anything that was done can be undone (:meth:`undo`).

    Raises:
        InvalidValue: global memories are not consolidated.
        LanguageModelError: the model could not answer; what was decided without it is done.
    """


@overview("GET /v1/events list_events", in_group=GroupRole.READ)
def events(
    *,
    thread: OptionalThread = None,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[ActivityEvent]:
    """List the steps of background work for this user, or for one conversation, latest first.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """


@overview("GET /v1/counters read_counters", in_group=GroupRole.READ)
def counters(*, days: Days = None) -> Counters:
    """Count this user's memories and what happened to them.

    ``days`` counts only the last ones, today included.
    """


@overview("GET /v1/activity/daily read_daily", in_group=GroupRole.READ)
def daily(*, days: DailyDays = limits.DEFAULT_DAILY_DAYS) -> tuple[DayActivity, ...]:
    """Show what happened on each of the last days (UTC): every one of them, today last.

    It counts this user's own memories. Recalls are written with some delay: those of the last
    minute may still be missing.

    Raises:
        InvalidValue: so many days are not allowed.
    """


@embeddings("GET /v1/settings/embeddings read_embeddings")
def embedding_status() -> EmbeddingStatus:
    """Show where vectors are computed, who chose that, and the progress."""


@embeddings(
    "POST /v1/settings/embeddings/states read_embedding_states",
    within_categories=True,
    in_group=GroupRole.READ,
)
def embedding_states(ids: Ids) -> tuple[EmbeddingState, ...]:
    """How far the vector of each of these memories has come, in the order of the ids.

    What does not exist or is another user's is left out, and what has no vector where none are
    made. Of memories that others share, only
    the state is shown, not where their owner has vectors made.

    Raises:
        InvalidValue: something that is no id, or too many.
    """


@embeddings("POST /v1/settings/embeddings/test test_embeddings", is_lengthy=True)
def test_embeddings(
    provider: Annotated[str | None, Provider] = None,
    *,
    model: ModelName = None,
    base_url: BaseUrl = None,
    api_key: ApiKeyText = None,
    dimensions: Dimensions = None,
) -> EmbeddingTest:
    """Call the endpoint and say how wide and how fast it answers, or what is wrong.

    Without arguments the present provider is tried, otherwise the one that is named. Nothing
    is stored.

    Raises:
        InvalidValue: a value is not allowed; the message says what is.
    """


@embeddings("PUT /v1/settings/embeddings set_embeddings", is_lengthy=True)
def set_embeddings(
    provider: Annotated[str, Provider],
    *,
    model: ModelName = None,
    base_url: BaseUrl = None,
    api_key: ApiKeyText = None,
    dimensions: Dimensions = None,
    confirm: Confirm = False,
) -> EmbeddingChange:
    """Choose where this user's vectors are made, in place of the store's way.

    Without ``confirm`` nothing is changed, and the answer says how many vectors would have to
    be computed again and whether the endpoint answers. With it, the choice holds at once;
    vectors of another model are dropped, and a job computes them again. The key is stored
    encrypted and never shown again, so it has to be given with every change. ``default`` goes
    back to the store's way.

    Raises:
        InvalidValue: a value is not allowed; the message says what is.
        TargetRefused: the address is inside the operator's network.
        Conflict: the operator has chosen for everybody.
        EmbedderRefused: the key cannot be encrypted, because its secret key cannot be read.
    """


@embeddings("DELETE /v1/settings/embeddings reset_embeddings")
def reset_embeddings(*, confirm: Confirm = False) -> EmbeddingChange:
    """Go back to the store's way of making vectors; see :meth:`set_embeddings`.

    Raises:
        Conflict: the operator has chosen for everybody.
    """


@embeddings("POST /v1/settings/embeddings/rebuild rebuild_embeddings")
def rebuild_embeddings(*, confirm: Confirm = False) -> EmbeddingChange:
    """Compute all vectors again with the present model.

    Without ``confirm`` nothing is changed, and the answer says how many they are.

    Raises:
        Conflict: nothing makes vectors here.
        EmbeddingError, InvalidInput: the present settings cannot be used.
    """


@embeddings("POST /v1/settings/embeddings/backfill backfill_embeddings")
def backfill_embeddings() -> EmbeddingBackfill:
    """Ask again for vectors that were given up or are of another model; a job makes them.

    Raises:
        Conflict: nothing makes vectors here.
        EmbeddingError, InvalidInput: the present settings cannot be used.
    """


@embeddings("POST /v1/settings/embeddings/fill fill_embeddings", is_lengthy=True, answers="made")
def fill_embeddings(*, progress: Progress | None = None) -> int:
    """Make the vectors that wait now, in this thread; how many were made.

    ``progress`` is called with the number done and the total. It can be stopped anywhere
    and goes on with the next call, or with the job that does the same.

    Raises:
        EmbeddingError, InvalidInput: the embedder does not do it; what was made is kept.
    """


@overview()
def sync_mirror(
    *,
    allow_deletes: Annotated[
        bool, Flag(about="Also take over a file that has lost many of its lines, or its end.")
    ] = False,
) -> MirrorReport:
    """Apply the edits of MEMORY.md, then rewrite it and the daily logs.

    The first time switches the mirror on. ``allow_deletes`` also takes over a file that has
    lost many of its lines, or its end.

    Raises:
        FilesUnavailable: there is no folder for files, or one cannot be written.
        InvalidValue: global memories have no files.
    """


@overview()
def mirror_status() -> MirrorStatus:
    """Show whether there is a mirror, how current it is, and its latest problems."""


@transfer(in_group=GroupRole.MANAGE)
def export_lines() -> Iterator[str]:
    """Everything of this user's as JSON Lines, from one consistent state.

    Raises:
        UserNotFound: nothing is stored for this user.
    """


@transfer(in_group=GroupRole.MANAGE)
def export(path: PathOf) -> int:
    """Write everything of this user's to a JSON Lines file; the number of lines.

    The file appears whole or not at all.

    Raises:
        UserNotFound: nothing is stored for this user.
    """


@transfer(within_project=True)
def import_file(
    path: PathOf,
    *,
    format: ImportFormat = "auto",
    consented: Consented = False,
    source_user: Annotated[
        str | None,
        Reference(
            about="Whose memories to take, where a file of another system has several users'.",
            metavar="NAME",
        ),
    ] = None,
    dry_run: OnlyCount = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Bring in a ricordo export, what another system exported, or a folder of such files.

    Formats: ``auto ricordo mem0 chatgpt claude openwebui letta zep mcp-memory jsonl keyvalue
    markdown lines folder``. All of it is checked before anything is written. Bringing in the same
    file again changes nothing. Of what another system remembered, secrets are left out, and what
    is sensitive or a standing wish is proposed to the user, unless they ``consented``. Of a file
    with the memories of several users, ``source_user`` says whose to take. With ``dry_run`` all
    is read, checked and counted as it would be now, and nothing is written.

    Raises:
        ImportFailed: the file cannot be read as what it should be; the message says where.
    """


@programs("GET /v1/grants list_grants")
def grants() -> tuple[Grant, ...]:
    """The programs that this user let in by signing in with OAuth, the newest first, with what
    each may do."""


@programs("DELETE /v1/grants/{id} revoke_grant")
def revoke_grant(
    id: Annotated[str, AsGiven(about="What the program was allowed.", metavar="ID")],
) -> Grant:
    """Take back what a program was allowed, and show it: its tokens are refused from now on.

    Raises:
        GrantNotFound: this user gave none with this id.
        PermissionMissing: an agent asks.
    """
