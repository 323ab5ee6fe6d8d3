"""The text by which a memory or a turn can be found: what was said, and what belongs to it.

The vector is of the bare content. The terms also take in where a memory is filed, and for a turn
who spoke and when, so that a name or a date in a question can match.
"""

from ricordo.model.item import Item
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType
from ricordo.text.dates import date_terms


def text_of_item(item: Item) -> str:
    """A memory with its key, tags and theme. Where it came from stays out: that is its owner's."""
    parts = [item.content, *item.tags]
    if item.key is not None:
        parts.append(item.key)
    if item.theme != GENERAL_THEME:
        parts.append(item.theme)
    if item.type is MemoryType.EPISODE:
        parts.append(date_terms(item.valid_from))
    return "\n".join(parts)


def text_of_turn(turn: Turn) -> str:
    """A turn with its speaker and date."""
    return "\n".join([turn.actor or "", turn.content, date_terms(turn.at)])
