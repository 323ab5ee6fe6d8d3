"""Users' search indexes: in memory, vectors, rebuilding."""
