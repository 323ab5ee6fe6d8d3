"""Nobody finds what is not theirs: by no filter, link, relation, explanation or cache."""

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ricordo import Memory, NotFound, RicordoError, UserMemory
from ricordo.testing.embedder import WordEmbedder
from tests.support.searching import ENGINES, WIDTH, Searching

NAMES = ("ana", "ben", "cleo")
WORDS = ("lemon", "river", "piano", "snow", "bread", "harbour")
numbers = itertools.count()
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "keyed", "link", "unlink", "archive", "forget", "purge", "erase", "tip"]
        ),
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


class World:
    """Who owns what and who was shown what. Every text has a word that tells whose it is."""

    def __init__(self, memory: Memory, number: int) -> None:
        self.memory = memory
        self.names = {name: f"{name}-{number}" for name in NAMES}
        self.tag = f"w{number}"
        self.owner: dict[int, str] = {}
        self.viewers: dict[int, set[str]] = {}
        self.tips: set[int] = set()

    def user(self, name: str) -> UserMemory:
        return self.memory.user(self.names[name])

    def do(self, action: str, name: str, other: str, place: int, word: str) -> None:
        user = self.user(name)
        ids = [one for one, owner in self.owner.items() if owner == name]
        item_id = ids[place % len(ids)] if ids else 10**9
        mark = f"{self.tag}{name}secret"
        try:
            if action in ("add", "keyed"):
                key = f"k{place % 2}" if action == "keyed" else None
                text = f"the {word} of {mark} {place}"
                added = user.add(text, key=key, tags=["t"], theme="same", agent_id="helper").id
                self.owner[added] = name
                self.viewers.setdefault(added, set())
            elif action == "tip":
                tip = self.memory.global_memories().add(f"the {word} of {self.tag}tip {place}").id
                self.tips.add(tip)
            elif action == "link":
                user.link(item_id, self.names[other])
                self.viewers[item_id].add(other)
            elif action == "unlink":
                user.unlink(item_id, self.names[other])
                self.viewers[item_id].discard(other)
            elif action == "purge":
                user.purge(before_time=True)
            elif action == "erase":
                self.memory.erase_user(self.names[name])
                for item_id in ids:
                    del self.owner[item_id], self.viewers[item_id]
                for viewers in self.viewers.values():
                    viewers.discard(name)
            else:
                getattr(user, action)(item_id)
        except RicordoError:
            pass

    def check(self) -> None:
        tips = {item.id for item in self.memory.global_memories().list(limit=1000)}
        for name in NAMES:
            user = self.user(name)
            # Former texts of keyed memories are further rows of the same owner.
            every = user.list(limit=1000, status="any")
            mine = {item.id for item in every if item.user_id == self.names[name]}
            assert {one for one in mine if one in self.owner} <= {
                one for one, owner in self.owner.items() if owner == name
            }
            shown = {one for one, viewers in self.viewers.items() if name in viewers}
            for word, wanted in zip(itertools.cycle(WORDS), every_filter, strict=False):
                others = set() if "agent_id" in wanted else shown | tips
                for query in (f"the {word} of {self.tag}anasecre", "*"):
                    self.check_search(user, query, wanted, mine | others)
            for item_id in self.owner:
                self.check_related(user, item_id, mine, shown)
            answer = user.query(None, "lemon secret", top_k=50, related=2, budget_tokens=9_999)
            seen = {one.id for one in (*answer.bullets, *answer.related)}
            assert seen <= mine | shown | tips

    def check_search(
        self, user: UserMemory, query: str, wanted: dict[str, Any], allowed: set[int]
    ) -> None:
        found = user.search(query, limit=50, explain=True, **wanted)
        assert {hit.id for hit in found} <= allowed
        visible = " ".join(hit.content_snippet for hit in found)
        own = user.scope.user_id.partition("-")[0]
        for hit in found:
            for term in (hit.explanation or {}).get("terms", ()):
                assert "secret" not in term or own in term or term in visible, (term, query)

    def check_related(
        self, user: UserMemory, item_id: int, mine: set[int], shown: set[int]
    ) -> None:
        try:
            related = {one.id for one in user.related(item_id)}
        except NotFound:
            return
        assert item_id in mine | shown
        assert related <= mine


@pytest.mark.requirement("recall.isolation")
@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(played=steps)
def test_nothing_leaks_into_a_search(
    searching_store: Memory, played: list[tuple[str, str, str, int, str]]
) -> None:
    world = World(searching_store, next(numbers))
    for step in played:
        world.do(*step)
        world.user(step[2]).search("the lemon of")  # keeps what is in memory busy
    world.check()


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


@pytest.mark.requirement("recall.isolation")
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
from ricordo.testing.embedder import WordEmbedder
from ricordo.wiring import open_memory
from tests.contract.test_search_isolation import hammer

url, name, cache = sys.argv[1:]
with open_memory(url, run_jobs=False, embedder=WordEmbedder(384), index_cache_mb=int(cache),
                 global_until=0) as memory:
    leaked = hammer(memory, name, 5)
    assert leaked == [], leaked
"""


@pytest.mark.requirement("recall.isolation")
def test_processes_that_write_and_search_see_only_their_own(
    backend_url: str, open_store: Callable[..., Memory], request: pytest.FixtureRequest
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
