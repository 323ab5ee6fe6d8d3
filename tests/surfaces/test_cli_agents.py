"""What agents use from the command line: prompts, formation, tools and checkpoints."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory, UserMemory
from ricordo.cli.errors import CONFLICT, INVALID_INPUT, MODEL_ERROR, NOT_FOUND, OK
from ricordo.model.record import plain
from ricordo.tools import TOOL_SETS, chosen
from ricordo.tools.tool import anthropic, openai_chat
from tests.support.commandline import Ran, ricordo
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("cli.commands")
Cli = Callable[..., Ran]
SAID = "user: I live in Bekasi\nassistant: Nice!\nuser: I love jazz music\n"


# -- prompts -------------------------------------------------------------------------------


@pytest.mark.requirement("prompt.modes")
def test_a_context(
    cli: Cli, ana: UserMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.add("The user drinks green tea", theme="drinks")
    ana.observe([{"role": "user", "content": "Hello"}], thread="t")
    given = ("What tea does the user drink?", "-m", "recall", "-m", "summary")
    shown = cli("context", *given, "--budget", 3000, "--reply", 200, "--json").json
    built = ana.context(given[0], modes=["recall", "summary"], budget_tokens=3000, reply_tokens=200)
    assert shown["memories"] == plain(built.memories)
    assert shown["tokens"]["budget"] == 3000 and shown["tokens"]["reply"] == 200
    assert shown["messages"][-1] == {"role": "user", "content": given[0]}
    said = cli("context", "What now?", "--thread", "t").out
    assert "[system]\n" in said and "[user]\nHello" in said
    assert "(tokens: budget 8000, " in said
    said = cli("context", "What now?", "--thread", "t", "--no-history").out
    assert "[user]\nWhat now?" in said and "[user]\nHello" not in said
    (tmp_path / "files" / "prompts").mkdir(parents=True)
    (tmp_path / "files" / "prompts" / "SOUL.md").write_text("You are Pip.")
    monkeypatch.setenv("RICORDO_FILES", str(tmp_path / "files"))
    assert "You are Pip." in cli("context", "What now?").out
    assert "You are Pip." not in cli("context", "What now?", "--no-persona").out
    schemas = tmp_path / "tools.json"
    schemas.write_text('[{"name": "memory_search"}]')
    assert cli("context", "--tools", schemas, "--json").json["tokens"]["tools"] > 0
    schemas.write_text("{")
    for path, said in ((schemas, "not JSON"), (tmp_path / "missing.json", "missing.json")):
        ran = cli("context", "--tools", path)
        assert ran.code == INVALID_INPUT and said in ran.err


@pytest.mark.requirement("prompt.feedback")
def test_feedback_says_what_was_used(cli: Cli, ana: UserMemory) -> None:
    tea, bicycle = ana.add("Drinks green tea").id, ana.add("Owns a bicycle").id
    answer = ("--answer", "Have some green tea to drink")
    assert cli("feedback", tea, bicycle, *answer, "--json").json["used"] == [tea]
    ran = cli("feedback", tea, bicycle, "--used", bicycle)
    assert ran.code == OK and f"Used: {bicycle} (1 of 2)." in ran.out
    assert cli("feedback", tea).code == INVALID_INPUT
    assert cli("feedback", 999, "--used", 999).code == NOT_FOUND


# -- formation -----------------------------------------------------------------------------


@pytest.fixture
def talked(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(SAID)
    assert cli("observe", file, "--thread", "monday").code == 0


def test_form_says_what_was_decided(cli: Cli, ana: UserMemory, talked: None) -> None:
    report = cli("form", "monday", "--json").json
    actions = [decision["action"] for decision in report["decisions"]]
    assert sorted(actions) == ["add", "propose"]
    assert [item.content for item in ana.list()] == [
        decision["content"] for decision in report["decisions"] if decision["action"] == "add"
    ]
    assert cli("form").out == "Nothing new was said.\n"
    ran = cli("observe", "--thread", "tuesday", "--form", stdin="user: I play chess\n")
    assert "Recorded 1 turns in tuesday." in ran.out
    assert "chess" in ran.out
    both = cli("observe", "--thread", "friday", "--form", "--json", stdin=SAID).json
    assert (both["recorded"], both["formed"]["turns"]) == (3, 3)


def test_proposals_are_listed_approved_and_rejected(
    cli: Cli, ana: UserMemory, talked: None
) -> None:
    assert cli("form").err == "1 proposal waits: ricordo proposals\n"
    page = cli("proposals", "--json").json
    assert page == plain(ana.proposals())
    (proposal,) = page["items"]
    shown = cli("proposals", "list", "--state", "any").out
    assert "Bekasi" in shown
    assert "city" in shown
    added = cli("proposals", "approve", proposal["id"], "--actor", "ben", "--json").json
    assert "Bekasi" in ana.get(added["id"]).content
    assert ana.proposals(state="approved").items[0].decided_by == "ben"
    assert cli("proposals", "approve", proposal["id"]).code == CONFLICT
    assert cli("proposals", "reject", 9_999).code == NOT_FOUND
    assert cli("proposals", "--state", "maybe").code == INVALID_INPUT
    assert cli("proposals").out == "Nothing waits for you.\n"
    cli("observe", "--thread", "again", "--form", stdin="user: My name is Ana\n")
    (other,) = ana.proposals()
    ran = cli("proposals", "reject", other.id, "--reason", "private")
    assert ran.out == f"Proposal {other.id} is turned down and forgotten.\n"
    (change,) = [one for one in ana.history(other.id) if one.reason == "private"]
    assert change.meta["consent"] == "rejected"


@pytest.mark.requirement("activity.daily")
def test_summary_audit_events_counters_and_days(
    cli: Cli, store: Memory, ana: UserMemory, talked: None
) -> None:
    assert cli("summary").out == "Nothing is known yet.\n"
    assert cli("events").out == "Nothing has happened in the background.\n"
    cli("form")
    assert "jazz" in cli("summary").out
    found = ana.summary()
    assert found is not None
    assert cli("summary", "--json").json["content"] == found.content
    assert cli("audit", "--json").json == plain(ana.audit())
    ran = cli("audit", "--action", "add")
    assert "Of 1 memories" in ran.err
    assert "jazz" in ran.out
    assert "Of 1 memories" in cli("audit", "--thread", "none").out
    assert cli("events", "--json").json == plain(ana.events())
    assert "formation" in cli("events").out
    assert cli("counters", "--json").json == plain(ana.counters())
    everybody = cli("counters", "--all-users", "--days", "1", "--json").json
    assert everybody["memory_total_count"] == 1
    assert cli("counters", "--days", "0").code == INVALID_INPUT
    assert "memory_dedup_rate" in cli("counters").out
    cli("search", "jazz")
    store.recall.accesses.flush()  # a service counts them in the background
    days = cli("daily", "--days", "2", "--json").json
    assert days == plain(ana.daily(days=2))
    today = days[-1]
    assert (today["memories_added"], today["decisions"]["add"], today["recalls"]) == (1, 1, 1)
    assert cli("daily", "--all-users", "--days", "2", "--json").json == days
    heading, *rows = cli("daily").out.splitlines()
    assert (len(rows), heading.startswith("Day (UTC)")) == (30, True)
    assert rows[-1].startswith(today["day"])
    assert "add 1" in rows[-1]
    assert cli("daily", "--days", "367", "--json").error["error"] == "InvalidValue"


@pytest.mark.requirement("formation.model-faults")
def test_a_model_that_answers_and_one_that_refuses(
    cli: Cli, talked: None, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = cli("model", "test", "--json")
    assert refused.code == INVALID_INPUT
    assert "no language model" in refused.error["message"]
    with FaultyModel() as server, monkeypatch.context() as patch:
        patch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        patch.setenv("RICORDO_MODEL_NAME", "scripted")
        patch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        server.answer_with(lambda _asked: {"hour": 9, "destination": "coast"})
        report = cli("model", "test", "--json").json
        assert (report["ok"], report["model"]) == (True, "scripted")
        server.fail_next(100, status=401)
        failed = cli("model", "test")
        assert (failed.code, "401" in failed.out) == (MODEL_ERROR, True)
        ran = cli("form", "--json")
        assert (ran.code, ran.error["error"]) == (MODEL_ERROR, "ModelRefused")
    assert ana.list().items == ()
    assert cli("form", "--json").json["turns"] == 3  # nothing of it was lost


# -- tools ---------------------------------------------------------------------------------


@pytest.mark.requirement("tools.surfaces")
def test_tools_are_listed_for_people_and_as_schemas(cli: Cli, ana: UserMemory) -> None:
    shown = ricordo("tools")
    for tool in chosen(*TOOL_SETS):
        assert tool.name in shown.out
    ran = ricordo("tools", "list", "--set", "query", "--set", "single", "--form", "openai")
    assert json.loads(ran.out) == openai_chat(chosen("query", "single"))
    assert ricordo("tools", "list", "--json").json == anthropic(chosen(*TOOL_SETS))
    ana.add("Has a cat", theme="pets")
    assert "- pets (1)" in cli("tools", "guide").out
    assert cli("tools", "guide", "--set", "query", "--json").json["guide"].startswith("##")


@pytest.mark.requirement("tools.surfaces")
def test_a_tool_is_called_with_json(cli: Cli, ana: UserMemory) -> None:
    added = cli("tools", "call", "memory_add", '{"content": "Has a cat"}', "--agent", "vet")
    assert json.loads(added.out) == {"id": 1, "status": "active"}
    assert ana.get(1).agent_id == "vet"
    found = cli("tools", "call", "memory_search", "-", stdin='{"query": "*"}')
    assert json.loads(found.out)["results"][0]["content"] == "Has a cat"
    themes = cli("tools", "call", "memory_list_themes", "--json")
    assert themes.json == {"themes": [{"theme": "general", "name": "General", "memories": 1}]}
    missing = cli("tools", "call", "memory_get", '{"id": 9}', "--json")
    assert (missing.code, json.loads(missing.err)["message"]) == (NOT_FOUND, "no memory 9")
    assert cli("tools", "call", "memory_get", "{oops").code == INVALID_INPUT
    assert "allowed: standard" in ricordo("tools", "list", "--set", "all").err
    offered = cli("tools", "call", "memory_store", "{}", "--set", "query")
    assert "unknown tool 'memory_store'; allowed: memory_query" in offered.err


# -- checkpoints ---------------------------------------------------------------------------


@pytest.mark.requirement("checkpoints.states")
def test_checkpoints_are_saved_loaded_listed_and_deleted(cli: Cli, tmp_path: Path) -> None:
    state = {"step": 3, "text": "Grüße \u0000"}
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state), encoding="utf-8")
    assert cli("checkpoint", "save", "monday", file).out == "Saved version 1 of monday.\n"
    again = ("checkpoint", "save", "monday", "--expect", 1, "--json")
    saved = cli(*again, stdin=json.dumps(state)).json
    assert (saved["version"], saved["state"]) == (2, state)
    assert cli("checkpoint", "load", "monday", "--json").json == saved
    assert json.loads(cli("checkpoint", "load", "monday").out) == state
    listed = cli("checkpoint", "--json").json
    assert [one["thread_id"] for one in listed["items"]] == ["monday"]
    assert "monday" in cli("checkpoint", "list").out
    assert cli("checkpoint", "delete", "monday", "--expect", 1).code == CONFLICT
    deleted = cli("checkpoint", "delete", "monday", "--expect", 2, "--json").json
    assert deleted == {"thread_id": "monday", "deleted": True}
    assert cli("checkpoint", "delete", "monday").out == "Nothing is saved for monday.\n"
    assert "No checkpoints" in cli("checkpoint", "list").out
    for given, stdin, code, message in (
        (("load", "nothing"), "", NOT_FOUND, "no checkpoint of thread 'nothing'"),
        (("save", "t"), "{broken", INVALID_INPUT, "not JSON in UTF-8"),
        (("save", "t"), "NaN", INVALID_INPUT, "is not JSON"),
        (("save", "t", "/no/such/file"), "", INVALID_INPUT, "cannot be read"),
        (("save", "t", "--expect", "4"), "1", CONFLICT, "has none; version 4 was expected"),
    ):
        ran = cli("checkpoint", *given, "--json", stdin=stdin)
        assert (ran.code, message in ran.error["message"]) == (code, True)
