"""Export and import of what formation keeps: how far it is, what waits, and the narrative."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import AlreadyDecided, Event, ImportFailed, Memory, ProposalKind, UserMemory
from ricordo.storage.formation import state_of
from ricordo.storage.tables import proposals, summaries
from ricordo.testing import ManualClock
from tests.support.sharing import share
from tests.transfer.lines import Lines, exported, inconsistencies, without, write


def talk(memory: Memory, clock: ManualClock, name: str = "ana") -> UserMemory:
    """A user with proposals in every state, a narrative, and a conversation half formed."""
    user = memory.user(name)
    say(user, clock, "I live in Bekasi")
    say(user, clock, "My name is Ana")
    say(user, clock, "I prefer short answers")
    user.form("monday")
    waiting = {one.fields[0]: one for one in user.proposals()}
    user.approve(waiting["preferred_name"].id, reason="she said yes")
    user.reject(waiting["city"].id)
    say(user, clock, "I have diabetes")
    user.form("monday")
    clock.advance(days=7)
    memory.run_jobs()  # makes the narrative, and closes what was not decided
    say(user, clock, "I am allergic to peanuts")
    user.form("monday")
    say(user, clock, "And that is all", thread="tuesday")
    assert {one.state.value for one in user.proposals(state="any")} == {
        "open",
        "approved",
        "rejected",
        "expired",
    }
    return user


def say(user: UserMemory, clock: ManualClock, text: str, thread: str = "monday") -> None:
    clock.advance(minutes=1)
    message_id = f"m{clock().isoformat()}"
    user.observe(
        [{"role": "user", "content": text, "at": clock(), "id": message_id}], thread=thread
    )


def rows_of(lines: Lines, kind: str) -> Lines:
    return [line for line in lines if line["kind"] == kind]


@pytest.fixture
def other(tmp_path: Path, open_store: Callable[..., Memory]) -> Memory:
    """Another store, in which some numbers are taken."""
    other = open_store(str(tmp_path / "other.db"))
    zoe = other.user("zoe")
    zoe.add_many([f"Took number {number}" for number in range(1, 5)])
    zoe.observe([{"role": "user", "content": f"Turn {turn}"} for turn in range(3)], thread="t")
    return other


@pytest.mark.requirement("transfer.round-trip")
def test_what_waits_comes_back_exactly(memory: Memory, clock: ManualClock, tmp_path: Path) -> None:
    ana = talk(memory, clock)
    lines = exported(ana)
    assert {line["kind"] for line in lines} == {  # and not how the work went
        *("ricordo", "user", "theme", "item", "history", "thread", "turn"),
        *("formation", "proposal", "summary", "thread_view", "end"),
    }
    assert len(rows_of(lines, "formation")) == 2
    assert len(rows_of(lines, "proposal")) >= 4
    told = ana.summary()
    (summary,) = rows_of(lines, "summary")
    summary["content"] = "Cut off after a space "
    waiting = next(row for row in rows_of(lines, "proposal") if row["state"] == "open")
    waiting["quote"] = "\n I said "
    memory.erase_user("ana")
    ana.import_file(write(tmp_path / "ana.jsonl", lines))
    assert exported(ana) == lines
    assert ana.summary() == told
    assert inconsistencies(memory) == []
    assert ana.form("monday").turns == 0
    assert ana.form("tuesday").turns == 1


@pytest.mark.requirement("transfer.round-trip")
def test_proposals_get_new_numbers_where_theirs_are_taken(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    before = exported(talk(memory, clock))
    copy = memory.user("copy")
    copy.import_file(write(tmp_path / "ana.jsonl", before))
    after = exported(copy)
    placed = {row["message_id"]: row["id"] for row in rows_of(after, "turn")}
    new_turns = {row["id"]: placed[row["message_id"]] for row in rows_of(before, "turn")}
    assert set(new_turns).isdisjoint(new_turns.values())
    old_states = {row["content_hash"]: row for row in rows_of(before, "proposal")}
    taken = {row["id"] for kind in ("item", "proposal") for row in rows_of(before, kind)}
    for row in rows_of(after, "proposal"):
        was = old_states.pop(row["content_hash"])
        assert row["id"] not in taken
        assert row["signals"] == [new_turns[one] for one in was["signals"]]
        moved = {"id": 0, "item_id": 0, "signals": [], "user_id": ""}
        assert row | moved == was | moved
    assert old_states == {}
    (approved,) = copy.proposals(state="approved")
    assert approved.item_id is not None
    assert "Ana" in copy.get(approved.item_id).content
    steps = [change for change in copy.changes(limit=1000) if change.event is Event.CONSENT]
    of_proposal = [change for change in steps if change.item_id == approved.id]
    assert [change.meta["consent"] for change in of_proposal] == ["proposed", "approved"]
    assert of_proposal[-1].new_ref == approved.item_id
    (of_memory,) = [change for change in steps if change.item_id == approved.item_id]
    assert of_memory.meta["proposal"] == approved.id
    assert inconsistencies(memory) == []


@pytest.mark.requirement("transfer.all-users")
def test_viewers_are_not_told_twice_when_only_proposals_move(
    memory: Memory, clock: ManualClock, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    ana = memory.user("ana")
    share(ana, ana.add("Seen by both").id, "ben")
    say(ana, clock, "I live in Bekasi")
    ana.form("monday")
    lines = exported(ana)
    (proposal,) = rows_of(lines, "proposal")
    elsewhere = open_store(str(tmp_path / "elsewhere.db"))
    cleo = elsewhere.user("cleo")
    taken = cleo.add_many([f"Number {number}" for number in range(proposal["id"])])
    assert taken[-1].id == proposal["id"]
    for one in taken[:-1]:
        cleo.forget(one.id)
    cleo.purge(before_time=True)  # now only the proposal's number is taken
    memory.export(tmp_path / "all.jsonl")
    elsewhere.import_file(tmp_path / "all.jsonl")
    assert elsewhere.user("ana").proposals().items[0].id != proposal["id"]
    assert [change.event for change in elsewhere.user("ben").changes()] == ["LINK"]


@pytest.mark.slow
@pytest.mark.requirement("transfer.round-trip")
def test_restored_proposals_can_be_decided_and_lapse_in_time(
    memory: Memory, clock: ManualClock, tmp_path: Path, other: Memory
) -> None:
    path = write(tmp_path / "ana.jsonl", exported(talk(memory, clock)))
    other.run_jobs()
    for name in ("early", "late"):
        other.user(name).import_file(path)
    planned = {(job.kind, job.user_id) for job in other.jobs(state="queued")}
    assert {("lapse-proposals", "early"), ("lapse-proposals", "late")} <= planned
    assert not {("form", "early"), ("form", "late")} & planned
    early, late = other.user("early"), other.user("late")
    (waiting,) = [one for one in early.proposals() if one.fields == ("health",)]
    assert "peanuts" in early.get(early.approve(waiting.id).id).content
    clock.advance(days=7)
    other.run_jobs()
    assert {one.kind for one in late.proposals()} == {ProposalKind.CORROBORATION}
    (lapsed,) = [
        one for one in late.proposals(state="expired", limit=1000) if one.decided_at == clock()
    ]
    with pytest.raises(AlreadyDecided):
        late.approve(lapsed.id)
    assert "peanuts" not in str(rows_of(exported(late), "proposal"))


@pytest.mark.requirement("transfer.round-trip")
def test_a_file_from_before_there_was_formation(
    memory: Memory, clock: ManualClock, tmp_path: Path, other: Memory
) -> None:
    lines = exported(talk(memory, clock))
    kept = without(lines, "formation", "proposal", "summary")
    copy = other.user("copy")
    assert copy.import_file(write(tmp_path / "old.jsonl", kept)).restored_rows == len(kept) - 2
    assert copy.proposals(state="any").items == ()
    assert copy.form("monday").turns == len(rows_of(lines, "turn")) - 1


@pytest.mark.requirement("transfer.merge")
def test_open_proposals_are_merged_once(
    memory: Memory, clock: ManualClock, tmp_path: Path, other: Memory
) -> None:
    ana = talk(memory, clock)
    path = write(tmp_path / "ana.jsonl", exported(ana))
    zoe = other.user("zoe")
    waiting = list(ana.proposals())
    report = zoe.import_file(path)
    brought = list(zoe.proposals())
    assert [(one.content, one.quote, one.fields, one.signals) for one in brought] == [
        (one.content, one.quote, one.fields, one.signals) for one in waiting
    ]
    assert [one.expires_at for one in brought] == [one.expires_at for one in waiting]
    decided = len(ana.proposals(state="any").items) - len(waiting)
    assert report.skipped["decided proposals"] == decided
    assert report.skipped["summaries"] == 1
    (told,) = zoe.history(brought[0].id)
    assert (told.event, told.reason, told.actor) == ("CONSENT", "imported", "zoe")
    assert ("lapse-proposals", "zoe") in {(job.kind, job.user_id) for job in other.jobs()}
    zoe.reject(brought[0].id)
    revision = zoe.revision()
    again = zoe.import_file(path)
    assert again.skipped["proposals known already"] == len(waiting)
    assert zoe.revision() == revision
    assert [one.id for one in zoe.proposals()] == [one.id for one in brought[1:]]
    assert inconsistencies(other) == []


@pytest.mark.requirement("transfer.merge")
def test_what_is_known_or_too_late_is_not_proposed_by_a_merge(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ana = memory.user("ana")
    say(ana, clock, "I live in Bekasi")
    say(ana, clock, "I am allergic to peanuts")
    ana.form()
    path = write(tmp_path / "ana.jsonl", exported(ana))
    (city, _) = ana.proposals()
    ben, cleo = memory.user("ben"), memory.user("cleo")
    ben.add(city.content or "")
    cleo.add("Has something")
    assert ben.import_file(path).skipped["proposals known already"] == 1
    assert [one.fields for one in ben.proposals()] == [("health",)]
    clock.advance(days=7)
    assert cleo.import_file(path).skipped["expired"] == 2
    assert cleo.proposals(state="any").items == ()


@pytest.mark.requirement("transfer.merge")
def test_what_was_formed_is_not_formed_again_after_a_merge(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ana = memory.user("ana")
    say(ana, clock, "I live in Bekasi")
    say(ana, clock, "I am allergic to peanuts")
    ana.form()
    say(ana, clock, "I have diabetes")
    path = write(tmp_path / "ana.jsonl", exported(ana))
    for name in ("new", "formed", "behind"):
        memory.user(name).add("Has something")
    for name in ("formed", "behind"):
        say(memory.user(name), clock, "Good morning")
    memory.user("formed").form()
    formed = {}
    for name in ("new", "formed", "behind"):
        for _ in range(2):  # the second time changes nothing
            memory.user(name).import_file(path)
            with memory.database.read_all() as view:
                state = state_of(view.connection, name, "monday")
            assert state is not None
            formed[name] = (state.formed_position, state.turn_count)
    assert formed == {"new": (2, 3), "formed": (3, 4), "behind": (0, 4)}
    assert memory.user("new").form().turns == 1


def broken(lines: Lines) -> list[tuple[str, Lines]]:
    header, *inside, end = lines

    def written(changed: Lines) -> Lines:
        return [header, *changed, {**end, "rows": len(changed)}]

    def with_first(kind: str, where: dict[str, Any] | None = None, **changes: Any) -> Lines:
        place = next(
            number
            for number, row in enumerate(inside)
            if row["kind"] == kind and (where or {}).items() <= row.items()
        )
        return written([*inside[:place], {**inside[place], **changes}, *inside[place + 1 :]])

    def again(kind: str, **changes: Any) -> Lines:
        first = next(row for row in inside if row["kind"] == kind)
        return written([*inside, {**first, **changes}])

    waits, decided = {"state": "open"}, {"state": "rejected"}
    draft = next(row["draft"] for row in inside if row["kind"] == "proposal" and row["draft"])
    item_id = next(row["id"] for row in inside if row["kind"] == "item")
    return [
        ("thread 'never', which is not there", with_first("formation", thread_id="never")),
        ("formed up to 99, beyond its", with_first("formation", formed_position=99)),
        ("formed_position: -1 is not", with_first("formation", formed_position=-1)),
        ("formation of 'monday' appears twice", again("formation")),
        ("proposal_kind: 'whim' is not one of", with_first("proposal", proposal_kind="whim")),
        ("state: 'maybe' is not one of", with_first("proposal", state="maybe")),
        ("unknown proposal field 'mood'", with_first("proposal", mood="good")),
        ("id: 0 is not", with_first("proposal", id=0)),
        ("fields: expected a list", with_first("proposal", fields="city")),
        ("fields: expected text", with_first("proposal", fields=[7])),
        ("signals: expected a list", with_first("proposal", signals="1")),
        ("signals: 'one' is not a whole", with_first("proposal", signals=["one"])),
        ("signals: names a turn twice", with_first("proposal", signals=[1, 1])),
        ("signals that are not turns: 99", with_first("proposal", signals=[99])),
        ("content_hash: expected 32 hex", with_first("proposal", content_hash="ABC")),
        ("is not that of the draft", with_first("proposal", waits, content_hash="0" * 32)),
        ("draft: must not be null where", with_first("proposal", waits, draft=None)),
        ("quote: must not be null where", with_first("proposal", waits, quote=None)),
        ("draft: expected an object", with_first("proposal", waits, draft="words")),
        ("content: is missing", with_first("proposal", waits, draft={"valid_from": "2026-01-01"})),
        ("content: must not be", with_first("proposal", waits, draft={**draft, "content": " "})),
        ("valid_from: is missing", with_first("proposal", waits, draft={"content": "Hello"})),
        ("unknown draft field 'id'", with_first("proposal", waits, draft={**draft, "id": 7})),
        ("importance: 9", with_first("proposal", waits, draft={**draft, "importance": 9})),
        ("quote: 2001 characters", with_first("proposal", waits, quote="x" * 2_001)),
        ("draft: must be null unless", with_first("proposal", decided, draft=draft)),
        ("quote: must be null unless", with_first("proposal", decided, quote="I said")),
        ("decided_at: must not be null", with_first("proposal", decided, decided_at=None)),
        ("decided_by: must be null", with_first("proposal", waits, decided_by="ben")),
        ("item_id: must be null unless", with_first("proposal", decided, item_id=1)),
        ("is the id of a proposal and of a memory", with_first("proposal", id=item_id)),
        ("proposals without history: 10000", with_first("proposal", id=10_000)),
        ("appears twice", again("proposal")),
        ("content: 2001 characters", with_first("summary", content="x" * 2_001)),
        ("content: must not be empty", with_first("summary", content="")),
        ("the summary is of revision 999", with_first("summary", revision=999)),
        ("summary of 'ana' appears twice", again("summary")),
        (
            "proposal: 'one' is not a whole number",
            with_first("history", {"event": "CONSENT"}, meta={"proposal": "one"}),
        ),
    ]


@pytest.mark.requirement("transfer.bad-files")
def test_broken_rows_are_refused_and_write_nothing(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    lines = exported(talk(memory, clock))
    zoe = memory.user("zoe")
    for said, changed in broken(lines):
        path = write(tmp_path / "broken.jsonl", changed)
        with pytest.raises(ImportFailed) as caught:
            zoe.import_file(path, format="ricordo")
        assert said in str(caught.value)
        assert "line" in str(caught.value) or "user 'ana'" in str(caught.value)
        assert zoe.revision() == 0
    assert "zoe" not in memory.users()


@pytest.mark.requirement("storage.congruence")
def test_the_doctor_sees_what_must_not_be(memory: Memory, clock: ManualClock) -> None:
    ana = talk(memory, clock)
    assert inconsistencies(memory) == []
    (rejected,) = ana.proposals(state="rejected")
    item_id = ana.list().items[0].id
    with memory.database.write("ana") as writing:
        run = writing.connection.execute
        waits = sa.update(proposals).where(proposals.c.state == "open")
        run(waits.values(draft=None))
        closed = sa.update(proposals).where(proposals.c.id == rejected.id)
        run(closed.values(quote="what was said", id=item_id))
        run(sa.update(summaries).values(revision=10_000))
        run(sa.text("UPDATE formation SET formed_position = 99 WHERE thread_id = 'tuesday'"))
    found = inconsistencies(memory)
    assert f"{item_id} is a proposal and a memory" in found
    assert f"proposal {item_id} is decided and kept" in found
    assert any("is open and empty" in one for one in found)
    assert "thread 'tuesday' of user 'ana' is formed beyond its last turn" in found
    assert "the summary of user 'ana' is of a revision to come" in found
