"""Encoders and words alone, beside which languages are measured."""

from pathlib import Path

import pytest
from bench.languages import in_language
from bench.report.command import updated
from bench.report.figures import FILE, Figures, read
from bench.report.page import page

from bench import encoders
from tests.bench.test_repository_commands import bench
from tests.docs.markdown import ROOT

pytestmark = pytest.mark.requirement("bench.languages")

PAIRS = [
    ["Where is my bicycle?", "Wo ist mein Fahrrad?"],
    ["I am allergic to peanuts.", "Ich bin allergisch gegen Erdnüsse."],
    ["The train leaves at nine.", "Der Zug fährt um neun ab."],
]


def test_words_alone_are_those_that_the_database_sees() -> None:
    texts = ["the cat sleeps", "the dog barks at the cat", "猫は寝ています", "the bird sings"]
    asked = ['what does "the cat" do?', "sleeps AND barks*", "猫", "?"]
    assert [found[:2] for found in encoders.by_words(texts, asked)] == [[0, 1], [0, 1], [], []]
    conversations = in_language("en", "en").conversations
    found = encoders.alone(in_language("en", "en"), encoders.by_words)
    assert found.questions == sum(len(one.questions) for one in conversations)
    nothing = encoders.alone(in_language("en", "en"), lambda _, asked: [[] for _ in asked])
    assert found.recall_at_10 > 0.2 > nothing.recall_at_10 == 0


@pytest.mark.slow
def test_an_encoder_is_measured_by_itself() -> None:
    assert encoders.top_1(None, PAIRS) == 1
    assert (
        encoders.top_1(None, [[one, PAIRS[place - 1][1]] for place, (one, _) in enumerate(PAIRS)])
        == 0
    )
    cost = encoders.cost(None, [one for one, _ in PAIRS])
    assert 40 < cost["megabytes"] < 60
    assert cost["p95_ms"] >= cost["p50_ms"] > 0
    assert cost["resident_mb"] > 10


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    told = bench("languages", "--encoder", f"other={tmp_path}")
    assert told.returncode == 1
    assert "expected NAME=FOLDER, with an ONNX graph and tokenizer.json" in told.stderr


@pytest.mark.requirement("bench.report")
def test_one_section_is_measured_anew() -> None:
    published = read(ROOT / "docs" / "report" / FILE)
    anew = {**published.sections[0], "seconds": 7.0}
    made = {**published.made, "date": "2027-01-01 10:00 UTC", "commit": "0123456789ab"}
    found = updated(published, Figures(made, {"processor": "Another"}, (anew,)))
    assert [one["name"] for one in found.sections] == [one["name"] for one in published.sections]
    assert found.made == published.made
    told = "Measured anew on Another: 2027-01-01 10:00 UTC, commit 0123456789ab."
    assert told in page(found)
    assert found.sections[1:] == published.sections[1:]
