"""An audit reports what is stored twice, contradicts itself, or should never have been stored."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import InvalidValue, Memory, UserMemory
from ricordo.formation import audit as audit_module
from ricordo.formation.audit import audit, junk_reason
from ricordo.model.reports import AuditReport, Findings
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.tables import item_index
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite

pytestmark = pytest.mark.requirement("formation.audit")

HONEY = "User likes green tea with honey in the morning and reads the news"


def audited(
    memory: Memory, user_id: str = "ana", limit: int = 100, redundant_min: float = 0.92
) -> AuditReport:
    return audit(memory.database, memory.recall, user_id, limit=limit, redundant_min=redundant_min)


def ids(findings: Findings) -> list[tuple[int, ...]]:
    assert findings.count >= len(findings.listed)
    return [finding.ids for finding in findings.listed]


def test_a_clean_store_is_clean(memory: Memory, ana: UserMemory) -> None:
    for content in ("User likes coffee.", "User likes tea.", "User has a cat.", "User has a dog."):
        ana.add(content)
    for user_id, stored in (("ana", 4), ("nobody", 0)):
        report = audited(memory, user_id)
        assert report.memories == stored
        for kind in ("duplicates", "contradictions", "junk", "unverified", "expired"):
            assert getattr(report, kind) == Findings()


def test_the_same_text_in_two_themes_is_a_duplicate(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, embedder=None, embedding_provider="none")
    ana = memory.user("ana")
    first = ana.add("User likes tea.", theme="drinks").id
    second = ana.add("user likes  TEA", theme="food").id
    ana.archive(ana.add("User likes tea.", theme="old").id)
    report = audited(memory)
    assert ids(report.duplicates) == [(first, second)]
    assert report.duplicates.listed[0].reason == "same text in another theme"
    assert not report.contradictions.is_complete


def test_nearly_the_same_words_are_a_duplicate(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    first = ana.add(HONEY, theme="drinks").id
    second = ana.add(f"{HONEY} daily", theme="food").id
    ana.add("User owns a yellow boat.")
    (found,) = audited(memory, redundant_min=0.9).duplicates.listed
    assert found.ids == (first, second)
    assert found.similarity is not None
    assert 0.9 <= found.similarity < 1
    assert audited(memory, redundant_min=0.999).duplicates.count == 0
    for other in ("at 7", "at 8", "never"):
        ben.add(f"{HONEY} {other}")
    assert audited(memory, "ben", redundant_min=0.8).duplicates.count == 0


def test_contradictions_under_one_theme(memory: Memory, ana: UserMemory) -> None:
    likes = ana.add("User likes coffee.").id
    hates = ana.add("User hates coffee.").id
    ana.add("User likes tea.")
    ana.add("User dislikes coffee.", theme="elsewhere")
    here = ana.add("User lives in Bekasi.", theme="home").id
    there = ana.add("User lives in Turin.", theme="home").id
    memory.user("ben").add("User hates tea.")
    before, revision = ana.list(status="any"), ana.revision()
    report = audited(memory)
    found = {finding.ids: finding.reason for finding in report.contradictions.listed}
    assert found == {(likes, hates): "opposite taste", (here, there): "another home"}
    assert (report.user_id, report.memories, report.contradictions.count) == ("ana", 6, 2)
    assert report.contradictions.is_complete
    assert report.duplicates.count == 0
    assert (ana.list(status="any"), ana.revision()) == (before, revision)
    assert report.to_dict()["contradictions"]["listed"][0]["reason"] == "opposite taste"


def test_what_was_never_verified(memory: Memory, ana: UserMemory, clock: ManualClock) -> None:
    doubtful = ana.add("User may like jazz.", confidence=40).id
    heard = ana.add("User plays chess.", source="conversation").id
    confirmed = ana.add("User plays the flute.", source="conversation").id
    ana.add("User told about tennis.", source="user_explicit")
    assert ids(audited(memory).unverified) == [(doubtful,)]
    clock.advance(days=91)
    ana.verify(confirmed)
    report = audited(memory)
    assert ids(report.unverified) == [(doubtful,), (heard,)]
    assert "91 days" in report.unverified.listed[1].reason
    ana.verify(doubtful)
    assert ids(audited(memory).unverified) == [(heard,)]


@pytest.mark.requirement("ratings.trust")
def test_what_an_agent_doubts_is_for_the_user_to_settle(memory: Memory, ana: UserMemory) -> None:
    bot = ana.narrow(agent="planner")
    first, second = (ana.add(text).id for text in ("User plays chess.", "User has a cat."))
    for item_id in (first, second):
        bot.rate(item_id, "outdated")
    found = audited(memory).unverified
    assert ids(found) == [(first,), (second,)]
    assert found.listed[0].reason == "called outdated by the agent planner"
    bot.verify(first)  # its own doubts are not for it to settle
    assert ids(audited(memory).unverified) == [(first,), (second,)]
    assert ana.verify(first).ratings == ()
    ana.rate(second, "used")
    assert audited(memory).unverified.count == 0


def test_what_has_expired_but_is_still_there(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    ends = ana.add("User likes coffee.", expires_at=clock() + timedelta(days=1)).id
    ana.add("User hates coffee.")
    assert audited(memory).contradictions.count == 1
    clock.advance(days=2)
    report = audited(memory)
    assert ids(report.expired) == [(ends,)]
    assert (report.memories, report.contradictions.count) == (1, 0)


def test_lists_are_bounded_and_counts_up_to_a_maximum(
    memory: Memory, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.add_many([f"Is this question number {number}?" for number in range(9)])
    ana.add("User likes tea.")
    report = audited(memory, limit=3)
    assert (report.junk.count, len(report.junk.listed)) == (9, 3)
    assert ids(report.junk) == sorted(ids(report.junk))
    assert report.junk.listed[0].reason == "question"
    assert report.junk.is_complete
    monkeypatch.setattr(audit_module, "MAX_COUNTED_FINDINGS", 5)
    monkeypatch.setattr(audit_module, "MAX_EXAMINED_PAIRS", 0)
    report = audited(memory)
    assert report.junk.count == 5
    assert not report.junk.is_complete
    assert not report.contradictions.is_complete


@on_sqlite
def test_a_value_out_of_range_is_refused(memory: Memory) -> None:
    values: list[dict[str, Any]] = [
        *({"limit": limit} for limit in (0, 1001, True, "5")),
        {"redundant_min": 1.5},
    ]
    for wrong in values:
        with pytest.raises(InvalidValue):
            audited(memory, **wrong)


@pytest.mark.slow
def test_many_memories_are_compared_in_blocks(memory: Memory, ana: UserMemory) -> None:
    ana.add_many([f"User visited town{n} by train{n} with friend{n}." for n in range(150)])
    likes = ana.add("User likes coffee.").id
    ana.add_many([f"User cooked dish{n} using herb{n} for guest{n}." for n in range(150)])
    hates = ana.add("User hates coffee.").id
    report = audited(memory)
    assert report.memories == 302
    assert ids(report.contradictions) == [(likes, hates)]


@pytest.mark.parametrize("why", ["too many", "a vector is missing"])
def test_what_cannot_be_compared_is_compared_by_relations(
    memory: Memory, ana: UserMemory, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    first = ana.add(HONEY, theme="drinks").id
    second = ana.add(f"{HONEY} daily", theme="food").id
    if why == "too many":
        monkeypatch.setattr(audit_module, "MAX_COMPARED_MEMORIES", 1)
        monkeypatch.setattr(audit_module, "_RELATION_BATCH", 1)
    else:
        ana.add("User owns a boat.")
        with memory.database.transaction() as connection:
            without = sa.update(item_index).where(item_index.c.id == second)
            connection.execute(without.values(state="pending", vector=None))
    report = audited(memory, redundant_min=0.9)
    assert ids(report.duplicates) == [(first, second)]
    assert not report.duplicates.is_complete


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("What does the user like?", "question"),
        *((text, "first or second person") for text in ("I like tea.", "Saya suka teh.")),
        ("Hello there, nice to meet everyone.", "greeting or talk about the conversation"),
        ("The user asked about trains.", "greeting or talk about the conversation"),
        *((text, "code or markup") for text in ("def main(): return 1", "<div>Tea</div>")),
        *((text, "placeholder") for text in ("User lives in [city name].", "{{name}} is", "N/A")),
        *((text, "shorter than two words") for text in ("tea", "!!!")),
        *((text, "boot text") for text in ("You are a helpful assistant.", "Session started.")),
    ],
)
def test_junk_has_a_reason(content: str, reason: str) -> None:
    assert junk_reason(content, MemoryType.FACT) == reason


@pytest.mark.parametrize(
    "content",
    [
        "User imports coffee from Java.",
        'User says "I love it" about jazz.',
        "User is from Turin and selects wine.",
        "Pengguna suka teh.",
        "猫を飼っている",
        "User's savings goal is 5 < 10 percent.",
        "Higher pay matters to the user.",
    ],
)
def test_an_ordinary_memory_is_no_junk(content: str) -> None:
    assert junk_reason(content, MemoryType.FACT) is None
    assert junk_reason("Always answer me in short sentences.", MemoryType.INSTRUCTION) is None


@pytest.mark.fuzz
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["a", "<a ", "[", "{", '"', "select ", "| - "])
def test_hostile_text_ends(piece: str) -> None:
    junk_reason((piece * 100_000)[:100_000], MemoryType.FACT)
