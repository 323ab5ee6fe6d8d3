"""What SQLite's planner should believe of a store's size.

Without statistics SQLite takes it that a user has about ten memories, and reads all of them rather
than use a more selective index. Real figures differ from user to user and change all the time, so
typical ones are written down once: the plans stay the same on an empty store and on a full one.
"""

from typing import Any, Final

_ROWS: Final = 1_000_000
_PER_USER: Final = 10_000

TYPICAL: Final[dict[tuple[str, str], tuple[int, ...]]] = {
    # (table, index): rows, then rows that share the first column, the first two, …
    ("users", "users"): (100, 1),
    ("themes", "themes"): (10_000, 100, 1),
    ("items", "items"): (_ROWS, _PER_USER, 1),
    ("items", "ix_items_created"): (_ROWS, _PER_USER, 2, 1),
    ("items", "ix_items_updated"): (_ROWS, _PER_USER, 2, 1),
    ("items", "ix_items_active"): (_ROWS, _PER_USER, 100, 2, 1, 1, 1),
    ("items", "uq_items_text"): (_ROWS, _PER_USER, 100, 1, 1),
    ("items", "uq_items_key"): (_ROWS // 10, _PER_USER // 10, 2, 1),
    ("items", "ix_items_expires"): (_ROWS // 100, _PER_USER // 100, 2),
    ("items", "ix_items_purge"): (_ROWS // 100, _PER_USER // 100, 2),
    ("items", "ix_items_thread"): (_ROWS // 2, _PER_USER // 2, 50, 2, 1),
    ("history", "history"): (_ROWS, _PER_USER, 1),
    ("history", "ix_history_item"): (_ROWS, _PER_USER, 2, 1),
    ("links", "links"): (10_000, 10, 1),
    ("links", "ix_links_owner"): (10_000, 10, 2),
    ("threads", "threads"): (10_000, 100, 1),
    ("threads", "ix_threads_updated"): (10_000, 100, 2, 1),
    ("turns", "uq_turns_position"): (_ROWS, _PER_USER, 100, 1),
    ("turns", "uq_turns_message"): (_ROWS, _PER_USER, 100, 1),
    ("turns", "ix_turns_unnamed"): (_ROWS // 2, _PER_USER // 2, 100, 1),
    ("item_index", "sqlite_autoindex_item_index_1"): (_ROWS, _PER_USER, 1),
    ("item_index", "ix_item_index_stamp"): (_ROWS, _PER_USER, 2),
    ("item_index", "ix_item_index_text"): (_ROWS, _PER_USER, 1),
    ("item_index", "ix_item_index_made"): (_ROWS, *[_PER_USER] * 5),
    ("item_index", "ix_item_index_pending"): (_ROWS // 100, _PER_USER // 100, 1),
    ("turn_index", "sqlite_autoindex_turn_index_1"): (_ROWS, _PER_USER, 1),
    ("turn_index", "ix_turn_index_stamp"): (_ROWS, _PER_USER, 2),
    ("turn_index", "ix_turn_index_text"): (_ROWS, _PER_USER, 1),
    ("turn_index", "ix_turn_index_made"): (_ROWS, *[_PER_USER] * 5),
    ("turn_index", "ix_turn_index_pending"): (_ROWS // 100, _PER_USER // 100, 1),
    ("relations", "relations"): (_ROWS, _PER_USER, 3, 1),
    ("relations", "ix_relations_high"): (_ROWS, _PER_USER, 3, 1),
}


def seed_statistics(connection: Any) -> None:
    """Write the typical figures where ``ANALYZE`` would write measured ones."""
    connection.execute("ANALYZE sqlite_schema")  # makes the table of statistics
    connection.execute("DELETE FROM sqlite_stat1")
    connection.executemany(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
        [(table, index, " ".join(map(str, counts))) for (table, index), counts in TYPICAL.items()],
    )
    connection.execute("ANALYZE sqlite_schema")  # makes this connection read them
