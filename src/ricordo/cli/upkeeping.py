"""Upkeep at once, instead of by the daily round: ``upkeep`` and ``consolidate``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.options import Owner
from ricordo.cli.progress import working
from ricordo.cli.render import Listing, Shown, answer
from ricordo.cli.session import open_user

if TYPE_CHECKING:
    from ricordo.model.reports import ConsolidationReport, RoundReport

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, without a language model.")
]


def upkeep(*, owner: Owner) -> None:
    """Do a user's round of upkeep now: forget what is not used, trim, ask for vectors.

    What takes longer is queued: ricordo jobs run
    """
    with open_user(owner) as memory, working("Tending memories", wanted=not owner.as_json):
        report = memory.upkeep()
    answer(owner.as_json, report, _round_text)


def consolidate(*, dry_run: DryRun = False, owner: Owner) -> None:
    """Merge what says the same, replace what is outdated, link what belongs together.

    Anything that was done can be taken back: ricordo undo ID
    """
    with open_user(owner) as memory, working("Comparing memories", wanted=not owner.as_json):
        report = memory.consolidate(dry_run=dry_run)
    answer(owner.as_json, report, _consolidation_table)


def _round_text(report: "RoundReport") -> Shown:
    queued = f" Queued: {', '.join(report.queued)}." if report.queued else ""
    return (
        f"Forgotten: {report.forgotten}. Rows trimmed: {report.trimmed}."
        f" Relations cut: {report.unrelated}. Vectors asked for: {report.vectors_asked}.{queued}"
    )


def _consolidation_table(report: "ConsolidationReport") -> Shown:
    note = _consolidation_note(report)
    if not report.decisions:
        return f"Nothing to consolidate.{'' if note is None else f' {note}'}"
    rows = [
        [
            one.action,
            str(one.kept),
            "" if one.replaced is None else str(one.replaced),
            f"{one.similarity:.2f}",
            one.reason,
        ]
        for one in report.decisions
    ]
    return Listing(["Decision", "Stays", "Gives way", "Similarity", "Why"], rows, note)


def _consolidation_note(report: "ConsolidationReport") -> str | None:
    said = ["Nothing was changed."] if report.dry_run else []
    if report.waiting:
        said.append(f"{report.waiting} pairs wait for another day.")
    if report.waits is not None:
        said.append(report.waits)
    return " ".join(said) or None
