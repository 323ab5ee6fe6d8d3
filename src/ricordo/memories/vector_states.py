"""How far the vectors of single memories have come."""

from collections.abc import Iterable

import sqlalchemy as sa

from ricordo.model.embedding import EmbeddingState
from ricordo.model.vocabulary import VectorState
from ricordo.storage.backend import ITEMS
from ricordo.storage.database import Reading
from ricordo.storage.tables import item_index, items
from ricordo.storage.where import Audience, not_expired


def read_states(
    view: Reading, audience: Audience, ids: Iterable[int], *, are_made: bool
) -> list[EmbeddingState]:
    """The states of those memories that the audience may see, in the order of the ids.

    Of what is another user's, only the state itself is told. Where the viewer's vectors are not
    made at all, none of theirs is said to wait: they are left out.
    """
    listed = list(dict.fromkeys(ids))
    columns = (
        item_index.c.provider,
        item_index.c.model,
        item_index.c.dimensions,
        item_index.c.error,
    )
    wanted = (
        sa.select(items.c.id, items.c.user_id, item_index.c.state, *columns)
        .select_from(ITEMS.joined())
        .where(audience.condition(), not_expired(view.now), items.c.id.in_(listed))
    )
    found = {}
    for item_id, owner, state, *told in view.connection.execute(wanted):
        own = owner == audience.viewer
        if own and not are_made and state == VectorState.PENDING.value:
            continue
        provider, model, dimensions, error = told if own else (None, None, None, None)
        found[item_id] = EmbeddingState(
            id=item_id,
            state=VectorState(state),
            provider=provider,
            model=model,
            dimensions=dimensions,
            error=error,
        )
    return [found[item_id] for item_id in listed if item_id in found]
