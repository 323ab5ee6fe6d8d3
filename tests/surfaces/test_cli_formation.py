"""Forming and deciding from the command line."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.cli.exit_codes import CONFLICT, INVALID_INPUT, MODEL_ERROR, NOT_FOUND
from ricordo.model.record import plain
from ricordo.testing.model_server import ModelServer
from ricordo.wiring import open_memory
from tests.support.commandline import ABOUT_THE_STORE, Ran, ricordo

Cli = Callable[..., Ran]
SAID = "user: I live in Bekasi\nassistant: Nice!\nuser: I love jazz music\n"


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    with open_memory(backend_url, run_jobs=False) as memory:
        yield memory


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


@pytest.fixture
def cli(backend_url: str, store: Memory) -> Cli:
    def run(*arguments: object, **settings: Any) -> Ran:
        whose = () if arguments[0] in ABOUT_THE_STORE else ("-u", "ana")
        return ricordo(*arguments, "--db", backend_url, *whose, **settings)

    return run


@pytest.fixture
def talked(cli: Cli, tmp_path: Path) -> Path:
    file = tmp_path / "chat.txt"
    file.write_text(SAID)
    assert cli("observe", file, "--thread", "monday").code == 0
    return file


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize("thread", [["monday"], []])
def test_form_says_what_was_decided(
    cli: Cli, ana: UserMemory, talked: Path, thread: list[str]
) -> None:
    report = cli("form", *thread, "--json").json
    actions = [decision["action"] for decision in report["decisions"]]
    assert sorted(actions) == ["add", "propose"]
    assert [item.content for item in ana.list()] == [
        decision["content"] for decision in report["decisions"] if decision["action"] == "add"
    ]
    assert cli("form").out == "Nothing new was said.\n"


@pytest.mark.requirement("cli.commands")
def test_observe_can_form_at_once(cli: Cli, ana: UserMemory) -> None:
    ran = cli("observe", "--thread", "monday", "--form", stdin=SAID)
    assert ran.code == 0
    assert "Recorded 3 turns in monday." in ran.out
    assert "jazz" in ran.out
    assert ran.err == "1 to decide: ricordo proposals\n"
    both = cli("observe", "--thread", "tuesday", "--form", "--json", stdin=SAID).json
    assert both["recorded"] == 3
    assert both["formed"]["turns"] == 3
    assert len(ana.list()) == 1


@pytest.mark.requirement("cli.commands")
def test_proposals_are_listed_approved_and_rejected(
    cli: Cli, ana: UserMemory, talked: Path
) -> None:
    cli("form")
    page = cli("proposals", "--json").json
    assert page == plain(ana.proposals())
    (proposal,) = page["items"]
    shown = cli("proposals", "list", "--state", "any").out
    assert "Bekasi" in shown
    assert "city" in shown
    added = cli("proposals", "approve", proposal["id"], "--actor", "ben", "--json").json
    assert "Bekasi" in ana.get(added["id"]).content
    decided = ana.proposals(state="approved").items[0]
    assert decided.decided_by == "ben"
    assert cli("proposals", "approve", proposal["id"]).code == CONFLICT
    assert cli("proposals", "reject", 9_999).code == NOT_FOUND
    assert cli("proposals", "--state", "maybe").code == INVALID_INPUT
    assert cli("proposals").out == "Nothing waits for you.\n"


@pytest.mark.requirement("cli.commands")
def test_a_rejection_is_for_good(cli: Cli, ana: UserMemory, talked: Path) -> None:
    cli("form")
    (proposal,) = ana.proposals()
    ran = cli("proposals", "reject", proposal.id, "--reason", "private")
    assert ran.out == f"Proposal {proposal.id} is turned down and forgotten.\n"
    cli("observe", "--thread", "again", "--form", stdin="user: I live in Bekasi\n")
    assert ana.proposals().items == ()
    (change,) = [one for one in ana.history(proposal.id) if one.reason == "private"]
    assert change.meta["consent"] == "rejected"


@pytest.mark.requirement("cli.commands")
def test_summary_audit_events_and_counters(cli: Cli, ana: UserMemory, talked: Path) -> None:
    assert cli("summary").out == "Nothing is known yet.\n"
    assert cli("events").out == "Nothing has happened in the background.\n"
    cli("form")
    assert "jazz" in cli("summary").out
    found = ana.summary()
    assert found is not None
    assert cli("summary", "--json").json["content"] == found.content
    assert cli("audit", "--json").json == plain(ana.audit())
    assert "Of 1 memories" in cli("audit").out
    assert cli("events", "--json").json == plain(ana.events())
    assert "formation" in cli("events").out
    assert cli("counters", "--json").json == plain(ana.counters())
    everybody = cli("counters", "--all-users", "--days", "1", "--json").json
    assert everybody["memory_total_count"] == 1
    assert cli("counters", "--days", "0").code == INVALID_INPUT
    assert "memory_dedup_rate" in cli("counters").out


@pytest.mark.requirement("activity.daily")
def test_what_happened_is_shown_by_the_day(cli: Cli, ana: UserMemory, talked: Path) -> None:
    cli("form")
    cli("search", "jazz")
    found = cli("daily", "--days", "2", "--json").json
    assert found == plain(ana.daily(days=2))
    today = found[-1]
    assert (today["memories_added"], today["decisions"]["add"], today["recalls"]) == (1, 1, 1)
    assert cli("daily", "--all-users", "--days", "2", "--json").json == found
    heading, *rows = cli("daily").out.splitlines()
    assert len(rows) == 30
    assert heading.startswith("Day (UTC)")
    assert rows[-1].startswith(today["day"])
    assert "add 1" in rows[-1]
    for wrong in ("0", "367"):
        refused = cli("daily", "--days", wrong, "--json")
        assert (refused.code, refused.error["error"]) == (INVALID_INPUT, "InvalidValue")


@pytest.mark.requirement("cli.commands")
def test_the_model_can_be_tried(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cli("model", "test", "--json")
    assert refused.code == INVALID_INPUT
    assert "no language model" in refused.error["message"]
    with ModelServer() as server:
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", "scripted")
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        server.answer_with(_anything)
        report = cli("model", "test", "--json").json
        assert (report["ok"], report["model"]) == (True, "scripted")
        findings = json.loads(cli("doctor", "--json").out)
        assert [one["state"] for one in findings if one["check"] == "model"] == ["ok"]
        server.fail_next(100, status=401)
        failed = cli("model", "test")
        assert failed.code == MODEL_ERROR
        assert "401" in failed.out
        findings = json.loads(cli("doctor", "--json").out)
        assert [one["state"] for one in findings if one["check"] == "model"] == ["warning"]


@pytest.mark.requirement("formation.model-faults")
def test_a_model_that_is_down_is_an_error_of_its_own(
    cli: Cli, talked: Path, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", "scripted")
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        server.fail_next(100, status=401)
        ran = cli("form", "--json")
    assert ran.code == MODEL_ERROR
    assert ran.error["error"] == "ModelRefused"
    assert ana.list().items == ()
    monkeypatch.delenv("RICORDO_MODEL_PROVIDER")
    monkeypatch.delenv("RICORDO_MODEL_NAME")
    monkeypatch.delenv("RICORDO_MODEL_BASE_URL")
    assert cli("form", "--json").json["turns"] == 3


def _anything(body: dict[str, Any]) -> dict[str, Any]:
    """An answer that fits whatever small schema is asked for."""
    schema = body["response_format"]["json_schema"]["schema"]
    values = {"string": "ok", "boolean": True, "integer": 1, "number": 1.0, "array": []}
    return {name: values[part["type"]] for name, part in schema["properties"].items()}
