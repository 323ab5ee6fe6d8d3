"""Endpoints that are down, slow, wrong or hostile to one text; workers that die; keys that must
not be seen."""

import contextlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from bench.rebuild import problems_of
from bench.rebuilding.course import run_course

from ricordo import Memory, UserMemory
from ricordo.errors import EmbeddingError
from ricordo.index.backfill import FILL_BATCH
from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.providers.embedding_choice import EmbeddingChoice
from ricordo.storage.tables import INDEXED, ITEMS
from ricordo.testing import ManualClock, Response, json_response
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.commandline import COMMAND
from tests.support.endpoints import EmbeddingServer

OpenStore = Callable[..., Memory]
KEY = "sk-do-not-show-this-0123456789"


class TouchyServer(EmbeddingServer):
    """Refuses some texts, and stops answering at one of its requests until it is let go."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.poison: str | None = None
        self.stops_at: int | None = None
        self.stopped = threading.Event()
        self.go_on = threading.Event()

    def __exit__(self, *problem: object) -> None:
        self.go_on.set()
        super().__exit__(*problem)

    def on_post(self, path: str, body: Any) -> Response:
        texts = self.embedded[-1]
        if self.stops_at is not None and len(self.embedded) >= self.stops_at:
            self.stopped.set()
            self.go_on.wait()
        if self.poison is not None and any(self.poison in text for text in texts):
            return json_response(400, {"error": {"message": "input is not acceptable"}})
        return super().on_post(path, body)

    @contextlib.contextmanager
    def held_up(self, work: Callable[[], object]) -> Iterator[None]:
        """Do something while that work, in a thread, waits for an answer of this server."""
        with ThreadPoolExecutor(1) as threads:
            working = threads.submit(work)
            try:
                assert self.stopped.wait(60)
                yield
            finally:
                self.go_on.set()
            working.result()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are tested elsewhere."""


@pytest.fixture
def open_store(open_store: OpenStore) -> OpenStore:
    """Opens stores whose vectors are made as the settings say."""

    def open_one(url: str, **settings: object) -> Memory:
        return open_store(url, **{"embedder": None, **settings})

    return open_one


@pytest.fixture
def server() -> Iterator[TouchyServer]:
    with TouchyServer() as running:
        yield running


@pytest.fixture
def memory(backend_url: str, open_store: OpenStore, server: TouchyServer) -> Memory:
    return open_store(backend_url, **operated_by(server))


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def operated_by(server: EmbeddingServer) -> dict[str, Any]:
    return {
        "embedding_provider": "custom_http",
        "embedding_base_url": server.base_url,
        "embedding_model": server.model,
        "embedding_deadline_seconds": 30.0,  # nothing runs into it
    }


def counts(user: UserMemory) -> tuple[int, int, int]:
    status = user.embedding_status()
    return status.ready, status.pending, status.error


def finds_by_words(user: UserMemory) -> str:
    """Search by words alone; what it says for an excuse."""
    found = user.search("tea")
    assert [hit.content_snippet for hit in found] == ["Prefers green tea"]
    assert found[0].signals.semantic is None
    assert found.degraded is not None
    assert "\n" not in found.degraded
    said = user.search_turns("tea")
    assert len(said) == 1
    assert said.degraded is not None
    return found.degraded


def write_something(user: UserMemory) -> None:
    user.add("Prefers green tea")
    user.observe([{"role": "user", "content": "which tea is best?"}], thread="t1")


@pytest.mark.requirement("embeddings.faults")
def test_an_endpoint_that_is_down(backend_url: str, open_store: OpenStore) -> None:
    with EmbeddingServer() as gone:
        settings = operated_by(gone)
    memory = open_store(backend_url, **settings)
    ana = memory.user("ana")
    write_something(ana)
    assert "is not available" in finds_by_words(ana)
    memory.run_jobs()
    assert counts(ana) == (0, 2, 0)
    (job,) = (job for job in memory.jobs() if job.kind == "embed")
    assert (job.state, job.attempts) == ("queued", 1)
    assert "EmbedderUnavailable" in (job.last_error or "")
    assert ana.embedding_status().last_error == job.last_error
    assert "is not available" in finds_by_words(ana)
    tested = ana.test_embeddings()
    assert (tested.ok, "is not available" in (tested.problem or "")) == (False, True)


@pytest.mark.requirement("embeddings.faults")
def test_it_recovers_by_itself(
    memory: Memory, ana: UserMemory, server: TouchyServer, clock: ManualClock
) -> None:
    server.fail_next(4, status=503)
    write_something(ana)
    memory.run_jobs()
    assert counts(ana) == (0, 2, 0)
    assert "answered 503: scripted failure" in (ana.embedding_status().last_error or "")
    server.answer_rightly()
    assert memory.run_jobs() == 0  # not before its time
    clock.advance(hours=1)
    memory.run_jobs()
    assert counts(ana) == (2, 0, 0)
    found = ana.search("tea")
    assert (found.degraded, found[0].signals.semantic is None) == (None, False)
    assert ana.embedding_status().last_error is None


@pytest.mark.requirement("embeddings.faults")
def test_after_the_last_attempt_the_rows_say_why(
    memory: Memory, ana: UserMemory, server: TouchyServer, clock: ManualClock
) -> None:
    server.answer_width(2_000)
    write_something(ana)
    for _ in range(MAX_JOB_ATTEMPTS):
        assert counts(ana) == (0, 2, 0)
        memory.run_jobs()
        clock.advance(hours=2)
    assert counts(ana) == (0, 0, 2)
    assert "2000 wide; the database takes at most 1024" in (ana.embedding_status().last_error or "")
    assert finds_by_words(ana)
    server.answer_rightly()
    assert memory.run_jobs() == 0
    assert ana.backfill_embeddings().to_dict() == {"put_back": 2, "pending": 2}
    memory.run_jobs()
    assert counts(ana) == (2, 0, 0)


@pytest.mark.requirement("embeddings.faults")
def test_one_text_that_cannot_be_embedded_does_not_hold_up_the_others(
    memory: Memory, ana: UserMemory, server: TouchyServer
) -> None:
    server.poison = "poison"
    ana.add_many([f"Fact number {number}" for number in range(40)])
    spoilt = [ana.add("A poison").id, ana.add("Another poison").id]
    ana.add_many([f"Later fact {number}" for number in range(10)])
    ana.observe([{"role": "user", "content": "Nothing wrong here"}], thread="t1")
    memory.run_jobs()
    assert counts(ana) == (51, 0, 2)
    index = ITEMS.index.c
    with memory.database.read_all() as view:
        failed = view.connection.execute(
            sa.select(index.id, index.error).where(index.state == "error").order_by(index.id)
        ).all()
    assert [row.id for row in failed] == spoilt
    assert all("input is not acceptable" in row.error for row in failed)
    assert [job for job in memory.jobs() if job.kind == "embed" and job.state != "done"] == []
    sent = [text for batch in server.embedded for text in batch]
    assert sent.count("Later fact 3") <= 7  # once for each halving of its batch
    server.poison = None
    ana.backfill_embeddings()
    memory.run_jobs()
    assert counts(ana) == (53, 0, 0)


@pytest.mark.requirement("embeddings.faults")
def test_an_erased_user_does_not_come_back(
    memory: Memory, ana: UserMemory, server: TouchyServer
) -> None:
    ana.add_many([f"Fact number {number}" for number in range(2 * FILL_BATCH)])
    server.stops_at = 3
    with server.held_up(ana.fill_embeddings):
        memory.erase_user("ana")
    assert memory.users() == ()
    with memory.database.read_all() as view:
        for kind in INDEXED:
            rows = sa.select(sa.func.count()).select_from(kind.index)
            assert view.connection.execute(rows).scalar_one() == 0


@pytest.mark.requirement("embeddings.faults")
def test_a_text_that_changes_meanwhile_gets_the_vector_of_its_new_text(
    ana: UserMemory, server: TouchyServer, clock: ManualClock
) -> None:
    item = ana.add("Lives in Bekasi", key="home").id
    server.stops_at = 1
    with server.held_up(ana.fill_embeddings):
        clock.advance(minutes=1)
        ana.add("Lives in Jakarta", key="home")
    assert counts(ana)[1:] == (0, 0)
    found = ana.search("Lives in Jakarta", explain=True)
    assert found[0].id == item
    assert found[0].explanation is not None
    assert found[0].explanation["cosine"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.requirement("embeddings.faults")
def test_two_workers_share_the_work(memory: Memory, ana: UserMemory, server: TouchyServer) -> None:
    ana.add_many([f"Fact number {number}" for number in range(2 * FILL_BATCH)])
    server.stops_at = 3
    with ThreadPoolExecutor(1) as other:
        with server.held_up(ana.fill_embeddings):
            working = other.submit(memory.run_jobs)
        working.result()
    assert counts(ana) == (2 * FILL_BATCH, 0, 0)
    sent = [text for batch in server.embedded for text in batch]
    assert len(sent) == len(set(sent)) == 2 * FILL_BATCH


@pytest.mark.chaos
@pytest.mark.requirement("embeddings.rebuild")
def test_a_killed_rebuild_goes_on(backend_url: str, server: TouchyServer) -> None:
    settings = operated_by(server)
    texts = [f"Fact number {number}" for number in range(5 * FILL_BATCH)]
    with open_memory(backend_url, run_jobs=False, **settings) as memory:
        memory.user("ana").add_many(texts)
        memory.run_jobs()
    before = len(server.embedded)
    server.stops_at = before + 5
    variables = {f"RICORDO_{name.upper()}": str(value) for name, value in settings.items()}
    process = subprocess.Popen(
        [COMMAND, "embeddings", "rebuild", "--yes", "-u", "ana", "--db", backend_url],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert server.stopped.wait(120)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    server.go_on.set()
    with open_memory(backend_url, run_jobs=False, **settings) as memory:
        ana = memory.user("ana")
        assert counts(ana) == (2 * FILL_BATCH, 3 * FILL_BATCH, 0)
        assert len(ana.search("fact number 7", limit=5)) == 5
        assert memory.run_jobs() == 1
        assert counts(ana) == (5 * FILL_BATCH, 0, 0)
    again = [text for batch in server.embedded[before:] for text in batch if text in texts]
    assert set(again) == set(texts)
    assert len(again) <= len(texts) + FILL_BATCH  # the batch at which it was killed


@pytest.mark.requirement("embeddings.settings")
def test_a_key_is_nowhere_to_be_seen(
    backend_url: str,
    open_store: OpenStore,
    server: TouchyServer,
    own_home: Path,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.required_key = "another-key"
    memory = open_store(backend_url, allow_private_embedding_targets=True)
    ana = memory.user("ana")
    settings = {
        "provider": "custom_http",
        "base_url": server.base_url,
        "model": server.model,
        "api_key": KEY,
    }
    change = ana.set_embeddings(**settings, confirm=True)
    assert "401" in (change.problem or "")
    ana.add("Prefers green tea")
    for _ in range(MAX_JOB_ATTEMPTS):
        memory.run_jobs()
        clock.advance(hours=2)
    found = ana.search("tea")
    shown = [
        repr(thing)
        for thing in (
            change,
            found,
            ana.embedding_status(),
            ana.test_embeddings(),
            ana.test_embeddings(**settings),
            memory.jobs(),
            EmbeddingChoice.parse(**settings),
            memory.recall.embedders,
        )
    ]
    with pytest.raises(EmbeddingError) as raised:
        ana.backfill_embeddings()
        ana.fill_embeddings()
    shown += [str(raised.value), caplog.text, *ana.export_lines()]
    assert counts(ana) == (0, 1, 0)
    assert [text for text in shown if KEY in text] == []
    memory.close()
    assert KEY.encode() not in stored(backend_url)
    assert (own_home / "secret.key").stat().st_mode & 0o077 == 0
    # It was sent to where it belongs, and to nobody else.
    assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def stored(url: str) -> bytes:
    if url.startswith("postgresql"):
        return postgres.dump(url)
    return b"".join(path.read_bytes() for path in Path(url).parent.glob(f"{Path(url).name}*"))


@pytest.mark.slow
@pytest.mark.requirement("embeddings.rebuild-under-load")
def test_searches_go_on_while_vectors_are_rebuilt(backend_url: str) -> None:
    said: list[str] = []
    outcome = run_course(backend_url, memories=150, patience_seconds=120, say=said.append)
    assert problems_of(outcome) == ()
    assert outcome.archived > 0
    assert outcome.counts > 0
    # Whoever is answered by words alone, because vectors are missing, is told so.
    assert outcome.verdict.degraded >= outcome.verdict.by_words


def choose(user: UserMemory, server: EmbeddingServer) -> None:
    user.set_embeddings("custom_http", base_url=server.base_url, model=server.model, confirm=True)


@pytest.mark.requirement("embeddings.rebuild-under-load")
def test_a_provider_that_was_left_has_no_more_say(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    """What it refuses, or fails at for the last time, while another one is chosen."""
    memory = open_store(backend_url, allow_private_embedding_targets=True)
    for name, attempts in (("ana", 0), ("ben", MAX_JOB_ATTEMPTS - 1)):
        user = memory.user(name)
        with TouchyServer(model="left") as left, EmbeddingServer(model="new") as new:
            choose(user, left)
            user.add("Prefers green tea")
            left.required_key = "one that nobody has"
            for _ in range(attempts):
                assert memory.run_jobs() > 0
                clock.advance(hours=2)
            left.required_key, left.poison = None, "green"
            left.stops_at = len(left.embedded) + 1
            with left.held_up(memory.run_jobs if attempts else user.fill_embeddings):
                choose(user, new)
            clock.advance(hours=2)
            memory.run_jobs()
            status = user.embedding_status()
        assert (status.model, status.ready, status.error) == ("new", 1, 0)
