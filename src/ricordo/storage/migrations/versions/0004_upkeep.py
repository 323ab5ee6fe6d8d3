"""What upkeep needs: jobs that can be cancelled, show progress and be sent to a broker; how far
each user's upkeep has come; which pairs of memories were looked at; when rows left an index.

Revision ID: 0004
Revises: 0003
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Json, Moment, Words

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_STATES = "state IN ('queued', 'running', 'done', 'dead', 'cancelled')"
_CHECK = "ck_jobs_state"


def upgrade() -> None:
    """Widen the table of jobs, and make the tables of upkeep."""
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("jobs", sa.Column("woken_at", Moment))
        op.add_column("jobs", sa.Column("progress", Words))
        op.drop_constraint(op.f(_CHECK), "jobs")
        op.create_check_constraint(op.f(_CHECK), "jobs", _STATES)
    else:  # which cannot change a constraint
        _create_jobs_anew()
    _create_upkeep()
    _create_checked_pairs()
    op.add_column(
        "users", sa.Column("index_removals", sa.BigInteger, nullable=False, server_default="0")
    )


def _create_jobs_anew() -> None:
    kept = (
        "id, kind, user_id, unique_key, payload, state, run_at, attempts, max_attempts,"
        " lease_token, lease_until, last_error, created_at, updated_at"
    )
    for index in ("ix_jobs_due", "ix_jobs_user", "uq_jobs_queued"):
        op.drop_index(index, "jobs")
    op.rename_table("jobs", "former_jobs")
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
        sa.Column("woken_at", Moment),
        sa.Column("progress", Words),
        sa.CheckConstraint(_STATES, name=op.f(_CHECK)),
    )
    op.execute(f"INSERT INTO jobs ({kept}) SELECT {kept} FROM former_jobs")  # noqa: S608 - ours
    op.drop_table("former_jobs")
    op.create_index("ix_jobs_due", "jobs", ["state", "run_at", "id"])
    op.create_index("ix_jobs_user", "jobs", ["user_id"])
    op.create_index(
        "uq_jobs_queued",
        "jobs",
        ["kind", "user_id", "unique_key"],
        unique=True,
        sqlite_where=sa.text("state = 'queued'"),
    )


def _create_upkeep() -> None:
    op.create_table(
        "upkeep",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("tended_since", Moment),
        sa.Column("upkept_at", Moment),
        sa.Column("consolidated_at", Moment),
        sa.Column("pairs_wait_since", Moment),
        sa.Column("insights_at", Moment),
        sa.Column("related_after", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    # Nobody has looked after what is stored so far: it gets a full period from now on.
    now = sa.bindparam("now", datetime.now(UTC), Moment)
    users = sa.table("users", sa.column("user_id", Words))
    tended = sa.table(
        "upkeep",
        sa.column("user_id", Words),
        sa.column("tended_since", Moment),
        sa.column("related_after", sa.BigInteger),
    )
    present = sa.select(users.c.user_id, now, sa.literal(0))
    op.execute(tended.insert().from_select(["user_id", "tended_since", "related_after"], present))


def _create_checked_pairs() -> None:
    op.create_table(
        "checked_pairs",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("low_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("high_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", Words, nullable=False),
        sa.Column("verdict", Words, nullable=False),
        sa.Column("checked_at", Moment, nullable=False),
        sa.CheckConstraint("low_id < high_id", name=op.f("ck_checked_pairs_order")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_checked_pairs_at", "checked_pairs", ["user_id", "checked_at"])
