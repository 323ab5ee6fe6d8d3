"""Redaction: removing words from a turn, its index and its quotes."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.conversation.service import plan_compaction
from ricordo.conversation.summaries import ConversationPolicy
from ricordo.errors import InvalidValue, ThreadNotFound
from ricordo.frozen import dataclass, replace
from ricordo.index.embedders import Embedders
from ricordo.memories.lifecycle import plan_scrub, scrub_now
from ricordo.model.scope import Scope
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import Event
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import turns_between
from ricordo.storage.tables import ITEM_IDS, history, items, proposals
from ricordo.storage.threads import change_turn, count_open_turns, drop_compactions, find_thread
from ricordo.text.normalise import content_hash
from ricordo.text.pieces import first_piece
from ricordo.text.secrets import secrets_in

REDACTED: Final = "[redacted]"
"""Replaces what was removed from a turn."""

REDACTION: Final = "redaction"
"""In the meta of a PURGE: the turn that was redacted."""

_WORDS: Final = frozenset({"content", "key", "source_context", "tags"})


@dataclass(frozen=True, slots=True)
class RedactionRequest:
    """What to redact in a turn: these words, all of it, or recognised secrets."""

    thread_id: str
    position: int
    text: str | None
    whole: bool


def redact(
    database: Database,
    embedders: Embedders,
    policy: ConversationPolicy,
    scope: Scope,
    request: RedactionRequest,
    reason: str | None,
) -> Turn:
    """Redact a turn; the turn as it is now. Raises ThreadNotFound: this user has no such
    conversation; InvalidValue: there is no such turn, or it does not have the words."""
    changed, at = _written(database, embedders, policy, scope, request, reason)
    scrub_now(database, at)
    return changed


@retried
def _written(
    database: Database,
    embedders: Embedders,
    policy: ConversationPolicy,
    scope: Scope,
    request: RedactionRequest,
    reason: str | None,
) -> tuple[Turn, datetime]:
    with database.read(scope.user_id) as view:
        planned = _redacted(_turn_at(view.connection, scope.user_id, request), request)
    known = embedders.known_vectors(scope.user_id, [first_piece(planned.content)])
    with database.write(scope.user_id, known=known) as writing:
        turn = _turn_at(writing.connection, scope.user_id, request)
        changed = _redacted(turn, request)
        change_turn(writing, changed)
        _redact_quotes(writing, turn, _redactor(turn, request))
        drop_compactions(writing, turn.thread_id, turn.position)
        open_turns = count_open_turns(writing.connection, scope.user_id, turn.thread_id)
        if open_turns >= policy.window_turns:
            plan_compaction(writing, turn.thread_id)
        (number,) = writing.take_ids(ITEM_IDS, 1)
        meta = {REDACTION: {"thread_id": turn.thread_id, "position": turn.position}}
        writing.record(Event.PURGE, number, actor=scope.actor, reason=reason, meta=meta)
        plan_scrub(writing)
        return changed, writing.now


def _turn_at(connection: sa.Connection, user_id: str, request: RedactionRequest) -> Turn:
    place = request.position
    found = turns_between(connection, user_id, request.thread_id, place, place)
    if found:
        return found[0]
    thread = find_thread(connection, user_id, request.thread_id)
    if thread is None:
        raise ThreadNotFound(request.thread_id)
    raise InvalidValue("position", f"{place}; the conversation has turns 1 to {thread.turn_count}")


def _redacted(turn: Turn, request: RedactionRequest) -> Turn:
    clean = _redactor(turn, request)
    calls = None if request.whole else _in_json(turn.tool_calls, clean)
    changed = replace(turn, content=clean(turn.content) or REDACTED, tool_calls=calls)
    if changed == turn and REDACTED not in turn.content:
        if request.text is not None:
            raise InvalidValue("text", "the turn does not have these words")
        raise InvalidValue(
            "text", "no secret is recognised in the turn; give the words, or take out the whole"
        )
    return changed


def _redactor(turn: Turn, request: RedactionRequest) -> Callable[[str], str]:
    """The function that redacts a text, be it the turn or a quote of it."""
    if request.whole:
        return lambda text: REDACTED if text and text in turn.content else text
    if request.text is not None:
        words = request.text
        return lambda text: text.replace(words, REDACTED)
    secrets = {turn.content[start:end] for start, end in secrets_in(turn.content)}
    secrets |= _secrets_of_calls(turn.tool_calls)

    def clean(text: str) -> str:
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return text

    return clean


def _secrets_of_calls(calls: list[Any] | None) -> set[str]:
    found: set[str] = set()

    def collect(text: str) -> str:
        found.update(text[start:end] for start, end in secrets_in(text))
        return text

    _in_json(calls, collect)
    return found


def _in_json(value: Any, clean: Callable[[str], str]) -> Any:
    """The value with every string changed, including JSON inside of strings."""
    if isinstance(value, str):
        try:
            inside = json.loads(value) if value[:1] in ("{", "[") else None
        except ValueError:
            inside = None
        if isinstance(inside, dict | list):
            return json.dumps(_in_json(inside, clean), ensure_ascii=False)
        return clean(value)
    if isinstance(value, Mapping):
        return {name: _in_json(one, clean) for name, one in value.items()}
    return [_in_json(one, clean) for one in value] if isinstance(value, list) else value


def _in_words(values: Mapping[str, Any], clean: Callable[[str], str]) -> dict[str, Any]:
    """The values of a memory, changed where they hold words: its type and the like stay."""
    return {
        name: _in_json(value, clean) if name in _WORDS else value for name, value in values.items()
    }


def _redact_quotes(writing: WriteTransaction, turn: Turn, clean: Callable[[str], str]) -> None:
    """Redact the quotes in memories and proposals of the conversation."""
    theirs = sa.and_(items.c.user_id == writing.user_id, items.c.thread_id == turn.thread_id)
    quoting = sa.select(items.c.id, items.c.source_context).where(
        theirs, items.c.source_context.is_not(None)
    )
    for number, quote in writing.connection.execute(quoting).all():
        if clean(quote) != quote:
            _update(writing, items, number, {"source_context": clean(quote)})
            _redact_history(writing, number, clean)
    open_ones = sa.select(proposals.c.id, proposals.c.quote, proposals.c.draft).where(
        proposals.c.user_id == writing.user_id,
        proposals.c.thread_id == turn.thread_id,
        proposals.c.draft.is_not(None),
    )
    for number, quote, draft in writing.connection.execute(open_ones).all():
        changed = _in_words(draft, clean)
        values = {"quote": quote and clean(quote), "draft": changed}
        if values != {"quote": quote, "draft": draft}:
            values["content_hash"] = content_hash(changed["content"])
            _update(writing, proposals, number, values)


def _redact_history(writing: WriteTransaction, number: int, clean: Callable[[str], str]) -> None:
    of_it = sa.and_(
        history.c.user_id == writing.user_id,
        history.c.item_id == number,
        history.c.before.is_not(None),
    )
    wanted = sa.select(history.c.revision, history.c.before).where(of_it)
    for revision, before in writing.connection.execute(wanted).all():
        where = sa.and_(history.c.user_id == writing.user_id, history.c.revision == revision)
        values = {"before": _in_words(before, clean)}
        writing.connection.execute(sa.update(history).where(where).values(**values))


def _update(
    writing: WriteTransaction, table: sa.Table, number: int, values: dict[str, Any]
) -> None:
    where = sa.and_(table.c.user_id == writing.user_id, table.c.id == number)
    writing.connection.execute(sa.update(table).where(where).values(**values))
