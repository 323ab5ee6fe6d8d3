from pathlib import Path

import pytest

from ricordo.coding_agents.entry import Entry, ToolCall
from ricordo.coding_agents.projects import Project
from ricordo.coding_agents.rules import (
    SETTINGS,
    AgentSettings,
    Ignored,
    Rules,
    projects_off,
    read_settings,
    turn,
)
from ricordo.errors import FilesUnavailable, InvalidValue, UnknownField
from tests.docs.markdown import blocks, pages

pytestmark = pytest.mark.requirement("agents.capture")


def call(*files: str, command: str | None = None, name: str = "Read") -> Entry:
    made = ToolCall(name=name, files=files, command=command)
    return Entry(id="1", role="tool", content="", at=None, session_id="s", call=made)


def said(role: str = "user") -> Entry:
    return Entry(id="1", role=role, content="Hello", at=None, session_id="s")  # type: ignore[arg-type]


def rules_for(home: Path, root: Path, **settings: object) -> Rules:
    return Rules.of(home, AgentSettings(**settings), Project("shop", root))  # type: ignore[arg-type]


def test_every_setting_is_described_and_has_a_default(tmp_path: Path) -> None:
    assert list(SETTINGS) == list(AgentSettings.__dataclass_fields__)  # type: ignore[attr-defined]
    assert read_settings(tmp_path) == AgentSettings()


def test_settings_are_read_from_the_file(tmp_path: Path) -> None:
    page = next(one for one in pages() if one.name == "coding-agents.md")
    (shown,) = (one.text for one in blocks(page) if one.language == "text")
    (tmp_path / "agents.toml").write_text(f"{shown}\nbrief_tokens = 300\n")
    found = read_settings(tmp_path)
    assert found == AgentSettings(
        user="ana", tools=False, brief_tokens=300, ignore=(".env", "*.csv")
    )


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("tools = 1", InvalidValue, "true or false"),
        ("brief_tokens = true", InvalidValue, "a number from 100"),
        ("brief_tokens = 1", InvalidValue, "a number from 100"),
        ('ignore = "*.csv"', InvalidValue, "a list of texts"),
        ("ignore = [1]", InvalidValue, "a list of texts"),
        ('user = ""', InvalidValue, "a text"),
        ("tool = true", UnknownField, "allowed: .*tools"),
        ("tools", InvalidValue, "not TOML"),
    ],
)
def test_settings_that_are_wrong_are_refused_by_name(
    tmp_path: Path, text: str, error: type[Exception], says: str
) -> None:
    (tmp_path / "agents.toml").write_text(text)
    with pytest.raises(error, match=says) as raised:
        read_settings(tmp_path)
    assert "agents.toml" in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "role"), [("prompts", "user"), ("answers", "assistant"), ("tools", "tool")]
)
def test_only_what_the_settings_name_is_captured(tmp_path: Path, setting: str, role: str) -> None:
    entry = call("a.py") if role == "tool" else said(role)
    assert rules_for(tmp_path, tmp_path).allow(entry)
    assert not rules_for(tmp_path, tmp_path, **{setting: False}).allow(entry)


def test_a_project_that_is_turned_off_is_not_captured_until_it_is_on_again(tmp_path: Path) -> None:
    assert turn(tmp_path, "shop", off=True)
    assert not turn(tmp_path, "shop", off=True)
    assert turn(tmp_path, "other", off=True)
    assert not rules_for(tmp_path, tmp_path).allow(said())
    assert turn(tmp_path, "shop", off=False)
    assert rules_for(tmp_path, tmp_path).allow(said())
    assert projects_off(tmp_path) == {"other"}
    (tmp_path / "agents" / "off.json").write_text("{")
    with pytest.raises(FilesUnavailable, match="damaged"):
        rules_for(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("patterns", "path", "covered"),
    [
        ("*.csv", "data/a.csv", True),
        ("*.csv", "a.csv.py", False),
        ("/a.txt", "a.txt", True),
        ("/a.txt", "b/a.txt", False),
        ("data/", "data/x/y", True),
        ("data/", "lib/data/x", True),
        ("data/", "data", False),
        ("data", "data", True),
        ("lib/data", "lib/data/x", True),
        ("lib/data", "a/lib/data", False),
        ("**/data", "a/lib/data", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**", "a/b/c", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[", "[", True),
        ("*.log\n!keep.log", "keep.log", False),
        ("*.log\n!keep.log", "other.log", True),
        ("logs/\n!logs/keep.log", "logs/keep.log", True),
        ("# a.py", "a.py", False),
        ("\\#a", "#a", True),
        ("a.py   ", "a.py", True),
        ("a\\ ", "a ", True),
        ("", "a.py", False),
        ("*.csv", "data\\a.csv", True),
        (".env", "/home/ana/shop/.env", True),
    ],
)
def test_patterns_mean_what_they_do_in_gitignore(patterns: str, path: str, covered: bool) -> None:
    assert Ignored(patterns.split("\n")).covers(path) is covered


def test_calls_that_touch_an_ignored_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".ricordoignore").write_text("secret/\n*.csv\n")
    rules = rules_for(tmp_path / "home", tmp_path)
    assert rules.allow(call("src/a.py"))
    assert not rules.allow(call("src/a.py", str(tmp_path / "secret" / "b.py")))
    assert not rules.allow(call(command="head -3 data/a.csv | wc"))
    assert not rules.allow(call(command="python load.py --file=data/a.csv"))
    assert not rules.allow(call(command="cat <secret/x 'unclosed"))
    assert not rules.allow(call(".env"))
    assert rules.allow(call(".env.example"))
    assert rules.allow(said())


@pytest.mark.parametrize("line", ["*", "/*", "**", "*\n# all"])
def test_a_pattern_for_everything_turns_the_project_off(tmp_path: Path, line: str) -> None:
    (tmp_path / ".ricordoignore").write_text(line)
    rules = rules_for(tmp_path / "home", tmp_path)
    assert rules.is_off
    assert not rules.allow(said())


def test_everything_but_some_files_still_captures_what_is_said(tmp_path: Path) -> None:
    (tmp_path / ".ricordoignore").write_text("*\n!*.md\n")
    rules = rules_for(tmp_path / "home", tmp_path)
    assert rules.allow(said())
    assert rules.allow(call("README.md"))
    assert not rules.allow(call("main.py"))
