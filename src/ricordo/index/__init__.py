"""Search indexes of users: kept in memory, filled with vectors, rebuilt."""
