import json
import stat
import tomllib
from pathlib import Path

import pytest

from ricordo.coding_agents import settings_files
from ricordo.coding_agents.settings_files import (
    Change,
    Installed,
    Setting,
    SettingsFile,
    by_place,
    installing,
    read_record,
    removing,
    write,
    write_record,
)
from ricordo.errors import FilesUnavailable, InvalidInput

pytestmark = pytest.mark.requirement("agents.install")

HOOK = {"hooks": [{"type": "command", "command": "/opt/bin/ricordo-hook claude-code Stop"}]}
SERVER = {"command": "/opt/bin/ricordo", "args": ["mcp"]}
OURS = (Setting(("hooks", "Stop"), HOOK, in_list=True), Setting(("mcpServers", "ricordo"), SERVER))
TABLE = (Setting(("mcp_servers", "ricordo"), SERVER),)

JSON = """{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "say done" }] }
    ]
  },
  "z": 1
}
"""
TOML = """# mine
model = "o"   # the best

[mcp_servers.other]
command = "x"
text = '''
[mcp_servers.ricordo]
'''

[tools]
web = true
"""


def put(file: SettingsFile, known: Installed | None = None) -> Installed:
    change, record = installing(file, known, "claude-code")
    write(change)
    return record


def take(known: Installed) -> None:
    write(removing(known))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def json_file(path: Path) -> SettingsFile:
    return SettingsFile(path, "json", OURS)


@pytest.mark.parametrize(
    "before", [JSON, "{}", "{}\n", '{"hooks": {}}', "", JSON.replace("\n", "\r\n")]
)
def test_entries_are_put_in_and_taken_back_to_the_byte(tmp_path: Path, before: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(before.encode())
    known = put(json_file(path))
    whole = settings_files.jsonc.parse(path.read_bytes().decode()).value
    assert whole["hooks"]["Stop"][-1] == HOOK
    assert whole["mcpServers"]["ricordo"] == SERVER
    take(known)
    assert path.read_bytes() == before.encode()


def test_a_file_and_its_folders_are_made_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    known = put(json_file(path))
    assert json.loads(path.read_text())["mcpServers"]["ricordo"] == SERVER
    take(known)
    settings_files.remove_empty_folders(known)
    assert not (tmp_path / "a").exists()


def test_putting_in_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    known = put(json_file(path))
    content = path.read_bytes()
    change, again = installing(json_file(path), known, "claude-code")
    assert change.is_none
    assert change.diff() == ""
    assert again == known
    change, _ = installing(json_file(path), None, "claude-code")
    assert change.is_none
    assert path.read_bytes() == content


def test_what_somebody_changed_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    known = put(json_file(path))
    path.write_text(path.read_text().replace('"opus"', '"sonnet" /* cheaper */'))
    take(known)
    assert path.read_text() == JSON.replace('"opus"', '"sonnet" /* cheaper */')


def test_a_list_that_somebody_else_uses_by_now_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    known = put(json_file(path))
    text = settings_files.jsonc.with_element(path.read_text(), ("hooks", "Stop"), {"mine": 1})
    path.write_text(text)
    take(known)
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"mine": 1}]}}


def test_another_command_line_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    known = put(json_file(path))
    newer = json.loads(json.dumps(HOOK).replace("/opt", "/usr"))
    file = SettingsFile(path, "json", (Setting(("hooks", "Stop"), newer, in_list=True), OURS[1]))
    for record in (known, None):
        path.write_text(json.dumps(settings_files.jsonc.parse(path.read_text()).value))
        change, again = installing(file, record, "claude-code")
        assert change.after is not None
        assert json.loads(change.after)["hooks"]["Stop"][1:] == [newer]
    write(installing(file, known, "claude-code")[0])
    take(again)
    assert json.loads(path.read_text())["hooks"]["Stop"] == [
        {"hooks": [{"type": "command", "command": "say done"}]}
    ]


def test_an_entry_of_that_name_that_is_somebody_elses_stays_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"mcpServers": {"ricordo": {"command": "other"}}}')
    change, known = installing(json_file(path), None, "claude-code")
    assert change.kept == ("mcpServers.ricordo",)
    write(change)
    take(known)
    assert path.read_text() == '{"mcpServers": {"ricordo": {"command": "other"}}}'


@pytest.mark.parametrize(
    "broken", ["{", "[1]", '{"hooks": 3}', '{"hooks": {"Stop": {}}}', b"\xff\xfe{}"]
)
def test_a_file_that_cannot_be_read_is_refused_and_left_alone(
    tmp_path: Path, broken: str | bytes
) -> None:
    path = tmp_path / "settings.json"
    content = broken if isinstance(broken, bytes) else broken.encode()
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"settings\.json .*nothing was changed"):
        installing(json_file(path), None, "claude-code")
    assert path.read_bytes() == content
    assert names(tmp_path) == ["settings.json"]


@pytest.mark.parametrize("before", [TOML, "", "a = 1", TOML.replace("\n", "\r\n"), "[a]\n"])
def test_a_table_is_put_at_the_end_and_taken_back_to_the_byte(tmp_path: Path, before: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    known = put(SettingsFile(path, "toml", TABLE))
    assert path.read_bytes().startswith(before.encode())
    whole = tomllib.loads(path.read_bytes().decode())
    assert whole["mcp_servers"]["ricordo"] == SERVER
    take(known)
    assert path.read_bytes() == before.encode()


def test_a_table_and_what_is_in_it_are_taken_out_of_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TOML)
    known = put(SettingsFile(path, "toml", TABLE))
    own = '\n[mcp_servers.ricordo.tools.search]\napproval = "auto"\n'
    path.write_text("first = 0\n" + path.read_text() + own + "\n[projects.x]\ntrust = 1\n")
    take(known)
    assert path.read_text() == "first = 0\n" + TOML + "\n[projects.x]\ntrust = 1\n"


@pytest.mark.parametrize("broken", ["a = ", 'mcp_servers = { x = { command = "y" } }\n'])
def test_a_toml_file_that_cannot_be_changed_is_refused(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(broken)
    with pytest.raises(InvalidInput, match="nothing was changed"):
        installing(SettingsFile(path, "toml", TABLE), None, "codex")
    assert path.read_text() == broken


def test_a_whole_file_of_ours_is_written_and_what_was_there_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "ricordo.js"
    path.write_text("mine")
    known = put(SettingsFile(path, "text", content="run(ricordo-hook)"))
    assert path.read_text() == "run(ricordo-hook)"
    take(known)
    assert path.read_text() == "mine"


def test_mode_owner_and_links_stay_as_they_are(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text(JSON)
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    put(json_file(link))
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "ricordo" in real.read_text()
    assert names(real.parent) == ["settings.json"]


def test_a_file_that_is_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    change, _ = installing(json_file(path), None, "claude-code")
    path.write_text("{}")
    with pytest.raises(FilesUnavailable, match="meanwhile"):
        write(change)
    assert path.read_text() == "{}"


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    change, _ = installing(json_file(path), None, "claude-code")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(settings_files.os, "fsync", full)
    with pytest.raises(FilesUnavailable, match="No space left"):
        write(change)
    assert path.read_text() == JSON
    assert names(tmp_path) == ["settings.json"]


def test_the_diff_shows_what_is_added(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    change, _ = installing(json_file(path), None, "claude-code")
    added = [line[1:] for line in change.diff().splitlines() if line.startswith("+ ")]
    assert any("ricordo-hook" in line for line in added)
    assert '-  "z": 1' in change.diff().splitlines()
    assert "no file" in Change(path, None, b"{}").diff()


def test_the_record_is_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{ "hooks" :{}}')
    known = put(json_file(path))
    write_record(tmp_path / "home", by_place([known]))
    assert read_record(tmp_path / "home") == by_place([known])
    assert read_record(tmp_path / "other") == {}
    (tmp_path / "home" / "installed.json").write_text("{")
    with pytest.raises(FilesUnavailable, match="damaged"):
        read_record(tmp_path / "home")
