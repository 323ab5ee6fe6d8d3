"""The table of conflicts, by rules and with a model in between."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Action, Event, Status
from tests.formation.conftest import Talking, extracted, judged
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("formation.resolve")


def test_a_contradiction_supersedes_with_dates_and_reason(talking: Talking) -> None:
    talking.form("I love coffee")
    (old,) = talking.me.list()
    report = talking.form("I hate coffee")
    (new,) = talking.me.list()
    assert report.decisions[0].action in (Action.REPLACE, Action.UPDATE)
    assert report.decisions[0].target_id == old.id
    closed = talking.me.list(status="superseded").items[0]
    assert closed.content == old.content
    assert closed.valid_to == new.valid_from
    change = next(
        one
        for one in talking.me.changes(limit=1000)
        if one.event in (Event.SUPERSEDE, Event.UPDATE)
    )
    assert change.reason
    as_then = talking.me.list(as_of=old.valid_from + timedelta(seconds=1))
    assert [item.content for item in as_then] == [old.content]
    talking.me.undo(new.id)
    assert talking.known == [old.content]


@pytest.mark.requirement("formation.flip-flop")
def test_flip_flop_in_one_hour_ends_with_what_was_said_last(talking: Talking) -> None:
    for text in ("I love coffee", "I hate coffee", "I love coffee", "I hate coffee"):
        talking.clock.advance(minutes=12)
        talking.form(text)
    assert len(talking.known) == 1
    assert "hate" in talking.known[0] or "dislike" in talking.known[0]
    closed = talking.me.list(status="superseded", limit=100).items
    assert len(closed) == 3
    assert all(item.valid_to is not None and item.valid_from < item.valid_to for item in closed)


@pytest.mark.requirement("formation.flip-flop")
def test_an_older_statement_never_takes_the_place_of_a_newer_one(talking: Talking) -> None:
    earlier = talking.clock()
    talking.form("I hate coffee", thread="later")
    message = {"role": "user", "content": "I love coffee", "at": earlier}
    talking.me.observe([message], thread="earlier")
    report = talking.me.form("earlier")
    assert [one.action for one in report.decisions] == [Action.IGNORE]
    assert len(talking.known) == 1
    assert "love" not in talking.known[0]
    same_moment = {"role": "user", "content": "I love coffee", "at": talking.clock()}
    talking.me.observe([same_moment], thread="same")
    talking.me.form("same")  # not strictly newer
    assert "love" not in talking.known[0]


@pytest.mark.requirement("formation.resolve")
def test_the_model_decides_what_lies_in_between(doubter: Talking) -> None:
    old_text, new = "User paints small boats on weekends.", "User paints large ships on weekdays."
    for verdict, action, known in (
        ("contradiction", Action.REPLACE, [new]),
        ("refinement", Action.REPLACE, [new]),
        ("same", Action.IGNORE, [old_text]),
        ("different", Action.ADD, [old_text, new]),
    ):
        one = doubter.other(verdict)
        old = one.me.add(old_text, theme="life")
        one.clock.advance(days=1)
        one.server.answer(extracted((new, "paint large ships on weekdays")))
        one.server.answer(judged(verdict))
        report = one.form("i paint large ships on weekdays")
        assert [decision.action for decision in report.decisions] == [action]
        assert one.known == known
        if action is Action.REPLACE:
            closed = one.me.get(old.id)
            assert (closed.status, closed.valid_to) == (Status.SUPERSEDED, one.clock())
            (change,) = [
                change for change in one.me.history(old.id) if change.event is Event.SUPERSEDE
            ]
            assert change.reason == f"because of {verdict}"
            one.me.undo(old.id)
            assert one.known == [old_text]


def test_an_answer_to_the_same_key_updates(reader: Talking) -> None:
    for place in ("Acme", "Globex"):
        reader.server.answer(
            extracted((f"User works at {place}.", f"work at {place}"), key="employer")
        )
        reader.form(f"i work at {place}")
    assert reader.known == ["User works at Globex."]
    (item,) = reader.me.list()
    assert item.key == "employer"
    assert [old.content for old in reader.me.list(status="superseded")] == ["User works at Acme."]


@pytest.mark.parametrize(
    ("known", "said", "content"),
    [
        ("User uses Bun.", "i've changed from Bun to Node", "User uses Node."),
        ("Pengguna memakai Bun.", "saya pindah dari Bun ke Node", "Pengguna memakai Node."),
    ],
)
def test_what_a_switch_names_as_left_is_superseded(
    reader: Talking, known: str, said: str, content: str
) -> None:
    old = reader.me.add(known, theme="tools")
    other = reader.me.add("Ben uses Bun.", theme="tools")
    reader.clock.advance(days=1)
    reader.server.answer(extracted((content, said)))
    reader.server.answer_with(lambda _body: judged(*["different"] * 9))
    (decision,) = reader.form(said).decisions
    assert (decision.action, decision.target_id) == (Action.REPLACE, old.id)
    assert decision.reason == "contradicts what was known"
    assert reader.known == ["Ben uses Bun.", content]
    assert reader.me.get(old.id).status is Status.SUPERSEDED
    assert reader.me.get(other.id).status is Status.ACTIVE


@pytest.mark.requirement("formation.shared")
def test_a_contradicted_shared_memory_is_unlinked_for_that_user_only(doubter: Talking) -> None:
    owner = doubter.memory.user("ben")
    shared = owner.add("The office opens at nine.")
    for viewer in ("ana", "cem"):
        share(owner, shared.id, viewer)
    doubter.clock.advance(days=1)
    doubter.server.answer(extracted(("The office opens at ten.", "office opens at ten")))
    doubter.server.answer_with(lambda _body: judged("contradiction"))
    report = doubter.form("our office opens at ten now")
    assert [one.action for one in report.decisions] == [Action.UNLINK]
    assert doubter.known == ["The office opens at ten."]
    assert [item.id for item in owner.list()] == [shared.id]
    assert [item.id for item in doubter.memory.user("cem").list()] == [shared.id]


@pytest.mark.requirement("formation.races")
@pytest.mark.parametrize("question", [0, 1], ids=["reading", "judging"])
def test_what_was_added_meanwhile_is_not_added_twice(doubter: Talking, question: int) -> None:
    """The model's answer arrives after somebody else has stored the same."""
    doubter.me.add("User plays the old piano at home.")
    doubter.clock.advance(days=1)
    new = "User plays the new oboe at home."

    def meddle() -> None:
        if len(doubter.server.prompts) == question + 1:
            doubter.me.add(new, theme="music")

    doubter.server.before_answer = meddle
    doubter.server.answer(extracted((new, "play the new oboe at home")))
    doubter.server.answer_with(lambda _body: judged(*["different"] * 10))
    report = doubter.form("i play the new oboe at home")
    assert [one.action for one in report.decisions] == [Action.IGNORE]
    assert doubter.known.count(new) == 1


def test_without_vectors_words_decide(open_talking: Callable[..., Talking]) -> None:
    talking = open_talking(embedder=None, embedding_provider="none")
    talking.form("I love coffee")
    assert talking.form("I love coffee").count(Action.IGNORE) == 1
    talking.form("I hate coffee")
    assert len(talking.known) == 1
