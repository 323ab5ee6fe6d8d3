"""SQLite: the standard library's driver, one writer, pooled readers."""
