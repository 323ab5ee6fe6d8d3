"""``doctor``: is everything as it should be?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import typer

from ricordo.cli.exit_codes import STORAGE_ERROR
from ricordo.cli.options import Store
from ricordo.cli.progress import working
from ricordo.cli.render import Listing, answer

if TYPE_CHECKING:
    from ricordo.cli.finding import CheckFinding

_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(store: Store) -> None:
    """Check everything that ricordo depends on, and say what to do.

    Nothing is changed, and nothing that anybody said is shown. The exit code is 0 where there is
    no problem, also with warnings, and 6 otherwise.
    """
    from ricordo.cli.checkup import examine
    from ricordo.cli.finding import State

    with working("Looking around", wanted=not store.as_json) as tell:
        findings = tuple(examine(store, tell))
    answer(store.as_json, findings, _table)
    if any(finding.state is State.PROBLEM for finding in findings):
        raise typer.Exit(STORAGE_ERROR)


def _table(findings: "Sequence[CheckFinding]") -> Listing:
    rows = [
        [finding.state.value, finding.check, finding.found, finding.advice or ""]
        for finding in findings
    ]
    states = {finding.state.value for finding in findings}
    if "problem" in states:
        conclusion = "Something needs attention."
    else:
        conclusion = "It works, with warnings." if "warning" in states else "All is well."
    return Listing(["", "Check", "Found", "What to do"], rows, conclusion, _COLOURS)
