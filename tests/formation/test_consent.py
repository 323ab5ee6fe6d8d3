"""What waits for the user: proposals, the say on them, and what needs to be said twice."""

from collections.abc import Callable

import pytest

from ricordo import (
    Action,
    AlreadyDecided,
    Event,
    InvalidValue,
    ProposalKind,
    ProposalNotFound,
    ProposalState,
    Proposed,
    Source,
    UnknownField,
)
from tests.formation.conftest import Talking

pytestmark = pytest.mark.requirement("formation.consent")


def consents(talking: Talking) -> list[dict[str, object]]:
    return [
        {"item": change.item_id, "by": change.actor, "reason": change.reason, **change.meta}
        for change in talking.me.changes(limit=1000)
        if change.event is Event.CONSENT
    ]


def test_what_is_sensitive_is_proposed_and_not_stored(talking: Talking) -> None:
    report = talking.form("I live in Bekasi")
    assert talking.known == []
    assert not talking.me.search("Bekasi").results
    (proposal,) = talking.me.proposals()
    assert proposal.content is not None
    assert "Bekasi" in proposal.content
    assert proposal.quote == "I live in Bekasi"
    assert (proposal.kind, proposal.fields) == (ProposalKind.CONSENT, ("city",))
    assert (proposal.expires_at - proposal.created_at).days == 7
    assert [one.action for one in report.decisions] == [Action.PROPOSE]
    assert consents(talking)[0]["consent"] == "proposed"


def test_a_please_is_no_request_to_remember_what_is_private(talking: Talking) -> None:
    talking.form(
        "山登りが好きです。連絡は+49 1545 6285763までお願いします。隣の人がまたうるさいです。"
    )
    assert talking.known == ["山登りが好きです。"]
    (proposal,) = talking.me.proposals()
    assert proposal.fields == ("identifiers",)
    talking.form("私は糖尿病です。覚えておいてください。")
    assert "私は糖尿病です。" in talking.known


def test_an_approved_proposal_becomes_a_memory_of_when_it_was_said(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    said_at = talking.clock()
    talking.clock.advance(days=2)
    (proposal,) = talking.me.proposals()
    added = talking.me.narrow(actor="ben").approve(proposal.id, reason="she said yes")
    item = talking.me.get(added.id)
    assert item.content == proposal.content
    assert item.valid_from == said_at
    assert item.thread_id == "monday"
    decided = talking.me.proposals(state="approved").items[0]
    assert (decided.content, decided.quote) == (None, None)
    assert (decided.item_id, decided.decided_by) == (added.id, "ben")
    assert decided.decided_at == talking.clock()
    steps = consents(talking)
    assert [step["consent"] for step in steps] == ["proposed", "approved", "approved"]
    assert steps[1]["item"] == proposal.id
    assert steps[2] | {"item": added.id, "by": "ben", "reason": "she said yes"} == steps[2]


def test_a_rejected_proposal_is_forgotten_and_not_made_again(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    rejected = talking.me.reject(proposal.id, reason="private")
    assert (rejected.state, rejected.content, rejected.quote) == (
        ProposalState.REJECTED,
        None,
        None,
    )
    report = talking.form("I live in Bekasi")
    assert talking.proposed == []
    assert [one.reason for one in report.decisions] == ["turned down before"]
    assert "Bekasi" not in talking.rows("proposals")
    assert consents(talking)[-1] | {"consent": "rejected", "by": "ana"} == consents(talking)[-1]


def test_a_proposal_lapses_after_seven_days(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    talking.clock.advance(days=7)
    assert talking.me.proposals().items == ()  # at once, before any job has run
    assert [one.content for one in talking.me.proposals(state="expired")] == [None]
    with pytest.raises(AlreadyDecided, match="expired"):
        talking.me.approve(proposal.id)
    talking.run_jobs()
    assert "Bekasi" not in talking.rows("proposals")
    assert consents(talking)[-1]["consent"] == "expired"
    assert talking.form("I live in Bekasi").count(Action.PROPOSE) == 1  # it may be asked again


def test_deciding_twice_or_about_nothing_is_refused(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    talking.me.approve(proposal.id)
    for decide in (talking.me.approve, talking.me.reject):
        with pytest.raises(AlreadyDecided, match="approved"):
            decide(proposal.id)
        with pytest.raises(ProposalNotFound):
            decide(10_000)
        with pytest.raises(InvalidValue):
            decide(0)
        with pytest.raises(ProposalNotFound):
            getattr(talking.memory.user("ben"), decide.__name__)(proposal.id)
    with pytest.raises(InvalidValue, match="state"):
        talking.me.proposals(state="maybe")
    assert len(talking.known) == 1


def test_the_same_is_proposed_once_and_something_newer_in_its_place(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    assert proposal.signals == 2
    talking.form("I live in Turin")
    assert [content and "Turin" in content for content in talking.proposed] == [True]


def test_what_was_given_with_a_memory_holds_once_it_is_approved(talking: Talking) -> None:
    given = {"pinned": True, "importance": 4, "tags": ("bali",), "theme": "trips"}
    proposed = talking.me.narrow(run="r1").add(
        "I have diabetes", source="conversation", valid_to="2030-01-31", **given
    )
    assert isinstance(proposed, Proposed) and proposed.proposal_id is not None
    item = talking.me.get(talking.me.approve(proposed.proposal_id).id)
    assert {name: getattr(item, name) for name in given} == given
    assert item.valid_to is not None
    assert (item.valid_to.date().isoformat(), item.run_id) == ("2030-01-31", "r1")


def test_approving_updates_what_is_known(talking: Talking) -> None:
    talking.form("Remember that I live in Bekasi.")
    talking.form("I live in Turin")
    (proposal,) = talking.me.proposals()
    talking.me.approve(proposal.id)
    assert len(talking.known) == 1
    assert "Turin" in talking.known[0]
    old = talking.me.list(status="superseded").items[0]
    assert "Bekasi" in old.content
    assert old.valid_to is not None


@pytest.mark.requirement("formation.corroboration")
def test_a_wish_about_tone_is_stored_when_said_twice(talking: Talking) -> None:
    talking.form("I prefer short answers")
    assert talking.known == []
    (waiting,) = talking.me.proposals()
    assert waiting.kind is ProposalKind.CORROBORATION
    talking.me.form("monday")  # the same turn is no second sign
    assert talking.known == []
    talking.form("I prefer short answers", thread="tuesday")
    assert len(talking.known) == 1
    assert talking.proposed == []
    (item,) = talking.me.list()
    assert any(
        step["consent"] == "said again" and step["item"] == item.id for step in consents(talking)
    )


def test_the_operator_says_what_is_sensitive(open_talking: Callable[..., Talking]) -> None:
    talking = open_talking(sensitive_fields="health")
    talking.form("I live in Bekasi")
    assert len(talking.known) == 1
    with pytest.raises(UnknownField, match="shoe_size"):
        open_talking(sensitive_fields="health,shoe_size")


def test_proposals_are_of_one_user_and_paged(talking: Talking) -> None:
    talking.form("I live in Bekasi", "I am allergic to peanuts", "My name is Ana")
    assert talking.memory.user("ben").proposals().items == ()
    first = talking.me.proposals(limit=2)
    assert first.next_cursor is not None
    rest = talking.me.proposals(limit=2, cursor=first.next_cursor)
    assert len({one.id for one in (*first, *rest)}) == 3
    assert talking.memory.erase_user("ana").removed["proposals"] == 3


def test_asking_to_remember_it_settles_what_was_proposed(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    talking.form("Remember that I live in Bekasi.")
    assert talking.proposed == []
    (decided,) = talking.me.proposals(state="approved")
    assert (decided.id, decided.item_id) == (proposal.id, talking.me.list().items[0].id)
    assert talking.form("I live in Bekasi").count(Action.IGNORE) == 1  # and is not asked again
    talking.form("I live in Lisbon")
    talking.form("Remember that I live in Turin.")
    assert (talking.proposed, len(talking.known)) == ([], 1)


def test_approving_what_is_overtaken_is_refused_and_closes_it(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    talking.clock.advance(minutes=1)
    talking.me.add("User lives in Turin.", key="home_city")
    with pytest.raises(AlreadyDecided, match="newer"):
        talking.me.approve(proposal.id)
    assert talking.proposed == []
    assert talking.known == ["User lives in Turin."]
    assert [one.id for one in talking.me.proposals(state="expired")] == [proposal.id]


def test_what_waits_itself_does_not_take_the_place_of_an_explicit_request(talking: Talking) -> None:
    talking.say("Remember that I live in Lisbon.", "I live in Bekasi")
    talking.me.form("monday")
    assert [("Lisbon" in content) for content in talking.known] == [True]
    assert [bool(content and "Bekasi" in content) for content in talking.proposed] == [True]


@pytest.mark.requirement("formation.explicit")
def test_what_the_user_asks_to_be_remembered_is_stored_whole(talking: Talking) -> None:
    asked = {
        "Remember that I live in Bekasi.": "User lives in Bekasi.",
        "Remember that my sister Mia lives in Turin.": "User's sister Mia lives in Turin.",
        "Remember that I work at Acme in Berlin.": "User works at Acme in Berlin.",
        "Ingat bahwa adik saya Budi tinggal di Solo.": "Adik pengguna Budi tinggal di Solo.",
    }
    for number, (said, stored) in enumerate(asked.items()):
        one = talking.other(f"user-{number}")
        one.form(said)
        (item,) = one.me.list()
        assert item.content == stored
        assert (item.source, item.confidence) == (Source.USER_EXPLICIT, 90)
        assert one.proposed == []
