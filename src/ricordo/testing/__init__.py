"""Help for testing programs that use ricordo, and backends of it."""
