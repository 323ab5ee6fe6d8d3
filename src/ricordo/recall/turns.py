"""Searching what was said."""

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ricordo.index.cache import Shelves
from ricordo.index.embedders import Chosen, Embedders
from ricordo.index.recent import Recent
from ricordo.index.user_index import Shelf, TurnShelf
from ricordo.model.embedding import VectorModel
from ricordo.model.filters import TurnFilter
from ricordo.model.search import SearchResults, Signals, TurnHit
from ricordo.recall.confidence import confidence_of
from ricordo.recall.question import Question
from ricordo.recall.ranking import Ranking
from ricordo.recall.turn_candidates import NOT_COMPARED, from_database, from_shelf
from ricordo.recall.turn_ranking import RankedTurns
from ricordo.storage.backend import TURNS
from ricordo.storage.database import Database, Reading
from ricordo.storage.threads import speakers, turns_by_id
from ricordo.text.people import named_people, without_people
from ricordo.text.secrets import without_secrets
from ricordo.text.snippets import Snippets

_USERS_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True)
class Seen:
    """What a question's vector depends on: the model, and whose names are left out of it.

    It is remembered from search to search and checked in each, in the view of the database that
    the answer comes from, because the vector has to be made before that is opened.
    """

    chosen: Chosen
    speakers: tuple[str, ...]


class TurnSearch:
    """Finds turns of one user at a time."""

    def __init__(
        self, database: Database, embedders: Embedders, shelves: Shelves, ranking: Ranking
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._shelves = shelves
        self._ranking = ranking
        self._last_seen: Recent[str, Seen] = Recent(_USERS_REMEMBERED)

    def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: TurnFilter,
        threshold: float | None,
        explain: bool,
    ) -> SearchResults[TurnHit]:
        """The turns that answer a question best.

        Raises:
            StorageError: the database could not answer. An embedder that fails is no error.
        """
        started = time.perf_counter()
        guess = self._last_seen.get(user_id) or self._looked_up(user_id)
        while True:
            people = named_people(query, guess.speakers)
            meant = self._embedders.query_vector(guess.chosen, self._about(query, people))
            question = Question.of(query, self._database.analyser, meant)
            with self._database.read(user_id) as view:
                seen, ranked = self._ranked(view, user_id, question, wanted, limit, people)
                if seen == guess:
                    hits = self._hits(view, user_id, ranked, question, limit, threshold, explain)
                    break
            # Somebody else has spoken, or another model was chosen, since the search before.
            guess = seen
        self._last_seen.put(user_id, seen)
        spent = (time.perf_counter() - started) * 1000
        return SearchResults(
            hits,
            confidence=hits[0].confidence if hits else None,
            degraded=meant.problem,
            timings={"embed_ms": meant.embed_ms, "search_ms": spent - meant.embed_ms},
        )

    def _about(self, query: str, people: list[str]) -> str:
        """What is asked, without whom: a name would pull towards turns that address that person."""
        return without_people(query, people) if people and self._ranking.uses("names") else query

    def _looked_up(self, user_id: str) -> Seen:
        with self._database.read(user_id) as view:
            chosen = self._embedders.chosen(view.connection, user_id)
            with self._shelves.borrow(view.connection, TURNS, user_id, chosen.model) as shelf:
                return Seen(chosen, _speakers(view, user_id, shelf))

    def _ranked(
        self,
        view: Reading,
        user_id: str,
        question: Question,
        wanted: TurnFilter,
        limit: int,
        people: list[str],
    ) -> tuple[Seen, RankedTurns]:
        chosen = self._embedders.chosen(view.connection, user_id)
        with self._shelves.borrow(view.connection, TURNS, user_id, chosen.model) as shelf:
            seen = Seen(chosen, _speakers(view, user_id, shelf))
            if shelf is None:
                backend = self._database.backend
                found = from_database(
                    backend, view.connection, user_id, self._ranking, question, wanted
                )
            else:
                assert isinstance(shelf, TurnShelf)
                found = from_shelf(shelf, self._ranking, question, wanted, limit)
            return seen, RankedTurns(self._ranking, found, question.text, people)

    def _hits(
        self,
        view: Reading,
        user_id: str,
        ranked: RankedTurns,
        question: Question,
        limit: int,
        threshold: float | None,
        explain: bool,
    ) -> tuple[TurnHit, ...]:
        # What is left out must not take a place: with a threshold all candidates are looked at.
        looked_at = limit if threshold is None else len(ranked.order)
        shown = Shown(ranked, looked_at, question.meant.model)
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


class Shown:
    """The parts of the best turns' scores as plain numbers, one list per part."""

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
        """Every component of the score of one of them."""
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


def _speakers(view: Reading, user_id: str, shelf: Shelf | None) -> tuple[str, ...]:
    if isinstance(shelf, TurnShelf):
        return shelf.speakers
    return tuple(speakers(view.connection, user_id))
