"""Every example runs as a newcomer runs it, and says what was remembered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.frameworks import python_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

EXPECTED = {  # by file, a line that it prints only if all of it worked
    "langchain_tools.py": "remembered of ana: ['Ana is allergic to peanuts.']",
    "langgraph_agent.py": "remembered in travel: Ana wants to see the northern lights.",
    "agent_framework_agent.py": "conversations of ana: 2",
    "autogen_agent.py": "conversations of ana: ['tuesday', 'monday']",
    "crewai_crew.py": "remembered of ana: ['Ana wants to see the northern lights.']",
    "google_adk_agent.py": "conversations of ana: ['travel/tuesday', 'travel/monday']",
    "haystack_pipeline.py": "remembered of ana: ['Ana wants to see the northern lights.'],"
    " conversations: 2",
    "llama_index_chat.py": "conversations of ana: ['tuesday', 'monday']",
    "pydantic_ai_agent.py": "remembered of ana: ['Short answers']",
    "anthropic_memory_tool.py": "after undo: '# Trip\\n- to Lisbon\\n- by train'",
    "anthropic_tools.py": "remembered of ana: ['Ana is learning the cello.']",
    "openai_agents.py": "remembered of ana: ['Ana eats no meat.']",
    "openai_tools.py": "remembered in sports: Ana runs every morning.",
    "mcp_client.py": "remembered of ana: # Memory ## music - [1] Ana plays the cello.",
}

APART = {  # by file, the extra whose environment has what it needs
    "autogen_agent.py": "autogen",
    "crewai_crew.py": "crewai",
    "google_adk_agent.py": "google-adk",
    "haystack_pipeline.py": "haystack",
    "llama_index_chat.py": "llama-index",
}


LEAVE_FILES = ("crewai_crew.py",)  # in the home and temporary folders, as their frameworks do


def own_environment(home: Path, scratch: Path) -> dict[str, str]:
    """Nothing of whoever runs the tests: no settings, no keys, no way out of this machine."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    nowhere = "http://127.0.0.1:9"  # nothing listens there, and loopback goes past it
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere)
    return {
        **kept,
        **proxies,
        "NO_PROXY": "127.0.0.1,localhost",
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "RICORDO_EMBEDDING_DEADLINE_SECONDS": "60",  # however busy the machine is
        "HAYSTACK_TELEMETRY_ENABLED": "false",  # it would write into the home folder
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_TRACING_ENABLED": "false",
    }


@pytest.mark.slow
@pytest.mark.requirement("surfaces.examples")
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_the_example_runs_offline(name: str, tmp_path: Path) -> None:
    assert name in EXPECTED, f"say in EXPECTED which line {name} prints"
    folders = [tmp_path / place for place in ("elsewhere", "home", "scratch")]
    for folder in folders:
        folder.mkdir()
    elsewhere, home, scratch = folders
    if name in LEAVE_FILES:
        folders = [elsewhere]
    done = subprocess.run(
        [python_of(APART[name]) if name in APART else sys.executable, str(EXAMPLES / name)],
        cwd=elsewhere,
        env=own_environment(home, scratch),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert EXPECTED[name] in done.stdout.splitlines()
    assert [left for folder in folders for left in folder.iterdir()] == []


@pytest.mark.requirement("surfaces.examples")
def test_every_example_is_there_and_in_the_table() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in EXPECTED:
        assert f"| [{name}]({name}) |" in table
