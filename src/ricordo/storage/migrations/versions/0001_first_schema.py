"""The first schema: users, themes, memories, links, history, conversations, jobs.

Revision ID: 0001
Revises:
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Json, Moment, Words

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID_SERIES = ("item_ids", "turn_ids", "job_ids")


def upgrade() -> None:
    """Make the tables, their indexes and the series of ids."""
    _create_store()
    _create_users()
    _create_themes()
    _create_items()
    _create_links()
    _create_history()
    _create_threads()
    _create_turns()
    _create_jobs()
    _start_id_series()


def _create_store() -> None:
    op.create_table(
        "store",
        sa.Column("name", Words, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_themes() -> None:
    op.create_table(
        "themes",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("slug", Words, primary_key=True),
        sa.Column("display_name", Words, nullable=False),
        sa.Column("description", Words),
        sa.Column("context", Words, nullable=False),
        sa.Column("rag_length", sa.Integer),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.CheckConstraint("context IN ('all', 'rag')", name=op.f("ck_themes_context")),
        sqlite_with_rowid=False,
    )


def _create_items() -> None:
    op.create_table(
        "items",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("theme", Words, nullable=False),
        sa.Column("type", Words, nullable=False),
        sa.Column("key", Words),
        sa.Column("content", Words, nullable=False),
        sa.Column("content_hash", Words, nullable=False),
        sa.Column("folded", Words, nullable=False),
        sa.Column("tags", Json, nullable=False),
        sa.Column("source", Words, nullable=False),
        sa.Column("source_context", Words),
        sa.Column("thread_id", Words),
        sa.Column("message_id", Words),
        sa.Column("agent_id", Words),
        sa.Column("run_id", Words),
        sa.Column("actor_id", Words),
        sa.Column("role", Words),
        sa.Column("confidence", sa.Integer, nullable=False),
        sa.Column("importance", sa.Integer, nullable=False),
        sa.Column("pinned", sa.Boolean, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("valid_from", Moment, nullable=False),
        sa.Column("valid_to", Moment),
        sa.Column("expires_at", Moment),
        sa.Column("purge_at", Moment),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.Column("last_accessed_at", Moment),
        sa.Column("last_verified_at", Moment),
        sa.Column("access_count", sa.BigInteger, nullable=False),
        sa.CheckConstraint("confidence BETWEEN 0 AND 100", name=op.f("ck_items_confidence")),
        sa.CheckConstraint("importance BETWEEN 1 AND 5", name=op.f("ck_items_importance")),
        sa.CheckConstraint(
            "source IN ('user_explicit', 'conversation', 'tool_call', 'auto_discovery', 'system', 'import', 'file')",
            name=op.f("ck_items_source"),
        ),
        sa.CheckConstraint(
            "status IN ('active', 'archived', 'superseded', 'deleted')",
            name=op.f("ck_items_status"),
        ),
        sa.CheckConstraint(
            "type IN ('preference', 'fact', 'instruction', 'summary', 'insight', 'episode', 'procedure', 'other')",
            name=op.f("ck_items_type"),
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "theme"], ["themes.user_id", "themes.slug"], name=op.f("fk_items_themes")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_items_created", "items", ["user_id", "created_at", "id"])
    op.create_index(
        "ix_items_expires", "items", ["user_id", "expires_at"], **_where("expires_at IS NOT NULL")
    )
    op.create_index(
        "ix_items_purge", "items", ["user_id", "purge_at"], **_where("purge_at IS NOT NULL")
    )
    op.create_index("ix_items_updated", "items", ["user_id", "updated_at", "id"])
    op.create_index(
        "uq_items_key",
        "items",
        ["user_id", "key", "theme"],
        unique=True,
        **_where("status = 'active' AND key IS NOT NULL"),
    )
    op.create_index(
        "uq_items_text",
        "items",
        ["user_id", "theme", "content_hash", sa.text("coalesce(key, '')")],
        unique=True,
        **_where("status = 'active'"),
    )


def _create_links() -> None:
    op.create_table(
        "links",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("item_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("owner_id", Words, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_links_owner", "links", ["owner_id", "item_id"])


def _create_history() -> None:
    op.create_table(
        "history",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("event", Words, nullable=False),
        sa.Column("item_id", sa.BigInteger, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("actor", Words, nullable=False),
        sa.Column("reason", Words),
        sa.Column("old_ref", sa.BigInteger),
        sa.Column("new_ref", sa.BigInteger),
        sa.Column("other_user", Words),
        sa.Column("meta", Json, nullable=False),
        sa.Column("before", Json),
        sa.CheckConstraint(
            "event IN ('ADD', 'UPDATE', 'ARCHIVE', 'DELETE', 'RESTORE', 'SUPERSEDE', 'MERGE', 'LINK', 'UNLINK', 'TTL', 'PURGE', 'CONSENT', 'PIN', 'VERIFY', 'UNDO')",
            name=op.f("ck_history_event"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_history_item", "history", ["user_id", "item_id", "revision"])
    op.create_index(
        "ix_history_other_user", "history", ["other_user"], **_where("other_user IS NOT NULL")
    )


def _create_threads() -> None:
    op.create_table(
        "threads",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("title", Words),
        sa.Column("turn_count", sa.Integer, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_threads_updated", "threads", ["user_id", "updated_at", "thread_id"])


def _create_turns() -> None:
    op.create_table(
        "turns",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("thread_id", Words, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("message_id", Words),
        sa.Column("role", Words, nullable=False),
        sa.Column("actor", Words),
        sa.Column("content", Words, nullable=False),
        sa.Column("tool_calls", Json),
        sa.Column("at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "thread_id"],
            ["threads.user_id", "threads.thread_id"],
            name=op.f("fk_turns_threads"),
        ),
    )
    op.create_index(
        "uq_turns_message",
        "turns",
        ["user_id", "thread_id", "message_id"],
        unique=True,
        **_where("message_id IS NOT NULL"),
    )
    op.create_index("uq_turns_position", "turns", ["user_id", "thread_id", "position"], unique=True)


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("unique_key", Words, nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("run_at", Moment, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("max_attempts", sa.Integer, nullable=False),
        sa.Column("lease_token", Words),
        sa.Column("lease_until", Moment),
        sa.Column("last_error", Words),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'dead')", name=op.f("ck_jobs_state")
        ),
    )
    op.create_index("ix_jobs_due", "jobs", ["state", "run_at", "id"])
    op.create_index("ix_jobs_user", "jobs", ["user_id"])
    op.create_index(
        "uq_jobs_queued",
        "jobs",
        ["kind", "user_id", "unique_key"],
        unique=True,
        **_where("state = 'queued'"),
    )


def _start_id_series() -> None:
    if op.get_bind().dialect.name == "sqlite":
        store = sa.table("store", sa.column("name"), sa.column("number"))
        op.bulk_insert(store, [{"name": series, "number": 0} for series in _ID_SERIES])
    else:
        for series in _ID_SERIES:
            op.execute(sa.schema.CreateSequence(sa.Sequence(series)))


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
