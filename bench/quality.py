"""python -m bench quality: how much of what the rules store is right, and how much they find."""

import argparse
import json
from pathlib import Path
from typing import Any

from tests.formation.quality.measure import Figures, Judgement, by_language, total
from tests.formation.quality.running import judged
from tests.formation.quality.snippets import FOLDER, load

from bench.options import Commands, add_json
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory

SETS = {
    "development": FOLDER,
    "everyday": FOLDER.parent / "everyday",
    "held out": FOLDER.parent / "held_out",
    "blind": FOLDER.parent / "blind",
    "languages": FOLDER.parent / "languages",
}
"""The rules were written with the first two at hand, and without looking at the others."""


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("quality", help="what the rules store of labelled conversations")
    add_json(parser)
    parser.add_argument("--errors", action="store_true", help="also list what is wrong and missed")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = {name: measure(folder) for name, folder in SETS.items()}
    rows = [
        (name, language, figures)
        for name, judgements in measured.items()
        for language, figures in {"all": total(judgements), **by_language(judgements)}.items()
    ]
    if given.as_json:
        print(json.dumps([_plain(*row) for row in rows], ensure_ascii=False))
        return
    print(f"{'Set':12} {'Language':9} {'Precision':>9} {'Recall':>7} {'Stored':>7} {'Expected':>9}")
    for name, language, found in rows:
        print(
            f"{name:12} {language:9} {found.precision:9.3f} {found.recall:7.3f}"
            f" {found.stored:7} {found.expected:9}"
        )
    if given.errors:
        for name, judgements in measured.items():
            _print_errors(name, total(judgements))


def measure(folder: Path) -> list[Judgement]:
    """Every snippet of a folder through formation without a model, in a throw-away store."""
    with open_memory(":memory:", run_jobs=False, embedder=WordEmbedder()) as memory:
        return [judged(memory, snippet) for snippet in load(folder)]


def _plain(name: str, language: str, found: Figures) -> dict[str, Any]:
    return {
        "set": name,
        "language": language,
        "precision": round(found.precision, 4),
        "recall": round(found.recall, 4),
        "stored": found.stored,
        "expected": found.expected,
    }


def _print_errors(name: str, found: Figures) -> None:
    for wrong in found.wrong:
        print(f"{name}: wrong {wrong[0]}: {wrong[1]}")
    for missed in found.missed:
        print(f"{name}: missed {missed[0]}: {missed[1]}")
