"""Ratings: what users and agents say of a memory, what it does, and that it can be taken back."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ricordo
from ricordo import (
    IllegalTransition,
    InvalidValue,
    Memory,
    MemoryNotFound,
    NotOwner,
    Occupied,
    PermissionMissing,
    Status,
    Undoable,
    UserMemory,
    Verdict,
    limits,
    restore_backup,
)
from ricordo.recall.ranking import RATED_DOWN, RATED_UP
from ricordo.testing import ManualClock
from ricordo.tools import Tools
from tests.contract.conftest import on_sqlite
from tests.support.sharing import share
from tests.support.soundness import problems_of

TOLD = (
    "Lives in Jakarta",
    "Grew up in Bandung",
    "Works as a nurse in Surabaya",
    "Drinks green tea",
    "Goes to Lombok for the sea",
)
WHERE = "where does she live?"


@pytest.fixture
def told(ana: UserMemory) -> list[int]:
    return [one.id for one in ana.add_many(list(TOLD))]


def ranking(user: UserMemory, query: str = WHERE) -> list[tuple[int, float, Any]]:
    return [(hit.id, hit.score, hit.explanation) for hit in user.search(query, explain=True)]


def part(user: UserMemory, item_id: int, query: str = WHERE) -> dict[str, Any] | None:
    """What ratings did to a result."""
    explained = {hit.id: hit.explanation for hit in user.search(query, explain=True)}[item_id]
    found: dict[str, Any] | None = (explained or {}).get("ratings")
    return found


@pytest.mark.requirement("ratings.explained")
def test_what_helped_rises_a_little_and_says_so(ana: UserMemory, told: list[int]) -> None:
    before = {hit: score for hit, score, _ in ranking(ana)}
    item = ana.rate(told[1], "used", reason="I said where I am from", query="where is home?")
    (rating,) = item.ratings
    assert (rating.verdict, rating.by, rating.is_agent) == (Verdict.USED, "ana", False)
    assert (rating.reason, rating.query) == ("I said where I am from", "where is home?")
    assert ana.get(told[1]).ratings == item.ratings
    after = {hit: score for hit, score, _ in ranking(ana)}
    assert after.pop(told[1]) > before.pop(told[1])
    assert after == before  # of the others nothing changes
    shown = part(ana, told[1])
    assert shown is not None
    assert 0 < shown["log_odds"] < RATED_UP
    assert shown["rank_without"] >= [hit for hit, _, _ in ranking(ana)].index(told[1]) + 1
    change = ana.history(told[1])[-1]
    assert (change.event, change.actor, change.reason) == ("RATE", "ana", rating.reason)
    assert change.meta == {"verdict": "used"}


@pytest.mark.requirement("ratings.bounded")
def test_the_same_said_again_is_one_rating(
    ana: UserMemory, told: list[int], clock: ManualClock
) -> None:
    ana.rate(told[0], "used")
    once, revision = part(ana, told[0]), ana.revision()
    for _ in range(3):
        ana.rate(told[0], "used")
    assert (part(ana, told[0]), ana.revision()) == (once, revision)
    clock.advance(days=2)
    ana.rate(told[0], "used")  # the latest counts
    (rating,) = ana.get(told[0]).ratings
    shown = part(ana, told[0])
    assert once is not None and shown is not None
    assert (rating.at, shown["log_odds"]) == (clock(), once["log_odds"])


@pytest.mark.requirement("ratings.bounded")
def test_however_many_say_it_the_effect_is_bounded_and_fades(
    ana: UserMemory, told: list[int], clock: ManualClock
) -> None:
    felt = []
    for number in range(limits.MAX_RATINGS + 2):
        ana.narrow(agent=f"agent-{number}").rate(told[0], "used")
        if number in (0, 1, 2, limits.MAX_RATINGS):
            felt.append((part(ana, told[0]) or {})["log_odds"])
    steps = [later - earlier for earlier, later in zip([0, *felt], felt, strict=False)]
    assert 0 < steps[2] < steps[1] < steps[0]
    assert felt[-1] < RATED_UP
    assert len(ana.get(told[0]).ratings) == limits.MAX_RATINGS
    clock.advance(days=365)
    assert 0 < (part(ana, told[0]) or {})["log_odds"] < felt[-1]


@pytest.mark.requirement("ratings.trust")
def test_what_a_user_calls_wrong_was_never_so(ana: UserMemory, told: list[int]) -> None:
    item = ana.rate(told[0], "wrong", reason="that is my sister")
    assert (item.status, item.valid_to) == (Status.SUPERSEDED, item.valid_from)
    assert told[0] not in [hit.id for hit in ana.search(WHERE)]
    assert told[0] not in [one.id for one in ana.context(WHERE, modes="recall").memories]
    now = ana.get(told[1]).created_at + timedelta(seconds=1)
    assert told[0] not in [one.id for one in ana.list(as_of=now)]
    assert told[0] in [hit.id for hit in ana.search(WHERE, status="any")]


@pytest.mark.requirement("ratings.trust")
def test_what_a_user_calls_outdated_was_so_until_then(
    ana: UserMemory, told: list[int], clock: ManualClock
) -> None:
    clock.advance(days=30)
    item = ana.rate(told[0], "outdated")
    assert (item.status, item.valid_to) == (Status.SUPERSEDED, clock())
    clock.advance(days=1)
    assert told[0] not in [one.id for one in ana.list()]
    assert told[0] in [one.id for one in ana.list(as_of=clock() - timedelta(days=7))]
    assert told[0] not in [one.id for one in ana.list(as_of=clock())]
    ana.rate(told[0], "wrong")  # on second thoughts, never
    assert told[0] not in [one.id for one in ana.list(as_of=clock() - timedelta(days=7))]


@pytest.mark.requirement("ratings.undo")
@pytest.mark.parametrize("way", ["withdrawn", "used", "undo"])
@pytest.mark.parametrize("verdict", ["wrong", "outdated"])
def test_what_was_ended_comes_back_as_it_was(
    memory: Memory, ana: UserMemory, clock: ManualClock, verdict: str, way: str
) -> None:
    ends = clock() + timedelta(days=90)
    item_id = ana.add("Lives in Jakarta", valid_to=ends, pinned=True).id
    before = ana.get(item_id)
    clock.advance(hours=1)
    ana.rate(item_id, verdict)
    ana.rate(item_id, "outdated")
    assert ana.lineage(item_id).undoable is Undoable.REPLACEMENT
    clock.advance(hours=1)
    after = ana.undo(item_id) if way == "undo" else ana.rate(item_id, way)
    kept = [] if way != "used" else [Verdict.USED]
    assert [one.verdict for one in after.ratings] == kept
    same = {"updated_at": before.updated_at, "ratings": ()}
    assert replace(after, **same) == replace(before, last_accessed_at=after.last_accessed_at)
    assert problems_of(memory) == []


@pytest.mark.requirement("ratings.undo")
def test_taken_back_the_ranking_is_as_it_was(ana: UserMemory, told: list[int]) -> None:
    before = ranking(ana)
    bot, other = ana.narrow(agent="bot"), ana.narrow(agent="other")
    given = [(ana, 0, "wrong"), (bot, 1, "outdated"), (other, 1, "used"), (ana, 2, "used")]
    for user, place, verdict in given:
        user.rate(told[place], verdict)
    assert ranking(ana) != before
    for user, place, _ in given:
        user.rate(told[place], "withdrawn")
    assert ranking(ana) == before
    revision = ana.revision()
    assert ana.rate(told[0], "withdrawn").ratings == ()  # nothing to take back
    assert ana.revision() == revision


@pytest.mark.requirement("ratings.undo")
def test_a_place_that_was_taken_is_not_overwritten(ana: UserMemory) -> None:
    old = ana.add("Has a cat").id
    ana.rate(old, "wrong")
    new = ana.add("Has a cat").id  # the user says so again
    with pytest.raises(Occupied, match=f"memory {new} already has this text"):
        ana.rate(old, "withdrawn")
    assert [one.verdict for one in ana.get(old).ratings] == ["wrong"]


@pytest.mark.requirement("ratings.trust")
def test_what_an_agent_says_lowers_the_rank_alone(ana: UserMemory, told: list[int]) -> None:
    bot = ana.narrow(agent="bot")
    item = bot.rate(told[0], "wrong", reason="she said Bekasi")
    assert (item.status, item.valid_to) == (Status.ACTIVE, None)
    shown = part(ana, told[0])
    assert shown is not None
    assert -RATED_DOWN < shown["log_odds"] < 0
    assert [one.is_agent for one in item.ratings] == [True]
    ana.rate(told[0], "used")  # the user's word stands above it
    kept = part(ana, told[0])
    assert kept is not None
    assert kept["log_odds"] > 0
    bot.rate(told[0], "outdated")
    assert part(ana, told[0]) == kept


@pytest.mark.requirement("ratings.trust")
def test_an_agent_cannot_bring_back_what_the_user_refuted(ana: UserMemory, told: list[int]) -> None:
    ana.rate(told[0], "wrong")
    bot = ana.narrow(agent="bot")
    bot.rate(told[0], "withdrawn")
    bot.rate(told[0], "used")
    assert ana.get(told[0]).status is Status.SUPERSEDED
    with pytest.raises(PermissionMissing, match="the user said that memory"):
        bot.undo(told[0])
    ana.forget(told[0])
    with pytest.raises(PermissionMissing, match="only they can bring it back"):
        bot.restore(told[0])
    assert ana.restore(told[0]).status is Status.ACTIVE
    assert [one.verdict for one in ana.get(told[0]).ratings] == ["used"]


@pytest.mark.requirement("ratings.trust")
def test_a_tool_speaks_for_a_model_and_not_for_the_user(ana: UserMemory, told: list[int]) -> None:
    answer = Tools(ana).run("memory_rate", {"id": told[0], "verdict": "wrong"})
    assert answer.value == {"id": told[0], "verdict": "wrong", "status": "active"}
    (rating,) = ana.get(told[0]).ratings
    assert (rating.is_agent, rating.by) == (True, "ana")
    ana.rate(told[0], "used")
    assert len(ana.get(told[0]).ratings) == 2


@pytest.mark.requirement("ratings.formation")
def test_an_agent_does_not_bring_back_what_the_user_refuted(
    ana: UserMemory, told: list[int]
) -> None:
    ana.rate(told[0], "wrong")
    tools = Tools(ana)
    answer = tools.run("memory_add", {"content": "Lives in  jakarta"}).value
    assert answer["status"] == "turned_down"
    with pytest.raises(InvalidValue, match="do not add it again"):
        ana.narrow(agent="bot").add_many(["Lives in Jakarta"])
    assert tools.run("memory_add", {"content": "Drinks mate"}).value["status"] == "active"
    assert ana.add("Lives in Jakarta").is_new  # the user may change their mind


def test_a_new_text_of_a_key_is_unrated_until_that_is_undone(ana: UserMemory) -> None:
    item_id = ana.add("Bekasi", key="city").id
    rated = ana.rate(item_id, "used").ratings
    ana.add("Bogor", key="city")
    assert ana.get(item_id).ratings == ()
    assert ana.undo(item_id).ratings == rated


@on_sqlite
def test_what_cannot_be_rated(memory: Memory, ana: UserMemory, told: list[int]) -> None:
    with pytest.raises(InvalidValue, match="not one of: used, wrong, outdated, withdrawn"):
        ana.rate(told[0], "great")
    with pytest.raises(MemoryNotFound):
        ana.rate(12345, "used")
    with pytest.raises(MemoryNotFound):
        memory.user("ben").rate(told[0], "used")
    share(ana, told[0], "ben")
    with pytest.raises(NotOwner, match="shared with you"):
        memory.user("ben").rate(told[0], "used")
    ana.forget(told[0])
    with pytest.raises(IllegalTransition, match="restore it first"):
        ana.rate(told[0], "used")


@pytest.mark.requirement("ratings.isolated")
def test_ratings_stay_with_whose_memory_it_is(
    memory: Memory, ana: UserMemory, told: list[int]
) -> None:
    ben = memory.user("ben")
    share(ana, told[0], "ben")
    before = ranking(ben)
    ana.rate(told[0], "used", reason="private")
    assert ben.get(told[0]).ratings == ()
    assert ranking(ben) == before
    assert [change.reason for change in ben.history(told[0])] == [None] * len(ben.history(told[0]))


@pytest.mark.requirement("ratings.isolated")
def test_a_groups_ratings_are_its_members(memory: Memory) -> None:
    memory.create_group("payments", manager="ana")
    memory.set_member("payments", "ben", "write")
    memory.set_member("payments", "cleo", "read")
    ana, ben = (memory.user(name, group="payments") for name in ("ana", "ben"))
    item_id = ana.add("Refunds go through the ledger").id
    ana.rate(item_id, "used")
    ben.rate(item_id, "used")
    assert [one.by for one in ana.get(item_id).ratings] == ["ana", "ben"]
    cleo = memory.user("cleo")
    assert [one.by for one in cleo.get(item_id).ratings] == ["ana", "ben"]
    shown = part(cleo, item_id, "how do refunds go?")
    assert shown is not None
    assert shown["log_odds"] > 0
    with pytest.raises(PermissionMissing):
        memory.user("cleo", group="payments").rate(item_id, "wrong")
    with pytest.raises(NotOwner, match="naming the group"):
        ben_alone = memory.user("ben")
        ben_alone.rate(item_id, "wrong")
    assert ben.rate(item_id, "wrong").status is Status.SUPERSEDED
    assert ben.rate(item_id, "withdrawn").status is Status.ACTIVE


@pytest.mark.requirement("ratings.kept")
def test_ratings_are_exported_backed_up_and_erased(
    memory: Memory,
    ana: UserMemory,
    told: list[int],
    tmp_path: Path,
) -> None:
    ana.rate(told[0], "wrong", reason="never there")
    ana.rate(told[1], "used", query="where is home?")
    ana.narrow(agent="bot", thread="monday").rate(told[1], "outdated")
    before = [(item.status, item.valid_to, item.ratings) for item in ana.list(status="any")]
    ana.export(tmp_path / "ana.jsonl")
    memory.erase_user("ana")
    memory.import_file(tmp_path / "ana.jsonl")
    after = [(item.status, item.valid_to, item.ratings) for item in ana.list(status="any")]
    assert after == before
    assert ana.rate(told[0], "withdrawn").status is Status.ACTIVE


@pytest.mark.requirement("ratings.kept")
def test_ratings_are_in_backups(
    open_store: Callable[..., Memory], sqlite_url: str, tmp_path: Path
) -> None:
    memory = open_store(sqlite_url)
    ana = memory.user("ana")
    item_id = ana.add("Has a cat").id
    rated = ana.rate(item_id, "used").ratings
    memory.backup(tmp_path / "all.ricordo")
    restore_backup(tmp_path / "all.ricordo", tmp_path / "other.db")
    with ricordo.open(tmp_path / "other.db", run_jobs=False) as other:
        assert other.user("ana").get(item_id).ratings == rated


@pytest.mark.requirement("ratings.explained")
def test_ratings_can_be_turned_off(open_store: Callable[..., Memory], sqlite_url: str) -> None:
    ana = open_store(sqlite_url, ranking_off="ratings").user("ana")
    ids = [one.id for one in ana.add_many(list(TOLD))]
    before = ranking(ana)
    ana.rate(ids[0], "used")
    assert ranking(ana) == before
