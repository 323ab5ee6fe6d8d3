"""Every error has its exit code, its one line, and gives nothing away."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import errors
from ricordo.cli.exit_codes import EXIT_CODES, UNEXPECTED, exit_code_of
from ricordo.memory import Memory
from ricordo.wiring import open_memory
from tests.support.commandline import ABOUT_THE_STORE, ricordo

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


@pytest.mark.requirement("cli.exit-codes")
def test_the_table_has_every_family() -> None:
    assert EXIT_CODES == CODE_OF_FAMILY


@pytest.mark.requirement("cli.exit-codes")
@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_its_exit_code(
    kind: type[errors.RicordoError], monkeypatch: pytest.MonkeyPatch
) -> None:
    families = [code for family, code in CODE_OF_FAMILY.items() if issubclass(kind, family)]
    expected = families[0] if families else UNEXPECTED
    assert len(families) == (0 if kind is errors.RicordoError else 1)
    assert exit_code_of(_made(kind)) == expected

    def refuse(*_given: object, **_named: object) -> None:
        raise _made(kind)

    monkeypatch.setattr(Memory, "users", refuse)
    for_people = ricordo("users")
    assert (for_people.code, for_people.out) == (expected, "")
    assert for_people.err.splitlines()[0] == "error: it went wrong"
    (hint,) = for_people.err.splitlines()[1:]
    assert hint.startswith("hint: ")
    for_programs = ricordo("users", "--json")
    assert for_programs.code == expected
    assert for_programs.error == {
        "error": kind.__name__,
        "message": "it went wrong",
        "fix": hint.removeprefix("hint: "),
    }


@pytest.mark.requirement("cli.exit-codes")
def test_real_errors_on_both_databases(backend_url: str) -> None:
    def run(*arguments: object) -> tuple[int, str]:
        whose = () if arguments[0] in ABOUT_THE_STORE else ("-u", "ana")
        ran = ricordo(*arguments, "--db", backend_url, *whose, "--json")
        return ran.code, ran.error["error"]

    with open_memory(backend_url, run_jobs=False) as memory:
        ana, ben = memory.user("ana"), memory.user("ben")
        ana.add("Prefers tea")
        ben.add("Has a cat")
        ben.link(2, "ana")
        ana.archive(1)
        ana.add("Prefers tea")
    assert run("get", "99") == (3, "MemoryNotFound")
    assert run("history", "99") == (3, "MemoryNotFound")
    assert run("theme", "other", "--name", "x") == (3, "ThemeNotFound")
    assert run("turns", "t1") == (3, "ThreadNotFound")
    assert run("erase", "cem", "--yes") == (3, "UserNotFound")
    assert run("jobs", "retry", "99") == (3, "JobNotFound")
    assert run("archive", "1") == (4, "IllegalTransition")
    assert run("undo", "3") == (4, "NothingToUndo")
    assert run("restore", "1") == (4, "Occupied")
    assert run("archive", "2") == (5, "NotOwner")
    assert run("links", "2") == (5, "NotOwner")
    assert run("add", "x", "--importance", "6") == (2, "InvalidValue")
    assert run("list", "--cursor", "nonsense") == (2, "InvalidCursor")
    assert run("import", "/nowhere/at/all") == (2, "ImportFailed")


@pytest.mark.requirement("cli.exit-codes")
def test_a_batch_cannot_leave_its_scope() -> None:
    line = '{"content": "x", "agent_id": "other"}'
    ran = ricordo("add", "--batch", "-", "--agent", "helper", "--json", stdin=line)
    assert (ran.code, ran.error["error"]) == (5, "ScopeWidened")


@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize(
    "command",
    [
        ["get"],
        ["history"],
        ["archive"],
        ["restore"],
        ["forget"],
        ["pin"],
        ["verify"],
        ["undo"],
        ["links"],
        ["unlink"],
        ["add", "x", "--supersedes"],
    ],
)
def test_another_users_memory_looks_like_none(backend_url: str, command: list[str]) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ben").add("A secret")
        memory.user("ben").add("Another one")
    for style in ([], ["--json"]):
        options = ("--db", backend_url, "-u", "ana", *style)
        theirs = ricordo(*command, "1", *options)
        nobodys = ricordo(*command, "7", *options)
        assert theirs.code == 3
        assert (theirs.code, theirs.out, theirs.err.replace("1", "7")) == (
            nobodys.code,
            nobodys.out,
            nobodys.err,
        )


@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["list", "--colour", "red"], "No such option: --colour"),
        (["get"], "Missing argument"),
        (["get", "one"], "Invalid value for 'ID'"),
        (["history", "1", "2"], "unexpected extra argument"),
        (["merge", "1", "2"], "Missing option"),
        (["jobs", "bogus"], "No such command 'bogus'"),
        (["jobs", "--json", "run"], "unexpected extra argument"),
        (["add", "x", "--expires-days", "0"], "Invalid value for '--expires-days'"),
        (["--json", "list"], "No such option: --json"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], complaint: str) -> None:
    ran = ricordo(*arguments)
    assert ran.code == 2
    if "--json" in arguments:
        assert complaint in ran.error["message"]
    else:
        error, hint = ran.err.splitlines()
        assert error.startswith("error: ")
        assert complaint in error
        assert hint.startswith("hint: ricordo")
        assert hint.endswith("--help")
        as_json = ricordo(*arguments, "--json")
        assert (as_json.code, as_json.error["error"]) == (2, "UsageError")
    assert ran.out == ""


@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["list", "--type", "dream"], "type: 'dream' is not one of: preference"),
        (["list", "--status", "gone"], "status: 'gone' is not one of: active"),
        (["list", "--source", "hearsay"], "source: 'hearsay' is not one of: user_explicit"),
        (["list", "--sort", "colour"], "sort: 'colour' is not one of: id"),
        (["list", "--order", "up"], "order: 'up' is not one of: asc, desc"),
        (["list", "--limit", "0"], "limit: 0 is not a whole number from 1 to 1000"),
        (["list", "--limit", "1001"], "limit: 1001 is not a whole number"),
        (["list", "--importance-min", "9"], "importance_min: 9"),
        (["list", "--created-after", "soon"], "created_after: expected an ISO 8601 time"),
        (["list", "--as-of", "2026-13-01"], "as_of: expected"),
        (["list", "--cursor", "x"], "cursor is not one"),
        (["list", "--user", "*"], "'*' is reserved"),
        (["list", "--user", ""], "user_id: must not be empty"),
        (["list", "--db", "mysql://x"], "url: 'mysql://x' is not"),
        (["jobs", "--state", "lost"], "state: 'lost' is not one of: queued"),
        (["jobs", "run", "--limit", "0"], "limit: 0"),
        (["get", "0"], "id: 0 is not a whole number"),
        (["get", str(2**63)], "is not a whole number"),
        (["history", "1", "--limit", "0"], "limit: 0"),
        (["changes", "--since", "-1"], "since: -1"),
        (["add"], "content: is missing"),
        (["add", "  "], "content: must not be empty"),
        (["add", "x", "--type", "dream"], "type: 'dream'"),
        (["add", "x", "--tag", ""], "tags: must not be empty"),
        (["add", "x", "--expires-at", "2038-01-01", "--expires-days", "1"], "give either"),
        (["add", "x", "--batch", "-"], "no TEXT, no --supersedes"),
        (["add", "--batch", "-", "--supersedes", "1"], "no TEXT, no --supersedes"),
        (["add", "--batch", "/nowhere/at/all"], "/nowhere/at/all: cannot be read"),
        (["merge", "1", "--into", "x"], "ids: only 1; allowed: 2"),
        (["forget"], "give either an id, or a key"),
        (["forget", "1", "--key", "k"], "give either an id, or a key"),
        (["theme", "t"], "say what to change"),
        (["import", "x", "--format", "word"], "format: 'word' is not one of: auto"),
    ],
)
def test_the_library_checks_the_values(arguments: list[str], complaint: str) -> None:
    ran = ricordo(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert complaint in ran.err
    as_json = ricordo(*arguments, "--json")
    assert (as_json.code, complaint in as_json.error["message"]) == (2, True)


@pytest.mark.requirement("cli.errors")
def test_what_comes_after_the_dashes_is_text() -> None:
    assert ricordo("add", "--", "--json").out == "Remembered as 1.\n"
    assert ricordo("get", "1", "--json").json["content"] == "--json"


@pytest.mark.requirement("cli.errors")
def test_input_that_is_not_text(tmp_path: Path) -> None:
    ran = ricordo("add", "-", stdin=b"\xff\xfe")
    assert ran.code == 2
    assert ran.err.startswith("error: standard input: not text in UTF-8\n")
    ran = ricordo("add", "-", stdin=b"x" * (4 * 1024 * 1024 + 1))
    assert (ran.code, "longer than" in ran.err) == (2, True)
    ran = ricordo("add", "--batch", tmp_path)
    assert (ran.code, "Is a directory" in ran.err) == (2, True)


def _folder_instead(path: Path) -> None:
    path.mkdir()


def _text_instead(path: Path) -> None:
    path.write_text("not a database, and long enough to be looked at\n" * 100)


@pytest.mark.requirement("cli.exit-codes")
@pytest.mark.parametrize("spoil", [_folder_instead, _text_instead])
@pytest.mark.parametrize(
    "command",
    [["list"], ["add", "x"], ["migrate"], ["migrate", "--check"], ["export"], ["doctor"]],
)
def test_what_is_no_database(
    tmp_path: Path, spoil: Callable[[Path], None], command: list[str]
) -> None:
    path = tmp_path / "ricordo.db"
    spoil(path)
    ran = ricordo(*command, "--db", path)
    assert ran.code == 6
    assert str(path) in ran.err + ran.out


@pytest.mark.requirement("cli.exit-codes")
def test_an_unreachable_server() -> None:
    url = "postgresql://ana:very-secret@127.0.0.1:1/none"
    for command in (["list"], ["migrate", "--check"], ["doctor"]):
        ran = ricordo(*command, "--db", url)
        assert ran.code == 6
        assert "very-secret" not in ran.out + ran.err
    shown = ricordo("version", "--db", url)
    assert (shown.code, "very-secret" in shown.out) == (0, False)


@pytest.mark.requirement("cli.exit-codes")
@pytest.mark.parametrize("command", [["list"], ["migrate", "--check"], ["doctor"]])
def test_a_place_that_cannot_be_looked_at(command: list[str]) -> None:
    ran = ricordo(*command, "--db", "/tmp/" + "x" * 5_000)
    assert ran.code == 6
    assert "unexpected" not in ran.err
