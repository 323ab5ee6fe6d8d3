"""The learned ranking, the second reading, and what a search answers where nothing is likely."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ricordo import UserMemory
from ricordo.index.embedders import QueryVector
from ricordo.model.search import SearchResults, TurnHit
from ricordo.recall.candidates import Candidates, Question
from ricordo.recall.ranker import FEATURES, features, ranker
from ricordo.recall.reranker import Line, Reranker, Searches, reranker, under_way
from ricordo.recall.turn_search import TurnSearch
from ricordo.wiring import open_memory

pytestmark = pytest.mark.requirement("recall.learned")


class Row(NamedTuple):
    id: int
    thread_id: str
    position: int
    length: int


SAID = (
    "We went to the lake on Sunday.",
    "My sister Carolina moved to Turin in May.",
    "The boiler makes a strange noise again.",
    "I am learning the cello, lessons are on Wednesdays.",
)


@pytest.fixture
def ana() -> Iterator[UserMemory]:
    with open_memory(":memory:", run_jobs=False) as memory:
        ana = memory.user("ana")
        small_talk = [f"Nothing new on day {day}, it rained and we stayed in." for day in range(40)]
        said = [*small_talk, *SAID]
        ana.observe([{"role": "user", "content": text} for text in said], thread="t")
        ana.add_many(["User plays the cello.", "User is allergic to peanuts."])
        yield ana


def candidates(cosines: list[float]) -> Candidates:
    near = np.array(cosines)
    rows = [Row(place, "t", place, 40) for place in range(len(near))]
    none = np.zeros(len(near))
    return Candidates(rows, near, near, None, none, none, {})


def chances(cosines: list[float]) -> np.ndarray:  # type: ignore[type-arg]
    found = candidates(cosines)
    question = Question("where?", ["where"], QueryVector(None, None))
    given = features(question, found, found.cosines, found.cosines, {})  # type: ignore[arg-type]
    assert given.shape == (len(cosines), len(FEATURES))
    return ranker("turns").chances(given)


def test_a_nearer_turn_is_likelier() -> None:
    found = chances([0.7, 0.4, 0.1])
    assert found[0] > found[1] > found[2]
    assert ((found > 0) & (found < 1)).all()
    assert chances([0.7, 0.1])[0] > chances([0.2, 0.1])[0]


def test_neighbours_are_seen_by_thread_and_position() -> None:
    found = candidates([0.5, 0.3])
    apart = replace(found, rows=[found.rows[0], found.rows[1]._replace(thread_id="u")])
    before = FEATURES.index("cosine_before")
    question = Question("where?", ["where"], QueryVector(None, None))
    near, far = (
        features(question, one, one.cosines, one.cosines, {})  # type: ignore[arg-type]
        for one in (found, apart)
    )
    assert (near[1, before], far[1, before]) == (0.5, 0.0)


def test_the_probability_is_the_confidence_and_the_score(ana: UserMemory) -> None:
    turns, memories = ana.search_turns("Where does Carolina live?"), ana.search("Which instrument?")
    assert "Turin" in turns[0].content_snippet
    assert "cello" in memories[0].content_snippet
    for found in (turns, memories):
        assert found.confidence == found[0].confidence == pytest.approx(found[0].score, abs=1e-4)
        assert all(0 <= hit.score <= 1 for hit in found)


def test_scores_that_were_not_learned_are_between_0_and_1() -> None:
    with open_memory(":memory:", run_jobs=False, ranking_off="learned") as memory:
        ana = memory.user("ana")
        ana.observe([{"role": "user", "content": text} for text in SAID], thread="t")
        ana.add("User plays the cello.", importance=5, confidence=100)
        for found in (ana.search("User plays the cello."), ana.search_turns(SAID[3])):
            assert 0.5 < found[0].score <= 1


@pytest.mark.requirement("recall.reread")
def test_the_best_are_read_again_with_the_turn_before() -> None:
    said = ["What did you name the kitten?", "Biscuit!", "The kitten's bowl is in the kitchen."]
    found = {}
    for reranked in (0, 10):
        with open_memory(":memory:", run_jobs=False, reranked=reranked) as memory:
            ana = memory.user("ana")
            ana.observe([{"role": "user", "content": text} for text in said], thread="t")
            hits = ana.search_turns("What is the kitten called?", threshold=0)
            found[reranked] = {hit.content_snippet: hit.score for hit in hits}
    assert found[10]["Biscuit!"] > found[0]["Biscuit!"]
    assert max(found[10], key=lambda text: found[10][text]) == "Biscuit!"


@pytest.mark.requirement("recall.reread")
def test_the_second_reading_goes_on_while_there_is_time() -> None:
    lines = [Line(f"Ana: I have {number} hens.") for number in range(20)]
    few, all_of_them = (reranker().said("How many hens?", lines, time) for time in (0.0, 60.0))
    assert len(few) == 4
    assert len(all_of_them) == len(lines)
    assert few.tolist() == all_of_them[: len(few)].tolist()


@pytest.mark.requirement("recall.reread")
def test_a_prompt_divides_the_time_between_memories_and_turns(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, chances = [], Reranker.chances

    def noting(self: Reranker, *args: Any) -> Any:
        given.append((args[0], args[-1]))
        return chances(self, *args)

    monkeypatch.setattr(Reranker, "chances", noting)
    ana.search("Which instrument?")
    ana.context("Which instrument?", modes="recall")
    assert given == [("memories", 60.0), ("memories", 30.0), ("turns", 30.0)]


@pytest.mark.requirement("recall.reread")
def test_nothing_is_read_again_while_more_searches_are_under_way_than_cores(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.recall.reranker.usable_cores", lambda: 1)
    read: list[int] = []
    reading = TurnSearch._read

    def noting(self: TurnSearch, view: Any, user_id: str, best: Any, wanted: Any) -> Any:
        read.append(len(best))
        return reading(self, view, user_id, best, wanted)

    monkeypatch.setattr(TurnSearch, "_read", noting)
    alone = ana.search_turns("Where does Carolina live?", limit=5)
    with under_way.get().counting():
        once = ana.search_turns("Where does Carolina live?", limit=5)
        crowded = in_another_thread(lambda: ana.search_turns("Where does Carolina live?", limit=5))
    scores, of_one, unread = ([hit.score for hit in hits] for hits in (alone, once, crowded))
    assert of_one == scores  # it is the one that was counted before
    assert unread != scores
    assert read == [24, 24, 5]  # of no more than is wanted, where nothing is read again
    assert under_way.get().count == 0


def in_another_thread(search: Callable[[], SearchResults[TurnHit]]) -> SearchResults[TurnHit]:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(search).result()


@pytest.mark.requirement("recall.reread")
def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.recall.reranker.usable_cores", lambda: 4)
    crowded = {}
    for count, processes in ((3, 1), (3, 2), (1, 8)):
        searches = Searches()
        searches.count, searches.processes = count, processes
        crowded[count, processes] = searches.are_too_many
    assert crowded == {(3, 1): False, (3, 2): True, (1, 8): False}


def test_a_second_reading_that_fails_changes_nothing(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such operator")

    monkeypatch.setattr(Reranker, "said", broken)
    found = ana.search("Which instrument?", explain=True)
    assert "cello" in found[0].content_snippet
    assert found[0].explanation is not None
    assert found[0].explanation["learned"] == found[0].confidence
    assert "not read again: no such operator" in caplog.text


@pytest.mark.requirement("recall.reread")
def test_every_language_is_read_again() -> None:
    for question, answer, other in (
        ("Di mana Ana bekerja?", "Aku perawat di rumah sakit kota.", "Besok aku mau ke pasar."),
        ("¿Dónde trabaja Ana?", "Soy enfermera en el hospital.", "Mañana voy al mercado."),
        ("Где работает Ана?", "Я медсестра в городской больнице.", "Завтра я иду на рынок."),
        ("आना कहाँ काम करती है?", "मैं शहर के अस्पताल में नर्स हूँ।", "कल मैं बाज़ार जाऊँगी।"),
        ("أين تعمل آنا؟", "أعمل ممرضة في مستشفى المدينة.", "غدا سأذهب إلى السوق."),
        ("安娜在哪里工作？", "我现在是市医院的护士。", "明天我和妈妈去市场。"),
        ("What is the kitten called?", "Wir haben sie Minka genannt!", "Der Napf ist da."),
    ):
        lines = [Line(f"Ana: {text}") for text in (other, answer)]
        assert reranker().said(question, lines, 60).argmax() == 1, question


@pytest.mark.requirement("recall.nothing")
@pytest.mark.parametrize(
    "query", ["zzzxqv", "qqxwk pfffrt", "How many satellites does Saturn have?"]
)
def test_nothing_is_an_answer(ana: UserMemory, query: str) -> None:
    ana.add_many(["Uses PostgreSQL for project Apollo", "Saves for a flat in Bandung"])
    for search in (ana.search, ana.search_turns):
        found = search(query)
        assert len(found) == 0
        assert found.confidence is not None and found.confidence < 0.1
        assert len(search(query, threshold=0)) > 0  # the rest can be seen
    assert ana.query(None, query).bullets == ()


@pytest.mark.requirement("recall.nothing")
def test_nothing_is_an_answer_in_other_languages(ana: UserMemory) -> None:
    found = ana.search("Wie viele Monde hat der Planet Saturn?")
    assert len(found) == 0
    assert found.confidence is not None and found.confidence < 0.1


@pytest.mark.requirement("recall.nothing")
def test_what_is_likely_brings_the_less_likely_too(ana: UserMemory) -> None:
    assert len(ana.search_turns("Which instrument do I play?", limit=20)) == 20


@pytest.mark.requirement("recall.reread")
def test_what_was_not_read_again_stays_below(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Reranker, "said", lambda _, question, lines, late: np.full(len(lines), -9.0)
    )
    scores = [hit.score for hit in ana.search_turns("Nothing new?", limit=20, threshold=0)]
    assert len(scores) == 20
    assert scores == sorted(scores, reverse=True)


@pytest.mark.requirement("recall.vectors-wanting")
def test_a_search_says_that_most_vectors_are_wanting(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("\n".join(f"- {text}" for text in SAID), encoding="utf-8")
    with open_memory(":memory:", run_jobs=False) as memory:
        ana = memory.user("ana")
        ana.import_file(path, consented=True)
        assert "not made yet" in str(ana.search("cello").degraded)
        ana.fill_embeddings()
        assert ana.search("cello").degraded is None


@pytest.mark.requirement("recall.reread")
def test_what_was_not_read_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [f"User has {number} hens in the yard." for number in range(2, 12)]
    found = {}
    monkeypatch.setattr(Reranker, "said", lambda *_: 20 * np.arange(4.0))  # of four, the last best
    for reranked in (0, 24):
        with open_memory(":memory:", run_jobs=False, reranked=reranked) as memory:
            ana = memory.user("ana")
            ana.add_many(notes)
            hits = ana.search("How many hens are in the yard?", threshold=0)
            found[reranked] = [hit.content_snippet for hit in hits]
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
    assert found[24] == [*found[0][3::-1], *found[0][4:]]
