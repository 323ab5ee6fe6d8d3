"""python -m bench languages: the same conversations and questions in six languages.

How well turns are found where everything is in one language, and where the questions are in
English. With --pairs FOLDER also how often the nearest of all English sentences is the translation,
by the encoder alone; the folder has a file LANGUAGE.tsv for each (English, tab, other).
"""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.options import Commands, add_json
from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.transfer.foreign_files import read_text
from ricordo_bench.recall import (
    Conversation,
    Measures,
    Question,
    QuestionSet,
    SaidTurn,
    measure_recall,
    observe_all,
    store_for_measuring,
)

_SET: Final = Path(__file__).parent / "parallel_conversations.jsonl"
LANGUAGES: Final = ("en", "id", "es", "de", "ja", "zh")
_ENGLISH: Final = "en"
_AT_ONCE: Final = 64
_SUFFIX: Final = ".tsv"


def in_language(language: str, asked_in: str) -> QuestionSet:
    lines = _SET.read_text(encoding="utf-8").splitlines()
    told = tuple(_conversation(json.loads(line), language, asked_in) for line in lines)
    return QuestionSet(language, told)


def _conversation(given: dict[str, Any], language: str, asked_in: str) -> Conversation:
    turns = tuple(
        SaidTurn(
            id=f"t{place}",
            thread=turn["day"],
            actor=given["names"][turn["who"]][language],
            role=None,
            at=datetime.fromisoformat(turn["day"]).replace(tzinfo=UTC) + timedelta(minutes=place),
            text=turn["text"][language],
        )
        for place, turn in enumerate(given["turns"])
    )
    questions = tuple(
        Question(
            id=f"q{place}",
            text=one["text"][asked_in],
            category=one["category"],
            evidence=tuple(f"t{turn}" for turn in one["evidence"]),
            stale=None,
            fresh=None,
        )
        for place, one in enumerate(given["questions"])
    )
    return Conversation(f"{given['id']}-{language}", turns, questions)


def found(language: str) -> dict[str, Measures]:
    """Asked in the language itself, and in English."""
    with store_for_measuring(None) as url:
        observe_all(url, in_language(language, language))
        return {
            asked_in: measure_recall(url, in_language(language, asked_in)).scores.overall
            for asked_in in dict.fromkeys((language, _ENGLISH))
        }


def read_pairs(folder: Path) -> dict[str, list[list[str]]]:
    """The English sentences and their translations, by language.

    Raises:
        ImportFailed: nothing there can be read, or a line is no pair; the message says where.
    """
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files:
        raise ImportFailed(f"{folder}: no {_SUFFIX} file in this folder")
    return {file.stem: _pairs(file) for file in files}


def _pairs(file: Path) -> list[list[str]]:
    rows = []
    lines = read_text(file, limits.MAX_IMPORT_FILE_BYTES).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = line.split("\t")
        if len(row) != 2 or not all(row):
            raise ImportFailed(f"{file}, line {number}: expected two texts with a tab between them")
        rows.append(row)
    if not rows:
        raise ImportFailed(f"{file}: no pair in it")
    return rows


def top_1(rows: Sequence[Sequence[str]]) -> float:
    embedder = LocalEmbedder()
    english, other = (
        np.concatenate(
            [
                embedder.embed([row[side] for row in rows[start : start + _AT_ONCE]])
                for start in range(0, len(rows), _AT_ONCE)
            ]
        )
        for side in (0, 1)
    )
    return float(((other @ english.T).argmax(1) == np.arange(len(rows))).mean())


def measure(pairs: Path | None) -> dict[str, Any]:
    # First, so that a mistake in a file shows at once.
    given = {} if pairs is None else read_pairs(pairs)
    paired = {language: top_1(rows) for language, rows in given.items()}
    recall = {
        language: {asked_in: one.to_dict() for asked_in, one in found(language).items()}
        for language in LANGUAGES
    }
    return {"recall": recall, "pairs": paired}


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("languages", help="the same questions in six languages")
    add_json(parser)
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="sentences and translations")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = measure(given.pairs)
    if given.as_json:
        print(json.dumps(measured))
        return
    print(f"{'Turns':8} {'Questions':10} {'R@1':>6} {'R@5':>6} {'R@10':>6} {'MRR':>6}")
    for language, asked in measured["recall"].items():
        for asked_in, one in asked.items():
            shares = (one["recall_at_1"], one["recall_at_5"], one["recall_at_10"], one["mrr"])
            print(f"{language:8} {asked_in:10}", *(f"{share:6.3f}" for share in shares))
    for language, share in measured["pairs"].items():
        print(f"{language}: {share:.3f} of the translations are the nearest")
    if measured["pairs"]:
        print(f"mean {sum(measured['pairs'].values()) / len(measured['pairs']):.3f}")
