"""Background work, the broker, the service and the mirrors."""

import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from ricordo.cli.finding import CheckFinding, ok, problem, warning

if TYPE_CHECKING:
    from ricordo.settings import Settings
    from ricordo.storage.database import Database

_LONG_DUE: Final = timedelta(days=1)


def jobs(database: "Database") -> CheckFinding:
    """Whether jobs are done: none is dead, none waits for a worker that never comes."""
    from ricordo.model.vocabulary import JobState
    from ricordo.storage.jobs import count_jobs, due_jobs

    with database.read_all() as reading:
        counted = count_jobs(reading.connection)
        due = due_jobs(reading.connection, reading.now)
        late = sum(count for count, since in due.values() if since < reading.now - _LONG_DUE)
    dead = sum(count for _, state, count in counted if state is JobState.DEAD)
    waiting = sum(count for _, state, count in counted if state is JobState.QUEUED)
    if dead:
        advice = "ricordo jobs --state dead shows why; ricordo jobs retry ID tries again"
        return warning("jobs", f"dead: {dead}, waiting: {waiting}", advice)
    if late:
        found = f"due for more than a day: {late}; nobody runs them"
        return warning("jobs", found, "ricordo jobs run, or leave running: ricordo worker")
    return ok("jobs", f"none is dead, {waiting} wait for their time")


def abandoned(database: "Database") -> CheckFinding:
    """Whether somebody has died at work, and nobody has taken over."""
    import sqlalchemy as sa

    from ricordo.model.vocabulary import JobState
    from ricordo.storage.tables import jobs as table

    with database.read_all() as reading:
        stuck = sa.and_(table.c.state == JobState.RUNNING.value, table.c.lease_until < reading.now)
        counted = sa.select(sa.func.count()).select_from(table).where(stuck)
        count = reading.connection.execute(counted).scalar_one()
    if not count:
        return ok("workers", "no job was left in the middle")
    found = f"left in the middle by a worker that ended: {count}"
    return warning("workers", found, "ricordo jobs run, or leave running: ricordo worker")


def broker(url: str) -> CheckFinding:
    """Whether the broker answers, and anybody listens there.

    Raises:
        InvalidValue: not an address of a broker, or Celery is not installed.
    """
    from ricordo.jobs.broker import checked_url
    from ricordo.workers.looking import look_at

    found = look_at(checked_url(url))
    if not found.reachable:
        advice = "start it, or correct RICORDO_BROKER_URL; until then jobs wait"
        return problem("broker", f"{found.broker}: {found.problem}", advice)
    waiting = sum(found.queues.values())
    if not found.workers:
        shown = f"{found.broker} answers, but no worker does; {waiting} messages wait"
        return warning("broker", shown, "ricordo celery worker --beat")
    return ok("broker", f"{found.broker}: {len(found.workers)} workers, {waiting} messages wait")


def service(settings: "Settings", database: "Database") -> CheckFinding:
    """Whether `ricordo serve` would let in nobody but who has a key, where others can come."""
    from ricordo.http.addresses import is_loopback
    from ricordo.storage.keys import StoredKeys

    address = f"{settings.host}:{settings.port}"
    if is_loopback(settings.host):
        needed = "with keys" if settings.require_keys else "no keys needed"
        return ok("service", f"would listen at {address}, {needed}")
    if settings.require_keys is False:
        advice = "unset RICORDO_REQUIRE_KEYS, or set RICORDO_HOST to 127.0.0.1"
        return problem("service", f"would let anybody in at {address}", advice)
    if not StoredKeys(database).has_live(database.clock()):
        advice = "ricordo keys create admin --permission read_all --permission manage"
        return warning("service", f"there is no key yet for {address}", advice)
    return ok("service", f"would listen at {address}, with keys")


def mirror(settings: "Settings") -> CheckFinding:
    """Whether the files that mirror memories could be read and written lately."""
    from ricordo.files.mirror import Seen
    from ricordo.wiring import files_folder

    folder = files_folder(settings)
    if folder is None:
        return ok("mirror", "there is no folder for files")
    mirrored = list(folder.mirrored())
    troubled = [
        files for files in mirrored if (seen := Seen.load(files.seen)) is not None and seen.problems
    ]
    if troubled:
        first = troubled[0]
        found = f"{first.memory_file} and {len(troubled) - 1} more have lines that were not taken"
        if len(troubled) == 1:
            found = f"{first.memory_file} has lines that were not taken"
        whose = shlex.quote(first.user_id)
        return warning("mirror", found, f"ricordo mirror status -u {whose} shows which")
    return ok("mirror", f"{len(mirrored)} mirrored in {folder.top}")
