"""The turns that may answer a question, with all that their ranking looks at.

They come from the user's shelf in memory; for a user whose index is too large for that, from the
database, where the turn before is not looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.index.user_index import NO_TURN, Codes, TurnShelf, best_rows, term_weights
from ricordo.model.filters import TurnFilter
from ricordo.recall.fusion import Scores
from ricordo.recall.question import Question
from ricordo.recall.ranking import WINDOW_LEXICAL, WINDOW_SEMANTIC, Ranking
from ricordo.recall.stored_words import best_by_words
from ricordo.recall.words import covered, holding, meant_terms
from ricordo.storage.backend import TURNS, Backend
from ricordo.storage.tables import turns
from ricordo.storage.threads import SaidTurn, turns_by_id

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
NOT_COMPARED: Final = -1.0
"""The cosine of a turn that has no vector."""


@dataclass(slots=True)
class TurnCandidates:
    """Columns of equal length, one place per candidate. ``cosines`` is -1 where there is none."""

    ids: Any
    cosines: Any | None
    meaning: Scores | None
    words: Scores | None
    thread: Any
    actor: Any
    role: Any
    month: Any
    day: Any
    moment: Any
    coverage: Any
    exact: Any
    said: Sequence[SaidTurn | None]
    actors: Codes
    roles: Codes
    weights: Mapping[str, float]


def from_shelf(
    shelf: TurnShelf, ranking: Ranking, question: Question, wanted: TurnFilter, limit: int
) -> TurnCandidates:
    """The best of each signal on a shelf, among those that the filter allows."""
    allowed = _allowed(shelf, wanted)
    terms = meant_terms([shelf], question.terms, limit, ranking) if ranking.uses("lexical") else {}
    weights = term_weights([shelf], terms)
    words = _windowed_words(shelf, ranking, shelf.lexical(weights)) if weights else None
    cosines = None
    if ranking.uses("semantic") and question.meant.vector is not None:
        cosines = shelf.cosines(question.meant.vector)
    meaning = None if cosines is None else _windowed_meaning(shelf, ranking, cosines)
    rows = _best(ranking, shelf, meaning, words, allowed)
    compared = shelf.with_vector[rows]
    return TurnCandidates(
        ids=shelf.ids[rows],
        cosines=None if cosines is None else np.where(compared, cosines[rows], NOT_COMPARED),
        meaning=None if meaning is None else _floored(meaning[rows], compared),
        words=None if words is None else words[rows],
        thread=shelf.thread[rows],
        actor=shelf.actor[rows],
        role=shelf.role[rows],
        month=shelf.month[rows],
        day=shelf.day[rows],
        moment=shelf.moment[rows],
        coverage=covered([shelf], [rows], question.terms, terms),
        exact=holding([shelf], [rows], question.exact_terms, ranking),
        said=[shelf.said[row] for row in rows.tolist()],
        actors=shelf.actors,
        roles=shelf.roles,
        weights=weights,
    )


def _allowed(shelf: TurnShelf, wanted: TurnFilter) -> Flags:
    allowed = shelf.alive.copy()
    if wanted.thread is not None:
        allowed &= shelf.thread == shelf.threads.find(wanted.thread)
    if wanted.role is not None:
        allowed &= shelf.role == shelf.roles.find(wanted.role)
    if wanted.actor is not None:
        allowed &= shelf.actor == shelf.actors.find(wanted.actor)
    if wanted.since is not None:
        allowed &= shelf.moment >= wanted.since.timestamp()
    if wanted.until is not None:
        allowed &= shelf.moment < wanted.until.timestamp()
    return allowed


def _windowed_meaning(shelf: TurnShelf, ranking: Ranking, cosines: Scores) -> Scores:
    """An answer carries its question: the turn before lends a share of its own nearness."""
    if not ranking.uses("window"):
        return cosines
    return (cosines + WINDOW_SEMANTIC * cosines[shelf.lenders]) / (1 + WINDOW_SEMANTIC)


def _windowed_words(shelf: TurnShelf, ranking: Ranking, words: Scores) -> Scores:
    if not ranking.uses("window"):
        return words
    before = shelf.before
    return words + WINDOW_LEXICAL * np.where(before != NO_TURN, words[before], 0)


def _best(
    ranking: Ranking,
    shelf: TurnShelf,
    meaning: Scores | None,
    words: Scores | None,
    allowed: Flags,
) -> Any:
    found = []
    if meaning is not None:
        usable = np.where(allowed & shelf.with_vector, meaning, -np.inf)
        rows = best_rows(usable, ranking.candidates)
        found.append(rows[usable[rows] > -np.inf])
    if words is not None:
        usable = np.where(allowed, words, 0)
        rows = best_rows(usable, ranking.candidates)
        found.append(rows[usable[rows] > 0])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.intp)


def _floored(scores: Scores, compared: Flags) -> Scores:
    """What has no vector counts as the least near of those that have one."""
    if compared.all() or not compared.any():
        return scores
    return np.where(compared, scores, scores[compared].min())


def from_database(
    backend: Backend,
    connection: sa.Connection,
    user_id: str,
    ranking: Ranking,
    question: Question,
    wanted: TurnFilter,
) -> TurnCandidates:
    """The best of each signal in the database, among those that the filter allows."""
    where = _condition(user_id, wanted)
    words: dict[int, float] = {}
    coverage: dict[int, float] = {}
    weights: Mapping[str, float] = {}
    exact: dict[int, float] = {}
    if ranking.uses("lexical"):
        words, coverage, weights, exact = best_by_words(
            backend, connection, TURNS, [user_id], question, where, ranking
        )
    near: dict[int, float] = {}
    meant = question.meant
    if ranking.uses("semantic") and meant.vector is not None and meant.model is not None:
        near = dict(
            backend.search.nearest(
                connection, TURNS, meant.model, meant.vector, where, ranking.candidates
            )
        )
    ids = sorted({*words, *near})
    return _tabled(connection, user_id, ids, near, words, coverage, exact, weights)


def _condition(user_id: str, wanted: TurnFilter) -> sa.ColumnElement[bool]:
    found = [turns.c.user_id == user_id]
    if wanted.thread is not None:
        found.append(turns.c.thread_id == wanted.thread)
    if wanted.role is not None:
        found.append(turns.c.role == wanted.role)
    if wanted.actor is not None:
        found.append(turns.c.actor == wanted.actor)
    if wanted.since is not None:
        found.append(turns.c.at >= wanted.since)
    if wanted.until is not None:
        found.append(turns.c.at < wanted.until)
    return sa.and_(*found)


def _tabled(
    connection: sa.Connection,
    user_id: str,
    ids: Sequence[int],
    near: Mapping[int, float],
    words: Mapping[int, float],
    coverage: Mapping[int, float],
    exact: Mapping[int, float],
    weights: Mapping[str, float],
) -> TurnCandidates:
    said = turns_by_id(connection, user_id, ids)
    threads, actors, roles = Codes(), Codes(), Codes()
    listed = [said[one] for one in ids]
    cosines = np.array([near.get(one, NOT_COMPARED) for one in ids])
    return TurnCandidates(
        ids=np.array(ids, np.int64),
        cosines=cosines if near else None,
        meaning=_floored(cosines, cosines > NOT_COMPARED) if near else None,
        words=np.array([words.get(one, 0.0) for one in ids]) if words else None,
        thread=np.array([threads.of(turn.thread_id) for turn in listed]),
        actor=np.array([actors.of(turn.actor) for turn in listed]),
        role=np.array([roles.of(turn.role) for turn in listed]),
        month=np.array([turn.at.year * 12 + turn.at.month - 1 for turn in listed]),
        day=np.array([turn.at.day for turn in listed]),
        moment=np.array([turn.at.timestamp() for turn in listed]),
        coverage=np.array([coverage.get(one, 0.0) for one in ids]),
        exact=np.array([exact.get(one, 0.0) for one in ids]),
        said=listed,
        actors=actors,
        roles=roles,
        weights=weights,
    )
