"""Everything that a store holds, and what it answers, in a form that both databases share."""

from typing import Any

import sqlalchemy as sa

from ricordo import Memory
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.columns import Vector
from ricordo.storage.constructs import vector_bytes
from ricordo.storage.tables import ID_SERIES, metadata, store
from ricordo.storage.vectors import matrix_of

# Restoring moves them on, so that no copy of the index in memory is taken for the present one.
MOVED_ON = {"index_stamp", "index_epoch"}


def rows_of(memory: Memory) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table in the order of its key; vectors as the bytes of their numbers."""
    with memory.database.read_all() as view:
        return {table.name: _rows(view.connection, table) for table in metadata.sorted_tables}


def _rows(connection: sa.Connection, table: sa.Table) -> list[tuple[Any, ...]]:
    kept = [column for column in table.columns if column.name not in MOVED_ON]
    vectors = [isinstance(column.type, Vector) for column in kept]
    columns = [
        vector_bytes(column).label(column.name) if is_vector else column
        for column, is_vector in zip(kept, vectors, strict=True)
    ]
    wanted = sa.select(*columns).order_by(*table.primary_key.columns)
    if table is store:  # on one of the databases they are no rows
        wanted = wanted.where(store.c.name.not_in(ID_SERIES))
    return [
        tuple(
            matrix_of(connection, [value])[0].tobytes() if is_vector and value else value
            for value, is_vector in zip(row, vectors, strict=True)
        )
        for row in connection.execute(wanted)
    ]


def ids_given(memory: Memory) -> dict[str, int]:
    with memory.database.read_all() as view:
        return memory.database.backend.ids_given(view.connection)


def answers_of(memory: Memory, questions: tuple[str, ...]) -> dict[str, Any]:
    """What is told of everybody and everything."""
    return {
        "keys": [key.to_dict() for key in memory.keys(include_revoked=True)],
        "jobs": [job.to_dict() for job in memory.jobs()],
        "counters": memory.counters().to_dict(),
        **{user: _answers_to(memory, user, questions) for user in memory.users()},
    }


def _answers_to(memory: Memory, name: str, questions: tuple[str, ...]) -> dict[str, Any]:
    user = memory.global_memories() if name == GLOBAL_OWNER else memory.user(name)
    listed = list(user.list(status="any", limit=1_000))
    threads = list(user.threads())
    summary = user.summary()
    return {
        "list": [item.to_dict() for item in listed],
        "history": {one.id: [c.to_dict() for c in user.history(one.id)] for one in listed},
        "changes": user.changes(since=0, limit=1_000).to_dict(),
        "revision": user.revision(),
        "themes": [theme.to_dict() for theme in user.themes()],
        "threads": [thread.to_dict() for thread in threads],
        "turns": {
            t.thread_id: [turn.to_dict() for turn in user.turns(t.thread_id)] for t in threads
        },
        "checkpoints": [
            user.load_checkpoint(one.thread_id).to_dict() for one in user.checkpoints()
        ],
        "proposals": [one.to_dict() for one in user.proposals()],
        "summary": None if summary is None else summary.to_dict(),
        "related": {
            one.id: [near.id for near in user.related(one.id)]
            for one in listed
            if one.status == "active"
        },
        "search": {
            asked: [(hit.id, round(hit.score, 6)) for hit in user.search(asked).results]
            for asked in questions
        },
        "search_turns": {
            asked: [(hit.id, round(hit.score, 6)) for hit in user.search_turns(asked).results]
            for asked in questions
        },
    }
