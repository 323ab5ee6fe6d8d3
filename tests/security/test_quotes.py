"""What a memory quotes: what it rests on, and nothing of another category."""

import json

import pytest

from ricordo import Memory, UserMemory
from ricordo.formation.evidence import cut_quote, quote_for_others

pytestmark = [pytest.mark.requirement("formation.quotes"), pytest.mark.both_databases]


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def say(ana: UserMemory, text: str) -> None:
    ana.observe([{"role": "user", "content": text}], thread="one")
    ana.form("one")


@pytest.mark.parametrize(
    "said",
    [
        "Remember that I work at Bosch and that I have cancer.",
        "Remember that I work at Bosch and I have cancer.",
        "Please remember: I work at Bosch, and also that I have cancer.",
        "Ingat bahwa saya bekerja di Bosch dan bahwa saya mengidap kanker.",
    ],
)
def test_what_slips_into_a_request_is_proposed_and_not_quoted(ana: UserMemory, said: str) -> None:
    say(ana, said)
    (work,) = ana.list()
    assert (work.theme, work.source) == ("work", "user_explicit")
    assert work.source_context is not None
    assert "Bosch" in work.source_context
    shown = json.dumps([ana.narrow(categories=["work"]).get(work.id).to_dict(), work.to_dict()])
    assert "cancer" not in shown
    assert "kanker" not in shown
    (waiting,) = ana.proposals()
    assert waiting.fields == ("health",)
    assert "Bosch" not in f"{waiting.content} {waiting.quote}"
    ana.approve(waiting.id)
    assert len(list(ana.list())) == 2


def test_what_is_asked_for_by_itself_is_stored_as_before(ana: UserMemory) -> None:
    say(ana, "Remember that I have cancer.")
    (item,) = ana.list()
    assert item.source == "user_explicit"


def test_an_agent_reads_no_quote_that_tells_of_something_else(ana: UserMemory) -> None:
    quote = "I work at Bosch and that I have cancer, my pin is 4821"
    told = ana.add("Works at Bosch", theme="work", source_context=quote, key="employer")
    aside = ana.add(
        "Leads a team", theme="work", source_context="I lead a team and my sister is Cleo"
    )
    vague = ana.add("Starts at nine", theme="work", source_context="because I have cancer")
    ana.add("Works at Bosch in Ulm", theme="work", key="employer")
    agent = ana.narrow(agent="planner", categories=["work"])
    shown = [
        [agent.get(one.id).to_dict() for one in (told, aside, vague)],
        [item.to_dict() for item in agent.list(status="any")],
        [item.to_dict() for item in agent.get_many([told.id, aside.id])],
        agent.query(None, "where do they work", returns="full").to_dict(),
        [change.to_dict() for change in agent.history(told.id)],
        agent.lineage(told.id).to_dict(),
        agent.pin(aside.id).to_dict(),
    ]
    for word in ("cancer", "4821", "Cleo"):
        assert word not in json.dumps(shown), word
    assert agent.get(aside.id).source_context == "I lead a team"
    assert ana.get(vague.id).source_context == "because I have cancer"  # hers


def test_a_quote_is_cut_between_clauses() -> None:
    quote = "I work at Bosch, my brother plays chess and I like tea"
    assert cut_quote("User likes tea.", quote) == "I like tea"
    assert cut_quote("User works at Bosch.", quote) == "I work at Bosch"
    assert cut_quote("ユーザーは猫が好き", quote) == quote
    assert quote_for_others("User is well known.", None, quote) is None
