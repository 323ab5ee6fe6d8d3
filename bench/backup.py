"""python -m bench backup: how long it takes to back up a store, check the file and restore it.

Each is a process of its own, as an operator runs it; the time is that of the whole process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Machine, this_machine
from ricordo_bench.stores import USER, InventedTexts, synthetic

_COMMAND: Final = str(Path(sys.executable).with_name("ricordo"))
_MEMORIES: Final = 20_000
_AT_ONCE: Final = 5_000
_BYTES_PER_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(Record):
    """Whole processes, and what they wrote."""

    machine: Machine
    memories: int
    store_megabytes: float
    backup_megabytes: float
    make_seconds: float
    check_seconds: float
    restore_seconds: float
    restored: int


def register(commands: Commands) -> None:
    parser = commands.add_parser("backup", help="backing up, checking and restoring a store")
    parser.add_argument(
        "--memories", type=int, default=_MEMORIES, help=f"in the store (default {_MEMORIES:,})"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        report = _measure(Path(name), given.memories, machine, bar("storing memories"))
    answer(given.as_json, report, _table)


def _measure(folder: Path, memories: int, machine: Machine, progress: Progress) -> BackupReport:
    store, copy = folder / "ricordo.db", folder / "restored.db"
    backup = folder / "ricordo.backup"
    texts = InventedTexts().texts(memories)
    with synthetic(str(store), upkeep=False, relations_per_memory=0) as memory:
        for start in range(0, memories, _AT_ONCE):
            memory.user(USER).add_many(texts[start : start + _AT_ONCE])
            progress(min(start + _AT_ONCE, memories), memories)
    make = _seconds(folder, "make", str(backup), "--db", str(store))
    check = _seconds(folder, "check", str(backup))
    restore = _seconds(folder, "restore", str(backup), "--db", str(copy))
    with synthetic(str(copy), upkeep=False) as memory:
        restored = memory.user(USER).embedding_status().memories
    return BackupReport(
        machine=machine,
        memories=memories,
        store_megabytes=store.stat().st_size / _BYTES_PER_MB,
        backup_megabytes=backup.stat().st_size / _BYTES_PER_MB,
        make_seconds=make,
        check_seconds=check,
        restore_seconds=restore,
        restored=restored,
    )


def _seconds(home: Path, *arguments: str) -> float:
    kept = {name: one for name, one in os.environ.items() if not name.startswith("RICORDO_")}
    started = time.perf_counter()
    subprocess.run(
        [_COMMAND, "backup", *arguments],
        env={**kept, "RICORDO_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started


def _table(report: BackupReport) -> TableListing:
    rows = [
        ["memories; restored", f"{report.memories:,}; {report.restored:,}"],
        ["the store", f"{report.store_megabytes:.1f} MB"],
        ["the backup", f"{report.backup_megabytes:.1f} MB"],
        ["backup make", f"{report.make_seconds:.2f} s"],
        ["backup check", f"{report.check_seconds:.2f} s"],
        ["backup restore", f"{report.restore_seconds:.2f} s"],
    ]
    return TableListing(["Backups", ""], rows, report.machine.in_words)
