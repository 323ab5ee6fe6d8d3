"""Everything that can be wrong around a store, made wrong for real, and what ``doctor`` says."""

import base64
import contextlib
import json
import os
import shlex
import socket
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from ricordo.cli.examining import contents, machine
from ricordo.jobs.queue import JobQueue
from ricordo.model.job import NewJob
from ricordo.model.vocabulary import VectorState
from ricordo.storage.index_tables import item_index
from ricordo.storage.tables import history, jobs
from ricordo.testing.embedding_server import EmbeddingServer
from ricordo.testing.model_server import ModelServer
from ricordo.wiring import open_memory
from tests.support.brokers import redis_server
from tests.support.commandline import ricordo

Found = tuple[str, str, str | None]


def found(*options: object) -> dict[str, Found]:
    ran = ricordo("doctor", "--json", *options)
    said = json.loads(ran.out)
    assert any(one["state"] == "problem" for one in said) == (ran.code == 6)
    return {one["check"]: (one["state"], one["found"], one["advice"]) for one in said}


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.requirement("doctor.checks")
def test_a_file_that_was_cut_off(own_home: Path) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 500}" for n in range(300)))
    file = own_home / "ricordo.db"
    os.truncate(file, file.stat().st_size // 2)
    said = found()
    troubled = [check for check, (state, _, _) in said.items() if state == "problem"]
    assert set(troubled) & {"database", "integrity"}
    assert "restore a backup" in str(said[troubled[0]][2])


@pytest.mark.requirement("doctor.checks")
def test_a_log_that_is_never_emptied(own_home: Path) -> None:
    ricordo("add", "Prefers tea")
    file = own_home / "ricordo.db"
    reading = sqlite3.connect(file, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM items").fetchone()
    with (own_home / "ricordo.db-wal").open("ab") as log:
        log.truncate(200 * 1024 * 1024)  # sparse: it takes no space
    try:
        state, message, advice = found()["log"]
    finally:
        reading.close()
    assert (state, "200 MB" in message) == ("warning", True)
    assert "keep the database open" in str(advice)


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.requirement("doctor.checks")
def test_a_disk_on_which_an_erasure_would_not_fit(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ricordo("add", "Prefers tea")
    with (own_home / "ricordo.db").open("ab") as file:
        file.truncate(400 * 1024 * 1024)
    monkeypatch.setattr("shutil.disk_usage", lambda _: DiskUsage(0, 0, 500 * 1024 * 1024))
    state, message, advice = found()["disk"]
    assert (state, advice) == ("warning", "free 301 MB")
    assert "rewrites the file, which takes 800 MB" in message


@pytest.mark.requirement("doctor.checks")
def test_a_policy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("agents: {planner: [work]}\n")
    monkeypatch.setenv("RICORDO_POLICY_FILE", str(policy))
    policy.write_text("agents: [\n")
    state, message, advice = found()["policy"]
    assert (state, str(policy) in message) == ("problem", True)
    assert "RICORDO_POLICY_FILE" in str(advice)
    policy.unlink()
    assert found()["policy"][0] == "problem"


@pytest.mark.requirement("doctor.checks")
def test_a_mirror_with_lines_that_were_not_taken(own_home: Path) -> None:
    ricordo("add", "Prefers tea")
    ricordo("mirror", "sync")
    assert found()["mirror"][0] == "ok"
    file = own_home / "memory" / "MEMORY.md"
    file.write_text(f"{file.read_text()}\n- {'x' * 9_000}\n")
    assert "not" in ricordo("mirror", "sync").out
    state, message, advice = found()["mirror"]
    assert (state, str(file) in message) == ("warning", True)
    assert "ricordo mirror status -u me shows" in str(advice)
    assert "xxx" not in message


@pytest.mark.requirement("doctor.checks")
def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    said = found("--db", tmp_path)
    assert said["file"][0] == "problem"
    assert "chmod" not in str(said["file"][2])  # which would shut the folder
    assert "--db" in str(said["database"][2])
    assert "backup" not in str(said["database"][2])


@pytest.mark.requirement("doctor.checks")
def test_advice_can_be_pasted_where_names_have_spaces(tmp_path: Path) -> None:
    file = tmp_path / "a b" / "it's.db"
    ricordo("add", "Prefers tea", "--db", file)
    file.chmod(0o644)
    assert shlex.split(str(found("--db", file)["file"][2])) == ["chmod", "600", str(file)]


@pytest.mark.requirement("doctor.checks")
def test_a_table_that_is_gone(sqlite_url: str) -> None:
    with contextlib.closing(sqlite3.connect(sqlite_url)) as connection:
        connection.execute("DROP TABLE item_index")
    state, message, advice = found("--db", sqlite_url)["vectors"]
    assert (state, "no such table" in message) == ("problem", True)
    assert "restore a backup" in str(advice)


@pytest.mark.requirement("doctor.checks")
@pytest.mark.parametrize("command", [("doctor",), ("migrate", "--check")])
def test_an_empty_file_stays_empty(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "new.db"
    file.touch(0o600)
    ricordo(*command, "--db", file)
    assert file.stat().st_size == 0


@pytest.mark.requirement("doctor.checks")
def test_a_server_that_is_not_there(dead_port: int) -> None:
    url = f"postgresql://ana:very-secret@127.0.0.1:{dead_port}/x"
    state, message, advice = found("--db", url)["database"]
    assert (state, "\n" in message, "very-secret" in message) == ("problem", False, False)
    assert "start that" in str(advice)


@pytest.mark.requirement("doctor.checks")
def test_an_address_of_another_kind_does_not_give_its_password_away() -> None:
    url = "mysql://ana:very-secret@127.0.0.1/x"
    for command in ("doctor", "list"):
        ran = ricordo(command, "--db", url)
        assert "mysql://ana:***@127.0.0.1/x" in ran.out + ran.err
        assert "very-secret" not in ran.out + ran.err


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.requirement("doctor.checks")
def test_a_setting_that_is_misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_MODEL_API_KEYS", "very-secret")
    state, message, advice = found()["settings"]
    assert (state, message) == ("warning", "RICORDO_MODEL_API_KEYS is set, but is no setting")
    assert advice == "call it RICORDO_MODEL_API_KEY, or unset it"


@pytest.mark.requirement("doctor.checks")
def test_values_of_settings_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    valid = base64.urlsafe_b64encode(b"very-secret" * 2 + b"0123456789").decode()
    for value, state in (("very-secret-value", "problem"), (valid, "ok")):
        monkeypatch.setenv("RICORDO_SECRET_KEY", value)
        said = found()
        assert said["settings"][0] == state
        assert "RICORDO_SECRET_KEY" in str(said["settings"])
        assert value not in json.dumps(said)


@pytest.mark.requirement("doctor.checks")
def test_every_setting_that_is_misspelt_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_MODEL_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RICORDO_BROKER", "x")
    state, message, advice = found()["settings"]
    assert (state, message) == (
        "warning",
        "RICORDO_BROKER, RICORDO_MODEL_URL are set, but are no settings",
    )
    assert advice == "call them RICORDO_BROKER_URL, RICORDO_MODEL_BASE_URL, or unset them"


@pytest.mark.requirement("doctor.checks")
@pytest.mark.parametrize(
    "variable", ["RICORDO_MODEL_NAME", "RICORDO_TIMEZONE", "RICORDO_EMBEDDING_BASE_URL"]
)
def test_a_setting_is_not_blamed_on_what_it_is_not_for(
    variable: str, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ricordo("add", "Prefers tea")
    if "EMBEDDING" in variable:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "openai")
    monkeypatch.setenv(variable, "nowhere")
    said = found()
    assert said["settings"][0] == "problem"
    assert said["settings"][2] == f"correct {variable}, or unset it"
    assert [check for check, (state, _, _) in said.items() if state != "ok"] == ["settings"]
    assert said["database"][0] == "ok"  # which is looked at all the same


# -- clocks --------------------------------------------------------------------------------------


@pytest.mark.requirement("doctor.checks")
def test_a_clock_that_is_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "system_clock", lambda: datetime(2150, 1, 1, tzinfo=UTC))
    assert found()["clock"][0] == "problem"


@pytest.mark.requirement("doctor.checks")
def test_something_was_written_later_than_now(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
        later = datetime.now(UTC) + timedelta(hours=2)
        with memory.database.transaction() as connection:
            connection.execute(sa.update(history).values(at=later))
    state, message, advice = found("--db", backend_url)["times"]
    assert (state, "ahead of this computer's clock" in message) == ("warning", True)
    assert "timedatectl" in str(advice)


@pytest.mark.requirement("doctor.checks")
def test_the_clock_of_the_server_is_another(postgres_url: str) -> None:
    def behind() -> datetime:
        return datetime.now(UTC) - timedelta(minutes=5)

    with open_memory(postgres_url, run_jobs=False, clock=behind) as memory:
        finding = contents.times(memory.database)
    assert (finding.state, "300 s apart" in finding.found) == ("warning", True)


# -- search --------------------------------------------------------------------------------------


@pytest.mark.requirement("doctor.checks")
def test_terms_of_another_analyser(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add_many(["Prefers tea", "Has a cat"])
        with memory.database.transaction() as connection:
            connection.execute(sa.update(item_index).values(analyser="another"))
    state, message, advice = found("--db", backend_url)["terms"]
    assert (state, "of 2 memories" in message, advice) == ("warning", True, "ricordo reindex")


@pytest.fixture
def with_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "local")


@pytest.mark.requirement("doctor.checks")
@pytest.mark.usefixtures("with_vectors")
def test_vectors_of_another_model_or_width(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add_many(["Prefers tea", "Has a cat"])
        assert found("--db", backend_url)["fingerprints"][0] == "ok"
        with memory.database.transaction() as connection:
            connection.execute(sa.update(item_index).values(dimensions=12))
        state, message, advice = found("--db", backend_url)["fingerprints"]
        assert (state, "2 vectors" in message) == ("problem", True)
        assert advice == "ricordo embeddings rebuild -u USER"
        with memory.database.transaction() as connection:
            connection.execute(sa.update(item_index).values(model="another"))
    state, message, advice = found("--db", backend_url)["fingerprints"]
    assert (state, "2 vectors are of another model" in message) == ("warning", True)
    assert advice == "ricordo embeddings backfill -u USER"


@pytest.mark.requirement("doctor.checks")
def test_vectors_that_failed(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
        with memory.database.transaction() as connection:
            failed = sa.update(item_index).values(state=VectorState.ERROR.value, error="no")
            connection.execute(failed)
    assert found("--db", backend_url)["vectors"][0] == "warning"


# -- models --------------------------------------------------------------------------------------


@pytest.mark.requirement("doctor.checks")
def test_an_embedder_that_refuses_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddingServer(required_key="right") as server:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", server.base_url)
        monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", server.model)
        monkeypatch.setenv("RICORDO_EMBEDDING_API_KEY", "wrong-and-secret")
        state, message, advice = found()["embedder"]
        assert (state, "401" in message) == ("warning", True)
        assert "RICORDO_EMBEDDING_" in str(advice)
        assert "wrong-and-secret" not in message
        monkeypatch.setenv("RICORDO_EMBEDDING_API_KEY", "right")
        assert found()["embedder"][0] == "ok"


@pytest.mark.requirement("doctor.checks")
def test_a_model_that_refuses_the_key_or_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(required_key="right") as server:
        server.answer_with(lambda _asked: {"hour": 9, "destination": "coast"})
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("RICORDO_MODEL_NAME", server.model)
        monkeypatch.setenv("RICORDO_MODEL_API_KEY", "wrong-and-secret")
        state, message, advice = found()["model"]
        assert (state, "401" in message) == ("warning", True)
        assert "RICORDO_MODEL_" in str(advice)
        monkeypatch.setenv("RICORDO_MODEL_API_KEY", "right")
        assert found()["model"][0] == "ok"
    assert found()["model"][0] == "warning"


# -- work ----------------------------------------------------------------------------------------


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port on which nobody listens, kept so that nobody else takes it."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@pytest.mark.requirement("doctor.checks")
def test_a_broker_that_is_not_there(dead_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BROKER_URL", f"redis://ana:very-secret@127.0.0.1:{dead_port}/0")
    said = found()
    state, message, advice = said["broker"]
    assert (state, f"127.0.0.1:{dead_port}" in message) == ("problem", True)
    assert "RICORDO_BROKER_URL" in str(advice)
    assert "very-secret" not in json.dumps(said)
    monkeypatch.setenv("RICORDO_BROKER_URL", "http://127.0.0.1")
    assert found()["broker"][0] == "problem"


@pytest.mark.requirement("doctor.checks")
def test_a_broker_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    with redis_server() as broker:
        monkeypatch.setenv("RICORDO_BROKER_URL", broker.url)
        state, message, advice = found()["broker"]
    assert (state, "no worker does" in message) == ("warning", True)
    assert advice == "ricordo celery worker --beat"


def _queue_a_job(url: str) -> None:
    with open_memory(url, run_jobs=False) as memory, memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )


@pytest.mark.requirement("doctor.checks")
def test_jobs_that_nobody_runs(backend_url: str) -> None:
    _queue_a_job(backend_url)
    assert found("--db", backend_url)["jobs"][0] == "ok"
    long_ago = datetime.now(UTC) - timedelta(days=2)
    with (
        open_memory(backend_url, run_jobs=False) as memory,
        memory.database.transaction() as connection,
    ):
        connection.execute(sa.update(jobs).values(run_at=long_ago))
    state, message, advice = found("--db", backend_url)["jobs"]
    assert (state, "1; nobody runs them" in message) == ("warning", True)
    assert "ricordo worker" in str(advice)


@pytest.mark.requirement("doctor.checks")
def test_a_job_whose_worker_died(backend_url: str) -> None:
    _queue_a_job(backend_url)
    with open_memory(backend_url, run_jobs=False) as memory:
        queue = JobQueue(memory.database, timedelta(seconds=60))
        assert queue.claim(frozenset({"lifecycle"})) is not None
        assert found("--db", backend_url)["workers"][0] == "ok"
        with memory.database.transaction() as connection:
            past = datetime.now(UTC) - timedelta(minutes=1)
            connection.execute(sa.update(jobs).values(lease_until=past))
    assert found("--db", backend_url)["workers"][0] == "warning"


@pytest.mark.requirement("doctor.checks")
def test_a_service_that_others_can_reach(backend_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_HOST", "0.0.0.0")
    state, _, advice = found("--db", backend_url)["service"]
    assert (state, "ricordo keys create" in str(advice)) == ("warning", True)
    ricordo("keys", "create", "admin", "--db", backend_url)
    assert found("--db", backend_url)["service"][0] == "ok"
    monkeypatch.setenv("RICORDO_REQUIRE_KEYS", "false")
    state, message, _ = found("--db", backend_url)["service"]
    assert (state, "anybody" in message) == ("problem", True)


@pytest.mark.requirement("doctor.checks")
def test_looking_changes_nothing_and_tells_nothing(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("user-7731").add("A secret about tea", theme="private")
        before = list(memory.export_lines())
        said = ricordo("doctor", "--db", backend_url)
        assert list(memory.export_lines()) == before
    for word in ("secret", "private", "7731"):
        assert word not in said.out.replace(backend_url, "")
