"""What a check of ``doctor`` says."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ricordo.cli.failures import told
from ricordo.errors import RicordoError, StorageBusy, StorageError, StorageUnavailable
from ricordo.model.record import Record

WHERE: Final = "check --db, --home and RICORDO_URL"
"""What to do about most of what cannot be looked at."""


class State(StrEnum):
    """How a check came out; only a ``problem`` makes the whole unhealthy."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class CheckFinding(Record):
    """What one check found, and what to do when that is not as it should be."""

    check: str
    state: State
    found: str
    advice: str | None = None


def ok(check: str, found: str, advice: str | None = None) -> CheckFinding:
    """All is well."""
    return CheckFinding(check, State.OK, found, advice)


def warning(check: str, found: str, advice: str) -> CheckFinding:
    """It works, but should be looked after."""
    return CheckFinding(check, State.WARNING, found, advice)


def problem(check: str, found: str, advice: str) -> CheckFinding:
    """Something does not work."""
    return CheckFinding(check, State.PROBLEM, found, advice)


def to_mend(error: Exception) -> str:
    """What to do about a database that does not open, or cannot be read."""
    if isinstance(error, StorageBusy):
        return "close the other program, or wait and try again"
    if isinstance(error, StorageUnavailable):
        return f"if it is on a server, start that; {WHERE}"
    if isinstance(error, StorageError):
        return "restore a backup, or choose another with --db"
    return WHERE


def guarded(
    check: str, look: Callable[[], CheckFinding], advice: str | None = None
) -> Iterator[CheckFinding]:
    """What a check found; where it fails itself, that. The others go on all the same."""
    try:
        yield look()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one check, the others count
        yield failed(check, error, advice)


def failed(check: str, error: Exception, advice: str | None = None) -> CheckFinding:
    """That a check could not be made."""
    if isinstance(error, (RicordoError, OSError)):
        return problem(check, told(error), to_mend(error) if advice is None else advice)
    return problem(check, f"{type(error).__name__}: {told(error)}", "please report this")
