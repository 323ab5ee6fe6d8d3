"""The tables of the service: who may come in, what was asked before; a part of ``tables.py``."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import KeyKind
from ricordo.storage.columns import Json, Moment, Words
from ricordo.storage.schema import CLUSTERED, metadata, one_of

api_keys: Final = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", Words, primary_key=True),
    sa.Column("secret_hash", Words, nullable=False),
    sa.Column("name", Words, nullable=False),
    sa.Column("kind", Words, nullable=False),
    sa.Column("user_id", Words),
    sa.Column("agent_id", Words),
    sa.Column("categories", Json),
    sa.Column("permissions", Json, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("expires_at", Moment),
    sa.Column("revoked_at", Moment),
    sa.Column("last_used_at", Moment),
    one_of("kind", KeyKind),
    sa.Index("ix_api_keys_user", "user_id"),
    **CLUSTERED,
)
"""Keys of the service. ``id`` is the part of a key that may be shown; of the secret only the hash
is kept. ``user_id`` is whom a key of a user or an agent acts for."""

ended_sessions: Final = sa.Table(
    "ended_sessions",
    metadata,
    sa.Column("id", Words, primary_key=True),
    sa.Column("until", Moment, nullable=False),
    **CLUSTERED,
)
"""Sessions of the web page that were signed out of, each until its cookie would have ended."""

kept_answers: Final = sa.Table(
    "kept_answers",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("idempotency_key", Words, primary_key=True),
    sa.Column("request_hash", Words, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("headers", Json),
    sa.Column("body", sa.LargeBinary),
    sa.Column("at", Moment, nullable=False),
    sa.Index("ix_kept_answers_at", "user_id", "at"),
)
"""What requests with an idempotency key were answered; without a status while one is under way."""
