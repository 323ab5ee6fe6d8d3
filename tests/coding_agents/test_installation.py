"""``ricordo agents``: what it puts into the settings of each agent, and how it takes that back."""

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ricordo_hook
from ricordo.coding_agents.installation import PROGRAMS, commands
from ricordo.coding_agents.settings_files import MARKS
from tests.support.commandline import ricordo as run_command

pytestmark = pytest.mark.requirement("agents.install")

AGENTS = tuple(PROGRAMS)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with settings of their own for every agent."""
    home = tmp_path / "ana"
    for path, text in {
        ".claude/settings.json": '{\n  "model": "opus" // mine\n}\n',
        ".claude.json": '{"projects": {"/x": {"mcpServers": {}}}, "numStartups": 3}',
        ".codex/config.toml": 'model = "o" # mine\n\n[mcp_servers.other]\ncommand = "x"\n',
        ".gemini/settings.json": '{"theme": "dark", "mcpServers": {"x": {"command": "x"}}}',
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "say done"}]}}',
        ".config/opencode/opencode.jsonc": '{\n  // mine\n  "model": "x",\n}\n',
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(project)
    return home


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def agents(*arguments: str) -> Any:
    return run_command("agents", *arguments, "--json").json


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_put_in_is_taken_back_to_the_byte(user: Path, agent: str) -> None:
    before = contents(user)
    done = agents("install", agent, "--yes")
    assert done["done"]
    after = contents(user)
    assert {user / path for path in after if after[path] != before.get(path)} == {
        Path(one["path"]) for one in done["files"]
    }
    assert agents("install", agent, "--yes")["diff"] == ""
    assert contents(user) == after
    agents("uninstall", agent, "--yes")
    assert contents(user) == before
    assert agents("uninstall", agent, "--yes")["files"] == []


@pytest.mark.parametrize("agent", AGENTS)
def test_every_event_runs_the_hook_by_an_absolute_path(user: Path, agent: str) -> None:
    agents("install", agent, "--yes")
    put = b"".join(contents(user).values()).decode()
    assert any(mark in put for mark in MARKS)
    (state,) = (one for one in agents("status")["agents"] if one["agent"] == agent)
    assert state["hook_answers"] is True
    assert all(file["in_place"] for file in state["files"])
    if agent != "opencode":
        for event in ricordo_hook.EVENTS[agent]:
            assert f"{agent} {event}" in put


@pytest.mark.parametrize("agent", AGENTS)
def test_a_dry_run_and_a_missing_yes_change_nothing(user: Path, own_home: Path, agent: str) -> None:
    before = contents(user)
    shown = agents("install", agent, "--dry-run")
    assert not shown["done"]
    assert "+" in shown["diff"]
    refused = run_command("agents", "install", agent)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert contents(user) == before
    assert not own_home.exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_one_project_has_settings_of_its_own(user: Path, tmp_path: Path, agent: str) -> None:
    before, shop = contents(user), contents(tmp_path / "shop")
    agents("install", agent, "--yes")
    for_user = contents(user)
    agents("install", agent, "--yes", "--project-only")
    assert contents(tmp_path / "shop") != shop
    agents("uninstall", agent, "--yes", "--project-only")
    assert contents(tmp_path / "shop") == shop
    assert {path: json_of(text) for path, text in contents(user).items()} == {
        path: json_of(text) for path, text in for_user.items()
    }
    agents("uninstall", agent, "--yes")
    assert {path: json_of(text) for path, text in contents(user).items()} == {
        path: json_of(text) for path, text in before.items()
    }


def json_of(text: bytes) -> object:
    """What a file says, however it is laid out."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_hooks_of_claude_code(user: Path) -> None:
    agents("install", "claude-code", "--yes")
    text = (user / ".claude" / "settings.json").read_text()
    assert '"model": "opus", // mine' in text
    settings = json.loads(text.replace("// mine", ""))
    assert set(settings["hooks"]) == set(ricordo_hook.EVENTS["claude-code"])
    (entry,) = settings["hooks"]["Stop"]
    assert entry["hooks"][0]["timeout"] == 5
    server = json.loads((user / ".claude.json").read_text())["mcpServers"]["ricordo"]
    assert server["args"][:2] == ["agents", "mcp"]
    assert Path(server["command"]).is_absolute()


def test_settings_of_codex(user: Path) -> None:
    agents("install", "codex", "--yes")
    config = tomllib.loads((user / ".codex" / "config.toml").read_text())
    assert config["mcp_servers"]["ricordo"]["args"][:2] == ["agents", "mcp"]
    assert config["mcp_servers"]["other"] == {"command": "x"}
    hooks = json.loads((user / ".codex" / "hooks.json").read_text())["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] <= 3


def test_hooks_of_cursor_stand_beside_others_without_a_group(user: Path) -> None:
    agents("install", "cursor", "--yes")
    settings = json.loads((user / ".cursor" / "hooks.json").read_text())
    assert settings["version"] == 1
    assert settings["hooks"]["stop"][0] == {"command": "say done"}
    assert settings["hooks"]["stop"][1]["command"].endswith(" cursor stop")
    assert set(settings["hooks"]) == set(ricordo_hook.EVENTS["cursor"])


def test_settings_of_gemini_cli_count_milliseconds(user: Path) -> None:
    agents("install", "gemini-cli", "--yes")
    settings = json.loads((user / ".gemini" / "settings.json").read_text())
    assert settings["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5_000
    assert set(settings["mcpServers"]) == {"x", "ricordo"}


def test_the_folders_that_agents_are_told_by_variables_are_used(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {
        "CLAUDE_CONFIG_DIR": ("claude-code", {"settings.json", ".claude.json"}),
        "CODEX_HOME": ("codex", {"hooks.json", "config.toml"}),
        "GEMINI_CLI_HOME": ("gemini-cli", {".gemini/settings.json"}),
        "OPENCODE_CONFIG_DIR": ("opencode", {"plugin/ricordo.js", "opencode.json"}),
    }
    for variable, (agent, files) in elsewhere.items():
        folder = tmp_path / variable
        monkeypatch.setenv(variable, str(folder))
        agents("install", agent, "--yes")
        assert set(contents(folder)) == files


@pytest.mark.parametrize("agent", AGENTS)
def test_settings_that_cannot_be_read_are_refused_and_nothing_is_written(
    user: Path, agent: str
) -> None:
    for path in contents(user):
        (user / path).write_text('{"a": "unclosed')
    before = contents(user)
    ran = run_command("agents", "install", agent, "--yes")
    assert ran.code == 2
    assert "nothing was changed" in ran.err
    assert contents(user) == before


def test_an_agent_that_is_not_known_is_refused_with_those_that_are(user: Path) -> None:
    ran = run_command("agents", "install", "notepad", "--yes")
    assert ran.code == 2
    assert "claude-code, codex, gemini-cli, cursor, opencode" in ran.err


def test_user_and_store_are_written_into_the_settings(user: Path, own_home: Path) -> None:
    agents("install", "codex", "--yes", "-u", "ana", "--db", "sqlite:////srv/x.db")
    settings = tomllib.loads((own_home / "agents.toml").read_text())
    assert (settings["user"], settings["url"]) == ("ana", "sqlite:////srv/x.db")
    assert settings["prompts"] is True
    (own_home / "agents.toml").write_text("# mine\ntools = false\nuser = 'bo' # old\n")
    agents("install", "codex", "--yes", "-u", "ana")
    assert (own_home / "agents.toml").read_text() == '# mine\ntools = false\nuser = "ana"\n'


def test_a_home_folder_of_ones_own_is_in_the_command(user: Path, tmp_path: Path) -> None:
    agents("install", "codex", "--yes", "--home", str(tmp_path / "my home"))
    hooks = json.loads((user / ".codex" / "hooks.json").read_text())["hooks"]
    line = hooks["Stop"][0]["hooks"][0]["command"]
    assert "my home' codex Stop" in line
    done = subprocess.run(
        line.replace("Stop", ricordo_hook.PROBE), shell=True, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == {"ricordo": 1}


def test_status_says_what_is_gone_and_what_does_not_answer(user: Path, own_home: Path) -> None:
    agents("install", "claude-code", "--yes")
    (user / ".claude.json").write_text("{}")
    record = own_home / "agents" / "installed.json"
    record.write_text(record.read_text().replace("-I -S", "-I -S -Z"))
    (own_home / "agents" / "seen").mkdir()
    (own_home / "agents" / "seen" / "claude-code").write_text("Stop")
    found = agents("status")
    state = found["agents"][0]
    assert {Path(one["path"]).name: one["in_place"] for one in state["files"]} == {
        ".claude.json": False,
        "settings.json": False,
    }
    assert state["hook_answers"] is False
    assert state["last_event"] == "Stop"
    assert (found["pid"], found["waiting"], found["on"]) == (None, 0, True)
    assert found["project"] == str(Path.cwd())
    text = run_command("agents").out
    assert "installed in part, hooks fail" in text
    assert "ricordo agents install claude-code" in text


def test_a_project_is_turned_off_and_on(user: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / "src").mkdir()
    assert agents("off", "src") == {"project": str(Path.cwd()), "on": False, "changed": True}
    assert agents("status")["on"] is False
    assert run_command("agents", "off").out == f"{Path.cwd()} is off already.\n"
    assert agents("on")["changed"]
    assert agents("status")["on"] is True


@pytest.mark.slow
def test_the_plugin_of_opencode_can_be_read(user: Path) -> None:
    node = shutil.which("node")  # scripts/services.sh installs it
    assert node is not None
    agents("install", "opencode", "--yes")
    plugin = user / ".config" / "opencode" / "plugin" / "ricordo.js"
    module = plugin.with_suffix(".mjs")
    module.write_text(plugin.read_text())
    subprocess.run([node, "--check", str(module)], check=True)


def test_the_plugin_folder_of_claude_code_says_what_is_installed() -> None:
    root = Path(__file__).parents[2]
    folder = root / "plugins" / "claude-code"
    given = commands(None, with_server=True)
    made = PROGRAMS["claude-code"].files
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert list(hooks) == list(ricordo_hook.EVENTS["claude-code"])
    for event, entries in hooks.items():
        assert entries == [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": f"ricordo-hook claude-code {event}",
                        "timeout": 5,
                    }
                ]
            }
        ]
    assert made is not None
    assert given.server is not None
    servers = json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    assert servers == {
        "ricordo": {"type": "stdio", "command": "ricordo", "args": list(given.server[1:])}
    }
    plugin = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((root / ".claude-plugin" / "marketplace.json").read_text())
    (listed,) = market["plugins"]
    assert listed["name"] == plugin["name"] == "ricordo"
    assert (root / listed["source"]).resolve() == folder
    assert plugin["version"] == listed["version"]
