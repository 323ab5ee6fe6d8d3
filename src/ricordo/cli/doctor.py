"""``doctor``: is everything as it should be?"""

from typing import Any, Final

import typer

from ricordo.cli.exit_codes import STORAGE_ERROR
from ricordo.cli.options import Store
from ricordo.cli.render import Listing, answer

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(store: Store) -> None:
    """Check everything that ricordo depends on, and say what to do.

    Nothing is changed. The exit code is 0 when nothing failed, and 6 otherwise.
    """
    from ricordo.cli.checkup import Verdict, examine

    findings = tuple(examine(store))
    healthy = all(finding.verdict is not Verdict.FAIL for finding in findings)
    answer(store.as_json, {"healthy": healthy, "findings": findings}, _table)
    if not healthy:
        raise typer.Exit(STORAGE_ERROR)


def _table(found: dict[str, Any]) -> Listing:
    rows = [
        [finding.verdict.value, finding.check, finding.message, finding.advice or ""]
        for finding in found["findings"]
    ]
    conclusion = "All is well." if found["healthy"] else "Something needs attention."
    return Listing(["", "Check", "Found", "What to do"], rows, conclusion, _COLOURS)
