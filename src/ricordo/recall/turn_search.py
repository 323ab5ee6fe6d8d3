"""Searches conversation turns."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import sqlalchemy as sa

from ricordo.index.user_index import TurnIndex
from ricordo.limits import MAX_PIECE_CHARS
from ricordo.model.embedding import VectorModel
from ricordo.model.filters import TurnFilter
from ricordo.model.search import Signals, SupersededStatement, TurnHit, TurnPart
from ricordo.recall.candidates import Candidates, Question, Reading, SearchedRows
from ricordo.recall.origins import superseded_statements
from ricordo.recall.ranker import features, ranker
from ricordo.recall.ranking import (
    ACTOR_BOOST,
    DATE_BOOST,
    ROLE_BOOST,
    THREAD_BEST,
    THREAD_SHARE,
    Boosts,
    Scores,
)
from ricordo.recall.reranker import Line
from ricordo.recall.search import PART_DIGITS, Ranked, Search
from ricordo.storage.database import ReadTransaction
from ricordo.storage.tables import TURNS, turns
from ricordo.storage.threads import SaidTurn, speakers, turns_at, turns_by_id
from ricordo.storage.where import in_project_of_thread, is_of_project
from ricordo.text.dates import named_times
from ricordo.text.pieces import Snippets

_USER_ROLE: Final = "user"
_TELLING: Final = 0.5
"""The share of a question that a piece must have for a snippet of it."""
_COLUMNS: Final = (
    turns.c.id,
    turns.c.thread_id,
    turns.c.actor,
    turns.c.role,
    turns.c.at,
    turns.c.position,
    # That of the piece, nearly.
    sa.func.length(sa.func.substr(turns.c.content, 1, MAX_PIECE_CHARS)),
)
_CONDITIONS: Final = {
    "thread": turns.c.thread_id == sa.bindparam("thread"),
    "role": turns.c.role == sa.bindparam("role"),
    "actor": turns.c.actor == sa.bindparam("actor"),
    "since": turns.c.at >= sa.bindparam("since"),
    "until": turns.c.at < sa.bindparam("until"),
    "project_id": is_of_project(turns, sa.bindparam("project_id")),
    "in_project": in_project_of_thread(turns, sa.bindparam("in_project")),
}


class _Facts(NamedTuple):
    """What is read of each candidate: :data:`_COLUMNS`."""

    id: int
    thread_id: str
    actor: str | None
    role: str
    moment: datetime
    position: int
    length: int


@cache
def _reading(conditions: Sequence[str]) -> Reading:
    own = turns.c.user_id == sa.bindparam("user_id")
    where = sa.and_(own, *(_CONDITIONS[name] for name in conditions))
    return Reading(TURNS, where, _COLUMNS, _Facts._make)


class TurnSearch(Search[TurnFilter, SaidTurn, TurnHit]):
    evidence_digits: ClassVar[int | None] = PART_DIGITS
    kind: ClassVar[str] = "turns"
    highest_score: ClassVar[float] = (1 + ACTOR_BOOST + DATE_BOOST + ROLE_BOOST) * (
        1 + THREAD_SHARE
    )

    def _within(self, wanted: TurnFilter) -> tuple[Sequence[str] | None, str | None]:
        return None, wanted.in_project

    def _speakers(
        self, view: ReadTransaction, user_id: str, model: VectorModel | None
    ) -> list[str]:
        with self._indexes.borrow(view, TURNS, user_id, model) as user_index:
            if isinstance(user_index, TurnIndex):
                return list(user_index.speakers)
        return speakers(view.connection, user_id)

    def _last_speakers(self, user_id: str) -> list[str] | None:
        user_index = self._indexes.last(TURNS, user_id)
        return list(user_index.speakers) if isinstance(user_index, TurnIndex) else None

    def _searched(self, view: ReadTransaction, user_id: str, wanted: TurnFilter) -> SearchedRows:
        given = {name: getattr(wanted, name) for name in _CONDITIONS}
        values = {name: value for name, value in given.items() if value is not None}
        reading = _reading(tuple(values))
        values["user_id"] = user_id
        return SearchedRows(
            TURNS,
            [user_id],
            reading,
            values,
            precision=np.float32,
            hides_terms=wanted.in_project is not None,
        )

    def _boosted(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        rows: Sequence[Any],
        moments: Scores,
        base: Scores,
    ) -> tuple[Scores, Boosts]:
        """Boosts are added to the score."""
        uses = self._ranking.uses
        boosts: dict[str, Scores] = {}
        if uses("actor") and len(question.people) == 1:
            (speaker,) = question.people
            boosts["actor"] = ACTOR_BOOST * np.array([row.actor == speaker for row in rows])
        named = named_times(question.text) if uses("date") else None
        if named is not None:
            boosts["date"] = DATE_BOOST * np.array([named.covers(row.moment) for row in rows])
        if uses("role"):
            boosts["role"] = ROLE_BOOST * np.array([row.role == _USER_ROLE for row in rows])
        scores = base + sum(boosts.values())
        if uses("thread"):
            boosts["thread"] = THREAD_SHARE * _thread_support(rows, scores)
            scores = scores + boosts["thread"]
        return scores, boosts

    def _chances(
        self,
        question: Question,
        found: Candidates,
        fused: Scores,
        scores: Scores,
        boosts: Boosts,
    ) -> Scores:
        return ranker(self.kind).chances(features(question, found, fused, scores, boosts))

    def _read(
        self, view: ReadTransaction, user_id: str, best: Sequence[Ranked], wanted: TurnFilter
    ) -> list[SaidTurn]:
        found = turns_by_id(view.connection, user_id, [one.index_id for one in best])
        superseded = superseded_statements(view, user_id, list(found.values()), wanted.in_project)
        return [_with_superseded(found[one.index_id], superseded.get(one.id, ())) for one in best]

    def _lines(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        best: Sequence[Ranked],
        items: Sequence[SaidTurn],
    ) -> list[Line]:
        """Turns after the ones before them; of a piece, the part that has the words."""
        places = [(one.row.thread_id, one.row.position - 1) for one in best]
        before = turns_at(view.connection, user_id, places)
        snippets = Snippets(list(question.meant), self._database.analyser.like(question.text))

        def line(turn: SaidTurn, place: tuple[str, int]) -> Line:
            follows = place in before and (turn.part is None or turn.part[0] == 0)
            said = turn if turn.part is None else turn._replace(content=snippets.of(turn.content))
            return Line(_spoken(said), _spoken(before[place]) if follows else "")

        return [line(item, place) for item, place in zip(items, places, strict=False)]

    def _least_shown(self, item: SaidTurn, one: Ranked) -> int:
        """The whole piece, where the words do not tell which part of it was meant."""
        return 0 if item.part is None or one.coverage >= _TELLING else MAX_PIECE_CHARS

    def _signals(self, one: Ranked) -> Signals:
        return Signals(one.lexical, one.semantic)

    def _parts(self, one: Ranked) -> dict[str, float | None]:
        not_compared = None if one.meaning is None else -1.0
        return {
            "cosine": not_compared if one.cosine is None else one.cosine,
            "semantic": one.meaning,
            "bm25": one.bm25,
        }

    def _hit(self, user_id: str, item: SaidTurn, common: Mapping[str, Any]) -> TurnHit:
        return TurnHit(
            id=item.id,
            thread_id=item.thread_id,
            message_id=item.message_id,
            actor=item.actor,
            role=item.role,
            at=item.at,
            superseded=item.superseded,
            part=None if item.part is None else TurnPart(*item.part),
            **common,
        )


def _with_superseded(turn: SaidTurn, stated: tuple[SupersededStatement, ...]) -> SaidTurn:
    """A turn with what of it is no longer current; of a piece, with what it says itself."""
    if turn.part is not None:
        stated = tuple(one for one in stated if one.quote is not None)
    return turn._replace(superseded=stated)


def _spoken(turn: SaidTurn) -> str:
    return f"{turn.actor or turn.role}: {turn.content}"


def _thread_support(rows: Sequence[_Facts], scores: Scores) -> Scores:
    """For each the mean of the best few of its thread: a topic shows in several turns."""
    numbers: dict[str, int] = {}
    thread = np.array([numbers.setdefault(row.thread_id, len(numbers)) for row in rows])
    order = np.lexsort((-scores, thread))
    starts = np.searchsorted(thread[order], np.arange(len(numbers)))
    few = order[np.arange(len(rows)) - starts[thread[order]] < THREAD_BEST]
    sums = np.bincount(thread[few], np.maximum(scores[few], 0.0))
    mean: Scores = (sums / np.bincount(thread[few]))[thread]
    return mean
