"""A small cross-encoder of ours, which reads a question again with each of the best results.

What it says joins the probability of the first ranking. ``training/reranker`` has the recipe.
"""

import contextlib
import functools
import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from importlib import resources
from typing import Final, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ricordo.fork_safety import OnePerProcess
from ricordo.providers.local_embedder import SHIPPED_READER_GRAPH, usable_cores
from ricordo.providers.pair_model import Pair, PairModel
from ricordo.recall.ranking import Scores

_log = logging.getLogger(__name__)

Given = ParamSpec("Given")
Found = TypeVar("Found")

QUESTION_TOKENS: Final = 32
BEFORE_TOKENS: Final = 20
LINE_TOKENS: Final = 64
_LEAST: Final = 1e-4
_FARTHEST: Final = 4.0
_FEWEST, _MOST = 10, 1_000  # texts, for how sure it can be


def log_odds(chances: Scores) -> Scores:
    known = np.clip(chances, _LEAST, 1 - _LEAST)
    odds: Scores = np.log(known / (1 - known))
    return odds


class Line(NamedTuple):
    """What is read: a memory, or a turn after its speaker, and the turn before it."""

    text: str
    before: str = ""


class Joining(NamedTuple):
    """How both rankings become one probability.

    ``order`` weighs them. Who is first by it may only just be, and among many texts there is more
    to confuse: so what the first and the others are worth (``best``, ``rest``) also depends on the
    distance to the best of the others, and on the number of texts.
    """

    order: Sequence[float]
    best: Sequence[float]
    rest: Sequence[float]

    def chances(self, first: Scores, said: Scores, documents: int) -> Scores:
        worth = self.worth(first, said)
        if not len(worth):
            return worth
        top = int(worth.argmax())
        given = circumstances(worth, documents)
        joined: Scores = 1 / (1 + np.exp(-(given @ np.array(self.rest))))
        joined[top] = 1 / (1 + np.exp(-(given[top] @ np.array(self.best))))
        capped: Scores = np.minimum(joined, joined[top])
        return capped

    def worth(self, first: Scores, said: Scores) -> Scores:
        by_first, by_second, shift = self.order
        worth: Scores = by_first * log_odds(first) + by_second * said + shift
        return worth


def circumstances(worth: Scores, documents: int) -> Scores:
    """Of each result its worth, how far it is from the best of the others, among how many it is,
    and one.
    """
    others = np.full(len(worth), worth.max())
    top = int(worth.argmax())
    others[top] = np.delete(worth, top).max(initial=worth[top] - _FARTHEST)
    far = np.clip(worth - others, -_FARTHEST, _FARTHEST)
    among = np.full(len(worth), math.log(min(max(documents, _FEWEST), _MOST) / _FEWEST))
    return np.stack([worth, far, among, np.ones(len(worth))], 1)


class Reranker:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._model = PairModel(SHIPPED_READER_GRAPH)
        joining = json.loads((resources.files(__package__) / "joining.json").read_text("utf-8"))
        self._joining = {kind: Joining(**numbers) for kind, numbers in joining.items()}

    def chances(
        self,
        kind: str,
        question: str,
        lines: Sequence[Line],
        first: Scores,
        documents: int,
        seconds: float,
    ) -> Scores:
        """The probability of each line, from that of the first ranking and a second reading, and
        among how many texts they were found; of as many lines as the time allows.
        """
        said = self.said(question, lines, seconds)
        return self._joining[kind].chances(first[: len(said)], said, documents)

    def said(self, question: str, lines: Sequence[Line], seconds: float) -> Scores:
        """How much rather lines answer than not: the first few, and more while there is time."""
        until = time.monotonic() + seconds
        asked = self._model.first(question, QUESTION_TOKENS)

        def pair(place: int) -> Pair:
            return asked, self._line(lines[place])

        said: Scores = self._model.run(pair, len(lines), until)[:, 0]
        return said

    def _line(self, line: Line) -> list[int]:
        before = self._model.second(line.before, BEFORE_TOKENS) if line.before else []
        return [*before, *self._model.second(line.text, LINE_TOKENS)]


class Searches:
    """How many searches of this process are under way, with those that wait for a thread."""

    def __init__(self) -> None:
        self.count = 0
        self.processes = 1  # that share the cores
        self._lock = threading.Lock()

    @property
    def are_too_many(self) -> bool:
        """One would be read again at the cost of the others."""
        return self.count > max(1, usable_cores() // self.processes)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count one, once: what is counted while it waits is not counted again when it is done."""
        if _is_counted.get():
            yield
            return
        token = _is_counted.set(True)
        with self._lock:
            self.count += 1
        try:
            yield
        finally:
            with self._lock:
                self.count -= 1
            _is_counted.reset(token)


_is_counted: ContextVar[bool] = ContextVar("ricordo_is_counted", default=False)
_loaded = OnePerProcess(Reranker)
under_way = OnePerProcess(Searches)


def counted(search: Callable[Given, Found]) -> Callable[Given, Found]:
    @functools.wraps(search)
    def counting(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        with under_way.get().counting():
            return search(*args, **kwargs)

    return counting


def reranker() -> Reranker:
    return _loaded.get()


def reread(
    kind: str,
    question: str,
    lines: Sequence[Line],
    first: Scores,
    documents: int,
    seconds: float,
) -> Scores | None:
    """See :meth:`Reranker.chances`. None, and the first order stays, where it fails, and where too
    many searches have come meanwhile.
    """
    if under_way.get().are_too_many:
        return None
    try:
        return reranker().chances(kind, question, lines, first, documents, seconds)
    except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
        _log.warning("the best results were not read again: %s", error)
        return None
