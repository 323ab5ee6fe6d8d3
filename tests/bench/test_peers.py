"""Comparing with other systems: what they are given, how they are asked, and who is missing."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench.peers import comparing
from bench.peers.comparing import PEERS, as_text, compare, prepare
from bench.peers.contract import Document, Entry, Peer, Vectors
from bench.peers.handed import HandedVectors

from ricordo.bench.invented import SyntheticEmbedder
from ricordo.bench.questions import QuestionSet, read_questions
from ricordo.transfer.progress import Progress, no_progress
from tests.bench.sets import small_set, written


def silent(what: str) -> Progress:
    return no_progress


class Exact:
    """A peer that compares with everything. Named after an installed package for its version."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[Sequence[Document], Vectors]] = {}
        self.closed = False

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        self.stored[user] = (documents, vectors)

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        documents, vectors = self.stored[user]
        best = np.argsort(-(vectors @ vector), kind="stable")[:limit]
        return [documents[place].id for place in best]

    def close(self) -> None:
        self.closed = True


def missing(folder: Path, width: int) -> Peer:
    raise ModuleNotFoundError("No module named 'missing'")


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    return read_questions(written(tmp_path, small_set()))


def test_a_turn_as_peers_index_it(questions: QuestionSet) -> None:
    turn = questions.conversations[0].turns[0]
    said = "My sister keeps bees behind the old mill."
    assert as_text(turn, enriched=True) == f"[10:00 am on 1 March, 2025] ana: {said}"
    assert as_text(turn, enriched=False) == said


def test_peers_are_asked_every_question_of_their_own_user(questions: QuestionSet) -> None:
    prepared = prepare(questions, SyntheticEmbedder().embed, no_progress, enriched=True)
    assert [len(documents) for documents in prepared.documents] == [4, 3]
    peer = Exact()
    moves: list[int] = []
    entries = [Entry("exact", "numpy", lambda folder, width: peer), Entry("other", "x", missing)]
    exact, other = compare(prepared, entries, lambda what: lambda done, total: moves.append(done))
    assert list(peer.stored) == ["people", "chat"]
    assert peer.closed
    assert moves == [1, 2, 3, 4, 5, 6]
    assert exact.version == np.__version__
    assert exact.scores is not None
    assert exact.scores.overall.questions == 3
    assert exact.scores.overall.recall_at_20 == 1.0
    assert exact.searching is not None
    assert exact.searching.calls == 6
    assert (other.system, other.version, other.scores) == ("other", None, None)


def test_ricordo_stands_beside_them(questions: QuestionSet) -> None:
    ours = comparing.ricordo_itself(questions, silent)
    assert ours.system == "ricordo"
    assert ours.scores is not None
    assert ours.scores.overall.recall_at_20 == 1.0


def test_handed_vectors_come_back() -> None:
    vectors = HandedVectors()
    vectors.hand(["a", "b"], np.eye(2, dtype=np.float32))
    assert vectors.of("a") == [1.0, 0.0]
    assert vectors.of_all(["b", "a"]) == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("entry", PEERS, ids=lambda entry: entry.package)
@pytest.mark.filterwarnings("ignore")  # how they use their own dependencies is their affair
def test_an_installed_peer_finds_the_nearest(entry: Entry, tmp_path: Path) -> None:
    module = {"mem0ai": "mem0"}.get(entry.package, entry.package)
    if importlib.util.find_spec(module) is None:
        with pytest.raises(ModuleNotFoundError):
            entry.start(tmp_path, 8)
        return
    texts = [f"remark number {number}" for number in range(6)]
    documents = [Document(f"t{number}", text) for number, text in enumerate(texts)]
    vectors = SyntheticEmbedder(width=8).embed(texts)
    peer = entry.start(tmp_path, 8)
    try:
        peer.load("ana", documents, vectors)
        peer.load("ben", documents[:1], vectors[:1])
        assert peer.search("ana", texts[3], vectors[3], 3)[0] == "t3"
        assert peer.search("ben", texts[0], vectors[0], 3) == ["t0"]
    finally:
        peer.close()
