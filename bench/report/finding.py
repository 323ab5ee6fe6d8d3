"""Chapters about what is found: recall, other systems, formation."""

from collections.abc import Sequence
from typing import Any, Final

from bench.report.figures import RICORDO, Figures
from bench.report.tables import best, both, ms, optional, share, table

_MEASURES: Final = {
    "recall@1": "recall_at_1",
    "recall@5": "recall_at_5",
    "recall@10": "recall_at_10",
    "all@10": "all_at_10",
    "MRR": "mrr",
    "nDCG@10": "ndcg_at_10",
}
_FEWEST_UNANSWERABLE: Final = 20  # of fewer, a measure of telling them apart is chance


def which_set(figures: Figures) -> str:
    """What was asked, in a sentence."""
    rungs = figures.result("recall")
    count = ""
    if rungs:
        report = rungs[-1]["report"]
        count = (
            f" {report['conversations']} conversations with {report['turns']:,} turns and"
            f" {report['scores']['overall']['questions']:,} scored questions."
        )
    if figures.made["set"]["built_in"]:
        return (
            "No set of questions was given, so an invented one was used: its words are made up,"
            f" and its figures say little about real conversations.{count}"
        )
    return f"The set is `{figures.made['set']['name']}`, not part of this repository.{count}"


def ladder(figures: Figures) -> str:
    """What each step of the ranking adds."""
    rungs = figures.result("recall")
    rows = []
    for number, rung in enumerate(rungs):
        overall = rung["report"]["scores"]["overall"]
        step = f"+ {rung['step']}" if number else "plain fusion of meaning and words"
        shares = (overall["recall_at_10"], overall["recall_at_1"], overall["mrr"])
        rows.append([step, *map(share, shares), ms(rung["report"]["searching"]["p50_ms"])])
    return table(["step", "recall@10", "recall@1", "MRR", "search, p50"], rows)


def recall(figures: Figures) -> str:
    """The ladder, the categories, and whether confidence means something."""
    report = figures.result("recall")[-1]["report"]
    scores = report["scores"]
    rows = [_scores("all", scores["overall"])]
    rows += [_scores(name, one) for name, one in scores["categories"].items()]
    rows += [_scores(f"apart: {name}", one) for name, one in scores["apart"].items()]
    told = [
        which_set(figures),
        ladder(figures),
        "With all steps, by kind of question:",
        table(["questions", "number", *_MEASURES], rows),
        f"Embedding a question takes {both(report['embedding'])} (p50 / p95), everything else"
        f" {both(report['searching'])}. Differences below 0.01 are noise.",
    ]
    one = scores["abstaining"]
    if one["auroc"] is not None and one["unanswerable"] >= _FEWEST_UNANSWERABLE:
        told.append(
            f"`confidence` tells {one['answerable']:,} questions with an answer from"
            f" {one['unanswerable']:,} without: AUROC {share(one['auroc'])}."
        )
    sure = scores.get("calibration")
    if sure is not None and sure["error"] is not None:
        told.append(
            f"How often the first result is right, by its `confidence`; the mean distance, the"
            f" calibration error, is {share(sure['error'])}:"
        )
        told.append(
            table(
                ["confidence", "right", "questions"],
                [
                    [share(at["confidence"]), share(at["right"]), f"{at['questions']:,}"]
                    for at in sure["curve"]
                ],
            )
        )
    return "\n\n".join(told)


def recall_on_postgresql(figures: Figures) -> str:
    """Whether the other database finds the same."""
    there = figures.result("recall-postgres")
    words = _same_on_postgresql(figures)
    times = f"Everything but embedding takes {both(there['searching'])} (p50 / p95) there."
    return f"{words} {times}"


def _same_on_postgresql(figures: Figures) -> str:
    here, there = figures.result("recall"), figures.result("recall-postgres")
    if not there or not here:
        return ""
    ours, theirs = here[-1]["report"]["scores"]["overall"], there["scores"]["overall"]
    if all(ours[name] == theirs[name] for name in _MEASURES.values()):
        return "PostgreSQL finds exactly the same."
    return (
        f"PostgreSQL reaches a recall@10 of {share(theirs['recall_at_10'])}, SQLite"
        f" {share(ours['recall_at_10'])}."
    )


def same_on_postgresql(figures: Figures) -> str:
    """The same in a sentence; nothing where it was not measured."""
    return _same_on_postgresql(figures)


def _scores(name: str, measures: dict[str, Any]) -> list[str]:
    return [
        name,
        f"{measures['questions']:,}",
        *(share(measures[one]) for one in _MEASURES.values()),
    ]


def peers_table(figures: Figures) -> str:
    """Everybody in one table, the best of each column in bold."""
    ran = [one for one in figures.result("peers")["standings"] if one["scores"] is not None]
    ran.sort(key=lambda one: (one["system"] != RICORDO, -one["scores"]["overall"]["recall_at_10"]))
    columns = [
        [one["scores"]["overall"]["recall_at_10"] for one in ran],
        [one["scores"]["overall"]["recall_at_1"] for one in ran],
        [one["scores"]["overall"]["mrr"] for one in ran],
    ]
    times = [[one["searching"][name] for one in ran] for name in ("p50_ms", "p95_ms")]
    stored = [one["stored_per_second"] or 0.0 for one in ran]
    cells = [
        [one["system"] for one in ran],
        [one["version"] for one in ran],
        *(_bold(column, [share(value) for value in column]) for column in columns),
        *(_bold(column, [ms(value) for value in column], lowest=True) for column in times),
        _bold(stored, [optional(one["stored_per_second"], " /s") for one in ran]),
        [optional(one["megabytes"], " MB") or "in memory" for one in ran],
    ]
    headings = ["system", "version", "recall@10", "recall@1", "MRR", "search, p50", "search, p95"]
    rows = list(zip(*cells, strict=True))
    return table([*headings, "turns stored", "on disk"], rows)


def _bold(values: Sequence[float], shown: Sequence[str], *, lowest: bool = False) -> list[str]:
    first = shown[list(values).index(best(values, lowest=lowest))]
    return [f"**{one}**" if one == first else one for one in shown]


def peers(figures: Figures) -> str:
    """Everybody, what of them was switched off, and who did not run."""
    standings = figures.result("peers")["standings"]
    told = [
        "Every system gets the same turns, with speaker and time in the text, and the same vectors,"
        " those of the shipped model; no language model takes part and nothing is downloaded while"
        " it runs. Times are without embedding the question. Turns are stored in the fastest way"
        " that each offers, with vectors that are there already.",
        peers_table(figures),
    ]
    off = [f"- {one['system']}: {one['switched_off']}." for one in standings if one["switched_off"]]
    if off:
        told.append("Switched off:\n\n" + "\n".join(off))
    absent = [f"- {one['system']}: {one['reason']}." for one in standings if one["scores"] is None]
    if absent:
        told.append("Not run:\n\n" + "\n".join(absent))
    return "\n\n".join(told)


def formation_table(figures: Figures) -> str:
    """What is stored without a language model, set by set."""
    rows = [
        [one["set"], f"{one['stored']:,}", share(one["precision"]), share(one["recall"])]
        for one in figures.result("formation")
        if one["language"] == "all"
    ]
    return table(["set", "stored", "right of what was stored", "found of what should be"], rows)


def formation(figures: Figures) -> str:
    """The same by language."""
    rows = [
        [
            one["set"],
            one["language"],
            *(f"{one[name]:,}" for name in ("expected", "stored")),
            *(share(one[name]) for name in ("precision", "recall")),
        ]
        for one in figures.result("formation")
    ]
    headings = ["set", "language", "expected", "stored", "right", "found"]
    return (
        "What is stored of labelled conversations without a language model. Rules and thresholds"
        " were made with the first two sets at hand.\n\n" + table(headings, rows)
    )
