"""Rows of themes."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.vocabulary import ContextPolicy
from ricordo.storage.columns import Words
from ricordo.storage.constructs import among, bound_list
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import items, themes
from ricordo.storage.where import Condition

_present: Final = Prepared(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        among(themes.c.slug, bound_list("slugs")),
    )
)
_one_present: Final = Prepared(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        themes.c.slug == sa.bindparam("slug", type_=Words),
    )
)
_insert: Final = Prepared(sa.insert(themes))


def ensure_themes(
    connection: sa.Connection, user_id: str, slugs: Iterable[str], now: datetime
) -> None:
    """Make the themes that a user does not have yet."""
    wanted = sorted(set(slugs))
    if len(wanted) == 1:
        rows = _one_present.run(connection, {"user_id": user_id, "slug": wanted[0]})
    else:
        rows = _present.run(connection, {"user_id": user_id, "slugs": wanted})
    present = {row[0] for row in rows}
    missing = [_new_row(user_id, slug, now) for slug in wanted if slug not in present]
    if missing:
        _insert.run_many(connection, missing)


def change_theme(
    connection: sa.Connection, user_id: str, slug: str, values: Mapping[str, Any]
) -> bool:
    """Change what a theme says of itself; False when the user has no such theme."""
    where = sa.and_(themes.c.user_id == user_id, themes.c.slug == slug)
    return connection.execute(sa.update(themes).where(where).values(**values)).rowcount == 1


def themes_of(connection: sa.Connection, user_id: str) -> dict[str, dict[str, Any]]:
    """A user's themes by slug."""
    wanted = sa.select(themes).where(themes.c.user_id == user_id)
    return {row["slug"]: dict(row) for row in connection.execute(wanted).mappings()}


def count_by_theme(connection: sa.Connection, where: Condition) -> dict[str, int]:
    """How many memories there are under each theme."""
    counted = (
        sa.select(items.c.theme, sa.func.count().label("total"))
        .where(where)
        .group_by(items.c.theme)
    )
    return {row.theme: row.total for row in connection.execute(counted)}


def default_name(slug: str) -> str:
    """What a theme is called until somebody names it."""
    spoken = slug.replace("-", " ").replace("_", " ").strip()
    first = spoken[:1].upper()
    return (first if len(first) == 1 else spoken[:1]) + spoken[1:]


def _new_row(user_id: str, slug: str, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "slug": slug,
        "display_name": default_name(slug),
        "description": None,
        "context": ContextPolicy.RAG.value,
        "rag_length": None,
        "created_at": now,
        "updated_at": now,
    }
