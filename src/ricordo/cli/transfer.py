"""Files: ``export`` and ``import``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli.options import STANDARD_STREAM, AllUsers, Owner
from ricordo.cli.progress import progress_bar, working
from ricordo.cli.render import answer, write_lines
from ricordo.cli.session import open_store, open_user
from ricordo.cli.shapes import Exported
from ricordo.errors import InvalidValue

if TYPE_CHECKING:
    from ricordo.model.reports import ImportReport

_AUTO: Final = "auto"
_OURS: Final = "ricordo"

ExportPath = Annotated[
    str, typer.Argument(metavar="FILE", help="Where to write; - is standard output.")
]
ImportPath = Annotated[Path, typer.Argument(metavar="FILE", help="What to bring in.")]


def _known_formats(incomplete: str) -> list[str]:
    from ricordo.transfer.imports import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="auto, ricordo, mem0, chatgpt, claude, keyvalue or markdown.",
        autocompletion=_known_formats,
    ),
]


def export(
    *, path: ExportPath = STANDARD_STREAM, all_users: AllUsers = False, owner: Owner
) -> None:
    """Write everything of a user, or of all users, as JSON Lines.

    Example: ricordo export backup.jsonl --all-users
    """
    with open_store(owner) if all_users else open_user(owner) as source:
        if path == STANDARD_STREAM:
            write_lines(source.export_lines())
            return
        with working("Exporting", wanted=not owner.as_json):
            count = source.export(path)
    done = Exported(path=path, lines=count)
    answer(owner.as_json, done, lambda _: f"Wrote {count} lines: {path}")


def import_file(
    *,
    path: ImportPath,
    format_name: Format = _AUTO,
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """Bring in a ricordo export, or what another system exported.

    The whole file is checked before anything is written. The same file again changes nothing.

    Example: ricordo import conversations.json --format chatgpt
    """
    if all_users and format_name not in (_AUTO, _OURS):
        raise InvalidValue("format", "--all-users takes a ricordo export only")
    with progress_bar("Importing", wanted=not owner.as_json) as progress:
        if all_users:
            with open_store(owner) as store:
                report = store.import_file(path, progress=progress)
        else:
            with open_user(owner) as memory:
                report = memory.import_file(path, format=format_name, progress=progress)
    answer(owner.as_json, report, _summary)


def _summary(report: "ImportReport") -> str:
    counts = {
        "restored": report.restored_rows,
        "added": report.added,
        "updated": report.updated,
        "known already": report.duplicates,
        "conversations": report.threads,
        "turns": report.turns,
    }
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "nothing new"
    left_out = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
    return f"From {report.format}: {said}.{f' Left out: {left_out}.' if left_out else ''}"
