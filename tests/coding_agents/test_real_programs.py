"""The real coding agents with a scripted model: what they write is read, what we show they see."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ricordo
import ricordo_hook
from ricordo.coding_agents.rules import FOLDER
from ricordo.coding_agents.transcripts.readers import read, sessions
from ricordo.testing import Reply
from tests.coding_agents.programs import CHECK, CLAUDE_CODE, CODEX, PROGRAMS, Program, make_shop
from tests.coding_agents.recorded import PROJECT, TRANSCRIPTS
from tests.support.agent_models import AgentModelServer
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.requirement("agents.real")]
PINNED = Path(__file__).parents[2] / "requirements" / "agents.txt"

CAPTURED = {
    "claude-code": ("user", "assistant", "tool", "tool", "tool", "tool", "assistant"),
    "codex": ("user", "assistant", "tool", "tool", "tool", "assistant"),
    "gemini-cli": ("user", "assistant", "tool", "tool", "tool", "assistant"),
    "opencode": ("user", "assistant", "tool", "tool", "tool", "tool", "assistant"),
}
"""Who spoke in the first session: some of the programs read a file before they change it."""

DECIDED = "Discounts are always rounded up, because the customer must never pay more."
DONE = "Done: discounts are rounded up, and the check passes."


def own_command(home: Path, *arguments: str) -> str:
    """Our own command, with that home folder."""
    command = str(Path(sys.executable).with_name("ricordo"))
    ran = subprocess.run(
        [command, *arguments],
        cwd=home / "shop",
        env={**os.environ, **surroundings(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def surroundings(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "RICORDO_HOME": str(home / ".ricordo"), "RICORDO_USER": "ana"}


def noted_briefs(home: Path) -> list[str]:
    folder = home / ".ricordo" / FOLDER / "briefs"
    return [path.read_text(encoding="utf-8") for path in folder.glob("*.txt")]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    make_shop(tmp_path)
    yield tmp_path
    with contextlib.suppress(OSError):  # there may be none
        stop = {"v": ricordo_hook.VERSION, "do": "stop"}
        ricordo_hook.ask(str(tmp_path / ".ricordo" / FOLDER), stop, PATIENCE_SECONDS)


def test_the_programs_are_those_that_were_recorded() -> None:
    versions = {line.rpartition("@")[2] for line in PINNED.read_text("utf-8").split()}
    recorded = {re.split(r"-(?=\d)", folder.name)[1] for folder in TRANSCRIPTS.values()}
    assert versions == recorded


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_a_program_writes_of_its_session_is_read(program: Program, home: Path) -> None:
    with AgentModelServer() as server:
        program.script_repair(server, home, DONE)
        assert DONE in program.ask(DECIDED, home, server)
    (session,) = sessions(program.name, {}, home)
    assert session.folder == str(home / "shop")
    entries = list(read(program.name, session.path, session.session_id))
    assert tuple(one.role for one in entries) == CAPTURED[program.name]
    said = [(one.role, one.content) for one in entries if one.role != "tool"]
    assert said == [("user", DECIDED), ("assistant", "I run the check first."), ("assistant", DONE)]
    calls = [one.call for one in entries if one.call is not None]
    assert (calls[0].command, calls[0].exit_code) == (CHECK, 1)
    assert (calls[0].error or "").endswith("total(999, 50) is 500, not 499")
    assert (str(home / "shop" / "price.py"),) in [call.files for call in calls]
    assert (calls[-1].command, calls[-1].exit_code, calls[-1].output) == (CHECK, 0, "1 passed")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_second_session_is_told_what_the_first_decided(program: Program, home: Path) -> None:
    with AgentModelServer() as server:
        own_command(home, "agents", "install", program.name, "--yes")
        program.script_repair(server, home, DONE)
        program.ask(f"The check fails. We decided: {DECIDED}", home, server, surroundings(home))
        first = len(server.asked)
        assert "rounded up" not in json.dumps(server.asked[0]["tools"])
        wait_until(lambda: "always rounded up" in own_command(home, "list", "--project", PROJECT))
        # What is shown where the process behind the hooks is too slow to answer in time.
        wait_until(lambda: any("always rounded up" in brief for brief in noted_briefs(home)))
        imported = json.loads(own_command(home, "import", program.name, "--json"))
        assert (imported["turns"], imported["duplicates"]) == (0, len(CAPTURED[program.name]))
        server.answer("They are rounded up.")
        program.ask("Say how the discounts are computed.", home, server, surroundings(home))
        (asked,) = server.asked[first:]
    assert "Discounts are always rounded up" in json.dumps(asked)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_agent_goes_on_where_memory_is_broken(program: Program, home: Path) -> None:
    own_command(home, "agents", "install", program.name, "--yes")
    shutil.rmtree(home / ".ricordo")
    (home / ".ricordo").write_text("in the way", encoding="utf-8")
    with AgentModelServer() as server:
        server.answer(DONE)
        assert DONE in program.ask(DECIDED, home, server, surroundings(home))


@pytest.mark.parametrize("program", (CLAUDE_CODE, CODEX), ids=lambda program: program.name)
def test_two_sessions_at_once_are_two_conversations(program: Program, home: Path) -> None:
    own_command(home, "agents", "install", program.name, "--yes")
    prompts = [f"This is session number {number}." for number in range(2)]

    def heard(body: dict[str, Any]) -> str:
        whole = json.dumps(body)
        return "I heard: " + next(prompt for prompt in prompts if prompt in whole)

    with AgentModelServer() as server, ThreadPoolExecutor(2) as both:
        server.answer_with(heard)
        list(both.map(lambda said: program.ask(said, home, server, surroundings(home)), prompts))
    own_command(home, "agents", "drain")
    with ricordo.open(home=home / ".ricordo", run_jobs=False) as memory:
        ana = memory.user("ana", project=PROJECT)
        told = {
            tuple(turn.content for turn in ana.turns(thread.thread_id)) for thread in ana.threads()
        }
    assert told == {(prompt, f"I heard: {prompt}") for prompt in prompts}


def test_a_session_that_was_killed_is_stored_as_far_as_it_went_and_goes_on(home: Path) -> None:
    own_command(home, "agents", "install", CLAUDE_CODE.name, "--yes")
    tool, arguments = CLAUDE_CODE.runs("touch begun; until [ -e over ]; do sleep 0.1; done")
    with AgentModelServer() as server:
        server.enqueue(Reply("I wait.", tool, json.dumps(arguments)))
        with CLAUDE_CODE.start(DECIDED, home, server, surroundings(home)) as running:
            wait_until((home / "shop" / "begun").exists)
            os.killpg(running.pid, signal.SIGKILL)
        (home / "shop" / "over").touch()  # its command outlives it
        told = json.loads(own_command(home, "import", CLAUDE_CODE.name, "--json"))
        assert told["turns"] == 2
        server.answer(DONE)
        CLAUDE_CODE.ask(DECIDED, home, server, surroundings(home), "--continue")
    own_command(home, "agents", "drain")
    with ricordo.open(home=home / ".ricordo", run_jobs=False) as memory:
        ana = memory.user("ana", project=PROJECT)
        (thread,) = ana.threads()
        said = [turn.content for turn in ana.turns(thread.thread_id) if turn.role != "tool"]
    assert said == [DECIDED, "I wait.", DECIDED, DONE]
