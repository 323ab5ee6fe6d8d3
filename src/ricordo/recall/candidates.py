"""The candidates for a query: the best rows by meaning and by words.

They come from indexes in memory, or from the database for a user with a large index. Either way the
database decides which rows may be seen, in the view that the search answers from: an index only
says where to look first.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.frozen import dataclass, field
from ricordo.index.cache import IndexCache
from ricordo.index.embedders import QueryVector
from ricordo.index.user_index import (
    NO_TURN,
    Flags,
    Ints,
    TurnIndex,
    UserIndex,
    best_rows,
    rarity,
    score,
)
from ricordo.model.embedding import VectorModel
from ricordo.recall.ranking import WINDOW_LEXICAL, WINDOW_SEMANTIC, Ranking, Scores
from ricordo.storage.backend import Backend, Matches
from ricordo.storage.database import ReadTransaction
from ricordo.storage.search_rows import count_indexed, linked_index
from ricordo.storage.sql import (
    Condition,
    PreparedStatement,
    Row,
    among,
    bound_list,
    with_values,
)
from ricordo.storage.tables import PIECES, TURNS, Indexed
from ricordo.storage.threads import has_pieces, turns_of_pieces
from ricordo.text.names import NOBODY, Asked
from ricordo.text.normalise import is_dense, is_identifier, means_nothing
from ricordo.text.trigrams import best_of, similar_terms

GUESSES_PER_TERM: Final = 3
LEAST_SIMILARITY: Final = 0.4
NOT_COMPARED: Final = -np.inf
"""The cosine of a row without a vector."""

_RARE_COUNT: Final = 5
_RARE_SHARE: Final = 0.02
_DENSE_WORD: Final = 6  # letters
_SPARE: Final = 10  # rows of each signal that are checked first beyond those that are wanted
_MORE, _MANY = 500, 10_000
"""Of many rows so many are checked next: reading all takes longer."""
_OVERSAMPLING: Final = 4
"""The database orders matches roughly; this many times more are scored exactly."""

_ids = bound_list("candidate_ids", sa.BigInteger())


@dataclass(frozen=True, slots=True)
class Question:
    """A query, with the people it names if those may be speakers.

    ``alias_terms`` are terms of other names of whom it mentions, each with the terms of the query
    that it stands for.
    """

    text: str
    terms: Sequence[str]
    embedding: QueryVector
    people: Sequence[str] = ()
    asked: Asked = NOBODY
    alias_terms: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def meant(self) -> dict[str, float]:
        """The terms to search, with their certainty."""
        return dict.fromkeys([*self.terms, *self.alias_terms], 1.0)

    @property
    def means_nothing(self) -> bool:
        return means_nothing(self.text)

    @property
    def is_word(self) -> bool:
        """Whether it is a single word. In scripts without spaces a sentence is none."""
        return len(self.text.split()) == 1 and sum(map(is_dense, self.text)) <= _DENSE_WORD

    @property
    def exact_terms(self) -> Sequence[str]:
        """The terms to match exactly: identifiers, or those of the one word that the query is."""
        return self.terms if self.is_word else [*filter(is_identifier, self.terms)]


@dataclass(frozen=True, slots=True)
class SearchedRows:
    """What is searched: rows of these owners, and those linked to a viewer, that match a condition
    with these ``values``.

    ``precision`` is that of scores from an index. ``hides_terms`` where terms of rows that are not
    found must not be named.
    """

    kind: Indexed
    owners: Sequence[str]
    reading: "Reading"
    values: Mapping[str, Any]
    precision: Any = np.float64
    hides_terms: bool = False
    linked_to: str | None = None

    @property
    def where(self) -> Condition:
        return with_values(self.reading.where, self.values)

    def facts(self, connection: sa.Connection, ids: Sequence[int]) -> dict[int, Any]:
        """What the database says of those of these rows that match."""
        if not ids:
            return {}
        given = {**self.values, "candidate_ids": ids}
        rows = self.reading.facts.run_typed(connection, given)
        return {row[0]: row for row in map(self.reading.row, rows)}

    def every_id(self, connection: sa.Connection) -> Ints:
        rows = self.reading.every_id.run(connection, self.values)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))


class Reading:
    """How rows under a condition are read, prepared once: of every candidate ``columns``, to rank
    it, as ``row``. The first is its id, and one is its ``moment``.
    """

    def __init__(
        self,
        kind: Indexed,
        where: Condition,
        columns: Sequence[sa.ColumnElement[Any]],
        row: Callable[[Iterable[Any]], Any],
    ) -> None:
        self.where = where
        self.row = row
        self._kind = kind
        self._columns = columns
        listed = among(kind.source.c.id, _ids)
        self.facts = PreparedStatement(sa.select(*columns).where(listed, where))
        self.every_id = PreparedStatement(sa.select(kind.source.c.id).where(where))

    def within(self, condition: Condition) -> "Reading":
        return Reading(self._kind, self.where & condition, self._columns, self.row)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows with their signals, in columns of equal length.

    ``meaning`` is the cosine, of a turn together with that of the preceding one. It is None where
    no row has a vector, ``words`` where no term is known. ``ids`` are those of the index: a row is
    the whole turn, its id that of the piece which was found.
    """

    rows: Sequence[Any]
    cosines: Scores | None
    meaning: Scores | None
    words: Scores | None
    coverage: Scores
    exact: Scores
    weights: Mapping[str, float]
    lacks_vectors: bool = False
    """Most of what is searched has no vector of this model yet."""
    ids: Sequence[int] = ()
    documents: int = 0
    """Among how many texts they were found."""


@dataclass(frozen=True, slots=True)
class TermWeights:
    """What each term of a query is worth: the rarer, the more.

    ``weights`` are BM25's; ``shares`` are those of the query, 1 in total; ``rare`` are the exact
    terms that occur in few texts. ``documents`` is how many texts there are.
    """

    weights: Mapping[str, float]
    shares: Mapping[str, float]
    rare: Sequence[str]
    documents: int = 0

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        question: Question,
        meant: Mapping[str, float],
        documents: int,
        frequency: Mapping[str, int],
    ) -> "TermWeights":
        """``meant`` has the certainty of each term, 1 unless it is a guess."""
        weights = {
            term: sure * rarity(max(documents, count), count)
            for term, sure in meant.items()
            if (count := frequency.get(term, 0)) and ranking.uses("lexical")
        }
        most = max(_RARE_COUNT, documents * _RARE_SHARE)
        exact = question.exact_terms
        if question.is_word and not all(map(frequency.get, exact)):
            exact = [*filter(is_identifier, exact)]  # a word is there as a whole, or not
        rare = [term for term in exact if 0 < frequency.get(term, 0) <= most]
        return cls(
            weights,
            _shares(question, meant, documents, frequency),
            rare if ranking.uses("exact") else [],
            documents,
        )


def _shares(
    question: Question, meant: Mapping[str, float], documents: int, frequency: Mapping[str, int]
) -> dict[str, float]:
    """The share of each term in the query.

    Unknown words count as well, or common words would seem to answer a query about something
    unknown. Similar terms replace them by their similarity. Another name has the share of the one
    it stands for.
    """
    counts = {term: frequency.get(term, 0) for term in question.terms}
    worth = {term: rarity(max(documents, count), count) for term, count in counts.items()}
    whole = sum(worth.values())
    if whole <= 0:
        return {}
    shares = {term: weight / whole for term, weight in worth.items()}
    aliases = {
        alias: sum(shares[term] for term in named) for alias, named in question.alias_terms.items()
    }
    guesses = [term for term in meant if term not in worth and term not in aliases]
    unknown = sum(shares[term] for term, count in counts.items() if not count)
    return shares | aliases | {guess: meant[guess] * unknown / len(guesses) for guess in guesses}


def _with_guesses(
    meant: Mapping[str, float],
    unknown: Sequence[str],
    similar: Callable[[str], list[tuple[str, float]]],
) -> dict[str, float]:
    """The terms with their certainty, and terms similar to unknown ones.

    An unknown word may be mistyped or truncated.
    """
    meant = dict(meant)
    for term in unknown:
        for guess, similarity in similar(term):
            meant.setdefault(guess, similarity)
    return meant


def index_terms(
    ranking: Ranking, indexes: Sequence[UserIndex], question: Question, limit: int
) -> TermWeights:
    """The weights of a query's terms over several indexes.

    If the known terms match too few rows, similar ones are searched as well.
    """

    def count(term: str) -> int:
        return sum(user_index.frequency(term) for user_index in indexes)

    meant = question.meant
    frequency = {term: count(term) for term in meant}
    unknown = [term for term in question.terms if not frequency[term]]
    if unknown and _guesses(ranking) and sum(frequency.values()) < limit:

        def similar(term: str) -> list[tuple[str, float]]:
            found = (one.similar_terms(term, GUESSES_PER_TERM, LEAST_SIMILARITY) for one in indexes)
            return best_of(set(chain.from_iterable(found)), GUESSES_PER_TERM)

        meant = _with_guesses(meant, unknown, similar)
        frequency = {term: count(term) for term in meant}
    documents = sum(user_index.size for user_index in indexes)
    return TermWeights.of(ranking, question, meant, documents, frequency)


def _guesses(ranking: Ranking) -> bool:
    return ranking.uses("fuzzy") and ranking.uses("lexical")


class CandidateSource:
    """Finds the best of each signal, exactly as if every row had been scored."""

    def __init__(self, backend: Backend, indexes: IndexCache, ranking: Ranking) -> None:
        self._search = backend.search
        self._indexes = indexes
        self._ranking = ranking

    def gather(
        self, view: ReadTransaction, searched: SearchedRows, question: Question, limit: int
    ) -> Candidates:
        connection, model = view.connection, question.embedding.model
        with contextlib.ExitStack() as locks:
            indexes: list[UserIndex] = []
            for owner in sorted(searched.owners):  # in one order, so that searches do not deadlock
                borrowed = self._indexes.borrow(view, searched.kind, owner, model)
                user_index = locks.enter_context(borrowed)
                if user_index is None:
                    break
                indexes.append(user_index)
            else:
                if searched.linked_to is not None:
                    indexes.append(self._indexes.shared_with(connection, searched.linked_to, model))
                return self._from_indexes(connection, searched, indexes, question, limit)
        return self._from_database(connection, searched, question)

    def _from_indexes(
        self,
        connection: sa.Connection,
        searched: SearchedRows,
        indexes: Sequence[UserIndex],
        question: Question,
        limit: int,
    ) -> Candidates:
        terms = index_terms(self._ranking, indexes, question, limit)
        ids = np.concatenate([user_index.ids for user_index in indexes])
        words = np.concatenate([self._words(one, terms.weights) for one in indexes])
        cosines, meaning = self._meaning(indexes, question)
        sources = np.concatenate([user_index.source_ids for user_index in indexes])
        near, said = _best_of_each(indexes[0], sources, meaning, words)
        rows, facts = self._allowed(connection, searched, ids, sources, near, said)
        having = _terms_of(indexes, [*terms.shares, *terms.weights, *terms.rare], rows)
        coverage = np.zeros(len(rows), np.float32)
        for term, share in terms.shares.items():
            coverage[having[term]] += np.float32(share)
        exact = np.zeros(len(rows))
        if terms.rare:
            exact = np.mean([having[term] for term in terms.rare], axis=0)
        weights = terms.weights
        if searched.hides_terms:
            weights = {term: one for term, one in weights.items() if having[term].any()}
        return Candidates(
            rows=[facts[source] for source in sources[rows].tolist()],
            cosines=None if cosines is None else cosines[rows].astype(searched.precision),
            meaning=None if meaning is None else _floored(meaning[rows], searched.precision),
            words=words[rows].astype(searched.precision) if terms.weights else None,
            coverage=np.minimum(coverage, 1.0),
            exact=exact,
            weights=weights,
            lacks_vectors=cosines is not None and _lacks_vectors(indexes),
            ids=ids[rows].tolist(),
            documents=len(ids),
        )

    def _words(self, user_index: UserIndex, weights: Mapping[str, float]) -> Scores:
        """The BM25 score of every row, with a share of the preceding turn's."""
        words: Scores = user_index.lexical(weights)
        if isinstance(user_index, TurnIndex) and self._ranking.uses("window"):
            before = user_index.before
            words = words + WINDOW_LEXICAL * np.where(before != NO_TURN, words[before], 0)
        return np.where(user_index.alive, words, 0)

    def _meaning(
        self, indexes: Sequence[UserIndex], question: Question
    ) -> tuple[Scores | None, Scores | None]:
        """The cosine of every row, alone and with a share of the preceding turn's.

        An answer belongs to its question.
        """
        vector = question.embedding.vector
        if vector is None or not self._ranking.uses("semantic"):
            return None, None
        alone, windowed = [], []
        for user_index in indexes:
            comparable = user_index.alive & user_index.with_vector
            near: Scores | None = user_index.cosines(vector)
            for other in question.embedding.others:
                also = user_index.cosines(other)
                near = also if near is None or also is None else np.maximum(near, also)
            if near is None:  # of another width
                near, comparable = np.zeros(user_index.rows), np.zeros(user_index.rows, np.bool_)
            alone.append(np.where(comparable, near, NOT_COMPARED))
            if isinstance(user_index, TurnIndex) and self._ranking.uses("window"):
                lent = WINDOW_SEMANTIC * near[user_index.lenders]
                near = (near + lent) / (1 + WINDOW_SEMANTIC)
            windowed.append(np.where(comparable, near, NOT_COMPARED))
        return np.concatenate(alone), np.concatenate(windowed)

    def _allowed(
        self,
        connection: sa.Connection,
        searched: SearchedRows,
        ids: Any,
        sources: Any,
        near: Scores | None,
        words: Scores,
    ) -> tuple[Any, dict[int, Any]]:
        """The best rows that the database allows, in order, and what it says of their sources.

        A few of the best are checked first, then more where there are many. If too few pass, all
        allowed rows are read, so that a narrow filter never costs a result.
        """
        wanted = self._ranking.candidates
        for count in (wanted + _SPARE, *([_MORE] if len(sources) > _MANY else [])):
            first = _best(near, words, count)
            facts = searched.facts(connection, sources[first].tolist())
            passing = first[_known(facts, sources[first])]
            enough = _enough(near, words, first, passing, wanted, count)
            if enough:
                break
        else:
            passing = np.flatnonzero(np.isin(sources, searched.every_id(connection)))
        of_passing = None if near is None else near[passing]
        rows = passing[_best(of_passing, words[passing], wanted)]
        if not enough:
            facts = searched.facts(connection, sources[rows].tolist())
            rows = rows[_known(facts, sources[rows])]
        # A memory may be in two indexes for a moment.
        _, once = np.unique(ids[rows], return_index=True)
        return np.sort(rows[once]), facts

    def _from_database(
        self, connection: sa.Connection, searched: SearchedRows, question: Question
    ) -> Candidates:
        words: dict[int, float] = {}
        terms = TermWeights({}, {}, [])
        stored: Mapping[int, set[str]] = {}
        if self._ranking.uses("lexical"):
            matches, terms = self._matches(connection, searched, question)
            scores = _match_scores(matches, terms)
            sources = _sources(connection, searched, scores)
            words = _first_of_each(scores, sources, self._ranking.candidates)
            stored = {row_id: set(matches.terms_by_id[row_id].split()) for row_id in words}
        near: dict[int, float] = {}
        meant = question.embedding
        lacks_vectors = False
        if self._ranking.uses("semantic") and meant.vector is not None and meant.model is not None:
            near = self._nearest(connection, searched, meant.model, meant.vector)
            for other in meant.others:
                further = self._nearest(connection, searched, meant.model, other)
                near |= {one: max(value, near.get(one, -1.0)) for one, value in further.items()}
            lacks_vectors = not near
        found = sorted({*words, *near})
        sources = _sources(connection, searched, found)
        facts = searched.facts(connection, sorted({sources.get(one, one) for one in found}))
        ids = [one for one in found if sources.get(one, one) in facts]
        cosines = np.array([near.get(one, NOT_COMPARED) for one in ids]) if near else None
        having = [stored.get(one, set()) for one in ids]
        shares = [
            min(1.0, sum(share for term, share in terms.shares.items() if term in one))
            for one in having
        ]
        exact = [len(one.intersection(terms.rare)) / max(len(terms.rare), 1) for one in having]
        seen = set(chain.from_iterable(stored.values()))
        return Candidates(
            rows=[facts[sources.get(one, one)] for one in ids],
            cosines=cosines,
            meaning=None if cosines is None else _floored(cosines, np.float64),
            words=np.array([words.get(one, 0.0) for one in ids]) if words else None,
            coverage=np.array(shares),
            exact=np.array(exact),
            weights={term: weight for term, weight in terms.weights.items() if term in seen},
            lacks_vectors=lacks_vectors and bool(ids),
            ids=ids,
            documents=terms.documents,
        )

    def _nearest(
        self, connection: sa.Connection, searched: SearchedRows, model: VectorModel, vector: Row
    ) -> dict[int, float]:
        def near(kind: Indexed, limit: int) -> dict[int, float]:
            given = (connection, kind, model, vector, searched.where, limit)
            return dict(self._search.nearest(*given))

        wanted = self._ranking.candidates
        found = near(searched.kind, wanted)
        if not _has_pieces(connection, searched):
            return found
        found |= _of_enough_turns(connection, searched, lambda limit: near(PIECES, limit), wanted)
        ordered = dict(sorted(found.items(), key=lambda one: (-one[1], -one[0])))
        return _first_of_each(ordered, _sources(connection, searched, ordered), wanted)

    def _matches(
        self, connection: sa.Connection, searched: SearchedRows, question: Question
    ) -> tuple[Matches, TermWeights]:
        """Rows with terms of the query, or with similar ones if the known ones match too few."""
        # No other term statistics of the owners of shared memories are used: those are private.
        shared: dict[int, str] = {}
        if searched.linked_to is not None:
            linked = {row[0]: row[1] for row in linked_index(connection, searched.linked_to, None)}
            visible = searched.facts(connection, list(linked))
            shared = {row_id: words for row_id, words in linked.items() if row_id in visible}

        rows = self._ranking.candidates * _OVERSAMPLING
        divided = _has_pieces(connection, searched)

        def found(kind: Indexed, terms: Sequence[str], limit: int) -> Matches:
            given = (connection, kind, searched.owners, terms, searched.where, limit)
            return self._search.matches(*given)

        def matching(terms: Sequence[str]) -> Matches:
            whole = found(searched.kind, terms, rows)
            if divided:

                def pieces(limit: int) -> Mapping[int, str]:
                    return found(PIECES, terms, limit).terms_by_id

                further = _of_enough_turns(connection, searched, pieces, rows)
                whole = Matches({**whole.terms_by_id, **further}, whole.frequency)
            return _with_shared(whole, terms, shared)

        meant = question.meant
        matches = matching(list(meant))
        unknown = [term for term in question.terms if not matches.frequency.get(term)]
        too_few = len(matches.terms_by_id) < self._ranking.candidates
        if unknown and _guesses(self._ranking) and too_few:
            vocabulary = {
                *chain(
                    *(
                        self._search.vocabulary(connection, searched.kind, o)
                        for o in searched.owners
                    )
                ),
                *chain(*(words.split() for words in shared.values())),
            }

            def similar(term: str) -> list[tuple[str, float]]:
                return similar_terms(
                    term, vocabulary, limit=GUESSES_PER_TERM, at_least=LEAST_SIMILARITY
                )

            meant = _with_guesses(meant, unknown, similar)
            matches = matching(list(meant))
        counts = (count_indexed(connection, searched.kind, owner) for owner in searched.owners)
        documents = sum(counts) + len(shared)
        return matches, TermWeights.of(self._ranking, question, meant, documents, matches.frequency)


def _known(facts: Mapping[int, Any], sources: Ints) -> Flags:
    return np.fromiter((one in facts for one in sources.tolist()), np.bool_, len(sources))


def _best(near: Scores | None, words: Scores, count: int) -> Any:
    """The rows with the highest scores of either signal."""
    having = np.flatnonzero(words)  # most rows have no word, and equal scores take long to part
    found = [having[best_rows(words[having], count)]]
    if near is not None:
        by_meaning = best_rows(near, count)
        found.append(by_meaning[near[by_meaning] > NOT_COMPARED])
    return np.unique(np.concatenate(found))


def _enough(
    near: Scores | None, words: Scores, first: Any, passing: Any, wanted: int, count: int
) -> bool:
    """True where a check of ``count`` of each has seen all, or found enough of either signal."""
    for scores, least in ((words, 0.0), (near, NOT_COMPARED)):
        if scores is None:
            continue
        if int((scores[first] > least).sum()) == int((scores > least).sum()):
            continue
        # Only rows above this signal's cut are known to be its best.
        cut = np.sort(scores[first])[::-1][:count].min()
        if int((scores[passing] >= cut).sum()) < wanted:
            return False
    return True


def _floored(cosines: Scores, precision: Any) -> Scores | None:
    """Give rows without a vector the lowest cosine of those with one; None if none has one."""
    compared = cosines > NOT_COMPARED
    if not compared.any():
        return None
    floored: Scores = np.where(compared, cosines, cosines[compared].min()).astype(precision)
    return floored


def _lacks_vectors(indexes: Sequence[UserIndex]) -> bool:
    alive = sum(int(one.alive.sum()) for one in indexes)
    compared = sum(int((one.alive & one.with_vector).sum()) for one in indexes)
    return compared * 2 < alive


def _terms_of(indexes: Sequence[UserIndex], terms: Iterable[str], rows: Ints) -> dict[str, Flags]:
    """Which of the rows have each term; rows are counted through all indexes, and ordered."""
    wanted = list(dict.fromkeys(terms))
    parts = []
    start = 0
    for user_index in indexes:
        end = start + user_index.rows
        inside = rows[np.searchsorted(rows, start) : np.searchsorted(rows, end)] - start
        parts.append(user_index.rows_with(wanted, inside))
        start = end
    return dict(zip(wanted, np.concatenate(parts, axis=1), strict=True))


def _with_shared(matches: Matches, terms: Sequence[str], shared: Mapping[int, str]) -> Matches:
    if not shared:
        return matches
    stored = {row_id: set(words.split()) for row_id, words in shared.items()}
    wanted = set(terms)
    return Matches(
        {**matches.terms_by_id, **{one: shared[one] for one in shared if stored[one] & wanted}},
        {
            term: matches.frequency.get(term, 0) + sum(term in words for words in stored.values())
            for term in terms
        },
    )


def _match_scores(matches: Matches, terms: TermWeights) -> dict[int, float]:
    """The BM25 scores of matches, the best first."""
    lengths = [len(stored.split()) for stored in matches.terms_by_id.values()]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores = {
        row_id: score(stored, terms.weights, mean) for row_id, stored in matches.terms_by_id.items()
    }
    best = sorted(scores, key=lambda row_id: (-scores[row_id], -row_id))
    return {row_id: scores[row_id] for row_id in best}


# A long turn has many pieces. Only its best one by each signal is a candidate, or it would crowd
# out all other turns.


def _best_of_each(
    user_index: UserIndex, sources: Ints, near: Scores | None, words: Scores
) -> tuple[Scores | None, Scores]:
    """The scores without those of pieces that are not the best of their turn."""
    if not isinstance(user_index, TurnIndex) or not len(user_index.divided):
        return near, words
    rows = user_index.divided

    def best(scores: Scores, nothing: float) -> Scores:
        order = rows[np.lexsort((scores[rows], sources[rows]))]
        is_last = np.append(np.diff(sources[order]) != 0, True)
        kept = scores.copy()
        kept[order[~is_last]] = nothing
        return kept

    return None if near is None else best(near, NOT_COMPARED), best(words, 0.0)


def _has_pieces(connection: sa.Connection, searched: SearchedRows) -> bool:
    return searched.kind is TURNS and has_pieces(connection, searched.owners[0])


def _sources(
    connection: sa.Connection, searched: SearchedRows, ids: Collection[int]
) -> dict[int, int]:
    """The turns of those that are pieces."""
    if searched.kind is not TURNS or not ids:
        return {}
    return turns_of_pieces(connection, searched.owners[0], ids)


def _first_of_each(
    scores: Mapping[int, float], sources: Mapping[int, int], limit: int
) -> dict[int, float]:
    """The first of each turn, up to a limit."""
    first: dict[int, int] = {}
    for row_id in scores:
        first.setdefault(sources.get(row_id, row_id), row_id)
    return {row_id: scores[row_id] for row_id in islice(first.values(), limit)}


def _of_enough_turns(
    connection: sa.Connection,
    searched: SearchedRows,
    found: Callable[[int], Mapping[int, Any]],
    wanted: int,
) -> Mapping[int, Any]:
    """Pieces of so many turns, if there are: more are asked for until it is enough."""
    limit = wanted
    while True:
        pieces = found(limit)
        turns = set(_sources(connection, searched, pieces).values())
        if len(pieces) < limit or len(turns) >= wanted:
            return pieces
        limit *= _OVERSAMPLING
