"""How well turns are found: question sets, the protocol, and the scores."""

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeVar

from ricordo import limits
from ricordo.errors import EmbedderRefused, EmbedderUnavailable, ImportFailed, InvalidValue
from ricordo.model import checks
from ricordo.model.record import Record
from ricordo.providers.embedder import Embedder
from ricordo.transfer.exports import Progress, no_progress
from ricordo.transfer.foreign_files import a_list, a_text, an_object, parsed, read_text
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Latency, latency

DEPTH: Final = 20
"""How many results a question asks for."""
ABSTENTION: Final = "abstention"
APART: Final = ("adversarial", ABSTENTION)
"""Categories that are never part of the mean."""
USER_PREFIX: Final = "bench:"
"""Before the names of the users, so that a store in use never mixes them with its own."""
PLAIN: Final = "plain"
STEPS: Final = ("names", "window", "actor", "date", "thread", "role", "learned")
"""In the order in which they are added; also what the setting ``ranking_off`` calls them."""
_OBSERVED_AT_ONCE: Final = 500
_ONE_OF: Final = 5
_ROLES: Final = ("user", "assistant", None)
_ROLE_OF_PEOPLE: Final = "user"  # where two people talk, neither is an assistant

Checked = TypeVar("Checked")

# The format is neutral: whatever a set was made from, it becomes turns, questions and the ids of
# the turns that answer them. What the format states is checked before anything is measured,
# because a set that breaks it would give numbers that mean nothing. Fields beyond it are left
# alone.


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """Something that was said. ``text`` may be blank where a set has turns without words."""

    id: str
    thread: str
    actor: str | None
    role: str | None
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, and the turns that answer it.

    ``stale`` and ``fresh`` are the turns with the old and the new statement of a fact that
    changed, or None where the question is not about such a fact. ``answer`` is the right answer
    in words, or None where the set has none; finding does not need it.
    """

    id: str
    text: str
    category: str
    evidence: tuple[str, ...]
    stale: tuple[str, ...] | None
    fresh: tuple[str, ...] | None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one user said and heard, in order, and the questions about it."""

    id: str
    turns: tuple[SaidTurn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Conversations to measure with."""

    name: str
    conversations: tuple[Conversation, ...]

    @property
    def turn_count(self) -> int:
        return sum(len(conversation.turns) for conversation in self.conversations)

    @property
    def question_count(self) -> int:
        return sum(len(conversation.questions) for conversation in self.conversations)

    def of_others(self, conversation: Conversation) -> Sequence[Question]:
        """Some questions of the next conversation, about which this one says nothing."""
        place = self.conversations.index(conversation)
        following = self.conversations[(place + 1) % len(self.conversations)]
        return () if following is conversation else following.questions[::_ONE_OF]


def read_questions(path: Path) -> QuestionSet:
    """Read and check a whole set.

    Raises:
        ImportFailed: the file cannot be read, or breaks the format; the message says where.
    """
    text = read_text(path, limits.MAX_IMPORT_FILE_BYTES)  # one's own, and as large as it is
    whole = an_object(str(path), parsed(str(path), text))
    listed = a_list(f"{path}, conversations", whole.get("conversations"))
    if not listed:
        raise ImportFailed(f"{path}, conversations: there are none")
    conversations = tuple(
        _conversation(f"{path}, conversation {number}", entry)
        for number, entry in enumerate(listed, start=1)
    )
    _no_repeats(f"{path}, conversations", (one.id for one in conversations))
    return QuestionSet(a_text(f"{path}, name", whole.get("name")), conversations)


def _conversation(place: str, entry: object) -> Conversation:
    given = an_object(place, entry)
    conversation_id = _checked(checks.reference, f"{place}, id", given.get("id"))
    place = f"{place} ({conversation_id})"
    turns = tuple(
        _turn(f"{place}, turn {number}", turn)
        for number, turn in enumerate(a_list(f"{place}, turns", given.get("turns")), start=1)
    )
    _no_repeats(f"{place}, turns", (turn.id for turn in turns))
    _in_order(place, turns)
    known = frozenset(turn.id for turn in turns)
    listed = a_list(f"{place}, questions", given.get("questions"))
    questions = tuple(
        _question(f"{place}, question {number}", question, known)
        for number, question in enumerate(listed, start=1)
    )
    _no_repeats(f"{place}, questions", (question.id for question in questions))
    return Conversation(conversation_id, turns, questions)


def _turn(place: str, entry: object) -> SaidTurn:
    given = an_object(place, entry)
    turn_id = _checked(checks.reference, f"{place}, id", given.get("id"))
    place = f"{place} ({turn_id})"
    role = given.get("role")
    if role not in _ROLES:
        raise ImportFailed(f"{place}, role: {role!r} is not user, assistant or null")
    actor = given.get("actor")
    text = a_text(f"{place}, text", given.get("text"))
    return SaidTurn(
        id=turn_id,
        thread=_checked(checks.reference, f"{place}, thread", given.get("thread")),
        actor=None if actor is None else _checked(checks.reference, f"{place}, actor", actor),
        role=role,
        at=_checked(checks.parse_moment, f"{place}, at", given.get("at")),
        text=_checked(checks.text, f"{place}, text", text, limits.MAX_TURN_CHARS)
        if text.strip()
        else "",
    )


def _question(place: str, entry: object, known: frozenset[str]) -> Question:
    given = an_object(place, entry)
    question_id = a_text(f"{place}, id", given.get("id"))
    place = f"{place} ({question_id})"

    def turn_ids(name: str) -> tuple[str, ...]:
        where = f"{place}, {name}"
        found = tuple(a_text(where, entry) for entry in a_list(where, given.get(name)))
        _no_repeats(where, found)
        for turn_id in found:
            if turn_id not in known:
                raise ImportFailed(f"{where}: no turn {turn_id!r} in this conversation")
        return found

    answer = given.get("answer")
    return Question(
        id=question_id,
        text=_checked(checks.text, f"{place}, text", given.get("text"), limits.MAX_QUERY_CHARS),
        category=a_text(f"{place}, category", given.get("category")),
        evidence=turn_ids("evidence"),
        stale=None if given.get("stale") is None else turn_ids("stale"),
        fresh=None if given.get("fresh") is None else turn_ids("fresh"),
        answer=answer if isinstance(answer, str) else None,
    )


def _in_order(place: str, turns: tuple[SaidTurn, ...]) -> None:
    """Refuse times that run backwards, and threads that are left and taken up again."""
    seen: set[str] = set()
    last: SaidTurn | None = None
    for number, turn in enumerate(turns, start=1):
        where = f"{place}, turn {number} ({turn.id})"
        if last is not None and turn.at < last.at:
            raise ImportFailed(f"{where}, at: is before the turn that comes before it")
        if last is None or turn.thread != last.thread:
            if turn.thread in seen:
                raise ImportFailed(f"{where}, thread: {turn.thread!r} had ended before")
            seen.add(turn.thread)
        last = turn


def _no_repeats(place: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ImportFailed(f"{place}: {one!r} is there twice")
        seen.add(one)


def _checked(check: Callable[..., Checked], place: str, *value: object) -> Checked:
    try:
        return check(place, *value)
    except InvalidValue as problem:
        raise ImportFailed(str(problem)) from None


# A measure of one question lies between 0 and 1; a measure of many is their mean. Results beyond
# the first ``DEPTH`` are never looked at.


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found for one question. ``ranked`` are ids of turns, best first."""

    category: str
    evidence: tuple[str, ...]
    ranked: tuple[str, ...]
    stale: tuple[str, ...] | None = None
    fresh: tuple[str, ...] | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures(Record):
    """Means over so many questions; all 0 where there are none."""

    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    recall_at_20: float
    all_at_10: float
    mrr: float
    ndcg_at_10: float


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The share of the evidence among the first ``k`` results."""
    wanted = set(evidence)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1 where all of the evidence is among the first ``k`` results."""
    return float(set(evidence).issubset(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """1 divided by the place of the first evidence; 0 where none is found."""
    place = _best_place(ranked, evidence)
    return 0.0 if place is None else 1 / place


def ndcg_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Discounted gain of the first ``k`` results beside that of a perfect order."""
    wanted = set(evidence)
    gained = sum(
        _discounted(place)
        for place, found in enumerate(dict.fromkeys(ranked[:k]), start=1)
        if found in wanted
    )
    perfect = sum(_discounted(place) for place in range(1, min(k, len(wanted)) + 1))
    return gained / perfect


def is_fresh_above_stale(
    ranked: Sequence[str], fresh: Collection[str], stale: Collection[str]
) -> bool:
    """True where the best new statement is above the best old one; false where none is."""
    best_fresh, best_stale = _best_place(ranked, fresh), _best_place(ranked, stale)
    if best_fresh is None:
        return False
    return best_stale is None or best_fresh < best_stale


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The chance that one of ``higher`` is above one of ``lower``, ties counting half.

    None where either is empty, because then there is nothing to tell apart.
    """
    if not higher or not lower:
        return None
    # The sum of ranks gives it without comparing every pair.
    labelled = sorted([(score, True) for score in higher] + [(score, False) for score in lower])
    rank_sum, start = 0.0, 0
    while start < len(labelled):
        end = start
        while end < len(labelled) and labelled[end][0] == labelled[start][0]:
            end += 1
        shared_rank = (start + 1 + end) / 2
        rank_sum += shared_rank * sum(is_higher for _, is_higher in labelled[start:end])
        start = end
    smallest = len(higher) * (len(higher) + 1) / 2
    return (rank_sum - smallest) / (len(higher) * len(lower))


def measured(outcomes: Collection[Outcome]) -> Measures:
    """The measures of many questions, each of which has evidence."""

    def mean(of_one: Callable[[Outcome], float]) -> float:
        return fmean(map(of_one, outcomes)) if outcomes else 0.0

    return Measures(
        questions=len(outcomes),
        recall_at_1=mean(lambda one: recall_at(one.ranked, one.evidence, 1)),
        recall_at_5=mean(lambda one: recall_at(one.ranked, one.evidence, 5)),
        recall_at_10=mean(lambda one: recall_at(one.ranked, one.evidence, 10)),
        recall_at_20=mean(lambda one: recall_at(one.ranked, one.evidence, DEPTH)),
        all_at_10=mean(lambda one: all_at(one.ranked, one.evidence, 10)),
        mrr=mean(lambda one: reciprocal_rank(one.ranked, one.evidence)),
        ndcg_at_10=mean(lambda one: ndcg_at(one.ranked, one.evidence, 10)),
    )


def _best_place(ranked: Sequence[str], wanted: Collection[str]) -> int | None:
    places = (place for place, found in enumerate(ranked[:DEPTH], start=1) if found in wanted)
    return next(places, None)


def _discounted(place: int) -> float:
    return 1 / math.log2(place + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness(Record):
    """How often a new statement is above the old one; None where no question asks that."""

    questions: int
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstaining(Record):
    """Whether ``confidence`` tells questions with an answer from those without.

    Those without are the set's own, and questions of other conversations. ``auroc`` is 1 where it
    always does, 0.5 where it says nothing, None where there are not both kinds.
    ``without_confidence`` is how many searches gave none; they are left out.
    """

    answerable: int
    unanswerable: int
    without_confidence: int
    auroc: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sureness(Record):
    """Questions whose first result has about the same confidence, and how often it is right."""

    questions: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Record):
    """Whether a confidence of 0.7 is right seven times of ten, for questions with an answer.

    ``error`` is the mean distance, None where no search gave a confidence.
    """

    error: float | None
    curve: tuple[Sureness, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(Record):
    """The measures of a whole set."""

    overall: Measures
    categories: Mapping[str, Measures]
    apart: Mapping[str, Measures]
    without_evidence: int
    freshness: Freshness
    abstaining: Abstaining
    calibration: Calibration


def scored(outcomes: Collection[Outcome], elsewhere: Collection[Outcome] = ()) -> Scores:
    """Put every outcome where it belongs.

    Questions without evidence are only counted, and used, with those of other conversations
    (``elsewhere``), to see whether a search knows that it found nothing.
    """
    with_evidence = [one for one in outcomes if one.evidence]
    inside = [one for one in with_evidence if one.category not in APART]
    return Scores(
        overall=measured(inside),
        categories=_by_category(inside),
        apart=_by_category([one for one in with_evidence if one.category in APART]),
        without_evidence=len(outcomes) - len(with_evidence),
        freshness=_freshness(outcomes),
        abstaining=_abstaining([*outcomes, *elsewhere]),
        calibration=_calibration(inside),
    )


def _by_category(outcomes: Collection[Outcome]) -> dict[str, Measures]:
    # In the order of first appearance, which is the order that the set was written in.
    names = dict.fromkeys(one.category for one in outcomes)
    return {name: measured([one for one in outcomes if one.category == name]) for name in names}


def _freshness(outcomes: Collection[Outcome]) -> Freshness:
    decided = [
        is_fresh_above_stale(one.ranked, one.fresh, one.stale)
        for one in outcomes
        if one.fresh is not None and one.stale is not None
    ]
    return Freshness(questions=len(decided), share=fmean(decided) if decided else None)


def _abstaining(outcomes: Collection[Outcome]) -> Abstaining:
    def confidences(belongs: Callable[[Outcome], bool]) -> list[float]:
        chosen = [one.confidence for one in outcomes if belongs(one)]
        return [confidence for confidence in chosen if confidence is not None]

    answerable, unanswerable = confidences(_is_answerable), confidences(_is_unanswerable)
    considered = sum(_is_answerable(one) or _is_unanswerable(one) for one in outcomes)
    return Abstaining(
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        without_confidence=considered - len(answerable) - len(unanswerable),
        auroc=auroc(answerable, unanswerable),
    )


def _calibration(outcomes: Collection[Outcome]) -> Calibration:
    sure = [
        (one.confidence, recall_at(one.ranked, one.evidence, 1) > 0)
        for one in outcomes
        if one.confidence is not None
    ]
    by_tenth = groupby(sorted(sure), key=lambda one: min(int(one[0] * 10), 9))
    tenths = [list(alike) for _, alike in by_tenth]
    curve = tuple(
        Sureness(
            questions=len(alike),
            confidence=fmean(confidence for confidence, _ in alike),
            right=fmean(is_right for _, is_right in alike),
        )
        for alike in tenths
    )
    distances = (abs(one.confidence - one.right) * one.questions for one in curve)
    return Calibration(error=sum(distances) / len(sure) if sure else None, curve=curve)


def _is_answerable(outcome: Outcome) -> bool:
    return bool(outcome.evidence) and outcome.category not in APART


def _is_unanswerable(outcome: Outcome) -> bool:
    return not outcome.evidence or outcome.category == ABSTENTION


# One store, one user per conversation. Every turn is observed in order, and searching starts when
# all vectors are ready. Each question is asked once, as a plain search over that user's turns:
# its text, so many results, no filter. Nothing else of the question is given, and nothing is kept
# from one question to the next.


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport(Record):
    """How one way of searching did on a whole set.

    ``degraded`` counts the searches that went by words alone because no vector came in time.
    """

    set_name: str
    embedder: str
    conversations: int
    turns: int
    questions: int
    degraded: int
    scores: Scores
    embedding: Latency
    searching: Latency


@contextlib.contextmanager
def store_for_measuring(url: str | None) -> Iterator[str]:
    """The address to measure at: the given one, or a file that is removed in the end."""
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        yield str(Path(folder) / "ricordo.db")


def observe_all(
    url: str,
    questions: QuestionSet,
    progress: Progress = no_progress,
    *,
    embedder: Embedder | None = None,
    prefix: str = USER_PREFIX,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Put every turn of a set into a store, and wait until all vectors are ready.

    What is in the store already, from a measurement before, is recognised and stays. ``prefix``
    begins the names of the users.

    Raises:
        EmbeddingError: some vectors cannot be made.
        StorageError: the store cannot be opened or written.
    """
    done = 0
    given = {**(settings or {}), "run_jobs": False, "formation": False}
    with open_memory(url, embedder=embedder, **given) as memory:
        for conversation in questions.conversations:
            user = memory.user(user_of(conversation, prefix))
            for thread, messages in _messages(conversation):
                user.observe(messages, thread=thread)
                done += len(messages)
                progress(done, questions.turn_count)
            make_vectors(user)
        while memory.run_jobs():
            pass


def measure_recall(
    url: str,
    questions: QuestionSet,
    progress: Progress = no_progress,
    *,
    settings: Mapping[str, Any] | None = None,
) -> RecallReport:
    """Ask every question of a set whose turns are in the store.

    Raises:
        InvalidValue, UnknownField: a setting is not allowed.
        StorageError: the store cannot be opened.
    """
    outcomes: list[Outcome] = []
    elsewhere: list[Outcome] = []
    embedding_ms: list[float] = []
    searching_ms: list[float] = []
    degraded = 0
    with open_memory(url, run_jobs=False, **(settings or {})) as memory:
        first = memory.user(user_of(questions.conversations[0])).embedding_status()
        embedder = f"{first.provider} {first.model or ''}".strip()
        for conversation in questions.conversations:
            user = memory.user(user_of(conversation))
            for question in conversation.questions:
                started = time.perf_counter()
                found = user.search_turns(question.text, limit=DEPTH)
                whole_ms = (time.perf_counter() - started) * 1_000
                embedding_ms.append(found.timings["embed_ms"])
                searching_ms.append(whole_ms - found.timings["embed_ms"])
                degraded += found.degraded is not None
                outcomes.append(
                    Outcome(
                        category=question.category,
                        evidence=question.evidence,
                        ranked=tuple(hit.message_id or "" for hit in found),
                        stale=question.stale,
                        fresh=question.fresh,
                        confidence=found.confidence,
                    )
                )
                progress(len(outcomes), questions.question_count)
            for question in questions.of_others(conversation):
                sure = user.search_turns(question.text, limit=1).confidence
                elsewhere.append(Outcome(ABSTENTION, (), (), confidence=sure))
    return RecallReport(
        set_name=questions.name,
        embedder=embedder,
        conversations=len(questions.conversations),
        turns=questions.turn_count,
        questions=questions.question_count,
        degraded=degraded,
        scores=scored(outcomes, elsewhere),
        embedding=latency(embedding_ms),
        searching=latency(searching_ms),
    )


def user_of(conversation: Conversation, prefix: str = USER_PREFIX) -> str:
    return f"{prefix}{conversation.id}"


def _messages(conversation: Conversation) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """What was said, in order, in portions of one thread. Blank turns cannot be observed."""
    worded = (turn for turn in conversation.turns if turn.text)
    for thread, turns in groupby(worded, key=lambda turn: turn.thread):
        messages: list[dict[str, object]] = [
            {
                "role": turn.role or _ROLE_OF_PEOPLE,
                "content": turn.text,
                "actor": turn.actor,
                "at": turn.at,
                "id": turn.id,
            }
            for turn in turns
        ]
        for start in range(0, len(messages), _OBSERVED_AT_ONCE):
            yield thread, messages[start : start + _OBSERVED_AT_ONCE]


def make_vectors(user: UserMemory) -> None:
    """Make what a remote embedder has not made yet, or an earlier measurement had not."""
    status = user.embedding_status()
    if status.problem is not None:
        raise EmbedderRefused(status.problem)
    if status.model is None or not (status.pending or status.error):
        return
    user.backfill_embeddings()
    user.fill_embeddings()
    status = user.embedding_status()
    if status.pending or status.error:
        missing = status.pending + status.error
        raise EmbedderUnavailable(f"{missing} vectors could not be made: {status.last_error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung(Record):
    """A step, how the search does with it and all before it, and what it added to recall@10."""

    step: str
    gain: float
    report: RecallReport


def climb(
    url: str,
    questions: QuestionSet,
    progress_of: Callable[[str], Progress] = lambda step: no_progress,  # noqa: ARG005
) -> Iterator[Rung]:
    """Ask all questions once for each step; the turns must be in the store.

    Vectors are not computed again: every step searches the same store.
    """
    before: float | None = None
    for count, step in enumerate((PLAIN, *STEPS)):
        off = ",".join(STEPS[count:])
        report = measure_recall(url, questions, progress_of(step), settings={"ranking_off": off})
        reached = report.scores.overall.recall_at_10
        yield Rung(step=step, gain=0.0 if before is None else reached - before, report=report)
        before = reached
