"""The schema of release 0.1.0, as one step."""

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = None


def upgrade() -> None:
    """Run the statements of this database, one to a line."""
    connection = op.get_bind()
    script = Path(__file__).parents[1] / f"baseline.{connection.dialect.name}.sql"
    for statement in script.read_text(encoding="utf-8").splitlines():
        connection.exec_driver_sql(statement)
