"""Tables of what users offer each other, and whom they block. What was accepted is in ``links``."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import ProposalState
from ricordo.storage.columns import Moment, Words
from ricordo.storage.schema import CLUSTERED, metadata, one_of

link_offers: Final = sa.Table(
    "link_offers",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("item_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("owner_id", Words, nullable=False),
    sa.Column("state", Words, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("expires_at", Moment, nullable=False),
    sa.Column("decided_at", Moment),
    sa.Column("decided_by", Words),
    one_of("state", ProposalState),
    sa.Index("ix_link_offers_owner", "owner_id", "item_id"),
    **CLUSTERED,
)
"""``owner_id`` offers the memory ``item_id`` to ``user_id``, who has not decided yet, has accepted
it (then there is a link), or does not want it, now or any more. Nothing that it says is kept."""

blocked_senders: Final = sa.Table(
    "blocked_senders",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("sender_id", Words, primary_key=True),
    sa.Column("created_at", Moment, nullable=False),
    sa.Index("ix_blocked_senders_sender", "sender_id"),
    **CLUSTERED,
)
"""``user_id`` wants to be offered nothing by ``sender_id``."""
