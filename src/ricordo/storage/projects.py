"""The projects of a user, as their memories and conversations name them."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.item import Project
from ricordo.storage.sql import Moment, PreparedStatement, Words
from ricordo.storage.tables import items, threads
from ricordo.storage.where import active

_user: Final = sa.bindparam("user_id", type_=Words)
_now: Any = sa.bindparam("now", type_=Moment)
_of_items: Final = PreparedStatement(
    sa.select(
        items.c.project_id,
        sa.func.sum(sa.case((active(_now), 1), else_=0), type_=sa.Integer),
        sa.func.max(items.c.updated_at, type_=Moment),
    )
    .where(items.c.user_id == _user, items.c.project_id.is_not(None))
    .group_by(items.c.project_id)
)
_of_threads: Final = PreparedStatement(
    sa.select(
        threads.c.project_id, sa.func.count(), sa.func.max(threads.c.updated_at, type_=Moment)
    )
    .where(threads.c.user_id == _user, threads.c.project_id.is_not(None))
    .group_by(threads.c.project_id)
)


def projects_of(connection: sa.Connection, user_id: str, now: datetime) -> list[Project]:
    """The latest first."""
    remembered = _by_project(_of_items.run_typed(connection, {"user_id": user_id, "now": now}))
    talked = _by_project(_of_threads.run_typed(connection, {"user_id": user_id}))
    found = [
        Project(
            project_id=one,
            memories=remembered[one][0] if one in remembered else 0,
            threads=talked[one][0] if one in talked else 0,
            last_activity=max(known[one][1] for known in (remembered, talked) if one in known),
        )
        for one in remembered.keys() | talked.keys()
    ]
    by_name = sorted(found, key=lambda one: one.project_id)
    return sorted(by_name, key=lambda one: one.last_activity, reverse=True)


def _by_project(rows: list[tuple[Any, ...]]) -> dict[str, tuple[int, datetime]]:
    return {project: (int(count), last) for project, count, last in rows}
