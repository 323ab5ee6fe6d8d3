"""Whose memories a user may read right now."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import GLOBAL_OWNER, Status
from ricordo.storage.columns import Moment, Words
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import items, links
from ricordo.storage.where import Audience

_viewer = sa.bindparam("viewer", type_=Words)
_own_active = (
    sa.select(items.c.id)
    .where(
        items.c.user_id == _viewer,
        items.c.status == Status.ACTIVE.value,
        sa.or_(
            items.c.expires_at.is_(None),
            items.c.expires_at > sa.bindparam("now", type_=Moment),
        ),
    )
    .limit(sa.bindparam("global_until", type_=sa.Integer))
    .subquery()
)
_look_up: Final = Prepared(
    sa.select(
        sa.select(sa.func.count()).select_from(_own_active).scalar_subquery(),
        sa.case((sa.exists().where(links.c.user_id == _viewer), 1), else_=0),
    )
)


def audience_of(
    connection: sa.Connection,
    viewer: str,
    global_until: int,
    now: datetime,
    themes: frozenset[str] | None = None,
) -> Audience:
    """What a user may see: their own, what is linked to them, and the global memories while they
    have fewer than ``global_until`` active ones; of all that the ``themes``, None for every one."""
    given = {"viewer": viewer, "global_until": global_until, "now": now}
    own_active, has_links = _look_up.run(connection, given)[0]
    cold = own_active < global_until and viewer != GLOBAL_OWNER
    return Audience(viewer, has_links=bool(has_links), sees_global=cold, themes=themes)


EVERYONE: Final = Audience(None)
"""For administration only."""
