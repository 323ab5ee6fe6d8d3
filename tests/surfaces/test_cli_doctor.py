"""``doctor`` finds what was made wrong around a store, says what to do, and changes nothing."""

import base64
import contextlib
import json
import os
import shlex
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
import sqlalchemy as sa

from ricordo import Memory, UserMemory
from ricordo.cli import checks
from ricordo.jobs.queue import JobQueue
from ricordo.model.activity import NewJob
from ricordo.storage.tables import history, item_index, jobs, users, webhooks
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.brokers import redis_server
from tests.support.commandline import ricordo
from tests.support.endpoints import EmbeddingServer, FaultyModel

pytestmark = [pytest.mark.requirement("cli.doctor"), pytest.mark.requirement("doctor.checks")]
CHECKS = [
    *("version", "python", "sqlite", "clock", "settings", "embedder", "model", "home", "file"),
    *("log", "disk", "search", "database", "schema", "isolation", "encryption", "integrity"),
    *("consistency", "times", "terms", "vectors", "jobs", "workers", "webhooks"),
    *("service", "mirror"),
]
ONLY_OF = {"sqlite": ("file", "log", "encryption"), "postgresql": ("isolation",)}
Found = tuple[str, str, str | None]


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


def found(*options: object) -> dict[str, Found]:
    """What doctor says: state, what was found and advice by the name of the check."""
    ran = ricordo("doctor", "--json", *options)
    said = json.loads(ran.out)
    assert ran.code == (6 if any(one["state"] == "problem" for one in said) else 0)
    return {one["check"]: (one["state"], one["found"], one["advice"]) for one in said}


def changed(memory: Memory, statement: sa.Update) -> None:
    with memory.database.transaction() as connection:
        connection.execute(statement)


@pytest.fixture
def home(own_home: Path, sqlite_template: Path) -> Path:
    """A home folder with an empty store."""
    own_home.mkdir(0o700)
    shutil.copy(sqlite_template, own_home / "ricordo.db")
    (own_home / "ricordo.db").chmod(0o600)
    return own_home


def test_a_healthy_store(backend_url: str, ana: UserMemory) -> None:
    ana.add("Prefers tea")
    said = found("--db", backend_url)
    on_server = backend_url.startswith("postgresql")
    missing = ONLY_OF["sqlite" if on_server else "postgresql"]
    assert list(said) == [check for check in CHECKS if check not in missing]
    assert {state for state, _, _ in said.values()} == {"ok"}
    assert ("pgvector" if on_server else "FTS5") in said["search"][1]
    assert "none: search goes by words alone" in said["embedder"][1]
    for_people = ricordo("doctor", "--db", backend_url)
    assert (for_people.code, for_people.err) == (0, "All is well.\n")
    assert "memories and history agree" in for_people.out


@pytest.mark.slow
def test_looking_changes_nothing_and_tells_nothing(
    own_home: Path, backend_url: str, store: Memory, tmp_path: Path
) -> None:
    assert "is made by the first: ricordo add" in found()["database"][1]
    assert not own_home.exists()
    empty = tmp_path / "new.db"
    empty.touch(0o600)
    for command in ("doctor", "migrate --check"):
        ricordo(*command.split(), "--db", empty)
        assert empty.stat().st_size == 0
    store.user("user-7731").add("A secret about tea", theme="private")
    before = list(store.export_lines())
    said = ricordo("doctor", "--db", backend_url)
    assert list(store.export_lines()) == before
    for word in ("secret", "private", "7731"):
        assert word not in said.out.replace(backend_url, "")


# -- files ---------------------------------------------------------------------------------


def test_a_damaged_file(home: Path) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 500}" for n in range(200)))
    file = home / "ricordo.db"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8_192] = b"\xaa" * 8_192
    file.write_bytes(content)
    assert found()["integrity"][0] == "problem"
    assert ricordo("doctor").err == "Something needs attention.\n"
    os.truncate(file, file.stat().st_size // 2)
    said = found()
    troubled = [check for check, (state, _, _) in said.items() if state == "problem"]
    assert set(troubled) & {"database", "integrity"}
    assert "restore a backup" in str(said[troubled[0]][2])


def test_a_table_that_is_gone(sqlite_url: str) -> None:
    with contextlib.closing(sqlite3.connect(sqlite_url)) as connection:
        connection.execute("DROP TABLE item_index")
    state, message, advice = found("--db", sqlite_url)["vectors"]
    assert (state, "no such table" in message) == ("problem", True)
    assert "restore a backup" in str(advice)


def test_a_log_that_is_never_emptied(home: Path) -> None:
    ricordo("add", "Prefers tea")
    reading = sqlite3.connect(home / "ricordo.db", isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM items").fetchone()
    with (home / "ricordo.db-wal").open("ab") as log:
        log.truncate(200 * 1024 * 1024)  # sparse: it takes no space
    try:
        state, message, advice = found()["log"]
    finally:
        reading.close()
    assert (state, "200 MB" in message) == ("warning", True)
    assert "keep the database open" in str(advice)


@pytest.mark.slow
def test_the_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk(free: int) -> Found:
        usage = DiskUsage(0, 0, free * 1024 * 1024)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        return found()["disk"]

    assert [disk(free)[0] for free in (10, 100, 1_000)] == ["problem", "warning", "ok"]
    with (home / "ricordo.db").open("ab") as file:
        file.truncate(400 * 1024 * 1024)
    state, message, advice = disk(500)  # an erasure would not fit
    assert (state, advice) == ("warning", "free 301 MB")
    assert "rewrites the file, which takes 800 MB" in message


def test_files_that_others_may_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.chmod(0o755)
    (home / "ricordo.db").chmod(0o644)
    said = found()
    assert said["home"][::2] == ("warning", f"chmod 700 {home}")
    assert said["file"][::2] == ("warning", f"chmod 600 {home / 'ricordo.db'}")
    file = tmp_path / "a b" / "it's.db"  # advice can be pasted where names have such signs
    file.parent.mkdir()
    shutil.copy(home / "ricordo.db", file)
    assert shlex.split(str(found("--db", file)["file"][2])) == ["chmod", "600", str(file)]
    # Whoever runs the tests may be root, to whom everything is allowed.
    monkeypatch.setattr(os, "access", lambda *_given: False)
    said = found()
    assert (said["home"][0], said["file"][0]) == ("problem", "problem")


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    said = found("--db", tmp_path)
    assert said["file"][0] == "problem"
    assert "chmod" not in str(said["file"][2])  # which would shut the folder
    assert "--db" in str(said["database"][2])
    assert "backup" not in str(said["database"][2])


def test_a_policy_file(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "policy.yaml"
    monkeypatch.setenv("RICORDO_POLICY_FILE", str(policy))
    policy.write_text("agents: [\n")
    state, message, advice = found()["policy"]
    assert (state, str(policy) in message) == ("problem", True)
    assert "RICORDO_POLICY_FILE" in str(advice)
    policy.unlink()
    assert found()["policy"][0] == "problem"


def test_a_mirror_with_lines_that_were_not_taken(home: Path) -> None:
    ricordo("add", "Prefers tea")
    ricordo("mirror", "sync")
    assert found()["mirror"][0] == "ok"
    file = home / "memory" / "MEMORY.md"
    file.write_text(f"{file.read_text()}\n- {'x' * 9_000}\n")
    assert "not" in ricordo("mirror", "sync").out
    state, message, advice = found()["mirror"]
    assert (state, str(file) in message) == ("warning", True)
    assert "ricordo mirror status -u me shows" in str(advice)
    assert "xxx" not in message


# -- databases -----------------------------------------------------------------------------


def test_a_database_of_another_version(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ricordo.storage.migration.HEAD", "9999")
        said = found("--db", sqlite_url)
        assert (said["schema"][0], said["schema"][2]) == ("warning", "ricordo migrate")
        assert "integrity" not in said
        assert ricordo("migrate", "--check", "--db", sqlite_url).code == 4
    with contextlib.closing(sqlite3.connect(sqlite_url)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    upgrade = "pip install --upgrade ricordo"
    assert found("--db", sqlite_url)["database"][::2] == ("problem", upgrade)
    for command in ("list", "migrate"):
        assert ricordo(command, "--db", sqlite_url, "--json").error["error"] == "DatabaseTooNew"
    checked = ricordo("migrate", "--check", "--db", sqlite_url)
    assert (checked.code, f"hint: {upgrade}" in checked.err) == (6, True)


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port on which nobody listens, kept so that nobody else takes it."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


def test_a_server_that_is_not_there(dead_port: int) -> None:
    url = f"postgresql://ana:very-secret@127.0.0.1:{dead_port}/x"
    state, message, advice = found("--db", url)["database"]
    assert (state, "\n" in message, "very-secret" in message) == ("problem", False, False)
    assert "start that" in str(advice)
    for command in ("doctor", "list"):  # an address of another kind
        ran = ricordo(command, "--db", "mysql://ana:very-secret@127.0.0.1/x")
        assert "mysql://ana:***@127.0.0.1/x" in ran.out + ran.err
        assert "very-secret" not in ran.out + ran.err


# -- settings and clocks -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "state", "advice"),
    [
        ("POOL_SIZE=0", "problem", "correct RICORDO_POOL_SIZE (it takes 1 to 200)"),
        ("MODEL_API_KEYS=very-secret", "warning", "call it RICORDO_MODEL_API_KEY, or unset it"),
        ("MODEL_URL=x BROKER=x", "warning", "call them RICORDO_BROKER_URL, RICORDO_MODEL_BASE_URL"),
        ("SECRET_KEY=very-secret", "problem", "RICORDO_SECRET_KEY"),
        ("EMBEDDING_PROVIDER=crystal-ball", "problem", "RICORDO_EMBEDDING_PROVIDER"),
        ("MODEL_NAME=nowhere", "problem", "correct RICORDO_MODEL_NAME, or unset it"),
        ("TIMEZONE=nowhere", "problem", "correct RICORDO_TIMEZONE, or unset it"),
        (
            "EMBEDDING_PROVIDER=openai EMBEDDING_BASE_URL=nowhere",
            "problem",
            "correct RICORDO_EMBEDDING_BASE_URL, or unset it",
        ),
    ],
)
def test_a_setting_that_is_wrong(
    home: Path, monkeypatch: pytest.MonkeyPatch, settings: str, state: str, advice: str
) -> None:
    for setting in settings.split():
        name, _, value = setting.partition("=")
        monkeypatch.setenv(f"RICORDO_{name}", value)
    said = found()
    assert (said["settings"][0], advice in str(said["settings"][2])) == (state, True)
    assert "very-secret" not in json.dumps(said)
    if state == "warning":
        named = sorted(f"RICORDO_{setting.partition('=')[0]}" for setting in settings.split())
        is_or_are = (
            "is set, but is no setting" if len(named) == 1 else "are set, but are no settings"
        )
        assert said["settings"][1] == f"{', '.join(named)} {is_or_are}"
    if "=nowhere" in settings:  # what the setting is not for is looked at all the same
        assert [check for check, (state, _, _) in said.items() if state != "ok"] == ["settings"]
        assert said["database"][0] == "ok"


def test_a_secret_that_is_right_is_not_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = base64.urlsafe_b64encode(b"very-secret" * 2 + b"0123456789").decode()
    monkeypatch.setenv("RICORDO_SECRET_KEY", secret)
    said = found()
    assert (said["settings"][0], "RICORDO_SECRET_KEY" in said["settings"][1]) == ("ok", True)
    assert secret not in json.dumps(said)


def test_a_machine_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for year in (1970, 2150):
        now = datetime(year, 1, 1, tzinfo=UTC)
        monkeypatch.setattr(checks, "system_clock", lambda now=now: now)
        assert found()["clock"][0] == "problem"
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 30, 0))
    assert found()["sqlite"][0] == "problem"


def test_the_clock_of_the_server_is_another(postgres_url: str) -> None:
    def behind() -> datetime:
        return datetime.now(UTC) - timedelta(minutes=5)

    with open_memory(postgres_url, run_jobs=False, clock=behind) as memory:
        finding = checks.times(memory.database)
    assert (finding.state, "300 s apart" in finding.found) == ("warning", True)


# -- search --------------------------------------------------------------------------------


def test_contents_that_disagree(backend_url: str, store: Memory, ana: UserMemory) -> None:
    ana.add_many(["Prefers tea", "Has a cat", "Has a dog"])
    changed(store, sa.update(users).values(revision=7))
    changed(store, sa.update(history).values(at=datetime.now(UTC) + timedelta(hours=2)))
    changed(store, sa.update(item_index).values(analyser="another", state="ready"))
    changed(store, sa.update(item_index).where(item_index.c.id < 3).values(state="pending"))
    said = found("--db", backend_url)
    state, message, advice = said["consistency"]
    assert (state, "'ana'" in message, advice is not None) == ("problem", True, True)
    state, message, advice = said["times"]
    assert (state, "ahead of this computer's clock" in message) == ("warning", True)
    assert "timedatectl" in str(advice)
    assert said["terms"][::2] == ("warning", "ricordo reindex")
    assert "of 3 memories" in said["terms"][1]
    advice = "ricordo jobs run makes what is pending"
    assert said["vectors"] == ("ok", "pending 2, ready 1, error 0", advice)
    changed(store, sa.update(item_index).where(item_index.c.id == 3).values(state="error"))
    state, message, advice = found("--db", backend_url)["vectors"]
    assert (state, message) == ("warning", "pending 2, ready 0, error 1")
    assert "ricordo embeddings backfill" in str(advice)


@pytest.mark.slow
def test_an_embedder_and_the_vectors_of_another(
    backend_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddingServer(required_key="right") as server:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", server.base_url)
        monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", server.model)
        monkeypatch.setenv("RICORDO_EMBEDDING_API_KEY", "wrong-and-secret")
        state, message, advice = found("--db", backend_url)["embedder"]
        assert (state, "401" in message) == ("warning", True)
        assert "RICORDO_EMBEDDING_" in str(advice)
        assert "wrong-and-secret" not in message
        monkeypatch.setenv("RICORDO_EMBEDDING_API_KEY", "right")
        with open_memory(backend_url, run_jobs=False) as memory:
            memory.user("ana").add_many(["Prefers tea", "Has a cat"])
            memory.user("ana").fill_embeddings()
            said = found("--db", backend_url)
            assert (said["embedder"][0], said["fingerprints"][0]) == ("ok", "ok")
            changed(memory, sa.update(item_index).values(dimensions=12))
            state, message, advice = found("--db", backend_url)["fingerprints"]
            assert (state, "2 vectors" in message) == ("problem", True)
            assert advice == "ricordo embeddings rebuild -u USER"
            changed(memory, sa.update(item_index).values(model="another"))
        state, message, advice = found("--db", backend_url)["fingerprints"]
    assert (state, "2 vectors are of another model" in message) == ("warning", True)
    assert advice == "ricordo embeddings backfill -u USER"
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "ollama")
    monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", "http://127.0.0.1:9/v1")
    state, message, advice = found("--db", backend_url)["embedder"]
    assert (state, "ollama" in message, advice is None) == ("warning", True, False)


def test_sqlite_without_fts5(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def without_virtual_tables(path: str, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, *given, **named)
        if path == ":memory:":
            denied = sqlite3.SQLITE_CREATE_VTABLE
            connection.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_DENY if action == denied else sqlite3.SQLITE_OK
            )
        return connection

    monkeypatch.setattr(sqlite3, "connect", without_virtual_tables)
    state, _, advice = found()["search"]
    assert (state, "FTS5" in str(advice)) == ("problem", True)


@pytest.mark.slow
def test_postgresql_without_pgvector(worker_id: str) -> None:
    with postgres.database(f"ricordo_doctor_{worker_id}") as url:
        switched = ("ok", "pgvector is switched on when first needed")
        assert found("--db", url)["search"][:2] == switched
        open_memory(url, run_jobs=False).close()
        assert found("--db", url)["search"][0] == "ok"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP EXTENSION vector CASCADE")
        state, _, advice = found("--db", url)["search"]
        assert (state, "CREATE EXTENSION vector" in str(advice)) == ("problem", True)


def test_one_broken_check_leaves_the_others(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_database: object) -> int:
        raise ZeroDivisionError("no")

    monkeypatch.setattr("ricordo.index.rebuild.outdated", fail)
    said = found("--db", sqlite_url)
    assert said["terms"][:2] == ("problem", "ZeroDivisionError: no")
    assert (said["vectors"][0], said["jobs"][0]) == ("ok", "ok")


# -- models and work -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_that_refuses_the_key_or_is_not_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyModel(required_key="right") as server:
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


@pytest.mark.slow  # it loads what speaks with brokers
def test_a_broker(home: Path, dead_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BROKER_URL", f"redis://ana:very-secret@127.0.0.1:{dead_port}/0")
    said = found()
    state, message, advice = said["broker"]
    assert (state, f"127.0.0.1:{dead_port}" in message) == ("problem", True)
    assert "RICORDO_BROKER_URL" in str(advice)
    assert "very-secret" not in json.dumps(said)
    monkeypatch.setenv("RICORDO_BROKER_URL", "http://127.0.0.1")
    assert found()["broker"][0] == "problem"
    with redis_server() as broker:
        monkeypatch.setenv("RICORDO_BROKER_URL", broker.url)
        state, message, advice = found()["broker"]
    assert (state, "no worker does" in message) == ("warning", True)
    assert advice == "ricordo celery worker --beat"


def test_jobs_that_nobody_runs(backend_url: str, store: Memory) -> None:
    with store.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )
    changed(store, sa.update(jobs).values(run_at=datetime.now(UTC) - timedelta(days=2)))
    state, message, advice = found("--db", backend_url)["jobs"]
    assert (state, "1; nobody runs them" in message) == ("warning", True)
    assert "ricordo worker" in str(advice)
    assert JobQueue(store.database, timedelta(seconds=60)).claim(frozenset({"lifecycle"}))
    changed(store, sa.update(jobs).values(lease_until=datetime.now(UTC) - timedelta(minutes=1)))
    assert found("--db", backend_url)["workers"][0] == "warning"


@pytest.mark.requirement("webhooks.pause")
def test_webhooks_that_do_not_deliver(backend_url: str, store: Memory) -> None:
    ana = store.user("ana")
    made = [ana.create_webhook(f"https://example.org/{number}").webhook for number in range(3)]
    ana.update_webhook(made[0].id, paused=True)
    assert found("--db", backend_url)["webhooks"][0] == "ok"
    which = sa.update(webhooks).where(webhooks.c.id == made[1].id)
    changed(store, which.values(failures=2))
    assert found("--db", backend_url)["webhooks"] == (
        "warning",
        "active: 1, failing: 1, paused: 0",
        "ricordo webhooks --all-users shows why",
    )
    changed(store, which.values(state="paused", reason="gone"))
    assert found("--db", backend_url)["webhooks"][1] == "active: 1, failing: 0, paused: 1"


@pytest.mark.slow
def test_a_service_that_others_can_reach(backend_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_HOST", "0.0.0.0")
    state, _, advice = found("--db", backend_url)["service"]
    assert (state, "ricordo keys create" in str(advice)) == ("warning", True)
    ricordo("keys", "create", "admin", "--db", backend_url)
    assert found("--db", backend_url)["service"][0] == "ok"
    monkeypatch.setenv("RICORDO_REQUIRE_KEYS", "false")
    state, message, _ = found("--db", backend_url)["service"]
    assert (state, "anybody" in message) == ("problem", True)
