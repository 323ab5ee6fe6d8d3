"""What was said and is no longer current is marked so, wherever turns are shown."""

from typing import Any

import pytest

from ricordo import UserMemory
from ricordo.model.context import Context

pytestmark = pytest.mark.requirement("recall.superseded_turns")

WINTER, SPRING, SUMMER = "2025-01-03T09:00:00Z", "2025-05-03T09:00:00Z", "2025-07-03T09:00:00Z"
QUESTION = "where do I live"


def tell(ana: UserMemory, content: str, at: str, thread: str, **more: Any) -> int:
    """Say something, and approve the memory that is formed from it."""
    ana.observe([{"role": "user", "content": content, "at": at, **more}], thread=thread)
    ana.form(thread)
    (proposal,) = ana.proposals()
    return ana.approve(proposal.id).id


def say(ana: UserMemory, content: str, *memories: str, at: str = WINTER, **more: Any) -> list[int]:
    """Say something of which these memories are kept."""
    name = content.lower()
    ana.observe([{"role": "user", "content": content, "at": at, "id": name}], thread="t")
    origin = {"thread_id": "t", "message_id": name, "valid_from": at, **more}
    return [ana.add(memory, **origin).id for memory in memories]


def marks(ana: UserMemory, said: str) -> list[tuple[str, str | None]]:
    """What of a turn is no longer current, and what is instead."""
    (hit,) = (hit for hit in ana.search_turns(said) if hit.content_snippet == said)
    return [(one.content, one.now) for one in hit.superseded]


@pytest.mark.parametrize("named", [{}, {"id": "m1"}])
def test_what_was_superseded_is_marked_until_that_is_undone(
    ana: UserMemory, named: dict[str, str]
) -> None:
    tell(ana, "I live in Lisbon.", WINTER, "winter", **named)
    assert [hit.superseded for hit in ana.search_turns(QUESTION)] == [()]
    new = tell(ana, "I moved to Turin.", SPRING, "spring")
    found = {hit.content_snippet: hit for hit in ana.search_turns(QUESTION)}
    (mark,) = found["I live in Lisbon."].superseded
    assert mark.to_dict() == {
        "id": mark.id,
        "content": "User lives in Lisbon.",
        "quote": "I live in Lisbon",
        "since": "2025-05-03T09:00:00.000000+00:00",
        "by": new,
        "now": "User moved to Turin.",
    }
    assert ana.get(mark.id).status == "superseded"
    assert found["I moved to Turin."].superseded == ()
    ana.undo(new)
    assert [hit.superseded for hit in ana.search_turns(QUESTION)] == [(), ()]


def test_a_prompt_never_shows_it_as_current(ana: UserMemory) -> None:
    tell(ana, "I live in Lisbon.", WINTER, "winter")
    new = tell(ana, "I moved to Turin.", SPRING, "spring")
    context = ana.context(QUESTION, modes="recall", threshold=0.0)
    line = (
        "- 3 January 2025, user: I live in Lisbon. [no longer current since 3 May 2025:"
        f" “User lives in Lisbon.”; now: “User moved to Turin.” #{new}]"
    )
    assert line in context.system.splitlines()
    assert f"User moved to Turin. #{new}" in context.system  # and so it is not quoted
    (mark,) = (one for quote in context.quotes for one in quote.superseded)
    assert (mark.by, mark.quote) == (new, "I live in Lisbon")
    # A turn of the conversation itself says so in its own words, whatever the prompt shows.
    marked = "I live in Lisbon.\n[no longer current since 3 May 2025: “I live in Lisbon”]"
    assert said(ana.context(thread="winter")) == [marked]
    ana.undo(new)
    assert said(ana.context(thread="winter")) == ["I live in Lisbon."]
    assert "no longer" not in ana.context(QUESTION, modes="recall", threshold=0.0).system


def said(context: Context) -> list[str]:
    return [one["content"] for one in context.messages if one["role"] == "user"]


def test_only_the_superseded_statement_of_a_turn_is_marked(ana: UserMemory) -> None:
    home, _ = say(ana, "I live in Lisbon and like tea", "Lives in Lisbon", "Likes tea")
    ana.add("Lives in Turin", supersedes=home)
    assert marks(ana, "I live in Lisbon and like tea") == [("Lives in Lisbon", "Lives in Turin")]
    (text,) = said(ana.context(thread="t"))
    assert text.endswith("\n[something said here is no longer current since 1 January 2026]")


def test_the_mark_tells_what_is_current_by_now(ana: UserMemory) -> None:
    (lisbon,) = say(ana, "I live in Lisbon", "Lives in Lisbon")
    turin = ana.add("Lives in Turin", supersedes=lisbon).id
    rome = ana.add("Lives in Rome", supersedes=turin).id
    assert marks(ana, "I live in Lisbon") == [("Lives in Lisbon", "Lives in Rome")]
    ana.forget(rome)
    assert marks(ana, "I live in Lisbon") == [("Lives in Lisbon", None)]
    ana.restore(rome)
    ana.add("Lives in Lisbon", supersedes=rome)
    assert marks(ana, "I live in Lisbon") == []  # what it says is current again


def test_an_update_by_key_supersedes_what_was_said(ana: UserMemory) -> None:
    say(ana, "I live in Lisbon", "Lives in Lisbon", key="home")
    say(ana, "I moved to Turin", "Lives in Turin", key="home", at=SPRING)
    say(ana, "I moved to Rome", "Lives in Rome", key="home", at=SUMMER)
    assert marks(ana, "I live in Lisbon") == [("Lives in Lisbon", "Lives in Rome")]
    assert marks(ana, "I moved to Turin") == [("Lives in Turin", "Lives in Rome")]
    assert marks(ana, "I moved to Rome") == []


def test_what_was_merged_is_current_until_its_place_is_taken(ana: UserMemory) -> None:
    (one,) = say(ana, "I live in Lisbon", "Lives in Lisbon")
    (other,) = say(ana, "My home is Lisbon", "Has a home in Lisbon")
    both = ana.merge([one, other], "Lives at home in Lisbon").id
    assert marks(ana, "I live in Lisbon") == marks(ana, "My home is Lisbon") == []
    ana.add("Lives in Turin", supersedes=both)
    assert marks(ana, "I live in Lisbon") == [("Lives in Lisbon", "Lives in Turin")]


def test_another_turn_of_the_same_time_is_not_marked(ana: UserMemory) -> None:
    tell(ana, "I live in Lisbon.", WINTER, "winter")
    ana.observe([{"role": "user", "content": "Lisbon is hot.", "at": WINTER}], thread="winter")
    tell(ana, "I moved to Turin.", SPRING, "spring")
    found = {hit.content_snippet: hit.superseded for hit in ana.search_turns("Lisbon")}
    assert found["I live in Lisbon."] and not found["Lisbon is hot."]
