"""The shell completes commands, options, words and names; a real bash is asked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo.cli.app import COMMANDS
from ricordo.cli.completing import Typed, complete, offers
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo

HEAVY = ("sqlalchemy", "alembic", "pydantic", "psycopg", "rich", "ricordo.wiring")
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def offered(line: str) -> list[str]:
    *before, word = line.split(" ")
    return [one.value for one in offers(COMMANDS, Typed(before[1:], word))]


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ricordo the", ["themes", "theme"]),
        ("ricordo jobs r", ["run", "retry"]),
        ("ricordo bogus ", []),
        ("ricordo --ver", ["--version"]),
        ("ricordo list --type pr", ["preference", "procedure"]),
        ("ricordo list --type=pr", ["--type=preference", "--type=procedure"]),
        ("ricordo list --sort last", ["last_accessed_at", "last_verified_at"]),
        ("ricordo import --format ric", ["ricordo"]),
        ("ricordo list --pin", ["--pinned"]),
        ("ricordo list --js", ["--json"]),
        ("ricordo list --json --js", []),
        ("ricordo jobs --sta", ["--state"]),
        ("ricordo jobs --state de", ["dead"]),
        ("ricordo celery ", ["worker", "beat", "status"]),
        ("ricordo celery --", []),
        ("ricordo completion f", ["fish"]),
        ("ricordo completion fish b", []),
        ("ricordo context --mode t", ["tools"]),
    ],
)
def test_what_is_offered(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


@pytest.mark.requirement("cli.completion")
def test_every_command_and_every_option_is_offered() -> None:
    assert len(offered("ricordo ")) == sum(len(listed) for listed in COMMANDS.values())
    said = ricordo("list", "--help").out
    options = [word for word in offered("ricordo list --") if word != "--help"]
    assert len(options) > 25
    assert [option for option in options if option not in said] == []


@pytest.fixture
def store(own_home: Path) -> Path:
    with open_memory(run_jobs=False) as memory:
        me = memory.user("me")
        me.add("Prefers tea", theme="drinks")
        me.add("Runs", theme="dancing")
        me.observe([{"role": "user", "content": "Hi"}], thread="monday")
        memory.user("ana").add("Has a cat", theme="dogs and cats")
    return own_home / "ricordo.db"


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ricordo list --theme d", ["dancing", "drinks"]),
        ("ricordo list --category dr", ["drinks"]),
        ("ricordo theme dr", ["drinks"]),
        ("ricordo list -u ana --theme d", ["dogs-and-cats"]),
        ("ricordo list --user=ana --theme d", ["dogs-and-cats"]),
        ("ricordo list --global --theme d", []),
        ("ricordo turns m", ["monday"]),
        ("ricordo window ", ["monday"]),
        ("ricordo list --user ", ["ana", "me"]),
        ("ricordo erase a", ["ana"]),
        ("ricordo link 1 a", ["ana"]),
        ("ricordo link ", []),
        ("ricordo list --db /nowhere/at/all --theme d", []),
        ("ricordo list --db postgresql://127.0.0.1:1/x --theme d", []),
    ],
)
@pytest.mark.usefixtures("store")
def test_names_of_the_store_are_offered(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


@pytest.mark.requirement("cli.completion")
def test_no_store_is_made_by_asking(own_home: Path) -> None:
    assert offered("ricordo list --theme d") == []
    assert not own_home.exists()


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_a_file_that_is_no_store_is_no_reason_to_complain(own_home: Path, content: bytes) -> None:
    own_home.mkdir()
    (own_home / "ricordo.db").write_bytes(content)
    assert offered("ricordo list --theme d") == []
    assert (own_home / "ricordo.db").read_bytes() == content


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_ask_the_command(shell: str) -> None:
    ran = ricordo("completion", shell)
    assert ran.code == 0
    asked = "powershell" if shell == "pwsh" else shell
    assert "_RICORDO_COMPLETE" in ran.out
    assert f"complete_{asked}" in ran.out
    assert ricordo("completion", shell, "--json").json == {
        "shell": shell,
        "script": ran.out.removesuffix("\n"),
    }


@pytest.mark.requirement("cli.completion")
def test_a_shell_that_is_not_known() -> None:
    ran = ricordo("completion", "tcsh")
    assert (ran.code, "bash, zsh, fish, powershell" in ran.err) == (2, True)
    assert complete(COMMANDS, "complete_tcsh") == ""
    assert complete(COMMANDS, "nonsense") == ""


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize(
    ("shell", "variables", "expected"),
    [
        ("bash", {"COMP_WORDS": "ricordo\nthe", "COMP_CWORD": "1"}, "themes\ntheme"),
        ("bash", {"COMP_WORDS": "ricordo\nlist\n--type\n=\npr", "COMP_CWORD": "4"}, "preference"),
        (
            "bash",
            {"COMP_WORDS": "ricordo\nlist\n--type\n=", "COMP_CWORD": "3"},
            "preference\nfact",
        ),
        ("bash", {"COMP_WORDS": "ricordo\nadd\n'it", "COMP_CWORD": "2"}, ""),
        ("bash", {"COMP_WORDS": "ricordo", "COMP_CWORD": "nonsense"}, ""),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "ricordo jobs can"}, '"cancel":"Take a job'),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "ricordo get "}, "_files"),
        ("powershell", {"_TYPER_COMPLETE_ARGS": "ricordo jobs "}, "cancel:::Take a job"),
        (
            "fish",
            {
                "_TYPER_COMPLETE_ARGS": "ricordo jobs can",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            "cancel\tTake a job",
        ),
    ],
)
def test_each_shell_is_answered_in_its_way(
    shell: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    said = complete(COMMANDS, f"complete_{shell}")
    assert expected in said
    assert bool(said) == bool(expected)


@pytest.mark.requirement("cli.completion")
def test_asking_loads_nothing_heavy(store: Path) -> None:
    script = (
        "import sys\n"
        "from ricordo.cli.main import main\n"
        "assert main([]) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    asked = {"COMP_WORDS": "ricordo\nlist\n--theme\nd", "COMP_CWORD": "3"}
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **asked, "_RICORDO_COMPLETE": "complete_bash"},
    )
    assert store.exists()
    assert ran.stdout.splitlines() == ["dancing", "drinks", "[]"]


def _in_bash(words: list[str], home: Path) -> list[str]:
    """What bash itself would insert, with the script that we print."""
    listed = " ".join(f"'{word}'" for word in words)
    script = (
        f"source <({COMMAND} completion bash)\n"
        f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
        "$(complete -p ricordo | sed 's/.*-F \\([^ ]*\\).*/\\1/') " + COMMAND + "\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RICORDO_HOME": str(home)},
    )
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.requirement("cli.completion")
def test_in_a_real_bash(store: Path) -> None:
    assert _in_bash(["ricordo", "the"], store.parent) == ["themes", "theme"]
    assert _in_bash(["ricordo", "list", "--theme", ""], store.parent) == ["dancing", "drinks"]


@pytest.mark.requirement("cli.completion")
def test_shells_that_are_here_can_read_their_scripts(tmp_path: Path) -> None:
    for shell in filter(shutil.which, ("bash", "zsh", "fish")):
        script = tmp_path / shell
        script.write_text(ricordo("completion", shell).out)
        subprocess.run([shell, "-n", script], check=True)


@pytest.mark.requirement("cli.completion")
@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/ricordo.sh"),
        ("zsh", ".zfunc/_ricordo"),
        ("fish", ".config/fish/completions/ricordo.fish"),
    ],
)
def test_it_is_put_where_the_shell_looks(
    shell: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = ricordo("completion", shell, "--install", "--json")
    assert ran.json == {"shell": shell, "installed": str(tmp_path / file)}
    assert "_RICORDO_COMPLETE" in (tmp_path / file).read_text()
    again = ricordo("completion", shell, "--install")
    assert (again.code, str(tmp_path / file) in again.out) == (0, True)


@pytest.mark.requirement("cli.completion")
def test_a_home_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    ran = ricordo("completion", "fish", "--install", "--json")
    assert (ran.code, ran.error["error"]) == (2, "InvalidInput")
    assert "cannot be installed" in ran.error["message"]
