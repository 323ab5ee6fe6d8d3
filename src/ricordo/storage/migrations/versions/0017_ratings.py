"""What users and agents say of memories, and its event in history."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Json

revision = "0017"
down_revision = "0016"

_EVENTS = (
    "'ADD', 'UPDATE', 'ARCHIVE', 'DELETE', 'RESTORE', 'SUPERSEDE', 'MERGE', 'LINK', 'UNLINK',"
    " 'TTL', 'PURGE', 'CONSENT', 'PIN', 'VERIFY', 'UNDO'"
)
_NEW = "'RATE'"


def upgrade() -> None:
    """Add the column with its index, and allow the event."""
    op.add_column("items", sa.Column("ratings", Json))
    condition = sa.text("ratings IS NOT NULL")
    op.create_index(
        "ix_items_rated",
        "items",
        ["user_id", "status", "id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _allow_on_sqlite(connection)
    else:
        op.drop_constraint(op.f("ck_history_event"), "history", type_="check")
        op.create_check_constraint(
            op.f("ck_history_event"), "history", f"event IN ({_EVENTS}, {_NEW})"
        )


def _allow_on_sqlite(connection: sa.Connection) -> None:
    """Change the constraint in place, as SQLite's own manual does: the rows need not be copied."""
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(
        "UPDATE sqlite_master SET sql = replace(sql, '''UNDO'')', '''UNDO'', ''RATE'')')"
        " WHERE type = 'table' AND name = 'history'"
    )
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
