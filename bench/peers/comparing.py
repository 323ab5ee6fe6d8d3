"""The protocol of ``ricordo bench recall``, for ricordo and for every peer that is installed."""

import importlib.metadata
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers import chroma, lance, langgraph_store, mem_zero
from bench.peers.contract import Document, Entry, Peer, Vectors
from ricordo.bench.latency import Latency, latency
from ricordo.bench.machine import Machine
from ricordo.bench.metrics import DEPTH, Outcome
from ricordo.bench.questions import QuestionSet, SaidTurn
from ricordo.bench.recall import measure_recall, observe_all, store_for_measuring
from ricordo.bench.scoring import Scores, scored
from ricordo.model.record import Record
from ricordo.transfer.progress import Progress
from ricordo.version import __version__

PEERS: tuple[Entry, ...] = (
    chroma.ENTRY,
    lance.ENTRY,
    langgraph_store.ENTRY,
    mem_zero.ENTRY,
)
RICORDO = "ricordo"

Embed = Callable[[Sequence[str]], Vectors]
ProgressOf = Callable[[str], Progress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Record):
    """How one system did. Times are without embedding the query. None: it is not installed."""

    system: str
    version: str | None
    scores: Scores | None = None
    searching: Latency | None = None


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
        made = tuple(Document(turn.id, as_text(turn, enriched=enriched)) for turn in turns)
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
    prepared: Prepared, entries: Sequence[Entry], progress_of: ProgressOf
) -> Iterator[Standing]:
    """Measure the peers one after the other."""
    for entry in entries:
        with tempfile.TemporaryDirectory(prefix="ricordo-peer-") as folder:
            try:
                peer = entry.start(Path(folder), prepared.document_vectors[0].shape[1])
            except ModuleNotFoundError:
                yield Standing(system=entry.name, version=None)
                continue
            try:
                yield _measured(entry, peer, prepared, progress_of(entry.name))
            finally:
                peer.close()


def ricordo_itself(questions: QuestionSet, progress_of: ProgressOf) -> Standing:
    """Measure ricordo as it comes."""
    with store_for_measuring(None) as url:
        observe_all(url, questions, progress_of(f"{RICORDO}, observing"))
        report = measure_recall(url, questions, progress_of(RICORDO))
    return Standing(
        system=RICORDO, version=__version__, scores=report.scores, searching=report.searching
    )


def _measured(entry: Entry, peer: Peer, prepared: Prepared, progress: Progress) -> Standing:
    conversations = prepared.questions.conversations
    for conversation, documents, vectors in zip(
        conversations, prepared.documents, prepared.document_vectors, strict=True
    ):
        peer.load(conversation.id, documents, vectors)
    outcomes: list[Outcome] = []
    times_ms: list[float] = []
    for conversation, vectors in zip(conversations, prepared.question_vectors, strict=True):
        for question, vector in zip(conversation.questions, vectors, strict=True):
            started = time.perf_counter()
            found = peer.search(conversation.id, question.text, vector, DEPTH)
            times_ms.append((time.perf_counter() - started) * 1_000)
            outcomes.append(
                Outcome(
                    question.category,
                    question.evidence,
                    tuple(found),
                    question.stale,
                    question.fresh,
                )
            )
            progress(len(outcomes), prepared.questions.question_count)
    return Standing(
        system=entry.name,
        version=importlib.metadata.version(entry.package),
        scores=scored(outcomes),
        searching=latency(times_ms),
    )
