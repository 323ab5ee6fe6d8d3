"""The log of a day: what a user's conversations were about."""

from collections.abc import Sequence
from datetime import tzinfo

import sqlalchemy as sa

from ricordo.limits import MAX_DAY_LOG_CHARS, MAX_PAGE_ITEMS
from ricordo.model.thread import Compaction
from ricordo.storage.threads import compactions_of_day


def entries_of_day(connection: sa.Connection, user_id: str, day: str) -> list[Compaction]:
    """The latest stretches of a day in order, without those in which nobody spoke."""
    found = compactions_of_day(connection, user_id, day, MAX_PAGE_ITEMS)
    return [one for one in found if one.summary]


def beside(entries: Sequence[Compaction], thread_id: str, bridge: str | None) -> list[Compaction]:
    """Those entries that the bridge of a conversation does not tell already.

    The latest one of the conversation itself is in its bridge, in whatever words.
    """
    own = [one for one in entries if one.thread_id == thread_id]
    told = own[-1:] + [one for one in own if bridge is not None and one.summary in bridge]
    return [one for one in entries if one not in told]


def day_text(entries: Sequence[Compaction], zone: tzinfo) -> str | None:
    """As many of the entries as fit into ``MAX_DAY_LOG_CHARS``, the newest last."""
    room = MAX_DAY_LOG_CHARS
    shown: list[str] = []
    for one in reversed(entries):
        text = f"[{one.at.astimezone(zone):%H:%M}, {one.thread_id}]\n{one.summary}"
        if len(text) > room:
            break
        room -= len(text) + 2
        shown.append(text)
    return "\n\n".join(reversed(shown)) or None
