"""What becomes of two memories: the table of consolidation, row by row, without a model."""

from datetime import timedelta

import pytest

from ricordo import Event, Status
from ricordo.model.consolidation import PairAction
from tests.upkeep.consolidating.conftest import Tidied


@pytest.mark.requirement("upkeep.consolidate")
def test_the_newer_of_two_homes_supersedes_the_older(tidied: Tidied) -> None:
    old = tidied.say("User lives in Bekasi.")
    new = tidied.say("User lives in Jakarta.")
    decided = tidied.decide()
    assert (decided.kept, decided.replaced, decided.action) == (new, old, PairAction.SUPERSEDE)
    assert decided.reason == "contradicts what was known: another home"
    assert tidied.known == ["User lives in Jakarta."]
    closed = tidied.me.get(old)
    assert (closed.status, closed.valid_to) == (Status.SUPERSEDED, tidied.me.get(new).valid_from)
    last = tidied.me.history(old)[-1]
    assert (last.event, last.actor, last.new_ref) == (Event.SUPERSEDE, "system", new)
    assert last.reason == decided.reason


@pytest.mark.requirement("upkeep.consolidate")
def test_newer_is_what_became_true_later_not_what_was_stored_later(tidied: Tidied) -> None:
    now = tidied.clock()
    new = tidied.say("User lives in Jakarta.", valid_from=now)
    old = tidied.say("User lives in Bekasi.", valid_from=now - timedelta(days=9))
    assert (tidied.decide().kept, tidied.known) == (new, ["User lives in Jakarta."])
    assert tidied.me.get(old).valid_to == now


@pytest.mark.requirement("upkeep.consolidate")
def test_of_the_same_moment_the_one_stored_later_counts(tidied: Tidied) -> None:
    now = tidied.clock()
    tidied.say("User lives in Bekasi.", valid_from=now)
    new = tidied.say("User lives in Jakarta.", valid_from=now)
    assert (tidied.decide().kept, tidied.known) == (new, ["User lives in Jakarta."])


@pytest.mark.requirement("upkeep.consolidate")
def test_homes_under_two_themes_are_linked(tidied: Tidied) -> None:
    ids = (
        tidied.say("User lives in Bekasi.", theme="novel"),
        tidied.say("User lives in Jakarta.", theme="profile"),
    )
    decided = tidied.decide()
    assert decided.action is PairAction.LINK
    assert {decided.kept, decided.beside} == set(ids)
    assert decided.replaced is None
    assert len(tidied.known) == 2
    assert ids in tidied.related


@pytest.mark.requirement("upkeep.consolidate")
def test_what_says_more_takes_the_place_of_what_says_less(tidied: Tidied) -> None:
    old = tidied.say("User has a cat.")
    new = tidied.say("User has a cat named Momo.")
    decided = tidied.decide()
    assert (decided.action, decided.reason) == (PairAction.SUPERSEDE, "more specific")
    assert (decided.kept, decided.replaced) == (new, old)


@pytest.mark.requirement("upkeep.consolidate")
def test_what_says_less_later_is_merged_into_what_says_more(tidied: Tidied) -> None:
    old = tidied.say("User has a cat named Momo.")
    new = tidied.say("User has a cat.")
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, old, new)
    assert tidied.known == ["User has a cat named Momo."]
    last = tidied.me.history(new)[-1]
    assert (last.event, last.new_ref, last.reason) == (Event.MERGE, old, "says nothing new")
    # It began later than what takes its place, so it ends now.
    assert tidied.me.get(new).valid_to == tidied.clock()


@pytest.mark.requirement("upkeep.consolidate")
def test_of_two_that_say_the_same_the_older_stays(tidied: Tidied) -> None:
    old = tidied.say("User likes green tea.")
    tidied.say("User really likes green tea.")
    assert (tidied.decide().kept, tidied.known) == (old, ["User likes green tea."])


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    "better", [{"pinned": True, "importance": 1}, {"importance": 4}, {"recalls": 2}]
)
def test_of_two_that_say_the_same_the_weightier_stays(
    tidied: Tidied, better: dict[str, int]
) -> None:
    given = dict(better)
    recalls = given.pop("recalls", 0)
    old = tidied.say("User likes green tea.", importance=2)
    new = tidied.say("User really likes green tea.", **given)
    for _ in range(recalls):
        tidied.me.search("really", limit=1)
    tidied.memory.recall.accesses.flush()
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, new, old)


@pytest.mark.requirement("upkeep.consolidate")
def test_the_same_text_under_two_themes_stays_and_is_linked(tidied: Tidied) -> None:
    ids = (
        tidied.say("User likes tea.", theme="drinks"),
        tidied.say("User likes tea.", theme="food"),
    )
    decided = tidied.decide()
    assert (decided.action, decided.reason) == (PairAction.LINK, "neither may be taken away")
    assert ([item.id for item in tidied.items], tidied.related) == ([*ids], [ids])


ALIKE = "User drinks green tea with honey in the morning before work and reads the news"


@pytest.mark.requirement("upkeep.consolidate")
def test_what_is_much_alike_becomes_one(tidied: Tidied) -> None:
    text = f"{ALIKE} but only there and only then"
    tidied.say(text, importance=4)
    fuller = tidied.say(f"{text} at most")
    decided = tidied.decide(redundant_min=0.9)
    assert (decided.action, decided.reason) == (PairAction.MERGE, "says the same")
    assert (decided.kept, decided.similarity >= 0.9) == (fuller, True)


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{ALIKE} at 7", f"{ALIKE} at 9"),
        (f"{ALIKE} but not there", f"{ALIKE} but there"),
        (ALIKE, ALIKE.replace("User", "Ben")),
        (f"{ALIKE} briefly there", f"{ALIKE} quickly there"),
        (f"{ALIKE} from Rome to Paris", f"{ALIKE} from Paris to Rome"),
        ("User plays the piano after work", "User plays the guitar after work"),
        ("User plays the piano after work", "User plays the piano before work"),
    ],
)
def test_what_differs_in_what_counts_stays_and_is_linked(
    tidied: Tidied, one: str, other: str
) -> None:
    tidied.say(one)
    tidied.say(other)
    assert tidied.decide().action is PairAction.LINK
    assert tidied.known == [one, other]
    assert len(tidied.related) == 1


@pytest.mark.requirement("upkeep.consolidate")
def test_what_is_not_near_enough_to_be_linked_is_kept(tidied: Tidied) -> None:
    tidied.say("User plays the piano after work")
    tidied.say("User plays the guitar after work")
    before = tidied.related
    decided = tidied.decide(link_min=0.99)
    assert (decided.action, tidied.related) == (PairAction.KEEP, before)
    assert len(tidied.known) == 2


@pytest.mark.requirement("upkeep.consolidate")
def test_what_has_little_in_common_is_not_even_looked_at(tidied: Tidied) -> None:
    tidied.say("User owns a boat")
    tidied.say("User owns a boat")
    tidied.say("User plays chess on Sundays")
    assert tidied.consolidate(judge_min=0.0).pairs == 0


@pytest.mark.requirement("upkeep.consolidate")
def test_of_a_chain_each_memory_goes_once(tidied: Tidied) -> None:
    for name in ("", " named Momo", " named Momo with a bell"):
        tidied.say(f"User has a cat{name}")
    report = tidied.consolidate(judge_min=0.3)
    assert tidied.known == ["User has a cat named Momo with a bell"]
    assert sorted(one.replaced or 0 for one in report.decisions) == [1, 2]
    assert report.superseded == report.pairs == 2


@pytest.mark.requirement("upkeep.spares-pinned")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Bekasi.", "User lives in Jakarta."),
        ("User has a cat.", "User has a cat named Momo."),
    ],
)
def test_what_is_pinned_is_not_replaced(tidied: Tidied, old: str, new: str) -> None:
    pinned = tidied.say(old, pinned=True)
    tidied.say(new)
    before = tidied.me.get(pinned)
    assert tidied.decide().action is PairAction.LINK
    assert (tidied.me.get(pinned), tidied.known) == (before, [old, new])


@pytest.mark.requirement("upkeep.spares-pinned")
def test_what_is_pinned_is_not_merged_into_what_says_more(tidied: Tidied) -> None:
    tidied.say("User has a cat named Momo.")
    tidied.say("User has a cat.", pinned=True)
    assert tidied.decide().reason == "neither may be taken away"
    assert len(tidied.known) == 2


@pytest.mark.requirement("upkeep.spares-pinned")
def test_of_two_pinned_ones_both_stay(tidied: Tidied) -> None:
    tidied.say("User likes green tea.", pinned=True)
    tidied.say("User really likes green tea.", pinned=True)
    assert tidied.decide().action is PairAction.LINK
    assert len(tidied.known) == 2


@pytest.mark.requirement("upkeep.consolidate")
def test_two_keys_are_two_questions(tidied: Tidied) -> None:
    tidied.say("User lives in Bekasi.", key="home")
    tidied.say("User lives in Jakarta.", key="office")
    assert tidied.decide().action is PairAction.LINK
    assert len(tidied.known) == 2


@pytest.mark.requirement("upkeep.consolidate")
def test_what_ends_soon_does_not_take_the_place_of_what_lasts(tidied: Tidied) -> None:
    lasting = tidied.say("User lives in Bekasi.")
    soon = tidied.clock() + timedelta(days=2)
    tidied.say("User lives in Jakarta.", expires_at=soon)
    assert tidied.decide().action is PairAction.LINK
    assert tidied.me.get(lasting).status is Status.ACTIVE


@pytest.mark.requirement("upkeep.consolidate")
def test_what_others_see_is_merged_only_as_the_survivor(tidied: Tidied) -> None:
    tidied.memory.user("ben").add("User likes boats")
    shared = tidied.say("User really likes green tea.", tags=["shown"])
    own = tidied.say("User likes green tea.", importance=5, tags=["private"])
    tidied.me.link(shared, "ben")
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, shared, own)
    # Others must not learn of a memory that they never saw.
    assert (tidied.me.get(shared).tags, tidied.me.get(shared).importance) == (("shown",), 5)
    tidied.say("User really hates green tea.")
    assert tidied.decide().action is PairAction.LINK
    assert tidied.me.get(shared).status is Status.ACTIVE


@pytest.mark.requirement("upkeep.consolidate")
def test_the_survivor_takes_up_what_the_other_had_more_of(tidied: Tidied) -> None:
    kept = tidied.say("User has a cat named Momo.", tags=["pets", "home"])
    gone = tidied.say("User has a cat.", importance=4, tags=["home", "cats"])
    for text in ("named Momo", "cat", "cat"):
        tidied.clock.advance(hours=1)
        tidied.me.search(text)
    tidied.memory.recall.accesses.flush()
    counts = [tidied.me.get(one).access_count for one in (kept, gone)]
    tidied.consolidate()
    survivor = tidied.me.get(kept)
    assert (survivor.importance, survivor.tags) == (4, ("pets", "home", "cats"))
    assert survivor.access_count == sum(counts) > max(counts)
    update = tidied.me.history(kept)[-1]
    assert (update.event, update.actor) == (Event.UPDATE, "system")
    assert kept in [hit.id for hit in tidied.me.search("cats")]
