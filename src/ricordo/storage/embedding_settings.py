"""Where users' own vectors are made."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.model.embedding import StoredChoice
from ricordo.storage.columns import Moment, Words
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import embedding_settings as settings
from ricordo.storage.writing import Writing

_find: Final = Prepared(
    sa.select(
        settings.c.provider,
        settings.c.model,
        settings.c.base_url,
        settings.c.sealed_key,
        settings.c.dimensions,
        settings.c.updated_at,
    ).where(settings.c.user_id == sa.bindparam("user_id", type_=Words))
)
_moment: Final = Moment()


def find_choice(connection: sa.Connection, user_id: str) -> StoredChoice | None:
    """A user's own settings, or None."""
    rows = _find.run(connection, {"user_id": user_id})
    if not rows:
        return None
    provider, model, base_url, sealed_key, dimensions, updated_at = rows[0]
    changed: datetime | None = _moment.process_result_value(updated_at, connection.dialect)
    assert changed is not None
    return StoredChoice(
        provider=provider,
        model=model,
        base_url=base_url,
        sealed_key=sealed_key,
        dimensions=dimensions,
        updated_at=changed,
    )


def store_choice(writing: Writing, choice: StoredChoice) -> None:
    """Keep a user's own settings in place of what they had."""
    drop_choice(writing)
    row = {
        "user_id": writing.user_id,
        "provider": choice.provider,
        "model": choice.model,
        "base_url": choice.base_url,
        "sealed_key": choice.sealed_key,
        "dimensions": choice.dimensions,
        "updated_at": choice.updated_at,
    }
    writing.connection.execute(sa.insert(settings).values(**row))
    writing.keeps_user = True


def drop_choice(writing: Writing) -> None:
    """Go back to the store's way."""
    where = settings.c.user_id == writing.user_id
    writing.connection.execute(sa.delete(settings).where(where))
