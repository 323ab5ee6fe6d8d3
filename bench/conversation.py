"""python -m bench conversation: what the requests of one long conversation cost."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.memory import Memory
from ricordo.model.record import Record
from ricordo.prompt.budget import MESSAGE_TOKENS
from ricordo.text.tokens import estimate_tokens
from ricordo.transfer.exports import Progress
from ricordo.wiring import open_memory
from ricordo_bench.figures import Machine, this_machine
from ricordo_bench.stores import InventedTexts, SyntheticEmbedder

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

_TURNS = 2_000
_SHOWN = (10, 20, 100, 500, 1_000, 2_000)
_EVERY = 10
_RESTARTS = 4
_THREAD = "long"
_SENTENCES = {"user": 2, "assistant": 4}
_INK, _PALE, _GRID = "#1f4e79", "#b0562b", "#d9d9d9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Record):
    """What the request after so many turns costs, and what it would with all of them."""

    turns: int
    tokens: int
    tokens_of_all: int
    shown_turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Record):
    """All points, how it came out, and what it was measured on."""

    machine: Machine
    points: tuple[Point, ...]
    restarts: int
    compactions: int
    turns_lost: int


def register(commands: Commands) -> None:
    parser = commands.add_parser("conversation", help="tokens of a request as a conversation grows")
    parser.add_argument("--out", type=Path, help="a picture to write, as PNG")
    parser.add_argument(
        "--turns", type=int, default=_TURNS, help=f"how long it gets (default {_TURNS:,})"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory(prefix="ricordo-conversation-") as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        url = str(Path(name) / "ricordo.db")
        points = list(_talk(url, given.turns, bar("turns")))
        with _open(url) as memory:
            compactions, lost = _told_and_lost(memory, given.turns)
    if given.out is not None:
        draw(points, given.out)
    measured = Conversation(
        machine=machine,
        points=tuple(points),
        restarts=_RESTARTS,
        compactions=compactions,
        turns_lost=lost,
    )
    answer(given.as_json, measured, _table)


def draw(points: Sequence[Point], path: Path) -> None:
    """What is sent stays within a band; what would have to be sent grows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    turns = [point.turns for point in points]
    of_all = [point.tokens_of_all for point in points]
    axes.plot(turns, of_all, color=_PALE, linestyle="--", label="all turns")
    axes.plot(turns, [point.tokens for point in points], color=_INK, label="with compaction")
    axes.set(yscale="log", xlabel="turns of the conversation", ylabel="tokens of a request")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.grid(color=_GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _open(url: str) -> Memory:
    return open_memory(url, embedder=SyntheticEmbedder(), run_jobs=False, upkeep=False)


def _talk(url: str, turns: int, progress: Progress) -> Iterator[Point]:
    """One conversation, in a store that is closed and opened again now and then."""
    source = InventedTexts()
    said_tokens = 0
    done = 0
    restart_at = max(turns // (_RESTARTS + 1), 1)
    while done < turns:
        with _open(url) as memory:
            me = memory.user("ana")
            me.resume(_THREAD)
            while done < turns:
                done += 1
                said = _said(source, done)
                me.observe([said], thread=_THREAD)
                memory.run_jobs()
                said_tokens += estimate_tokens(said["content"]) + MESSAGE_TOKENS
                progress(done, turns)
                if done % _EVERY == 0 or done == turns:
                    yield _point(me, source, done, said_tokens)
                if done % restart_at == 0:
                    break


def _said(source: InventedTexts, number: int) -> dict[str, str]:
    role = "user" if number % 2 else "assistant"
    sentences = [f"{text.capitalize()}." for text in source.texts(_SENTENCES[role])]
    return {"role": role, "content": " ".join(sentences)}


def _point(me: "UserMemory", source: InventedTexts, done: int, said_tokens: int) -> Point:
    (asked,) = source.texts(1)
    context = me.context(asked, thread=_THREAD, modes=["recall", "summary"])
    beside = context.tokens.total - context.tokens.history
    return Point(
        turns=done,
        tokens=context.tokens.total,
        tokens_of_all=beside + said_tokens,
        shown_turns=len(me.window(_THREAD).turns),
    )


def _told_and_lost(memory: Memory, turns: int) -> tuple[int, int]:
    """How many stretches were told in short, and how many turns are neither told nor open."""
    import sqlalchemy as sa

    from ricordo.storage.tables import compactions

    wanted = sa.select(compactions.c.first_position, compactions.c.last_position)
    with memory.database.read_all() as view:
        stretches = view.connection.execute(wanted).all()
    told = [position for first, last in stretches for position in range(first, last + 1)]
    shown = [turn.position for turn in memory.user("ana").window(_THREAD).turns]
    return len(stretches), len(set(range(1, turns + 1)) - {*told, *shown})


def _table(measured: Conversation) -> TableListing:
    by_turns = {point.turns: point for point in measured.points}
    last = measured.points[-1]
    shown = [by_turns[turns] for turns in _SHOWN if turns in by_turns and turns != last.turns]
    rows = [
        [
            f"{point.turns:,}",
            f"{point.tokens:,}",
            f"{point.tokens_of_all:,}",
            f"{point.shown_turns}",
        ]
        for point in [*shown, last]
    ]
    headings = ["Turns", "Tokens", "With all turns", "Turns shown"]
    note = (
        f"{measured.restarts} restarts, {measured.compactions} compactions,"
        f" {measured.turns_lost} turns lost. {measured.machine.in_words}"
    )
    return TableListing(headings, rows, note)
