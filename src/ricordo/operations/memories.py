"""Memories: adding, reading and changing them; themes and the change feed."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Unpack

from ricordo import limits
from ricordo.model.draft import Content, DraftFields, NewMemory, draft_schema
from ricordo.model.fields import (
    Choice,
    Flag,
    Integer,
    Listed,
    Parsed,
    Reference,
    Several,
    Text,
    Theme,
)
from ricordo.model.filters import Filters, Order, SortColumn
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Project
from ricordo.model.item import Theme as ThemeRecord
from ricordo.model.proposal import Proposed
from ricordo.model.record import Page
from ricordo.model.vocabulary import ContextPolicy, Event, GroupRole, Verdict
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import (
    BeforeTime,
    ChangeLimit,
    Expected,
    Ids,
    IncludeDeleted,
    InOrder,
    MemoryId,
    PageCursor,
    PageLimit,
    Reason,
    SortBy,
)

memory = Catalogue("Memories")
change = Catalogue("Changes of memories")
feed = Catalogue("Themes and changes")

_DRAFT = Parsed(NewMemory.parse, draft_schema)
_MERGED = Parsed(NewMemory.parse, Text(limits.MAX_CONTENT_CHARS).schema)


@memory(
    "POST /v1/memories add_memory", within_categories=True, creates=True, in_group=GroupRole.WRITE
)
def add(
    content: Content,
    *,
    supersedes: Annotated[
        int | None,
        Integer(1, limits.MAX_ID, about="The memory whose place it takes.", metavar="ID"),
    ] = None,
    reason: Reason = None,
    **draft: Unpack[DraftFields],
) -> Added | Proposed:
    """Remember something.

    The same text in the same theme is not written twice; the memory that is there counts as
    recalled. With a ``key``, what had that key is updated. With ``supersedes``, the memory of
    that id is closed and kept as history, and what is not given (theme, type, key, tags,
    importance, pin) is taken from it.

    What an agent says, or comes with the source ``conversation``, ``tool_call`` or
    ``auto_discovery``, is not what the user asked for: there, secrets are refused, and what is
    sensitive or a standing wish is not stored but proposed to the user; with ``supersedes``
    it is refused.

    Raises:
        InvalidValue: a value is not allowed; the message says what is.
        MemoryNotFound, NotOwner, IllegalTransition: about the memory to supersede.
        CategoryNotAllowed: its theme is out of this scope's reach.
        ScopeWidened: it names another agent, thread, run, actor or role than the scope.
    """


@memory("POST /v1/memories/batch add_memories", within_categories=True, in_group=GroupRole.WRITE)
def add_many(
    memories: Annotated[
        Iterable[NewMemory | Mapping[str, Any] | str],
        Listed(_DRAFT, limits.MAX_BULK_ITEMS, about="What to keep, in order."),
    ],
    *,
    reason: Reason = None,
) -> tuple[Added, ...]:
    """Add many memories, one transaction per batch; the result of each, in order.

    Every value is checked before anything is written. What can only be checked against what is
    stored (a keyed statement that begins before the one it updates) stops its own batch. What
    is there already counts as recalled.

    Raises:
        InvalidValue, UnknownField: one of them is not allowed; nothing of its batch is stored.
        CategoryNotAllowed: the theme of one is out of this scope's reach; nothing is stored.
        ScopeWidened: one names another agent, thread, run, actor or role than the scope.
    """


@memory(
    "GET /v1/memories list_memories", name="list", within_categories=True, in_group=GroupRole.READ
)
def list_memories(
    *,
    sort: SortBy = SortColumn.CREATED_AT,
    order: InOrder = Order.DESCENDING,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
    **filters: Unpack[Filters],
) -> Page[Item]:
    """A page of memories, newest first unless sorted otherwise.

    The filters are the fields of ``ItemFilter``, e.g. ``theme="work"``, ``contains="tea"``,
    ``status="any"``. Unknown ones are refused.

    Raises:
        UnknownField, InvalidValue: a filter does not exist or has a value that is not allowed.
        InvalidCursor: the cursor is from a list in another order.
        CategoryNotAllowed: a theme that this scope does not reach.
    """


@memory("POST /v1/memories/get get_memories", within_categories=True, in_group=GroupRole.READ)
def get_many(ids: Ids, *, include_deleted: IncludeDeleted = False) -> tuple[Item, ...]:
    """Those of some memories that ``get`` would find, in the order of the ids, each once.

    What does not exist, has expired or is another user's is left out.

    Raises:
        InvalidValue: something that is no id, or too many.
    """


@memory("GET /v1/memories/{id} get_memory", within_categories=True, in_group=GroupRole.READ)
def get(id: MemoryId, *, include_deleted: IncludeDeleted = False) -> Item:
    """One memory.

    Raises:
        MemoryNotFound: there is none, it has expired, or it is another user's.
    """


@memory(
    "GET /v1/memories/{id}/history memory_history", within_categories=True, in_group=GroupRole.READ
)
def history(id: MemoryId, *, limit: ChangeLimit = limits.DEFAULT_CHANGES) -> tuple[Change, ...]:
    """Show what happened to a memory, oldest first; also for one that was purged.

    Raises:
        MemoryNotFound: this user never had to do with such a memory.
    """


@memory(
    "GET /v1/memories/{id}/lineage memory_lineage", within_categories=True, in_group=GroupRole.READ
)
def lineage(id: MemoryId) -> Lineage:
    """Show what replaced a memory, what it replaced, and what ``undo`` would take back.

    Also of one that was forgotten or has expired. What this scope does not reach is not named.
    Memories that others share have no history here.

    Raises:
        MemoryNotFound: there is none, or it is another user's.
    """


@change(
    "POST /v1/memories/{id}/archive archive_memory",
    within_categories=True,
    in_group=GroupRole.WRITE,
)
def archive(id: MemoryId, *, reason: Reason = None, expected_updated_at: Expected = None) -> Item:
    """Archive a memory: it is kept, and found only on request.

    With ``expected_updated_at`` only in the state that has this ``updated_at``.

    Raises:
        Changed: it is in another state by now.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change(
    "POST /v1/memories/{id}/restore restore_memory",
    within_categories=True,
    in_group=GroupRole.WRITE,
)
def restore(id: MemoryId, *, reason: Reason = None, expected_updated_at: Expected = None) -> Item:
    """Bring back an archived or forgotten memory.

    With ``expected_updated_at`` only in the state that has this ``updated_at``.

    Raises:
        Changed: it is in another state by now.
        Occupied: its key or text was taken by another active memory.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change("POST /v1/memories/{id}/pin pin_memory", within_categories=True, in_group=GroupRole.WRITE)
def pin(
    id: MemoryId,
    pinned: Annotated[bool, Flag(about="False: take the mark away.")] = True,
    *,
    expected_updated_at: Expected = None,
) -> Item:
    """Pin a memory, so that it is kept, or unpin it.

    With ``expected_updated_at`` only in the state that has this ``updated_at``.

    Raises:
        Changed: it is in another state by now.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change(
    "POST /v1/memories/{id}/verify verify_memory", within_categories=True, in_group=GroupRole.WRITE
)
def verify(id: MemoryId, *, expected_updated_at: Expected = None) -> Item:
    """Confirm that a memory is still true.

    With ``expected_updated_at`` only in the state that has this ``updated_at``.

    Raises:
        Changed: it is in another state by now.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change("POST /v1/memories/{id}/rate rate_memory", within_categories=True, in_group=GroupRole.WRITE)
def rate(
    id: MemoryId,
    verdict: Annotated[
        Verdict | str,
        Choice(
            Verdict,
            about="used: it helped; wrong: never true; outdated: true no longer; withdrawn: take"
            " back what was said.",
            example="used",
            metavar="WORD",
        ),
    ],
    *,
    reason: Reason = None,
    query: Annotated[
        str | None,
        Text(limits.MAX_QUERY_CHARS, is_optional=True, about="The question it was shown for."),
    ] = None,
    expected_updated_at: Expected = None,
) -> Item:
    """Say that a memory helped, is wrong or is outdated.

    The latest word of each user and agent counts.
    ``used`` raises it a little in searches, and keeps it from being forgotten. What a user calls
    ``wrong`` or ``outdated`` is out of reads as if replaced (``undo``, or ``withdrawn``, brings it
    back as it was) and is not formed again from what was said before. What an agent says counts
    half, lowers the rank alone, and not at all against what a user says. ``withdrawn`` takes back
    what was said. Ratings fade within months; ``explain`` of a search shows what they did. The
    same said again within a day changes nothing.

    Raises:
        Changed: it is in another state by now.
        Occupied: to be brought back, its key or text was taken by another active memory.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change("POST /v1/memories/{id}/undo undo_change", within_categories=True, in_group=GroupRole.WRITE)
def undo(id: MemoryId, *, reason: Reason = None, expected_updated_at: Expected = None) -> Item:
    """Bring a superseded or merged memory back, or take back the last update of a keyed one.

    A replacement is undone by naming either side of it; the memory that came back is returned.
    With ``expected_updated_at`` only if the one that is named has this ``updated_at``.

    Raises:
        Changed: it is in another state by now.
        NothingToUndo: nothing of the kind happened to it.
        Occupied: its key or text was taken by another active memory.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change(
    "DELETE /v1/memories/{id} forget_memory",
    "POST /v1/memories/forget forget_key",
    within_categories=True,
    in_group=GroupRole.WRITE,
)
def forget(
    id: Annotated[
        int | None, Integer(1, limits.MAX_ID, about="The memory.", example=7, metavar="ID")
    ] = None,
    *,
    key: Annotated[
        str | None,
        Text(
            limits.MAX_KEY_CHARS,
            about="Instead of an id: whatever has this key.",
            example="favourite drink",
            metavar="NAME",
        ),
    ] = None,
    theme: Annotated[
        str | None, Theme(about="Only the key in this theme.", example="drinks")
    ] = None,
    reason: Reason = None,
    expected_updated_at: Expected = None,
) -> tuple[Item, ...]:
    """Soft-delete a memory by id, or what has a key (in one theme, or in all).

    It is gone from every read, can be restored for a while, and is then removed for good. By id
    with ``expected_updated_at`` only in the state that has this ``updated_at``.

    Raises:
        InvalidValue: neither or both of id and key, or what belongs to the other one.
        Changed: it is in another state by now.
        CategoryNotAllowed: a theme that this scope does not reach.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@change(
    "POST /v1/memories/merge merge_memories",
    within_categories=True,
    creates=True,
    in_group=GroupRole.WRITE,
)
def merge(
    ids: Annotated[
        Iterable[int],
        Listed(
            Integer(1, limits.MAX_ID),
            limits.MAX_MERGED_ITEMS,
            minimum=2,
            distinct=True,
            about="The memories to merge.",
            example=[7, 9],
        ),
    ],
    content: Annotated[str | NewMemory | Mapping[str, Any], _MERGED],
    *,
    reason: Reason = None,
    **draft: Unpack[DraftFields],
) -> Added:
    """Replace several memories by one; they are kept as history.

    What is not given is taken from them where they agree; tags are put together.

    Raises:
        InvalidValue: fewer than two memories, or too many.
        MemoryNotFound, NotOwner, IllegalTransition: about the memories to merge.
        CategoryNotAllowed: the theme of the new one is out of this scope's reach.
    """


@change("POST /v1/memories/purge purge_memories", answers="purged", in_group=GroupRole.MANAGE)
def purge(*, before_time: BeforeTime = False) -> int:
    """Remove forgotten memories for good once their time has come; the result is how many.

    ``before_time`` removes every forgotten memory at once. History keeps that they existed.
    """


@feed("GET /v1/themes list_themes", within_categories=True, in_group=GroupRole.READ)
def themes() -> tuple[ThemeRecord, ...]:
    """List the themes and the number of active memories of each, most used first."""


@feed("GET /v1/projects list_projects", within_project=True)
def projects() -> tuple[Project, ...]:
    """List the projects that this user has memories or conversations about, latest first.

    A scope of a project lists that one alone.
    """


@feed(
    "PATCH /v1/themes/{theme} describe_theme",
    within_categories=True,
    within_project=False,
    in_group=GroupRole.WRITE,
)
def describe_theme(
    theme: Annotated[str, Theme(about="The theme, in any spelling.", example="drinks")],
    *,
    display_name: Annotated[
        str | None,
        Text(limits.MAX_THEME_CHARS, about="What it is called.", example="Food and drink"),
    ] = None,
    description: Annotated[
        str | None,
        Text(
            limits.MAX_THEME_DESCRIPTION_CHARS,
            may_be_empty=True,
            about="What belongs under it; empty removes it.",
        ),
    ] = None,
    context: Annotated[
        ContextPolicy | str | None,
        Choice(ContextPolicy, about="What prompts show of it.", example="all", metavar="POLICY"),
    ] = None,
    rag_length: Annotated[
        int | None,
        Integer(1, limits.MAX_RAG_LENGTH, about="How many of its memories prompts show."),
    ] = None,
) -> ThemeRecord:
    """Change a theme's name, description and context policy.

    What the policy file says of it overrides them, also in the answer.

    Raises:
        ThemeNotFound: this user has no such theme.
        CategoryNotAllowed: this scope does not reach it.
    """


@feed("GET /v1/changes list_changes", within_project=True, in_group=GroupRole.READ)
def changes(
    since: Annotated[
        int,
        Integer(0, limits.MAX_ID, about="The last revision that you know of.", metavar="REVISION"),
    ] = 0,
    *,
    before: Annotated[
        int | None,
        Integer(1, limits.MAX_ID, about="Only before this revision.", metavar="REVISION"),
    ] = None,
    event: Annotated[
        Iterable[Event | str] | Event | str | None,
        Several(Choice(Event), about="Any of these kinds; default: all.", metavar="EVENT"),
    ] = None,
    project_id: Annotated[
        str | None,
        Reference(
            about="Only of memories of this project that are still kept.",
            metavar="PROJECT",
            completes="project",
        ),
    ] = None,
    order: InOrder = Order.ASCENDING,
    limit: ChangeLimit = limits.DEFAULT_CHANGES,
) -> Changes:
    """List what changed after a revision, oldest first unless asked for in the other order.

    To go on, give the last revision that was read as ``since``; from the newest on, as ``before``.

    Raises:
        InvalidValue: a value is not allowed.
    """


@feed(
    "GET /v1/revision get_revision",
    answers="revision",
    within_project=True,
    in_group=GroupRole.READ,
)
def revision() -> int:
    """The position of this user's change feed: one more with each change of a memory."""
