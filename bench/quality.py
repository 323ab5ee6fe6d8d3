"""python -m bench quality: how much of what the rules store is right, and how much they find."""

import argparse
import json
from pathlib import Path
from typing import Any

from bench.options import Commands, add_json
from ricordo.testing import WordEmbedder
from ricordo_bench.formation import FormationRow, measure_formation, measures, read_labelled

_FOLDER = Path(__file__).parents[1] / "tests" / "formation" / "quality"
SETS = {
    "development": _FOLDER / "snippets",
    "everyday": _FOLDER / "everyday",
    "held out": _FOLDER / "held_out",
    "blind": _FOLDER / "blind",
    "languages": _FOLDER / "languages",
}
"""The rules were written with the first two at hand, and without looking at the others."""


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("quality", help="what the rules store of labelled conversations")
    add_json(parser)
    parser.add_argument("--errors", action="store_true", help="also list what is wrong and missed")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = [
        measure_formation(name, read_labelled(folder), embedder=WordEmbedder())
        for name, folder in SETS.items()
    ]
    found = measures(measured, with_mistakes=given.errors)
    if given.as_json:
        print(json.dumps([_plain(row) for row in found.rows], ensure_ascii=False))
        return
    print(f"{'Set':12} {'Language':9} {'Precision':>9} {'Recall':>7} {'Stored':>7} {'Expected':>9}")
    for row in found.rows:
        print(
            f"{row.set_name:12} {row.language:9} {row.precision:9.3f} {row.recall:7.3f}"
            f" {row.stored:7} {row.expected:9}"
        )
    for mistake in found.mistakes or ():
        print(f"{mistake.set_name}: {mistake.kind} {mistake.conversation}: {mistake.text}")


def _plain(row: FormationRow) -> dict[str, Any]:
    return {
        "set": row.set_name,
        "language": row.language,
        "precision": round(row.precision, 4),
        "recall": round(row.recall, 4),
        "stored": row.stored,
        "expected": row.expected,
    }
