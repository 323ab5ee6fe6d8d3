"""Comparing with other systems: what they are given, how they are asked, and who is missing."""

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench.peers import comparing, environments, worker
from bench.peers.comparing import as_text, compare, prepare
from bench.peers.contract import Document, Entry, Vectors
from bench.peers.handed import HandedVectors
from bench.peers.registry import NOT_RUN, PEERS

from ricordo.bench.invented import SyntheticEmbedder
from ricordo.bench.questions import QuestionSet, read_questions
from ricordo.transfer.progress import Progress, no_progress
from tests.bench.sets import small_set, written

MODULES = {
    "mem0ai": "mem0",
    "graphiti-core": "graphiti_core",
    "hindsight-api-slim": "hindsight_api",
}


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


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    return read_questions(written(tmp_path, small_set()))


def test_a_turn_as_peers_index_it(questions: QuestionSet) -> None:
    turn = questions.conversations[0].turns[0]
    said = "My sister keeps bees behind the old mill."
    assert as_text(turn, enriched=True) == f"[10:00 am on 1 March, 2025] ana: {said}"
    assert as_text(turn, enriched=False) == said


@pytest.mark.requirement("bench.peers")
def test_peers_are_asked_every_question_of_their_own_user(
    questions: QuestionSet, tmp_path: Path
) -> None:
    prepared = prepare(questions, SyntheticEmbedder().embed, no_progress, enriched=True)
    assert [len(documents) for documents in prepared.documents] == [4, 3]
    peer = Exact()
    entry = Entry("exact", "numpy", lambda folder, width: peer)
    comparing.write_task(tmp_path, entry, prepared)
    found = worker.work(entry, tmp_path)
    assert list(peer.stored) == ["people", "chat"]
    assert [document.at for document in peer.stored["people"][0]] == [
        document.at for document in prepared.documents[0]
    ]
    assert peer.closed
    standing = comparing.standing_of(entry, prepared, found)
    assert standing.version == np.__version__
    assert standing.scores is not None
    assert standing.scores.overall.questions == 3
    assert standing.scores.overall.recall_at_20 == 1.0
    assert standing.searching is not None
    assert standing.searching.calls == 6
    assert standing.stored_per_second is not None and standing.stored_per_second > 0


def test_a_peer_that_fails_gives_back_what_it_has(questions: QuestionSet, tmp_path: Path) -> None:
    class Failing(Exact):
        def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
            raise RuntimeError("no idea")

    prepared = prepare(questions, SyntheticEmbedder().embed, no_progress, enriched=True)
    peer = Failing()
    entry = Entry("failing", "numpy", lambda folder, width: peer)
    comparing.write_task(tmp_path, entry, prepared)
    with pytest.raises(RuntimeError, match="no idea"):
        worker.work(entry, tmp_path)
    assert peer.closed


@pytest.mark.requirement("bench.peers")
def test_each_peer_runs_in_a_process_and_says_why_not(
    questions: QuestionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path))  # where there are none
    prepared = prepare(questions, SyntheticEmbedder().embed, no_progress, enriched=True)
    by_package = {entry.package: entry for entry in PEERS}
    entries = [by_package["langgraph"], by_package["graphiti-core"]]
    ran, absent = compare(prepared, entries, silent)
    assert ran.scores is not None and ran.scores.overall.recall_at_20 == 1.0
    assert ran.megabytes is None
    assert (absent.version, absent.scores, absent.reason) == (None, None, "not installed")
    assert "language model" in absent.switched_off
    unknown = Entry("unknown", "unheard-of", lambda folder, width: Exact())
    (failed,) = compare(prepared, [unknown], silent)
    assert failed.reason is not None and failed.reason.startswith("failed: ")
    (late,) = compare(prepared, entries[:1], silent, seconds=0.01)
    assert late.reason == "not done within 0 s"


def test_an_environment_is_used_when_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path))
    assert environments.python_of("stores") == sys.executable
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("# nothing\n")
    monkeypatch.setattr(environments, "requirements", lambda environment: wanted)
    said: list[str] = []
    environments.install(["stores"], said.append)
    assert environments.python_of("stores") == str(tmp_path / "stores" / "bin" / "python")
    environments.install(["stores"], said.append)
    assert len(said) == 1  # it is there already
    wanted.write_text("/no/such/folder\n")
    environments.install(["stores"], said.append)
    assert "could not be installed" in said[-1]
    assert environments.python_of("stores") == sys.executable


@pytest.mark.parametrize("entry", PEERS, ids=lambda entry: entry.package)
def test_the_version_of_every_peer_is_pinned(entry: Entry) -> None:
    text = environments.requirements(entry.environment).read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(entry.package)}(\[[\w-]+\])?==\d", text, re.MULTILINE)


def test_ricordo_stands_beside_them(questions: QuestionSet) -> None:
    vectors = SyntheticEmbedder().embed(["one", "two"])
    ours = comparing.ricordo_itself(questions, silent, vectors)
    assert ours.system == "ricordo"
    assert ours.stored_per_second is not None and ours.stored_per_second > 0
    assert ours.megabytes is not None and ours.megabytes > 0
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
    module = MODULES.get(entry.package, entry.package)
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


def test_who_is_not_measured_has_a_reason() -> None:
    assert all(one.name and len(one.reason) > 20 for one in NOT_RUN)
    assert not {one.name for one in NOT_RUN} & {entry.name for entry in PEERS}
