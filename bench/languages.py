"""python -m bench languages: the same conversations and questions in six languages.

How well turns are found where everything is in one language, and where the questions are in
English; beside it encoders alone and words alone, and what each encoder costs. With --pairs FOLDER
also how often the nearest of all English sentences is the translation, by each encoder alone; the
folder has a file LANGUAGE.tsv for each (English, tab, other).
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench import encoders
from bench.options import Commands, add_json
from ricordo import limits
from ricordo.cli.render import say
from ricordo.errors import ImportFailed
from ricordo.providers.local_embedder import SHIPPED_NAME
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


def measure(
    pairs: Path | None, others: Mapping[str, Path], languages: Sequence[str]
) -> dict[str, Any]:
    # First, so that a mistake in a file shows at once.
    given = {} if pairs is None else read_pairs(pairs)
    known: dict[str, Path | None] = {SHIPPED_NAME: None, **others}
    paired = {
        name: {language: encoders.top_1(folder, rows) for language, rows in given.items()}
        for name, folder in known.items()
    }
    recall = {
        language: {asked_in: one.to_dict() for asked_in, one in found(language).items()}
        for language in languages
    }
    ranked = {name: encoders.by_meaning(folder) for name, folder in known.items()}
    ranked[encoders.WORDS_ALONE] = encoders.by_words
    alone = {
        name: {
            language: encoders.alone(in_language(language, language), rank).to_dict()
            for language in languages
        }
        for name, rank in ranked.items()
    }
    questions = _questions()
    costs = {name: encoders.cost(folder, questions) for name, folder in known.items()}
    return {"recall": recall, "alone": alone, "pairs": paired, "costs": costs}


def _questions() -> list[str]:
    """Those in English, on which the time of a text is measured."""
    told = in_language(_ENGLISH, _ENGLISH).conversations
    return [question.text for conversation in told for question in conversation.questions]


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("languages", help="the same questions in six languages")
    add_json(parser)
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="sentences and translations")
    parser.add_argument(
        "--only", action="append", choices=LANGUAGES, help="just this language; repeatable"
    )
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="another encoder to compare with: an ONNX graph and tokenizer.json; repeatable",
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help=f"first put {encoders.ENGLISH_ALONE} into an environment of its own",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    silent = given.as_json
    others = encoders.known(given.encoder, _silent if silent else say, install=given.install)
    measured = measure(given.pairs, others, given.only or LANGUAGES)
    if silent:
        print(json.dumps(measured))
        return
    print(f"{'Turns':8} {'Questions':10} {'R@1':>6} {'R@5':>6} {'R@10':>6} {'MRR':>6}")
    for language, asked in measured["recall"].items():
        for asked_in, one in asked.items():
            shares = (one["recall_at_1"], one["recall_at_5"], one["recall_at_10"], one["mrr"])
            print(f"{language:8} {asked_in:10}", *(f"{share:6.3f}" for share in shares))
    print("\nR@10 of each alone, asked in the language of the turns")
    for name, by_language in measured["alone"].items():
        shown = (f"{language} {one['recall_at_10']:.3f}" for language, one in by_language.items())
        print(f"{name:20}", *shown)
    print("\nEncoders: files, loading, a question (one thread), memory")
    for name, one in measured["costs"].items():
        print(
            f"{name:20} {one['megabytes']:6.1f} MB {one['load_seconds']:6.2f} s"
            f" {one['p50_ms']:6.2f} ms {one['resident_mb']:6.0f} MB"
        )
    for name, shares in measured["pairs"].items():
        for language, share in shares.items():
            print(f"{name}, {language}: {share:.3f} of the translations are the nearest")
        if shares:
            print(f"{name}: mean {sum(shares.values()) / len(shares):.3f}")


def _silent(text: str) -> None:
    del text
