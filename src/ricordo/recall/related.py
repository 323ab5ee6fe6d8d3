"""The neighbours of memories, as they were noted when they were written."""

from collections.abc import Collection

from ricordo.model.filters import ItemFilter
from ricordo.model.search import Related
from ricordo.storage.database import Reading
from ricordo.storage.items import find_items
from ricordo.storage.relations import relations_of
from ricordo.storage.tables import items
from ricordo.storage.where import Audience, matching
from ricordo.text.secrets import without_secrets


def read_related(
    view: Reading,
    user_id: str,
    ids: Collection[int],
    limit: int,
    wanted: ItemFilter | None = None,
) -> list[Related]:
    """Active memories of a user that are related to any of these, the most similar first."""
    similarity: dict[int, float] = {}
    for low, high, found in relations_of(view.connection, user_id, ids):
        for one, other in ((low, high), (high, low)):
            if one in ids and other not in ids:
                similarity[other] = max(found, similarity.get(other, 0.0))
    if not similarity:
        return []
    where = matching(Audience(user_id), wanted or ItemFilter(), view.now)
    present = find_items(view.connection, where & items.c.id.in_(list(similarity)))
    related = [
        Related(
            id=item.id,
            theme=item.theme,
            type=item.type,
            content=without_secrets(item.content),
            similarity=round(similarity[item.id], 4),
        )
        for item in present
    ]
    return sorted(related, key=lambda one: (-one.similarity, -one.id))[:limit]
