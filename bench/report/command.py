"""python -m bench report: measure everything, one section after the other, and write it down.

The full size writes ``docs/report`` and the figures in other pages; any other size only the folder
that ``--out`` names. ``--only NAME --update`` measures one section anew and keeps the others. The
exit code is 1 where a section failed.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.options import Commands
from bench.report import blocks, machine, plots
from bench.report.figures import FILE, Figures, read, write
from bench.report.page import page
from bench.report.questions import write_invented
from bench.report.running import OK, ROOT, Measured, run_all, run_section
from bench.report.sections import SECTIONS, Section, Sizes
from ricordo.cli.render import say

_PUBLISHED: Final = ROOT / "docs" / "report"
_UNDER_WAY: Final = ROOT / "build" / "bench-all.json"
_ELSEWHERE: Final = ROOT / "build" / "report"
_TURNS: Final = {Sizes.FULL: 600, Sizes.QUICK: 200, Sizes.TINY: 20}


def register(commands: Commands) -> None:
    parser = commands.add_parser("report", help="measure everything and write one report")
    parser.add_argument("--sizes", choices=list(Sizes), default=Sizes.FULL, help="how much")
    parser.add_argument("--set", type=Path, help="conversations with questions; default: invented")
    parser.add_argument("--out", type=Path, help="folder (default: docs/report, or build/report)")
    parser.add_argument(
        "--only",
        action="append",
        choices=[one.name for one in SECTIONS],
        help="just this section; may be given several times",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="put what is measured into docs/report, beside the rest",
    )
    parser.add_argument(
        "--pairs", type=Path, help="folder of translations for the section on languages"
    )
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="another encoder for the section on languages; may be given several times",
    )
    parser.add_argument("--budget", type=float, help="seconds for each section, instead of its own")
    parser.add_argument(
        "--resume", action="store_true", help="keep what an interrupted or failed run has measured"
    )
    parser.add_argument(
        "--from", type=Path, dest="source", help="measure nothing; write the pages of this file"
    )
    parser.add_argument(
        "--page",
        type=Path,
        action="append",
        help="a page whose figures are made anew (default at full size: README and the how-to)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    figures = read(given.source) if given.source is not None else _measured(given)
    if given.update:
        figures = updated(read(_PUBLISHED / FILE), figures)
    publishes = figures.made["sizes"] == Sizes.FULL and (given.only is None or given.update)
    out = given.out or (_PUBLISHED if publishes else _ELSEWHERE)
    into = given.page or (blocks.PAGES if publishes and out == _PUBLISHED else ())
    publish(figures, out, into)
    say(f"{out / 'README.md'}: {len(figures.sections)} sections, {len(figures.failed)} failed")
    for one in figures.failed:
        say(f"{one['name']} failed: {one['problem']}")
    if figures.failed:
        sys.exit(1)


def updated(before: Figures, anew: Figures) -> Figures:
    """What was published, with the sections that are measured anew, when and where."""
    when = {"date": anew.made["date"], "commit": anew.made["commit"], "machine": anew.machine}
    sections = {one["name"]: one for one in before.sections}
    sections |= {one["name"]: {**one, "made": when} for one in anew.sections}
    order = [one.name for one in SECTIONS]
    placed = sorted(sections.values(), key=lambda one: order.index(one["name"]))
    return Figures(before.made, before.machine, tuple(placed))


def publish(figures: Figures, out: Path, into: Sequence[Path]) -> None:
    """Write figures, pictures and page, and the figures of other pages."""
    out.mkdir(parents=True, exist_ok=True)
    write(figures, out / FILE)
    shown = read(out / FILE)  # so that what is written now is what is written from the file
    for name in plots.pictures():
        (out / name).unlink(missing_ok=True)
    plots.draw_all(shown, out)
    (out / "README.md").write_text(page(shown), encoding="utf-8")
    for other in into:
        blocks.fill(other, shown)


def _measured(given: argparse.Namespace) -> Figures:
    sizes = Sizes(given.sizes)
    wanted = {one.name: one for one in SECTIONS if not given.only or one.name in given.only}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ricordo-all-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # a server may refuse to run as the one who started this
        questions = _questions(given.set, sizes, folder)
        made = _made(given, sizes, questions)
        encoders = {name: Path(at) for name, _, at in (one.partition("=") for one in given.encoder)}

        def measure(section: Section) -> Measured:
            place = folder / section.name
            place.mkdir()
            place.chmod(0o755)
            try:
                return run_section(
                    section, sizes, questions, place, given.budget, given.pairs, encoders
                )
            finally:
                shutil.rmtree(place, ignore_errors=True)

        before = _before(made) if given.resume else {}
        spent = sum(one["seconds"] for one in before.values())

        def keep(done: list[Measured]) -> None:
            if given.out is None:  # a run into a folder of its own leaves nothing elsewhere
                write(Figures(made, {}, tuple(done)), _UNDER_WAY)

        done = run_all(wanted, measure, before, keep, say)
        about = machine.described(folder)
    if given.out is None and all(one["status"] == OK for one in done):
        _UNDER_WAY.unlink(missing_ok=True)
    made = {**made, "seconds": round(time.monotonic() - started + spent, 1)}
    return Figures(made, about, tuple(done))


def _questions(given: Path | None, sizes: Sizes, folder: Path) -> Path:
    if given is None:
        invented = folder / "invented.json"
        write_invented(invented, _TURNS[sizes])
        return invented
    if not given.is_file():
        sys.exit(f"{given}: there is no such set of questions")
    return given


def _made(given: argparse.Namespace, sizes: Sizes, questions: Path) -> dict[str, Any]:
    name = json.loads(questions.read_text(encoding="utf-8")).get("name", "unnamed")
    quick = "" if sizes is Sizes.FULL else " QUICK=1"
    chosen = "" if given.set is None else " BENCH_SET=FILE"
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": machine.commit(),
        "sizes": str(sizes),
        "command": f"make bench-all{quick}{chosen}",
        "set": {"name": name, "built_in": given.set is None},
    }


def _before(made: dict[str, Any]) -> dict[str, Measured]:
    """What an interrupted run of the same kind has measured well."""
    if not _UNDER_WAY.exists():
        return {}
    found = read(_UNDER_WAY)
    same = all(found.made[name] == made[name] for name in ("commit", "sizes", "set"))
    return {one["name"]: one for one in found.sections if one["status"] == OK} if same else {}
