"""python -m bench imports: what files that are small and want much take, beside an honest one.

Each file is imported by a process of its own; memory is the most that it had resident, time its
processor time, both with Python and the library loaded.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.options import Commands, add_json
from ricordo.cli.render import TableListing, answer
from ricordo.model.record import Record

_MEGABYTES: Final = 20
_BYTES_PER_MB: Final = 1_000_000
_ALLOWED_BYTES: Final = 4 * 1024**3  # of address space: a bomb must not take the machine along
_CHILD: Final = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({allowed}, {allowed}))
import ricordo
with ricordo.open({store!r}, upkeep=False) as memory:
    before = time.process_time()
    try:
        memory.user("ana").import_file({path!r})
        told = "imported"
    except BaseException as problem:
        told = str(problem).replace({path!r}, "the file")[:60] or type(problem).__name__
    took = time.process_time() - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps([peak, took, told]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCost(Record):
    """What one file took."""

    file: str
    file_megabytes: float
    resident_megabytes: float
    cpu_seconds: float
    outcome: str


def register(commands: Commands) -> None:
    parser = commands.add_parser("imports", help="what importing hostile and honest files takes")
    parser.add_argument(
        "--megabytes", type=int, default=_MEGABYTES, help=f"of the honest one ({_MEGABYTES})"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        found = tuple(
            _measured(Path(name), file, write)
            for file, write in _files(given.megabytes * _BYTES_PER_MB).items()
        )
    answer(given.as_json, found, _table)


def _files(honest_bytes: int) -> dict[str, Callable[[Path], object]]:
    return {
        "a revision of 30,000,000": lambda path: path.write_text(_export_of(30_000_000)),
        "a revision of 10**12": lambda path: path.write_text(_export_of(10**12)),
        "a zip of empty lists": _zipped_lists,
        "10,000,000 levels": lambda path: path.write_bytes(b"[" * 10_000_000),
        "10,000,000 empty lists": lambda path: path.write_bytes(b"[[" + b"[]," * 10_000_000),
        "10,000,000 numbers in one": lambda path: path.write_bytes(
            b'[{"mapping":[' + b"1," * 10_000_000 + b"1]}]"
        ),
        "an honest export": lambda path: _write_conversations(path, honest_bytes),
    }


def _measured(folder: Path, name: str, write: Callable[[Path], object]) -> ImportCost:
    path = folder / "file"
    write(path)
    script = _CHILD.format(allowed=_ALLOWED_BYTES, store=str(folder / "one.db"), path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    used, took, told = json.loads(lines[-1]) if lines else (0.0, 0.0, "the process was killed")
    size = path.stat().st_size / _BYTES_PER_MB
    for left in folder.iterdir():
        left.unlink()
    return ImportCost(
        file=name,
        file_megabytes=size,
        resident_megabytes=used,
        cpu_seconds=took,
        outcome=told,
    )


def _export_of(revision: int) -> str:
    at = "2026-01-31T12:00:00Z"
    user = {"kind": "user", "user_id": "ana", "revision": revision}
    rows = (
        {"kind": "ricordo", "version": 1},
        {**user, "created_at": at, "updated_at": at},
        {"kind": "end", "rows": 1},
    )
    return "\n".join(map(json.dumps, rows)) + "\n"


def _zipped_lists(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("conversations.json", "w") as file,
    ):
        file.write(b"[")
        for _ in range(100):
            file.write(b"[]," * 1_000_000)
        file.write(b"[]]")


def _write_conversations(path: Path, wanted: int) -> None:
    """An export of ChatGPT with much beside what is said, as those have."""
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < wanted:
            file.write(f"{',' if number else '['}{json.dumps(_conversation(number))}\n")
            number += 1
        file.write("]")


def _conversation(number: int) -> dict[str, object]:
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    above = "root"
    for place, words in enumerate(_said(number)):
        node = f"c{number}-m{place}"
        message = {
            "id": node,
            "author": {"role": ("user", "assistant")[place % 2], "name": None, "metadata": {}},
            "create_time": 1_735_689_600.5 + place,
            "content": {"content_type": "text", "parts": [words]},
            "metadata": {"model_slug": "x", "citations": [], "weights": [0.5] * 40},
            "recipient": "all",
        }
        mapping[node] = {"id": node, "message": message, "parent": above, "children": []}
        above = node
    return {"id": f"c{number}", "title": "Tea", "mapping": mapping, "current_node": above}


def _said(number: int) -> Iterable[str]:
    return (f"In talk {number} somebody said sentence {one}. " * 40 for one in range(20))


def _table(found: tuple[ImportCost, ...]) -> TableListing:
    rows = [
        (
            one.file,
            f"{one.file_megabytes:.1f}",
            f"{one.resident_megabytes:,.0f}",
            f"{one.cpu_seconds:.1f}",
            one.outcome,
        )
        for one in found
    ]
    return TableListing(("file", "MB", "resident MB", "CPU s", "outcome"), rows)
