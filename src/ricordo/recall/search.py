"""The search for memories and for turns: one pipeline, of which each kind fills in its part."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np

from ricordo.frozen import dataclass, field, replace
from ricordo.index.cache import IndexCache
from ricordo.index.embedders import ChosenEmbedder, Embedders
from ricordo.index.names import UserNames
from ricordo.limits import MAX_QUERY_CHARS
from ricordo.model.embedding import VectorModel
from ricordo.model.search import Hit, SearchResults, Signals
from ricordo.recall.candidates import (
    NOT_COMPARED,
    Candidates,
    CandidateSource,
    Question,
    SearchedRows,
)
from ricordo.recall.ranking import (
    LEAST_LIKELY,
    OUR_MODEL,
    SCORE_DIGITS,
    Boosts,
    Ranking,
    Scores,
    confidence_of,
    fused,
    nearness,
    normalised,
    shifted,
    strength,
    with_exact,
)
from ricordo.recall.reranker import Line, counted, reread, under_way
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.sql import Condition
from ricordo.text.languages import nearest
from ricordo.text.names import NOBODY, Asked, Names
from ricordo.text.people import named_people, without_people
from ricordo.text.pieces import Snippets
from ricordo.text.secrets import without_secrets


class _WithContent(Protocol):
    @property
    def content(self) -> str: ...


Wanted = TypeVar("Wanted")  # the filter
Found = TypeVar("Found", bound=_WithContent)  # what is read of each result
HitType = TypeVar("HitType", bound=Hit)

_WITHOUT_VECTORS: Final = "most vectors are not made yet: what lacks one is found by its words"
_ENGLISH: Final = "english"
_LONGER_ELSEWHERE: Final = 2
"""In other languages the first ranking is weaker, and a second reading is worth more."""
PART_DIGITS: Final = 4
"""The parts of a score are shown with this precision."""


def question_in(text: str) -> str:
    """A text as a query: both ends of one that is too long."""
    if len(text) <= MAX_QUERY_CHARS:
        return text.strip()
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}".strip()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate, what the database says of it (``row``), and every part of its score.

    ``index_id`` is its id in the index: for a long turn, that of the piece which was found.
    """

    row: Any
    index_id: int
    score: float
    confidence: float
    cosine: float | None
    meaning: float | None
    semantic: float | None
    bm25: float | None
    lexical: float | None
    coverage: float
    exact: float
    fused: float
    boosts: Mapping[str, float]
    weighed: float
    learned: float | None
    """What the net says, before the second reading; None where it was not asked."""
    shift: float = 0.0
    """What ratings add to the log-odds of the score; ``unrated`` is the score without."""
    unrated: float = 0.0
    rank_unrated: int | None = None
    """Its place without any ratings, where there are some."""

    @property
    def id(self) -> int:
        found: int = self.row.id
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """Candidates with every part of their scores, by their places."""

    rows: Sequence[Any]
    found: Candidates
    semantic: Scores | None
    lexical: Scores | None
    base: Scores
    boosted: Scores
    boosts: Mapping[str, Scores]
    is_learned: bool
    unrated: Scores
    scores: Scores
    shifts: Mapping[int, float]
    model: str | None
    digits: int | None

    def confidence(self, place: int) -> float:
        if self.is_learned:
            return round(float(self.scores[place]), PART_DIGITS)
        cosine, share = _at(self.found.cosines, place), float(self.found.coverage[place])
        if self.digits is not None:
            cosine = None if cosine is None else round(cosine, self.digits)
            share = round(share, self.digits)
        known = confidence_of(cosine, share, self.model)
        shift = self.shifts.get(self.rows[place].id)
        return known if shift is None else round(shifted(known, shift), PART_DIGITS)

    def ranked(self, place: int, confidence: float) -> Ranked:
        found = self.found
        return Ranked(
            row=self.rows[place],
            index_id=found.ids[place],
            score=float(self.scores[place]),
            confidence=confidence,
            cosine=_at(found.cosines, place),
            meaning=_at(found.meaning, place),
            semantic=_shown(_at(self.semantic, place)),
            bm25=_at(found.words, place),
            lexical=_shown(_at(self.lexical, place)),
            coverage=float(found.coverage[place]),
            exact=float(found.exact[place]),
            fused=float(self.base[place]),
            boosts={
                name: float(given[place])
                for name, given in self.boosts.items()
                if not math.isnan(given[place])
            },
            weighed=float(self.boosted[place]),
            learned=float(self.unrated[place]) if self.is_learned else None,
            shift=self.shifts.get(self.rows[place].id, 0.0),
            unrated=float(self.unrated[place]),
        )


@dataclass(frozen=True, slots=True)
class _Meant:
    """Whom a query mentions, and the texts to embed: it, and the same with other names."""

    chosen: ChosenEmbedder
    asked: Asked
    people: Sequence[str]
    texts: Sequence[str]

    def has_vectors_of(self, other: "_Meant") -> bool:
        """Whether those are the vectors to search with."""
        return self.chosen.embedder is other.chosen.embedder and self.texts == other.texts


@dataclass(frozen=True, slots=True)
class SearchAnswer(Generic[Found]):
    """The results, and the ranking of each; without a question, no ranking."""

    items: Sequence[Found]
    ranked: Sequence[Ranked] = ()
    question: Question | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    without_vectors: str | None = None
    left_out: float | None = None
    """The confidence of the best where nothing was likely."""

    @property
    def confidence(self) -> float | None:
        """That of the best one."""
        return self.ranked[0].confidence if self.ranked else self.left_out

    @property
    def degraded(self) -> str | None:
        if self.question is None:
            return None
        return self.question.embedding.problem or self.without_vectors


class Search(ABC, Generic[Wanted, Found, HitType]):
    """Finds the rows of one kind that answer a query best."""

    evidence_digits: ClassVar[int | None] = None
    """The digits of a cosine and of a coverage that count for the confidence; None for all."""
    kind: ClassVar[str]
    highest_score: ClassVar[float]
    """What the sum of signals and boosts cannot exceed; scores that were not learned are shares."""

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        indexes: IndexCache,
        names: UserNames,
        ranking: Ranking,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._indexes = indexes
        self._names = names
        self._ranking = ranking
        self._candidates = CandidateSource(database.backend, indexes, ranking)

    def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: Wanted,
        threshold: float | None,
        explain: bool,
        reading: float = 1.0,
    ) -> SearchResults[HitType]:
        """The hits for a query, the best first. Raises StorageError: the database could not answer.
        An embedder that fails is no error."""
        started = time.perf_counter()
        answer = self.answer(user_id, query, limit, wanted, threshold, reading)
        question = answer.question
        analyser = self._database.analyser.like(query)
        snippets = Snippets(() if question is None else list(question.meant), analyser)
        hits = []
        for place, item in enumerate(answer.items):
            one = answer.ranked[place] if answer.ranked else None
            common = {
                "content_snippet": snippets.of(
                    without_secrets(item.content),
                    0 if one is None else self._least_shown(item, one),
                ),
                "score": 0.0 if one is None else one.score,
                "confidence": 0.0 if one is None else one.confidence,
                "signals": Signals(None, None) if one is None else self._signals(one),
                "explanation": None if one is None or not explain else self._explain(one, answer),
            }
            hits.append(self._hit(user_id, item, common))
        spent = (time.perf_counter() - started) * 1000
        embed_ms = 0.0 if question is None else question.embedding.embed_ms
        return SearchResults(
            tuple(hits),
            confidence=answer.confidence,
            degraded=answer.degraded,
            timings={"embed_ms": embed_ms, "search_ms": spent - embed_ms},
        )

    def answer(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: Wanted,
        threshold: float | None,
        reading: float = 1.0,
    ) -> SearchAnswer[Found]:
        """Like :meth:`find`, for a user or an agent who sees the results: without a threshold,
        nothing where even the best is unlikely.
        """
        found = self.find(user_id, query, limit, wanted, threshold, reading=reading)
        if threshold is not None or self._is_likely(found):
            return found
        return replace(found, items=(), ranked=(), left_out=found.confidence)

    def _is_likely(self, found: SearchAnswer[Found]) -> bool:
        """Whether an answer may be among them: something is near, has the words, or was learned to
        be one. Of others' vectors we cannot tell.
        """
        question = found.question
        model = None if question is None else question.embedding.model
        if question is None or model is None or not model.model.startswith(OUR_MODEL):
            return True
        return any(
            one.confidence >= LEAST_LIKELY
            or (
                not question.means_nothing
                and confidence_of(one.cosine, one.coverage, model.model) >= LEAST_LIKELY
            )
            for one in found.ranked
        )

    @counted
    def find(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: Wanted,
        threshold: float | None = None,
        within: Condition | None = None,
        *,
        reading: float = 0.0,
    ) -> SearchAnswer[Found]:
        """What answers a query best, with its ranking. ``within`` is a further condition. In the
        share ``reading`` of the time for it, the best few are read again, with the question.
        """
        meant = self._expected(user_id, query, wanted)
        is_known = False  # so far it is what was so at the last search
        if meant is None:
            with self._database.read(user_id) as view:
                meant, is_known = self._meant(view, user_id, query, wanted), True
        while True:
            # Outside of any transaction: it may take until the deadline.
            embedding = self._embedders.query_vector(meant.chosen, meant.texts[0], meant.texts[1:])
            with self._database.read(user_id) as view:
                if not is_known:
                    expected, is_known = meant, True
                    meant = self._meant(view, user_id, query, wanted)
                    if not meant.has_vectors_of(expected):
                        continue
                asked = meant.asked
                terms = self._database.analyser.query_terms(query)
                others = self._alias_terms(asked, terms)
                question = Question(query, terms, embedding, meant.people, asked, others)
                searched = self._searched(view, user_id, wanted)
                if within is not None:
                    searched = replace(searched, reading=searched.reading.within(within))
                found = self._candidates.gather(view, searched, question, limit)
                is_again = bool(reading) and self._is_learned(question, found)
                is_again = is_again and not question.means_nothing
                is_again = is_again and not under_way.get().are_too_many
                again = self._ranking.reranked if is_again else 0
                best = self._best(
                    view, user_id, question, found, max(limit, again), None if again else threshold
                )
                items = self._read(view, user_id, best, wanted)
                read = self._lines(view, user_id, question, best[:again], items) if again else []
                lines = [line._replace(text=asked.reworded(line.text)) for line in read]
                break
        if lines:
            best, items = self._reread(question, best, items, lines, found.documents, reading)
        if any(one.shift for one in best):
            unrated = sorted(range(len(best)), key=lambda place: -best[place].unrated)
            ranks = {place: rank for rank, place in enumerate(unrated, 1)}
            best = [replace(one, rank_unrated=ranks[place]) for place, one in enumerate(best)]
        kept = [
            place
            for place, one in enumerate(best)
            if threshold is None or one.confidence >= threshold
        ][:limit]
        return SearchAnswer(
            [items[place] for place in kept],
            [best[place] for place in kept],
            question,
            found.weights,
            without_vectors=_WITHOUT_VECTORS if found.lacks_vectors else None,
        )

    def _reread(
        self,
        question: Question,
        best: Sequence[Ranked],
        items: Sequence[Found],
        lines: Sequence[Line],
        documents: int,
        reading: float,
    ) -> tuple[list[Ranked], list[Found]]:
        """In the order that the second reading gives to those it reads; as they were, without."""
        first = np.array([one.unrated for one in best[: len(lines)]])
        seconds = reading * self._ranking.rerank_ms / 1000
        if not (question.text.isascii() and nearest(question.text) in (None, _ENGLISH)):
            seconds *= _LONGER_ELSEWHERE
        chances = reread(self.kind, question.text, lines, first, documents, seconds)
        if chances is None:
            return list(best), list(items)
        count = len(chances)
        chances = with_exact(chances, np.array([one.exact for one in best[:count]]))
        unrated = np.round(chances, SCORE_DIGITS).tolist()
        scores = [_rated(chance, one.shift) for chance, one in zip(unrated, best, strict=False)]
        order = sorted(range(count), key=lambda place: -scores[place])
        ranked = [
            replace(
                best[place],
                score=scores[place],
                confidence=round(scores[place], PART_DIGITS),
                unrated=unrated[place],
            )
            for place in order
        ]
        least, lowest = ranked[-1], min(unrated)  # the others stay below
        rest = [
            replace(
                one,
                score=min(one.score, least.score),
                confidence=min(one.confidence, least.confidence),
                unrated=min(one.unrated, lowest),
            )
            for one in best[count:]
        ]
        return [*ranked, *rest], [*(items[place] for place in order), *items[count:]]

    def _best(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        found: Candidates,
        limit: int,
        threshold: float | None,
    ) -> list[Ranked]:
        """The best candidates; ties by newest, then id."""
        rows = found.rows
        if not rows:
            return []
        semantic = None if found.meaning is None else nearness(found.meaning)
        lexical = None if found.words is None else normalised(found.words)
        base = fused(self._ranking, semantic, lexical, strength(found.cosines), found.exact)
        moments = np.array([row.moment.timestamp() for row in rows])
        boosted, boosts = self._boosted(view, user_id, question, rows, moments, base)
        chances = None
        if self._is_learned(question, found):
            chances = self._chances(question, found, base, boosted, boosts)
            chances = with_exact(chances, found.exact)
            if question.means_nothing:  # then only its letters can be meant
                chances = chances * found.coverage
        shares = boosted / self.highest_score if chances is None else chances
        unrated = scores = np.round(shares, SCORE_DIGITS)
        shifts = self._shifts(user_id, rows, view.now)
        if shifts:
            rated = [
                _rated(share, shifts.get(row.id, 0.0))
                for share, row in zip(unrated.tolist(), rows, strict=True)
            ]
            scores = np.array(rated)
        scored = _Scored(
            rows=rows,
            found=found,
            semantic=semantic,
            lexical=lexical,
            base=base,
            boosted=boosted,
            boosts=boosts,
            is_learned=chances is not None,
            unrated=unrated,
            scores=scores,
            shifts=shifts,
            model=None if question.embedding.model is None else question.embedding.model.model,
            digits=self.evidence_digits,
        )
        best: list[Ranked] = []
        passed = set()  # of a long turn, the best piece counts
        order = np.lexsort(([-row.id for row in rows], -moments, -scores))
        for place in order.tolist():
            row_id = rows[place].id
            if row_id not in passed:
                passed.add(row_id)
                confidence = scored.confidence(place)
                if threshold is None or confidence >= threshold:
                    best.append(scored.ranked(place, confidence))
                    if len(best) == limit:
                        break
        return best

    def _explain(self, one: Ranked, answer: SearchAnswer[Found]) -> dict[str, Any]:
        evidence = {"coverage": one.coverage, "exact": one.exact}
        learned = {} if one.learned is None else {"learned": _shown(one.learned)}
        aliases = [] if answer.question is None else answer.question.asked.aliases
        return {
            **({"aliases": aliases} if aliases else {}),
            **{name: _shown(part) for name, part in (self._parts(one) | evidence).items()},
            "terms": {term: _shown(weight) for term, weight in answer.weights.items()},
            "fused": _shown(one.fused),
            "boosts": {name: _shown(share) for name, share in one.boosts.items()},
            "weighed": _shown(one.weighed),
            **learned,
            **({"ratings": _rating_part(one)} if one.shift else {}),
        }

    def _expected(self, user_id: str, query: str, wanted: Wanted) -> "_Meant | None":
        """What :meth:`_meant` will most likely find; None where nothing was found before."""
        chosen = self._embedders.last_chosen(user_id)
        names = self._names.last(user_id, *self._within(wanted))
        if chosen is None or (names is None and self._ranking.uses("aliases")):
            return None
        speakers = self._last_speakers(user_id)
        return None if speakers is None else self._meant_by(query, chosen, names, speakers)

    def _meant(self, view: ReadTransaction, user_id: str, query: str, wanted: Wanted) -> "_Meant":
        """Whom a query mentions, and what of it is embedded, by whom."""
        chosen = self._embedders.chosen(view.connection, user_id)
        names = None
        if self._ranking.uses("aliases"):
            names = self._names.of(view, user_id, *self._within(wanted))
        return self._meant_by(query, chosen, names, self._speakers(view, user_id, chosen.model))

    def _meant_by(
        self, query: str, chosen: ChosenEmbedder, names: Names | None, speakers: Sequence[str]
    ) -> "_Meant":
        asked = NOBODY if names is None else names.asked(query)
        texts = [query, *asked.variants]
        people = named_people(" | ".join(texts), speakers)
        if people and self._ranking.uses("names"):
            # The vector of a name would favour what addresses that person.
            texts = [without_people(text, people) for text in texts]
        return _Meant(chosen, asked, people, texts)

    def _alias_terms(self, asked: Asked, terms: Sequence[str]) -> dict[str, list[str]]:
        if not asked.mentions:
            return {}
        analyser = self._database.analyser
        of = analyser.like(asked.text).query_terms
        return {
            term: [known for known in of(asked.text[one.start : one.end]) if known in terms]
            for one in asked.mentions
            for word in asked.words(one)
            for term in analyser.query_terms(word)
            if term not in terms
        }

    @abstractmethod
    def _within(self, wanted: Wanted) -> tuple[Sequence[str] | None, str | None]:
        """The themes that are searched, and the project that the search is kept to; None for
        all."""

    def _speakers(
        self, view: ReadTransaction, user_id: str, model: VectorModel | None
    ) -> list[str]:
        return []

    def _last_speakers(self, user_id: str) -> list[str] | None:
        """The speakers of the last search; None where they are not known."""
        return []

    @abstractmethod
    def _searched(self, view: ReadTransaction, user_id: str, wanted: Wanted) -> SearchedRows: ...

    @abstractmethod
    def _boosted(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        rows: Sequence[Any],
        moments: Scores,
        base: Scores,
    ) -> tuple[Scores, Boosts]:
        """The scores of rows from their fused ones, and their boosts."""

    def _is_learned(self, question: Question, found: Candidates) -> bool:
        """Whether :meth:`_chances` ranks them: it was learned with our own vectors."""
        model = question.embedding.model
        is_ours = model is not None and model.model.startswith(OUR_MODEL)
        return is_ours and found.meaning is not None and self._ranking.uses("learned")

    @abstractmethod
    def _chances(
        self,
        question: Question,
        found: Candidates,
        fused: Scores,
        scores: Scores,
        boosts: Boosts,
    ) -> Scores:
        """The learned probability of each."""

    def _shifts(self, user_id: str, rows: Sequence[Any], now: datetime) -> Mapping[int, float]:
        """What was said of rows after they were found, as log-odds, by id."""
        return {}

    @abstractmethod
    def _read(
        self, view: ReadTransaction, user_id: str, best: Sequence[Ranked], wanted: Wanted
    ) -> list[Found]:
        """The best; they have just passed the filter in the same view."""

    @abstractmethod
    def _lines(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        best: Sequence[Ranked],
        items: Sequence[Found],
    ) -> list[Line]:
        """What the second reading reads of the best."""

    def _least_shown(self, item: Found, one: Ranked) -> int:
        """Characters of a result that are shown at least, where it is longer than a snippet."""
        return 0

    @abstractmethod
    def _signals(self, one: Ranked) -> Signals: ...

    @abstractmethod
    def _parts(self, one: Ranked) -> dict[str, float | None]:
        """The first parts of an explanation."""

    @abstractmethod
    def _hit(self, user_id: str, item: Found, common: Mapping[str, Any]) -> HitType: ...


def _at(scores: Scores | None, place: int) -> float | None:
    value = None if scores is None else float(scores[place])
    return None if value == NOT_COMPARED else value


def _rated(score: float, shift: float) -> float:
    return round(shifted(score, shift), SCORE_DIGITS) if shift else score


def _rating_part(one: Ranked) -> dict[str, float | None]:
    """What ratings did to the rank of a result."""
    return {
        "log_odds": _shown(one.shift),
        "score_without": _shown(one.unrated),
        "rank_without": one.rank_unrated,
    }


def _shown(value: float | None) -> float | None:
    return None if value is None else round(value, PART_DIGITS)
