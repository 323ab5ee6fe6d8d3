"""``ricordo bench answers``: a reader asked from what each way shows, and how it is scored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.testing import ModelServer
from ricordo.text.tokens import estimate_tokens
from ricordo.wiring import open_memory
from ricordo_bench.answers import (
    FORMED_PREFIX,
    Way,
    containment,
    is_contained,
    measure_answers,
    read_answered,
    reader_settings,
    says_unknown,
    token_f1,
    words,
)
from tests.bench.sets import question, small_set, turn, written
from tests.support.commandline import Ran, ricordo
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("bench.answers")

JUDGING = "You compare"


def answered_set() -> dict[str, Any]:
    """Five answers, of which one belongs to an adversarial question and one is no text."""
    content = small_set()
    people, chat = content["conversations"]
    people["turns"].append(turn(6, "I love oolong tea.", thread="s2"))
    for place, answer in enumerate(("behind the old mill", "Ben", "no", 1)):
        people["questions"][place]["answer"] = answer
    people["questions"].append(
        question(5, "Which tea is loved?", ["t6"], answer="oolong", category="taste")
    )
    chat["questions"][0]["answer"] = "Oslo"
    return content


def read_notes(body: dict[str, Any]) -> str:
    """Says the line of the notes that has most words of the question; judges by the words."""
    instruction, asked = (message["content"] for message in body["messages"])
    if instruction.startswith(JUDGING):
        _, right, said = (line.partition(": ")[2] for line in asked.splitlines())
        return "Yes." if is_contained(said, right) else "no"
    notes, _, asked = asked.removeprefix("Notes:\n").rpartition("\n\nQuestion: ")
    wanted = set(words(asked))
    lines = [line for line in notes.splitlines() if wanted & set(words(line))]
    return max(lines, key=lambda line: len(wanted & set(words(line))), default="I do not know.")


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_RERANKED", "0")  # every way would load its model


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def server() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        server.answer_with(read_notes)
        yield server


def bench(server: ModelServer, path: Path, *options: object) -> Ran:
    model = ("--model", "scripted", "--base-url", server.base_url)
    return ricordo("bench", "answers", "--path", path, *model, *options)


def by_way(report: dict[str, Any]) -> dict[str, Any]:
    return {row["way"]: row for row in report["ways"]}


def notes_of(server: ModelServer, asked: str) -> list[str]:
    """What the reader was shown for a question, prompt by prompt."""
    found = [prompt[1]["content"] for prompt in server.prompts]
    return [
        text.removeprefix("Notes:\n").removesuffix(f"\n\nQuestion: {asked}")
        for text in found
        if text.endswith(f"\n\nQuestion: {asked}")
    ]


@pytest.mark.slow
def test_every_way_for_programs(tmp_path: Path, server: FaultyModel) -> None:
    path = written(tmp_path, answered_set())
    report = bench(server, path, "--judge", "--json").json
    assert (report["set_name"], report["reader"]) == ("small", "custom_http:scripted")
    assert (report["conversations"], report["turns"], report["questions"]) == (2, 9, 5)
    assert report["budget"] == 1_000
    ways = by_way(report)
    assert list(ways) == [way for way in Way if way is not Way.FORMED]
    for row in ways.values():
        assert (row["overall"]["questions"], row["abstention"]["questions"]) == (4, 1)
        assert list(row["categories"]) == ["single-hop", "taste"]
        assert row["making"]["calls"] == 5
        assert (row["overall"]["failed"], row["abstention"]["failed"]) == (0, 0)
    shown = ways["evidence"]
    assert shown["categories"]["taste"]["exact"] == shown["categories"]["taste"]["judge"] == 1.0
    assert 0 < shown["overall"]["f1"] < shown["overall"]["containment"] <= 1
    assert shown["abstention"]["unknown"] == 1.0  # no evidence: nothing is shown
    nothing = ways["nothing"]
    assert (nothing["overall"]["f1"], nothing["tokens"]) == (0.0, 0.0)
    assert (nothing["overall"]["judge"], nothing["abstention"]["unknown"]) == (0.0, 1.0)
    assert ways["context"]["tokens"] > ways["evidence"]["tokens"] > 0


@pytest.mark.usefixtures("by_words")
def test_a_table_for_people(tmp_path: Path, server: FaultyModel) -> None:
    path = written(tmp_path, answered_set())
    table = bench(server, path, "--way", "bm25", "--way", "turns")
    assert (table.code, table.err) == (0, "Answered by custom_http:scripted.\n")
    head, *rows = (line.split() for line in table.out.splitlines())
    columns = "small Questions F1 Contained Exact Unknown Tokens ms p50 p95 Failed"
    assert " ".join(head) == columns
    assert [(row[0], row[1], row[-1]) for row in rows] == [("turns", "4", "0"), ("bm25", "4", "0")]


@pytest.mark.parametrize("way", ["turns", "dense", "bm25", "rrf", "evidence", "nothing"])
def test_the_reader_is_shown_turns(tmp_path: Path, server: FaultyModel, way: str) -> None:
    content = answered_set()
    others = [turn(place, f"Platform {place} has a train.", thread="s3") for place in range(7, 20)]
    content["conversations"][0]["turns"] += others
    path = written(tmp_path, content)
    bench(server, path, "--way", way, "--json")
    (shown,) = notes_of(server, "Where are the bees kept?")
    line = "1 March 2025, ana: My sister keeps bees behind the old mill."
    if way == "nothing":
        assert shown == "(none)"
    elif way in ("evidence", "bm25"):  # no other turn has a word of the question
        assert shown == line
    else:
        assert shown.splitlines()[0] == line  # the oldest
        assert len(shown.splitlines()) == 10
    (shown,) = notes_of(server, "Who plays the piano and who grows tomatoes?")
    if way == "evidence":
        assert shown.splitlines() == [
            "1 March 2025, ben: How lovely! I only grow tomatoes on the balcony.",
            "1 March 2025, ben: Ouch. My piano lessons start again in May.",
        ]


def test_the_reader_is_shown_a_context_within_its_budget(
    tmp_path: Path, server: FaultyModel
) -> None:
    path = written(tmp_path, answered_set())
    few, many = (
        by_way(bench(server, path, "--way", "context", "--budget", tokens, "--json").json)
        for tokens in (230, 2_000)
    )
    assert few["context"]["tokens"] < many["context"]["tokens"]
    fewer, shown = notes_of(server, "Where are the bees kept?")
    assert "- 1 March 2025, ana: My sister keeps bees" in shown
    assert estimate_tokens(fewer) <= 230
    body = server.bodies[0]
    assert (body["model"], body["temperature"]) == ("scripted", 0)
    assert {prompt[0]["content"] for prompt in server.prompts} == {body["messages"][0]["content"]}


@pytest.mark.slow
@pytest.mark.usefixtures("by_words")
def test_formed_memories_are_of_further_users(
    backend_url: str, tmp_path: Path, server: FaultyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "ollama")  # does not take part
    questions = read_answered(written(tmp_path, answered_set()))
    settings = reader_settings(None, "scripted", server.base_url, None)
    kept = []
    for _ in range(2):  # what was formed is kept
        report = measure_answers(backend_url, questions, [Way.CONTEXT, Way.FORMED], settings)
        assert [row.overall.questions for row in report.ways] == [4, 4]
        with open_memory(backend_url, run_jobs=False) as memory:
            assert not memory.user("bench:people").list()
            kept.append([one.content for one in memory.user(f"{FORMED_PREFIX}people").list()])
    assert kept[0] == kept[1] and "ben loves oolong tea." in kept[0]
    plain, formed = notes_of(server, "Which tea is loved?")[:2]
    # A memory that retells a turn gives way where the turn is quoted.
    assert all("ben: I love oolong tea." in shown for shown in (plain, formed))


@pytest.mark.usefixtures("by_words")
def test_a_prompt_is_asked_once_and_a_limit_is_for_each_conversation(
    tmp_path: Path, server: FaultyModel
) -> None:
    content = answered_set()
    people, chat = content["conversations"]
    people["questions"][4]["text"] = "Where are the bees kept?"
    chat["questions"].append(question(3, "Who is my dentist?", [], category="abstention"))
    path = written(tmp_path, content)
    bench(server, path, "--way", "nothing", "--json")
    assert len(server.requests) == 5  # of six questions two are the same
    server.requests.clear()
    report = bench(server, path, "--way", "nothing", "--limit", 1, "--json").json
    assert report["questions"] == len(server.requests) == 3  # with one of abstention
    server.requests.clear()
    bench(server, path, "--way", "nothing", "--way", "evidence", "--judge", "--json")
    judged = [one for one in server.prompts if one[0]["content"].startswith(JUDGING)]
    assert len(judged) == 3  # none of nothing, and none where the evidence does not say it


@pytest.mark.usefixtures("by_words")
def test_a_failed_call_is_an_empty_answer(tmp_path: Path, server: FaultyModel) -> None:
    path = written(tmp_path, answered_set())
    server.answer_refusal(times=1)
    server.answer_refusal(times=1)
    row = by_way(bench(server, path, "--way", "evidence", "--json").json)["evidence"]
    assert (row["overall"]["failed"], row["overall"]["f1"] > 0) == (2, True)
    assert (row["categories"]["taste"]["failed"], row["abstention"]["failed"]) == (0, 0)
    server.answer_nonsense()
    evidence = ("--way", "evidence", "--judge")
    row = by_way(bench(server, path, *evidence, "--json").json)["evidence"]
    assert (row["overall"]["judge"], row["overall"]["failed"]) == (0.0, 4)  # neither yes nor no
    assert bench(server, path, *evidence).out.splitlines()[1].split()[-1] == "4"


@pytest.mark.usefixtures("by_words")
def test_a_model_that_refuses(tmp_path: Path, server: FaultyModel) -> None:
    path = written(tmp_path, answered_set())

    def then_refuses(body: dict[str, Any]) -> str:
        server.fail_next(10, status=401)
        return read_notes(body)

    server.answer_with(then_refuses)
    row = by_way(bench(server, path, "--way", "nothing", "--json").json)["nothing"]
    assert (row["overall"]["failed"], row["abstention"]["failed"]) == (3, 1)
    server.fail_next(10, status=401)
    refused = bench(server, path, "--way", "nothing", "--json")
    assert (refused.code, refused.error["error"]) == (8, "ModelRefused")


def test_what_cannot_be_measured_is_refused(
    tmp_path: Path, server: FaultyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, answered_set())

    def said(refused: Ran, kind: str) -> str:
        assert (refused.code, refused.error["error"]) == (2, kind)
        return refused.error["message"]

    unknown = said(bench(server, path, "--way", "taste", "--json"), "InvalidValue")
    assert "'taste' is not one of: context, formed, turns, dense, bm25, rrf, evidence" in unknown
    for named in ((), ("--api-key", "k")):
        nobody = ricordo("bench", "answers", "--path", path, *named, "--json")
        assert "model: name the one that answers" in said(nobody, "InvalidValue")
    nameless = ricordo("bench", "answers", "--path", path, "--base-url", "http://x/v1", "--json")
    assert "model_name" in said(nameless, "InvalidValue")
    for wrong in (("--budget", 199), ("--limit", 0)):
        assert bench(server, path, *wrong).code == 2
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    assert "name other ways" in said(bench(server, path, "--json"), "InvalidValue")
    assert server.requests == []
    assert bench(server, path, "--way", "bm25").code == 0

    content = answered_set()
    for conversation in content["conversations"]:
        for one in conversation["questions"]:
            if one["category"] not in ("adversarial", "abstention"):
                one["answer"] = None if one["id"] == "q1" else "?!"
    empty = said(bench(server, written(tmp_path, content), "--json"), "ImportFailed")
    assert "no question has an answer to compare with" in empty


def test_an_empty_conversation_and_one_without_questions(
    tmp_path: Path, server: FaultyModel
) -> None:
    content = answered_set()
    content["conversations"][1]["questions"] = []
    silent = {"id": "silent", "turns": [], "questions": [question(1, "Who?", [], answer="Nobody")]}
    content["conversations"].append(silent)
    path = written(tmp_path, content)
    for row in bench(server, path, "--way", "context", "--way", "rrf", "--json").json["ways"]:
        assert (row["overall"]["questions"], row["abstention"]["unknown"]) == (4, None)


def test_words_are_compared_without_case_punctuation_and_articles() -> None:
    same = [
        ("The Old Mill!", "old mill"),
        ("It's 1,200 €", "its 1200"),
        ("Café", "CAFE"),
        ("A", "a"),
        ("大阪", "大 阪"),
    ]
    for one, other in same:
        assert words(one) == words(other)
    assert words("The") == ["the"]
    assert words("well-known, 3.5") == ["well", "known", "3", "5"]
    assert token_f1("in the old mill", "behind the mill") == pytest.approx(2 * 1 / 5)
    assert token_f1("mill mill mill", "mill") == pytest.approx(1 / 2)
    assert containment("behind it is a mill", "behind the old mill") == pytest.approx(2 / 3)
    assert is_contained("It was behind the old mill, she said.", "Behind the old mill")
    assert not is_contained("the millstone", "mill")
    assert not is_contained("mill behind the old", "behind the old mill")
    assert all(map(says_unknown, ("I do not know.", "Sorry, I don’t know", "i DON'T know!")))
    assert not says_unknown("They do not know") and not says_unknown("")


@given(st.text(max_size=60), st.text(max_size=60))
def test_measures_stay_within_bounds_and_agree_with_each_other(said: str, answer: str) -> None:
    f1, share, whole = token_f1(said, answer), containment(said, answer), is_contained(said, answer)
    assert 0 <= f1 <= 1 and 0 <= share <= 1
    assert f1 == pytest.approx(token_f1(answer, said))
    assert (f1 > 0) is (share > 0)
    assert share == 1 or not whole
    if words(answer):
        assert token_f1(answer, answer) == containment(answer, answer) == 1
        assert is_contained(answer, answer)
    else:
        assert (f1, share, whole) == (0, 0, False)


@given(
    st.lists(st.sampled_from(["ana", "ben", "mill", "oslo", "7", "café"]), min_size=1, max_size=6)
)
def test_order_case_and_articles_change_nothing_and_more_words_cost(wanted: list[str]) -> None:
    answer = " ".join(wanted)
    assert token_f1(f"The {', '.join(wanted[::-1]).upper()}.", answer) == 1
    longer = f"{answer} and then some"
    assert is_contained(longer, answer) and containment(longer, answer) == 1
    assert token_f1(longer, answer) < 1
