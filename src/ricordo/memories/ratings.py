"""Rating a memory: what users and agents say of it, and what follows."""

from typing import Final

from ricordo.errors import IllegalTransition
from ricordo.frozen import replace
from ricordo.memories.lifecycle import own_item, set_values
from ricordo.memories.replacement import REPLACED, close, restore_closed
from ricordo.model.item import Change, Item, Rating, former_values, is_refuted, with_rating
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status, Verdict
from ricordo.storage.database import WriteTransaction
from ricordo.storage.history import last_change
from ricordo.storage.users import drop_summary

VERDICT: Final = "verdict"
"""In the meta of a RATE: what was said. Of a SUPERSEDE: what was said that ended the memory."""
FORMER: Final = "former"
"""In the meta of a RATE: what the same had said before."""


def rate(
    writing: WriteTransaction,
    scope: Scope,
    item_id: int,
    verdict: Verdict,
    reason: str | None,
    query: str | None,
) -> tuple[Item, bool]:
    """Note what a user or an agent says of a memory; its state, and whether that is new.

    What a user calls wrong or outdated is ended by nothing else: it was true until now, or never.
    Taken back, it is as it was.

    Raises:
        Occupied: its key or text was taken by another active memory meanwhile.
        IllegalTransition: it was forgotten.
        MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    if item.status is Status.DELETED:
        raise IllegalTransition(f"memory {item.id} was deleted: restore it first")
    if scope.project_id is not None and item.project_id is None:  # which other projects see
        scope, query = replace(scope, thread_id=None), None
    rating = _rating_of(writing, scope, verdict, reason, query)
    former = rating_by(scope, item)
    if verdict is Verdict.WITHDRAWN:
        if former is None:
            return item, False
        ratings = tuple(one for one in item.ratings if one is not former)
    elif former is not None and rating.repeats(former):
        return item, False
    else:
        ratings = with_rating(item.ratings, rating)
    meta = {VERDICT: verdict.value}
    if former is not None:
        meta[FORMER] = former.verdict.value
    values = {"ratings": ratings}
    rated = set_values(writing, item, values, Event.RATE, scope.actor, reason, meta)
    return _follow(writing, scope, item, rated, rating), True


def rating_by(scope: Scope, item: Item) -> Rating | None:
    """What the one who acts says of a memory."""
    who = _who(scope)
    return next((one for one in item.ratings if (one.by, one.is_agent) == who), None)


def _who(scope: Scope) -> tuple[str, bool]:
    is_agent = not scope.is_the_users
    return (scope.agent_id or scope.actor) if is_agent else scope.person, is_agent


def _rating_of(
    writing: WriteTransaction,
    scope: Scope,
    verdict: Verdict,
    reason: str | None,
    query: str | None,
) -> Rating:
    by, is_agent = _who(scope)
    return Rating(
        verdict=verdict,
        by=by,
        is_agent=is_agent,
        at=writing.now,
        reason=reason,
        query=query,
        thread_id=scope.thread_id,
    )


def _follow(
    writing: WriteTransaction, scope: Scope, before: Item, rated: Item, rating: Rating
) -> Item:
    """End what a user says is not so, or bring it back where nobody says so any more."""
    if rating.is_agent:
        return rated
    ended = _ended_by_rating(writing, before)
    if not is_refuted(rated.ratings):
        return rated if ended is None else restore_closed(writing, scope, rated, ended, None)
    if ended is not None and rating.is_against:  # ended in another way now
        rated = replace(rated, valid_to=former_values(ended.before or {}).get("valid_to"))
    elif rated.status is not Status.ACTIVE:
        return rated
    start = rated.valid_from if rating.verdict is Verdict.WRONG else writing.now
    drop_summary(writing.connection, rated.user_id)  # it may mention this memory
    return close(writing, scope, rated, start, meta={VERDICT: rating.verdict.value})


def _ended_by_rating(writing: WriteTransaction, item: Item) -> Change | None:
    """The change that ended a memory, where that was a rating."""
    if item.status is not Status.SUPERSEDED:
        return None
    change = last_change(writing.connection, item.user_id, item.id, REPLACED)
    return change if change is not None and VERDICT in change.meta else None
