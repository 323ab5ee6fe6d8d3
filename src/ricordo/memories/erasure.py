"""Erases a user: all rows, and the space that they left in the file."""

from datetime import datetime, timedelta
from typing import Final

from ricordo.errors import GroupNotFound, StorageError, UserNotFound
from ricordo.model.group import space_of
from ricordo.model.job import STORE_JOB_USER, NewJob
from ricordo.model.reports import ErasureReceipt
from ricordo.model.vocabulary import Event
from ricordo.storage.database import OWNER_ACTED, Database, WriteTransaction
from ricordo.storage.groups import has_group, is_member
from ricordo.storage.jobs import discard_queued
from ricordo.storage.links import links_granted
from ricordo.storage.thread_views import has_view
from ricordo.storage.users import delete_user_rows, has_user

SCRUB_JOB: Final = "scrub"
"""Kind of the job that overwrites freed space later if it could not be done at once."""

_SCRUB_DELAY: Final = timedelta(minutes=1)


def erase_user(database: Database, user_id: str) -> ErasureReceipt:
    """Delete everything of a user and return a receipt.

    Raises:
        UserNotFound: nothing is stored for this user.
    """
    with database.read(user_id) as reading:
        connection = reading.connection
        if not (
            has_user(connection, user_id)
            or has_view(connection, user_id)
            or is_member(connection, user_id)
        ):
            raise UserNotFound(user_id)
    return _erase(database, user_id)


def erase_group(database: Database, group: str) -> ErasureReceipt:
    """Delete a group, its memberships and everything that its members share.

    Raises:
        GroupNotFound: there is no such group.
    """
    space = space_of(group)
    with database.read(space) as reading:
        if not has_group(reading.connection, space):
            raise GroupNotFound(group)
    return _erase(database, space)


def _erase(database: Database, user_id: str) -> ErasureReceipt:
    with database.write(user_id) as writing:
        for viewer, item_id in links_granted(writing.connection, user_id):
            writing.record(Event.UNLINK, item_id, actor=OWNER_ACTED, user_id=viewer)
        with writing.acting_for_all():  # others mention the user, who knows who
            removed = delete_user_rows(writing.backend, writing.connection, user_id)
        plan_scrub(writing)
        erased_at = writing.now
    scrubbed = scrub_now(database, erased_at)
    return ErasureReceipt(user_id=user_id, erased_at=erased_at, removed=removed, scrubbed=scrubbed)


def plan_scrub(writing: WriteTransaction) -> None:
    """Queue a job in case this process dies before it has scrubbed."""
    if writing.backend.overwrites_freed_space:
        writing.enqueue(_scrub_job(writing.now + _SCRUB_DELAY))


def scrub_now(database: Database, erased_at: datetime) -> bool:
    """Overwrite the freed space; on failure the job does it later."""
    try:
        with database.our_errors():
            scrubbed = database.backend.scrub()
        if scrubbed:
            with database.transaction_for([STORE_JOB_USER]) as connection:
                discard_queued(connection, _scrub_job(erased_at), not_after=erased_at)
    except StorageError:
        return False
    return scrubbed


def _scrub_job(run_at: datetime) -> NewJob:
    return NewJob(kind=SCRUB_JOB, user_id=STORE_JOB_USER, run_at=run_at)
