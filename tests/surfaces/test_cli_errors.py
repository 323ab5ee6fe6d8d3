"""Every error has its exit code, its one line, and what to do about it; it gives nothing away."""

import inspect
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory, errors
from ricordo.cli import checks, doctor
from ricordo.cli import errors as cli_errors
from ricordo.cli.app import COMMANDS
from ricordo.cli.commands import Group
from ricordo.cli.errors import EXIT_CODES, UNEXPECTED, exit_code_of
from ricordo.wiring import open_memory
from tests.support.commandline import Ran, ricordo

pytestmark = [
    pytest.mark.requirement("cli.errors"),
    pytest.mark.requirement("cli.exit-codes"),
    pytest.mark.requirement("cli.fixes"),
]
Cli = Callable[..., Ran]
KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.RicordoError)
]
CODE_OF_FAMILY = {
    errors.InvalidInput: 2,
    errors.NotFound: 3,
    errors.Conflict: 4,
    errors.AccessDenied: 5,
    errors.StorageError: 6,
    errors.EmbeddingError: 7,
    errors.LanguageModelError: 8,
    errors.FilesUnavailable: 9,
}


def _made(kind: type[errors.RicordoError]) -> errors.RicordoError:
    """An error of a kind, whatever its constructor wants."""
    error = kind.__new__(kind)
    Exception.__init__(error, "it went wrong")
    if isinstance(error, errors.InvalidValue):
        error.field = "colour"
    if isinstance(error, errors.UnknownField):
        error.unknown, error.allowed = ["colour"], ["tags"]
    return error


# -- exit codes ----------------------------------------------------------------------------


def test_every_error_has_its_exit_code_and_its_fix() -> None:
    assert EXIT_CODES == CODE_OF_FAMILY
    for kind in KINDS:
        families = [code for family, code in CODE_OF_FAMILY.items() if issubclass(kind, family)]
        assert len(families) == (0 if kind is errors.RicordoError else 1)
        assert exit_code_of(_made(kind)) == (families[0] if families else UNEXPECTED)
        assert issubclass(kind, errors.InvalidInput) or cli_errors.fix_of(kind.__new__(kind)), kind
    tops = [kind for kind in KINDS if kind.__bases__[0] is errors.RicordoError]
    known = {*cli_errors._FIXES, errors.InvalidInput}
    assert [kind for kind in tops if kind not in known] == []


@pytest.mark.parametrize("kind", [errors.RicordoError, errors.UnknownField, *CODE_OF_FAMILY])
def test_an_error_is_told_to_people_and_to_programs(
    kind: type[errors.RicordoError], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_named: object) -> None:
        raise _made(kind)

    monkeypatch.setattr(Memory, "users", refuse)
    expected = exit_code_of(_made(kind))
    for_people = ricordo("users", "--db", sqlite_url)
    assert (for_people.code, for_people.out) == (expected, "")
    said, hint = for_people.err.splitlines()
    assert said == "error: it went wrong"
    assert hint.startswith("hint: ")
    for_programs = ricordo("users", "--json", "--db", sqlite_url)
    assert for_programs.code == expected
    assert for_programs.error == {
        "error": kind.__name__,
        "message": "it went wrong",
        "fix": hint.removeprefix("hint: "),
    }


def test_another_users_memory_looks_like_none(cli: Cli, store: Memory) -> None:
    store.user("ben").add_many(["A secret", "Another one"])
    changing = ("archive", "restore", "forget", "pin", "verify", "undo", "unlink")
    commands = ("get", "history", "links", *changing)
    for command in (["get", "--json"], *([one] for one in commands), ["add", "x", "--supersedes"]):
        theirs = cli(*command, "1")
        nobodys = cli(*command, "7")
        assert theirs.code == 3, command
        said = (theirs.code, theirs.out, theirs.err.replace("1", "7"))
        assert said == (nobodys.code, nobodys.out, nobodys.err), command


def test_what_is_no_database(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("not a database, and long enough to be looked at\n" * 100)
    for path in (tmp_path, text):
        for command in ("list", "add x", "migrate", "migrate --check", "doctor"):
            ran = ricordo(*command.split(), "--db", path)
            assert (ran.code, str(path) in ran.err + ran.out) == (6, True), command


def test_a_place_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = "/tmp/" + "x" * 5_000
    server = "postgresql://ana:very-secret@127.0.0.1:1/none"
    for command in ("list", "migrate --check", "doctor"):
        for url in (nowhere, server):
            ran = ricordo(*command.split(), "--db", url)
            assert (ran.code, "unexpected" in ran.err) == (6, False), command
            assert "very-secret" not in ran.out + ran.err
    shown = ricordo("version", "--db", server)
    assert (shown.code, "very-secret" in shown.out) == (0, False)
    monkeypatch.setitem(sys.modules, "ricordo.storage.postgres.backend", None)
    assert fix("list", "--db", "postgresql://x/y") == "pip install 'ricordo[postgres]'"


def test_a_fault_of_ours_is_one_line(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr(Memory, "users", broken)
    ran = ricordo("users", "--db", sqlite_url)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: unexpected KeyError: 'gone'; please report\nhint: ")
    ran = ricordo("users", "--json", "--db", sqlite_url)
    assert (ran.code, ran.error["error"]) == (1, "KeyError")
    assert fix("users", "--db", sqlite_url) == "RICORDO_DEBUG=1 shows where it happened"
    monkeypatch.setenv("RICORDO_DEBUG", "1")
    with pytest.raises(KeyError, match="gone"):
        ricordo("users", "--db", sqlite_url)


@pytest.mark.parametrize("failing", [errors.StorageError("closed"), ValueError("closed")])
def test_what_breaks_because_of_an_interruption_is_one(
    failing: Exception, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_given: object, **_named: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise failing

    monkeypatch.setattr(Memory, "users", stopped)
    ran = ricordo("users", "--db", sqlite_url)
    assert (ran.code, ran.out, ran.err) == (130, "", "")


# -- wrong input ---------------------------------------------------------------------------


def test_a_wrong_command_line() -> None:
    for arguments, complaint in (
        ("bogus", "No such command 'bogus'"),
        ("add x --expires-days 0", "Invalid value for '--expires-days'"),
    ):
        ran = ricordo(*arguments.split())
        assert (ran.code, ran.out) == (2, "")
        error, hint = ran.err.splitlines()
        assert error.startswith("error: ")
        assert complaint in error
        assert hint.startswith("hint: ricordo")
        assert hint.endswith("--help")
        as_json = ricordo(*arguments.split(), "--json")
        assert (as_json.code, as_json.error["error"]) == (2, "UsageError")
    for arguments, complaint in (
        ("jobs --json run", "unexpected extra argument"),
        ("--json list", "unknown argument 'json'; allowed: "),
    ):
        assert complaint in ricordo(*arguments.split()).error["message"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "jobs --colour red",
            "unknown argument 'colour'; allowed: db, home, json, kind, limit, state",
        ),
        ("get", "ids: is missing"),
        ("observe", "thread: is missing"),
        ("embeddings set", "provider: is missing"),
    ],
)
def test_a_mistake_of_the_command_line_is_told_as_by_the_library(arguments: str, told: str) -> None:
    ran = ricordo(*arguments.split())
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (2, "", f"error: {told}")
    assert fix(*arguments.split()).endswith("--help")
    kind = ricordo(*arguments.split(), "--json").error["error"]
    assert kind in ("UnknownField", "InvalidValue")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["get", "one"], "id: 'one' is not a whole number from 1 to"),
        (["list", "--type", "dream"], "type: 'dream' is not one of: preference"),
        (["list", "--limit", "0"], "limit: 0 is not a whole number from 1 to 1000"),
        (["completion", "tcsh"], "bash, zsh, fish, powershell"),
        (["list", "--created-after", "soon"], "created_after: expected an ISO 8601 time"),
        (["list", "--user", "*"], "'*' is reserved"),
        (["list", "--db", "mysql://x"], "url: 'mysql://x' is not"),
        (["get", str(2**63)], "is not a whole number"),
        (["get", "0", "1"], "id: 0 is not a whole number"),
        (["formed", "t1", "--from-position", "0"], "from_position: 0"),
        (["add"], "content: is missing"),
        (["add", "x", "--expires-at", "2038-01-01", "--expires-days", "1"], "give either"),
        (["add", "x", "--batch", "-"], "no TEXT, no --supersedes"),
        (["add", "--batch", "-", "--supersedes", "1"], "no TEXT, no --supersedes"),
        (["add", "--batch", "/"], "Is a directory"),
        (["forget"], "give either an id, or a key"),
        (["theme", "t"], "say what to change"),
        (["import", "x", "--format", "word"], "format: 'word' is not one of: auto"),
        (["search", "x", "--threshold", "nan"], "threshold: nan"),
        (["query", "x", "--filter", "type"], "filter: 'type' is not NAME=VALUE"),
        (["query", "x", "--filter", "colour=red"], "unknown filter of a query 'colour'"),
        (["query", "x", "--filter", "pinned=maybe"], "pinned: 'maybe' is not true or false"),
        (["query", "x", "--filter", "importance_min=high"], "importance_min: 'high'"),
        (["query", "x", "--filter", "role=a", "--filter", "role=b"], "role: expected text"),
        (["query", "x", "--filter", "category=a", "--category", "b"], "is given twice"),
        (["context", "x", "-m", "everything"], "tools, recall, summary"),
        (["worker", "--lane", "quick"], "'quick' is not one of: fast, slow"),
    ],
)
def test_a_value_that_is_not_allowed(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)
    ran = ricordo(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert complaint in ran.err
    as_json = ricordo(*arguments, "--json")
    assert (as_json.code, complaint in as_json.error["message"]) == (2, True)


def test_what_is_read_as_text_and_what_is_not() -> None:
    assert ricordo("add", "--", "--json").out == "Remembered as 1.\n"
    assert ricordo("get", "1", "--json").json["content"] == "--json"
    ran = ricordo("add", "-", stdin=b"\xff\xfe")
    assert ran.code == 2
    assert ran.err.startswith("error: standard input: not text in UTF-8\n")
    ran = ricordo("add", "-", stdin=b"x" * (4 * 1024 * 1024 + 1))
    assert (ran.code, "longer than" in ran.err) == (2, True)


# -- what to do about it -------------------------------------------------------------------


def fix(*arguments: object, stdin: str = "") -> str:
    """What a command that fails says to do: the same to people and to programs."""
    for_people = ricordo(*arguments, stdin=stdin)
    assert for_people.code != 0
    said, hint = for_people.err.splitlines()
    assert said.startswith("error: ")
    as_json = json.loads(ricordo(*arguments, "--json", stdin=stdin).err)
    assert hint == f"hint: {as_json['fix']}"
    found: str = as_json["fix"]
    return found


def test_names_that_are_near(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)
    for arguments, meant in (
        ("serch tea", "Did you mean 'search'"),
        ("jobs rn", "Did you mean 'run'"),
        ("list --thme x", "did you mean 'theme'"),
    ):
        ran = ricordo(*arguments.split())
        assert (ran.code, meant in ran.err) == (2, True)
        assert fix(*arguments.split()).endswith("--help")
    with open_memory(sqlite_url, run_jobs=False) as memory:
        memory.user("me").add("Prefers tea", theme="drinks")
        memory.user("me").observe([{"role": "user", "content": "Hi"}], thread="monday")
        memory.user("ben").add("A secret", theme="dinners")
    assert fix("theme", "drink", "--name", "X").startswith("did you mean 'drinks'? ricordo themes")
    assert fix("turns", "mondy").startswith("did you mean 'monday'? ricordo threads")
    assert fix("erase", "bem", "--yes").startswith("did you mean 'ben'")
    # What other users have is not given away.
    assert "dinners" not in fix("theme", "dinner", "--name", "X")
    assert fix("theme", "zzz", "--name", "X") == "ricordo themes shows what there is; -u says whose"
    unknown = errors.UnknownField("setting", ["poolsize"], ["pool_size", "home"])
    assert cli_errors.fix_of(unknown) == "did you mean 'pool_size'?"
    assert cli_errors.fix_of(errors.InvalidValue("theme", "no"), None) is None


def test_a_wrong_setting_names_its_variable(sqlite_url: str) -> None:
    for variable, value, told in (
        ("RICORDO_POOL_SIZE", "0", "correct RICORDO_POOL_SIZE (it takes 1 to 200), or unset it"),
        ("RICORDO_SYNCHRONOUS", "OFF", "correct RICORDO_SYNCHRONOUS (it takes one of FULL, NORMAL"),
        ("RICORDO_TIMEZONE", "Nowhere", "correct RICORDO_TIMEZONE, or unset it"),
        ("RICORDO_JOB_LEASE_SECONDS", "soon", "correct RICORDO_JOB_LEASE_SECONDS (it takes 0 to"),
        ("RICORDO_MODEL_NAME", "m", "correct RICORDO_MODEL_NAME, or unset it"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(variable, value)
            assert fix("list", "--db", sqlite_url).startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["list", "--type", "dream"], "ricordo list --help shows what it takes"),
        (["get", "99"], "ricordo list --status any shows"),
        pytest.param(
            ["serve", "--port", "99999"],
            "give it 0 to 65535, here or in RICORDO_PORT",
            marks=pytest.mark.slow,  # it loads what serves
        ),
        (["list", "--cursor", "x"], "leave out --cursor"),
        (["add", "--batch", "-"], "fix what is named"),
        (["checkpoint", "load", "t"], "ricordo checkpoint shows"),
        (["list", "--db", "postgresql://127.0.0.1:1/none"], "ricordo doctor examines it"),
    ],
)
def test_other_mistakes(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)
    assert fix(*arguments, stdin='{"colour": "red"}').startswith(told)


def test_files_that_cannot_be_used(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BUSY_TIMEOUT_SECONDS", "0.05")
    keeping = sqlite3.connect(sqlite_url, isolation_level=None)
    try:
        keeping.execute("BEGIN IMMEDIATE")
        assert fix("add", "x", "--db", sqlite_url).startswith("close the other program")
        keeping.execute("UPDATE alembic_version SET version_num = '9999'")
        keeping.execute("COMMIT")
    finally:
        keeping.close()
    assert fix("list", "--db", sqlite_url) == "pip install --upgrade ricordo"
    Path(sqlite_url).write_text("not a database, and long enough to be looked at\n" * 100)
    assert fix("list", "--db", sqlite_url) == "ricordo doctor examines it"


SAID_OF_IT = ("import", "depends", "raises", "this")  # words of sentences and code, not of advice


def test_commands_that_are_advised_exist() -> None:
    commands = {name: one for listed in COMMANDS.values() for name, one in listed.items()}
    sources = (cli_errors, doctor, checks)
    text = "".join(map(inspect.getsource, sources))
    for first, second, rest in re.findall(r"\bricordo( [a-z][a-z-]*)( [a-z]+)?([^;,\"]*)", text):
        if first.strip() not in commands:  # a sentence about it
            assert first.strip() in SAID_OF_IT, first
            continue
        group = commands[first.strip()]
        words = [first.strip()]
        if isinstance(group, Group) and second.strip() in group.commands:
            words.append(second.strip())
        shown = ricordo(*words, "--help").out.replace(",", " ").split()
        if isinstance(group, Group) and len(words) == 1 and group.default is not None:
            shown += ricordo(*words, group.default, "--help").out.replace(",", " ").split()
        wanted = re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)
        assert set(wanted) <= set(shown), (words, wanted)
