"""How well turns are found: the protocol that every system and every setting is measured by.

One store, one user per conversation. Every turn is observed in order, and searching starts when
all vectors are ready. Each question is asked once, as a plain search over that user's turns: its
text, so many results, no filter. Nothing else of the question is given, and nothing is kept from
one question to the next.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ricordo.bench.latency import Latency, latency
from ricordo.bench.metrics import DEPTH, Outcome
from ricordo.bench.questions import Conversation, QuestionSet, SaidTurn
from ricordo.bench.scoring import Scores, scored
from ricordo.errors import EmbedderRefused, EmbedderUnavailable
from ricordo.memory import Memory
from ricordo.model.record import Record
from ricordo.providers.embedder import Embedder
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

USER_PREFIX: Final = "bench:"
"""Before the names of the users, so that a store in use never mixes them with its own."""

_OBSERVED_AT_ONCE: Final = 500
_ROLE_OF_PEOPLE: Final = "user"  # where two people talk, neither is an assistant


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
) -> None:
    """Put every turn of a set into a store, and wait until all vectors are ready.

    What is in the store already, from a measurement before, is recognised and stays.

    Raises:
        EmbeddingError: some vectors cannot be made.
        StorageError: the store cannot be opened or written.
    """
    done = 0
    with open_memory(url, run_jobs=False, embedder=embedder) as memory:
        for conversation in questions.conversations:
            user = memory.user(user_of(conversation))
            for thread, messages in _messages(conversation):
                user.observe(messages, thread=thread)
                done += len(messages)
                progress(done, questions.turn_count)
            _make_vectors(user)
        _finish_jobs(memory)


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
    return RecallReport(
        set_name=questions.name,
        embedder=embedder,
        conversations=len(questions.conversations),
        turns=questions.turn_count,
        questions=questions.question_count,
        degraded=degraded,
        scores=scored(outcomes),
        embedding=latency(embedding_ms),
        searching=latency(searching_ms),
    )


def user_of(conversation: Conversation) -> str:
    """The user whose turns those of a conversation are."""
    return f"{USER_PREFIX}{conversation.id}"


def _messages(conversation: Conversation) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """What was said, in order, in portions of one thread. Blank turns cannot be observed."""
    worded = (turn for turn in conversation.turns if turn.text)
    for thread, turns in groupby(worded, key=lambda turn: turn.thread):
        messages = [_message(turn) for turn in turns]
        for portion in _portions(messages):
            yield thread, list(portion)


def _message(turn: SaidTurn) -> dict[str, object]:
    return {
        "role": turn.role or _ROLE_OF_PEOPLE,
        "content": turn.text,
        "actor": turn.actor,
        "at": turn.at,
        "id": turn.id,
    }


def _portions(messages: Sequence[dict[str, object]]) -> Iterator[Sequence[dict[str, object]]]:
    for start in range(0, len(messages), _OBSERVED_AT_ONCE):
        yield messages[start : start + _OBSERVED_AT_ONCE]


def _make_vectors(user: UserMemory) -> None:
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


def _finish_jobs(memory: Memory) -> None:
    while memory.run_jobs():
        pass
