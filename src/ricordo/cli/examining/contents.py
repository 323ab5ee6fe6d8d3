"""The database as it stands: sound, in agreement with itself, and of this time."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from ricordo.cli.finding import CheckFinding, ok, problem, warning

if TYPE_CHECKING:
    from ricordo.storage.database import Database

_TOLERANCE: Final = timedelta(seconds=5)
_SET_CLOCK: Final = "set the clock of this computer, e.g. timedatectl set-ntp true"


def isolation(database: "Database") -> CheckFinding:
    """Whether the database keeps users apart. Not a fault: the owner's role may do all."""
    with database.our_errors():
        trouble = database.backend.confinement_problem()
    if trouble is None:
        return ok("isolation", "row-level security keeps the users apart for this role")
    found = f"the database does not keep the users apart for this role: {trouble}"
    return ok("isolation", found, "to serve, see: ricordo database grant")


def encryption(database: "Database") -> CheckFinding:
    """Whether the file is encrypted, and nothing of another conversion lies beside it."""
    from ricordo.storage.sqlite.backend import SqliteBackend
    from ricordo.storage.sqlite.rekey import left_behind

    backend = database.backend
    assert isinstance(backend, SqliteBackend)
    left = [path.name for path in left_behind(backend.path.resolve()) if path.exists()]
    if left:
        found = f"a conversion was interrupted, and left {' and '.join(left)}"
        advice = "convert again (ricordo database --help); that removes it"
        return warning("encryption", found, advice)
    if not backend.is_encrypted:
        return ok("encryption", "the file is not encrypted", "ricordo database encrypt does it")
    with database.read_all() as reading:
        version = reading.connection.exec_driver_sql("PRAGMA cipher_version").scalar_one()
    return ok("encryption", f"the file is encrypted (SQLCipher {version})")


def integrity(database: "Database") -> CheckFinding:
    """What the database says of itself."""
    with database.our_errors():
        problems = database.backend.check()
    if not problems:
        return ok("integrity", "the database finds no damage")
    advice = "restore a backup; what can still be read: ricordo export FILE --all-users"
    return problem("integrity", "; ".join(problems), advice)


def consistency(database: "Database") -> CheckFinding:
    """Whether memories and history say the same."""
    from ricordo.storage.consistency import find_inconsistencies

    with database.read_all() as reading:
        problems = find_inconsistencies(reading.connection)
    if not problems:
        return ok("consistency", "memories and history agree")
    advice = "keep a copy of the database, and please report this"
    return problem("consistency", "; ".join(problems), advice)


def times(database: "Database") -> CheckFinding:
    """Whether this computer's clock agrees with what was written, and with the server's."""
    import sqlalchemy as sa

    from ricordo.storage.columns import Moment
    from ricordo.storage.tables import history

    on_server = database.backend.name == "postgresql"
    with database.read_all() as reading:
        newest = reading.connection.execute(
            sa.select(sa.func.max(history.c.at, type_=Moment))
        ).scalar_one()
        here = database.clock()
        theirs = (
            reading.connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
            if on_server
            else here
        )
    apart = abs(theirs - here)
    if apart > _TOLERANCE:
        found = f"this computer and the database's server are {apart.total_seconds():.0f} s apart"
        return warning("times", found, "let both keep their time, e.g. timedatectl set-ntp true")
    if newest is not None and newest > here + _TOLERANCE:
        ahead = (newest - here).total_seconds()
        found = f"the latest entry of the history is {ahead:.0f} s ahead of this computer's clock"
        return warning("times", found, _SET_CLOCK)
    return ok("times", "nothing was written later than now")
