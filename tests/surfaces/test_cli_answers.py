"""What every command answers in JSON is documented, and what is documented is what it answers."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from ricordo.cli import json_shapes
from ricordo.cli.answers import ANSWERS
from ricordo.cli.app import COMMANDS
from ricordo.cli.assembling import Group
from ricordo.cli.groups import expanded
from ricordo.testing.model_server import ModelServer
from tests.support.answers import check_answer, command_of, commands, document
from tests.support.commandline import Ran, ricordo

# Those that tests run in this process are held against the schema there (see commandline.ricordo);
# those that run as processes of their own, until stopped, are not.
IN_TESTS_OF_THEIR_OWN = {
    "bench recall",  # needs a set of questions
    "bench speed",
    "celery beat",  # no JSON
    "celery worker",
    "celery status",  # needs a broker
    "database decrypt",  # change the file that all others use
    "database encrypt",
    "database grant",  # needs PostgreSQL
    "database rekey",
    "embeddings backfill",  # need vectors
    "embeddings rebuild",
    "embeddings set",
    "jobs retry",  # needs a dead job
    "mcp",  # speaks a protocol
    "mirror watch",  # these go on until stopped
    "serve",
    "worker",
}


@pytest.mark.requirement("cli.json-schema")
def test_every_command_is_there_and_nothing_else() -> None:
    assert sorted(ANSWERS) == sorted(commands())
    assert sorted(document()["commands"]) == sorted(commands())


@pytest.mark.requirement("cli.json-schema")
def test_commands_without_json_have_no_such_option() -> None:
    for listed in COMMANDS.values():
        for name, command in listed.items():
            calls = command.commands if isinstance(command, Group) else {"": command}
            for inner, call in calls.items():
                path = f"{name} {inner}".strip()
                if path == "mcp":  # its options are those of every command about a user
                    continue
                takes_json = "as_json" in expanded(call).__signature__.parameters  # type: ignore[attr-defined]
                assert takes_json is bool(ANSWERS[path].types), path


@pytest.mark.requirement("cli.json-schema")
def test_the_documented_schema_is_what_the_records_say() -> None:
    assert document() == json_shapes.document()
    jsonschema.Draft202012Validator.check_schema(document())


@pytest.mark.requirement("cli.json-schema")
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("purge", '{"purged": "many"}'),
        ("purge", '{"purged": 1, "more": true}'),
        ("purge", "{}"),
        ("users", '["ana", 1]'),
        ("jobs list", "{}"),
        ("add", '{"id": 1}'),
    ],
)
def test_another_answer_is_noticed(command: str, printed: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check_answer(command, printed)


@pytest.mark.requirement("cli.json-schema")
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["list", "--json"], "list"),
        (["jobs", "--json"], "jobs list"),
        (["jobs", "run"], "jobs run"),
        (["celery"], None),
        (["bogus"], None),
        (["--help"], None),
    ],
)
def test_which_command_is_run(arguments: list[str], command: str | None) -> None:
    assert command_of(arguments) == command


@pytest.mark.requirement("cli.json-schema")
def test_real_answers_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story through nearly every command; each answer is held against the schema."""
    seen: set[str] = set()

    def run(*arguments: object, stdin: str = "") -> Ran:
        given = [str(argument) for argument in arguments]
        ran = ricordo(*given, "--json", stdin=stdin)
        assert ran.code == 0, (given, ran.err)
        command = command_of(given)
        assert command is not None
        check_answer(command, ran.out)
        seen.add(command)
        return ran

    _remember_and_change(run)
    _talk(run)
    _keep_files(run, tmp_path)
    _administer(run, tmp_path)
    with ModelServer() as server:
        server.answer({"hour": 9, "destination": "coast"})
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", server.model)
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        run("model", "test")
    assert sorted(set(ANSWERS) - seen) == sorted(IN_TESTS_OF_THEIR_OWN)


Run = Callable[..., Ran]


def _remember_and_change(run: Run) -> None:
    run("init")
    run("add", "Prefers tea to coffee", "--theme", "drinks", "--tag", "t", "--expires-days", "9")
    run("add", "--batch", "-", stdin="Has a cat\nLikes green tea\nLikes green tea most\n")
    run("search", "tea", "--explain")
    run("search", "tea")
    run("related", "1")
    run("graph")
    run("source", "1")
    run("embeddings", "states", "1", "2")
    run("query", "tea", "--related", "2")
    run("query", "tea", "--returns", "full")
    run("context", "what to drink?", "--mode", "recall")
    run("feedback", "1", "--used", "1")
    run("get", "1")
    run("get", "1", "2", "--include-deleted")
    run("list")
    run("themes")
    run("theme", "drinks", "--name", "Drinks")
    run("history", "1")
    run("changes")
    run("archive", "1")
    run("restore", "1")
    run("pin", "1")
    run("verify", "1")
    run("merge", "3", "4", "--into", "Likes green tea most of all")
    run("lineage", "3")
    run("undo", "3")
    run("forget", "3")
    run("purge")
    run("consolidate", "--dry-run")
    run("upkeep")
    run("link", "2", "ben")
    run("links", "2")
    run("unlink", "2", "ben")
    run("profile", "set", "city=Bekasi", "--explicit")
    run("profile", "show")
    run("profile", "unset", "city")


def _talk(run: Run) -> None:
    run("observe", "--thread", "monday", stdin="user: I live in Bekasi now.\nassistant: Noted.\n")
    run("observe", "--thread", "monday", "--form", stdin="user: I have a dog.\n")
    run("observe", "--thread", "friday", stdin="user: I have diabetes. My name is Ana.\n")
    run("search-turns", "dog")
    run("threads")
    run("thread", "monday")
    run("turns", "monday")
    run("formed", "monday")
    run("window", "monday")
    run("compact", "monday")
    run("resume", "monday")
    run("log")
    run("form")
    run("summary")
    run("audit")
    proposals = json.loads(run("proposals").out)["items"]
    assert len(proposals) >= 2
    run("proposals", "approve", proposals[0]["id"])
    run("proposals", "reject", proposals[1]["id"])
    lines = "hello\n/memories\n/prompt\n/window\n/help\n/forget 2\n/forget x\n"
    run("chat", stdin=lines)
    run("tools", "list")
    run("tools", "call", "memory_search", '{"query": "tea"}')
    run("tools", "guide")
    run("events")
    run("counters")
    run("daily")


def _keep_files(run: Run, tmp_path: Path) -> None:
    run("checkpoint", "save", "t1", stdin='{"step": 3}')
    run("checkpoint", "list")
    run("checkpoint", "load", "t1")
    run("checkpoint", "delete", "t1")
    run("mirror", "status")
    run("mirror", "sync")
    run("export", tmp_path / "all.jsonl")
    run("import", tmp_path / "all.jsonl")


def _administer(run: Run, tmp_path: Path) -> None:
    run("users")
    jobs = json.loads(run("jobs").out)
    run("jobs", "stats")
    run("jobs", "cancel", next(job["id"] for job in jobs if job["state"] == "queued"))
    run("jobs", "run")
    made = json.loads(run("keys", "create", "test").out)
    run("keys", "list")
    run("keys", "show", made["key"]["id"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RICORDO_API_KEY", made["secret"])
        run("keys", "check")
    run("keys", "revoke", made["key"]["id"])
    run("embeddings", "status")
    run("embeddings", "test")
    run("reindex")
    run("migrate")
    run("backup", "make", tmp_path / "copy.backup")
    run("backup", "check", tmp_path / "copy.backup")
    run("backup", "restore", tmp_path / "copy.backup", "--db", tmp_path / "restored.db")
    run("doctor")
    run("version")
    run("completion", "bash")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        run("completion", "bash", "--install")
    run("erase", "me", "--yes")
