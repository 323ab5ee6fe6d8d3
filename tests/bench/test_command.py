"""``ricordo bench``: answers for people and for programs, and refusals."""

from pathlib import Path

import pytest

from tests.bench.sets import small_set, written
from tests.support.commandline import ricordo


@pytest.mark.slow
def test_recall_for_people(tmp_path: Path) -> None:
    ran = ricordo("bench", "recall", "--path", written(tmp_path, small_set()))
    assert (ran.code, ran.err) == (0, "")
    head = "small Questions R@1 R@5 R@10 R@20 all@10 MRR nDCG@10"
    assert ran.out.splitlines()[0].split() == head.split()
    for said in (
        "apart: adversarial",
        "Embedding the question: p50",
        "Everything else: p50",
        "Without evidence, only counted: 2.",
        "of 1 questions.",
        "3 answerable from 4 unanswerable questions: AUROC",
    ):
        assert said in ran.out


def test_recall_for_programs_and_a_given_database(tmp_path: Path) -> None:
    path, database = written(tmp_path, small_set()), tmp_path / "kept.db"
    for _ in range(2):  # what was observed is kept
        found = ricordo("bench", "recall", "--path", path, "--url", database, "--json").json
    assert found["set_name"] == "small"
    assert found["scores"]["overall"]["questions"] == 3
    assert set(found["scores"]["categories"]) == {"single-hop"}
    assert found["embedding"]["calls"] == 6
    assert ricordo("users", "--db", database, "--json").json == ["bench:chat", "bench:people"]


@pytest.mark.slow
def test_the_ladder(tmp_path: Path) -> None:
    path = written(tmp_path, small_set())
    shown = ricordo("bench", "recall", "--path", path, "--ladder").out
    steps = ["plain", "+ names", "+ window", "+ actor", "+ date", "+ thread", "+ role", "+ learned"]
    lines = shown.splitlines()[1:]
    assert [line.startswith(step) for line, step in zip(lines, steps, strict=True)] == [True] * 8
    found = ricordo("bench", "recall", "--path", path, "--ladder", "--json").json
    assert [rung["step"] for rung in found] == [step.removeprefix("+ ") for step in steps]


def test_speed_for_people_and_programs(tmp_path: Path) -> None:
    few = ("--size", 200, "--queries", 3, "--only", "relation", "--folder", tmp_path)
    shown = ricordo("bench", "speed", *few)
    assert shown.code == 0
    assert "cores, " in shown.err
    assert "a relation at write, p95" in shown.out
    assert "≤ 2" in shown.out
    report = ricordo("bench", "speed", *few, "--json").json
    assert report["machine"]["cores"] >= 1
    (figure,) = report["figures"]
    assert (figure["unit"], figure["floor"], figure["met"]) == ("ms", 2.0, None)
    assert list(tmp_path.glob("ricordo-bench-*")) == []


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    refused = ricordo("bench", "recall", "--path", tmp_path / "nothing.json", "--json")
    assert (refused.code, refused.error["error"]) == (2, "ImportFailed")
    nowhere = ricordo("bench", "speed", "--folder", tmp_path / "nowhere", "--json")
    assert (nowhere.code, nowhere.error["error"]) == (2, "InvalidValue")
    for wrong in (("recall",), ("speed", "--only", "taste"), ("speed", "--size", 1)):
        assert ricordo("bench", *wrong).code == 2
