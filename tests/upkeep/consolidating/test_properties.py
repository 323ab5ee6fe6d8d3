"""Whatever is stored, consolidation leaves nothing twice, loses nothing and comes to rest."""

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Item, Memory, NothingToUndo, Status
from ricordo.formation.comparing.likeness import keep_the_order
from ricordo.formation.comparing.refinement import says_nothing_new
from ricordo.model.vocabulary import ON_PURPOSE, Source
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from tests.upkeep.consolidating.conftest import Tidied

_users = itertools.count()


@dataclass(frozen=True)
class Said:
    """Something to store."""

    content: str
    theme: str
    pinned: bool
    importance: int
    source: Source

    @property
    def more(self) -> dict[str, Any]:
        """All but the text and the theme."""
        return {"pinned": self.pinned, "importance": self.importance, "source": self.source}


statements = st.builds(
    lambda adverb, verb, thing, more: f"User {adverb}{verb} {thing}{more}".strip(),
    st.sampled_from(["", "really ", "still ", "does not "]),
    st.sampled_from(["likes", "loves", "hates", "has", "lives in", "plays"]),
    st.sampled_from(["green tea", "black tea", "Bekasi", "Jakarta", "2 cats", "3 cats"]),
    st.sampled_from(["", " now", " with Ana", " every morning", " for 10 years"]),
)
sayings = st.lists(
    st.builds(
        Said,
        statements,
        st.sampled_from(["general", "home"]),
        st.booleans(),
        st.integers(1, 5),
        st.sampled_from([Source.USER_EXPLICIT, Source.CONVERSATION]),
    ),
    max_size=8,
)


def say_the_same(one: str, other: str) -> bool:
    return (
        says_nothing_new(one, other) and says_nothing_new(other, one) and keep_the_order(one, other)
    )


def may_go(going: Item, staying: Item) -> bool:
    on_purpose = going.source in ON_PURPOSE and staying.source not in ON_PURPOSE
    return going.theme == staying.theme and not going.pinned and not on_purpose


def near(one: str, other: str) -> bool:
    vectors = WordEmbedder().embed([one, other])
    return float(vectors[0] @ vectors[1]) > 0.501


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.requirement("upkeep.undo")
@pytest.mark.requirement("upkeep.spares-pinned")
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=sayings)
def test_nothing_twice_nothing_lost_and_then_rest(memory: Memory, said: list[Said]) -> None:
    clock = memory.database.clock
    assert isinstance(clock, ManualClock)
    tidied = Tidied(memory, clock, f"user-{next(_users)}")
    for saying in said:
        tidied.say(saying.content, theme=saying.theme, **saying.more)
    before = {item.id: item for item in tidied.items}
    tidied.consolidate()
    left = tidied.items
    for one, other in itertools.combinations(left, 2):
        both_stay = not may_go(one, other) and not may_go(other, one)
        twice = say_the_same(one.content, other.content) and near(one.content, other.content)
        assert both_stay or not twice
    present = {item.id for item in left}
    assert present.issuperset(item.id for item in before.values() if item.pinned)
    revision = tidied.me.changes().revision
    assert tidied.consolidate().decisions == ()
    assert (tidied.items, tidied.me.changes().revision) == (left, revision)
    for item_id in sorted(before.keys() - present):
        replacement = tidied.me.lineage(item_id).successor
        assert replacement is not None
        assert may_go(before[item_id], replacement)
        assert tidied.me.get(item_id).status is Status.SUPERSEDED
        assert tidied.me.undo(item_id).status is Status.ACTIVE
    assert {item.id for item in tidied.items} == before.keys()
    for item in tidied.items:
        then = before[item.id]
        assert (item.content, item.tags, item.valid_to) == (then.content, then.tags, then.valid_to)
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("upkeep.undo")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=sayings)
def test_undone_in_reverse_everything_is_as_it_was(memory: Memory, said: list[Said]) -> None:
    clock = memory.database.clock
    assert isinstance(clock, ManualClock)
    tidied = Tidied(memory, clock, f"user-{next(_users)}")
    for place, saying in enumerate(said):
        tidied.say(saying.content, theme=saying.theme, tags=[f"tag-{place}"], **saying.more)
    before = [{**item.to_dict(), "updated_at": None} for item in tidied.items]
    done = [one for one in tidied.consolidate().decisions if one.replaced is not None]
    for place, one in enumerate(reversed(done)):
        named = one.kept if place % 2 else one.replaced
        assert tidied.me.undo(named or 0).id == one.replaced
    assert [{**item.to_dict(), "updated_at": None} for item in tidied.items] == before
    assert tidied.consolidate().merged == 0
    for one in done:
        with pytest.raises(NothingToUndo):
            tidied.me.undo(one.replaced or 0)
