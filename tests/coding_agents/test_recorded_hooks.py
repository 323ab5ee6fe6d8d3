"""Hooks driven with what the real programs gave them, and what the next session is shown."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ricordo_hook
from ricordo.coding_agents.capture import thread_of
from ricordo.coding_agents.installation import commands, opencode_plugin
from ricordo.coding_agents.transcripts.readers import read, sessions
from ricordo.wiring import open_memory
from tests.coding_agents.hooked import PATIENCE_SECONDS, Home, Session, hooked
from tests.coding_agents.recorded import PROJECT, PROMPTS, RECORDED_IN, TRANSCRIPTS, lay_out
from tests.coding_agents.test_transcripts import cursor_file
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.requirement("agents.hooks")]
FOLDER = Path(__file__).parent
OF_FILES = ("claude-code", "codex", "gemini-cli")


@pytest.fixture
def home(own_home: Path) -> Iterator[Home]:
    with hooked(own_home) as one:
        yield one


def payloads(agent: str, user_home: Path) -> list[dict[str, Any]]:
    """What the program gave its hooks, in order, with its folders where they are here."""
    folder = FOLDER / "payloads" / TRANSCRIPTS[agent].name
    found = []
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8").replace("/home/ana", str(user_home))
        found.append(json.loads(text))
    assert found
    return found


def stored(home: Home, thread: str) -> list[str]:
    return [turn.content for turn in home.turns(thread) if turn.role == "user"]


@pytest.mark.parametrize("agent", OF_FILES)
def test_what_a_program_really_gives_is_understood(home: Home, tmp_path: Path, agent: str) -> None:
    lay_out(agent, tmp_path)
    known = ricordo_hook.EVENTS[agent]
    for payload in payloads(agent, tmp_path):
        event = payload["hook_event_name"]
        said = home.hook(agent, event, payload)
        if event not in known:
            assert said == ""
        elif said:
            assert known[event] in ("start", "prompt")
            answer = json.loads(said)["hookSpecificOutput"]
            assert set(answer) == {"hookEventName", "additionalContext"}
    home.wait_until_stored()
    found = sessions(agent, {}, tmp_path)
    assert found
    for session in found:
        thread = thread_of(agent, session.session_id)
        entries = list(read(agent, session.path, session.session_id))
        turns = home.turns(thread)
        assert [turn.role for turn in turns] == [entry.role for entry in entries]
    assert set(PROMPTS) <= {text for name in home.threads() for text in stored(home, name)}
    with open_memory(home=home.path, run_jobs=False, embedding_provider="none") as memory:
        assert {one.project_id for one in memory.user("me").threads().items} == {PROJECT}


@pytest.mark.slow
def test_what_opencode_really_gives_its_plugin_is_understood(home: Home, tmp_path: Path) -> None:
    node = shutil.which("node")  # scripts/services.sh installs it
    assert node is not None
    place = lay_out("opencode", tmp_path)
    plugin = tmp_path / "ricordo.mjs"
    plugin.write_text(opencode_plugin(commands(home.path, with_server=False)))
    events = FOLDER / "payloads" / TRANSCRIPTS["opencode"].name / "events.jsonl"
    given = events.read_text(encoding="utf-8").replace(RECORDED_IN, str(tmp_path / "shop"))

    def run(lines: str) -> list[str]:
        done = subprocess.run(
            [node, str(FOLDER / "opencode_host.mjs"), str(plugin), str(tmp_path / "shop")],
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_SECONDS,
            env={**home.environment, "HOME": str(tmp_path), "XDG_DATA_HOME": str(place.parent)},
        )
        assert done.stderr == ""
        added: list[str] = json.loads(done.stdout)
        return added

    run(given)
    home.wait_until_stored()
    texts = [text for name in home.threads() for text in stored(home, name)]
    assert set(PROMPTS) <= set(texts)
    home.ask("drain")
    later = json.dumps({"hook": "system", "input": {"sessionID": "ses_later"}})
    wait_until(lambda: any("cents" in text for text in run(later)), PATIENCE_SECONDS)


@pytest.mark.parametrize("agent", OF_FILES)
def test_the_next_session_is_shown_what_the_last_one_said(
    home: Home, tmp_path: Path, agent: str
) -> None:
    lay_out(agent, tmp_path)
    given = payloads(agent, tmp_path)
    last = next(one for one in reversed(given) if one["hook_event_name"] == "SessionEnd")
    home.hook(agent, "SessionEnd", last)
    home.wait_until_stored()
    home.ask("drain")
    start = next(one for one in given if one["hook_event_name"] == "SessionStart")
    next_one = {**start, "session_id": "another", "source": "startup"}

    def shown() -> bool:
        return "cents" in home.shown(agent, "SessionStart", next_one)

    wait_until(shown, PATIENCE_SECONDS)
    elsewhere = {**next_one, "cwd": str(tmp_path)}
    assert "cents" not in home.shown(agent, "SessionStart", elsewhere)


def test_cursor_is_served_as_its_documentation_says(home: Home, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    records = [
        {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}
        for text in ("Totals are shown without cents", "And run the tests")
    ]
    path = cursor_file(tmp_path, "shop", *records)
    given: dict[str, Any] = {
        "conversation_id": "s1",
        "generation_id": "g1",
        "cursor_version": "3.20",
        "workspace_roots": [str(tmp_path / "shop")],
        "transcript_path": str(path),
    }
    environment = {**home.environment, "CURSOR_VERSION": "3.20", "HOME": str(tmp_path)}

    def hook(event: str, **more: Any) -> dict[str, Any]:
        payload = {**given, "hook_event_name": event, **more}
        said = home.hook("cursor", event, payload, env=environment)
        return json.loads(said) if said else {}

    assert hook("sessionStart", session_id="s1") == {}
    assert hook("beforeSubmitPrompt", prompt="Totals are shown without cents") == {}
    assert hook("stop", status="completed", loop_count=0, transcript_path=None) == {}
    assert hook("sessionEnd", session_id="s1", reason="completed") == {}
    home.wait_until_stored()
    assert len(home.turns("cursor:s1")) == 2
    later = {"conversation_id": "s2", "session_id": "s2"}
    wait_until(lambda: hook("sessionStart", **later), PATIENCE_SECONDS)
    shown = hook("sessionStart", **later)
    assert set(shown) == {"additional_context"}
    assert "cents" in shown["additional_context"]
    assert ricordo_hook.said("cursor", "beforeSubmitPrompt", "Known") == json.dumps(
        {"continue": True, "additional_context": "Known"}
    )


def test_the_brief_is_noted_for_when_nothing_runs_and_gone_when_the_project_is_off(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    session = Session(tmp_path / "transcripts", "s1", tmp_path / "shop")
    session.say("user", "We use pnpm, because of the workspaces")
    session.say("assistant", "I use pnpm then.")
    home.hook("claude-code", "Stop", session.payload)
    home.wait_until_stored()
    home.ask("stop")
    wait_until(lambda: list((home.folder / "briefs").glob("*.txt")), PATIENCE_SECONDS)
    (noted,) = (home.folder / "briefs").iterdir()
    assert "pnpm" in noted.read_text()
    assert noted.stat().st_mode & 0o077 == 0
    other = {**session.payload, "session_id": "s2", "source": "startup"}
    assert "pnpm" in home.shown("claude-code", "SessionStart", other)
    done = subprocess.run(
        [*home.command, "agents", "off", str(session.cwd)],
        env=home.environment | {"PYTHONPATH": str(Path(ricordo_hook.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "is off" in done.stdout
    assert not noted.exists()
    home.wait_until_present()
    assert home.shown("claude-code", "SessionStart", other) == ""
    session.say("user", "Nobody keeps this")
    home.hook("claude-code", "Stop", session.payload)
    home.wait_until_stored()
    home.ask("drain")
    assert stored(home, "claude-code:s1") == ["We use pnpm, because of the workspaces"]


def test_it_works_on_postgresql(home: Home, tmp_path: Path, postgres_url: str) -> None:
    home.path.mkdir()
    (home.path / "agents.toml").write_text(f'user = "ana"\nurl = "{postgres_url}"\n')
    session = Session(tmp_path / "transcripts", "s1", tmp_path)
    session.say("user", "We use pnpm")
    home.hook("claude-code", "Stop", session.payload)
    home.wait_until_stored()
    with open_memory(postgres_url, run_jobs=False, embedding_provider="none") as memory:
        turns = memory.user("ana").turns("claude-code:s1").items
    assert [turn.content for turn in turns] == ["We use pnpm"]
    assert not (home.path / "ricordo.db").exists()
    home.ask("stop")
    wait_until(lambda: home.present() is None, PATIENCE_SECONDS)
