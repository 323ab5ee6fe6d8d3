"""The database schema; the migrations build exactly this.

Every table with a user's rows has ``user_id`` first in its primary key, so that one user's rows are
adjacent and the schema can be sharded by user. Nothing outside ``storage`` names a table or column.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from ricordo.frozen import dataclass
from ricordo.limits import MAX_PIECE_CHARS
from ricordo.model.embedding import VectorModel
from ricordo.model.vocabulary import (
    SAID_KINDS,
    ContextPolicy,
    Event,
    EventStatus,
    GroupRole,
    JobState,
    KeyKind,
    MemoryType,
    ProposalState,
    Source,
    Status,
    TokenKind,
    UpstreamKind,
    VectorState,
    WebhookState,
)
from ricordo.storage.sql import Json, Moment, Vector, Words

metadata: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

_ACTIVE: Final = "status = 'active'"
_PROJECT: Final = sa.text("coalesce(project_id, '')")
"""The same in two projects is two."""


def _one_of(column: str, allowed: Iterable[StrEnum]) -> sa.CheckConstraint:
    values = ", ".join(f"'{member.value}'" for member in allowed)
    return sa.CheckConstraint(f"{column} IN ({values})", name=column)


def _table(name: str, *parts: SchemaItem, has_rowid: bool = False) -> sa.Table:
    """A table. Without a rowid, SQLite stores rows in primary key order: one user's together, one
    index less."""
    return sa.Table(name, metadata, *parts, sqlite_with_rowid=has_rowid)


def _key(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, primary_key=True, autoincrement=False) for name in names]


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _partial_index(name: str, where: str, *columns: Any, unique: bool = False) -> sa.Index:
    return sa.Index(name, *columns, unique=unique, sqlite_where=sa.text(where))


@sa.event.listens_for(metadata, "before_create")
def _partial_on_postgres(_metadata: Any, connection: sa.Connection, **_: Any) -> None:
    """Named with the indexes, this option would load the dialect of PostgreSQL on SQLite, too."""
    if connection.dialect.name == "postgresql":
        for index in (index for table in metadata.tables.values() for index in table.indexes):
            where = index.dialect_options["sqlite"]["where"]
            index.dialect_options["postgresql"]["where"] = where


def without_user(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of one user's rows."""
    return [column for column in table.c if column.name != "user_id"]


thread_views: Final = _table(
    "thread_views",
    *_key(Words, "user_id", "thread_id"),
    *_required(sa.BigInteger, "revision"),
    *_required(Moment, "looked_at"),
    *_optional(Json, "ahead"),
)
"""The revision each conversation has been notified of. It may not have any turns yet, and until
there are memories its user may have no row. ``ahead`` has the memories that it was notified of
further: see ``ThreadView``."""

compactions: Final = _table(
    "compactions",
    *_key(Words, "user_id", "thread_id"),
    *_key(sa.Integer, "last_position"),
    *_required(sa.Integer, "first_position"),
    *_required(Words, "day", "summary", "bridge", "made_by"),
    *_required(Moment, "at"),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
    sa.Index("ix_compactions_day", "user_id", "day", "at"),
)
"""Summaries of conversation segments: ``summary`` for the day's log, ``bridge`` for the
conversation up to here. The turns stay."""

checkpoints: Final = _table(
    "checkpoints",
    *_key(Words, "user_id", "thread_id"),
    *_required(Words, "state"),
    *_required(sa.BigInteger, "version"),
    *_required(Moment, "created_at", "updated_at"),
    has_rowid=True,
)
"""A program's state per conversation, as JSON text: a JSON column would not preserve it exactly."""

graph_checkpoints: Final = _table(
    "graph_checkpoints",
    *_key(Words, "user_id", "thread_id", "namespace", "checkpoint_id"),
    *_optional(Words, "parent_id", "run_id"),
    *_required(Words, "format"),
    *_required(sa.LargeBinary, "data"),
    *_required(Words, "metadata_format"),
    *_required(sa.LargeBinary, "metadata"),
    *_required(Moment, "at"),
    # For listing across threads and namespaces.
    sa.Index("ix_graph_checkpoints_order", "user_id", "checkpoint_id", "thread_id", "namespace"),
    sa.Index("ix_graph_checkpoints_run", "user_id", "run_id"),
    has_rowid=True,
)

graph_channels: Final = _table(
    "graph_channels",
    *_key(Words, "user_id", "thread_id", "namespace", "channel", "version"),
    *_required(Words, "format"),
    *_required(sa.LargeBinary, "data"),
    has_rowid=True,
)
"""The values of a graph's channels, each version once."""

graph_writes: Final = _table(
    "graph_writes",
    *_key(Words, "user_id", "thread_id", "namespace", "checkpoint_id", "task_id"),
    *_key(sa.Integer, "place"),
    *_required(Words, "task_path", "channel", "format"),
    *_required(sa.LargeBinary, "data"),
    has_rowid=True,
)
"""Writes of a graph's tasks since a checkpoint."""

store_entries: Final = _table(
    "store_entries",
    *_key(Words, "user_id", "namespace", "key"),
    *_required(Words, "value"),
    *_optional(sa.BigInteger, "item_id"),
    *_required(Moment, "created_at", "updated_at"),
    *_optional(Moment, "expires_at"),
    *_optional(sa.Double, "ttl_minutes"),
    sa.Index("ix_store_entries_item", "user_id", "item_id"),
    _partial_index("ix_store_entries_expires", "expires_at IS NOT NULL", "user_id", "expires_at"),
    has_rowid=True,
)
"""Entries of a program's key-value store. ``item_id`` is the memory an entry is searched by."""


def _index_table(of: str) -> sa.Table:
    """What search reads of a memory or turn: its terms, and its vector or why it has none."""
    name = f"{of}_index"
    return _table(
        name,
        *_key(Words, "user_id"),
        *_key(sa.BigInteger, "id"),
        *_required(sa.BigInteger, "stamp"),
        *_required(Words, "analyser", "terms", "text_hash", "state"),
        *_optional(Words, "provider", "model"),
        *_optional(sa.Integer, "dimensions"),
        *_optional(Words, "error"),
        *_optional(Vector, "vector"),
        _one_of("state", VectorState),
        sa.Index(f"ix_{name}_stamp", "user_id", "stamp"),
        sa.Index(f"ix_{name}_text", "user_id", "text_hash"),
        # Covers the counts of vectors by state, without reading the wide rows.
        sa.Index(f"ix_{name}_made", "user_id", "state", "provider", "model", "dimensions"),
        _partial_index(f"ix_{name}_pending", "state = 'pending'", "user_id", "id"),
        has_rowid=True,
    )


item_index: Final = _index_table("item")
turn_index: Final = _index_table("turn")

relations: Final = _table(
    "relations",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "low_id", "high_id"),
    *_required(sa.Double, "similarity"),
    *_required(Moment, "created_at"),
    sa.CheckConstraint("low_id < high_id", name="order"),
    sa.Index("ix_relations_high", "user_id", "high_id", "low_id"),
)
"""Similar memories of one user; each pair once, the lower id first."""

api_keys: Final = _table(
    "api_keys",
    *_key(Words, "id"),
    *_required(Words, "secret_hash", "name", "kind"),
    *_optional(Words, "user_id", "agent_id"),
    *_optional(Json, "categories"),
    *_required(Json, "permissions"),
    *_required(Moment, "created_at"),
    *_optional(Moment, "expires_at", "revoked_at", "last_used_at"),
    _one_of("kind", KeyKind),
    sa.Index("ix_api_keys_user", "user_id"),
)
"""API keys. ``id`` is the public part of a key; of the secret only the hash is stored. ``user_id``
is the user a user's or agent's key acts for."""

oauth_clients: Final = _table(
    "oauth_clients",
    *_key(Words, "id"),
    *_required(Words, "name"),
    *_required(Json, "redirect_uris"),
    *_required(Moment, "created_at"),
)
"""Programs that registered to ask users for access; see ``access/grants.py``."""

grants: Final = _table(
    "grants",
    *_key(Words, "id"),
    *_required(Words, "user_id", "key_id", "client_id", "client_name"),
    *_required(Json, "scopes"),
    *_required(Words, "resource"),
    *_required(Moment, "created_at", "expires_at"),
    *_optional(Moment, "last_used_at"),
    sa.Index("ix_grants_user", "user_id", "created_at"),
    sa.Index("ix_grants_key", "key_id"),
)
"""What a user allowed a program, by signing in with the key ``key_id``. It ends with its key, and
when none of its tokens is good any more."""

grant_tokens: Final = _table(
    "grant_tokens",
    *_key(Words, "hash"),
    *_required(Words, "user_id", "grant_id", "kind"),
    *_required(Moment, "created_at", "expires_at"),
    *_optional(Moment, "used_at"),
    *_optional(Words, "redirect_uri", "challenge"),
    _one_of("kind", TokenKind),
    sa.Index("ix_grant_tokens_grant", "grant_id"),
)
"""Codes and tokens of grants, as hashes alone. Used ones stay until they expire, so that a second
use is noticed."""

webhooks: Final = _table(
    "webhooks",
    *_key(Words, "user_id", "id"),
    *_required(Words, "url"),
    *_required(Json, "events"),
    *_optional(Words, "project_id"),
    *_required(Words, "sealed_secret"),
    *_optional(Words, "sealed_old_secret"),
    *_optional(Moment, "old_secret_until"),
    *_required(Words, "state"),
    *_optional(Words, "reason"),
    *_required(sa.Integer, "failures"),
    *_optional(Moment, "failing_since", "next_attempt_at"),
    *_optional(Words, "last_error"),
    *_optional(Moment, "last_delivered_at"),
    *_required(Moment, "created_at", "updated_at"),
    _one_of("state", WebhookState),
)
"""Addresses that changes are delivered to. Those for all users belong to the user ``""``. Secrets
are encrypted."""

webhook_cursors: Final = _table(
    "webhook_cursors",
    *_key(Words, "user_id", "webhook_id"),
    *_required(sa.BigInteger, "revision", "ahead_to"),
    *_required(Moment, "at"),
    *_optional(sa.BigInteger, "sending_to"),
    *_optional(Words, "message_id"),
    _partial_index("ix_webhook_cursors_pending", "ahead_to > revision", "user_id", "webhook_id"),
)
"""Up to which ``revision`` the changes of a user were delivered to a webhook, and up to which they
are known to go, since ``at``. A message that was begun ends with ``sending_to``, also when it is
sent again."""

webhook_deliveries: Final = _table(
    "webhook_deliveries",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(Words, "webhook_id", "message_id", "type"),
    *_optional(sa.BigInteger, "first_revision", "last_revision"),
    *_required(sa.Integer, "changes"),
    *_required(Moment, "at"),
    *_required(sa.Integer, "attempt"),
    *_required(sa.Boolean, "delivered"),
    *_optional(sa.Integer, "status"),
    *_required(sa.Integer, "milliseconds"),
    *_optional(Words, "error"),
    sa.Index("ix_webhook_deliveries_webhook", "user_id", "webhook_id", "id"),
)
"""The latest requests of webhooks, without what they said. ``user_id`` is whose changes they were
about; of a ping, whose webhook it is."""

ended_sessions: Final = _table("ended_sessions", *_key(Words, "id"), *_required(Moment, "until"))
"""Web sessions that were signed out, until their cookies expire."""

kept_answers: Final = _table(
    "kept_answers",
    *_key(Words, "user_id", "idempotency_key"),
    *_required(Words, "request_hash"),
    *_optional(sa.Integer, "status"),
    *_optional(Json, "headers"),
    *_optional(sa.LargeBinary, "body"),
    *_required(Moment, "at"),
    sa.Index("ix_kept_answers_at", "user_id", "at"),
    has_rowid=True,
)
"""Responses by idempotency key; without a status while the request is in progress."""

link_offers: Final = _table(
    "link_offers",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "item_id"),
    *_required(Words, "owner_id", "state"),
    *_required(Moment, "created_at", "expires_at"),
    *_optional(Moment, "decided_at"),
    *_optional(Words, "decided_by"),
    _one_of("state", ProposalState),
    sa.Index("ix_link_offers_owner", "owner_id", "item_id"),
)
"""``owner_id`` offers the memory ``item_id`` to ``user_id``, who has decided (``state``) or not
yet. Accepted offers have a link. The memory's text is not copied."""

blocked_senders: Final = _table(
    "blocked_senders",
    *_key(Words, "user_id", "sender_id"),
    *_required(Moment, "created_at"),
    sa.Index("ix_blocked_senders_sender", "sender_id"),
)
"""``user_id`` refuses offers from ``sender_id``."""


groups: Final = _table(
    "groups", *_key(Words, "user_id"), *_optional(Words, "title"), *_required(Moment, "created_at")
)
"""Groups of users; ``user_id`` is the owner of what they share: ``*`` and the group's name."""

group_members: Final = _table(
    "group_members",
    *_key(Words, "user_id", "space_id"),
    *_required(Words, "role"),
    *_optional(Words, "added_by"),
    *_required(Moment, "created_at"),
    _one_of("role", GroupRole),
    sa.Index("ix_group_members_space", "space_id", "user_id"),
)
"""``user_id`` is a member of the group whose space is ``space_id``."""

ITEM_IDS: Final = "item_ids"
TURN_IDS: Final = "turn_ids"
JOB_IDS: Final = "job_ids"
EVENT_IDS: Final = "event_ids"
ID_SERIES: Final = (ITEM_IDS, TURN_IDS, JOB_IDS, EVENT_IDS)
"""Ascending ids: sequences on PostgreSQL, rows of ``store`` on SQLite."""

for _series in ID_SERIES:
    sa.Sequence(_series, metadata=metadata)

store: Final = _table(
    "store", *_key(Words, "name"), *_required(sa.BigInteger, "number"), *_optional(Words, "text")
)

users: Final = _table(
    "users",
    *_key(Words, "user_id"),
    *_required(sa.BigInteger, "revision"),
    *_required(Moment, "created_at", "updated_at"),
    sa.Column("index_stamp", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("index_epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("index_removals", sa.BigInteger, nullable=False, server_default="0"),
)
"""One row per user with their revision. Writers lock it, which serialises a user's writes.

``index_stamp`` grows with each write to the search index. ``index_removals`` is the stamp of the
last removal of rows: copies must then check which are left. ``index_epoch`` is the stamp of the
last rebuild: older copies must start over.
"""

themes: Final = _table(
    "themes",
    *_key(Words, "user_id", "slug"),
    *_required(Words, "display_name"),
    *_optional(Words, "description"),
    *_required(Words, "context"),
    *_optional(sa.Integer, "rag_length"),
    *_required(Moment, "created_at", "updated_at"),
    _one_of("context", ContextPolicy),
)

USUAL: Final = {"importance": 2, "confidence": 90, "access_count": 0}
"""The values of most memories, by column."""

UNUSUAL: Final = {
    **{column: f"{column} <> {value}" for column, value in USUAL.items()},
    "last_accessed_at": "last_accessed_at IS NOT NULL",
}

items: Final = _table(
    "items",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(Words, "theme", "type"),
    *_optional(Words, "key"),
    *_required(Words, "content", "content_hash", "folded"),
    *_required(Json, "tags"),
    *_required(Words, "source"),
    *_optional(
        Words, "source_context", "thread_id", "message_id", "agent_id", "run_id", "actor_id", "role"
    ),
    *_required(sa.Integer, "confidence", "importance"),
    *_required(sa.Boolean, "pinned"),
    *_required(Words, "status"),
    *_required(Moment, "valid_from"),
    *_optional(Moment, "valid_to", "expires_at", "purge_at"),
    *_required(Moment, "created_at", "updated_at"),
    *_optional(Moment, "last_accessed_at", "last_verified_at"),
    *_required(sa.BigInteger, "access_count"),
    *_optional(Words, "project_id"),
    *_optional(Json, "ratings"),
    sa.ForeignKeyConstraint(["user_id", "theme"], ["themes.user_id", "themes.slug"]),
    _one_of("type", MemoryType),
    _one_of("source", Source),
    _one_of("status", Status),
    sa.CheckConstraint("confidence BETWEEN 0 AND 100", name="confidence"),
    sa.CheckConstraint("importance BETWEEN 1 AND 5", name="importance"),
    sa.Index("ix_items_created", "user_id", "created_at", "id"),
    sa.Index("ix_items_updated", "user_id", "updated_at", "id"),
    # Lists a theme's active memories by time; with expiry and status it also covers counting them.
    _partial_index(
        "ix_items_active", _ACTIVE, "user_id", "theme", "created_at", "id", "expires_at", "status"
    ),
    _partial_index(
        "uq_items_text",
        _ACTIVE,
        "user_id",
        "theme",
        "content_hash",
        sa.text("coalesce(\"key\", '')"),
        _PROJECT,
        unique=True,
    ),
    _partial_index(
        "uq_items_key",
        f'{_ACTIVE} AND "key" IS NOT NULL',
        "user_id",
        "key",
        "theme",
        _PROJECT,
        unique=True,
    ),
    _partial_index(
        "ix_items_project", "project_id IS NOT NULL", "user_id", "project_id", "created_at", "id"
    ),
    _partial_index("ix_items_expires", "expires_at IS NOT NULL", "user_id", "expires_at"),
    # For lists in these orders, of what has not the usual value: most writes pay nothing for them.
    *(
        _partial_index(f"ix_items_{column}", condition, "user_id", column, "id")
        for column, condition in UNUSUAL.items()
    ),
    # Finds what the user called wrong, which formation does not bring back.
    _partial_index("ix_items_rated", "ratings IS NOT NULL", "user_id", "status", "id"),
    _partial_index("ix_items_purge", "purge_at IS NOT NULL", "user_id", "purge_at"),
    # Finds the memories that refer to a message, or to the time of one.
    _partial_index(
        "ix_items_thread",
        "thread_id IS NOT NULL",
        "user_id",
        "thread_id",
        "message_id",
        "valid_from",
    ),
)

links: Final = _table(
    "links",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "item_id"),
    *_required(Words, "owner_id"),
    *_required(Moment, "created_at"),
    sa.Index("ix_links_owner", "owner_id", "item_id"),
)
"""``user_id`` may see the memory ``item_id`` of ``owner_id``, and has agreed to it."""

history: Final = _table(
    "history",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "revision"),
    *_required(Words, "event"),
    *_required(sa.BigInteger, "item_id"),
    *_required(Moment, "at"),
    *_required(Words, "actor"),
    *_optional(Words, "reason"),
    *_optional(sa.BigInteger, "old_ref", "new_ref"),
    *_optional(Words, "other_user"),
    *_required(Json, "meta"),
    *_optional(Json, "before"),
    _one_of("event", Event),
    sa.Index("ix_history_item", "user_id", "item_id", "revision"),
    # Finds what took the place of a memory, or kept its former text.
    _partial_index("ix_history_new_ref", "new_ref <> item_id", "user_id", "new_ref", "revision"),
    _partial_index("ix_history_old_ref", "old_ref <> item_id", "user_id", "old_ref", "revision"),
    _partial_index("ix_history_other_user", "other_user IS NOT NULL", "other_user"),
)

threads: Final = _table(
    "threads",
    *_key(Words, "user_id", "thread_id"),
    *_optional(Words, "title"),
    *_required(sa.Integer, "turn_count"),
    *_required(Moment, "created_at", "updated_at"),
    *_optional(Words, "project_id"),
    sa.Index("ix_threads_updated", "user_id", "updated_at", "thread_id"),
    _partial_index(
        "ix_threads_project",
        "project_id IS NOT NULL",
        "user_id",
        "project_id",
        "updated_at",
        "thread_id",
    ),
)

turns: Final = _table(
    "turns",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(Words, "thread_id"),
    *_required(sa.Integer, "position"),
    *_optional(Words, "message_id"),
    *_required(Words, "role"),
    *_optional(Words, "actor"),
    *_required(Words, "content"),
    *_optional(Json, "tool_calls"),
    *_required(Moment, "at"),
    *_optional(Json, "observed_by"),
    *_optional(Moment, "ended_at"),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
    sa.Index("uq_turns_position", "user_id", "thread_id", "position", unique=True),
    _partial_index(
        "uq_turns_message",
        "message_id IS NOT NULL",
        "user_id",
        "thread_id",
        "message_id",
        unique=True,
    ),
    # Finds turns without a message id by time.
    _partial_index("ix_turns_unnamed", "message_id IS NULL", "user_id", "thread_id", "at"),
    has_rowid=True,
)

turn_pieces: Final = _table(
    "turn_pieces",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(sa.BigInteger, "turn_id"),
    *_required(sa.Integer, "start", "end"),
    sa.Index("ix_turn_pieces_turn", "user_id", "turn_id"),
)
"""The pieces of long turns after the first, each with a row of ``turn_index``; the first piece has
the turn's own. Ids are from the series of turns; ``start`` and ``end`` count characters."""

embedding_settings: Final = _table(
    "embedding_settings",
    *_key(Words, "user_id"),
    *_required(Words, "provider"),
    *_optional(Words, "model", "base_url", "sealed_key"),
    *_optional(sa.Integer, "dimensions"),
    *_required(Moment, "updated_at"),
)
"""The embedding model of users who do not use the store's."""

formation: Final = _table(
    "formation",
    *_key(Words, "user_id", "thread_id"),
    *_required(sa.Integer, "formed_position"),
    *_required(Moment, "observed_at"),
    *_optional(Moment, "formed_at"),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
)
"""Up to which turn each observed conversation has been formed into memories."""

proposals: Final = _table(
    "proposals",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(Words, "kind", "state"),
    *_required(Json, "fields"),
    *_required(Words, "content_hash"),
    *_optional(Json, "draft"),
    *_optional(Words, "quote"),
    *_required(Json, "signals"),
    *_optional(Words, "thread_id"),
    *_required(Moment, "created_at", "expires_at"),
    *_optional(Moment, "decided_at"),
    *_optional(Words, "decided_by"),
    *_optional(sa.BigInteger, "item_id"),
    *_optional(Words, "project_id"),
    _one_of("kind", SAID_KINDS),
    _one_of("state", ProposalState),
    sa.Index("ix_proposals_state", "user_id", "state", "id"),
    sa.Index("ix_proposals_text", "user_id", "content_hash"),
)
"""Statements that wait for a decision. Ids are from the series of memories, so that history can
refer to both. ``draft`` and ``quote`` are cleared with the decision."""

summaries: Final = _table(
    "summaries",
    *_key(Words, "user_id"),
    *_required(Words, "content"),
    *_required(sa.BigInteger, "revision"),
    *_required(Words, "made_by"),
    *_required(Moment, "updated_at"),
)
"""A narrative of what is known about a user, and the revision it was made from."""

events: Final = _table(
    "events",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "id"),
    *_required(Moment, "at"),
    *_required(Words, "node", "op", "status"),
    *_optional(Words, "thread_id"),
    *_optional(sa.BigInteger, "item_id"),
    *_optional(Words, "theme"),
    *_optional(sa.Double, "similarity"),
    *_optional(Words, "detail"),
    _one_of("status", EventStatus),
    sa.Index("ix_events_at", "user_id", "at"),
)
"""Steps of background work, without the contents of memories."""

tallies: Final = _table(
    "tallies", *_key(Words, "user_id", "day", "name"), *_required(sa.BigInteger, "count")
)
"""Counters per user and day (UTC): decisions, model calls, tokens."""

upkeep: Final = _table(
    "upkeep",
    *_key(Words, "user_id"),
    *_optional(
        Moment, "tended_since", "upkept_at", "consolidated_at", "pairs_wait_since", "insights_at"
    ),
    *_required(sa.BigInteger, "related_after"),
)
"""When each part of a user's upkeep was last done, and what is left."""

checked_pairs: Final = _table(
    "checked_pairs",
    *_key(Words, "user_id"),
    *_key(sa.BigInteger, "low_id", "high_id"),
    *_required(Words, "fingerprint", "verdict"),
    *_required(Moment, "checked_at"),
    sa.CheckConstraint("low_id < high_id", name="order"),
    sa.Index("ix_checked_pairs_at", "user_id", "checked_at"),
)
"""Pairs of memories that consolidation has checked recently."""

jobs: Final = _table(
    "jobs",
    *_key(sa.BigInteger, "id"),
    *_required(Words, "kind", "user_id", "unique_key"),
    *_required(Json, "payload"),
    *_required(Words, "state"),
    *_required(Moment, "run_at"),
    *_required(sa.Integer, "attempts", "max_attempts"),
    *_optional(Words, "lease_token"),
    *_optional(Moment, "lease_until"),
    *_optional(Words, "last_error"),
    *_required(Moment, "created_at", "updated_at"),
    *_optional(Moment, "woken_at"),
    *_optional(Words, "progress"),
    _one_of("state", JobState),
    sa.Index("ix_jobs_due", "state", "run_at", "id"),
    sa.Index("ix_jobs_user", "user_id"),
    _partial_index(
        "uq_jobs_queued", "state = 'queued'", "kind", "user_id", "unique_key", unique=True
    ),
    has_rowid=True,
)

upstream_ids: Final = _table(
    "upstream_ids",
    *_key(Words, "user_id", "id_hash"),
    *_required(Words, "kind", "thread_id"),
    *_optional(Words, "agent_id"),
    *_required(Moment, "at"),
    _one_of("kind", UpstreamKind),
    sa.Index("ix_upstream_ids_at", "user_id", "at"),
)
"""What a model's endpoint keeps for a user, each with its conversation here: nobody else may name
it, and a request that goes on from it finds where."""

REPLACEMENTS: Final = (Event.SUPERSEDE.value, Event.MERGE.value)
"""The events of history by which one memory replaces another."""

OWNED_TABLES: Final = tuple(
    table for table in reversed(metadata.sorted_tables) if "user_id" in table.c
)
"""Every table with a user's rows, in an order in which they can be deleted."""


STORE_WEBHOOKS: Final = "webhooks"
"""The row of ``store`` with the number of active webhooks for all users."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A searchable table, and the table with its terms and vectors."""

    name: str
    source: sa.Table
    index: sa.Table

    def joined(self) -> sa.Join:
        rows = self.source.join(self.index, self.same_row())
        return rows.join(turns, of_turn()) if self.source is turn_pieces else rows

    def text(self) -> sa.ColumnElement[str]:
        """The text of each row; of a turn, what its first piece is the beginning of."""
        if self.source is items:
            return items.c.content
        one: Any = sa.literal_column("1")
        if self.source is turns:
            most: Any = sa.literal_column(str(MAX_PIECE_CHARS + 1))
            return sa.func.substr(turns.c.content, one, most)
        piece = turn_pieces.c
        return sa.func.substr(turns.c.content, piece.start + one, piece.end - piece.start)

    def has_vector(self, model: VectorModel) -> sa.ColumnElement[bool]:
        """Rows with a vector that this model has made."""
        return sa.and_(
            self.index.c.state == VectorState.READY.value,
            self.index.c.provider == model.provider,
            self.index.c.model == model.model,
        )

    def same_row(self) -> sa.ColumnElement[bool]:
        return sa.and_(
            self.source.c.user_id == self.index.c.user_id, self.source.c.id == self.index.c.id
        )


def of_turn() -> sa.ColumnElement[bool]:
    """A piece of a turn."""
    return sa.and_(turns.c.user_id == turn_pieces.c.user_id, turns.c.id == turn_pieces.c.turn_id)


ITEMS: Final = Indexed("item", items, item_index)
TURNS: Final = Indexed("turn", turns, turn_index)
PIECES: Final = Indexed("turn", turn_pieces, turn_index)
INDEXED: Final = (ITEMS, TURNS)
"""Each with an index of its own."""

SEARCHED: Final = {ITEMS: (ITEMS,), TURNS: (TURNS, PIECES)}
"""Whose texts are in each index."""
