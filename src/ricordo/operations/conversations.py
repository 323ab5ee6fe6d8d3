"""Conversations: recorded, read, summarised, formed into memories, and states saved with them."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Any

from ricordo import limits
from ricordo.model.fields import (
    Choice,
    Day,
    Flag,
    Integer,
    Json,
    Listed,
    Parsed,
    Reference,
    Text,
)
from ricordo.model.profile import Summary
from ricordo.model.record import Page
from ricordo.model.reports import AuditReport, FormationReport
from ricordo.model.thread import (
    Checkpoint,
    CheckpointInfo,
    CompactionReport,
    DayLog,
    NewTurn,
    Observed,
    Thread,
    Turn,
    Window,
    turn_schema,
)
from ricordo.model.vocabulary import Action
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import (
    OptionalThread,
    PageCursor,
    PageLimit,
    Reason,
    ThreadName,
)

conversation = Catalogue("Conversations")
overview = Catalogue("Overview and upkeep")
checkpoint = Catalogue("Checkpoints")

_TURN = Parsed(NewTurn.parse, turn_schema)
_VERSION = Integer(0, limits.MAX_ID, about="The version that is there; 0: nothing is saved yet.")


@conversation("GET /v1/threads list_threads", within_project=True)
def threads(
    *,
    project_id: Annotated[
        str | None,
        Reference(about="Only those of this project.", metavar="PROJECT", completes="project"),
    ] = None,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[Thread]:
    """List this user's conversations, latest first.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """


@conversation("GET /v1/threads/{thread_id:path}/standing read_thread", within_project=True)
def thread(thread_id: ThreadName) -> Thread:
    """Show a conversation: its length, and up to which turn memories were formed.

    Raises:
        ThreadNotFound: this user has no such conversation.
    """


@conversation("POST /v1/threads/{thread:path}/turns observe", within_categories=True, creates=True)
def observe(
    messages: Annotated[
        Iterable[NewTurn | Mapping[str, Any]],
        Listed(_TURN, limits.MAX_OBSERVED_TURNS, about="What was said, in order."),
    ],
    *,
    thread: ThreadName,
    title: Annotated[
        str | None,
        Text(
            limits.MAX_THREAD_TITLE_CHARS,
            is_optional=True,
            about="What the conversation is called.",
        ),
    ] = None,
) -> Observed:
    """Record what was said, to be found again and to form memories from.

    Recording is all that is waited for. Memories are formed in the background once the
    conversation has been silent for a moment; ``form`` does it at once.

    Each message has a ``role`` and ``content``, and may have ``actor`` (who speaks), ``at``,
    ``id`` (recorded once per thread, so that sending a message again does no harm) and
    ``tool_calls``.

    What an agent records is attributed to it: only what belongs to its categories is formed,
    and nothing of it counts as asked for by the user.

    Raises:
        InvalidValue, UnknownField: a message is not allowed; nothing was recorded.
        ScopeWidened: this memory is bound to another thread.
        OtherProject: the conversation began in another project, or in none.
    """


@conversation("GET /v1/threads/{thread_id:path}/turns list_turns", within_project=True)
def turns(
    thread_id: ThreadName,
    *,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[Turn]:
    """List the turns of a conversation in order.

    Raises:
        ThreadNotFound: this user has no such conversation.
        InvalidCursor: the cursor was not given out by this call.
    """


@conversation(
    "POST /v1/threads/{thread_id:path}/turns/{position}/redaction redact_turn", within_project=True
)
def redact(
    thread_id: ThreadName,
    position: Annotated[
        int,
        Integer(1, limits.MAX_ID, about="Which turn, from 1 on.", example=3, metavar="POSITION"),
    ],
    *,
    text: Annotated[
        str | None,
        Text(
            limits.MAX_TURN_CHARS,
            is_optional=True,
            about="These words.",
            example="qwerty",
            metavar="WORDS",
        ),
    ] = None,
    whole: Annotated[bool, Flag(about="All of the turn.")] = False,
    reason: Reason = None,
) -> Turn:
    """Replace words of a recorded turn by ``[redacted]``, for good.

    Without more, the secrets that are recognised in the turn; with ``text``, these words; with
    ``whole``, all of the turn. They go from the turn, its calls of tools, what it is found by,
    its vector, the quotes of memories and proposals of the conversation, and from summaries,
    which are rebuilt. What a memory says stays: forget that one. History keeps who did it,
    and when. The database's free space is overwritten as when a user is erased.

    Raises:
        ThreadNotFound: this user has no such conversation.
        InvalidValue: it has no such turn, the turn does not have these words, or no secret is
            recognised in it.
    """


@conversation("GET /v1/threads/{thread:path}/window read_window", within_project=True)
def window(thread: ThreadName) -> Window:
    """Show the latest turns of a conversation, and a summary of the earlier ones.

    At most ``window_turns`` turns, whatever is still waiting to be put into a summary. A
    conversation in which nothing was said yet has an empty window. One that was resumed by this
    process goes on showing what else was said today, until the next summary. Secrets in it
    are masked, because it is made for models; ``turns`` has what was said.

    Raises:
        ScopeWidened: this memory is bound to another thread.
    """


@conversation(
    "POST /v1/threads/{thread:path}/compact compact", is_lengthy=True, within_project=True
)
def compact(thread: ThreadName) -> CompactionReport:
    """Summarise all but the latest turns of a conversation, now.

    A job does that whenever a conversation has ``window_turns`` open turns. The turns stay
    recorded and can be searched. Where the language model gives no usable answer, or none is
    set, the summary is put together from what was said.

    Raises:
        ThreadNotFound: this user has no such conversation.
        ScopeWidened: this memory is bound to another thread.
    """


@conversation("POST /v1/threads/{thread:path}/resume resume", is_lengthy=True, within_project=True)
def resume(thread: ThreadName) -> Window:
    """Resume a conversation after a break or a restart.

    The window has the latest ``window_kept_turns`` turns, a summary of all
    earlier ones, and what else the user talked about today.

    Raises:
        ScopeWidened: this memory is bound to another thread.
    """


@conversation(
    "POST /v1/threads/{thread:path}/form form_thread",
    "POST /v1/form form",
    is_lengthy=True,
    within_project=True,
)
def form(thread: OptionalThread = None) -> FormationReport:
    """Form memories now from what is new in a conversation, or in all of them.

    Each turn is formed once. With a language model set (``model_provider``) it does the
    reading, without one rules do. What is sensitive becomes a proposal, unless the user asked
    for it to be remembered.

    Raises:
        ThreadNotFound: this user has no such conversation.
        ScopeWidened: this memory is bound to another thread.
        LanguageModelError: the model could not answer; what was said stays, and a job tries
            again.
    """


@conversation("GET /v1/log read_todays_log", "GET /v1/log/{day} read_log", within_project=True)
def day_log(
    day: Annotated[
        str | date | None, Day(about="The day; today by default.", example="2026-05-01")
    ] = None,
) -> DayLog:
    """List what this user's conversations of a day were about; today if none is given.

    It has what was put into summaries: see :meth:`compact`. Days are those of the setting
    ``timezone``.

    Raises:
        InvalidValue: not a date such as 2026-01-31.
    """


@overview("GET /v1/summary read_summary", within_project=True)
def summary() -> Summary | None:
    """Summarise what is known of this user in one text; None when nothing is.

    It is updated after each formation, by the language model or else by a template.
    """


@overview("GET /v1/audit audit")
def audit(
    *,
    thread: Annotated[
        str | None,
        Reference(
            about="Only the decisions of this conversation.", example="monday", completes="thread"
        ),
    ] = None,
    action: Annotated[
        Action | str | None, Choice(Action, about="Only these decisions.", metavar="ACTION")
    ] = None,
    limit: Annotated[
        int,
        Integer(
            1,
            limits.MAX_PAGE_ITEMS,
            about="How many decisions and findings of each kind are listed; counts are complete.",
        ),
    ] = limits.DEFAULT_PAGE_ITEMS,
) -> AuditReport:
    """Check what is stored for duplicates, contradictions, junk, unverified and expired memories.

    It also lists what formation decided and why, the latest first. At most ``limit`` decisions and
    findings of each kind are listed; the counts of findings are complete.
    """


@checkpoint("GET /v1/checkpoints list_checkpoints")
def checkpoints(
    *, limit: PageLimit = limits.DEFAULT_PAGE_ITEMS, cursor: PageCursor = None
) -> Page[CheckpointInfo]:
    """List what this user's programs have saved, latest first, without the states themselves.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """


@checkpoint()
def load_checkpoint(thread: ThreadName) -> Checkpoint:
    """The state of a conversation that was saved last.

    Raises:
        CheckpointNotFound: nothing is saved for it.
        ScopeWidened: this memory is bound to another thread.
    """


@checkpoint()
def save_checkpoint(
    thread: ThreadName,
    state: Annotated[object, Json(about="Any JSON value.")],
    *,
    expected_version: Annotated[int | None, _VERSION] = None,
) -> Checkpoint:
    """Keep a program's state of a conversation, in the place of what was saved before.

    Any JSON value comes back exactly as it was given. The conversation need not have turns.
    With ``expected_version`` (0: nothing may be saved yet), a state that somebody else has
    saved in the meantime is not overwritten.

    Raises:
        InvalidValue: the state is not JSON, or too large.
        Conflict: another version is there than the expected one; nothing was saved.
        ScopeWidened: this memory is bound to another thread.
    """


@checkpoint()
def delete_checkpoint(
    thread: ThreadName, *, expected_version: Annotated[int | None, _VERSION] = None
) -> bool:
    """Remove what was saved for a conversation; False where nothing was.

    With ``expected_version``, a state that somebody else has saved in the meantime stays.

    Raises:
        Conflict: another version is there than the expected one; nothing was removed.
        ScopeWidened: this memory is bound to another thread.
    """
