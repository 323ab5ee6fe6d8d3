"""The table of conflicts, by rules and with a model in between."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Action, Event, Memory, Status
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking


def extracted(*entries: tuple[str, str], **more: object) -> dict[str, object]:
    """A model's answer: what to store, and the words it rests on."""
    return {
        "memories": [
            {
                "content": content,
                "quote": quote,
                "type": "fact",
                "theme": "life",
                "key": "",
                "importance": 2,
                **more,
            }
            for content, quote in entries
        ]
    }


def judged(*verdicts: str) -> dict[str, object]:
    return {
        "verdicts": [
            {"pair": number, "verdict": verdict, "reason": f"because of {verdict}"}
            for number, verdict in enumerate(verdicts, start=1)
        ]
    }


WithModel = Callable[..., Talking]


@pytest.mark.requirement("formation.resolve")
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


@pytest.mark.requirement("formation.resolve")
def test_what_formation_replaced_can_be_undone(talking: Talking) -> None:
    talking.form("I love coffee")
    (old,) = talking.known
    talking.form("I hate coffee")
    (new,) = talking.me.list()
    talking.me.undo(new.id)
    assert talking.known == [old]


@pytest.mark.requirement("formation.resolve")
def test_the_same_in_other_words_is_ignored(talking: Talking) -> None:
    talking.form("I love coffee")
    before = talking.me.revision()
    report = talking.form("i love coffee!!")
    assert [one.action for one in report.decisions] == [Action.IGNORE]
    assert talking.me.revision() == before


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
def test_corrected_in_the_same_conversation_only_the_last_counts(talking: Talking) -> None:
    talking.say("Remember that I live in Bekasi.", "Remember that I live in Turin.")
    talking.me.form("monday")
    assert len(talking.known) == 1
    assert "Turin" in talking.known[0]


@pytest.mark.requirement("formation.resolve")
@pytest.mark.parametrize(
    ("verdict", "action", "active"),
    [
        ("contradiction", Action.REPLACE, 1),
        ("refinement", Action.REPLACE, 1),
        ("same", Action.IGNORE, 1),
        ("different", Action.ADD, 2),
    ],
)
def test_the_model_decides_what_lies_in_between(
    with_model: WithModel, model_server: ModelServer, verdict: str, action: Action, active: int
) -> None:
    talking = with_model(judge_min=0.1)
    old = talking.me.add("User paints small boats on weekends.", theme="life")
    talking.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    model_server.answer(extracted((new, "paint large ships on weekdays")))
    model_server.answer(judged(verdict))
    report = talking.form("i paint large ships on weekdays")
    assert [one.action for one in report.decisions] == [action]
    assert len(talking.known) == active
    if action is Action.REPLACE:
        assert talking.known == [new]
        closed = talking.me.get(old.id)
        assert closed.status is Status.SUPERSEDED
        assert closed.valid_to == talking.clock()
        (change,) = [one for one in talking.me.history(old.id) if one.event is Event.SUPERSEDE]
        assert change.reason == f"because of {verdict}"
        talking.me.undo(old.id)
        assert talking.known == ["User paints small boats on weekends."]


@pytest.mark.requirement("formation.resolve")
def test_all_doubtful_pairs_are_judged_in_one_question(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(judge_min=0.1)
    talking.me.add("User paints small boats on weekends.")
    talking.me.add("User repairs old clocks at night.")
    talking.clock.advance(days=1)
    model_server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User repairs new clocks at noon.", "repair new clocks at noon"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["different"] * 10))
    talking.form("i paint large ships on weekdays, and i repair new clocks at noon")
    assert len(model_server.asked) == 2
    assert len(talking.known) == 4


@pytest.mark.requirement("formation.resolve")
def test_an_answer_to_the_same_key_updates(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model()
    for place in ("Acme", "Globex"):
        model_server.answer(
            extracted((f"User works at {place}.", f"work at {place}"), key="employer")
        )
        talking.form(f"i work at {place}")
    assert talking.known == ["User works at Globex."]
    (item,) = talking.me.list()
    assert item.key == "employer"
    assert [old.content for old in talking.me.list(status="superseded")] == ["User works at Acme."]


@pytest.mark.requirement("formation.shared")
def test_a_contradicted_shared_memory_is_unlinked_for_that_user_only(
    with_model: WithModel, model_server: ModelServer, clock: ManualClock
) -> None:
    talking = with_model(judge_min=0.1)
    owner = talking.memory.user("ben")
    shared = owner.add("The office opens at nine.")
    for viewer in ("ana", "cem"):
        owner.link(shared.id, viewer)
    clock.advance(days=1)
    model_server.answer(extracted(("The office opens at ten.", "office opens at ten")))
    model_server.answer_with(lambda _body: judged("contradiction"))
    report = talking.form("our office opens at ten now")
    assert [one.action for one in report.decisions] == [Action.UNLINK]
    assert talking.known == ["The office opens at ten."]
    assert [item.id for item in owner.list()] == [shared.id]
    assert [item.id for item in talking.memory.user("cem").list()] == [shared.id]


@pytest.mark.requirement("formation.races")
def test_what_was_added_meanwhile_is_not_added_twice(
    with_model: WithModel, model_server: ModelServer
) -> None:
    """The model's answer arrives after somebody else has stored the same."""
    talking = with_model()
    model_server.answer(extracted(("User plays the oboe.", "play the oboe")))
    model_server.before_answer = lambda: talking.me.add("User plays the oboe.", theme="music")
    report = talking.form("i play the oboe")
    assert [one.action for one in report.decisions] == [Action.IGNORE]
    assert talking.known == ["User plays the oboe."]


@pytest.mark.requirement("formation.resolve")
def test_without_vectors_words_decide(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(backend_url, embedder=None, embedding_provider="none")
    talking = Talking(memory, clock)
    talking.form("I love coffee")
    assert talking.form("I love coffee").count(Action.IGNORE) == 1
    talking.form("I hate coffee")
    assert len(talking.known) == 1
