"""Nobody sees or changes what is not theirs, whatever anybody does."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import AccessDenied, Memory, NotFound, RicordoError, UserMemory
from ricordo.wiring import open_memory
from tests.support import postgres

NAMES = ("ana", "ben", "cleo")
names = st.sampled_from(NAMES)
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "link", "unlink", "archive", "forget", "restore", "purge"]),
        names,
        names,
        st.integers(0, 5),
    ),
    max_size=30,
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Memory, Iterator[int]]]:
    if request.param == "sqlite":
        url = str(tmp_path_factory.mktemp("isolation") / "ricordo.db")
    else:
        url = request.getfixturevalue("postgres_database")
        postgres.empty(url)  # global memories of another test would be seen
    with open_memory(url, run_jobs=False) as memory:
        yield memory, itertools.count()


class World:
    """What is known about who owns what and who was shown what."""

    def __init__(self, memory: Memory, suffix: str) -> None:
        self.users: dict[str, UserMemory] = {
            name: memory.user(f"{name}-{suffix}") for name in NAMES
        }
        self.owner: dict[int, str] = {}
        self.viewers: dict[int, set[str]] = {}
        self.ever_seen: dict[str, set[int]] = {name: set() for name in NAMES}

    def do(self, step: tuple[str, str, str, int]) -> None:
        action, actor, other, number = step
        user = self.users[actor]
        ids = list(self.owner)
        item_id = ids[number % len(ids)] if ids else 10**9
        mine = self.owner.get(item_id) == actor
        try:
            if action == "add":
                added = user.add(f"{actor} says {number} {len(self.owner)}").id
                self.owner[added] = actor
                self.viewers[added] = set()
                self.ever_seen[actor].add(added)
            elif action == "link":
                user.link(item_id, self.users[other].scope.user_id)
                assert mine
                self.viewers[item_id].add(other)
                self.ever_seen[other].add(item_id)
            elif action == "unlink":
                user.unlink(item_id, self.users[other].scope.user_id)
                assert mine or other == actor
                self.viewers[item_id].discard(other)
            elif action == "purge":
                user.purge(before_time=True)
            else:
                getattr(user, action)(item_id)
                assert mine
        except (NotFound, AccessDenied):
            pass
        except RicordoError:
            assert mine

    def check(self) -> None:
        for name, user in self.users.items():
            allowed = {
                item_id
                for item_id, owner in self.owner.items()
                if owner == name or name in self.viewers[item_id]
            }
            shown = {item.id for item in user.list(status="any", limit=1000)}
            assert shown <= allowed
            for item_id in set(self.owner) - allowed:
                self.refused(user, item_id)
            assert {change.item_id for change in user.changes(limit=1000)} <= self.ever_seen[name]
            assert sum(theme.active_count for theme in user.themes()) <= len(allowed)

    def refused(self, user: UserMemory, item_id: int) -> None:
        calls: list[Any] = [
            user.get,
            user.archive,
            user.forget,
            user.restore,
            user.pin,
            user.verify,
            user.undo,
            user.links,
        ]
        for call in calls:
            with pytest.raises(NotFound) as caught:
                call(item_id)
            assert str(caught.value) == f"no memory {item_id}"


@pytest.mark.requirement("access.isolation")
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(played=steps)
def test_nothing_leaks(
    store: tuple[Memory, Iterator[int]], played: list[tuple[str, str, str, int]]
) -> None:
    memory, numbers = store
    world = World(memory, f"iso{next(numbers)}")
    for step in played:
        world.do(step)
    world.check()
