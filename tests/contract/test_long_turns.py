"""A long turn is kept whole, and found and quoted by its pieces."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import InvalidValue, Memory, TurnHit, UserMemory
from ricordo.index.rebuild import bring_up_to_date, note_versions, outdated
from ricordo.limits import MAX_PIECE_CHARS, MAX_TURN_CHARS
from ricordo.providers.embedder import Vectors
from ricordo.storage.search_rows import remove_entries
from ricordo.storage.tables import TURNS, turn_index, turn_pieces, turns
from ricordo.testing import WordEmbedder
from ricordo.wiring import restore_backup
from tests.contract.conftest import on_sqlite
from tests.support import postgres
from tests.support.searching import WIDTH, Searching
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("recall.long_turns")

LINE = "The gardener called the old oak behind the chapel Bartholomew"
LOG_CHARS = 350_000


class Synonyms(WordEmbedder):
    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        meant = [text.replace("tree", "oak").replace("church", "chapel") for text in texts]
        return super().embed(meant, deadline_seconds=deadline_seconds)


def log_of(chars: int = LOG_CHARS, line: str = LINE) -> str:
    """A log with one line in the middle."""
    lines = [f"10:{n % 60:02} worker {n} request served in {n % 97} ms" for n in range(chars // 36)]
    text = "\n".join(lines)[:chars].strip()
    middle = text.index("\n", chars // 2)
    return f"{text[:middle]}\n{line}{text[middle:]}"


def with_log(memory: Memory, text: str, user_id: str = "ana") -> UserMemory:
    user = memory.user(user_id)
    user.observe([{"role": "user", "content": "A short one about tea", "id": "tea"}], thread="t")
    user.observe([{"role": "user", "content": text, "id": "log"}], thread="t")
    user.observe([{"role": "user", "content": "Every request was served", "id": "end"}], thread="t")
    return user


def count(memory: Memory, table: sa.Table) -> int:
    with memory.database.read_all() as view:
        found = sa.select(sa.func.count()).select_from(table)
        return view.connection.execute(found).scalar_one()


def quoted(hit: TurnHit, text: str) -> str:
    assert hit.part is not None
    return text[hit.part.start : hit.part.end]


def test_a_line_in_the_middle_is_found_by_words_and_by_meaning(searching: Searching) -> None:
    memory = searching.open(embedder=Synonyms(WIDTH))
    text = log_of()
    ana = with_log(memory, text)
    for query in ("What is Bartholomew?", "tree church"):
        hit = ana.search_turns(query)[0]
        assert (hit.message_id, hit.thread_id) == ("log", "t")
        if query == "tree church":
            assert (hit.signals.fts or 0) == 0
        assert LINE in quoted(hit, text)
        assert LINE in hit.content_snippet
        assert len(hit.content_snippet) <= (240 if hit.signals.fts else MAX_PIECE_CHARS)
        ana.fill_embeddings()  # without it the words alone say where
    whole = [turn for turn in ana.turns("t") if turn.id == hit.id]
    assert [turn.content for turn in whole] == [text]
    assert problems_of(memory) == []


def test_of_a_turn_one_piece_is_found_and_others_are_not_crowded_out(searching: Searching) -> None:
    memory = searching.open(candidates=10)
    ana = with_log(memory, log_of())
    ana.observe([{"role": "user", "content": log_of(20_000), "id": "other"}], thread="t2")
    ana.fill_embeddings()
    found = [hit.message_id for hit in ana.search_turns("Which request was served by a worker?")]
    assert set(found) == {"log", "other", "end", "tea"}
    assert len(found) == 4
    within = ana.search_turns("worker request", thread="t2")
    assert [hit.message_id for hit in within] == ["other"]


def test_the_ends_are_found_too(searching: Searching) -> None:
    text = f"Kestrel stands first\n{log_of(30_000)}\nPelican stands last"
    ana = with_log(searching.open(), text)
    first, last = (ana.search_turns(query)[0] for query in ("kestrel", "pelican"))
    assert first.part is not None and first.part.start == 0
    assert last.part is not None and last.part.end == len(text)


def test_a_turn_of_one_piece_is_as_before(memory: Memory) -> None:
    ana = memory.user("ana")
    exact = "word " * (MAX_PIECE_CHARS // 5 - 1) + "words"
    assert len(exact) == MAX_PIECE_CHARS
    ana.observe([{"role": "user", "content": exact}], thread="t")
    assert count(memory, turn_pieces) == 0
    assert ana.search_turns("word")[0].part is None
    ana.observe([{"role": "user", "content": f"{exact}s"}], thread="t")
    assert (count(memory, turn_pieces), count(memory, turn_index)) == (1, 3)


@on_sqlite
def test_the_longest_turn_is_kept_and_a_longer_one_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    longest = log_of(MAX_TURN_CHARS - 200)
    longest += "." * (MAX_TURN_CHARS - len(longest))
    ana.observe([{"role": "user", "content": longest, "id": "long"}], thread="t")
    assert next(iter(ana.turns("t"))).content == longest
    assert LINE in quoted(ana.search_turns("Bartholomew")[0], longest)
    with pytest.raises(InvalidValue, match="1000001 characters; allowed: at most 1000000"):
        ana.observe([{"role": "user", "content": f"{longest}."}], thread="t")
    ana.observe([{"role": "user", "content": f"a{' ' * 5_000}b"}], thread="blank")
    with memory.database.read_all() as view:
        blank = view.connection.execute(sa.select(turns.c.id).where(turns.c.thread_id == "blank"))
        pieces = sa.select(sa.func.count()).where(turn_pieces.c.turn_id == blank.scalar_one())
        assert view.connection.execute(pieces).scalar_one() == 1


def test_redaction_takes_out_every_piece(searching: Searching) -> None:
    memory = searching.open()
    text = log_of(40_000)
    ana = with_log(memory, text)
    ana.fill_embeddings()
    before = ana.embedding_status()
    ana.redact("t", 2, text=LINE)
    assert [hit.message_id for hit in ana.search_turns("Bartholomew") if hit.signals.fts] == []
    with memory.database.read_all() as view:
        terms = view.connection.execute(sa.select(turn_index.c.terms)).scalars().all()
        assert not any("bartholomew" in one for one in terms)
    after = ana.embedding_status()
    assert after.ready > before.ready // 2  # what stands before the line keeps its vectors
    assert problems_of(memory) == []
    ana.redact("t", 2, whole=True)
    assert (count(memory, turn_pieces), count(memory, turn_index)) == (0, 3)
    assert problems_of(memory) == []


def test_erasure_leaves_nothing(memory: Memory) -> None:
    with_log(memory, log_of(40_000))
    pieces = count(memory, turn_pieces)
    assert pieces >= 40
    receipt = memory.erase_user("ana")
    assert receipt.removed["turn_pieces"] == pieces
    assert (count(memory, turn_pieces), count(memory, turn_index)) == (0, 0)


def test_a_backup_and_an_export_bring_them_back(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    url = postgres.as_owner(backend_url) if "://" in backend_url else backend_url
    memory = open_store(url)
    text = log_of(40_000)
    ana = with_log(memory, text)
    pieces = count(memory, turn_pieces)
    ana.export(tmp_path / "ana.jsonl")
    lines = (tmp_path / "ana.jsonl").read_text(encoding="utf-8")
    backup = tmp_path / "store.backup"
    memory.backup(backup)
    memory.close()
    report = restore_backup(backup, url, replace=True)
    assert report.rows["turn_pieces"] == pieces
    restored = open_store(url)
    assert LINE in quoted(restored.user("ana").search_turns("Bartholomew")[0], text)
    restored.erase_user("ana")
    restored.import_file(tmp_path / "ana.jsonl")
    again = restored.user("ana")
    assert LINE in quoted(again.search_turns("Bartholomew")[0], text)
    assert "".join(f"{line}\n" for line in again.export_lines()) == lines
    assert count(restored, turn_pieces) == pieces
    assert problems_of(restored) == []


def test_an_import_does_not_take_the_id_of_a_piece(
    memory: Memory, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    with open_store(str(tmp_path / "other.db")) as other:
        ben = other.user("ben")
        said = [{"role": "user", "content": f"Tea number {n}"} for n in range(5)]
        ben.observe(said, thread="t")
        ben.export(tmp_path / "ben.jsonl")
    with_log(memory, log_of(40_000))
    memory.import_file(tmp_path / "ben.jsonl")
    assert [turn.content for turn in memory.user("ben").turns("t")] == [
        f"Tea number {n}" for n in range(5)
    ]
    assert problems_of(memory) == []


def test_another_model_covers_every_piece(searching: Searching) -> None:
    ana = with_log(searching.open(), log_of(40_000))
    ana.fill_embeddings()
    status = ana.embedding_status()
    assert (status.ready, status.pending) == (status.turns, 0)
    other = Synonyms(WIDTH)
    other.model = "another"
    again = searching.open(embedder=other).user("ana")
    again.backfill_embeddings()
    again.fill_embeddings()
    status = again.embedding_status()
    assert (status.model, status.ready) == ("another", status.turns)
    assert LINE in again.search_turns("tree church")[0].content_snippet


def test_another_analyser_makes_the_terms_of_every_piece(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    text = log_of(40_000)
    with_log(open_store(backend_url, language="english"), text)
    plain = open_store(backend_url, language="none")
    note_versions(plain.database)
    bring_up_to_date(plain.database)
    with plain.database.read_all() as view:
        made = set(view.connection.execute(sa.select(turn_index.c.analyser)).scalars())
    assert made == {plain.database.analyser.fingerprint}
    assert LINE in quoted(plain.user("ana").search_turns("bartholomew")[0], text)
    assert problems_of(plain) == []


def test_long_turns_from_before_are_cut(memory: Memory) -> None:
    text = log_of(40_000)
    ana = with_log(memory, text)
    pieces = count(memory, turn_pieces)
    with memory.database.write("ana") as writing:  # as it was before
        ids = writing.connection.execute(sa.select(turn_pieces.c.id)).scalars().all()
        remove_entries(writing, TURNS, ids)
        writing.connection.execute(sa.delete(turn_pieces))
        writing.connection.execute(sa.update(turn_index).values(analyser=""))
    assert not any(hit.signals.fts for hit in ana.search_turns("Bartholomew"))
    bring_up_to_date(memory.database)
    assert count(memory, turn_pieces) == pieces
    assert LINE in quoted(ana.search_turns("Bartholomew")[0], text)
    assert problems_of(memory) == []


def test_a_piece_that_is_lost_is_noticed_and_made_again(memory: Memory) -> None:
    text = log_of(40_000)
    ana = with_log(memory, text)
    part = ana.search_turns("Bartholomew")[0].part
    assert part is not None
    with memory.database.write("ana") as writing:
        wanted = sa.select(turn_pieces.c.id).where(turn_pieces.c.start == part.start)
        (lost,) = writing.connection.execute(wanted).scalars()
        remove_entries(writing, TURNS, [lost])
    assert problems_of(memory) == [f"piece of a turn {lost} is not indexed"]
    assert outdated(memory.database) == 1
    bring_up_to_date(memory.database)
    assert LINE in quoted(ana.search_turns("Bartholomew")[0], text)
    assert problems_of(memory) == []


def test_no_piece_shows_a_secret_whose_label_is_in_another(memory: Memory) -> None:
    ana = memory.user("ana")
    filler = "word " * 190
    for shift in range(0, 60, 4):
        said = f"{'x' * shift} {filler} the alarm code of our house is 7391 and zebra {filler}"
        ana.observe([{"role": "user", "content": said}], thread=f"t{shift}")
    found = ana.search_turns("zebra house alarm", limit=50)
    assert len(found) == 15
    assert not any("7391" in hit.content_snippet for hit in found)


def test_a_superseded_statement_is_noted_at_its_piece_only(memory: Memory) -> None:
    ana = memory.user("ana")
    said: dict[str, Any] = {"role": "user", "content": f"I live in Jakarta.\n{log_of(20_000)}"}
    ana.observe([said | {"id": "m1"}], thread="t")
    old = ana.add(
        "Lives in Jakarta",
        key="home",
        thread_id="t",
        message_id="m1",
        source_context="I live in Jakarta",
    )
    ana.add("Lives in Bekasi", key="home")
    at_start, in_middle = (
        ana.search_turns(query)[0] for query in ("live in Jakarta", "Bartholomew")
    )
    assert [one.content for one in at_start.superseded] == ["Lives in Jakarta"]
    assert in_middle.superseded == ()
    assert old.id
