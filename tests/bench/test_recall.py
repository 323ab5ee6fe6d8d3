"""The protocol of measuring recall, run for real on a small set."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ricordo.errors import EmbeddingError
from ricordo.wiring import open_memory
from ricordo_bench.recall import (
    PLAIN,
    STEPS,
    QuestionSet,
    climb,
    measure_recall,
    observe_all,
    read_questions,
    store_for_measuring,
    user_of,
)
from tests.bench.sets import small_set, turn, written
from tests.support.endpoints import EmbeddingServer


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    return read_questions(written(tmp_path, small_set()))


@pytest.mark.requirement("recall.bench")
def test_every_worded_turn_is_observed_in_order(sqlite_url: str, questions: QuestionSet) -> None:
    moves: list[tuple[int, int]] = []
    observe_all(sqlite_url, questions, lambda done, total: moves.append((done, total)))
    assert moves[-1] == (7, 8)
    observe_all(sqlite_url, questions)  # again: it changes nothing
    with open_memory(sqlite_url, run_jobs=False) as memory:
        assert memory.users() == ("bench:chat", "bench:people")
        people = memory.user(user_of(questions.conversations[0]))
        assert [thread.turn_count for thread in people.threads().items] == [2, 2]
        second = people.turns("s2").items
        assert [one.message_id for one in second] == ["t3", "t4"]
        assert [one.actor for one in second] == ["ana", "ben"]
        assert {one.role for one in second} == {"user"}
        assert second[0].at == questions.conversations[0].turns[2].at
        chat = memory.user(user_of(questions.conversations[1]))
        assert [one.role for one in chat.turns("s1").items] == ["user", "assistant", "user"]


@pytest.mark.requirement("recall.bench")
def test_each_question_is_asked_once_of_its_own_user(backend_url: str, tmp_path: Path) -> None:
    content = small_set()
    content["conversations"][1]["turns"].append(turn(9, "Where are the bees kept?"))
    questions = read_questions(written(tmp_path, content))
    observe_all(backend_url, questions)
    moves: list[int] = []
    report = measure_recall(backend_url, questions, lambda done, total: moves.append(done))
    assert moves == [1, 2, 3, 4, 5, 6]
    assert (report.set_name, report.conversations) == ("small", 2)
    assert (report.turns, report.questions) == (9, 6)
    assert report.embedding.calls == report.searching.calls == 6
    assert report.searching.p50_ms > 0
    assert report.degraded == 0
    scores = report.scores
    # Every conversation has fewer turns than are asked for, so all that matches is found.
    assert scores.overall.questions == 3
    assert scores.overall.recall_at_20 == 1.0
    assert list(scores.apart) == ["adversarial"]
    assert scores.without_evidence == 2
    assert scores.freshness.questions == 1
    assert (scores.abstaining.answerable, scores.abstaining.unanswerable) == (3, 4)


def test_the_ladder_adds_one_step_at_a_time(sqlite_url: str, questions: QuestionSet) -> None:
    observe_all(sqlite_url, questions)
    rungs = list(climb(sqlite_url, questions))
    assert [rung.step for rung in rungs] == [PLAIN, *STEPS]
    assert rungs[0].gain == 0
    reached = [rung.report.scores.overall.recall_at_10 for rung in rungs]
    assert [rung.gain for rung in rungs[1:]] == pytest.approx(
        [after - before for before, after in pairwise(reached)]
    )
    # With every step it is what comes without any setting.
    whole = measure_recall(sqlite_url, questions)
    assert rungs[-1].report.scores == whole.scores


def test_a_temporary_store_is_removed() -> None:
    with store_for_measuring(None) as url:
        open_memory(url, run_jobs=False).close()
        assert Path(url).exists()
    assert not Path(url).exists()
    with store_for_measuring("given.db") as url:
        assert url == "given.db"


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", server.base_url)
        monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", server.model)
        yield server


def test_searching_starts_when_a_remote_embedder_has_made_all_vectors(
    sqlite_url: str, questions: QuestionSet, remote: EmbeddingServer
) -> None:
    observe_all(sqlite_url, questions)
    with open_memory(sqlite_url, run_jobs=False) as memory:
        for conversation in questions.conversations:
            status = memory.user(user_of(conversation)).embedding_status()
            assert (status.pending, status.error) == (0, 0)
            assert status.ready > 0
    report = measure_recall(sqlite_url, questions)
    assert report.embedder == f"custom_http {remote.model}"
    assert report.degraded == 0
    # Vectors of another model are made anew.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PROVIDER", "BASE_URL", "MODEL"):
            patch.delenv(f"RICORDO_EMBEDDING_{name}")
        observe_all(sqlite_url, questions)
        report = measure_recall(sqlite_url, questions)
    assert report.embedder.startswith("local ricordo-multi")
    assert report.degraded == 0


def test_nothing_is_measured_without_all_vectors_unless_there_is_no_embedder(
    sqlite_url: str,
    questions: QuestionSet,
    remote: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote.fail_next(100, status=401)
    with pytest.raises(EmbeddingError):
        observe_all(sqlite_url, questions)
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    for name in ("BASE_URL", "MODEL"):
        monkeypatch.delenv(f"RICORDO_EMBEDDING_{name}")
    observe_all(sqlite_url, questions)
    report = measure_recall(sqlite_url, questions)
    assert (report.embedder, report.embedding.p95_ms) == ("none", 0)
    assert report.scores.overall.recall_at_20 > 0
