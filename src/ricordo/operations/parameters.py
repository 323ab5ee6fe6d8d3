"""Parameters that several operations share."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from ricordo import limits
from ricordo.model.fields import (
    AsGiven,
    Choice,
    FilePath,
    Flag,
    Integer,
    Listed,
    Moment,
    Number,
    OneOf,
    Question,
    Reference,
    Text,
    When,
)
from ricordo.model.filters import Order, SortColumn

_COUNT = "How many entries at most."

MemoryId: TypeAlias = Annotated[
    int, Integer(1, limits.MAX_ID, about="The memory.", example=7, metavar="ID")
]
Ids: TypeAlias = Annotated[
    Iterable[int],
    Listed(
        Integer(1, limits.MAX_ID),
        limits.MAX_PAGE_ITEMS,
        about="The memories.",
        example=[7, 9],
        metavar="ID",
    ),
]
Reason: TypeAlias = Annotated[
    str | None,
    Text(
        limits.MAX_REASON_CHARS,
        is_optional=True,
        about="Why; kept in the history.",
        example="asked for it",
    ),
]
Expected: TypeAlias = Annotated[
    When | None, Moment(about="Only if it was last changed exactly then (its updated_at).")
]
IncludeDeleted: TypeAlias = Annotated[bool, Flag(about="Also what was forgotten.")]
BeforeTime: TypeAlias = Annotated[
    bool, Flag(about="Everything that was forgotten, not only what is due.")
]
DryRun: TypeAlias = Annotated[bool, Flag(about="Say what would be done, and do nothing.")]
Confirm: TypeAlias = Annotated[
    bool, Flag(about="Do it. Otherwise the answer says what it would mean.")
]
SortBy: TypeAlias = Annotated[
    SortColumn | str, Choice(SortColumn, about="What to sort by.", metavar="COLUMN")
]
InOrder: TypeAlias = Annotated[Order | str, Choice(Order, about="asc or desc.", metavar="ORDER")]
PageLimit: TypeAlias = Annotated[int, Integer(1, limits.MAX_PAGE_ITEMS, about=_COUNT)]
ChangeLimit: TypeAlias = Annotated[int, Integer(1, limits.MAX_CHANGES, about=_COUNT)]
ResultLimit: TypeAlias = Annotated[int, Integer(1, limits.MAX_RESULTS, about=_COUNT)]
PageCursor: TypeAlias = Annotated[
    str | None, AsGiven(about="Where to go on: next_cursor of the page before.")
]
Query: TypeAlias = Annotated[
    str,
    Question(
        about="What to look for; * is everything, newest first.", example="what does she drink"
    ),
]
Threshold: TypeAlias = Annotated[
    float | None,
    Number(0, 1, about="Only what is at least this sure to be an answer, 0 to 1; 0 for all."),
]
Explain: TypeAlias = Annotated[bool, Flag(about="Show every part of every score.")]
Agent: TypeAlias = Annotated[
    str | None,
    Reference(
        about="Who asks; it gets what it may read. A key of an agent says so itself.",
        example="planner",
    ),
]
ThreadName: TypeAlias = Annotated[
    str, Reference(about="The conversation.", example="monday", completes="thread")
]
OptionalThread: TypeAlias = Annotated[
    str | None, Reference(about="The conversation.", example="monday", completes="thread")
]
Days: TypeAlias = Annotated[
    int | None, Integer(1, limits.MAX_RECENCY_DAYS, about="Only the last ones, today included.")
]
DailyDays: TypeAlias = Annotated[
    int, Integer(1, limits.MAX_DAILY_DAYS, about="How many days, today included.")
]
PathOf: TypeAlias = Annotated[str | Path, FilePath(about="The file.")]
IMPORT_FORMATS: Final = (
    *("auto", "ricordo", "mem0", "chatgpt", "claude", "openwebui", "letta", "zep", "mcp-memory"),
    *("jsonl", "keyvalue", "markdown", "lines", "folder"),
)
ImportFormat: TypeAlias = Annotated[
    str, OneOf(IMPORT_FORMATS, about="What the file is.", metavar="NAME")
]
Consented: TypeAlias = Annotated[
    bool, Flag(about="The users agree to every memory in it, sensitive ones included.")
]
OnlyCount: TypeAlias = Annotated[bool, Flag(about="Only count what there is, and write nothing.")]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done, and of how much."""
