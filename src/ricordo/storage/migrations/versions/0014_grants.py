"""What users allowed programs that signed in with OAuth, and their tokens."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Json, Moment, Words

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make the three tables."""
    op.create_table(
        "oauth_clients",
        sa.Column("id", Words, primary_key=True),
        sa.Column("name", Words, nullable=False),
        sa.Column("redirect_uris", Json, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "grants",
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("key_id", Words, nullable=False),
        sa.Column("client_id", Words, nullable=False),
        sa.Column("client_name", Words, nullable=False),
        sa.Column("scopes", Json, nullable=False),
        sa.Column("resource", Words, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("last_used_at", Moment),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_grants_user", "grants", ["user_id", "created_at"])
    op.create_index("ix_grants_key", "grants", ["key_id"])
    op.create_table(
        "grant_tokens",
        sa.Column("hash", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("grant_id", Words, nullable=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("used_at", Moment),
        sa.Column("redirect_uri", Words),
        sa.Column("challenge", Words),
        sa.CheckConstraint(
            "kind IN ('code', 'access', 'refresh')", name=op.f("ck_grant_tokens_kind")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_grant_tokens_grant", "grant_tokens", ["grant_id"])
