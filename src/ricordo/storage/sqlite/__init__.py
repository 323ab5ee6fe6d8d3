"""SQLite: one writer, pooled readers; the standard library's driver, or SQLCipher's with a key."""
