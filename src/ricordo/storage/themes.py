"""Rows of themes, narratives and profiles."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.item import Item
from ricordo.model.profile import PROFILE_THEME
from ricordo.model.vocabulary import ContextPolicy, Event
from ricordo.storage.database import WriteTransaction
from ricordo.storage.items import find_items
from ricordo.storage.sql import Condition, PreparedStatement, Words, among, bound_list
from ricordo.storage.tables import history, items, summaries, themes, turns
from ricordo.storage.where import not_expired

_present: Final = PreparedStatement(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        among(themes.c.slug, bound_list("slugs")),
    )
)
_one_present: Final = PreparedStatement(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        themes.c.slug == sa.bindparam("slug", type_=Words),
    )
)
_insert: Final = PreparedStatement(sa.insert(themes))
_FORGETTING: Final = (Event.DELETE.value, Event.TTL.value, Event.PURGE.value)


def ensure_themes(
    connection: sa.Connection, user_id: str, slugs: Iterable[str], now: datetime
) -> None:
    wanted = sorted(set(slugs))
    if len(wanted) == 1:
        rows = _one_present.run(connection, {"user_id": user_id, "slug": wanted[0]})
    else:
        rows = _present.run(connection, {"user_id": user_id, "slugs": wanted})
    present = {row[0] for row in rows}
    missing = [
        {
            "user_id": user_id,
            "slug": slug,
            "display_name": default_name(slug),
            "description": None,
            "context": ContextPolicy.RAG.value,
            "rag_length": None,
            "created_at": now,
            "updated_at": now,
        }
        for slug in wanted
        if slug not in present
    ]
    if missing:
        _insert.run_many(connection, missing)


def change_theme(
    connection: sa.Connection, user_id: str, slug: str, values: Mapping[str, Any]
) -> bool:
    """Change a theme's columns; False when the user has no such theme."""
    where = sa.and_(themes.c.user_id == user_id, themes.c.slug == slug)
    return connection.execute(sa.update(themes).where(where).values(**values)).rowcount == 1


def themes_of(connection: sa.Connection, user_id: str) -> dict[str, dict[str, Any]]:
    wanted = sa.select(themes).where(themes.c.user_id == user_id)
    return {row["slug"]: dict(row) for row in connection.execute(wanted).mappings()}


def count_by_theme(connection: sa.Connection, where: Condition) -> dict[str, int]:
    counted = (
        sa.select(items.c.theme, sa.func.count().label("total"))
        .where(where)
        .group_by(items.c.theme)
    )
    return {row.theme: row.total for row in connection.execute(counted)}


def default_name(slug: str) -> str:
    spoken = slug.replace("-", " ").replace("_", " ").strip()
    first = spoken[:1].upper()
    return (first if len(first) == 1 else spoken[:1]) + spoken[1:]


def find_summary(connection: sa.Connection, user_id: str) -> sa.RowMapping | None:
    wanted = sa.select(summaries).where(summaries.c.user_id == user_id)
    return connection.execute(wanted).mappings().first()


def put_summary(writing: WriteTransaction, content: str, revision: int, made_by: str) -> None:
    """Store the narrative of a revision in place of the last one.

    Not if a memory, or the user, was erased since: the text may mention it.
    """
    forgotten = sa.exists().where(
        history.c.user_id == writing.user_id,
        history.c.revision > revision,
        history.c.event.in_(_FORGETTING),
    )
    if writing.revision < revision or writing.connection.execute(sa.select(forgotten)).scalar_one():
        return
    drop_summary(writing.connection, writing.user_id)
    row = {
        "user_id": writing.user_id,
        "content": content,
        "revision": revision,
        "made_by": made_by,
        "updated_at": writing.now,
    }
    writing.connection.execute(sa.insert(summaries).values(**row))
    writing.keeps_user = True


def drop_summary(connection: sa.Connection, user_id: str) -> bool:
    """Delete a narrative, because it may mention something forgotten; whether there was one."""
    gone = connection.execute(sa.delete(summaries).where(summaries.c.user_id == user_id))
    return gone.rowcount > 0


def keyed_profile_items(connection: sa.Connection, user_id: str, now: datetime) -> list[Item]:
    """A user's own active memories of the theme ``profile`` with a key."""
    where = (
        (items.c.user_id == user_id)
        & (items.c.status == sa.literal_column("'active'"))
        & (items.c.theme == PROFILE_THEME)
        & items.c.key.is_not(None)
        & not_expired(now)
    )
    return find_items(connection, where)


def last_turn_id(connection: sa.Connection, user_id: str, thread_id: str) -> int | None:
    """The latest turn of a conversation; None where it has none."""
    wanted = (
        sa.select(turns.c.id)
        .where(turns.c.user_id == user_id, turns.c.thread_id == thread_id)
        .order_by(turns.c.position.desc())
        .limit(1)
    )
    found: int | None = connection.execute(wanted).scalar_one_or_none()
    return found
