"""How well a language model answers questions from what it is shown: ways, reader, measures."""

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from ricordo.errors import BadAnswer, ImportFailed, InvalidValue, LanguageModelError
from ricordo.index.user_index import UserIndex, rarity
from ricordo.model import checks
from ricordo.model.record import Record
from ricordo.model.vocabulary import ContextMode
from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import Message
from ricordo.providers.embedder import Embedder
from ricordo.text.dates import spelled
from ricordo.text.normalise import folded, is_dense
from ricordo.text.tokens import estimate_tokens
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Latency, latency
from ricordo_bench.formation import model_settings
from ricordo_bench.recall import (
    ABSTENTION,
    APART,
    USER_PREFIX,
    Conversation,
    Question,
    QuestionSet,
    SaidTurn,
    make_vectors,
    observe_all,
    read_questions,
    user_of,
)

DEFAULT_BUDGET: Final = 1_000
FORMED_PREFIX: Final = "bench-formed:"
"""Before the names of the users whose memories are formed."""
_BEST: Final = 10
_FUSED: Final = 50
_FUSION: Final = 60
_MOST_WRITES: Final = 10_000
_WARM_UP: Final = "Where was that?"
_WITHOUT_MODEL: Final = model_settings(None, None, None, None)

_READING: Final = (
    "You answer questions about people from notes of what they said. Use the notes alone; each"
    " begins with the day on which it was said. Answer in as few words as possible, without a"
    " sentence around them and without reasons. Give dates in full, such as 14 July 2019: where a"
    ' note says "yesterday" or "last week", count from the day of that note. If the notes do not'
    " have the answer, say: I do not know."
)
_JUDGING: Final = (
    "You compare an answer to a question with the right answer. They agree if the answer says the"
    " same in other words, or more without contradicting it; a date agrees in any spelling. Say yes"
    " if they agree, otherwise no, and nothing else."
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_UNKNOWN: Final = (" i do not know ", " i dont know ")
_INSIDE_A_WORD = re.compile(r"['’]|(?<=\d),(?=\d{3}(?!\d))")


class Way(StrEnum):
    """What the reader is shown, in the order in which it is measured."""

    CONTEXT = "context"
    FORMED = "formed"
    TURNS = "turns"
    DENSE = "dense"
    BM25 = "bm25"
    RRF = "rrf"
    EVIDENCE = "evidence"
    NOTHING = "nothing"


_BY_VECTORS: Final = frozenset({Way.DENSE, Way.RRF})


def chosen_ways(names: Sequence[str] = ()) -> tuple[Way, ...]:
    """The named ways, each once and in order; without a name all but that of formed memories.

    Raises:
        InvalidValue: a way that does not exist.
    """
    wanted = {checks.choice("way", name, Way) for name in names} or set(Way) - {Way.FORMED}
    return tuple(way for way in Way if way in wanted)


def reader_settings(
    provider: str | None, model: str | None, base_url: str | None, api_key: str | None
) -> dict[str, Any]:
    """Settings for the model that answers.

    Raises:
        InvalidValue: none is named.
    """
    if provider is None and model is None and base_url is None:
        raise InvalidValue("model", "name the one that answers, with base_url or provider")
    return model_settings(provider, model, base_url, api_key)


def read_answered(path: Path, limit: int | None = None) -> QuestionSet:
    """A set with those of its questions that a reader is asked.

    They are the ones with an answer, outside of the categories that are apart, and the ones of
    ``abstention``; of both the first ``limit`` of each conversation.

    Raises:
        ImportFailed: the file cannot be read, breaks the format, or has no answers.
    """
    questions = read_questions(path)
    conversations = []
    for one in questions.conversations:
        answered = [question for question in one.questions if _is_scored(question)]
        unanswerable = [question for question in one.questions if question.category == ABSTENTION]
        asked = (*answered[:limit], *unanswerable[:limit])
        conversations.append(replace(one, questions=asked))
    if not any(_is_scored(question) for one in conversations for question in one.questions):
        raise ImportFailed(
            f"{path}: no question has an answer to compare with: a text in its field 'answer', in a"
            f" category other than {' and '.join(APART)}"
        )
    return replace(questions, conversations=tuple(conversations))


def _is_scored(question: Question) -> bool:
    return question.category not in APART and bool(words(question.answer or ""))


# Words are compared without case, accents, punctuation and English articles. Where words have no
# spaces between them, each letter counts as one.


def words(text: str) -> list[str]:
    """The words of an answer, as they are compared."""
    joined = _INSIDE_A_WORD.sub("", folded(text))
    apart = (f" {letter} " if is_dense(letter) else letter for letter in joined)
    found = "".join(letter if _is_of_word(letter) else " " for letter in "".join(apart)).split()
    return [word for word in found if word not in _ARTICLES] or found


def _is_of_word(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "LMN"


def token_f1(said: str, answer: str) -> float:
    """The harmonic mean of how much of what is said is right and how much of the answer is said."""
    given, wanted = Counter(words(said)), Counter(words(answer))
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0


def containment(said: str, answer: str) -> float:
    """The share of the answer's words that occur in what is said."""
    given, wanted = set(words(said)), words(answer)
    return fmean(word in given for word in wanted) if wanted else 0.0


def is_contained(said: str, answer: str) -> bool:
    """Whether the answer as a whole occurs in what is said."""
    return bool(words(answer)) and _phrase(answer) in _phrase(said)


def says_unknown(said: str) -> bool:
    """Whether it is said that the answer is not known, in the words that are asked for."""
    return any(phrase in _phrase(said) for phrase in _UNKNOWN)


def _phrase(text: str) -> str:
    return f" {' '.join(words(text))} "


class Reader:
    """A model that is asked each prompt once, for the answers to questions and about them."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._said: dict[tuple[str, str], str | None] = {}
        self._has_answered = False

    def answer(self, shown: str, question: str) -> str | None:
        """What it answers; None where it gives no usable answer.

        Raises:
            LanguageModelError: it cannot be reached, or refuses, from the beginning.
        """
        return self._reply(_READING, f"Notes:\n{shown or '(none)'}\n\nQuestion: {question}")

    def agrees(self, question: str, answer: str, said: str) -> bool | None:
        """Whether it finds that what was said agrees with the answer; None as above."""
        asked = f"Question: {question}\nRight answer: {answer}\nAnswer to compare: {said}"
        verdict = words(self._reply(_JUDGING, asked) or "")[:1]
        return verdict == ["yes"] if verdict in (["yes"], ["no"]) else None

    def _reply(self, instruction: str, asked: str) -> str | None:
        if (instruction, asked) not in self._said:
            self._said[instruction, asked] = self._asked(instruction, asked)
        return self._said[instruction, asked]

    def _asked(self, instruction: str, asked: str) -> str | None:
        messages = [Message("system", instruction), Message("user", asked)]
        try:
            said = self._model.reply(messages, on_usage=lambda _: None)
        except LanguageModelError as error:
            if not self._has_answered and not isinstance(error, BadAnswer):
                raise
            return None
        self._has_answered = True
        return said


# What is shown of a conversation for a question. Turns are lines with their day and speaker, oldest
# first, as ``context`` shows them.

Show = Callable[[Question], str]
Pick = Callable[[Question], Collection[str]]
"""The ids of the turns to show."""


def turn_line(turn: SaidTurn) -> str:
    return f"{spelled(turn.at)}, {_speaker(turn)}: {' '.join(turn.text.split())}"


def _speaker(turn: SaidTurn) -> str:
    return turn.actor or turn.role or "user"


class PlainSearch:
    """The turns of one conversation, each with its date and speaker, by cosine and by BM25."""

    def __init__(self, user: UserMemory, turns: Iterable[SaidTurn], *, by_vectors: bool) -> None:
        self._turns = [turn for turn in turns if turn.text]
        self._analyser = user.database.analyser
        self._index = UserIndex(len(self._turns))
        self._embedder: Embedder | None = None
        texts = [f"[{spelled(turn.at)}] {_speaker(turn)}: {turn.text}" for turn in self._turns]
        vectors: Sequence[Any] = [None] * len(texts)
        if by_vectors:
            with user.database.read(user.scope.user_id) as view:
                embedder = user.recall.embedders.embedder_of(view.connection, user.scope.user_id)
            assert embedder is not None
            self._embedder, vectors = embedder, list(embedder.embed(texts))
        terms = [(place, " ".join(self._analyser.terms(text))) for place, text in enumerate(texts)]
        self._index.take(terms, vectors)

    def dense(self, question: str, count: int = _BEST) -> list[str]:
        """The best by cosine."""
        assert self._embedder is not None
        return self._best(self._index.cosines(self._embedder.embed([question])[0]), count)

    def bm25(self, question: str, count: int = _BEST) -> list[str]:
        """The best by BM25; none that shares no word with the question."""
        terms = self._analyser.query_terms(question)
        size = self._index.size
        weights = {term: rarity(size, self._index.frequency(term)) for term in terms}
        scores = self._index.lexical(weights)
        return self._best(scores, min(count, int((scores > 0).sum())))

    def rrf(self, question: str) -> list[str]:
        """The best by reciprocal rank fusion of both."""
        fused: dict[str, float] = {}
        for ranked in (self.dense(question, _FUSED), self.bm25(question, _FUSED)):
            for place, turn_id in enumerate(ranked, start=1):
                fused[turn_id] = fused.get(turn_id, 0.0) + 1 / (_FUSION + place)
        return sorted(fused, key=fused.__getitem__, reverse=True)[:_BEST]

    def _best(self, scores: Any, count: int) -> list[str]:
        if scores is None:  # no turn has words
            return []
        order = (-scores).argsort(kind="stable")[:count]
        return [self._turns[place].id for place in order]


def shown_by(way: Way, user: UserMemory, conversation: Conversation, budget: int) -> Show:
    """How a way shows what a user's conversation has for a question."""
    if way is Way.NOTHING:
        return lambda _: ""
    if way in (Way.CONTEXT, Way.FORMED):
        return lambda question: (
            user.context(
                question.text,
                modes=ContextMode.RECALL,
                budget_tokens=budget,
                reply_tokens=0,
                persona=False,
            ).system
        )
    pick = _picked_by(way, user, conversation)

    def show(question: Question) -> str:
        picked = frozenset(pick(question))
        turns = (turn for turn in conversation.turns if turn.text and turn.id in picked)
        return "\n".join(map(turn_line, turns))

    return show


def _picked_by(way: Way, user: UserMemory, conversation: Conversation) -> Pick:
    if way is Way.EVIDENCE:
        return lambda question: question.evidence
    if way is Way.TURNS:
        return lambda question: [
            hit.message_id or "" for hit in user.search_turns(question.text, limit=_BEST)
        ]
    plain = PlainSearch(user, conversation.turns, by_vectors=way in _BY_VECTORS)
    ranked = {Way.DENSE: plain.dense, Way.BM25: plain.bm25, Way.RRF: plain.rrf}[way]
    return lambda question: ranked(question.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reader said to one question, None where it failed, and whether a judge agreed, None
    where none was asked. ``failed`` counts the calls without a usable answer."""

    question: Question
    said: str | None
    agreed: bool | None
    failed: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMeasures(Record):
    """Means over so many questions. ``containment`` is the share of the answer's words that are
    said, ``exact`` that of questions whose answer is said as a whole, ``judge`` that of questions
    whose answer the judge agrees with, None without a judge. ``failed`` counts calls."""

    questions: int
    f1: float
    containment: float
    exact: float
    judge: float | None
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable(Record):
    """Questions without an answer, and the share to which the reader said that it does not know;
    None where there are none. ``failed`` counts calls."""

    questions: int
    unknown: float | None
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WayMeasures(Record):
    """How the reader did with one way. ``tokens`` is the mean of what was shown, estimated;
    ``making`` how long it took to make that."""

    way: Way
    overall: AnswerMeasures
    categories: Mapping[str, AnswerMeasures]
    abstention: Unanswerable
    tokens: float
    making: Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport(Record):
    """``reader`` is provider:model. ``questions`` are all that were asked."""

    set_name: str
    reader: str
    embedder: str
    budget: int
    conversations: int
    turns: int
    questions: int
    ways: tuple[WayMeasures, ...]


def measure_answers(
    url: str,
    questions: QuestionSet,
    ways: Sequence[Way],
    settings: Mapping[str, Any],
    progress_of: Callable[[str], Progress] = lambda step: no_progress,  # noqa: ARG005
    *,
    budget: int = DEFAULT_BUDGET,
    judge: bool = False,
) -> AnswerReport:
    """Observe every turn without a language model, and have the one of these settings answer every
    question once for each way.

    Raises:
        InvalidValue, UnknownField: a setting or the budget is not allowed, or a way needs an
            embedder and there is none.
        EmbeddingError: some vectors cannot be made.
        LanguageModelError: the model cannot be reached, or refuses, from the beginning.
        StorageError: the store cannot be opened or written.
    """
    with open_memory(url, run_jobs=False, **settings) as memory:
        model = memory.parts.formation.model
        assert model is not None
        reader = Reader(model.plain)
        status = memory.user(user_of(questions.conversations[0])).embedding_status()
        if status.model is None and not _BY_VECTORS.isdisjoint(ways):
            raise InvalidValue(
                "way",
                f"{' and '.join(sorted(_BY_VECTORS))} compare vectors, and the embedding provider"
                " is 'none'; name other ways",
            )
        observe_all(url, questions, progress_of("observing"), settings=_WITHOUT_MODEL)
        if Way.FORMED in ways:
            form_all(url, questions, progress_of("forming"))
        measured = tuple(
            _measured(url, questions, way, reader, progress_of(f"{way}, answering"), budget, judge)
            for way in ways
        )
    return AnswerReport(
        set_name=questions.name,
        reader=model.name,
        embedder=f"{status.provider} {status.model or ''}".strip(),
        budget=budget,
        conversations=len(questions.conversations),
        turns=questions.turn_count,
        questions=questions.question_count,
        ways=measured,
    )


def form_all(url: str, questions: QuestionSet, progress: Progress = no_progress) -> None:
    """Observe every turn for further users, and form their memories."""
    observe_all(url, questions, prefix=FORMED_PREFIX, settings=_WITHOUT_MODEL)
    settings = {**_WITHOUT_MODEL, "formation": False, "formation_daily_writes": _MOST_WRITES}
    with open_memory(url, run_jobs=False, **settings) as memory:
        for number, conversation in enumerate(questions.conversations, start=1):
            user = memory.user(user_of(conversation, FORMED_PREFIX))
            while (formed := user.form()).turns and formed.waits is None:
                pass
            make_vectors(user)
            progress(number, len(questions.conversations))


def _measured(
    url: str,
    questions: QuestionSet,
    way: Way,
    reader: Reader,
    progress: Progress,
    budget: int,
    judge: bool,
) -> WayMeasures:
    """The store is opened anew: no way profits from vectors that another one had made. All is made
    before the reader is asked, who may be busy on the same machine."""
    shown: list[tuple[Question, str]] = []
    making_ms: list[float] = []
    prefix = FORMED_PREFIX if way is Way.FORMED else USER_PREFIX
    with open_memory(url, run_jobs=False, **_WITHOUT_MODEL) as memory:
        for conversation in questions.conversations:
            user = memory.user(user_of(conversation, prefix))
            show = shown_by(way, user, conversation, budget)
            for question in conversation.questions[:1]:  # loads what is loaded once
                show(replace(question, text=_WARM_UP))
            for question in conversation.questions:
                started = time.perf_counter()
                shown.append((question, show(question)))
                making_ms.append((time.perf_counter() - started) * 1_000)
    outcomes: list[Outcome] = []
    for question, text in shown:
        outcomes.append(_outcome(reader, question, text, judge))
        progress(len(outcomes), len(shown))
    return _summed(way, outcomes, latency(making_ms))


def _outcome(reader: Reader, question: Question, shown: str, judge: bool) -> Outcome:
    said = reader.answer(shown, question.text)
    agreed, failed = None, int(said is None)
    if judge and _is_scored(question):
        agreed = False
        if said is not None and not says_unknown(said):
            verdict = reader.agrees(question.text, question.answer or "", said)
            agreed, failed = bool(verdict), int(verdict is None)
    return Outcome(question, said, agreed, failed, estimate_tokens(shown))


def _summed(way: Way, outcomes: Sequence[Outcome], making: Latency) -> WayMeasures:
    scored = [one for one in outcomes if _is_scored(one.question)]
    apart = [one for one in outcomes if not _is_scored(one.question)]
    categories = dict.fromkeys(one.question.category for one in scored)
    return WayMeasures(
        way=way,
        overall=_measures(scored),
        categories={
            name: _measures([one for one in scored if one.question.category == name])
            for name in categories
        },
        abstention=Unanswerable(
            questions=len(apart),
            unknown=fmean(says_unknown(one.said or "") for one in apart) if apart else None,
            failed=sum(one.failed for one in apart),
        ),
        tokens=fmean(one.tokens for one in outcomes),
        making=making,
    )


def _measures(outcomes: Sequence[Outcome]) -> AnswerMeasures:
    """Of at least one question. A failed call is an empty answer, with which no judge agrees."""

    def mean(measure: Callable[[str, str], float]) -> float:
        return fmean(measure(one.said or "", one.question.answer or "") for one in outcomes)

    verdicts = [one.agreed for one in outcomes]
    return AnswerMeasures(
        questions=len(outcomes),
        f1=mean(token_f1),
        containment=mean(containment),
        exact=mean(is_contained),
        judge=None if None in verdicts else fmean(map(bool, verdicts)),
        failed=sum(one.failed for one in outcomes),
    )
