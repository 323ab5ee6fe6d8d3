"""Measuring: ``bench recall``, ``bench answers``, ``bench formation`` and ``bench speed``."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo import limits
from ricordo.cli.render import TableListing, answer, progress_bar
from ricordo.cli.store import AsJson

if TYPE_CHECKING:
    from ricordo_bench.answers import AnswerReport, WayMeasures
    from ricordo_bench.figures import Figure, FigureReport, Latency
    from ricordo_bench.formation import FormationMeasures, FormationRow
    from ricordo_bench.recall import Measures, RecallReport, Rung, Scores

_MEASURES: Final = {
    "R@1": "recall_at_1",
    "R@5": "recall_at_5",
    "R@10": "recall_at_10",
    "R@20": "recall_at_20",
    "all@10": "all_at_10",
    "MRR": "mrr",
    "nDCG@10": "ndcg_at_10",
}
_WAY_HEADINGS: Final = ("Questions", "F1", "Contained", "Exact")
_COST_HEADINGS: Final = ("Tokens", "ms p50", "p95", "Failed")
FORMATION_HEADINGS: Final = (
    *("Set", "Language", "Conversations", "Precision", "Recall", "Stored", "Expected"),
    *("Leaked", "ms/turn p50", "p95"),
)
MODEL_HEADINGS: Final = ("Calls", "Tokens in", "Tokens out", "Failed")
_VERDICTS: Final = {True: "met", False: "missed", None: ""}
_COLOURS: Final = {"met": "green", "missed": "red"}

SetPath = Annotated[
    Path,
    typer.Option(metavar="FILE", help="Conversations with questions, as JSON.", show_default=False),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Database to measure on; what is stored there stays, under users whose names begin"
        " with bench (default: a temporary file).",
    ),
]
Ladder = Annotated[bool, typer.Option("--ladder", help="Show what each step of the ranking adds.")]
LabelledPaths = Annotated[
    list[Path],
    typer.Option(
        metavar="SET",
        help="Labelled conversations, as JSON Lines: a file, or a folder of .jsonl files; may be"
        " given several times.",
        show_default=False,
    ),
]
Provider = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Provider of a chat model that reads (default with --base-url: custom_http;"
        " with --model alone: openai).",
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Model that reads. Without a model, what works without one reads."
    ),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Its endpoint.")]
ModelKey = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="Its key. Better than on the command line, where others may see it: the variable"
        " RICORDO_MODEL_API_KEY.",
    ),
]
ReaderName = Annotated[str | None, typer.Option(metavar="NAME", help="Model that answers.")]
Judge = Annotated[
    bool,
    typer.Option("--judge", help="Ask the model whether each answer agrees with the right one."),
]
OfEachConversation = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only the first questions of each conversation."),
]
TokensShown = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=limits.MIN_CONTEXT_TOKENS,
        max=limits.MAX_CONTEXT_TOKENS,
        help="Tokens of a context.",
    ),
]
Ways = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WAY",
        help="Just this way of showing: context, formed, turns, dense, bm25, rrf, evidence or"
        " nothing; may be given several times (default: all but formed).",
    ),
]
Errors = Annotated[bool, typer.Option("--errors", help="List what is wrong and what is missed.")]
OfEachFile = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only the first conversations of each file."),
]
Size = Annotated[
    int, typer.Option(metavar="N", help="Memories in the largest store; the rest in proportion.")
]
Queries = Annotated[int, typer.Option(metavar="N", help="Searches for each figure.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND",
        help="Just this: start, add, search, users, query, context, relation, checkpoint, resident"
        " or postgres; may be given several times.",
    ),
]
PostgresAddress = Annotated[
    str | None,
    typer.Option(metavar="URL", help="PostgreSQL to compare with; what is stored is removed."),
]
Folder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where to put the stores (default: the temporary folder)."),
]


def recall(
    *, path: SetPath, url: Address = None, ladder: Ladder = False, as_json: AsJson = False
) -> None:
    """Measure how well the right turns of conversations are found.

    Example: ricordo bench recall --path questions.json
    """
    from ricordo_bench.recall import (
        climb,
        measure_recall,
        observe_all,
        read_questions,
        store_for_measuring,
    )

    questions = read_questions(path)
    with store_for_measuring(url) as address, progress_bars(wanted=not as_json) as bar:
        observe_all(address, questions, bar("observing"))
        if ladder:
            rungs = tuple(climb(address, questions, bar))
        else:
            report = measure_recall(address, questions, bar("asking"))
    if ladder:
        answer(as_json, rungs, _ladder_table)
        return
    answer(as_json, report, _recall_table)
    if not as_json:
        answer(as_json, report, _recall_summary)


def answers(
    *,
    path: SetPath,
    url: Address = None,
    provider: Provider = None,
    model: ReaderName = None,
    base_url: BaseUrl = None,
    api_key: ModelKey = None,
    judge: Judge = False,
    limit: OfEachConversation = None,
    budget: TokensShown = 1_000,
    way: Ways = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well a model answers questions from what it is shown of conversations.

    A model that the environment sets does not take part, only one that is named here.

    Example: ricordo bench answers --path questions.json --model NAME --base-url URL
    """
    from ricordo_bench.answers import chosen_ways, measure_answers, read_answered, reader_settings
    from ricordo_bench.recall import store_for_measuring

    ways = chosen_ways(way or ())
    settings = reader_settings(provider, model, base_url, api_key)
    questions = read_answered(path, limit)
    with store_for_measuring(url) as address, progress_bars(wanted=not as_json) as bar:
        report = measure_answers(
            address, questions, ways, settings, bar, budget=budget, judge=judge
        )
    answer(as_json, report, _answer_table)


def formation(
    *,
    path: LabelledPaths,
    provider: Provider = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    api_key: ModelKey = None,
    errors: Errors = False,
    limit: OfEachFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure what is stored of labelled conversations: how much is right, how much is found.

    A model that the environment sets does not take part, only one that is named here.

    Example: ricordo bench formation --path labelled.jsonl --errors
    """
    from ricordo_bench.formation import measure_formation, measures, model_settings, read_labelled

    settings = model_settings(provider, model, base_url, api_key)
    sets = {str(one): read_labelled(one, limit) for one in path}
    with progress_bars(wanted=not as_json) as bar:
        measured = [
            measure_formation(name, snippets, bar("forming"), settings=settings)
            for name, snippets in sets.items()
        ]
    found = measures(measured, with_mistakes=errors)
    answer(as_json, found, _formation_table)
    if errors and not as_json:
        answer(as_json, found, _mistake_table)


def speed(
    *,
    size: Size = 100_000,
    queries: Queries = 200,
    only: Only = None,
    postgres_url: PostgresAddress = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Measure how fast everything is, beside the floors.

    Floors are for the full size; a smaller measurement is not judged.

    Example: ricordo bench speed --size 10000 --only search
    """
    from ricordo_bench.figures import FigureReport, this_machine
    from ricordo_bench.speed import measure_speed, plan_speed

    plan = plan_speed(only or (), size=size, queries=queries, postgres_url=postgres_url)
    with _working_folder(folder) as place, progress_bars(wanted=not as_json) as bar:
        machine = this_machine()  # before it is we who keep it busy
        figures = tuple(measure_speed(plan, place, bar))
    answer(as_json, FigureReport(machine=machine, figures=figures), figure_table)


@contextlib.contextmanager
def progress_bars(*, wanted: bool) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Bars one after the other: asking for the next takes away the one before."""
    with contextlib.ExitStack() as shown:

        def next_bar(description: str) -> Callable[[int, int], None]:
            shown.close()
            return shown.enter_context(progress_bar(description.capitalize(), wanted=wanted))

        yield next_bar


@contextlib.contextmanager
def _working_folder(wanted: Path | None) -> Iterator[Path]:
    """A folder of our own inside the wanted one, removed in the end. Raises InvalidValue: the
    wanted folder cannot be written to."""
    from ricordo.errors import InvalidValue

    try:
        made = tempfile.TemporaryDirectory(prefix="ricordo-bench-", dir=wanted)
    except OSError as error:
        raise InvalidValue("folder", f"{wanted}: {error.strerror}") from None
    with made as name:
        yield Path(name).absolute()


def _recall_table(report: "RecallReport") -> TableListing:
    scores = report.scores
    rows = [["all", *_cells(scores.overall)]]
    rows += [[name, *_cells(measures)] for name, measures in scores.categories.items()]
    rows += [[f"apart: {name}", *_cells(measures)] for name, measures in scores.apart.items()]
    return TableListing([report.set_name, "Questions", *_MEASURES], rows)


def _recall_summary(report: "RecallReport") -> str:
    lines = [
        f"Embedding the question: {_milliseconds(report.embedding)}."
        f" Everything else: {_milliseconds(report.searching)}.",
        *_apart_from_the_mean(report.scores),
    ]
    if report.degraded:
        lines.append(f"Searches by words alone, for want of a vector: {report.degraded}.")
    return "\n".join(lines)


def _apart_from_the_mean(scores: "Scores") -> Iterator[str]:
    if scores.without_evidence:
        yield f"Without evidence, only counted: {scores.without_evidence}."
    freshness, abstaining = scores.freshness, scores.abstaining
    if freshness.share is not None:
        yield f"New above old: {freshness.share:.3f} of {freshness.questions} questions."
    if abstaining.auroc is not None:
        yield (
            f"Confidence tells {abstaining.answerable} answerable from"
            f" {abstaining.unanswerable} unanswerable questions: AUROC {abstaining.auroc:.3f}."
        )
    if scores.calibration.error is not None:
        curve = ", ".join(
            f"{one.confidence:.2f} {one.right:.2f} ({one.questions})"
            for one in scores.calibration.curve
        )
        yield (
            f"Calibration error {scores.calibration.error:.3f}; confidence, how often right"
            f" (questions): {curve}."
        )


def _ladder_table(rungs: "Sequence[Rung]") -> TableListing:
    rows = [
        [
            rung.step if number == 0 else f"+ {rung.step}",
            "" if number == 0 else f"{rung.gain:+.3f}",
            *_cells(rung.report.scores.overall),
            _milliseconds(rung.report.searching),
        ]
        for number, rung in enumerate(rungs)
    ]
    return TableListing(["Step", "Gain R@10", "Questions", *_MEASURES, "Search"], rows)


def _answer_table(report: "AnswerReport") -> TableListing:
    """Shares and costs; what a judge said, and what is said where nothing is known, if asked."""
    first = report.ways[0]
    judged, unanswerable = first.overall.judge is not None, first.abstention.unknown is not None
    headings = [
        *(report.set_name, *_WAY_HEADINGS),
        *(["Judge"] if judged else []),
        *(["Unknown"] if unanswerable else []),
        *_COST_HEADINGS,
    ]
    rows = [_way_cells(one) for one in report.ways]
    return TableListing(headings, rows, f"Answered by {report.reader}.")


def _way_cells(one: "WayMeasures") -> list[str]:
    overall, apart = one.overall, one.abstention
    shares = [overall.f1, overall.containment, overall.exact, overall.judge, apart.unknown]
    return [
        *(one.way, str(overall.questions)),
        *(f"{share:.3f}" for share in shares if share is not None),
        f"{one.tokens:,.0f}",
        *(f"{ms:.1f}" for ms in (one.making.p50_ms, one.making.p95_ms)),
        str(overall.failed + apart.failed),
    ]


def _formation_table(found: "FormationMeasures") -> TableListing:
    """Shares and counts; what a model took only where one read."""
    asked = found.model is not None
    headings = [*FORMATION_HEADINGS, *(MODEL_HEADINGS if asked else ())]
    rows = [formation_cells(row, asked=asked) for row in found.rows]
    return TableListing(
        headings, rows, f"Read by {found.model}." if asked else "Read without a model."
    )


def formation_cells(row: "FormationRow", *, asked: bool) -> list[str]:
    """One row of a table; with what the model took where one was asked."""
    counts = [row.stored, row.expected, row.leaked]
    of_model = [row.model_calls, row.prompt_tokens, row.completion_tokens, row.failed]
    return [
        *(row.set_name, row.language, f"{row.conversations:,}"),
        *(f"{share:.3f}" for share in (row.precision, row.recall)),
        *(f"{count:,}" for count in counts),
        *(f"{ms:.1f}" for ms in (row.per_turn.p50_ms, row.per_turn.p95_ms)),
        *(f"{count:,}" for count in of_model if asked),
    ]


def _mistake_table(found: "FormationMeasures") -> TableListing:
    rows = [
        [mistake.kind, mistake.set_name, mistake.conversation, mistake.text]
        for mistake in found.mistakes or ()
    ]
    return TableListing(["Mistake", "Set", "Conversation", "What"], rows)


def figure_table(report: "FigureReport") -> TableListing:
    """Figures beside their floors, and on standard error what they were measured on."""
    rows = [
        [
            figure.name,
            f"{_amount(figure.value)} {figure.unit}",
            "" if figure.floor is None else f"{_bound(figure)} {_amount(figure.floor)}",
            _VERDICTS[figure.met],
        ]
        for figure in report.figures
    ]
    return TableListing(["What", "Measured", "Floor", ""], rows, report.machine.in_words, _COLOURS)


def _cells(measures: "Measures") -> list[str]:
    shares = [f"{getattr(measures, name):.3f}" for name in _MEASURES.values()]
    return [str(measures.questions), *shares]


def _milliseconds(times: "Latency") -> str:
    return f"p50 {times.p50_ms:.1f} ms, p95 {times.p95_ms:.1f} ms"


def _bound(figure: "Figure") -> str:
    return "≤" if figure.better == "lower" else "≥"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
