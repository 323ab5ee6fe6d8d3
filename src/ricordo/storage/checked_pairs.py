"""Pairs of memories that consolidation has looked at, so that it does not look again so soon."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.storage.columns import Moment
from ricordo.storage.constructs import among, bound_list
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import checked_pairs
from ricordo.storage.writing import Writing

_put: Final = Prepared(
    sa.text(
        "INSERT INTO checked_pairs (user_id, low_id, high_id, fingerprint, verdict, checked_at)"
        " VALUES (:user_id, :low_id, :high_id, :fingerprint, :verdict, :checked_at)"
        " ON CONFLICT (user_id, low_id, high_id) DO UPDATE SET"
        " fingerprint = excluded.fingerprint, verdict = excluded.verdict,"
        " checked_at = excluded.checked_at"
    ).bindparams(sa.bindparam("checked_at", type_=Moment))
)


def note_checked(writing: Writing, one: int, other: int, fingerprint: str, verdict: str) -> None:
    """Note that a pair of the writing user's memories was looked at now."""
    row = {
        "user_id": writing.user_id,
        "low_id": min(one, other),
        "high_id": max(one, other),
        "fingerprint": fingerprint,
        "verdict": verdict,
        "checked_at": writing.now,
    }
    _put.run(writing.connection, row)


def checked_since(
    connection: sa.Connection, user_id: str, low_ids: Collection[int], since: datetime
) -> dict[tuple[int, int], str]:
    """The pairs looked at after a moment whose lower id is listed, with their fingerprints."""
    wanted = sa.select(
        checked_pairs.c.low_id, checked_pairs.c.high_id, checked_pairs.c.fingerprint
    ).where(
        checked_pairs.c.user_id == user_id,
        checked_pairs.c.checked_at > since,
        among(checked_pairs.c.low_id, bound_list("low_ids", sa.BigInteger())),
    )
    rows = connection.execute(wanted, {"low_ids": sorted(low_ids)})
    return {(row[0], row[1]): row[2] for row in rows}
