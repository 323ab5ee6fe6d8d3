"""The protocol of ``ricordo bench recall``, for ricordo and for every peer that is installed.

Each peer is filled and asked in a process of its own, with the Python of its environment.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.peers import environments, worker
from bench.peers.contract import Document, Entry, Vectors
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo.version import __version__
from ricordo_bench.figures import Latency, Machine, latency
from ricordo_bench.recall import (
    DEPTH,
    Outcome,
    QuestionSet,
    SaidTurn,
    Scores,
    measure_recall,
    observe_all,
    scored,
    store_for_measuring,
)
from ricordo_bench.stores import SyntheticEmbedder

RICORDO = "ricordo"
PEER_SECONDS = 900.0
_ENDING_SECONDS = 20.0
_LAST_LINES = 3
_BYTES_PER_MB = 1_000_000

Embed = Callable[[Sequence[str]], Vectors]
ProgressOf = Callable[[str], Progress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Record):
    """How one system did. Times are without embedding the query.

    ``stored_per_second`` are turns with vectors that are there already, each system in the fastest
    way that it offers; ``megabytes`` what they take on disk. Without scores it did not run:
    ``reason`` says why.
    """

    system: str
    version: str | None
    scores: Scores | None = None
    searching: Latency | None = None
    stored_per_second: float | None = None
    megabytes: float | None = None
    switched_off: str = ""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Record):
    """How all of them did on one set, and what they were measured on."""

    set_name: str
    machine: Machine
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A set with the vectors of its texts and of its questions, by conversation."""

    questions: QuestionSet
    documents: tuple[tuple[Document, ...], ...]
    document_vectors: tuple[Vectors, ...]
    question_vectors: tuple[Vectors, ...]


def prepare(
    questions: QuestionSet, embed: Embed, progress: Progress, *, enriched: bool
) -> Prepared:
    """Compute every vector once, for all peers."""
    documents, of_documents, of_questions = [], [], []
    for number, conversation in enumerate(questions.conversations):
        progress(number, len(questions.conversations))
        turns = [turn for turn in conversation.turns if turn.text]
        made = tuple(Document(turn.id, as_text(turn, enriched=enriched), turn.at) for turn in turns)
        documents.append(made)
        of_documents.append(embed([document.text for document in made]))
        of_questions.append(embed([question.text for question in conversation.questions]))
    return Prepared(questions, tuple(documents), tuple(of_documents), tuple(of_questions))


def as_text(turn: SaidTurn, *, enriched: bool) -> str:
    """A turn as peers index it: bare, or with when it was said and by whom."""
    if not enriched:
        return turn.text
    hour = turn.at.hour % 12 or 12
    half = "am" if turn.at.hour < 12 else "pm"
    when = f"{hour}:{turn.at:%M} {half} on {turn.at.day} {turn.at:%B}, {turn.at.year}"
    return f"[{when}] {turn.actor or turn.role}: {turn.text}"


def compare(
    prepared: Prepared,
    entries: Sequence[Entry],
    progress_of: ProgressOf,
    *,
    seconds: float = PEER_SECONDS,
) -> Iterator[Standing]:
    """Measure the peers one after the other; none of them can spoil it for the others."""
    for number, entry in enumerate(entries):
        progress_of(entry.name)(number, len(entries))
        with tempfile.TemporaryDirectory(prefix="ricordo-peer-", ignore_cleanup_errors=True) as at:
            folder = Path(at)
            write_task(folder, entry, prepared)
            problem = run_worker(entry, folder, seconds)
            if problem is None:
                found = json.loads((folder / worker.FOUND).read_text(encoding="utf-8"))
                yield standing_of(entry, prepared, worker.Found(**found))
            else:
                yield Standing(
                    system=entry.name,
                    version=None,
                    switched_off=entry.switched_off,
                    reason=problem,
                )


def write_task(folder: Path, entry: Entry, prepared: Prepared) -> None:
    folder.chmod(0o755)  # a server may refuse to run as the one who started this
    conversations = [
        {
            "id": conversation.id,
            "documents": [
                {"id": one.id, "text": one.text, "at": one.at.isoformat() if one.at else None}
                for one in documents
            ],
            "questions": [question.text for question in conversation.questions],
        }
        for conversation, documents in zip(
            prepared.questions.conversations, prepared.documents, strict=True
        )
    ]
    task = {
        "package": entry.package,
        "width": prepared.document_vectors[0].shape[1],
        "depth": DEPTH,
        "conversations": conversations,
    }
    (folder / worker.TASK).write_text(json.dumps(task), encoding="utf-8")
    vectors = {f"documents-{n}": one for n, one in enumerate(prepared.document_vectors)}
    vectors |= {f"questions-{n}": one for n, one in enumerate(prepared.question_vectors)}
    np.savez(folder / worker.VECTORS, **vectors)  # type: ignore[arg-type]


def run_worker(
    entry: Entry, folder: Path, seconds: float, module: str = "bench.peers.worker"
) -> str | None:
    """Let a peer work; what went wrong, if anything."""
    python = environments.python_of(entry.environment)
    surroundings = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(environments.ROOT)}
    with subprocess.Popen(
        [python, "-m", module, str(folder)],
        cwd=environments.ROOT,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # so that it stops the server that it may have
            try:
                process.communicate(timeout=_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            return f"not done within {seconds:.0f} s"
    if process.returncode == worker.NOT_INSTALLED:
        return "not installed"
    if process.returncode != 0:
        lines = [line for line in said.splitlines() if line.strip()]
        return f"failed: {' '.join(lines[-_LAST_LINES:])}"
    return None


def standing_of(entry: Entry, prepared: Prepared, found: worker.Found) -> Standing:
    asked = [one for part in prepared.questions.conversations for one in part.questions]
    outcomes = [
        Outcome(one.category, one.evidence, tuple(answers), one.stale, one.fresh)
        for one, answers in zip(asked, found.answers, strict=True)
    ]
    turns = sum(len(documents) for documents in prepared.documents)
    return Standing(
        system=entry.name,
        version=found.version,
        scores=scored(outcomes),
        searching=latency(found.times_ms),
        stored_per_second=turns / found.loading_seconds,
        megabytes=found.megabytes,
        switched_off=entry.switched_off,
    )


class _HandedEmbedder(SyntheticEmbedder):
    """Gives vectors that are there already, for measuring what storing alone costs."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__(width=vectors.shape[1])
        self._vectors = vectors

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """As many vectors as there are texts."""
        del deadline_seconds
        return np.resize(self._vectors, (len(texts), self.width))


def ricordo_itself(
    questions: QuestionSet, progress_of: ProgressOf, vectors: Vectors | None = None
) -> Standing:
    """Measure ricordo as it comes; with vectors, also how fast it stores turns with them."""
    per_second = megabytes = None
    if vectors is not None:
        per_second, megabytes = _storing(questions, vectors)
    with store_for_measuring(None) as url:
        observe_all(url, questions, progress_of(f"{RICORDO}, observing"))
        report = measure_recall(url, questions, progress_of(RICORDO))
    return Standing(
        system=RICORDO,
        version=__version__,
        scores=report.scores,
        searching=report.searching,
        stored_per_second=per_second,
        megabytes=megabytes,
    )


def _storing(questions: QuestionSet, vectors: Vectors) -> tuple[float, float]:
    """Turns per second with handed vectors, fully durable; megabytes on disk."""
    with store_for_measuring(None) as url:
        started = time.perf_counter()
        observe_all(url, questions, embedder=_HandedEmbedder(vectors))
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(url).parent.iterdir())
    return questions.turn_count / seconds, size / _BYTES_PER_MB
