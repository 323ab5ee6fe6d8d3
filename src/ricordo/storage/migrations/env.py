"""Alembic's entry point: runs in the transaction that ``storage/migration.py`` opened."""

from alembic import context

from ricordo.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the transaction is ours
)
context.run_migrations()
