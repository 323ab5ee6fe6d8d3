"""Example responses for the OpenAPI document."""

from typing import Any, Final, get_args, get_origin

from ricordo.model.context import Context, Feedback
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Theme
from ricordo.model.proposal import BlockedSender, Link, Proposed
from ricordo.model.record import Page
from ricordo.model.search import MemoryHit, QueryAnswer, Related, RelationGraph, SearchResults
from ricordo.model.thread import Turn

_NOTED: Final = "2026-05-01T09:30:00.000000+00:00"

ADDED: Final[dict[str, Any]] = {
    "id": 7,
    "status": "active",
    "duplicate": False,
    "updated": False,
    "embedding": "ready",
}
PROPOSED: Final[dict[str, Any]] = {
    "proposal_id": 8,
    "status": "proposed",
    "fields": ["health"],
    "note": "It is sensitive, and waits for the user's consent; do not treat it as known.",
}
ITEM: Final[dict[str, Any]] = {
    "id": 7,
    "user_id": "ana",
    "theme": "drinks",
    "type": "preference",
    "key": None,
    "content": "Prefers tea to coffee in the afternoon",
    "tags": ["hot"],
    "source": "user_explicit",
    "source_context": None,
    "thread_id": None,
    "message_id": None,
    "agent_id": None,
    "run_id": None,
    "actor_id": None,
    "role": None,
    "confidence": 90,
    "importance": 2,
    "pinned": False,
    "status": "active",
    "valid_from": _NOTED,
    "valid_to": None,
    "expires_at": None,
    "purge_at": None,
    "created_at": _NOTED,
    "updated_at": _NOTED,
    "last_accessed_at": None,
    "last_verified_at": None,
    "access_count": 0,
    "project_id": "github.com/acme/shop",
    "ratings": [
        {
            "verdict": "used",
            "by": "ana",
            "is_agent": False,
            "at": _NOTED,
            "reason": None,
            "query": "What shall we drink?",
            "thread_id": None,
        }
    ],
}
CHANGE: Final[dict[str, Any]] = {
    "revision": 12,
    "event": "ADD",
    "item_id": 7,
    "at": _NOTED,
    "actor": "user",
    "reason": None,
    "old_ref": None,
    "new_ref": 7,
    "other_user": None,
    "meta": {},
    "before": None,
}
LINEAGE: Final[dict[str, Any]] = {
    "successor": None,
    "predecessors": [{**ITEM, "id": 5, "content": "Prefers coffee", "status": "superseded"}],
    "undoable": "replacement",
}
TURN: Final[dict[str, Any]] = {
    "id": 3,
    "thread_id": "breakfast",
    "position": 1,
    "message_id": "m-1",
    "role": "user",
    "actor": "ana",
    "content": "Tea, please. I do not like coffee in the morning.",
    "tool_calls": None,
    "at": _NOTED,
    "observed_by": None,
    "ended_at": None,
}
CHANGES: Final[dict[str, Any]] = {"changes": [CHANGE], "revision": 12, "more": False}
FOUND: Final[dict[str, Any]] = {
    "results": [
        {
            "id": 7,
            "content_snippet": "Prefers tea to coffee in the afternoon",
            "score": 0.0325,
            "confidence": 0.83,
            "signals": {"fts": 1.0, "semantic": 0.91},
            "explanation": None,
            "theme": "drinks",
            "type": "preference",
            "status": "active",
            "created_at": _NOTED,
            "owner_id": None,
            "project_id": "github.com/acme/shop",
        }
    ],
    "confidence": 0.83,
    "degraded": None,
    "timings": {"embed_ms": 4.1, "search_ms": 2.7},
}
RELATED: Final[dict[str, Any]] = {
    "id": 9,
    "theme": "drinks",
    "type": "preference",
    "content": "Likes green tea best",
    "similarity": 0.78,
    "names": [],
}
GRAPH: Final[dict[str, Any]] = {
    "memories": [ITEM, {**ITEM, "id": 9, "content": "Likes green tea best"}],
    "relations": [{"one": 7, "other": 9, "similarity": 0.78, "names": []}],
    "more": False,
    "entities": [{"names": ["Carolina"], "told": "my sister", "memories": [9]}],
}
LINK: Final[dict[str, Any]] = {
    "id": 7,
    "user_id": "ben",
    "state": "offered",
    "since": _NOTED,
    "expires_at": "2026-04-01T09:30:00Z",
}
BLOCKED_SENDER: Final[dict[str, Any]] = {"user_id": "ben", "since": _NOTED}
THEME: Final[dict[str, Any]] = {
    "slug": "drinks",
    "display_name": "Food and drink",
    "description": None,
    "context": "rag",
    "rag_length": None,
    "created_at": _NOTED,
    "updated_at": _NOTED,
    "active_count": 1,
}
QUERY_ANSWER: Final[dict[str, Any]] = {
    "bullets": [
        {
            "id": 7,
            "category": "drinks",
            "text": "[drinks] Prefers tea to coffee in the afternoon",
            "owner_id": None,
        }
    ],
    "items": [],
    "related": [],
    "tokens": 14,
    "confidence": 0.83,
    "degraded": None,
}
CONTEXT: Final[dict[str, Any]] = {
    "system": "What you remember of the user: …",
    "messages": [
        {"role": "system", "content": "What you remember of the user: …"},
        {"role": "user", "content": "What shall we drink?"},
    ],
    "memories": [
        {
            "id": 7,
            "theme": "drinks",
            "since": _NOTED,
            "text": "Prefers tea to coffee in the afternoon",
            "confidence": 0.83,
            "type": "preference",
            "owner_id": None,
        }
    ],
    "quotes": [],
    "delta": [],
    "confidence": 0.83,
    "suggests_query": False,
    "tokens": {
        "budget": 8000,
        "system": 120,
        "memories": 24,
        "history": 0,
        "message": 9,
        "tools": 0,
        "reply": 1000,
        "total": 1153,
    },
    "left_out": [],
    "problems": [],
}
FEEDBACK: Final[dict[str, Any]] = {"recalled": [7, 9], "used": [7], "hit_rate": 0.5}


_BY_RECORD: Final[dict[Any, Any]] = {
    Added: ADDED,
    BlockedSender: BLOCKED_SENDER,
    Change: CHANGE,
    Changes: CHANGES,
    Context: CONTEXT,
    Feedback: FEEDBACK,
    Item: ITEM,
    Lineage: LINEAGE,
    Link: LINK,
    Proposed: PROPOSED,
    QueryAnswer: QUERY_ANSWER,
    Related: RELATED,
    RelationGraph: GRAPH,
    SearchResults[MemoryHit]: FOUND,
    Theme: THEME,
    Turn: TURN,
}


def example_of(result: Any, answers: str | None = None) -> Any:
    """An example of a result; None where there is none for its record."""
    if answers is not None:
        return {answers: 3}
    entry = _BY_RECORD.get(result)
    if entry is not None:
        return entry
    inner = [_BY_RECORD[one] for one in get_args(result) if one in _BY_RECORD]
    if not inner:
        return None
    if get_origin(result) is tuple:
        return inner
    return {"items": inner, "next_cursor": None} if get_origin(result) is Page else inner[0]


Shown = dict[int | str, dict[str, Any]]

_TAGGED: Final = {"ETag": {"description": "The state that it is in.", "schema": {"type": "string"}}}
_PLACED: Final = {"Location": {"description": "Where it is.", "schema": {"type": "string"}}}

NOT_CHANGED: Final[Shown] = {304: {"description": "Not changed since.", "headers": _TAGGED}}


def showing(
    example: object,
    status: int = 200,
    description: str | None = None,
    *,
    model: object = None,
    tagged: bool = False,
    placed: bool = False,
) -> Shown:
    """A response with an example, and an ETag or Location header where it has one.

    ``model`` is only needed where a route has a second kind of response.
    """
    shown: dict[str, Any] = {"content": {"application/json": {"example": example}}}
    headers = (_TAGGED if tagged else {}) | (_PLACED if placed else {})
    if headers:
        shown["headers"] = headers
    if description is not None:
        shown["description"] = description
    if model is not None:
        shown["model"] = model
    return {status: shown}
