"""Every mistake on the command line is answered with what to do about it."""

import inspect
import json
import re
import sqlite3
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ricordo import errors
from ricordo.cli import checkup, finding, fixes
from ricordo.cli.app import COMMANDS
from ricordo.cli.assembling import Group
from ricordo.cli.examining import contents, files, models, searching, work
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo

SAID_OF_IT = ("import", "depends")  # words of sentences and code, not of advice


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


@pytest.mark.requirement("cli.fixes")
def test_every_kind_of_error_has_a_fix_of_its_own_or_of_its_family() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.RicordoError) and not issubclass(kind, errors.InvalidInput)
    ]
    for kind in kinds:
        error = kind.__new__(kind)
        assert fixes.fix_of(error), kind
    families = [kind for kind in kinds if kind.__bases__[0] is errors.RicordoError]
    assert [kind for kind in families if kind not in fixes._FIXES] == []


@pytest.mark.requirement("cli.fixes")
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["serch", "tea"], "Did you mean 'search'"),
        (["jobs", "rn"], "Did you mean 'run'"),
        (["list", "--thme", "x"], "--theme"),
    ],
)
def test_what_was_nearly_typed_right_is_named(arguments: list[str], meant: str) -> None:
    ran = ricordo(*arguments)
    assert (ran.code, meant in ran.err) == (2, True)
    assert fix(*arguments).endswith("--help")


@pytest.mark.requirement("cli.fixes")
def test_names_of_the_store_that_are_near() -> None:
    with open_memory(run_jobs=False) as memory:
        memory.user("me").add("Prefers tea", theme="drinks")
        memory.user("me").observe([{"role": "user", "content": "Hi"}], thread="monday")
        memory.user("ben").add("A secret", theme="dinners")
    assert fix("theme", "drink", "--name", "X").startswith("did you mean 'drinks'? ricordo themes")
    assert fix("turns", "mondy").startswith("did you mean 'monday'? ricordo threads")
    assert fix("erase", "bem", "--yes").startswith("did you mean 'ben'")
    # What other users have is not given away.
    assert "dinners" not in fix("theme", "dinner", "--name", "X")
    assert fix("theme", "zzz", "--name", "X") == "ricordo themes shows what there is; -u says whose"


@pytest.mark.requirement("cli.fixes")
@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("RICORDO_POOL_SIZE", "0", "correct RICORDO_POOL_SIZE (it takes 1 to 200), or unset it"),
        ("RICORDO_SYNCHRONOUS", "OFF", "correct RICORDO_SYNCHRONOUS (it takes one of FULL, NORMAL"),
        ("RICORDO_TIMEZONE", "Nowhere", "correct RICORDO_TIMEZONE, or unset it"),
        ("RICORDO_JOB_LEASE_SECONDS", "soon", "correct RICORDO_JOB_LEASE_SECONDS (it takes 0 to"),
        ("RICORDO_MODEL_NAME", "m", "correct RICORDO_MODEL_NAME, or unset it"),
    ],
)
def test_a_wrong_setting_names_its_variable(
    variable: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert fix("list").startswith(told)


@pytest.mark.requirement("cli.fixes")
def test_what_is_not_installed_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ricordo.storage.postgres.backend", None)
    assert fix("list", "--db", "postgresql://x/y") == "pip install 'ricordo[postgres]'"


@pytest.mark.requirement("cli.fixes")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["list", "--type", "dream"], "ricordo list --help shows what it takes"),
        (["jobs", "run", "--limit", "0"], "ricordo jobs run --help shows what it takes"),
        (["get", "99"], "ricordo list --status any shows"),
        (["serve", "--port", "99999"], "give it 0 to 65535, here or in RICORDO_PORT"),
        (["list", "--cursor", "x"], "leave out --cursor"),
        (["import", "/nowhere/at/all"], "mend what is named and run it again"),
        (["checkpoint", "load", "t"], "ricordo checkpoint shows"),
        (["keys", "revoke", "x"], "ricordo keys --all shows"),
        (["list", "--db", "postgresql://127.0.0.1:1/none"], "ricordo doctor examines it"),
    ],
)
def test_other_mistakes(arguments: list[str], told: str) -> None:
    assert fix(*arguments).startswith(told)


@pytest.mark.requirement("cli.fixes")
@pytest.mark.parametrize(
    "source", [fixes, checkup, contents, files, finding, models, searching, work]
)
def test_commands_that_are_advised_exist(source: ModuleType) -> None:
    named = re.findall(r"\bricordo( [a-z][a-z-]*)( [a-z]+)?([^;,\"]*)", inspect.getsource(source))
    commands = {name for listed in COMMANDS.values() for name in listed}
    for first, second, rest in named:
        if first.strip() not in commands:  # a sentence about it
            assert first.strip() in SAID_OF_IT, first
            continue
        group = next(
            listed[first.strip()] for listed in COMMANDS.values() if first.strip() in listed
        )
        words = [first.strip()]
        if isinstance(group, Group) and second.strip() in group.commands:
            words.append(second.strip())
        shown = ricordo(*words, "--help").out.replace(",", " ").split()
        if isinstance(group, Group) and len(words) == 1 and group.default is not None:
            shown += ricordo(*words, group.default, "--help").out.replace(",", " ").split()
        wanted = re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)
        assert set(wanted) <= set(shown), (words, wanted)


@pytest.mark.requirement("cli.fixes")
@pytest.mark.parametrize("content", ['{"content": "a"}\nnot json', '{"colour": "red"}'])
def test_wrong_json_names_its_line(content: str) -> None:
    ran = ricordo("add", "--batch", "-", stdin=content)
    assert "line " in ran.err
    assert fix("add", "--batch", "-", stdin=content).startswith("mend what is named")


@pytest.mark.requirement("cli.fixes")
def test_a_file_of_a_newer_version(sqlite_url: str) -> None:
    connection = sqlite3.connect(sqlite_url)
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert fix("list", "--db", sqlite_url) == "pip install --upgrade ricordo"


@pytest.mark.requirement("cli.fixes")
def test_a_file_that_somebody_else_keeps(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BUSY_TIMEOUT_SECONDS", "0.05")
    keeping = sqlite3.connect(sqlite_url, isolation_level=None)
    keeping.execute("BEGIN IMMEDIATE")
    try:
        assert fix("add", "x", "--db", sqlite_url).startswith("close the other program")
    finally:
        keeping.close()


@pytest.mark.requirement("cli.fixes")
def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "ricordo.db"
    path.write_text("not a database, and long enough to be looked at\n" * 100)
    assert fix("list", "--db", path) == "ricordo doctor examines it"


@pytest.mark.requirement("cli.fixes")
def test_what_is_not_foreseen_says_how_to_see_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError("none")

    monkeypatch.setattr("ricordo.memory.Memory.users", fail)
    assert fix("users") == "RICORDO_DEBUG=1 shows where it happened"


@pytest.mark.requirement("cli.fixes")
def test_a_field_that_does_not_exist_is_told_what_is_near() -> None:
    unknown = errors.UnknownField("setting", ["poolsize"], ["pool_size", "home"])
    assert fixes.fix_of(unknown) == "did you mean 'pool_size'?"
    assert fixes.fix_of(errors.InvalidValue("theme", "no"), None) is None
