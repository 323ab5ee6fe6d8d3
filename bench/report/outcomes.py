"""What a model gains, in a few rows for the README."""

from collections.abc import Iterator

from bench.report.figures import Figures
from bench.report.tables import share, table


def outcomes(figures: Figures) -> str:
    """One row for each thing that a reader decides by, of those that were measured."""
    rows = [*_recall(figures), *_formation(figures), *_load(figures)]
    return table(["A model that", "Measured", "By"], [list(row) for row in rows])


def _recall(figures: Figures) -> Iterator[tuple[str, str, str]]:
    first, *_, last = [one["report"]["scores"] for one in figures.result("recall")]
    plain, ours = first["overall"], last["overall"]
    yield (
        "is shown what answers",
        f"the right turn is among the first ten for {share(ours['recall_at_10'])} of"
        f" {ours['questions']:,} questions about long conversations and the first for"
        f" {share(ours['recall_at_1'])}; plain fusion of the same vectors and words has"
        f" {share(plain['recall_at_10'])} and {share(plain['recall_at_1'])}",
        "`ricordo bench recall`",
    )
    if last["abstaining"]["auroc"] is not None:
        yield (
            "is told when nothing is known",
            "likelihoods tell questions with an answer from those without: AUROC"
            f" {share(last['abstaining']['auroc'])}",
            "`ricordo bench recall`",
        )


def _formation(figures: Figures) -> Iterator[tuple[str, str, str]]:
    sets = {
        one["set"]: one for one in figures.result("formation") or () if one["language"] == "all"
    }
    if {"held out", "languages"} <= set(sets):
        held, others = sets["held out"], sets["languages"]
        yield (
            "has right memories, with no language model at work",
            f"in English and Indonesian {share(held['precision'])} of what is stored is right and"
            f" {share(held['recall'])} of what should be is found; in seven other languages"
            f" {share(others['precision'])} and {share(others['recall'])}",
            "`python -m bench quality`",
        )


def _load(figures: Figures) -> Iterator[tuple[str, str, str]]:
    found = figures.result("load")
    if found:
        acknowledged = sum(one["acknowledged"] for one in found["databases"])
        lost = sum(one["lost"] for one in found["databases"])
        yield (
            "loses nothing",
            f"of {acknowledged:,} additions that were acknowledged under load {lost:,} are lost",
            "`python -m bench load`",
        )
