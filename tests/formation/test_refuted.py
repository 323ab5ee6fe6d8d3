"""What the user called wrong or outdated is not formed again from what was said before."""

import pytest

from ricordo import Action, Status
from ricordo.formation.consent import REFUTED
from tests.formation.conftest import Talking

pytestmark = pytest.mark.requirement("ratings.formation")


@pytest.mark.parametrize("verdict", ["wrong", "outdated"])
def test_the_same_from_before_stays_out_and_a_newer_word_counts(
    talking: Talking, verdict: str
) -> None:
    said_at = talking.clock()
    talking.form("I drive a Volvo")
    (item,) = talking.me.list()
    talking.clock.advance(days=1)
    talking.me.rate(item.id, verdict)
    talking.clock.advance(days=1)
    message = {"role": "user", "content": "I drive a Volvo", "at": said_at}
    talking.me.observe([message], thread="again")  # the same conversation, imported once more
    (decision,) = talking.me.form("again").decisions
    assert (decision.action, decision.reason) == (Action.IGNORE, REFUTED)
    assert talking.known == []
    talking.form("I drive a Volvo")  # the user says so now
    assert talking.known == ["User drives a Volvo."]


def test_what_only_an_agent_doubts_is_known_as_before(talking: Talking) -> None:
    talking.form("I drive a Volvo")
    (item,) = talking.me.list()
    talking.me.narrow(agent="bot").rate(item.id, "wrong")
    talking.form("I drive a Volvo", thread="again")
    assert [one.status for one in talking.me.list()] == [Status.ACTIVE]


def test_what_was_said_of_it_is_no_longer_quoted_as_current(talking: Talking) -> None:
    talking.form("I drive a Volvo")
    (item,) = talking.me.list()
    talking.me.rate(item.id, "wrong")
    (hit,) = talking.me.search_turns("Which car?", threshold=0)
    assert hit.superseded
    talking.me.rate(item.id, "withdrawn")
    (hit,) = talking.me.search_turns("Which car?", threshold=0)
    assert not hit.superseded
