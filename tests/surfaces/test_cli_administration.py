"""Commands about the whole store: files, jobs, migrations, users, keys, and where it is."""

import dataclasses
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import KeyKind, Memory, UserMemory
from ricordo.jobs.queue import JobQueue
from ricordo.model.activity import NewJob
from tests.support.commandline import Ran, ricordo
from tests.surfaces.screens import on_screen

pytestmark = pytest.mark.requirement("cli.commands")
Cli = Callable[..., Ran]


# -- files ---------------------------------------------------------------------------------


def test_export_and_import(cli: Cli, ana: UserMemory, tmp_path: Path) -> None:
    ana.add("Prefers tea", theme="drinks")
    ana.archive(ana.add("Old").id)
    printed = cli("export", "--json")
    assert printed.out.splitlines() == list(ana.export_lines())
    assert cli("export", "-").out == printed.out
    file = tmp_path / "ana.jsonl"
    told = cli("export", file, "--json").json
    assert told == {"path": str(file), "lines": len(printed.out.splitlines())}
    assert file.read_text(encoding="utf-8") == printed.out
    assert "lines" in cli("export", file).out
    report = cli("import", file, "--format", "ricordo", "--json").json
    assert (report["duplicates"], report["added"]) == (1, 0)
    again = cli("import", file).out
    assert again.startswith("From ricordo: known already 1. Left out: 1 archived memories")


def test_a_whole_store_moves(cli: Cli, store: Memory, ana: UserMemory, tmp_path: Path) -> None:
    ana.add("Prefers tea")
    store.user("ben").add("Has a cat")
    file = tmp_path / "all.jsonl"
    assert cli("export", file, "--all-users").code == 0
    elsewhere = ("--db", tmp_path / "other.db")
    report = ricordo("import", file, "--all-users", "--json", *elsewhere).json
    assert report["restored_rows"] > 0
    assert ricordo("users", "--json", *elsewhere).json == ["ana", "ben"]
    assert ricordo("export", "--all-users", *elsewhere).out == file.read_text(encoding="utf-8")
    assert cli("import", file, "--all-users", "--source-user", "ana").code == 2


@pytest.mark.requirement("transfer.source-user")
@pytest.mark.requirement("transfer.dry-run")
def test_users_of_another_system_move(cli: Cli, store: Memory, tmp_path: Path) -> None:
    file = tmp_path / "mem0.jsonl"
    lines = [{"memory": "Has a cat", "user_id": "ana"}, {"memory": "Plays chess", "user_id": "ben"}]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    counted = cli("import", file, "--all-users", "--dry-run").out
    assert counted == "From mem0: added 2. Nothing was written.\n"
    assert store.users() == ()
    refused = cli("import", file)
    assert "memories of 2 users (ana, ben); choose one (source_user)" in refused.err
    told = cli("import", file, "--source-user", "ben").out
    assert told == "From mem0: added 1. Left out: 1 of other users.\n"
    assert cli("import", file, "--all-users").out == "From mem0: added 2.\n"
    assert store.users() == ("ana", "ben")


# -- jobs ----------------------------------------------------------------------------------


def _queue_a_job(memory: Memory) -> None:
    with memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )


@pytest.mark.requirement("jobs.cancel")
def test_jobs(cli: Cli, store: Memory, ana: UserMemory) -> None:
    _queue_a_job(store)
    queue = JobQueue(store.database, timedelta(seconds=60))
    job = queue.claim(frozenset({"lifecycle"}))
    assert job is not None
    queue.fail(dataclasses.replace(job, attempts=job.max_attempts), "ValueError: no")
    (dead,) = store.jobs(state="dead")
    assert cli("jobs", "--state", "dead", "--json").json == [dead.to_dict()]
    assert "ValueError: no" in cli("jobs").out
    assert cli("doctor").out.count("warn") == 1
    assert cli("jobs", "run", "--json").json == {"ran": 0}
    assert cli("jobs", "retry", dead.id, "--json").json == {"retried": dead.id}
    assert cli("jobs", "retry", dead.id).code == 4
    assert cli("jobs", "run", "--limit", "1").out == "Jobs run: 1.\n"
    assert store.jobs(state="dead") == ()
    assert "lifecycle" in cli("jobs", "stats").out
    assert cli("jobs", "stats", "--json").json == [one.to_dict() for one in store.job_stats()]
    assert cli("jobs", "--kind", "another").out == "No jobs.\n"
    ana.add("Is in Porto", expires_at="2999-01-01")
    (job,) = store.jobs(state="queued")
    assert cli("jobs", "cancel", job.id, "--json").json == {"cancelled": job.id}
    assert [one.id for one in store.jobs(state="cancelled")] == [job.id]
    assert cli("jobs", "cancel", job.id).code == 4


def test_a_failing_job_does_not_spoil_the_answer(
    cli: Cli, store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise ValueError("no")

    _queue_a_job(store)
    monkeypatch.setattr("ricordo.jobs.handlers.run_lifecycle", fail)
    assert cli("jobs", "run", "--json").json == {"ran": 1}


@pytest.mark.requirement("upkeep.consolidate")
def test_upkeep_at_once(cli: Cli, ana: UserMemory) -> None:
    cat = ana.add("Has a black cat called Mia")
    ana.add("Has a cat called Mia")
    told = cli("consolidate", "--dry-run")
    assert "says nothing new" in told.out
    assert told.err == "Nothing was changed.\n"
    assert len(ana.list()) == 2
    found = cli("consolidate", "--json").json
    assert (found["merged"], found["decisions"][0]["kept"]) == (1, cat.id)
    assert cli("consolidate").out == "Nothing to consolidate.\n"
    assert cli("upkeep").out.startswith("Forgotten: 0. Rows trimmed: 0.")
    assert set(cli("upkeep", "--json").json) >= {"forgotten", "queued"}
    assert cli("consolidate", "--global").code == 2


# -- the place -----------------------------------------------------------------------------


def test_version_and_schema(cli: Cli, store: Memory) -> None:
    found = cli("version", "--json").json
    assert set(found) == {"version", "python", "sqlite", "database"}
    assert found["database"] == store.database.backend.location
    assert found["version"] in cli("version").out
    head = cli("migrate", "--json").json["to"]
    checked = cli("migrate", "--check", "--json").json
    assert checked == {"from": head, "to": head, "up_to_date": True}
    assert cli("migrate").out == f"Up to date: schema {head}.\n"


def test_a_new_database_is_migrated_but_not_by_looking(own_home: Path) -> None:
    ran = ricordo("migrate", "--check")
    assert (ran.code, ran.err, "Do it: ricordo migrate" in ran.out) == (4, "", True)
    assert not own_home.exists()
    ran = ricordo("migrate", "--check", "--json")
    assert (ran.code, json.loads(ran.out)["up_to_date"]) == (4, False)
    made = ricordo("migrate")
    assert (made.code, made.out.startswith("Brought from nothing to schema ")) == (0, True)
    assert ricordo("migrate", "--check").code == 0


def test_the_environment_and_the_options_say_where_and_whose(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ricordo("add", "At home").code == 0
    assert ricordo("users", "--json").json == ["me"]
    monkeypatch.setenv("RICORDO_USER", "ana")
    assert ricordo("add", "Mine").code == 0
    assert ricordo("users", "--json").json == ["ana", "me"]
    assert ricordo("users", "--json", "--home", tmp_path / "other").json == []
    monkeypatch.setenv("RICORDO_URL", sqlite_url)
    assert ricordo("users", "--json").json == []
    assert ricordo("add", "There", "-u", "ben").code == 0
    assert ricordo("users", "--json", "--db", f"sqlite:///{sqlite_url}").json == ["ben"]


# -- what cannot be taken back is asked for first ------------------------------------------


@pytest.fixture
def two_users(store: Memory) -> Memory:
    store.user("ana").add("Prefers tea")
    store.user("ben").add("Has a cat")
    return store


@pytest.mark.requirement("cli.erase")
def test_a_person_is_asked_for_the_name(two_users: Memory, cli: Cli, backend_url: str) -> None:
    for typed in ("yes\n", ""):
        code, said = on_screen("erase", "ana", "--db", backend_url, typed=typed)
        assert (code, "nothing was done" in said) == (2, True)
        assert "This removes everything of user 'ana' for good.\nType ana to go on: " in said
    assert two_users.users() == ("ana", "ben")
    code, said = on_screen("erase", "ana", "--db", backend_url, typed="ana\n")
    assert (code, "Erased user 'ana' at " in said, "items 1" in said) == (0, True, True)
    assert two_users.users() == ("ben",)
    receipt = cli("erase", "ben", "--yes", "--json").json
    assert set(receipt) == {"user_id", "erased_at", "removed", "scrubbed"}
    two_users.global_memories().add("The office closes at six")
    assert cli("erase", "*", "-y").code == 0


@pytest.mark.requirement("cli.erase")
def test_purge_asks_only_before_its_time(two_users: Memory, cli: Cli, backend_url: str) -> None:
    two_users.user("ana").forget(1)
    two_users.user("ben").forget(2)
    assert cli("purge", "--json").json == {"purged": 0}
    assert cli("purge", "--all-users").out == "Removed for good: 0.\n"
    for command in (["erase", "ana"], ["purge", "--now"], ["purge", "--now", "--all-users"]):
        ran = cli(*command, stdin="ana\npurge\n")  # nobody there to be asked
        assert (ran.code, ran.out, "--yes" in ran.err) == (2, "", True)
    assert two_users.user("ana").get(1, include_deleted=True).content == "Prefers tea"
    code, said = on_screen("purge", "--now", "-u", "ana", "--db", backend_url, typed="purge\n")
    assert (code, "Removed for good: 1.\n" in said) == (0, True)
    assert cli("purge", "--now", "--all-users", "--yes", "--json").json == {"purged": 1}


# -- keys: shown once, never on a command line ---------------------------------------------


@pytest.mark.requirement("access.keys")
@pytest.mark.requirement("keys.show")
def test_a_key_is_made_shown_once_and_works(cli: Cli, store: Memory) -> None:
    assert cli("keys").out == "No keys yet. Make one: ricordo keys create NAME\n"
    options = ("-u", "ana", "--agent", "planner", "--category", "Work", "--expires-days", 9)
    secret, about, hint = cli("keys", "create", "my agent", *options).out.splitlines()
    assert "for agent 'planner' of user 'ana', only work, until " in about
    assert "not shown again" in hint
    key = store.authenticate(secret)
    assert (key.kind, key.name, key.categories) == (KeyKind.AGENT, "my agent", ("work",))
    permissions = ("--permission", "read_all", "--permission", "manage")
    made = cli("keys", "create", "all", *permissions, "--json").json
    assert (made["key"]["kind"], made["key"]["permissions"]) == ("service", ["manage", "read_all"])
    assert made["secret"].startswith(f"rk_{made['key']['id']}_")
    assert cli("keys", "list", "-u", "ben").out == "No keys here.\n"
    mine = cli("keys", "--json", "-u", "ana").json["items"]
    assert cli("keys", "show", key.id, "--json").json == mine[0]
    assert "for agent 'planner' of user 'ana'" in cli("keys", "show", key.id).out
    for shown in (cli("keys", "list"), cli("keys", "--json"), cli("keys", "show", key.id)):
        assert key.id in shown.out
        assert secret.rsplit("_", 1)[1] not in shown.out


@pytest.mark.requirement("access.keys")
def test_a_key_is_checked_by_standard_input_or_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cli("keys", "create", "one", "-u", "ana", "--json").json
    said = cli("keys", "check", stdin=f"{made['secret']}\n")
    assert said.out == "Good: one, for user 'ana'.\n"
    monkeypatch.setenv("RICORDO_API_KEY", made["secret"])
    assert cli("keys", "check", "--json").json["id"] == made["key"]["id"]
    assert cli("keys", "check", made["secret"]).code == 2  # never as an argument
    revoked = cli("keys", "revoke", made["key"]["id"], "--json").json
    assert revoked["revoked_at"] is not None
    refused = cli("keys", "check", "--json")
    assert (refused.code, refused.error["error"]) == (5, "NotAuthenticated")
    assert made["secret"] not in json.dumps(refused.error)
    assert cli("keys", "--json").json["items"] == []
    assert "revoked" in cli("keys", "--all").out
    for given in (("revoke", "aaaaaaaaaaaa"), ("show", "aaaaaaaaaaaa")):
        ran = cli("keys", *given, "--json")
        assert (ran.code, ran.error["error"]) == (3, "KeyNotFound")


@pytest.mark.requirement("recall.vectors-wanting")
def test_an_import_makes_its_vectors(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "local")
    notes = tmp_path / "notes.md"
    notes.write_text("- Plays the cello\n- Keeps two cats\n", encoding="utf-8")
    assert ricordo("import", str(notes)).code == 0
    assert ricordo("embeddings", "status", "--json").json["pending"] == 0
    refused = ricordo("import", str(notes), "--all-users", "--consented")
    assert "it names no users" in refused.err
