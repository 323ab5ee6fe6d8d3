"""Search, and what reaches a model: hits, graphs, prompts, feedback."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Unpack

from ricordo import limits
from ricordo.model.context import Context, Feedback
from ricordo.model.fields import (
    Choice,
    Flag,
    Integer,
    Json,
    Listed,
    Moment,
    Number,
    Question,
    Reference,
    Several,
    Text,
    Theme,
    When,
)
from ricordo.model.filters import FILTERS, Filters
from ricordo.model.record import Page
from ricordo.model.search import (
    QUERY_FILTERS,
    MemoryHit,
    QueryAnswer,
    Related,
    RelationGraph,
    Returns,
    SearchResults,
    TurnHit,
)
from ricordo.model.thread import FormedTurn, Turn
from ricordo.model.vocabulary import ContextMode, GroupRole
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import (
    Agent,
    Explain,
    MemoryId,
    OptionalThread,
    PageCursor,
    PageLimit,
    Query,
    ResultLimit,
    ThreadName,
    Threshold,
)

memory = Catalogue("Memories")
prompt = Catalogue("For agents and prompts")
conversation = Catalogue("Conversations")

_IDS = Listed(
    Integer(1, limits.MAX_ID),
    limits.MAX_RECALLED_MEMORIES,
    distinct=True,
    example=[7, 9],
    metavar="ID",
)
_QUERY_FILTERS = {
    "type": "object",
    "properties": {
        name: FILTERS["theme" if name == "category" else name].schema()
        if name != "user_id"
        else {"type": "string", "description": "No other than the user themselves."}
        for name in sorted(QUERY_FILTERS)
    },
    "additionalProperties": False,
}


@memory(
    "POST /v1/memories/search search_memories",
    "GET /v1/memories/search search_memories_by_address",
    within_categories=True,
    in_group=GroupRole.READ,
)
def search(
    query: Query = "*",
    /,
    *,
    limit: ResultLimit = limits.DEFAULT_RESULTS,
    recency_days: Annotated[
        float | None,
        Number(
            0,
            limits.MAX_RECENCY_DAYS,
            about="Only what was noted in the last so many days.",
            metavar="DAYS",
        ),
    ] = None,
    threshold: Threshold = None,
    explain: Explain = False,
    **filters: Unpack[Filters],
) -> SearchResults[MemoryHit]:
    """The memories that answer a question best, whatever is typed.

    An empty question or ``*`` gives the newest. The filters are those of ``list``, e.g.
    ``theme="work"``, ``status="any"`` (never what was forgotten), ``as_of="2024-05-01"`` for
    what was true then. ``recency_days`` leaves out what is older. With a ``threshold`` (0 to 1)
    hits that are less sure to be an answer are left out; ``explain`` adds every component of
    every score. An embedder that is slow or down never fails a search: ``degraded`` says so.

    Raises:
        UnknownField, InvalidValue: a filter does not exist, or a value is not allowed.
        CategoryNotAllowed: a theme that this scope does not reach.
    """


@memory(
    "GET /v1/memories/{id}/related related_memories",
    within_categories=True,
    in_group=GroupRole.READ,
)
def related(id: MemoryId, *, limit: ResultLimit = limits.DEFAULT_RESULTS) -> tuple[Related, ...]:
    """Find memories that are similar to one, or mention the same people and things, most similar
    first. ``names`` says whom both mention.

    Raises:
        MemoryNotFound: there is no such memory, or it is another user's.
    """


@memory("GET /v1/graph read_graph", within_categories=True, in_group=GroupRole.READ)
def relation_graph(
    theme: Annotated[
        str | None, Theme(about="The theme; all of them by default.", example="drinks")
    ] = None,
    *,
    limit: Annotated[
        int, Integer(2, limits.MAX_GRAPH_MEMORIES, about="How many memories at most.")
    ] = limits.DEFAULT_GRAPH_MEMORIES,
) -> RelationGraph:
    """Show the most connected memories of a theme, or of all, and how they are related.

    Only active memories of this user's own that are related to another one shown: that are about
    the same, or mention the same people and things (``names``). ``entities`` are those whom its
    memories mention, with all that mention them, also such as are related to no other. Of a
    theme with more than 1,000 memories the latest 1,000 are looked at, with what they were
    related to when they were noted.

    Raises:
        InvalidValue: a value is not allowed.
        CategoryNotAllowed: a theme that this scope does not reach.
    """


@prompt("POST /v1/query query_memories", within_categories=True, in_group=GroupRole.READ)
def query(
    agent: Agent,
    query: Annotated[
        str, Question(about="What the agent needs to know.", example="what is planned for May")
    ],
    *,
    categories: Annotated[
        Iterable[str] | str | None,
        Several(Theme(), about="Only these.", metavar="NAME", completes="theme"),
    ] = None,
    filters: Annotated[
        Mapping[str, Any] | None,
        Json(_QUERY_FILTERS, about="Which memories may answer; all that are given must hold."),
    ] = None,
    top_k: Annotated[
        int, Integer(1, limits.MAX_RESULTS, about="How many memories at most.")
    ] = limits.DEFAULT_QUERY_RESULTS,
    returns: Annotated[
        Returns | str,
        Choice(Returns, about="Lines for a prompt, or whole memories.", metavar="FORM"),
    ] = Returns.BULLETS,
    budget_tokens: Annotated[
        int, Integer(1, limits.MAX_BUDGET, about="How long the answer may be.")
    ] = limits.DEFAULT_BUDGET,
    threshold: Threshold = None,
    related: Annotated[
        int, Integer(0, limits.MAX_RELATED_BULLETS, about="How many bullets about the same to add.")
    ] = 0,
) -> QueryAnswer:
    """What an agent needs to know, within a budget of tokens that is never exceeded.

    ``agent`` is who asks, None for the agent of this scope or the user; its allowlist is
    checked before anything is read. ``procedure`` memories come back only when asked for by
    type or category. ``related`` adds up to two bullets about the same.

    Raises:
        CategoryNotAllowed: a category outside the agent's allowlist or this scope.
        UnknownField, InvalidValue: a filter does not exist, or a value is not allowed.
        ScopeWidened: another agent or user than the one of this scope.
    """


@prompt("POST /v1/context build_context", within_categories=True)
def context(
    message: Annotated[
        str,
        Text(
            limits.MAX_MESSAGE_CHARS,
            may_be_empty=True,
            about="What the user says.",
            example="What shall we drink?",
        ),
    ] = "",
    *,
    thread: OptionalThread = None,
    modes: Annotated[
        Iterable[ContextMode | str] | ContextMode | str,
        Several(Choice(ContextMode), joined="[,+]", about="What of memory it has.", metavar="WORD"),
    ] = ContextMode.TOOLS,
    budget_tokens: Annotated[
        int | None,
        Integer(
            limits.MIN_CONTEXT_TOKENS,
            limits.MAX_CONTEXT_TOKENS,
            about="How long the whole request may be.",
        ),
    ] = None,
    reply_tokens: Annotated[
        int | None,
        Integer(0, limits.MAX_CONTEXT_TOKENS, about="How much of that is for the answer."),
    ] = None,
    tools: Annotated[
        Sequence[Mapping[str, Any]] | None,
        Json(
            {"type": "array", "items": {"type": "object"}},
            about="The schemas of tools that you send along; part of the budget.",
            metavar="FILE",
        ),
    ] = None,
    threshold: Threshold = None,
    agent: Agent = None,
    history: Annotated[
        bool, Flag(about="False: you send the turns of the conversation yourself.")
    ] = True,
    persona: Annotated[
        bool, Flag(about="False: without SOUL.md and RULES.md, you say who answers.")
    ] = True,
    user_file: Annotated[bool, Flag(about="False: without the user's USER.md.")] = True,
) -> Context:
    """A request to a model that knows this user: system text, earlier turns, the message.

    ``modes`` are one or more of ``tools`` (a guide to the memory tools and the themes there
    are, nothing of what memories say), ``recall`` (the memories that matter for the message)
    and ``summary`` (what is known of the user as one text). With a ``thread`` the request has
    its latest turns, a summary of the earlier ones, and what changed in memory since the
    thread began or last looked; without ``history`` only that, for callers who send the turns
    of the conversation themselves; without ``persona`` neither ``SOUL.md`` nor ``RULES.md``,
    for callers who say themselves who the assistant is, and without ``user_file`` no
    ``USER.md``. ``tools`` are the schemas that the
    caller sends along; they and ``reply_tokens`` are part of the budget, which is never
    exceeded. One of them is suggested where nothing recalled is likely to answer the message.
    Memories that are less sure than ``threshold`` are not shown. ``agent`` is who asks, None
    for the agent of this scope or the user: nothing outside its allowlist is shown, and nothing
    outside the categories of this scope, where it has any: then also no turns.

    A store that fails is no error: the prompt says that memory is unavailable.

    Raises:
        InvalidValue: a value is not allowed, or the message alone is more than the budget.
        InvalidPolicy: the policy file is broken; nothing was read.
        ScopeWidened: another agent or thread than the one of this scope.
    """


@prompt("POST /v1/feedback give_feedback", within_categories=True)
def feedback(
    recalled: Annotated[Iterable[int], replace(_IDS, about="The memories that the prompt showed.")],
    *,
    used: Annotated[
        Iterable[int] | None, replace(_IDS, about="Those of them that were of use.")
    ] = None,
    answer: Annotated[
        str | None, Text(limits.MAX_ANSWER_CHARS, about="Instead of used: what the model answered.")
    ] = None,
) -> Feedback:
    """Say which of the memories that a prompt showed an answer used.

    Either name them (``used``), or give the ``answer``: then those count of whose words it has
    at least half. What was used counts as recalled once more, and the share of it is counted as
    ``retrieval_hit_rate``.

    Raises:
        InvalidValue: neither or both are given, or something was used that was not recalled.
        MemoryNotFound: another user's memory, or none; nothing was counted.
    """


@conversation("POST /v1/turns/search search_turns", within_project=True)
def search_turns(
    query: Annotated[
        str, Question(about="What to look for.", example="Where did I say I was moving to?")
    ],
    /,
    *,
    limit: ResultLimit = limits.DEFAULT_RESULTS,
    thread: Annotated[
        str | None, Reference(about="Only in this conversation.", completes="thread")
    ] = None,
    role: Annotated[
        str | None, Reference(about="Only in this role.", example="user", metavar="NAME")
    ] = None,
    actor: Annotated[str | None, Reference(about="Only by this speaker.", metavar="NAME")] = None,
    since: Annotated[
        When | None, Moment(about="Said at or after this time.", example="2026-05-01")
    ] = None,
    until: Annotated[When | None, Moment(about="Said before this time.")] = None,
    threshold: Threshold = None,
    explain: Explain = False,
) -> SearchResults[TurnHit]:
    """What was said that answers a question best.

    A hit whose statement is no longer current has it in ``superseded``: since when, and what is.
    Of a long turn the best piece is found, whose place is in ``part``; its thread has the whole.

    Raises:
        InvalidValue: a value is not allowed, or the question is empty.
    """


@conversation("GET /v1/memories/{id}/source-turn read_source_turn", within_project=True)
def source_turn(id: MemoryId) -> Turn | None:
    """Show what was said that a memory was formed from.

    None where it was not formed from a conversation, where the turn is gone or cannot be known
    from others for certain, and for what another user shares: where that comes from is theirs.

    Raises:
        MemoryNotFound: there is no such memory, it has expired, or it is another user's.
    """


@conversation("GET /v1/threads/{thread_id:path}/formed list_formed_turns", within_project=True)
def formed_turns(
    thread_id: ThreadName,
    *,
    from_position: Annotated[
        int | None, Integer(1, limits.MAX_ID, about="The turn to begin with.", example=20)
    ] = None,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[FormedTurn]:
    """List the turns of a conversation in order, each with the memories that came from it.

    The memories are those of ``source_turn``, also archived and superseded ones, the oldest
    first. With ``from_position`` the first page begins at that turn.

    Raises:
        ThreadNotFound: this user has no such conversation.
        InvalidCursor: the cursor was not given out by this call.
    """
