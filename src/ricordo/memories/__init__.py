"""The life of memories: adding, reading, changing, sharing, ending. One file per rule."""
