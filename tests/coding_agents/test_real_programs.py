"""The real coding agents with a scripted model: what they write is read, what we show they see."""

import re
from pathlib import Path

import pytest

from ricordo.coding_agents.transcripts.readers import read, sessions
from tests.coding_agents.programs import CHECK, PROGRAMS, Program, make_shop
from tests.coding_agents.recorded import TRANSCRIPTS
from tests.support.agent_models import AgentModelServer

pytestmark = [pytest.mark.slow, pytest.mark.requirement("agents.real")]
PINNED = Path(__file__).parents[2] / "requirements" / "agents.txt"

DECIDED = "Discounts are always rounded up, because the customer must never pay more."
DONE = "Done: discounts are rounded up, and the check passes."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_shop(tmp_path)
    return tmp_path


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
    said = [(one.role, one.content) for one in entries if one.role != "tool"]
    assert said == [("user", DECIDED), ("assistant", "I run the check first."), ("assistant", DONE)]
    calls = [one.call for one in entries if one.call is not None]
    assert (calls[0].command, calls[0].exit_code) == (CHECK, 1)
    assert (calls[0].error or "").endswith("total(999, 50) is 500, not 499")
    assert (str(home / "shop" / "price.py"),) in [call.files for call in calls]
    assert (calls[-1].command, calls[-1].exit_code, calls[-1].output) == (CHECK, 0, "1 passed")
