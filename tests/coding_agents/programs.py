"""The real coding agents, run without their services: a scripted model answers them.

A program that is missing is an error: scripts/services.sh installs it.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ricordo.testing import Reply
from tests.support.agent_models import AgentModelServer

VARIABLE: Final = "RICORDO_TEST_AGENTS"
_INSTALLED: Final = Path(__file__).parents[2] / ".cache" / "agents"
_PATIENCE_SECONDS: Final = 240

CHECK: Final = "sh check.sh"
_SOLD: Final = "cents - cents * percent // 100"
_ROUNDED: Final = "cents + -cents * percent // 100"
_CHECK_FILE: Final = """\
python3 -c 'from price import total; found = total(999, 50)
assert found == 499, f"total(999, 50) is {found}, not 499"
print("1 passed")'
"""

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One agent: how it is set up for a scripted model, asked, and made to call its tools.

    ``configure`` writes its settings; it gets the home folder and the address of the model.
    """

    name: str
    executable: str
    configure: Callable[[Path, AgentModelServer], Mapping[str, str]]
    asked: Callable[[str], list[str]]
    runs: Callable[[str], tuple[str, Arguments]]
    edits: Callable[[Path, str, str], list[tuple[str, Arguments]]]

    @property
    def path(self) -> Path:
        folder = Path(os.environ.get(VARIABLE) or _INSTALLED)
        found = folder / "node_modules" / ".bin" / self.executable
        assert found.exists(), f"{self.executable} is not installed; run: sh scripts/services.sh"
        return found

    def start(
        self,
        prompt: str,
        home: Path,
        server: AgentModelServer,
        more: Mapping[str, str] | None = None,
        *options: str,
    ) -> "subprocess.Popen[str]":
        """Begin a session of one prompt in the folder ``shop`` of that home."""
        scratch = home / "tmp"
        scratch.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(scratch),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **self.configure(home, server),
            **(more or {}),
        }
        return subprocess.Popen(
            [str(self.path), *options, *self.asked(prompt)],
            cwd=home / "shop",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def ask(
        self,
        prompt: str,
        home: Path,
        server: AgentModelServer,
        more: Mapping[str, str] | None = None,
        *options: str,
    ) -> str:
        """A whole session of one prompt; what it printed."""
        with self.start(prompt, home, server, more, *options) as running:
            said, problems = running.communicate(timeout=_PATIENCE_SECONDS)
        assert running.returncode == 0, f"{said}\n{problems}"
        return said

    def script_repair(self, server: AgentModelServer, home: Path, last_words: str) -> None:
        """The model runs the check, which fails, changes the file, and runs it again."""
        run = self.runs(CHECK)
        edits = self.edits(home / "shop" / "price.py", _SOLD, _ROUNDED)
        for number, (tool, arguments) in enumerate([run, *edits, run]):
            text = "I run the check first." if number == 0 else None
            server.enqueue(Reply(text, tool, json.dumps(arguments)))
        server.answer(last_words)


def make_shop(home: Path) -> Path:
    """A repository with a check that fails."""
    shop = home / "shop"
    shop.mkdir(parents=True)
    (shop / "price.py").write_text(f"def total(cents, percent):\n    return {_SOLD}\n", "utf-8")
    (shop / "check.sh").write_text(_CHECK_FILE, encoding="utf-8")
    for command in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", "git@github.com:acme/shop.git"],
        ["add", "-A"],
        ["-c", "user.name=ana", "-c", "user.email=ana@example.org", "commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=shop, check=True, env=_git_environment(home))
    return shop


def _git_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


def _merge(path: Path, settings: Mapping[str, Any]) -> None:
    """Settings of the test beside what is in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**found, **settings}), encoding="utf-8")


def _claude_code(home: Path, server: AgentModelServer) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": server.root,
        "ANTHROPIC_API_KEY": "sk-ant-test",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(home: Path, server: AgentModelServer) -> Mapping[str, str]:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    own = found.partition("# -- test --\n")[2]
    provider = (
        'model = "test-model"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n'
        '[analytics]\nenabled = false\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{server.base_url}"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    )
    path.write_text(f"{provider}# -- test --\n{own or found}", encoding="utf-8")
    return {"OPENAI_API_KEY": "sk-test"}


def _gemini_cli(home: Path, server: AgentModelServer) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
    }
    _merge(home / ".gemini" / "settings.json", settings)
    return {
        "GOOGLE_GEMINI_BASE_URL": server.root,
        "GEMINI_API_KEY": "test",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _opencode(home: Path, server: AgentModelServer) -> Mapping[str, str]:
    model = {"name": "Test", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/test-model",
        "small_model": "scripted/test-model",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Scripted",
                "options": {"baseURL": server.base_url, "apiKey": "test"},
                "models": {"test-model": model},
            }
        },
        "permission": {"bash": "allow", "edit": "allow"},
    }
    _merge(home / ".config" / "opencode" / "opencode.json", settings)
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


CLAUDE_CODE = Program(
    name="claude-code",
    executable="claude",
    configure=_claude_code,
    asked=lambda prompt: [
        *("-p", prompt, "--allowedTools", "Bash,Edit,Read"),
        *("--model", "claude-sonnet-4-5"),
    ],
    runs=lambda command: ("Bash", {"command": command, "description": "Run it"}),
    edits=lambda path, old, new: [
        ("Read", {"file_path": str(path)}),
        ("Edit", {"file_path": str(path), "old_string": old, "new_string": new}),
    ],
)
CODEX = Program(
    name="codex",
    executable="codex",
    configure=_codex,
    asked=lambda prompt: [
        *("exec", "--dangerously-bypass-hook-trust"),
        *("--dangerously-bypass-approvals-and-sandbox", prompt),
    ],
    runs=lambda command: ("exec_command", {"cmd": command}),
    edits=lambda path, old, new: [
        (
            "exec_command",
            {
                "cmd": "apply_patch <<'PATCH'\n*** Begin Patch\n"
                f"*** Update File: {path.name}\n@@\n-    return {old}\n+    return {new}\n"
                "*** End Patch\nPATCH"
            },
        )
    ],
)
GEMINI_CLI = Program(
    name="gemini-cli",
    executable="gemini",
    configure=_gemini_cli,
    asked=lambda prompt: ["-m", "gemini-2.5-flash", "--yolo", "-p", prompt],
    runs=lambda command: ("run_shell_command", {"command": command, "description": "Run it"}),
    edits=lambda path, old, new: [
        (
            "replace",
            {
                "file_path": str(path),
                "instruction": "Round up",
                "old_string": old,
                "new_string": new,
            },
        )
    ],
)
OPENCODE = Program(
    name="opencode",
    executable="opencode",
    configure=_opencode,
    asked=lambda prompt: ["run", prompt],
    runs=lambda command: ("bash", {"command": command, "description": "Run it"}),
    edits=lambda path, old, new: [
        ("read", {"filePath": str(path)}),
        ("edit", {"filePath": str(path), "oldString": old, "newString": new}),
    ],
)
PROGRAMS: Final = (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE)
