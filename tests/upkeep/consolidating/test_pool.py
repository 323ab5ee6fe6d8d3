"""Which memories are looked at, and what they are held against."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from ricordo import Memory, limits
from ricordo.model.reports import PairAction
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage import items
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.upkeep import pairs
from ricordo.upkeep.pairs import read_pool
from tests.upkeep.consolidating.conftest import Tidied

pytestmark = pytest.mark.requirement("upkeep.pool")


def pooled(tidied: Tidied, changed_since: datetime | None = None) -> list[int]:
    with tidied.memory.database.read_all() as view:
        usual = view.now - timedelta(hours=limits.POOL_CHANGED_HOURS)
        return [item.id for item in read_pool(view, tidied.user, changed_since or usual)]


def recall(tidied: Tidied, item_id: int, content: str, times: int) -> None:
    for _ in range(times):
        assert tidied.me.search(content, limit=1)[0].id == item_id
    tidied.memory.recall.accesses.flush()


def test_changed_then_often_recalled_then_important(tidied: Tidied) -> None:
    important = [tidied.say(f"Topic {n} matters", importance=3) for n in range(2)]
    plain = [tidied.say(f"Matter {n} is small") for n in range(12)]
    recall(tidied, plain[0], "Matter 0 is small", 3)
    recall(tidied, plain[5], "Matter 5 is small", 2)
    recall(tidied, plain[7], "Matter 7 is small", 1)
    tidied.clock.advance(hours=73)
    fresh = [tidied.say(f"News {n}") for n in range(2)]
    # A tenth of 16, rounded up: the two most often recalled; the newest first of each kind.
    assert pooled(tidied) == [*reversed(fresh), plain[5], plain[0], *reversed(important)]


def test_changes_since_an_earlier_time_come_before_what_is_recalled(tidied: Tidied) -> None:
    start = tidied.clock()
    plain = [tidied.say(f"Matter {n} is small") for n in range(3)]
    tidied.clock.advance(days=20)
    assert pooled(tidied) == []  # what nobody recalled is not often recalled
    recall(tidied, plain[1], "Matter 1 is small", 1)
    assert pooled(tidied) == [plain[1]]
    assert pooled(tidied, start) == [*reversed(plain)]
    assert pooled(tidied, start + timedelta(hours=3)) == [plain[2], plain[1]]


def test_what_is_looked_at_is_open_ended_own_and_said_by_somebody(tidied: Tidied) -> None:
    now = tidied.clock()
    tidied.memory.user("ben").add("User likes plums", importance=5)
    for kind in ("insight", "summary"):
        tidied.say(f"Our own words: {kind}", type=kind)
    tidied.say("Archived", importance=5)
    tidied.me.archive(tidied.items[-1].id)
    tidied.say("Ended", valid_from=now - timedelta(days=9), valid_to=now - timedelta(days=2))
    tidied.say("Not begun", valid_from=now + timedelta(days=30))
    tidied.say("Expires", expires_at=now + timedelta(days=1))
    wanted = [
        tidied.say(f"Of type {kind}", type=kind)
        for kind in ("preference", "fact", "instruction", "episode", "other", "procedure")
    ]
    tidied.clock.advance(hours=40)
    assert sorted(pooled(tidied)) == wanted


def test_what_is_older_than_a_season_is_neither_looked_at_nor_held_against(tidied: Tidied) -> None:
    tidied.say("User lives in Bekasi.", importance=5)
    tidied.clock.advance(days=91)
    tidied.say("User lives in Jakarta.")
    assert len(pooled(tidied)) == 1
    assert tidied.consolidate().pairs == 0
    tidied.say("User lives in Bandung.")
    assert tidied.decide().kept == 3


def test_what_is_fresh_is_held_against_what_is_in_nobodys_pool(tidied: Tidied) -> None:
    old = tidied.say("User lives in Bekasi.", importance=1)
    tidied.clock.advance(days=60)
    new = tidied.say("User lives in Jakarta.")
    assert pooled(tidied) == [new]
    assert tidied.decide().replaced == old


def test_procedures_are_held_only_against_each_other(tidied: Tidied) -> None:
    text = "To brew tea, wait three minutes"
    tidied.say(text, type="fact")
    first = tidied.say(f"{text} now", type="procedure")
    assert tidied.consolidate().pairs == 0
    second = tidied.say(f"{text} still", type="procedure")
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, first, second)
    assert len(tidied.known) == 2


def test_what_belongs_to_everybody_is_left_alone(memory: Memory, clock: ManualClock) -> None:
    everybody = Tidied(memory, clock, GLOBAL_OWNER)
    everybody.say("User likes green tea.")
    everybody.say("User really likes green tea.")
    assert everybody.consolidate().pairs == 0
    assert len(everybody.known) == 2


@pytest.mark.requirement("upkeep.bounded")
def test_the_pool_and_the_pages_are_bounded(
    tidied: Tidied, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_POOLED_MEMORIES", 3)
    monkeypatch.setattr(items, "VECTOR_PAGE_ROWS", 4)
    tidied.me.add_many([{"content": f"Thing {n} of some kind"} for n in range(11)])
    cat = tidied.say("User has a cat.")
    tidied.me.add_many([{"content": f"Other {n} of some kind"} for n in range(6)])
    assert len(pooled(tidied)) == 3
    tidied.say("User has a cat named Momo.")
    steps: list[str] = []
    report = tidied.consolidate(steps.append, judge_min=0.6)
    # Nineteen vectors in pages of four: the cat is not on the page of what takes its place.
    assert cat in [one.replaced for one in report.decisions]
    # The search is not stopped in between, because the next turn would begin it anew.
    assert steps[0].endswith("near pairs of 3 memories")
    assert not any("near pairs" in step for step in steps[1:])


@pytest.mark.requirement("upkeep.bounded")
def test_without_vectors_so_many_are_compared_by_words(
    open_tidied: Callable[..., Tidied],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "BY_WORDS", 2)
    tidied = open_tidied(embedder=None, embedding_provider="none")
    for adverb in ("", "still ", "really "):
        tidied.say(f"User {adverb}has a cat called Momo.")
    tidied.say("Newer matter")
    tidied.say("Latest news")
    assert tidied.consolidate().pairs == 0
    monkeypatch.setattr(pairs, "BY_WORDS", 3)
    assert tidied.consolidate().merged == 1


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("index_cache_mb", [64, 0])
def test_what_waits_for_its_vector_is_compared_by_words(
    open_tidied: Callable[..., Tidied], index_cache_mb: int
) -> None:
    class Later(WordEmbedder):
        is_local = False

    embedder = Later()
    tidied = open_tidied(embedder=embedder, index_cache_mb=index_cache_mb)
    tidied.say("User has a cat called Momo at home.")
    tidied.memory.run_jobs()
    made = embedder.texts
    new = tidied.say("User has a cat called Momo at home in Bekasi.")
    assert (tidied.decide().kept, embedder.texts) == (new, made)
