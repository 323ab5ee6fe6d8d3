"""Hooks and the process behind them, as an agent runs them: processes of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ricordo_hook
from ricordo.coding_agents import resident
from ricordo.model.thread import Turn
from ricordo.wiring import open_memory
from tests.support.waiting import wait_until

SOURCES = Path(ricordo_hook.__file__).parents[1]
PATIENCE_SECONDS = 90.0
_NUDGES = 6
RUN = f"import sys;sys.path.append({str(SOURCES)!r});import ricordo_hook;ricordo_hook.main()"


class Home:
    """A home folder, with hooks that run on it."""

    command = (sys.executable, "-m", "ricordo")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path / "agents"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "RICORDO_HOME": str(path),
            "RICORDO_EMBEDDING_PROVIDER": "none",
        }

    def start_hook(
        self, agent: str, event: str, *, stdin: int = subprocess.PIPE, **given: Any
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", RUN, agent, event],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **{"env": self.environment, "cwd": self.path.parent, **given},
        )

    def hook(self, agent: str, event: str, payload: Mapping[str, Any] | bytes, **given: Any) -> str:
        """What a hook prints; it must end well and say nothing else."""
        content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with self.start_hook(agent, event, **given) as process:
            said, errors = process.communicate(content, timeout=PATIENCE_SECONDS)
        assert (process.returncode, errors) == (0, b"")
        return said.decode()

    def shown(self, agent: str, event: str, payload: Mapping[str, Any], **given: Any) -> str:
        """What a hook gives the model to read."""
        said = self.hook(agent, event, payload, **given)
        if not said:
            return ""
        answer = json.loads(said)["hookSpecificOutput"]
        assert answer["hookEventName"] == event
        return str(answer["additionalContext"])

    def ask(self, do: str, seconds: float = PATIENCE_SECONDS, **given: Any) -> dict[str, Any]:
        return ricordo_hook.ask(str(self.folder), {"v": 1, "do": do, **given}, seconds)

    def present(self) -> dict[str, Any] | None:
        return resident.answers(self.folder)

    def waiting(self) -> list[Path]:
        return sorted((self.folder / "spool").glob("*.event"))

    def wait_until_stored(self) -> None:
        """On a busy machine a hook may end before it has started the process: the next one does."""
        for _ in range(_NUDGES):
            with contextlib.suppress(AssertionError):
                return wait_until(lambda: not self.waiting(), PATIENCE_SECONDS / _NUDGES)
            self.wake()
        raise AssertionError(f"not stored: {self.waiting()}; {self.log()}")

    def wait_until_present(self) -> dict[str, Any]:
        """Wait for the process behind the hooks; what it says of itself."""
        for _ in range(_NUDGES):
            with contextlib.suppress(AssertionError):
                wait_until(self.present, PATIENCE_SECONDS / _NUDGES)
                found = self.present()
                assert found is not None
                return found
            self.wake()
        raise AssertionError(f"nobody is there; {self.log()}")

    def wake(self) -> None:
        self.hook("claude-code", "SessionStart", {"session_id": "wake", "cwd": "/"})

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.path / "logs" / "agents.log").read_text()
        return ""

    def start_resident(self, *arguments: str) -> "subprocess.Popen[bytes]":
        self.folder.mkdir(parents=True, exist_ok=True)
        code = (
            f"import sys; sys.path.insert(0, {str(SOURCES)!r});"
            " from ricordo.coding_agents.resident import main; main()"
        )
        return subprocess.Popen(
            [sys.executable, "-E", "-P", "-c", code, "--home", str(self.path), *arguments],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def stop(self) -> None:
        """End the resident, if there is one, however it stands."""
        found = None
        with contextlib.suppress(OSError):
            found = self.present()
        if found is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(found["pid"], signal.SIGKILL)
            wait_until(lambda: not is_running(found["pid"]), PATIENCE_SECONDS)

    def turns(self, thread: str, user: str = "me") -> Sequence[Turn]:
        with open_memory(home=self.path, run_jobs=False, embedding_provider="none") as memory:
            return memory.user(user).turns(thread, limit=100).items

    def threads(self, user: str = "me") -> list[str]:
        with open_memory(home=self.path, run_jobs=False, embedding_provider="none") as memory:
            return sorted(one.thread_id for one in memory.user(user).threads(limit=100).items)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return True


@contextlib.contextmanager
def hooked(path: Path) -> Iterator[Home]:
    home = Home(path)
    try:
        yield home
    finally:
        home.stop()


class Session:
    """A session of Claude Code, whose file grows."""

    def __init__(self, folder: Path, name: str, cwd: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.cwd = cwd
        self.path = folder / f"{name}.jsonl"
        self.payload = {
            "session_id": name,
            "transcript_path": str(self.path),
            "cwd": str(cwd),
        }
        self.said = 0

    def say(self, role: str, content: str) -> None:
        self.said += 1
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message["content"] = [{"type": "text", "text": content}]
            message["id"] = f"msg_{self.said}"
        record = {
            "type": role,
            "uuid": f"{self.name}-{self.said}",
            "sessionId": self.name,
            "cwd": str(self.cwd),
            "timestamp": f"2026-03-02T10:00:{self.said % 60:02d}.000Z",
            "message": message,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
