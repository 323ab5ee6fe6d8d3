"""The course of events: one provider, then a second, half way through a third, and a kill."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.rebuilding.judging import Choice, Judge, Verdict
from bench.rebuilding.programs import Process, SearchingProcess, kill, worker
from bench.rebuilding.providers import Provider
from bench.rebuilding.searching import SETTINGS, USER, Searcher
from bench.rebuilding.watching import Watch
from ricordo.model.embedding import EmbeddingStatus
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.stores import InventedTexts

NAMES: Final = ("first", "second", "third")
_QUESTIONS: Final = 60
_THREADS: Final = 3
_MOST_ARCHIVED: Final = 200
_ADDED_AT_ONCE: Final = 5_000
_LOOK_SECONDS: Final = 0.5  # between two looks whether the worker is still there
_SEARCHES_BETWEEN: Final = 6  # of each thread, before what comes next

Say = Callable[[str], None]


class Stuck(Exception):
    """Something that must happen has not happened in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened.

    ``late`` counts the memories that the second provider was asked for after the third was chosen,
    ``without_vector`` the archived memories that a search at the end could not compare.
    ``wrong_counts`` are those, of ``counts``, that did not make up all memories.
    """

    memories: int
    archived: int
    verdict: Verdict
    search_ms: Sequence[float]
    final: EmbeddingStatus
    without_vector: int
    late: int
    counts: int
    wrong_counts: Sequence[EmbeddingStatus]
    seconds: float
    vectors: int


def run_course(url: str, memories: int, patience_seconds: float, say: Say) -> Outcome:
    """Let it all happen in the store at this address, which must be empty.

    Raises:
        Stuck: the vectors were not made in time.
    """
    source = InventedTexts(seed=7)
    texts = source.texts(memories)
    questions = source.queries(_QUESTIONS, texts)
    with contextlib.ExitStack() as opened:
        providers = {name: opened.enter_context(Provider(name, texts)) for name in NAMES}
        memory = opened.enter_context(open_memory(url, run_jobs=False, **SETTINGS))
        user = memory.user(USER)
        choices = [_choose(user, providers["first"])]
        contents = _remembered(user, texts)
        archived = _archived(user, list(contents))
        user.fill_embeddings()
        say(f"{memories:,} memories have their first vectors")
        watch = Watch(user, memories, last_model=NAMES[-1])
        elsewhere = SearchingProcess(url, questions)
        searchers = [Searcher(user, questions, 7 * number) for number in range(_THREADS)]
        with watch.running(), elsewhere, _searching(searchers):
            started = time.monotonic()
            choices += _change_twice_and_kill(
                url, user, providers, searchers, patience_seconds, say
            )
            with worker(url) as another:
                _wait(watch.finished, another, patience_seconds, "the third provider to be done")
            seconds = time.monotonic() - started
        searches = [one for each in searchers for one in each.searches] + elsewhere.searches
        say(f"{len(searches):,} searches to be judged")
        return Outcome(
            memories=memories,
            archived=archived,
            verdict=Judge(providers, contents, questions).verdict(searches, choices),
            search_ms=[one.search_ms for one in searches if one.problem is None],
            final=user.embedding_status(),
            without_vector=_without_vector(user, questions),
            late=providers["second"].memories_asked_after(choices[-1].ended),
            counts=watch.looks,
            wrong_counts=watch.wrong,
            seconds=seconds,
            vectors=sum(providers[name].memories_asked_after(0.0) for name in NAMES[1:]),
        )


def _change_twice_and_kill(
    url: str,
    user: UserMemory,
    providers: Mapping[str, Provider],
    searchers: Sequence[Searcher],
    patience_seconds: float,
    say: Say,
) -> list[Choice]:
    """Change the provider, half way through once more, and half way through kill the worker.

    Both times an answer is kept back, so that it happens in the middle of filling for certain, and
    that others search meanwhile.
    """
    second, third = providers["second"], providers["third"]
    half = len(second.memories) // 2
    second.hold_from(half)
    third.hold_from(half)
    choices = [_choose(user, second)]
    with worker(url) as working:
        _wait(second.held, working, patience_seconds, "half of the second provider's vectors")
        _let_search(searchers)
        choices.append(_choose(user, third))
        say("the third provider is chosen while the second fills")
        second.release()
        _wait(third.held, working, patience_seconds, "half of the third provider's vectors")
        _let_search(searchers)
        kill(working)
    say("the worker is killed while the third fills")
    third.release()
    return choices


def _choose(user: UserMemory, provider: Provider) -> Choice:
    began = time.monotonic()
    user.set_embeddings(
        "custom_http", base_url=provider.base_url, model=provider.name, confirm=True
    )
    return Choice(provider.name, began, time.monotonic())


def _remembered(user: UserMemory, texts: Sequence[str]) -> dict[int, str]:
    """What is stored, by id."""
    contents: dict[int, str] = {}
    for start in range(0, len(texts), _ADDED_AT_ONCE):
        new = texts[start : start + _ADDED_AT_ONCE]
        added = user.add_many(new)
        contents |= {one.id: text for one, text in zip(added, new, strict=True)}
    return contents


def _archived(user: UserMemory, ids: Sequence[int]) -> int:
    """Put some memories aside, here and there; how many."""
    chosen = ids[:: max(7, len(ids) // _MOST_ARCHIVED)]
    for item_id in chosen:
        user.archive(item_id)
    return len(chosen)


@contextlib.contextmanager
def _searching(searchers: Sequence[Searcher]) -> Iterator[None]:
    for searcher in searchers:
        searcher.start()
    try:
        for searcher in searchers:
            searcher.has_searched.wait()
        yield
    finally:
        for searcher in searchers:
            searcher.stop()


def _let_search(searchers: Sequence[Searcher]) -> None:
    """Wait until everybody has searched some more."""
    enough = [(one, len(one.searches) + _SEARCHES_BETWEEN) for one in searchers]
    pause = threading.Event()
    while any(len(one.searches) < count for one, count in enough):
        pause.wait(_LOOK_SECONDS)


def _without_vector(user: UserMemory, questions: Sequence[str]) -> int:
    """How many archived memories are found that cannot be compared by meaning."""
    found = [hit for text in questions for hit in user.search(text, status="archived")]
    return sum(hit.signals.semantic is None for hit in found)


def _wait(event: threading.Event, working: Process, patience_seconds: float, what: str) -> None:
    deadline = time.monotonic() + patience_seconds
    while not event.wait(_LOOK_SECONDS):
        if working.poll() is not None:
            assert working.stderr is not None
            raise Stuck(f"the worker has ended: {working.stderr.read()}")
        if time.monotonic() > deadline:
            raise Stuck(f"waited {patience_seconds:g} s for {what}")
