"""Every command does what its method of the library does, and says so in JSON."""

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import ItemFilter, Memory, UserMemory
from ricordo.cli.app import COMMANDS
from ricordo.cli.assembling import Group
from ricordo.cli.filtering import Filters
from ricordo.cli.groups import expanded
from ricordo.jobs.queue import JobQueue
from ricordo.model.job import NewJob
from ricordo.model.record import plain
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.transfer.importing import FORMATS
from ricordo.wiring import open_memory
from tests.support.commandline import ABOUT_THE_STORE, Ran, ricordo

Cli = Callable[..., Ran]


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    """The library on the same database as the commands, to compare with."""
    with open_memory(backend_url, run_jobs=False) as memory:
        yield memory


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


@pytest.fixture
def cli(backend_url: str, store: Memory) -> Cli:
    """Commands for user ana on that database."""

    def run(*arguments: object, **settings: Any) -> Ran:
        whose = () if arguments[0] in ABOUT_THE_STORE else ("-u", "ana")
        return ricordo(*arguments, "--db", backend_url, *whose, **settings)

    return run


# -- nothing is missing --------------------------------------------------------------------

COMMAND_OF: dict[type, dict[str, str]] = {
    UserMemory: {
        "add": "add",
        "add_many": "add",
        "archive": "archive",
        "changes": "changes",
        "describe_theme": "theme",
        "embedding_status": "embeddings status",
        "embedding_states": "embeddings states",
        "test_embeddings": "embeddings test",
        "set_embeddings": "embeddings set",
        "reset_embeddings": "embeddings set",
        "rebuild_embeddings": "embeddings rebuild",
        "backfill_embeddings": "embeddings backfill",
        "fill_embeddings": "embeddings backfill",
        "export": "export",
        "export_lines": "export",
        "forget": "forget",
        "get": "get",
        "get_many": "get",
        "history": "history",
        "lineage": "lineage",
        "import_file": "import",
        "link": "link",
        "links": "links",
        "list": "list",
        "merge": "merge",
        "narrow": "add",
        "pin": "pin",
        "observe": "observe",
        "purge": "purge",
        "query": "query",
        "context": "context",
        "feedback": "feedback",
        "related": "related",
        "relation_graph": "graph",
        "restore": "restore",
        "revision": "changes",
        "search": "search",
        "search_turns": "search-turns",
        "themes": "themes",
        "threads": "threads",
        "thread": "thread",
        "turns": "turns",
        "source_turn": "source",
        "formed_turns": "formed",
        "window": "window",
        "compact": "compact",
        "resume": "resume",
        "day_log": "log",
        "undo": "undo",
        "unlink": "unlink",
        "verify": "verify",
        "form": "form",
        "summary": "summary",
        "audit": "audit",
        "upkeep": "upkeep",
        "consolidate": "consolidate",
        "proposals": "proposals list",
        "approve": "proposals approve",
        "reject": "proposals reject",
        "user_profile": "profile show",
        "update_user_profile": "profile set",
        "save_checkpoint": "checkpoint save",
        "load_checkpoint": "checkpoint load",
        "checkpoints": "checkpoint list",
        "delete_checkpoint": "checkpoint delete",
        "sync_mirror": "mirror sync",
        "mirror_status": "mirror status",
        "events": "events",
        "counters": "counters",
        "daily": "daily",
    },
    Memory: {
        "daily": "daily",
        "counters": "counters",
        "test_model": "model test",
        "erase_user": "erase",
        "export": "export",
        "export_lines": "export",
        "global_memories": "add",
        "import_file": "import",
        "jobs": "jobs list",
        "list": "list",
        "purge": "purge",
        "reindex": "reindex",
        "job_stats": "jobs stats",
        "retry_job": "jobs retry",
        "cancel_job": "jobs cancel",
        "run_jobs": "jobs run",
        "create_key": "keys create",
        "keys": "keys list",
        "key": "keys show",
        "revoke_key": "keys revoke",
        "authenticate": "keys check",
        "backup": "backup make",
        "has_keys": "keys list",
        "user": "add",
        "users": "users",
    },
}
WITHOUT_A_METHOD = {
    "backup check",  # ricordo.check_backup
    "backup restore",  # ricordo.restore_backup: no store is open
    "bench recall",
    "bench speed",
    "celery beat",
    "celery status",
    "celery worker",
    "chat",
    "completion",
    "doctor",
    "init",
    "mcp",
    "database decrypt",
    "database encrypt",
    "database grant",
    "database rekey",
    "migrate",
    "mirror watch",
    "profile unset",
    "serve",
    "tools call",
    "tools guide",
    "tools list",
    "version",
    "worker",
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
NOT_FOR_COMMANDS = {"close"}
RENAMED = {
    "feedback.answer": "reply",
    "actor_id": "actor",
    "agent_id": "agent",
    "run_id": "run",
    "tags": "tag",
    "pinned": "pin",
    "before_time": "now",
    "context.history": "no_history",
    "expected_updated_at": "expect",
    "add_many.memories": "batch",
    "add.thread_id": "thread",
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
    "key.id": "key_id",
    "revoke_key.id": "key_id",
    "retry_job.id": "job_id",
    "cancel_job.id": "job_id",
    "approve.id": "proposal_id",
    "reject.id": "proposal_id",
    "get.id": "ids",
    "id": "memory_id",
    "user.user_id": "user",
}
SHOWN_OTHERWISE = {"self", "progress", "filters"}
NOT_ON_A_COMMAND_LINE = {
    "authenticate.secret",  # others could see it there
    "narrow.categories",  # whoever has the shell has the whole database
    "user.categories",
}


def _commands() -> dict[str, Callable[..., None]]:
    found: dict[str, Callable[..., None]] = {}
    for commands in COMMANDS.values():
        for name, command in commands.items():
            if isinstance(command, Group):
                found |= {f"{name} {inner}": call for inner, call in command.commands.items()}
            else:
                found[name] = command
    return found


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize("kind", [UserMemory, Memory])
def test_every_method_has_a_command(kind: type) -> None:
    public = {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}
    assert public - NOT_FOR_COMMANDS == set(COMMAND_OF[kind])


@pytest.mark.requirement("cli.commands")
def test_every_command_has_a_method() -> None:
    used = {command for commands in COMMAND_OF.values() for command in commands.values()}
    assert used | WITHOUT_A_METHOD == set(_commands())


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize(
    ("kind", "method"), [(kind, method) for kind, used in COMMAND_OF.items() for method in used]
)
def test_every_parameter_has_an_option(kind: type, method: str) -> None:
    command = expanded(_commands()[COMMAND_OF[kind][method]])
    options = set(inspect.signature(command).parameters)
    for name in set(inspect.signature(getattr(kind, method)).parameters) - SHOWN_OTHERWISE:
        if f"{method}.{name}" in NOT_ON_A_COMMAND_LINE:
            continue
        option = RENAMED.get(f"{method}.{name}", RENAMED.get(name, name))
        assert option in options, f"{method}({name}=…)"


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
def test_help_names_every_format_of_import() -> None:
    said = ricordo("import", "--help").out
    assert [name for name in FORMATS if name not in said] == []


# -- adding --------------------------------------------------------------------------------


@pytest.mark.requirement("cli.commands")
def test_add_takes_every_field(cli: Cli, ana: UserMemory) -> None:
    fields = {
        "theme": "work",
        "type": "preference",
        "key": "editor",
        "source": "tool_call",
        "source_context": "said during set-up",
        "thread": "t1",
        "message_id": "m1",
        "agent": "helper",
        "run": "r1",
        "actor": "ana-laptop",
        "role": "user",
        "confidence": "55",
        "importance": "4",
        "valid_from": "2025-06-01T00:00:00+02:00",
        "valid_to": "2037-01-01",
        "expires_at": "2038-01-01T00:00:00+00:00",
        "created_at": "2025-06-02",
        "reason": "asked to",
    }
    options = [
        part for name, value in fields.items() for part in (f"--{name.replace('_', '-')}", value)
    ]
    added = cli("add", "Uses vi", *options, "--tag", "a", "--tag", "b", "--pin", "--json").json
    assert added == {"id": 1, "status": "active", "duplicate": False, "updated": False}
    item = ana.get(1).to_dict()
    assert (item["content"], item["tags"], item["pinned"]) == ("Uses vi", ["a", "b"], True)
    for name in ("thread", "agent", "run", "actor"):
        assert item[f"{name}_id"] == fields[name]
    for name in ("theme", "type", "key", "source", "source_context", "message_id", "role"):
        assert item[name] == fields[name]
    assert (item["confidence"], item["importance"]) == (55, 4)
    assert item["valid_from"] == "2025-05-31T22:00:00.000000+00:00"
    for name in ("valid_to", "expires_at", "created_at"):
        assert item[name].startswith(fields[name][:10])
    (change,) = ana.history(1)
    assert (change.actor, change.reason) == ("ana-laptop", "asked to")


@pytest.mark.requirement("cli.commands")
def test_add_says_what_became_of_it(cli: Cli, ana: UserMemory) -> None:
    assert cli("add", "Prefers tea", "--category", "drinks").out == "Remembered as 1.\n"
    assert cli("add", "prefers TEA", "--theme", "drinks").out == "Known already, as 1.\n"
    assert cli("add", "Bekasi", "--key", "home").out == "Remembered as 2.\n"
    assert cli("add", "Jakarta", "--key", "home").out == "Updated 2.\n"
    added = cli("add", "Prefers mate", "--supersedes", "1", "--json").json
    assert ana.get(1).status == "superseded"
    assert ana.get(added["id"]).content == "Prefers mate"


@pytest.mark.requirement("cli.commands")
def test_add_reads_standard_input(cli: Cli, ana: UserMemory) -> None:
    assert cli("add", "-", stdin="\ufeffTwo lines,\nGrüße\n").code == 0
    assert ana.get(1).content == "Two lines,\nGrüße"


@pytest.mark.requirement("cli.commands")
def test_add_expires_after_days(cli: Cli, ana: UserMemory) -> None:
    cli("add", "In Paris", "--expires-days", "7")
    item = ana.get(1)
    assert item.expires_at is not None
    assert (
        timedelta(0) <= item.created_at + timedelta(days=7) - item.expires_at < timedelta(hours=1)
    )


@pytest.mark.requirement("cli.commands")
def test_a_batch_of_plain_lines(cli: Cli, ana: UserMemory, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Prefers tea\n\n  Has a cat \nprefers tea\n", encoding="utf-8")
    ran = cli("add", "--batch", notes, "--theme", "notes", "--tag", "x", "--agent", "helper")
    assert ran.out == "Remembered 2, updated 0, known already 1.\n"
    found = {(item.content, item.theme, item.tags, item.agent_id) for item in ana.list()}
    assert found == {
        ("Prefers tea", "notes", ("x",), "helper"),
        ("Has a cat", "notes", ("x",), "helper"),
    }


@pytest.mark.requirement("cli.commands")
def test_a_batch_of_json_lines(cli: Cli, ana: UserMemory) -> None:
    lines = [
        {"content": "Bekasi", "key": "home", "theme": "places"},
        {"content": "Jakarta", "key": "home", "category": "places"},
        {"content": "Prefers tea", "importance": 5},
    ]
    text = "\n".join(map(json.dumps, lines))
    added = cli(
        "add", "--batch", "-", "--theme", "other", "--importance", "3", "--json", stdin=text
    )
    assert [one["id"] for one in added.json] == [1, 1, 3]
    assert added.json[1]["updated"]
    assert [(item.theme, item.importance) for item in ana.list(order="asc")] == [
        ("places", 3),
        ("other", 5),
    ]


@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"Good\n" + b"x" * 8_001, "line 2: content: 8001 characters"),
        (b'{"content": "a"}\n\n{"content": 5}', "line 3: content: expected text"),
        (b'{"content": "a"}\nnot json', "line 2: not JSON"),
        (b'{"content": "a"}\n[1]', "line 2: not a JSON object"),
        (b'{"content": "a", "colour": "red"}', "line 1: unknown memory field 'colour'"),
        (b'{"content": "a", "expires_at": "soon"}', "line 1: expires_at: expected"),
        (b"Good\n\xff\xfe", "line 2: not text in UTF-8"),
        (b"x" * (4 * 1024 * 1024 + 1), "line 1: longer than"),
        (b"[" * 10_000 + b"\n", "line 1: content: 10000 characters"),
        (b'{"content": ' + b"[" * 100_000, "line 1: not JSON"),
    ],
)
def test_a_bad_line_stops_the_whole_batch(
    cli: Cli, store: Memory, text: bytes, complaint: str
) -> None:
    ran = cli("add", "--batch", "-", stdin=text)
    assert (ran.code, ran.out) == (2, "")
    assert f"standard input, {complaint}" in ran.err or complaint in ran.err
    assert store.users() == ()


@pytest.mark.requirement("cli.commands")
def test_merge_and_undo(cli: Cli, ana: UserMemory) -> None:
    ana.add_many(["Likes tea", "Likes green tea"])
    ran = cli(
        "merge",
        "1",
        "2",
        "--into",
        "-",
        "--theme",
        "t",
        "--reason",
        "same",
        "--json",
        stdin="Likes green tea most",
    )
    assert ran.json == {"id": 3, "status": "active", "duplicate": False, "updated": False}
    assert (ana.get(3).theme, ana.get(3).content) == ("t", "Likes green tea most")
    assert ana.history(1)[-1].reason == "same"
    assert cli("undo", "1", "--reason", "wrong", "--json").json == ana.get(1).to_dict()
    assert [item.id for item in ana.list()] == [2, 1]


# -- reading -------------------------------------------------------------------------------


@pytest.mark.requirement("cli.json")
def test_reads_answer_what_the_library_answers(cli: Cli, store: Memory, ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks", tags=["a", "b"], importance=5)
    ana.add("Bekasi", key="home", theme="places")
    ana.add("Jakarta", key="home", theme="places")
    ana.link(1, "ben")
    ana.archive(ana.add("Old").id)
    store.user("ben").add("Has a cat")
    compared: dict[tuple[str, ...], object] = {
        ("get", "1"): ana.get(1),
        ("list",): ana.list(),
        ("list", "--limit", "1"): ana.list(limit=1),
        ("list", "--status", "any", "--sort", "id", "--order", "asc"): ana.list(
            status="any", sort="id", order="asc"
        ),
        ("list", "--all-users"): store.list(),
        ("list", "--all-users", "--contains", "CAT"): store.list(contains="CAT"),
        ("themes",): ana.themes(),
        ("history", "2"): ana.history(2),
        ("history", "2", "--limit", "1"): ana.history(2, limit=1),
        ("changes",): ana.changes(),
        ("changes", "--since", "2", "--limit", "1"): ana.changes(2, limit=1),
        ("links", "1"): ana.links(1),
        ("threads",): ana.threads(),
        ("users",): store.users(),
        ("users", "--limit", "1", "--after", "ana"): store.users(limit=1, after="ana"),
        ("jobs",): store.jobs(),
        ("jobs", "list", "--state", "dead", "--limit", "5"): store.jobs(state="dead", limit=5),
    }
    for arguments, expected in compared.items():
        assert cli(*arguments, "--json").json == plain(expected), arguments
        assert cli(*arguments).code == 0


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--theme", "drinks"], [1]),
        (["--category", "drinks", "--theme", "places"], [2, 1]),
        (["--status", "archived"], [3]),
        (["--status", "archived", "--status", "active"], [3, 2, 1]),
        (["--status", "any"], [3, 2, 1]),
        (["--type", "preference"], [1]),
        (["--type", "preference", "--type", "episode"], [2, 1]),
        (["--source", "tool_call"], [2]),
        (["--tag", "hot", "--tag", "daily"], [1]),
        (["--tag", "hot", "--tag", "cold"], []),
        (["--key", "home"], [2]),
        (["--contains", "TEA"], [1]),
        (["--thread", "t1"], [2]),
        (["--message-id", "m1"], [2]),
        (["--agent", "helper"], [2]),
        (["--run", "r1"], [2]),
        (["--actor", "laptop"], [2]),
        (["--role", "user"], [2]),
        (["--pinned"], [1]),
        (["--not-pinned"], [2]),
        (["--importance-min", "4"], [1]),
        (["--importance-max", "3"], [2]),
        (["--confidence-min", "92"], [2]),
        (["--created-after", "2099-01-01"], []),
        (["--created-before", "2099-01-01"], [2, 1]),
        (["--updated-after", "2099-01-01"], []),
        (["--updated-before", "2099-01-01"], [2, 1]),
        (["--as-of", "2001-01-01"], []),
        (["--sort", "importance", "--order", "asc"], [2, 1]),
    ],
)
def test_every_filter_filters(sqlite_url: str, options: list[str], found: list[int]) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        me = memory.user("me")
        me.add(
            "Prefers tea",
            theme="drinks",
            type="preference",
            tags=["hot", "daily"],
            importance=5,
            pinned=True,
        )
        me.add(
            "Bekasi",
            theme="places",
            type="episode",
            source="tool_call",
            key="home",
            thread_id="t1",
            message_id="m1",
            agent_id="helper",
            run_id="r1",
            actor_id="laptop",
            role="user",
        )
        me.archive(me.add("Old", theme="old").id)
    page = ricordo("list", *options, "--json", "--db", sqlite_url).json
    assert [item["id"] for item in page["items"]] == found


@pytest.mark.requirement("cli.commands")
def test_pages_lead_to_each_other(cli: Cli, ana: UserMemory) -> None:
    ana.add_many([f"Fact {number}" for number in range(5)])
    first = cli("list", "--limit", "3")
    assert len(first.out.splitlines()) == 4
    assert first.err.startswith("More: add --cursor ")
    cursor = first.err.split()[-1]
    rest = cli("list", "--limit", "3", "--cursor", cursor)
    assert [line.split()[0] for line in rest.out.splitlines()] == ["ID", "2", "1"]
    assert rest.err == ""


@pytest.mark.requirement("cli.commands")
def test_changes_say_where_to_go_on(cli: Cli, ana: UserMemory) -> None:
    ana.add_many(["One", "Two"])
    assert cli("changes", "--limit", "1").err == "At revision 2. More: add --since 1\n"
    assert cli("changes", "--since", "1").err == "At revision 2.\n"
    assert cli("changes", "--since", "2").out == "Nothing changed. At revision 2.\n"


@pytest.mark.requirement("cli.commands")
@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("list", "Add one: ricordo add"),
        ("themes", "ricordo add --theme"),
        ("threads", "ricordo import"),
        ("users", "ricordo add -u"),
        ("jobs", "No jobs."),
    ],
)
def test_a_newcomer_is_told_what_to_do(command: str, advice: str) -> None:
    ran = ricordo(command)
    assert (ran.code, ran.err, advice in ran.out) == (0, "", True)


@pytest.mark.requirement("cli.commands")
def test_no_match_is_not_no_memories(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea")
    assert cli("list", "--theme", "other").out.startswith("No memories match.")
    assert cli("links", "1").out == "Shared with nobody. Share it: ricordo link 1 USER\n"


# -- changing and sharing ------------------------------------------------------------------


@pytest.mark.requirement("cli.json")
def test_changes_answer_with_the_changed_memory(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks")
    actor = ("--actor", "laptop", "--json")
    for command in (
        ["pin", "1"],
        ["pin", "1", "--off"],
        ["verify", "1"],
        ["archive", "1", "--reason", "old"],
        ["restore", "1", "--reason", "new"],
        ["link", "1", "ben"],
    ):
        assert cli(*command, *actor).json == ana.get(1).to_dict(), command
    assert cli("unlink", "1", "ben", *actor).json == {"id": 1, "unlinked": "ben"}
    assert cli("forget", "1", "--reason", "private", *actor).json == [
        ana.get(1, include_deleted=True).to_dict()
    ]
    assert cli("get", "1", "--include-deleted", "--json").json["status"] == "deleted"
    events = [(change.event, change.actor, change.reason) for change in ana.history(1)]
    assert events == [
        ("ADD", "ana", None),
        ("PIN", "laptop", None),
        ("PIN", "laptop", None),
        ("VERIFY", "laptop", None),
        ("ARCHIVE", "laptop", "old"),
        ("RESTORE", "laptop", "new"),
        ("LINK", "laptop", None),
        ("UNLINK", "laptop", None),
        ("DELETE", "laptop", "private"),
    ]


@pytest.mark.requirement("cli.commands")
def test_changes_are_told_in_a_sentence(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea", key="drink")
    said = [
        cli(*command).out
        for command in (
            ["pin", "1"],
            ["pin", "1", "--off"],
            ["verify", "1"],
            ["link", "1", "ben"],
            ["unlink", "1", "ben"],
            ["archive", "1"],
            ["restore", "1"],
            ["forget", "--key", "drink", "--theme", "general"],
        )
    ]
    assert said == [
        "Pinned 1: Prefers tea\n",
        "No longer pinned: 1: Prefers tea\n",
        "Verified 1: Prefers tea\n",
        "Shared with ben: 1: Prefers tea\n",
        "ben no longer sees 1.\n",
        "Archived 1: Prefers tea\n",
        "Restored 1: Prefers tea\n",
        "Forgotten 1: Prefers tea\n",
    ]


@pytest.mark.requirement("cli.commands")
def test_a_viewer_unlinks_for_themselves(cli: Cli, store: Memory, ana: UserMemory) -> None:
    store.user("ben").add("Has a cat")
    store.user("ben").link(1, "ana")
    assert cli("get", "1").code == 0
    assert cli("unlink", "1").out == "ana no longer sees 1.\n"
    assert cli("get", "1").code == 3


@pytest.mark.requirement("cli.json")
def test_a_theme_is_described(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks")
    options = ["--name", "Food", "--description", "Meals", "--context", "all", "--rag-length", "7"]
    assert cli("theme", "Drinks", *options, "--json").json == ana.themes()[0].to_dict()
    (theme,) = ana.themes()
    assert (theme.display_name, theme.description) == ("Food", "Meals")
    assert (theme.context, theme.rag_length) == ("all", 7)
    assert "Meals" in cli("theme", "drinks", "--name", "Drinks").out


@pytest.mark.requirement("cli.commands")
def test_global_memories(cli: Cli, store: Memory) -> None:
    cli("add", "The office closes at six", "--global", "--actor", "admin", "--agent", "helper")
    everyone = store.global_memories()
    assert (everyone.get(1).actor_id, everyone.get(1).agent_id) == ("admin", "helper")
    assert cli("list", "--json").json["items"][0]["user_id"] == "*"
    assert cli("archive", "1").code == 5
    assert cli("archive", "1", "--global").code == 0


# -- conversations -------------------------------------------------------------------------


@pytest.mark.requirement("cli.json")
def test_conversations(cli: Cli, ana: UserMemory) -> None:
    with ana.database.write("ana") as writing:
        said = [NewTurn(role="user", content="Hello"), NewTurn(role="assistant", content="Hi!")]
        append_turns(writing, "t1", "Greetings", said)
        append_turns(writing, "t2", None, said)
    assert cli("threads", "--json").json == ana.threads().to_dict()
    assert cli("turns", "t1", "--json").json == ana.turns("t1").to_dict()
    page = cli("turns", "t1", "--limit", "1", "--json").json
    following = cli("turns", "t1", "--limit", "1", "--cursor", page["next_cursor"]).out
    assert "Hi!" in following
    assert "Hello" not in following
    page = cli("threads", "--limit", "1", "--json").json
    assert cli("threads", "--cursor", page["next_cursor"], "--json").code == 0
    assert "Greetings" in cli("threads").out


@pytest.mark.requirement("conversations.thread")
def test_how_far_a_conversation_has_come(cli: Cli, ana: UserMemory) -> None:
    ana.observe([{"role": "user", "content": "I love jazz music."}], thread="t1", title="Music")
    ana.form("t1")
    assert cli("thread", "t1", "--json").json == plain(ana.thread("t1"))
    rows = [line.split() for line in cli("thread", "t1").out.splitlines()]
    assert ["title", "Music"] in rows
    assert ["formed_position", "1"] in rows
    assert cli("thread", "t9").code == 3


@pytest.mark.requirement("memories.get_many")
def test_several_memories(cli: Cli, ana: UserMemory) -> None:
    first, second, gone = (one.id for one in ana.add_many(["Has a cat", "Has a dog", "Has fish"]))
    ana.forget(gone)
    asked = [second, 99, gone, first]
    assert cli("get", *asked, "--json").json == plain(ana.get_many(asked))
    also = cli("get", *asked, "--include-deleted", "--json").json
    assert [item["id"] for item in also] == [second, gone, first]
    rows = cli("get", *asked).out.splitlines()
    assert [row.split()[0] for row in rows[1:]] == [str(second), str(first)]
    assert cli("get", "98", "99", "--json").json == []
    assert cli("get", "98", "99").out.startswith("No memories match.")
    assert cli("get", "0", first).code == 2


@pytest.mark.requirement("memories.lineage")
def test_which_memory_took_the_place_of_which(cli: Cli, ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    plain_one = "It took no other memory's place, and none took its. Nothing to undo.\n"
    assert cli("lineage", old).out == plain_one
    new = ana.add("Plays the cello", supersedes=old).id
    for item_id in (old, new):
        assert cli("lineage", item_id, "--json").json == plain(ana.lineage(item_id))
    row = cli("lineage", old).out.splitlines()[1]
    assert row.split(maxsplit=3) == ["Replaced", "by", str(new), "Plays the cello"]
    shown = cli("lineage", new)
    assert "Took the place of" in shown.out
    assert "Plays the viola [superseded]" in shown.out
    assert shown.err == "ricordo undo takes back the last replacement.\n"
    assert cli("lineage", "99").code == 3


@pytest.mark.requirement("turns.formed")
@pytest.mark.requirement("memories.source_turn")
def test_what_memories_come_from(cli: Cli, ana: UserMemory) -> None:
    ana.observe([{"role": "user", "content": "I love jazz music."}], thread="t1")
    ana.observe([{"role": "assistant", "content": "Nice!"}], thread="t1")
    ana.form("t1")
    (jazz,) = ana.list()
    by_hand = ana.add("Has a cat").id
    assert cli("source", jazz.id, "--json").json == plain(ana.source_turn(jazz.id))
    assert cli("source", jazz.id).out.splitlines()[1].endswith("user  I love jazz music.")
    assert cli("source", by_hand, "--json").json is None
    assert cli("source", by_hand).out == "No recorded turn can be told to be its source.\n"
    assert cli("source", "99").code == 3
    assert cli("formed", "t1", "--json").json == plain(ana.formed_turns("t1"))
    rows = cli("formed", "t1").out.splitlines()
    assert rows[2].strip() == f"→ {jazz.id} {jazz.content}"
    assert rows[3].endswith("assistant  Nice!")
    assert cli("formed", "t1", "--from-position", "2").out.splitlines()[1:] == rows[3:]
    page = cli("formed", "t1", "--limit", "1", "--json").json
    rest = cli("formed", "t1", "--cursor", page["next_cursor"], "--json").json
    assert [one["turn"]["position"] for one in rest["items"]] == [2]
    assert cli("formed", "t1", "--from-position", "9").out.startswith("Nothing was said")
    assert cli("formed", "t9").code == 3
    assert cli("formed", "t1", "--from-position", "0").code == 2


# -- files ---------------------------------------------------------------------------------


@pytest.mark.requirement("cli.commands")
def test_export_and_import(cli: Cli, ana: UserMemory, tmp_path: Path) -> None:
    ana.add("Prefers tea", theme="drinks")
    ana.archive(ana.add("Old").id)
    printed = cli("export", "--json")
    assert printed.out.splitlines() == list(ana.export_lines())
    assert cli("export", "-").out == printed.out
    file = tmp_path / "ana.jsonl"
    assert cli("export", file, "--json").json == {
        "path": str(file),
        "lines": len(printed.out.splitlines()),
    }
    assert file.read_text(encoding="utf-8") == printed.out
    assert "lines" in cli("export", file).out
    report = cli("import", file, "--format", "ricordo", "--json").json
    assert (report["duplicates"], report["added"]) == (1, 0)
    again = cli("import", file).out
    assert again.startswith("From ricordo: known already 1. Left out: 1 archived memories")


@pytest.mark.requirement("cli.commands")
def test_a_whole_store_moves(cli: Cli, store: Memory, ana: UserMemory, tmp_path: Path) -> None:
    ana.add("Prefers tea")
    store.user("ben").add("Has a cat")
    file = tmp_path / "all.jsonl"
    assert cli("export", file, "--all-users").code == 0
    assert cli("export", "--all-users").out == file.read_text(encoding="utf-8")
    elsewhere = ("--db", tmp_path / "other.db")
    report = ricordo("import", file, "--all-users", "--json", *elsewhere).json
    assert report["restored_rows"] > 0
    assert ricordo("users", "--json", *elsewhere).json == ["ana", "ben"]
    assert ricordo("export", "--all-users", *elsewhere).out == file.read_text(encoding="utf-8")
    assert cli("import", file, "--all-users", "--format", "mem0").code == 2


# -- administration ------------------------------------------------------------------------


def _bury_a_job(memory: Memory) -> None:
    """Leave a job among the dead."""
    with memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )
    queue = JobQueue(memory.database, timedelta(seconds=60))
    job = queue.claim(frozenset({"lifecycle"}))
    assert job is not None
    queue.fail(dataclasses.replace(job, attempts=job.max_attempts), "ValueError: no")


@pytest.mark.requirement("cli.commands")
def test_jobs(cli: Cli, store: Memory, ana: UserMemory) -> None:
    ana.add("Prefers tea")
    _bury_a_job(store)
    (dead,) = store.jobs(state="dead")
    assert cli("jobs", "--state", "dead", "--json").json == [dead.to_dict()]
    assert "ValueError: no" in cli("jobs").out
    assert cli("doctor").out.count("warn") == 1
    assert cli("jobs", "run", "--json").json == {"ran": 0}
    assert cli("jobs", "retry", dead.id, "--json").json == {"retried": dead.id}
    assert cli("jobs", "retry", dead.id).code == 4
    assert cli("jobs", "run", "--limit", "1").out == "Jobs run: 1.\n"
    assert store.jobs(state="dead") == ()
    assert cli("jobs", "retry", "99").code == 3
    assert "lifecycle" in cli("jobs", "stats").out
    assert cli("jobs", "stats", "--json").json == [one.to_dict() for one in store.job_stats()]
    assert cli("jobs", "--kind", "another").out == "No jobs.\n"


@pytest.mark.requirement("jobs.cancel")
def test_jobs_are_cancelled(cli: Cli, store: Memory, ana: UserMemory) -> None:
    ana.add("Is in Porto", expires_at="2999-01-01")
    (job,) = store.jobs()
    assert cli("jobs", "cancel", job.id, "--json").json == {"cancelled": job.id}
    assert store.jobs()[0].state == "cancelled"
    assert cli("jobs", "cancel", job.id).code == 4
    assert cli("jobs", "cancel", "99").code == 3


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


@pytest.mark.requirement("cli.commands")
def test_a_failing_job_does_not_spoil_the_answer(
    cli: Cli, store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise ValueError("no")

    with store.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )
    monkeypatch.setattr("ricordo.jobs.handlers.run_lifecycle", fail)
    assert cli("jobs", "run", "--json").json == {"ran": 1}


@pytest.mark.requirement("cli.commands")
def test_version(cli: Cli, store: Memory) -> None:
    found = cli("version", "--json").json
    assert set(found) == {"version", "python", "sqlite", "database"}
    assert found["database"] == store.database.backend.location
    assert found["version"] in cli("version").out


@pytest.mark.requirement("cli.commands")
def test_a_database_that_is_up_to_date_needs_no_migration(cli: Cli) -> None:
    head = cli("migrate", "--json").json["to"]
    assert cli("migrate", "--check", "--json").json == {
        "from": head,
        "to": head,
        "up_to_date": True,
    }
    assert cli("migrate").out == f"Up to date: schema {head}.\n"


@pytest.mark.requirement("cli.commands")
def test_a_new_database_is_migrated_but_not_by_looking(own_home: Path) -> None:
    ran = ricordo("migrate", "--check")
    assert (ran.code, ran.err, "Do it: ricordo migrate" in ran.out) == (4, "", True)
    assert not own_home.exists()
    ran = ricordo("migrate", "--check", "--json")
    assert (ran.code, json.loads(ran.out)["up_to_date"]) == (4, False)
    made = ricordo("migrate")
    assert (made.code, made.out.startswith("Brought from nothing to schema ")) == (0, True)
    assert ricordo("migrate", "--check").code == 0


@pytest.mark.requirement("cli.commands")
def test_the_environment_and_the_options_say_where_and_whose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ricordo("add", "At home").code == 0
    assert ricordo("users", "--json").json == ["me"]
    monkeypatch.setenv("RICORDO_USER", "ana")
    assert ricordo("add", "Mine").code == 0
    assert ricordo("users", "--json").json == ["ana", "me"]
    assert ricordo("users", "--json", "--home", tmp_path / "other").json == []
    monkeypatch.setenv("RICORDO_URL", str(tmp_path / "third.db"))
    assert ricordo("users", "--json").json == []
    assert ricordo("add", "There", "-u", "ben").code == 0
    assert ricordo("users", "--json").json == ["ben"]
    assert ricordo("users", "--json", "--db", f"sqlite:///{tmp_path / 'third.db'}").json == ["ben"]


@pytest.mark.requirement("cli.commands")
def test_a_change_can_expect_the_state_that_was_seen(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea")
    seen = cli("get", "1", "--json").json["updated_at"]
    ana.pin(1)
    for command in ("archive", "forget", "pin", "verify", "undo", "restore"):
        ran = cli(command, "1", "--expect", seen)
        assert (ran.code, ran.out) == (4, ""), command
        assert "was changed since" in ran.err
    now = cli("get", "1", "--json").json["updated_at"]
    assert cli("archive", "1", "--expect", now).code == 0
