"""The database schema; the migrations build exactly this.

Every table with a user's rows has ``user_id`` first in its primary key, so that one user's rows are
adjacent and the schema can be sharded by user. Nothing outside ``storage`` names a table or column.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.vocabulary import (
    SAID_KINDS,
    ContextPolicy,
    Event,
    EventStatus,
    JobState,
    KeyKind,
    MemoryType,
    ProposalState,
    Source,
    Status,
    VectorState,
)
from ricordo.storage.sql_types import Json, Moment, Vector, Words

metadata: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def one_of(column: str, allowed: Iterable[StrEnum]) -> sa.CheckConstraint:
    values = ", ".join(f"'{member.value}'" for member in allowed)
    return sa.CheckConstraint(f"{column} IN ({values})", name=column)


CLUSTERED: Final[dict[str, Any]] = {"sqlite_with_rowid": False}
"""On SQLite, rows are stored in primary key order: one user's together, one index less."""


thread_views: Final = sa.Table(
    "thread_views",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("looked_at", Moment, nullable=False),
    **CLUSTERED,
)
"""The revision each conversation has been notified of. It may not have any turns yet."""

compactions: Final = sa.Table(
    "compactions",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("last_position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("first_position", sa.Integer, nullable=False),
    sa.Column("day", Words, nullable=False),
    sa.Column("summary", Words, nullable=False),
    sa.Column("bridge", Words, nullable=False),
    sa.Column("made_by", Words, nullable=False),
    sa.Column("at", Moment, nullable=False),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
    sa.Index("ix_compactions_day", "user_id", "day", "at"),
    **CLUSTERED,
)
"""Summaries of conversation segments: ``summary`` for the day's log, ``bridge`` for the
conversation up to here. The turns stay."""

checkpoints: Final = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("state", Words, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
)
"""A program's state per conversation, as JSON text: a JSON column would not preserve it exactly."""

graph_checkpoints: Final = sa.Table(
    "graph_checkpoints",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("namespace", Words, primary_key=True),
    sa.Column("checkpoint_id", Words, primary_key=True),
    sa.Column("parent_id", Words),
    sa.Column("run_id", Words),
    sa.Column("format", Words, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("metadata_format", Words, nullable=False),
    sa.Column("metadata", sa.LargeBinary, nullable=False),
    sa.Column("at", Moment, nullable=False),
)
# For listing across threads and namespaces.
sa.Index(
    "ix_graph_checkpoints_order",
    graph_checkpoints.c.user_id,
    graph_checkpoints.c.checkpoint_id,
    graph_checkpoints.c.thread_id,
    graph_checkpoints.c.namespace,
)
sa.Index("ix_graph_checkpoints_run", graph_checkpoints.c.user_id, graph_checkpoints.c.run_id)

graph_channels: Final = sa.Table(
    "graph_channels",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("namespace", Words, primary_key=True),
    sa.Column("channel", Words, primary_key=True),
    sa.Column("version", Words, primary_key=True),
    sa.Column("format", Words, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""The values of a graph's channels, each version once."""

graph_writes: Final = sa.Table(
    "graph_writes",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("namespace", Words, primary_key=True),
    sa.Column("checkpoint_id", Words, primary_key=True),
    sa.Column("task_id", Words, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("task_path", Words, nullable=False),
    sa.Column("channel", Words, nullable=False),
    sa.Column("format", Words, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""Writes of a graph's tasks since a checkpoint."""

store_entries: Final = sa.Table(
    "store_entries",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("namespace", Words, primary_key=True),
    sa.Column("key", Words, primary_key=True),
    sa.Column("value", Words, nullable=False),
    sa.Column("item_id", sa.BigInteger),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    sa.Column("expires_at", Moment),
    sa.Column("ttl_minutes", sa.Double),
)
"""Entries of a program's key-value store. ``item_id`` is the memory an entry is searched by."""
sa.Index("ix_store_entries_item", store_entries.c.user_id, store_entries.c.item_id)
sa.Index(
    "ix_store_entries_expires",
    store_entries.c.user_id,
    store_entries.c.expires_at,
    sqlite_where=store_entries.c.expires_at.is_not(None),
    postgresql_where=store_entries.c.expires_at.is_not(None),
)


def _index_table(of: str) -> sa.Table:
    """What search reads of a memory or turn: its terms, and its vector or why it has none."""
    name = f"{of}_index"
    table = sa.Table(
        name,
        metadata,
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("stamp", sa.BigInteger, nullable=False),
        sa.Column("analyser", Words, nullable=False),
        sa.Column("terms", Words, nullable=False),
        sa.Column("text_hash", Words, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("provider", Words),
        sa.Column("model", Words),
        sa.Column("dimensions", sa.Integer),
        sa.Column("error", Words),
        sa.Column("vector", Vector),
        one_of("state", VectorState),
    )
    sa.Index(f"ix_{name}_stamp", table.c.user_id, table.c.stamp)
    sa.Index(f"ix_{name}_text", table.c.user_id, table.c.text_hash)
    # Covers the counts of vectors by state, without reading the wide rows.
    made = (table.c.state, table.c.provider, table.c.model, table.c.dimensions)
    sa.Index(f"ix_{name}_made", table.c.user_id, *made)
    waiting = table.c.state == "pending"
    sa.Index(
        f"ix_{name}_pending",
        table.c.user_id,
        table.c.id,
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    return table


item_index: Final = _index_table("item")
turn_index: Final = _index_table("turn")

relations: Final = sa.Table(
    "relations",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("low_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("high_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("similarity", sa.Double, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.CheckConstraint("low_id < high_id", name="order"),
    sa.Index("ix_relations_high", "user_id", "high_id", "low_id"),
    **CLUSTERED,
)
"""Similar memories of one user; each pair once, the lower id first."""


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
"""API keys. ``id`` is the public part of a key; of the secret only the hash is stored. ``user_id``
is the user a user's or agent's key acts for."""

ended_sessions: Final = sa.Table(
    "ended_sessions",
    metadata,
    sa.Column("id", Words, primary_key=True),
    sa.Column("until", Moment, nullable=False),
    **CLUSTERED,
)
"""Web sessions that were signed out, until their cookies expire."""

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
"""Responses by idempotency key; without a status while the request is in progress."""


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
"""``owner_id`` offers the memory ``item_id`` to ``user_id``, who has decided (``state``) or not
yet. Accepted offers have a link. The memory's text is not copied."""

blocked_senders: Final = sa.Table(
    "blocked_senders",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("sender_id", Words, primary_key=True),
    sa.Column("created_at", Moment, nullable=False),
    sa.Index("ix_blocked_senders_sender", "sender_id"),
    **CLUSTERED,
)
"""``user_id`` refuses offers from ``sender_id``."""


ITEM_IDS: Final = "item_ids"
TURN_IDS: Final = "turn_ids"
JOB_IDS: Final = "job_ids"
EVENT_IDS: Final = "event_ids"
ID_SERIES: Final = (ITEM_IDS, TURN_IDS, JOB_IDS, EVENT_IDS)
"""Ascending ids: sequences on PostgreSQL, rows of ``store`` on SQLite."""

for _series in ID_SERIES:
    sa.Sequence(_series, metadata=metadata)


store: Final = sa.Table(
    "store",
    metadata,
    sa.Column("name", Words, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("text", Words),
    **CLUSTERED,
)

users: Final = sa.Table(
    "users",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    sa.Column("index_stamp", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("index_epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("index_removals", sa.BigInteger, nullable=False, server_default="0"),
    **CLUSTERED,
)
"""One row per user with their revision. Writers lock it, which serialises a user's writes.

``index_stamp`` grows with each write to the search index. ``index_removals`` is the stamp of the
last removal of rows: copies must then check which are left. ``index_epoch`` is the stamp of the
last rebuild: older copies must start over.
"""

themes: Final = sa.Table(
    "themes",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("slug", Words, primary_key=True),
    sa.Column("display_name", Words, nullable=False),
    sa.Column("description", Words),
    sa.Column("context", Words, nullable=False),
    sa.Column("rag_length", sa.Integer),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    one_of("context", ContextPolicy),
    **CLUSTERED,
)

items: Final = sa.Table(
    "items",
    metadata,
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
    sa.ForeignKeyConstraint(["user_id", "theme"], ["themes.user_id", "themes.slug"]),
    one_of("type", MemoryType),
    one_of("source", Source),
    one_of("status", Status),
    sa.CheckConstraint("confidence BETWEEN 0 AND 100", name="confidence"),
    sa.CheckConstraint("importance BETWEEN 1 AND 5", name="importance"),
    **CLUSTERED,
)
_active = items.c.status == "active"

sa.Index("ix_items_created", items.c.user_id, items.c.created_at, items.c.id)
sa.Index("ix_items_updated", items.c.user_id, items.c.updated_at, items.c.id)
# Lists a theme's active memories by time; with expiry and status it also covers counting them.
sa.Index(
    "ix_items_active",
    items.c.user_id,
    items.c.theme,
    items.c.created_at,
    items.c.id,
    items.c.expires_at,
    items.c.status,
    sqlite_where=_active,
    postgresql_where=_active,
)
sa.Index(
    "uq_items_text",
    items.c.user_id,
    items.c.theme,
    items.c.content_hash,
    sa.func.coalesce(items.c.key, ""),
    unique=True,
    sqlite_where=_active,
    postgresql_where=_active,
)
sa.Index(
    "uq_items_key",
    items.c.user_id,
    items.c.key,
    items.c.theme,
    unique=True,
    sqlite_where=sa.and_(_active, items.c.key.is_not(None)),
    postgresql_where=sa.and_(_active, items.c.key.is_not(None)),
)
sa.Index(
    "ix_items_expires",
    items.c.user_id,
    items.c.expires_at,
    sqlite_where=items.c.expires_at.is_not(None),
    postgresql_where=items.c.expires_at.is_not(None),
)
sa.Index(
    "ix_items_purge",
    items.c.user_id,
    items.c.purge_at,
    sqlite_where=items.c.purge_at.is_not(None),
    postgresql_where=items.c.purge_at.is_not(None),
)

# Finds the memories that refer to a message, or to the time of one.
sa.Index(
    "ix_items_thread",
    items.c.user_id,
    items.c.thread_id,
    items.c.message_id,
    items.c.valid_from,
    sqlite_where=items.c.thread_id.is_not(None),
    postgresql_where=items.c.thread_id.is_not(None),
)

links: Final = sa.Table(
    "links",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("item_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("owner_id", Words, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Index("ix_links_owner", "owner_id", "item_id"),
    **CLUSTERED,
)
"""``user_id`` may see the memory ``item_id`` of ``owner_id``, and has agreed to it."""

history: Final = sa.Table(
    "history",
    metadata,
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
    one_of("event", Event),
    sa.Index("ix_history_item", "user_id", "item_id", "revision"),
    **CLUSTERED,
)
sa.Index(
    "ix_history_other_user",
    history.c.other_user,
    sqlite_where=history.c.other_user.is_not(None),
    postgresql_where=history.c.other_user.is_not(None),
)

threads: Final = sa.Table(
    "threads",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("title", Words),
    sa.Column("turn_count", sa.Integer, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    sa.Index("ix_threads_updated", "user_id", "updated_at", "thread_id"),
    **CLUSTERED,
)

turns: Final = sa.Table(
    "turns",
    metadata,
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
    sa.Column("observed_by", Json),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
)
sa.Index("uq_turns_position", turns.c.user_id, turns.c.thread_id, turns.c.position, unique=True)
sa.Index(
    "uq_turns_message",
    turns.c.user_id,
    turns.c.thread_id,
    turns.c.message_id,
    unique=True,
    sqlite_where=turns.c.message_id.is_not(None),
    postgresql_where=turns.c.message_id.is_not(None),
)
# Finds turns without a message id by time.
sa.Index(
    "ix_turns_unnamed",
    turns.c.user_id,
    turns.c.thread_id,
    turns.c.at,
    sqlite_where=turns.c.message_id.is_(None),
    postgresql_where=turns.c.message_id.is_(None),
)


embedding_settings: Final = sa.Table(
    "embedding_settings",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("provider", Words, nullable=False),
    sa.Column("model", Words),
    sa.Column("base_url", Words),
    sa.Column("sealed_key", Words),
    sa.Column("dimensions", sa.Integer),
    sa.Column("updated_at", Moment, nullable=False),
    **CLUSTERED,
)
"""The embedding model of users who do not use the store's."""

formation: Final = sa.Table(
    "formation",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("formed_position", sa.Integer, nullable=False),
    sa.Column("observed_at", Moment, nullable=False),
    sa.Column("formed_at", Moment),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
    **CLUSTERED,
)
"""Up to which turn each observed conversation has been formed into memories."""

proposals: Final = sa.Table(
    "proposals",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", Words, nullable=False),
    sa.Column("state", Words, nullable=False),
    sa.Column("fields", Json, nullable=False),
    sa.Column("content_hash", Words, nullable=False),
    sa.Column("draft", Json),
    sa.Column("quote", Words),
    sa.Column("signals", Json, nullable=False),
    sa.Column("thread_id", Words),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("expires_at", Moment, nullable=False),
    sa.Column("decided_at", Moment),
    sa.Column("decided_by", Words),
    sa.Column("item_id", sa.BigInteger),
    one_of("kind", SAID_KINDS),
    one_of("state", ProposalState),
    sa.Index("ix_proposals_state", "user_id", "state", "id"),
    sa.Index("ix_proposals_text", "user_id", "content_hash"),
    **CLUSTERED,
)
"""Statements that wait for a decision. Ids are from the series of memories, so that history can
refer to both. ``draft`` and ``quote`` are cleared with the decision."""

summaries: Final = sa.Table(
    "summaries",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("content", Words, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("made_by", Words, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    **CLUSTERED,
)
"""A narrative of what is known about a user, and the revision it was made from."""

events: Final = sa.Table(
    "events",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", Moment, nullable=False),
    sa.Column("node", Words, nullable=False),
    sa.Column("op", Words, nullable=False),
    sa.Column("status", Words, nullable=False),
    sa.Column("thread_id", Words),
    sa.Column("item_id", sa.BigInteger),
    sa.Column("theme", Words),
    sa.Column("similarity", sa.Double),
    sa.Column("detail", Words),
    one_of("status", EventStatus),
    sa.Index("ix_events_at", "user_id", "at"),
    **CLUSTERED,
)
"""Steps of background work, without the contents of memories."""

tallies: Final = sa.Table(
    "tallies",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("day", Words, primary_key=True),
    sa.Column("name", Words, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    **CLUSTERED,
)
"""Counters per user and day (UTC): decisions, model calls, tokens."""

upkeep: Final = sa.Table(
    "upkeep",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("tended_since", Moment),
    sa.Column("upkept_at", Moment),
    sa.Column("consolidated_at", Moment),
    sa.Column("pairs_wait_since", Moment),
    sa.Column("insights_at", Moment),
    sa.Column("related_after", sa.BigInteger, nullable=False),
    **CLUSTERED,
)
"""When each part of a user's upkeep was last done, and what is left."""

checked_pairs: Final = sa.Table(
    "checked_pairs",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("low_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("high_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("fingerprint", Words, nullable=False),
    sa.Column("verdict", Words, nullable=False),
    sa.Column("checked_at", Moment, nullable=False),
    sa.CheckConstraint("low_id < high_id", name="order"),
    sa.Index("ix_checked_pairs_at", "user_id", "checked_at"),
    **CLUSTERED,
)
"""Pairs of memories that consolidation has checked recently."""

jobs: Final = sa.Table(
    "jobs",
    metadata,
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
    sa.Column("woken_at", Moment),
    sa.Column("progress", Words),
    one_of("state", JobState),
    sa.Index("ix_jobs_due", "state", "run_at", "id"),
    sa.Index("ix_jobs_user", "user_id"),
)
sa.Index(
    "uq_jobs_queued",
    jobs.c.kind,
    jobs.c.user_id,
    jobs.c.unique_key,
    unique=True,
    sqlite_where=jobs.c.state == "queued",
    postgresql_where=jobs.c.state == "queued",
)

OWNED_TABLES: Final = (
    api_keys,
    kept_answers,
    thread_views,
    compactions,
    checkpoints,
    graph_checkpoints,
    graph_channels,
    graph_writes,
    store_entries,
    formation,
    proposals,
    summaries,
    events,
    tallies,
    upkeep,
    checked_pairs,
    relations,
    item_index,
    turn_index,
    embedding_settings,
    items,
    themes,
    links,
    link_offers,
    blocked_senders,
    history,
    turns,
    threads,
    jobs,
    users,
)
"""Every table with a user's rows, in an order in which they can be deleted."""
