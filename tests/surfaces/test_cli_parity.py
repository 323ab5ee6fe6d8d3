"""Every method has its command, every parameter its option, every answer its documented shape."""

import dataclasses
import inspect
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from ricordo import ItemFilter, Memory, UserMemory
from ricordo.cli import json_schemas
from ricordo.cli.app import COMMANDS
from ricordo.cli.commands import Group, expanded
from ricordo.cli.json_schemas import ANSWERS
from ricordo.cli.options import Filters
from ricordo.transfer.imports import FORMATS
from tests.support.answers import check_answer, command_of, commands, document
from tests.support.commandline import ABOUT_THE_STORE, Ran, ricordo
from tests.support.endpoints import FaultyModel

COMMAND_OF = {  # where neither the method's name nor its words the other way round are the command
    "narrow": "add",
    "user": "add",
    "global_memories": "add",
    "describe_theme": "theme",
    "embedding_status": "embeddings status",
    "embedding_states": "embeddings states",
    "reset_embeddings": "embeddings set",
    "fill_embeddings": "embeddings backfill",
    "relation_graph": "graph",
    "revision": "changes",
    "source_turn": "source",
    "formed_turns": "formed",
    "day_log": "log",
    "approve": "proposals approve",
    "reject": "proposals reject",
    "user_profile": "profile show",
    "update_user_profile": "profile set",
    "job_stats": "jobs stats",
    "key": "keys show",
    "authenticate": "keys check",
    "backup": "backup make",
    "has_keys": "keys list",
}
WITHOUT_A_METHOD = {
    "": ["chat", "completion", "doctor", "init", "mcp", "migrate", "serve", "version", "worker"],
    "backup": ["check", "restore"],  # functions of the package: no store is open
    "bench": ["recall", "speed"],
    "celery": ["beat", "status", "worker"],
    "database": ["decrypt", "encrypt", "grant", "rekey"],
    "mirror": ["watch"],
    "profile": ["unset"],
    "tools": ["call", "guide", "list"],
}
WITHOUT_OPTIONS = {
    "tools list": {"--db", "--home"},  # the same everywhere
    "bench recall": {"--db", "--home"},
    "bench speed": {"--db", "--home"},
    "completion": {"--db", "--home"},  # about the shell
    "celery status": {"--db", "--home"},  # about the broker
    "celery beat": {"--json"},  # these answer nothing, they go on until stopped
    "celery worker": {"--json"},
    "mcp": {"--json"},  # it speaks a protocol
}
RENAMED = {  # but for endings: agent for agent_id, tag for tags, any id for an id
    "feedback.answer": "reply",
    "pinned": "pin",
    "before_time": "now",
    "context.history": "no_history",
    "context.persona": "no_persona",
    "expected_updated_at": "expect",
    "add_many.memories": "batch",
    "describe_theme.display_name": "name",
    "describe_theme.theme": "slug",
    "import_file.format": "format_name",
    "merge.content": "into",
    "observe.messages": "path",
    "save_checkpoint.state": "path",
    "confirm": "yes",
    "pin.pinned": "off",
    "create_key.user": "of_user",
    "keys.user": "of_user",
}
SHOWN_OTHERWISE = {"self", "progress", "filters"}
NOT_ON_A_COMMAND_LINE = {
    "authenticate.secret",  # others could see it there
    "narrow.categories",  # whoever has the shell has the whole database
    "user.categories",
}


def _commands() -> dict[str, Callable[..., None]]:
    found: dict[str, Callable[..., None]] = {}
    for listed in COMMANDS.values():
        for name, command in listed.items():
            if isinstance(command, Group):
                found |= {f"{name} {inner}": call for inner, call in command.commands.items()}
            else:
                found[name] = command
    return found


def _command_of(method: str) -> str:
    first, _, rest = method.partition("_")
    calls = ("add_many", "get_many", "export_lines", "import_file", "erase_user")
    names = [method.replace("_", "-"), method.replace("_", " "), f"{rest} {first}"]
    names += [f"{rest}s {first}", f"{method} list", f"{method.removesuffix('s')} list"]
    names += [first] * (method in calls)
    return COMMAND_OF.get(method) or next(name for name in names if name in _commands())


def _commands_by_method() -> dict[tuple[type, str], str]:
    return {
        (kind, name): _command_of(name)
        for kind in (UserMemory, Memory)
        for name, _ in inspect.getmembers(kind, callable)
        if not name.startswith("_") and name != "close"
    }


@pytest.mark.requirement("cli.commands")
def test_every_method_has_a_command_and_every_command_a_method() -> None:
    without = {
        f"{group} {name}".strip() for group, names in WITHOUT_A_METHOD.items() for name in names
    }
    assert set(_commands_by_method().values()) | without == set(_commands())


@pytest.mark.requirement("cli.commands")
def test_every_parameter_has_an_option() -> None:
    for (kind, method), command in _commands_by_method().items():
        options = set(inspect.signature(expanded(_commands()[command])).parameters)
        for name in set(inspect.signature(getattr(kind, method)).parameters) - SHOWN_OTHERWISE:
            option = RENAMED.get(f"{method}.{name}", RENAMED.get(name, name))
            named = {option, option.removesuffix("_id"), option.removesuffix("s")}
            if name == "id":
                named = {one for one in options if one == "ids" or one.endswith("_id")}
            is_left_out = f"{method}.{name}" in NOT_ON_A_COMMAND_LINE
            assert is_left_out or named & options, f"{method}({name}=…)"


@pytest.mark.requirement("cli.commands")
def test_every_filter_has_an_option() -> None:
    singular = {"statuses": "status", "types": "type", "sources": "source"}
    filters = {singular.get(field.name, field.name) for field in dataclasses.fields(ItemFilter)}
    assert {field.name for field in dataclasses.fields(Filters)} == filters


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize("name", sorted(_commands()))
def test_every_command_explains_itself_and_takes_the_shared_options(name: str) -> None:
    ran = ricordo(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: ricordo {name}")
    words = set(ran.out.split())
    assert {"--db", "--home", "--json"} - words == WITHOUT_OPTIONS.get(name, set())
    takes_user = "user" in inspect.signature(expanded(_commands()[name])).parameters
    about_the_store = name.split(maxsplit=1)[0] in ABOUT_THE_STORE or name == "tools list"
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
    "bench": ["recall", "speed"],
    "celery": ["beat", "worker", "status"],  # need a broker
    "database": ["decrypt", "encrypt", "grant", "rekey"],  # change what all others use
    "embeddings": ["backfill", "rebuild", "set"],  # need vectors
    "jobs": ["retry"],  # needs a dead job
    "": ["mcp", "serve", "worker"],
    "mirror": ["watch"],
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
