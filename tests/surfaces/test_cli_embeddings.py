"""The commands ``embeddings`` and ``reindex``."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.model.record import plain
from tests.support.commandline import Ran, ricordo
from tests.support.endpoints import EmbeddingServer
from tests.surfaces.screens import on_screen

Cli = Callable[..., Ran]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_ALLOW_PRIVATE_EMBEDDING_TARGETS", "true")
    monkeypatch.delenv("RICORDO_EMBEDDINGS_KEY", raising=False)


@pytest.fixture
def known(ana: UserMemory) -> UserMemory:
    ana.add_many(["Prefers green tea", "Has a cat called Momo", "Works night shifts"])
    return ana


@pytest.fixture
def cli(backend_url: str) -> Cli:
    def run(*arguments: object, **settings: Any) -> Ran:
        return ricordo("embeddings", *arguments, "--db", backend_url, "-u", "ana", **settings)

    return run


def at(server: EmbeddingServer) -> tuple[str, ...]:
    address = ("--base-url", server.base_url, "--model", server.model)
    return ("--provider", "custom_http", *address)


@pytest.mark.requirement("embeddings.lifecycle")
@pytest.mark.requirement("embeddings.states")
def test_status_and_states(cli: Cli, known: UserMemory) -> None:
    expected = known.embedding_status().to_dict()
    assert cli("--json").json == cli("status", "--json").json == expected
    lines = dict(line.split(None, 1) for line in cli().out.splitlines())
    assert (lines["provider"], lines["memories"], lines["ready"]) == ("local", "3", "3")
    states = plain(known.embedding_states([3, 1]))
    assert cli("states", "3", "99", "1", "--json").json == states
    rows = [line.split() for line in cli("states", "3", "1").out.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in rows[1:]] == [
        ("3", "ready", "384"),
        ("1", "ready", "384"),
    ]
    assert cli("states", "99").out == "There are no such memories.\n"
    assert cli("states").code == 2


@pytest.mark.requirement("embeddings.test")
def test_trying(cli: Cli, known: UserMemory, server: EmbeddingServer) -> None:
    tested = cli("test", "--json").json
    assert (tested["ok"], tested["provider"], tested["dimensions"]) == (True, "local", 384)
    said = cli("test", *at(server), "--dimensions", "32").out
    assert said.startswith("custom_http test-model@32 works: 32 dimensions, ")
    server.fault = "html"
    ran = cli("test", *at(server))
    assert (ran.code != 0, ran.err) == (True, "")
    assert ran.out.startswith("custom_http test-model does not work: the answer is an HTML page")
    assert cli("test", "--provider", "none").out.startswith("No vectors are made")
    assert cli("test", "--model", "x").code == 2
    assert known.embedding_status().origin == "default"


@pytest.mark.requirement("embeddings.rebuild")
def test_setting_a_provider_makes_the_vectors(
    cli: Cli, known: UserMemory, server: EmbeddingServer
) -> None:
    done = cli("set", *at(server), "--yes", "--json").json
    assert (done["provider"], done["model"], done["applied"]) == ("custom_http", "test-model", True)
    assert (done["to_rebuild"], done["made"], done["ready"], done["problem"]) == (3, 3, 3, None)
    assert known.embedding_status().ready == 3
    # Nothing has to be made anew, so there is nothing to ask.
    assert cli("set", *at(server)).out == "custom_http test-model: 3 vectors are ready.\n"
    sent = len(server.embedded)
    assert cli("rebuild", "--yes", "--json").json["made"] == 3
    assert len(server.embedded) == sent + 1
    server.fault = "nan"
    ran = cli("rebuild", "--yes")
    assert ran.code != 0
    assert "0 vectors are ready, 3 wait for a job.\nStopped: " in ran.out
    assert "NaN" in ran.out
    server.answer_rightly()
    filled = cli("backfill", "--json").json
    assert (filled["put_back"], filled["made"], filled["pending"]) == (0, 3, 0)
    back = cli("set", "--provider", "default", "--yes", "--later")
    assert back.out.startswith("local ricordo-multi")
    assert back.out.endswith(": 0 vectors are ready, 3 wait for a job.\n")
    dropped = cli("set", "--provider", "none", "--yes")
    assert dropped.out == "No vectors are made; search goes by words alone.\n"


@pytest.mark.requirement("embeddings.rebuild")
def test_it_asks_before_it_makes_vectors_anew(
    cli: Cli, known: UserMemory, store: Memory, server: EmbeddingServer, backend_url: str
) -> None:
    before = known.embedding_status()
    for command in (("set", *at(server)), ("rebuild",)):
        ran = cli(*command, "--json")
        assert ran.code == 2
        needs = "this makes 3 vectors anew; without a terminal it needs --yes"
        assert ran.error["message"] == needs
    assert known.embedding_status() == before
    for typed, expected, kinds in (("no", 2, set()), ("yes", 0, {"embed"})):
        command = ("embeddings", "rebuild", "-u", "ana", "--db", backend_url)
        code, said = on_screen(*command, typed=f"{typed}\n")
        assert "This makes 3 vectors anew.\nType yes to go on: " in said
        assert (code, {job.kind for job in store.jobs()}) == (expected, kinds)


@pytest.mark.requirement("embeddings.settings")
def test_the_key_need_not_be_on_the_command_line(
    cli: Cli, known: UserMemory, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.required_key = "sk-right"
    for given, stdin, variable in (
        (("--api-key", "sk-right"), "", None),
        (("--api-key", "-"), "sk-right\n", None),
        ((), "", "sk-right"),
    ):
        if variable:
            monkeypatch.setenv("RICORDO_EMBEDDINGS_KEY", variable)
        ran = cli("set", *at(server), *given, "--yes", "--json", stdin=stdin)
        assert (ran.json["ready"], "sk-right" in ran.out) == (3, False)
        assert cli("set", "--provider", "none", "--yes").code == 0  # which takes none


@pytest.mark.requirement("embeddings.settings")
def test_refusals(cli: Cli, known: UserMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("set").code == 2
    assert "is not one of: local" in cli("set", "--provider", "magic", "--json").error["message"]
    monkeypatch.setenv("RICORDO_ALLOW_PRIVATE_EMBEDDING_TARGETS", "false")
    private = ("--provider", "custom_http", "--base-url", "http://10.0.0.1/v1", "--model", "x")
    assert cli("set", *private, "--yes", "--json").error["error"] == "TargetRefused"
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    assert cli("set", "--provider", "local", "--yes").code == 4
    assert cli("rebuild", "--yes").code == 4


@pytest.mark.requirement("recall.reindex")
def test_reindex(backend_url: str, known: UserMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("--db", backend_url)
    assert ricordo("reindex", *where).out == "Search terms rebuilt: 0.\n"
    monkeypatch.setenv("RICORDO_LANGUAGE", "none")
    assert ricordo("reindex", *where, "--json").json == {"reindexed": 3}
    assert ricordo("reindex", *where, "--json").json == {"reindexed": 0}
