"""An audit reports what is stored twice, contradicts itself, or should never have been stored."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from ricordo import InvalidValue, Memory
from ricordo.formation.looking_over import auditing, near_pairs
from ricordo.formation.looking_over.auditing import audit
from ricordo.formation.looking_over.junk import junk_reason
from ricordo.model.audit import AuditReport, Findings
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.index_tables import item_index
from ricordo.storage.tables import items
from ricordo.testing.clock import ManualClock

HONEY = "User likes green tea with honey in the morning and reads the news"


def audited(
    memory: Memory, user_id: str = "ana", limit: int = 100, redundant_min: float = 0.92
) -> AuditReport:
    return audit(memory.database, memory.recall, user_id, limit=limit, redundant_min=redundant_min)


def ids(findings: Findings) -> list[tuple[int, ...]]:
    assert findings.count >= len(findings.listed)
    return [finding.ids for finding in findings.listed]


@pytest.mark.requirement("formation.audit")
def test_nothing_stored_nothing_found(memory: Memory) -> None:
    report = audited(memory, "nobody")
    assert report.memories == 0
    kinds = ("duplicates", "contradictions", "junk", "unverified", "expired")
    for kind in kinds:
        assert getattr(report, kind) == Findings()


@pytest.mark.requirement("formation.audit")
def test_a_clean_store_is_clean(memory: Memory) -> None:
    ana = memory.user("ana")
    for content in ("User likes coffee.", "User likes tea.", "User has a cat.", "User has a dog."):
        ana.add(content)
    report = audited(memory)
    assert report.memories == 4
    assert report.duplicates.count == report.contradictions.count == report.junk.count == 0
    assert report.unverified.count == report.expired.count == 0


@pytest.mark.requirement("formation.audit")
def test_the_same_text_in_two_themes_is_a_duplicate(memory: Memory) -> None:
    ana = memory.user("ana")
    first = ana.add("User likes tea.", theme="drinks").id
    second = ana.add("user likes  TEA", theme="food").id
    ana.add("User likes tea.", theme="old")
    ana.archive(ana.list(theme="old").items[0].id)
    report = audited(memory)
    assert ids(report.duplicates) == [(first, second)]
    assert report.duplicates.listed[0].reason == "same text in another theme"


@pytest.mark.requirement("formation.audit")
def test_nearly_the_same_words_are_a_duplicate(memory: Memory) -> None:
    ana = memory.user("ana")
    first = ana.add(HONEY, theme="drinks").id
    second = ana.add(f"{HONEY} daily", theme="food").id
    ana.add("User owns a yellow boat.")
    (found,) = audited(memory, redundant_min=0.9).duplicates.listed
    assert found.ids == (first, second)
    assert found.similarity is not None
    assert 0.9 <= found.similarity < 1
    assert audited(memory, redundant_min=0.999).duplicates.count == 0


@pytest.mark.requirement("formation.audit")
def test_other_numbers_or_a_denial_make_no_duplicate(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add(f"{HONEY} at 7")
    ana.add(f"{HONEY} at 8")
    ana.add(f"{HONEY} never")
    assert audited(memory, redundant_min=0.8).duplicates.count == 0


@pytest.mark.requirement("formation.audit")
def test_contradictions_under_one_theme(memory: Memory) -> None:
    ana = memory.user("ana")
    likes = ana.add("User likes coffee.").id
    hates = ana.add("User hates coffee.").id
    ana.add("User likes tea.")
    ana.add("User dislikes coffee.", theme="elsewhere")
    here = ana.add("User lives in Bekasi.", theme="home").id
    there = ana.add("User lives in Turin.", theme="home").id
    report = audited(memory)
    found = {finding.ids: finding.reason for finding in report.contradictions.listed}
    assert found == {(likes, hates): "opposite taste", (here, there): "another home"}
    assert report.contradictions.count == 2
    assert report.contradictions.is_complete
    assert report.duplicates.count == 0


@pytest.mark.requirement("formation.audit")
def test_what_looks_like_junk(memory: Memory) -> None:
    ana = memory.user("ana")
    junk = ana.add("What time is it?").id
    ana.add("User likes tea.")
    report = audited(memory)
    assert ids(report.junk) == [(junk,)]
    assert report.junk.listed[0].reason == "question"


@pytest.mark.requirement("formation.audit")
def test_what_was_never_verified(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
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


@pytest.mark.requirement("formation.audit")
def test_what_has_expired_but_is_still_there(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    ends = ana.add("User likes coffee.", expires_at=clock() + timedelta(days=1)).id
    ana.add("User hates coffee.")
    assert audited(memory).contradictions.count == 1
    clock.advance(days=2)
    report = audited(memory)
    assert ids(report.expired) == [(ends,)]
    assert (report.memories, report.contradictions.count) == (1, 0)


@pytest.mark.requirement("formation.audit")
def test_another_users_memories_are_not_looked_at(memory: Memory) -> None:
    memory.user("ana").add("User likes coffee.")
    memory.user("ben").add("User hates coffee.")
    memory.user("ben").add("What time is it?")
    report = audited(memory)
    assert report.user_id == "ana"
    assert (report.memories, report.contradictions.count, report.junk.count) == (1, 0, 0)


@pytest.mark.requirement("formation.audit")
def test_lists_are_bounded_and_counts_are_not(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add_many([f"Is this question number {number}?" for number in range(30)])
    report = audited(memory, limit=3)
    assert report.junk.count == 30
    assert len(report.junk.listed) == 3
    assert ids(report.junk) == sorted(ids(report.junk))
    assert report.junk.is_complete


@pytest.mark.requirement("formation.audit")
@pytest.mark.parametrize("limit", [0, 1001, True, "5"])
def test_a_limit_out_of_range_is_refused(memory: Memory, limit: object) -> None:
    with pytest.raises(InvalidValue):
        audited(memory, limit=limit)  # type: ignore[arg-type]


@pytest.mark.requirement("formation.audit")
def test_a_similarity_out_of_range_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidValue):
        audited(memory, redundant_min=1.5)


@pytest.mark.requirement("formation.audit")
def test_counting_stops_at_its_maximum(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "MAX_COUNTED_FINDINGS", 5)
    monkeypatch.setattr(auditing, "MAX_EXAMINED_PAIRS", 0)
    ana = memory.user("ana")
    ana.add_many([f"Is this question number {number}?" for number in range(9)])
    report = audited(memory)
    assert report.junk.count == 5
    assert not report.junk.is_complete
    assert not report.contradictions.is_complete


@pytest.mark.requirement("formation.audit")
def test_many_memories_are_compared_in_blocks(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add_many([f"User visited town{n} by train{n} with friend{n}." for n in range(150)])
    likes = ana.add("User likes coffee.").id
    ana.add_many([f"User cooked dish{n} using herb{n} for guest{n}." for n in range(150)])
    hates = ana.add("User hates coffee.").id
    report = audited(memory)
    assert report.memories == 302
    assert ids(report.contradictions) == [(likes, hates)]


@pytest.mark.requirement("formation.audit")
def test_a_user_too_large_is_compared_by_relations(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "MAX_COMPARED_MEMORIES", 1)
    monkeypatch.setattr(near_pairs, "_RELATION_BATCH", 1)
    ana = memory.user("ana")
    first = ana.add(HONEY, theme="drinks").id
    second = ana.add(f"{HONEY} daily", theme="food").id
    report = audited(memory, redundant_min=0.9)
    assert ids(report.duplicates) == [(first, second)]
    assert not report.duplicates.is_complete


@pytest.mark.requirement("formation.audit")
def test_without_vectors_the_same_text_is_still_found(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, embedder=None, embedding_provider="none")
    ana = memory.user("ana")
    first = ana.add("User likes tea.", theme="drinks").id
    second = ana.add("User likes tea.", theme="food").id
    report = audited(memory)
    assert ids(report.duplicates) == [(first, second)]
    assert not report.contradictions.is_complete


@pytest.mark.requirement("formation.audit")
def test_a_missing_vector_is_made_up_for_by_relations(memory: Memory) -> None:
    ana = memory.user("ana")
    first = ana.add(HONEY, theme="drinks").id
    second = ana.add(f"{HONEY} daily", theme="food").id
    ana.add("User owns a boat.")
    with memory.database.transaction() as connection:
        without = sa.update(item_index).where(item_index.c.id == second)
        connection.execute(without.values(state="pending", vector=None))
    report = audited(memory, redundant_min=0.9)
    assert ids(report.duplicates) == [(first, second)]
    assert not report.duplicates.is_complete


@pytest.mark.requirement("formation.audit")
def test_an_audit_changes_nothing(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("User likes coffee.")
    ana.add("User hates coffee.")
    with memory.database.read_all() as view:
        before = view.connection.execute(sa.select(items)).all()
    report = audited(memory)
    with memory.database.read_all() as view:
        assert view.connection.execute(sa.select(items)).all() == before
    assert audited(memory) == report
    assert report.to_dict()["contradictions"]["listed"][0]["reason"] == "opposite taste"


@pytest.mark.requirement("formation.audit")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("What does the user like?", "question"),
        ("I like tea.", "first or second person"),
        ("Your favourite colour is blue.", "first or second person"),
        ("Saya suka teh.", "first or second person"),
        ("Hello there, nice to meet everyone.", "greeting or talk about the conversation"),
        ("The user asked about trains.", "greeting or talk about the conversation"),
        ("Terima kasih banyak.", "greeting or talk about the conversation"),
        ("def main(): return 1", "code or markup"),
        ("<div>User likes tea</div>", "code or markup"),
        ("```print```", "code or markup"),
        ("User lives in [city name].", "placeholder"),
        ("User's name is {{name}}.", "placeholder"),
        ("N/A", "placeholder"),
        ("tea", "shorter than two words"),
        ("!!!", "shorter than two words"),
        ("You are a helpful assistant.", "boot text"),
        ("Session started at noon.", "boot text"),
    ],
)
def test_junk_has_a_reason(content: str, reason: str) -> None:
    assert junk_reason(content, MemoryType.FACT) == reason


@pytest.mark.requirement("formation.audit")
@pytest.mark.parametrize(
    "content",
    [
        "User likes tea.",
        "User imports coffee from Java.",
        "User says \"I love it\" about jazz.",
        "User is from Turin and selects wine.",
        "Pengguna suka teh.",
        "猫を飼っている",
        "User's savings goal is 5 < 10 percent.",
        "Higher pay matters to the user.",
    ],
)  # fmt: skip
def test_an_ordinary_memory_is_no_junk(content: str) -> None:
    assert junk_reason(content, MemoryType.FACT) is None


@pytest.mark.requirement("formation.audit")
def test_an_instruction_may_address_somebody() -> None:
    assert junk_reason("Always answer me in short sentences.", MemoryType.INSTRUCTION) is None


@pytest.mark.requirement("formation.audit")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["a", "<a ", "[", "{", '"', "select ", "| - ", "["])
def test_hostile_text_ends(piece: str) -> None:
    junk_reason((piece * 100_000)[:100_000], MemoryType.FACT)
