"""Nobody finds, reads or changes what is not theirs, whatever anybody does."""

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ricordo import AccessDenied, Memory, NotFound, RicordoError, UserMemory
from ricordo.testing import ManualClock, WordEmbedder
from tests.support.searching import ENGINES, WIDTH, Searching
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("recall.isolation")

OpenStore = Callable[..., Memory]
NAMES = ("ana", "ben", "cleo")
WORDS = ("lemon", "river", "piano", "snow", "bread", "harbour")
LETTERS = "aeioubdlmn"
numbers = itertools.count()
ACTIONS = (
    *("add", "add", "keyed", "keyed", "link", "unlink", "archive", "forget", "restore", "undo"),
    *("purge", "erase", "tip", "say", "rebuild", "fill"),
)
steps = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.integers(0, 9),
        st.sampled_from(WORDS),
    ),
    min_size=4,
    max_size=24,
)
every_filter: list[dict[str, Any]] = [
    {},
    {"status": "any"},
    {"theme": ["general", "same"]},
    {"agent_id": "helper"},
    {"types": ["fact", "other"], "status": ["active", "superseded"]},
    {"as_of": "2026-01-01T12:00:00Z"},
    {"tags": "t"},
]


def found_by(user: UserMemory) -> list[Any]:
    """All that searches tell a user, with scores as precise as the order of sums allows."""
    found: list[Any] = []
    for query in ("the lemon", "lemno rivr", "piano snow bread", "nothing"):
        hits = user.search(query, status="any", limit=50, explain=True)
        said = user.search_turns(query, limit=50)
        found += [
            {hit.id: pytest.approx(hit.score, abs=5e-6) for hit in one} for one in (hits, said)
        ]
        found.append({hit.id: hit.content_snippet for hit in hits})
        found += [hit.explanation["terms"] for hit in hits.results[:1] if hit.explanation]
    return found


class World:
    """Who owns what and who was shown what. Every text has a word that tells whose it is.

    Whatever is done is done in one of two open stores; a third keeps nothing in memory.
    """

    def __init__(self, stores: list[Memory], clock: ManualClock, number: int) -> None:
        *self.warm, self.forgetful = stores
        self.clock = clock
        self.turn = itertools.cycle(self.warm)
        self.names = {name: f"{name}-{number}" for name in NAMES}
        self.tag = "w" + "".join(LETTERS[int(digit)] for digit in str(number))  # no code to a gate
        self.owner: dict[int, str] = {}
        self.viewers: dict[int, set[str]] = {}
        self.ever_seen: dict[str, set[int]] = {name: set() for name in NAMES}

    @property
    def memory(self) -> Memory:
        return next(self.turn)

    def user(self, name: str) -> UserMemory:
        return self.memory.user(self.names[name])

    def do(self, action: str, name: str, other: str, place: int, word: str) -> None:
        ids = list(self.owner)
        item_id = ids[place % len(ids)] if ids else 10**9
        mine = self.owner.get(item_id) == name
        try:
            if action in ("add", "keyed"):
                self.add(name, word, place, f"k{place % 2}" if action == "keyed" else None)
            elif action == "tip":
                self.memory.global_memories().add(f"the {word} of {self.tag}tip {place}")
            elif action == "link":
                share(self.user(name), item_id, self.names[other])
                assert mine
                self.viewers[item_id].add(other)
                self.ever_seen[other].add(item_id)
            elif action == "unlink":
                self.user(name).unlink(item_id, self.names[other])
                assert mine or other == name
                self.viewers[item_id].discard(other)
            elif action == "purge":
                self.user(name).purge(before_time=True)
            elif action == "erase":
                self.erase(name)
            elif action == "say":
                said = {"role": "user", "content": f"the {word} {self.tag}{name}orchard"}
                self.user(name).observe([said], thread="t")
            elif action == "rebuild":
                self.user(name).rebuild_embeddings(confirm=True)
            elif action == "fill":
                self.user(name).fill_embeddings()
            else:
                getattr(self.user(name), action)(item_id)
                assert mine
        except (NotFound, AccessDenied):
            pass
        except RicordoError:
            assert mine or action == "rebuild"  # of whom there is nothing

    def add(self, name: str, word: str, place: int, key: str | None) -> None:
        text = f"the {word} of {self.tag}{name}orchard {place}"
        added = self.user(name).add(text, key=key, tags=["t"], theme="same", agent_id="helper").id
        self.owner[added] = name
        self.viewers.setdefault(added, set())

    def erase(self, name: str) -> None:
        self.clock.advance(seconds=1)  # a user who begins again begins at another time
        self.memory.erase_user(self.names[name])
        for item_id in [one for one, owner in self.owner.items() if owner == name]:
            del self.owner[item_id], self.viewers[item_id]
        for viewers in self.viewers.values():
            viewers.discard(name)

    def compare(self) -> None:
        """The open stores find what one finds that has just read everything."""
        for name in (*self.names.values(), "*"):
            self.forgetful.recall.indexes.forget(name)
        for name in self.names.values():
            expected = found_by(self.forgetful.user(name))
            for store in self.warm:
                assert found_by(store.user(name)) == expected

    def check(self, filters: list[dict[str, Any]]) -> None:
        tips = {item.id for item in self.memory.global_memories().list(limit=1000)}
        for name in NAMES:
            user = self.user(name)
            # Former texts of keyed memories are further rows of the same owner.
            every = user.list(limit=1000, status="any")
            mine = {item.id for item in every if item.user_id == self.names[name]}
            assert all(self.owner.get(one, name) == name for one in mine)
            shown = {one for one, viewers in self.viewers.items() if name in viewers}
            assert {item.id for item in every} <= mine | shown | tips
            assert sum(theme.active_count for theme in user.themes()) <= len(every)
            for item_id, owner in self.owner.items():
                if owner != name and item_id not in shown:
                    self.check_refused(user, item_id)
            told = {change.item_id for change in user.changes(limit=1000)}
            assert {one for one in told if self.owner.get(one, name) != name} <= self.ever_seen[
                name
            ]
            for word, wanted in zip(itertools.cycle(WORDS), filters, strict=False):
                others = set() if "agent_id" in wanted else shown | tips
                for query in (f"the {word} of {self.tag}anaorchar", "*"):
                    self.check_search(user, query, wanted, mine | others)
            for item_id in mine | shown:
                with contextlib.suppress(NotFound):
                    assert {one.id for one in user.related(item_id)} <= mine
            answer = user.query(None, "lemon orchard", top_k=50, related=2, budget_tokens=9_999)
            seen = {one.id for one in (*answer.bullets, *answer.related)}
            assert seen <= mine | shown | tips

    def check_refused(self, user: UserMemory, item_id: int) -> None:
        calls: list[Callable[[int], object]] = [
            *(user.get, user.archive, user.forget, user.restore, user.pin, user.verify),
            *(user.undo, user.links, user.related),
            lambda item: user.rate(item, "wrong"),
        ]
        for call in calls:
            with pytest.raises(NotFound) as caught:
                call(item_id)
            assert str(caught.value) == f"no memory {item_id}"

    def check_search(
        self, user: UserMemory, query: str, wanted: dict[str, Any], allowed: set[int]
    ) -> None:
        found = user.search(query, limit=50, explain=True, **wanted)
        assert {hit.id for hit in found} <= allowed
        visible = " ".join(hit.content_snippet for hit in found)
        own = user.scope.user_id.partition("-")[0]
        for hit in found:
            for term in (hit.explanation or {}).get("terms", ()):
                assert "orchard" not in term or own in term or term in visible, (term, query)


@pytest.fixture
def stores(searching: Searching) -> list[Memory]:
    # What the helper notes of invented words is not about what a gate takes it for.
    return [searching.open(sensitive_fields="") for _ in range(3)]


@pytest.mark.slow
@pytest.mark.requirement("access.isolation")
@pytest.mark.requirement("recall.cache")
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
)
@given(played=steps)
def test_nothing_leaks(
    stores: list[Memory], clock: ManualClock, played: list[tuple[str, str, str, int, str]]
) -> None:
    world = World(stores, clock, next(numbers))
    for step in played:
        world.do(*step)
        world.user(step[2]).search("the lemon of")  # keeps what is in memory busy
    world.compare()
    world.check(every_filter)


@pytest.mark.requirement("access.isolation")
def test_nothing_leaks_from_a_few_steps(backend_url: str, open_store: OpenStore) -> None:
    stores = [open_store(backend_url) for _ in range(3)]
    world = World(stores, ManualClock(), next(numbers))
    for name, action in itertools.product(NAMES[:2], ("add", "keyed", "say")):
        world.do(action, name, name, 1, "lemon")
    world.do("tip", "ana", "ana", 0, "lemon")
    for place, action in enumerate(("link", "archive", "forget", "link")):
        world.do(action, "ana", "ben", place, "lemon")
    world.check(every_filter[:2])


def hammer(memory: Memory, name: str, rounds: int) -> list[str]:
    """Write and search as one user; what was found that is not theirs."""
    user = memory.user(name)
    leaked = []
    for number in range(rounds):
        mark = f"mark{name}"
        added = user.add(f"the lemon of {mark} number {number}", key=f"k{number % 3}").id
        user.observe([{"role": "user", "content": f"said lemon {mark} {number}"}], thread="t")
        if number % 4 == 1:
            with contextlib.suppress(RicordoError):  # another thread may have done so
                user.archive(added)
        if number % 5 == 2:
            with contextlib.suppress(RicordoError):
                user.forget(user.add(f"gone lemon {mark} {number}").id)
            user.purge(before_time=True)
        for query in ("lemon", "lemno", f"{mark} number {number}"):
            hits = user.search(query, limit=50, status="any", explain=True)
            leaked += [hit.content_snippet for hit in hits if mark not in hit.content_snippet]
            leaked += [
                term
                for hit in hits
                for term in (hit.explanation or {})["terms"]
                if term.startswith("mark") and term != mark
            ]
            said = user.search_turns(query, limit=50)
            leaked += [hit.content_snippet for hit in said if mark not in hit.content_snippet]
        if added not in {hit.id for hit in user.search(mark, limit=50, status="any")}:
            leaked.append(f"{name} lost {added}")
    return leaked


@pytest.mark.slow
def test_threads_that_write_and_search_see_only_their_own(searching: Searching) -> None:
    memory = searching.open(global_until=0)
    names = [f"user{number % 3}" for number in range(5)]  # some are two threads at once
    with ThreadPoolExecutor(5) as pool:
        for leaked in pool.map(lambda name: hammer(memory, name, 4), names):
            assert [one for one in leaked if " lost " not in one] == []
    for name in set(names):
        assert hammer(memory, name, 2) == []


PROCESS = """
import sys
from ricordo.testing import ManualClock
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory
from tests.contract.test_isolation import hammer

url, name, cache = sys.argv[1:]
with open_memory(url, run_jobs=False, embedder=WordEmbedder(384), index_cache_mb=int(cache),
                 global_until=0) as memory:
    leaked = hammer(memory, name, 5)
    assert leaked == [], leaked
"""


@pytest.mark.slow
def test_processes_that_write_and_search_see_only_their_own(
    backend_url: str, open_store: OpenStore, request: pytest.FixtureRequest
) -> None:
    memory = open_store(backend_url, embedder=WordEmbedder(WIDTH), global_until=0)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, backend_url, name, str(settings["index_cache_mb"])],
            cwd=request.config.rootpath,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, settings in zip(("user1", "user2"), ENGINES.values(), strict=True)
    ]
    assert hammer(memory, "user3", 4) == []
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    for name in ("user1", "user2", "user3"):
        found = memory.user(name).search("lemon", limit=50, status="any")
        assert len(found) >= 4
        assert all(f"mark{name}" in hit.content_snippet for hit in found)
