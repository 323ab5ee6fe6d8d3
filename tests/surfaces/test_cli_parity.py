"""Every method has its command, every parameter its option, every answer its documented shape."""

import inspect
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from ricordo import Memory, UserMemory
from ricordo.cli import json_schemas
from ricordo.cli.app import COMMANDS, topics
from ricordo.cli.commands import Group, by_words, expanded
from ricordo.cli.derived import operation_of
from ricordo.cli.json_schemas import ANSWERS
from ricordo.transfer.imports import FORMATS
from tests.support.answers import check_answer, command_of, commands, document
from tests.support.commandline import ABOUT_THE_STORE, Ran, ricordo
from tests.support.endpoints import FaultyModel

INSIDE_OTHERS = {  # what a command does that has the options of another operation, or none
    "narrow": "add",
    "user": "add",
    "global_memories": "add",
    "add_many": "add",
    "get": "get",
    "revision": "changes",
    "reset_embeddings": "embeddings set",
    "fill_embeddings": "embeddings backfill",
    "authenticate": "keys check",
    "has_keys": "keys list",
    "export": "export",
    "export_lines": "export",
}
WITHOUT_A_METHOD = {
    "": ["chat", "completion", "doctor", "init", "mcp", "migrate", "serve", "version", "worker"],
    "agents": ["drain", "install", "mcp", "off", "on", "status", "uninstall"],
    "backup": ["check", "restore"],  # functions of the package: no store is open
    "bench": ["answers", "formation", "recall", "speed"],
    "celery": ["beat", "status", "worker"],
    "database": ["decrypt", "encrypt", "grant", "rekey"],
    "mirror": ["watch"],
    "profile": ["unset"],
    "tools": ["call", "guide", "list"],
}
WITHOUT_OPTIONS = {
    "tools list": {"--db", "--home"},  # the same everywhere
    "agents drain": {"--db"},  # the store is the one that agents.toml names
    "agents mcp": {"--json"},
    "agents off": {"--db"},
    "agents on": {"--db"},
    "agents status": {"--db"},
    "agents uninstall": {"--db"},
    "bench recall": {"--db", "--home"},
    "bench answers": {"--db", "--home"},
    "bench formation": {"--db", "--home"},
    "bench speed": {"--db", "--home"},
    "completion": {"--db", "--home"},  # about the shell
    "celery status": {"--db", "--home"},  # about the broker
    "celery beat": {"--json"},  # these answer nothing, they go on until stopped
    "celery worker": {"--json"},
    "mcp": {"--json"},  # it speaks a protocol
}
ON_THE_COMMAND_LINE_ONLY_ELSEWHERE = {
    "add": {
        "content",
        "thread_id",
        "agent_id",
        "run_id",
        "actor_id",
        "role",
        "project_id",
    },  # TEXT; who acts
    "merge": {
        "content",
        "thread_id",
        "agent_id",
        "run_id",
        "actor_id",
        "role",
        "project_id",
    },  # --into
    "query": {"filters"},  # --filter
    "context": {"tools", "thread", "agent"},  # a file; who acts
    "observe": {"messages"},  # a file
    "save_checkpoint": {"state"},  # a file
    "update_user_profile": {"fields"},  # FIELD=VALUE
    "test_embeddings": {"api_key"},  # also from a variable
    "set_embeddings": {"api_key", "confirm"},  # --yes
    "rebuild_embeddings": {"confirm"},
}
"""Parameters that have an option or argument made by hand."""


def _commands() -> dict[str, Callable[..., None]]:
    return by_words(COMMANDS)


def _commands_by_method() -> dict[str, str]:
    placed = {
        operation.name: words
        for words, command in reversed(_commands().items())
        if (operation := operation_of(command)) is not None and words != "chat"
    }
    return {**placed, **INSIDE_OTHERS}


@pytest.mark.requirement("cli.commands")
def test_every_method_has_a_command_and_every_command_a_method() -> None:
    methods = {
        name
        for kind in (UserMemory, Memory)
        for name, _ in inspect.getmembers(kind, callable)
        if not name.startswith("_") and name != "close"
    }
    assert set(_commands_by_method()) == methods
    without = {
        f"{group} {name}".strip() for group, names in WITHOUT_A_METHOD.items() for name in names
    }
    assert set(_commands_by_method().values()) | without == set(_commands())
    assert "More" not in topics()


@pytest.mark.requirement("cli.commands")
def test_every_parameter_has_an_option() -> None:
    for method, words in _commands_by_method().items():
        operation = operation_of(_commands()[words])
        if operation is not None and operation.name == method:
            options = set(inspect.signature(expanded(_commands()[words])).parameters)
            by_hand = ON_THE_COMMAND_LINE_ONLY_ELSEWHERE.get(method, set())
            assert operation.parameters.keys() - by_hand <= options, words


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize("name", sorted(_commands()))
def test_every_command_explains_itself_and_takes_the_shared_options(name: str) -> None:
    ran = ricordo(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: ricordo {name}")
    words = set(ran.out.split())
    assert {"--db", "--home", "--json"} - words == WITHOUT_OPTIONS.get(name, set())
    takes_user = "of_everyone" in inspect.signature(expanded(_commands()[name])).parameters
    of_the_store = ("init", "tools list", "groups create", "groups delete")
    about_the_store = name.split(maxsplit=1)[0] in ABOUT_THE_STORE or name in of_the_store
    assert takes_user is not about_the_store


@pytest.mark.requirement("cli.commands")
def test_groups_run_their_default_or_say_what_is_missing() -> None:
    listed = {name: one for commands in COMMANDS.values() for name, one in commands.items()}
    groups = {name: one for name, one in listed.items() if isinstance(one, Group)}
    assert {"jobs", "bench"} <= set(groups)
    for name, group in groups.items():
        assert ricordo(name, "--help").out.startswith(f"Usage: ricordo {name}")
        ran = ricordo(name)
        if group.default is None:
            assert (ran.code, ran.err.splitlines()[0]) == (2, "error: Missing command.")
        else:
            assert ran == ricordo(name, group.default)


@pytest.mark.requirement("cli.commands")
def test_help_names_what_can_be_read() -> None:
    said = ricordo("import", "--help").out
    assert [name for name in FORMATS if name not in said] == []
    said = " ".join(ricordo("observe", "--help").out.split())
    for kind in ("JSON list", "JSON Lines", "plain text", "NAME: TEXT", "ROLE: TEXT"):
        assert kind in said
    assert ricordo() == ricordo("--help") == ricordo("-h")
    assert ricordo("jobs", "-h") == ricordo("jobs", "--help")


# -- answers in JSON -----------------------------------------------------------------------


@pytest.mark.requirement("cli.json-schema")
def test_the_document_has_every_command_as_its_records_say() -> None:
    assert sorted(ANSWERS) == sorted(document()["commands"]) == sorted(commands())
    assert document() == json_schemas.document()
    jsonschema.Draft202012Validator.check_schema(document())
    for name, call in _commands().items():
        if name != "mcp":  # its options are those of every command about a user
            takes_json = "as_json" in inspect.signature(expanded(call)).parameters
            assert takes_json is bool(ANSWERS[name].types), name


# Those that tests run in this process are held against the schema there (see commandline.ricordo);
# those that run as processes of their own, until stopped, are not.
IN_TESTS_OF_THEIR_OWN = {
    "agents": ["drain", "install", "mcp", "off", "on", "status", "uninstall"],
    "bench": ["answers", "formation", "recall", "speed"],
    "celery": ["beat", "worker", "status"],  # need a broker
    "database": ["decrypt", "encrypt", "grant", "rekey"],  # change what all others use
    "embeddings": ["backfill", "rebuild", "set"],  # need vectors
    "groups": ["create", "delete", "list", "members", "remove", "set"],
    "jobs": ["retry"],  # needs a dead job
    "": ["links-of", "mcp", "projects", "rate", "serve", "worker"],
    "mirror": ["watch"],
    "programs": ["list", "revoke"],
    "webhooks": [
        *("create", "delete", "deliveries", "list", "rotate", "show", "test", "update"),
    ],
}
STORY = """
init; add 'Prefers tea to coffee' --theme drinks --tag t --expires-days 9
add --batch - < Has a cat\\nLikes green tea\\nLikes green tea most
search tea --explain; related 1; graph; source 1; embeddings states 1 2; query tea --related 2
query tea --returns full; context 'what to drink?' --mode recall; feedback 1 --used 1; get 1
get 1 2 --include-deleted; list; themes; theme drinks --name Drinks; history 1; changes
archive 1; restore 1; pin 1; verify 1; merge 3 4 --into 'Likes green tea most of all'; lineage 3
undo 3; forget 3; purge; consolidate --dry-run; upkeep; link 2 ben; links 2; unlink 2 ben
senders block ben; senders blocked; senders unblock ben
profile set city=Bekasi --explicit; profile show; profile unset city
observe --thread monday < user: I live in Bekasi now.\\nassistant: Noted.
observe --thread monday --form < user: I have a dog.
observe --thread friday < user: I have diabetes. My name is Ana.
search-turns dog; threads; thread monday; turns monday; formed monday; window monday
compact monday; resume monday; redact monday 1 --text Bekasi; log; form; summary; audit
chat < hello\\n/memories\\n/prompt\\n/window\\n/help\\n/forget 2\\n/forget x
tools list; tools call memory_search '{"query": "tea"}'; tools guide; events; counters; daily
checkpoint save t1 < {"step": 3}
checkpoint list; checkpoint load t1; checkpoint delete t1; mirror status; mirror sync
export all.jsonl; import all.jsonl; users; jobs stats; embeddings status; embeddings test
reindex; migrate; backup make copy.backup; backup check copy.backup
backup restore copy.backup --db restored.db; doctor; version; completion bash
completion bash --install
"""


@pytest.mark.slow
@pytest.mark.requirement("cli.json-schema")
def test_real_answers_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story through nearly every command; each answer is held against the schema."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    seen: set[str] = set()

    def run(*given: str, stdin: str = "") -> Ran:
        ran = ricordo(*given, "--json", stdin=stdin)
        assert ran.code == 0, (given, ran.err)
        command = command_of(given)
        assert command is not None
        check_answer(command, ran.out)
        seen.add(command)
        return ran

    for line in STORY.strip().splitlines():
        commands, _, said = line.partition(" < ")
        for command in commands.split("; "):
            run(*shlex.split(command), stdin=said.replace("\\n", "\n") + "\n")
    _decide_and_administer(run)
    with FaultyModel() as server:
        server.answer({"hour": 9, "destination": "coast"})
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", server.model)
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        run("model", "test")
    run("erase", "me", "--yes")
    elsewhere = {
        f"{group} {name}".strip()
        for group, names in IN_TESTS_OF_THEIR_OWN.items()
        for name in names
    }
    assert set(ANSWERS) - seen == elsewhere


def _decide_and_administer(run: Callable[..., Ran]) -> None:
    """What needs to know what an earlier command has answered."""
    proposals = json.loads(run("proposals").out)["items"]
    run("proposals", "approve", str(proposals[0]["id"]))
    run("proposals", "reject", str(proposals[1]["id"]))
    jobs = json.loads(run("jobs").out)
    run("jobs", "cancel", next(str(job["id"]) for job in jobs if job["state"] == "queued"))
    run("jobs", "run")
    made = json.loads(run("keys", "create", "test").out)
    run("keys", "list")
    run("keys", "show", made["key"]["id"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RICORDO_API_KEY", made["secret"])
        run("keys", "check")
    run("keys", "revoke", made["key"]["id"])
