"""Writing history: in the owner's, and in that of everyone whom the memory is shared with."""

from collections.abc import Mapping
from typing import Any

from ricordo.model.item import Item
from ricordo.model.vocabulary import Event
from ricordo.storage.links import viewers_of
from ricordo.storage.transaction import OWNER_ACTED, Writing


def record_change(
    writing: Writing,
    item: Item,
    event: Event,
    *,
    actor: str,
    reason: str | None = None,
    old_ref: int | None = None,
    new_ref: int | None = None,
    meta: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
) -> None:
    """One row for the owner, and one without any of their words for each viewer.

    Viewers get the row so that what follows their change feed (caches, files) learns of it.
    """
    writing.record(
        event,
        item.id,
        actor=actor,
        reason=reason,
        old_ref=old_ref,
        new_ref=new_ref,
        meta=meta,
        before=before,
        user_id=item.user_id,
    )
    for viewer in viewers_of(writing.connection, item.user_id, item.id):
        writing.record(event, item.id, actor=OWNER_ACTED, other_user=item.user_id, user_id=viewer)
