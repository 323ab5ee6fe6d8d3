"""Searches conversation turns."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.index.cache import IndexCache, LruCache
from ricordo.index.embedders import ChosenEmbedder, Embedders
from ricordo.index.user_index import NO_TURN, Codes, TurnIndex, UserIndex, best_rows, term_weights
from ricordo.model.embedding import VectorModel
from ricordo.model.filters import TurnFilter
from ricordo.model.search import SearchResults, Signals, TurnHit
from ricordo.recall.ranking import (
    ACTOR_BOOST,
    DATE_BOOST,
    ROLE_BOOST,
    SCORE_DIGITS,
    THREAD_BEST,
    THREAD_SHARE,
    WINDOW_LEXICAL,
    WINDOW_SEMANTIC,
    Ranking,
    Scores,
    confidence_of,
    fused,
    nearness,
    normalised,
    strength,
)
from ricordo.recall.words import SearchQuestion, best_by_words, covered, holding, meant_terms
from ricordo.storage.backend import Backend
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.tables import TURNS, turns
from ricordo.storage.threads import SaidTurn, speakers, turns_by_id
from ricordo.text.dates import NamedTime, named_times
from ricordo.text.people import named_people, without_people
from ricordo.text.secrets import without_secrets
from ricordo.text.snippets import Snippets

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
NOT_COMPARED: Final = -1.0
"""The cosine of a turn without a vector."""


@dataclass(slots=True)
class TurnCandidates:
    """Columns of equal length, one row per candidate. ``cosines`` is -1 without a vector."""

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


def from_index(
    user_index: TurnIndex,
    ranking: Ranking,
    question: SearchQuestion,
    wanted: TurnFilter,
    limit: int,
) -> TurnCandidates:
    allowed = _allowed(user_index, wanted)
    terms = (
        meant_terms([user_index], question.terms, limit, ranking) if ranking.uses("lexical") else {}
    )
    weights = term_weights([user_index], terms)
    words = _windowed_words(user_index, ranking, user_index.lexical(weights)) if weights else None
    cosines = None
    if ranking.uses("semantic") and question.meant.vector is not None:
        cosines = user_index.cosines(question.meant.vector)
    meaning = None if cosines is None else _windowed_meaning(user_index, ranking, cosines)
    rows = _best(ranking, user_index, meaning, words, allowed)
    compared = user_index.with_vector[rows]
    if not compared.any():
        cosines = meaning = None
    return TurnCandidates(
        ids=user_index.ids[rows],
        cosines=None if cosines is None else np.where(compared, cosines[rows], NOT_COMPARED),
        meaning=None if meaning is None else _floored(meaning[rows], compared),
        words=None if words is None else words[rows],
        thread=user_index.thread[rows],
        actor=user_index.actor[rows],
        role=user_index.role[rows],
        month=user_index.month[rows],
        day=user_index.day[rows],
        moment=user_index.moment[rows],
        coverage=covered([user_index], [rows], question.terms, terms),
        exact=holding([user_index], [rows], question.exact_terms, ranking),
        said=[user_index.said[row] for row in rows.tolist()],
        actors=user_index.actors,
        roles=user_index.roles,
        weights=weights,
    )


def _allowed(user_index: TurnIndex, wanted: TurnFilter) -> Flags:
    allowed = user_index.alive.copy()
    if wanted.thread is not None:
        allowed &= user_index.thread == user_index.threads.find(wanted.thread)
    if wanted.role is not None:
        allowed &= user_index.role == user_index.roles.find(wanted.role)
    if wanted.actor is not None:
        allowed &= user_index.actor == user_index.actors.find(wanted.actor)
    if wanted.since is not None:
        allowed &= user_index.moment >= wanted.since.timestamp()
    if wanted.until is not None:
        allowed &= user_index.moment < wanted.until.timestamp()
    return allowed


def _windowed_meaning(user_index: TurnIndex, ranking: Ranking, cosines: Scores) -> Scores:
    """Add a share of the preceding turn's similarity: an answer belongs to its question."""
    if not ranking.uses("window"):
        return cosines
    return (cosines + WINDOW_SEMANTIC * cosines[user_index.lenders]) / (1 + WINDOW_SEMANTIC)


def _windowed_words(user_index: TurnIndex, ranking: Ranking, words: Scores) -> Scores:
    if not ranking.uses("window"):
        return words
    before = user_index.before
    return words + WINDOW_LEXICAL * np.where(before != NO_TURN, words[before], 0)


def _best(
    ranking: Ranking,
    user_index: TurnIndex,
    meaning: Scores | None,
    words: Scores | None,
    allowed: Flags,
) -> Any:
    found = []
    if meaning is not None:
        usable = np.where(allowed & user_index.with_vector, meaning, -np.inf)
        rows = best_rows(usable, ranking.candidates)
        found.append(rows[usable[rows] > -np.inf])
    if words is not None:
        usable = np.where(allowed, words, 0)
        rows = best_rows(usable, ranking.candidates)
        found.append(rows[usable[rows] > 0])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.intp)


def _floored(scores: Scores, compared: Flags) -> Scores:
    """Give rows without a vector the lowest score of those with one."""
    if compared.all() or not compared.any():
        return scores
    return np.where(compared, scores, scores[compared].min())


def from_database(
    backend: Backend,
    connection: sa.Connection,
    user_id: str,
    ranking: Ranking,
    question: SearchQuestion,
    wanted: TurnFilter,
) -> TurnCandidates:
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


_USER_ROLE = "user"


class RankedTurns:
    def __init__(
        self, ranking: Ranking, found: TurnCandidates, question: str, people: list[str]
    ) -> None:
        self.found = found
        self.semantic = None if found.meaning is None else nearness(found.meaning)
        self.lexical = None if found.words is None else normalised(found.words)
        strong = strength(found.cosines)
        self.base = fused(ranking, self.semantic, self.lexical, strong, found.exact)
        self.boosts: dict[str, Scores] = {}
        if ranking.uses("actor") and len(people) == 1:
            spoke = found.actor == found.actors.find(people[0])
            self.boosts["actor"] = ACTOR_BOOST * spoke
        if ranking.uses("date"):
            named = named_times(question)
            if named is not None:
                self.boosts["date"] = DATE_BOOST * _said_then(found, named)
        if ranking.uses("role"):
            self.boosts["role"] = ROLE_BOOST * (found.role == found.roles.find(_USER_ROLE))
        total = self.base + sum(self.boosts.values())
        if ranking.uses("thread"):
            self.boosts["thread"] = THREAD_SHARE * _thread_support(found.thread, total)
            total = total + self.boosts["thread"]
        self.scores = total
        shown = np.round(total, SCORE_DIGITS)
        self.order = np.lexsort((-found.ids, -found.moment, -shown))


def _said_then(found: TurnCandidates, named: NamedTime) -> Any:
    hit = np.ones(len(found.ids), np.bool_)
    if named.years:
        hit &= np.isin(found.month // 12, list(named.years))
    if named.months:
        hit &= np.isin(found.month % 12 + 1, list(named.months))
    if named.days:
        hit &= np.isin(found.day, list(named.days))
    return hit


def _thread_support(thread: Any, scores: Scores) -> Scores:
    """The mean of the best few of each turn's thread: a topic shows in several turns."""
    if not len(scores):
        return scores
    # Plain lists: numpy scalars are slow for few candidates.
    numbers = thread.tolist()
    values = scores.tolist()
    best: dict[int, list[float]] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        of_thread = best.setdefault(numbers[place], [])
        if len(of_thread) < THREAD_BEST:
            of_thread.append(max(values[place], 0.0))
    support = {number: sum(of_thread) / len(of_thread) for number, of_thread in best.items()}
    return np.array([support[number] for number in numbers])


_USERS_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True)
class TurnSignals:
    """What a query's vector depends on: the model, and the names removed from the query.

    Cached between searches and verified in each, because the vector is computed before the database
    view is opened.
    """

    chosen: ChosenEmbedder
    speakers: tuple[str, ...]


class TurnSearch:
    def __init__(
        self, database: Database, embedders: Embedders, indexes: IndexCache, ranking: Ranking
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._indexes = indexes
        self._ranking = ranking
        self._last_seen: LruCache[str, TurnSignals] = LruCache(_USERS_REMEMBERED)

    def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: TurnFilter,
        threshold: float | None,
        explain: bool,
    ) -> SearchResults[TurnHit]:
        """The turns that answer a query best.

        Raises:
            StorageError: the database could not answer. An embedder that fails is no error.
        """
        started = time.perf_counter()
        guess = self._last_seen.get(user_id) or self._read_signals(user_id)
        while True:
            people = named_people(query, guess.speakers)
            meant = self._embedders.query_vector(guess.chosen, self._without_names(query, people))
            question = SearchQuestion.of(query, self._database.analyser, meant)
            with self._database.read(user_id) as view:
                seen, ranked = self._ranked(view, user_id, question, wanted, limit, people)
                if seen == guess:
                    hits = self._hits(view, user_id, ranked, question, limit, threshold, explain)
                    break
            # The speakers or the model have changed since the last search.
            guess = seen
        self._last_seen.put(user_id, seen)
        spent = (time.perf_counter() - started) * 1000
        return SearchResults(
            hits,
            confidence=hits[0].confidence if hits else None,
            degraded=meant.problem,
            timings={"embed_ms": meant.embed_ms, "search_ms": spent - meant.embed_ms},
        )

    def _without_names(self, query: str, people: list[str]) -> str:
        """The query without names, which would favour turns that address that person."""
        return without_people(query, people) if people and self._ranking.uses("names") else query

    def _read_signals(self, user_id: str) -> TurnSignals:
        with self._database.read(user_id) as view:
            chosen = self._embedders.chosen(view.connection, user_id)
            with self._indexes.borrow(view.connection, TURNS, user_id, chosen.model) as user_index:
                return TurnSignals(chosen, _speakers(view, user_id, user_index))

    def _ranked(
        self,
        view: ReadTransaction,
        user_id: str,
        question: SearchQuestion,
        wanted: TurnFilter,
        limit: int,
        people: list[str],
    ) -> tuple[TurnSignals, RankedTurns]:
        chosen = self._embedders.chosen(view.connection, user_id)
        with self._indexes.borrow(view.connection, TURNS, user_id, chosen.model) as user_index:
            seen = TurnSignals(chosen, _speakers(view, user_id, user_index))
            if user_index is None:
                backend = self._database.backend
                found = from_database(
                    backend, view.connection, user_id, self._ranking, question, wanted
                )
            else:
                assert isinstance(user_index, TurnIndex)
                found = from_index(user_index, self._ranking, question, wanted, limit)
            return seen, RankedTurns(self._ranking, found, question.text, people)

    def _hits(
        self,
        view: ReadTransaction,
        user_id: str,
        ranked: RankedTurns,
        question: SearchQuestion,
        limit: int,
        threshold: float | None,
        explain: bool,
    ) -> tuple[TurnHit, ...]:
        # With a threshold all candidates are checked, so that rejected ones take no place.
        looked_at = limit if threshold is None else len(ranked.order)
        shown = ShownTurn(ranked, looked_at, question.meant.model)
        kept = [
            place
            for place, sure in enumerate(shown.confidence)
            if threshold is None or sure >= threshold
        ][:limit]
        long = [shown.ids[place] for place in kept if shown.said[place] is None]
        looked_up = turns_by_id(view.connection, user_id, long) if long else {}
        snippets = Snippets(question.terms, self._database.analyser)
        hits = []
        for place in kept:
            turn_id = shown.ids[place]
            turn = shown.said[place] or looked_up.get(turn_id)
            if turn is None:  # said after this view of the database was opened, or erased since
                continue
            hits.append(
                TurnHit(
                    id=turn_id,
                    content_snippet=snippets.of(without_secrets(turn.content)),
                    score=shown.score[place],
                    confidence=shown.confidence[place],
                    signals=Signals(shown.lexical[place], shown.semantic[place]),
                    explanation=shown.explanation(place) if explain else None,
                    thread_id=turn.thread_id,
                    message_id=turn.message_id,
                    actor=turn.actor,
                    role=turn.role,
                    at=turn.at,
                )
            )
        return tuple(hits)


class ShownTurn:
    def __init__(self, ranked: RankedTurns, limit: int, model: VectorModel | None) -> None:
        self._ranked = ranked
        self._best = ranked.order[:limit]
        found = ranked.found
        self.ids: list[int] = found.ids[self._best].tolist()
        self.said = [found.said[place] for place in self._best.tolist()]
        self.score: list[float] = np.round(ranked.scores[self._best], 6).tolist()
        self.semantic = self._column(ranked.semantic)
        self.lexical = self._column(ranked.lexical)
        name = None if model is None else model.model
        self.confidence = [
            confidence_of(None if cosine == NOT_COMPARED else cosine, share or 0.0, name)
            for cosine, share in zip(
                self._column(found.cosines), self._column(found.coverage), strict=True
            )
        ]

    def explanation(self, place: int) -> dict[str, Any]:
        found = self._ranked.found
        parts = {
            "cosine": found.cosines,
            "semantic": found.meaning,
            "bm25": found.words,
            "coverage": found.coverage,
            "exact": found.exact,
            "fused": self._ranked.base,
        }
        return {
            **{name: self._column(part)[place] for name, part in parts.items()},
            "terms": {term: round(weight, 4) for term, weight in found.weights.items()},
            "boosts": {
                name: self._column(boost)[place] for name, boost in self._ranked.boosts.items()
            },
        }

    def _column(self, scores: Any) -> list[float | None]:
        if scores is None:
            return [None] * len(self._best)
        listed: list[float | None] = np.round(scores[self._best], 4).tolist()
        return listed


def _speakers(view: ReadTransaction, user_id: str, user_index: UserIndex | None) -> tuple[str, ...]:
    if isinstance(user_index, TurnIndex):
        return user_index.speakers
    return tuple(speakers(view.connection, user_id))
