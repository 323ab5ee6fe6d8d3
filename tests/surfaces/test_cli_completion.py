"""The shell completes commands, options, words and names; a real bash is asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ricordo.cli.app import COMMANDS
from ricordo.cli.completion import Typed, complete, offers
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo

pytestmark = pytest.mark.requirement("cli.completion")


def offered(line: str) -> list[str]:
    *before, word = line.split(" ")
    return [one.value for one in offers(COMMANDS, Typed(before[1:], word))]


def test_what_is_offered() -> None:
    for line, expected in {
        "the": ["themes", "theme"],
        "jobs r": ["run", "retry"],
        "bogus ": [],
        "--ver": ["--version"],
        "list --type pr": ["preference", "procedure"],
        "list --type=pr": ["--type=preference", "--type=procedure"],
        "list --sort last": ["last_accessed_at", "last_verified_at"],
        "list --json --js": [],
        "jobs --state de": ["dead"],
        "celery ": ["worker", "beat", "status"],
        "completion f": ["fish"],
    }.items():
        assert offered(f"ricordo {line}") == expected


def test_every_command_and_every_option_is_offered() -> None:
    assert len(offered("ricordo ")) == sum(len(listed) for listed in COMMANDS.values())
    said = ricordo("list", "--help").out
    options = [word for word in offered("ricordo list --") if word != "--help"]
    assert len(options) > 25
    assert [option for option in options if option not in said] == []


@pytest.fixture
def store(own_home: Path, sqlite_template: Path) -> Path:
    own_home.mkdir()
    file = own_home / "ricordo.db"
    shutil.copy(sqlite_template, file)
    with open_memory(file, run_jobs=False) as memory:
        me = memory.user("me")
        me.add("Prefers tea", theme="drinks")
        me.add("Runs", theme="dancing")
        me.observe([{"role": "user", "content": "Hi"}], thread="monday")
        memory.user("ana").add("Has a cat", theme="dogs and cats")
    return file


@pytest.mark.usefixtures("store")
def test_names_of_the_store_are_offered() -> None:
    for line, expected in {
        "list --theme d": ["dancing", "drinks"],
        "theme dr": ["drinks"],
        "list -u ana --theme d": ["dogs-and-cats"],
        "turns m": ["monday"],
        "list --user ": ["ana", "me"],
        "erase a": ["ana"],
        "link 1 a": ["ana"],
        "link ": [],
        "list --db /nowhere/at/all --theme d": [],
        "list --db postgresql://127.0.0.1:1/x --theme d": [],
    }.items():
        assert offered(f"ricordo {line}") == expected


def test_asking_makes_no_store_and_complains_of_none(own_home: Path) -> None:
    assert offered("ricordo list --theme d") == []
    assert not own_home.exists()
    own_home.mkdir()
    for content in (b"", b"not a database" * 100):
        (own_home / "ricordo.db").write_bytes(content)
        assert offered("ricordo list --theme d") == []
        assert (own_home / "ricordo.db").read_bytes() == content


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell", "pwsh"])
def test_scripts_ask_the_command(shell: str, tmp_path: Path) -> None:
    ran = ricordo("completion", shell)
    assert ran.code == 0
    asked = "powershell" if shell == "pwsh" else shell
    assert "_RICORDO_COMPLETE" in ran.out
    assert f"complete_{asked}" in ran.out
    told = ricordo("completion", shell, "--json").json
    assert told == {"shell": shell, "script": ran.out.removesuffix("\n")}
    if shell in ("bash", "zsh", "fish") and shutil.which(shell):
        (tmp_path / "script").write_text(ran.out)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


@pytest.mark.parametrize(
    ("shell", "typed", "expected"),
    [
        ("bash", "ricordo\nthe", "themes\ntheme"),
        ("bash", "ricordo\nlist\n--type\n=\npr", "preference"),
        ("bash", "ricordo\nlist\n--type\n=", "preference\nfact"),
        ("bash", "ricordo\nadd\n'it", ""),
        ("bash", "", ""),
        ("zsh", "ricordo jobs can", '"cancel":"Cancel a job'),
        ("zsh", "ricordo get ", "_files"),
        ("powershell", "ricordo jobs ", "cancel:::Cancel a job"),
        ("fish", "ricordo jobs can", "cancel\tCancel a job"),
    ],
)
def test_each_shell_is_answered_in_its_way(
    shell: str, typed: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shell == "bash":
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(typed.count("\n")) if typed else "nonsense")
    else:
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", typed)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert complete(COMMANDS, "complete_tcsh") == complete(COMMANDS, "nonsense") == ""
    said = complete(COMMANDS, f"complete_{shell}")
    assert expected in said
    assert bool(said) == bool(expected)


@pytest.mark.slow
def test_in_a_real_bash(store: Path) -> None:
    def inserted(*words: str) -> list[str]:
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
            env={**os.environ, "RICORDO_HOME": str(store.parent)},
        )
        assert ran.stderr == ""
        return ran.stdout.split()

    assert inserted("ricordo", "the") == ["themes", "theme"]
    assert inserted("ricordo", "list", "--theme", "") == ["dancing", "drinks"]


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
    monkeypatch.setenv("HOME", str(tmp_path / file))  # no folder
    ran = ricordo("completion", shell, "--install", "--json")
    assert (ran.code, ran.error["error"]) == (2, "InvalidInput")
    assert "cannot be installed" in ran.error["message"]
