"""The commands ``embeddings`` and ``reindex``."""

import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.model.record import plain
from ricordo.testing.embedding_server import EmbeddingServer
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, Ran, ricordo

Cli = Callable[..., Ran]
TEXTS = ("Prefers green tea", "Has a cat called Momo", "Works night shifts")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_ALLOW_PRIVATE_EMBEDDING_TARGETS", "true")
    monkeypatch.delenv("RICORDO_EMBEDDINGS_KEY", raising=False)


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    with open_memory(backend_url, run_jobs=False) as memory:
        yield memory


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    user = store.user("ana")
    user.add_many(TEXTS)
    return user


@pytest.fixture
def cli(backend_url: str) -> Cli:
    def run(*arguments: object, **settings: Any) -> Ran:
        return ricordo("embeddings", *arguments, "--db", backend_url, "-u", "ana", **settings)

    return run


def at(server: EmbeddingServer) -> tuple[str, ...]:
    return (
        "--provider",
        "custom_http",
        "--base-url",
        server.base_url,
        "--model",
        server.model,
    )


@pytest.mark.requirement("embeddings.lifecycle")
def test_status(cli: Cli, ana: UserMemory) -> None:
    expected = ana.embedding_status().to_dict()
    assert cli("--json").json == cli("status", "--json").json == expected
    lines = dict(line.split(None, 1) for line in cli().out.splitlines())
    assert (lines["provider"], lines["memories"], lines["ready"]) == ("local", "3", "3")


@pytest.mark.requirement("embeddings.states")
def test_states_of_single_memories(cli: Cli, ana: UserMemory) -> None:
    expected = plain(ana.embedding_states([3, 1]))
    assert cli("states", "3", "99", "1", "--json").json == expected
    rows = [line.split() for line in cli("states", "3", "1").out.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in rows[1:]] == [
        ("3", "ready", "384"),
        ("1", "ready", "384"),
    ]
    assert cli("states", "99").out == "There are no such memories.\n"
    assert cli("states", "0").code == 2
    assert cli("states").code == 2


@pytest.mark.requirement("embeddings.test")
def test_trying(cli: Cli, ana: UserMemory, server: EmbeddingServer) -> None:
    tested = cli("test", "--json").json
    assert (tested["ok"], tested["provider"], tested["dimensions"]) == (True, "local", 384)
    assert set(tested) == {"ok", "provider", "model", "dimensions", "latency_ms", "problem"}
    said = cli("test", *at(server), "--dimensions", "32").out
    assert said.startswith("custom_http test-model@32 works: 32 dimensions, ")
    server.answer_html()
    ran = cli("test", *at(server))
    assert (ran.code != 0, ran.err) == (True, "")
    assert ran.out.startswith("custom_http test-model does not work: the answer is an HTML page")
    assert cli("test", "--provider", "none").out.startswith("No vectors are made")
    assert cli("test", "--model", "x").code == 2
    assert ana.embedding_status().origin == "default"


@pytest.mark.requirement("embeddings.rebuild")
def test_setting_a_provider_makes_the_vectors(
    cli: Cli, ana: UserMemory, server: EmbeddingServer
) -> None:
    done = cli("set", *at(server), "--yes", "--json").json
    assert done == {
        "provider": "custom_http",
        "model": "test-model",
        "to_rebuild": 3,
        "applied": True,
        "problem": None,
        "made": 3,
        "ready": 3,
        "pending": 0,
        "error": 0,
    }
    assert ana.embedding_status().ready == 3
    # Nothing has to be made anew, so there is nothing to ask.
    assert cli("set", *at(server)).out == "custom_http test-model: 3 vectors are ready.\n"
    back = cli("set", "--provider", "default", "--yes", "--later")
    assert back.out.startswith("local ricordo-minilm")
    assert back.out.endswith(": 0 vectors are ready, 3 wait for a job.\n")
    dropped = cli("set", "--provider", "none", "--yes")
    assert dropped.out == "No vectors are made; search goes by words alone.\n"


@pytest.mark.requirement("embeddings.rebuild")
@pytest.mark.parametrize("command", ["set", "rebuild"])
def test_without_a_terminal_it_needs_yes(
    cli: Cli, ana: UserMemory, server: EmbeddingServer, command: str
) -> None:
    before = ana.embedding_status()
    ran = cli(command, *(at(server) if command == "set" else ()), "--json")
    assert ran.code == 2
    assert ran.error["message"] == "this makes 3 vectors anew; without a terminal it needs --yes"
    assert ana.embedding_status() == before


@pytest.mark.requirement("embeddings.rebuild")
@pytest.mark.parametrize(("typed", "code"), [("yes", 0), ("no", 2)])
def test_at_a_terminal_it_asks(
    backend_url: str, ana: UserMemory, store: Memory, typed: str, code: int
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    ran = subprocess.run(
        [COMMAND, "embeddings", "rebuild", "-u", "ana", "--db", backend_url],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert (ran.returncode, "This makes 3 vectors anew.\nType yes to go on: " in ran.stderr) == (
        code,
        True,
    )
    rebuilt = {job.kind for job in store.jobs()}
    assert rebuilt == ({"embed"} if code == 0 else set())


@pytest.mark.requirement("embeddings.rebuild")
def test_rebuild_and_backfill(cli: Cli, ana: UserMemory, server: EmbeddingServer) -> None:
    cli("set", *at(server), "--yes")
    sent = len(server.embedded)
    assert cli("rebuild", "--yes", "--json").json["made"] == 3
    assert len(server.embedded) == sent + 1
    server.answer_nan()
    ran = cli("rebuild", "--yes")
    assert ran.code != 0
    assert "0 vectors are ready, 3 wait for a job.\nStopped: " in ran.out
    assert "NaN" in ran.out
    server.answer_rightly()
    filled = cli("backfill", "--json").json
    assert (filled["put_back"], filled["made"], filled["pending"]) == (0, 3, 0)


@pytest.mark.requirement("embeddings.settings")
@pytest.mark.parametrize("way", ["option", "standard input", "variable"])
def test_the_key_need_not_be_on_the_command_line(
    cli: Cli, ana: UserMemory, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    server.required_key = "sk-right"
    given: tuple[str, ...] = ()
    stdin = ""
    if way == "option":
        given = ("--api-key", "sk-right")
    elif way == "standard input":
        given, stdin = ("--api-key", "-"), "sk-right\n"
    else:
        monkeypatch.setenv("RICORDO_EMBEDDINGS_KEY", "sk-right")
    ran = cli("set", *at(server), *given, "--yes", "--json", stdin=stdin)
    assert (ran.json["ready"], "sk-right" in ran.out) == (3, False)
    monkeypatch.setenv("RICORDO_EMBEDDINGS_KEY", "sk-right")
    assert cli("set", "--provider", "local", "--yes").code == 0  # which takes none


@pytest.mark.requirement("embeddings.settings")
def test_refusals(cli: Cli, ana: UserMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("set").code == 2
    assert "is not one of: local" in cli("set", "--provider", "magic", "--json").error["message"]
    monkeypatch.setenv("RICORDO_ALLOW_PRIVATE_EMBEDDING_TARGETS", "false")
    private = ("--provider", "custom_http", "--base-url", "http://10.0.0.1/v1", "--model", "x")
    assert cli("set", *private, "--yes", "--json").error["error"] == "TargetRefused"
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    assert cli("set", "--provider", "local", "--yes").code == 4
    assert cli("rebuild", "--yes").code == 4


@pytest.mark.requirement("recall.reindex")
def test_reindex(
    backend_url: str, ana: UserMemory, store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--db", backend_url)
    assert ricordo("reindex", *where).out == "Search terms made anew: 0.\n"
    monkeypatch.setenv("RICORDO_LANGUAGE", "none")
    assert ricordo("reindex", *where, "--json").json == {"reindexed": 3}
    assert ricordo("reindex", *where, "--json").json == {"reindexed": 0}
