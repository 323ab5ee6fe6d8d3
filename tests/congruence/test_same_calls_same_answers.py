"""The same calls on SQLite and on PostgreSQL give the same answers, errors included."""

import builtins
import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ricordo import (
    Memory,
    MemoryNotFound,
    Occupied,
    Ownership,
    Proposal,
    Proposed,
    RicordoError,
    Status,
    Undoable,
    UserMemory,
)
from ricordo.memories.replacement import MERGED_IDS
from ricordo.model.filters import SortColumn
from ricordo.model.record import Record
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.text.normalise import content_hash
from ricordo.wiring import open_memory
from tests.support import postgres

USERS = ("ana", "ben")
NUMBERS = frozenset(
    {"id", "item_id", "old_ref", "new_ref", "proposal", "proposal_id", "memory_id", "target_id"}
)
BY_ID = (
    *("get", "archive", "forget", "restore", "pin", "verify", "undo", "undo"),
    *("history", "lineage", "unlink", "links"),
)
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

# Few values, so that generated calls meet each other; and text that tends to sort or match
# differently from one database to the next.
texts = st.sampled_from(
    [
        *("Tea", "tea", "TEA.", "Straße", "STRASSE", "naïve café", "NAIVE CAFE", "100% a_b"),
        *("a\\b", "日本語のメモ", "Zebra", "apple", "Äpfel", "İstanbul", "e\u0301", "é"),
        *("🐈 cat", "x'; DROP", "ﬁx", "I am allergic to nuts"),
    ]
) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
themes = st.sampled_from([None, "work", "Work", "food", "Äpfel & Birnen", "_x"])
keys = st.sampled_from([None, None, None, "city", "City", "job"])
tags = st.lists(st.sampled_from(["a", "b", "Ä", 'a"b', "[]"]), max_size=3)
past = st.integers(-40, 0).map(lambda days: START + timedelta(days=days))
moments = st.integers(-40, 40).map(lambda days: START + timedelta(days=days))
future = st.integers(1, 40).map(lambda days: START + timedelta(days=days))

fields = st.fixed_dictionaries(
    {"content": texts},
    optional={
        "theme": themes,
        "key": keys,
        "tags": tags,
        "type": st.sampled_from(["fact", "preference", "insight"]),
        "source": st.sampled_from(["user_explicit", "conversation", "tool_call"]),
        "importance": st.integers(1, 5),
        "confidence": st.integers(0, 100),
        "ownership": st.lists(st.sampled_from([*Ownership]), min_size=1, max_size=2),
        "pinned": st.booleans(),
        "thread_id": st.sampled_from(["t1", "T1"]),
        "agent_id": st.sampled_from(["helper", None]),
        "valid_from": past,
        "valid_to": moments,
        "expires_at": future,
        "created_at": past,
    },
)
every_filter = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["active", "archived", "superseded", "deleted", "any"]),
        "theme": themes | st.lists(st.sampled_from(["work", "food"]), min_size=1, max_size=2),
        "types": st.lists(st.sampled_from(["fact", "insight"]), min_size=1, max_size=2),
        "tags": st.lists(st.sampled_from(["a", "b", "Ä", 'a"b']), min_size=1, max_size=2),
        "key": keys,
        "contains": texts,
        "thread_id": st.sampled_from(["t1", "T1"]),
        "agent_id": st.just("helper"),
        "pinned": st.booleans(),
        "importance_min": st.integers(1, 5),
        "importance_max": st.integers(1, 5),
        "confidence_min": st.integers(0, 100),
        "created_after": moments,
        "created_before": moments,
        "updated_after": moments,
        "updated_before": moments,
        "as_of": moments,
    },
)
# Two conditions at a time: with all of them at once nothing would ever be found.
filters = every_filter.flatmap(
    lambda wanted: st.lists(st.sampled_from(sorted(wanted) or [""]), max_size=2).map(
        lambda kept: {name: wanted[name] for name in kept if name}
    )
)
# What becomes a memory, what waits for consent, what waits to be said again, and what is neither.
sayings = st.sampled_from(
    [
        *("I live in Bekasi", "I live in Turin.", "Remember that I live in Bekasi"),
        *("My name is Ana", "I am allergic to peanuts", "I prefer short answers"),
        *("I like tea", "I don't like tea", "What is the weather like?"),
    ]
)
users = st.sampled_from(USERS)
nth = st.integers(0, 7)

Call = tuple[str, tuple[Any, ...]]
Stores = tuple[Memory, Memory, list[ManualClock], Iterator[int]]
calls = st.one_of(
    *[st.tuples(st.just("add"), st.tuples(users, fields))] * 2,
    st.tuples(st.just("add_many"), st.tuples(users, st.lists(fields, max_size=6))),
    st.tuples(st.just("supersede"), st.tuples(users, nth, fields)),
    st.tuples(st.just("merge"), st.tuples(users, nth, nth, fields)),
    *(st.tuples(st.just(name), st.tuples(users, nth)) for name in BY_ID),
    st.tuples(st.just("link"), st.tuples(users, nth, users)),
    st.tuples(st.just("block"), st.tuples(users, users, st.booleans())),
    st.tuples(
        st.just("rate"),
        st.tuples(users, nth, st.sampled_from(["used", "wrong", "outdated", "withdrawn"])),
    ),
    st.tuples(st.just("forget_key"), st.tuples(users, keys.filter(bool), themes)),
    st.tuples(st.just("purge"), st.tuples(users, st.booleans())),
    st.tuples(st.just("wait"), st.tuples(st.integers(1, 20))),
    st.tuples(st.just("run_jobs"), st.tuples()),
    st.tuples(st.just("themes"), st.tuples(users)),
    st.tuples(st.just("changes"), st.tuples(users, nth)),
    st.tuples(
        st.just("list"),
        st.tuples(
            users,
            filters,
            st.sampled_from(list(SortColumn)),
            st.sampled_from(["asc", "desc"]),
            st.integers(1, 4),
        ),
    ),
    st.tuples(st.just("list_all"), st.tuples(filters)),
    *[
        st.tuples(
            st.just("say"),
            st.tuples(
                users,
                st.sampled_from(["t1", "T1"]),
                st.lists(sayings, min_size=1, max_size=3),
                st.booleans(),
            ),
        )
    ]
    * 2,
    st.tuples(st.just("proposals"), st.tuples(users, st.integers(1, 4))),
    *(
        st.tuples(st.just("decide"), st.tuples(users, nth, st.sampled_from(["approve", "reject"])))
        for _ in range(2)
    ),
    st.tuples(st.just("summary"), st.tuples(users)),
)


class Player:
    """Plays calls on one store. Ids are told apart by when they were first seen, because a
    sequence may skip numbers after a failed write."""

    def __init__(self, memory: Memory, clock: ManualClock, suffix: str) -> None:
        self.memory = memory
        self.clock = clock
        self.suffix = suffix
        self.seen: dict[int, int] = {}
        self.owned: dict[str, list[int]] = {name: [] for name in USERS}
        self.waiting: dict[str, list[int]] = {name: [] for name in USERS}

    def user(self, name: str) -> UserMemory:
        return self.memory.user(f"{name}-{self.suffix}")

    def id(self, name: str, number: int) -> int:
        """Mostly one of the user's own memories; 6 is the other user's, 7 nobody's."""
        other = next(user for user in USERS if user != name)
        return _nth(self.owned[other] if number == 6 else self.owned[name], number)

    def rate(self, name: str, number: int, verdict: str) -> Any:
        return self.user(name).rate(self.id(name, number), verdict)

    def proposal_id(self, name: str, number: int) -> int:
        """Likewise of proposals, decided ones too."""
        other = next(user for user in USERS if user != name)
        return _nth(self.waiting[other] if number == 6 else self.waiting[name], number)

    def added(self, name: str, results: list[Any]) -> Any:
        """What waits for consent is no memory yet; ``decide`` can make it one."""
        ids = [one.id for one in results if not isinstance(one, Proposed)]
        self.owned[name] += [one for one in ids if one not in self.owned[name]]
        return results

    def play(self, call: Call) -> Any:
        name, arguments = call
        try:
            return self.shown(getattr(self, name)(*arguments))
        except RicordoError as error:
            return type(error).__name__, self.renamed(str(error))
        finally:
            # What was recalled is counted a minute later by a timer, which two stores would not
            # hear at the same call.
            self.memory.recall.accesses.flush()

    def shown(self, value: Any) -> Any:
        if isinstance(value, Record):
            return self.shown(value.to_dict())
        if isinstance(value, dict):
            if MERGED_IDS in value:
                value = {**value, MERGED_IDS: [self.number(one) for one in value[MERGED_IDS]]}
            return {
                name: self.number(entry) if name in NUMBERS else self.shown(entry)
                for name, entry in value.items()
                if name != "next_cursor"
            }
        if isinstance(value, list | tuple):
            return [self.shown(entry) for entry in value]
        return self.renamed(value) if isinstance(value, str) else value

    def number(self, item_id: int | None) -> int | None:
        return None if item_id is None else self.seen.setdefault(item_id, len(self.seen))

    def renamed(self, text: str) -> str:
        numbered = re.sub(
            r"\b(memory|proposal) (\d+)",
            lambda found: f"{found[1]} #{self.number(int(found[2]))}",
            text,
        )
        return numbered.replace(f"-{self.suffix}", "")

    def add(self, name: str, given: dict[str, Any]) -> Any:
        return self.added(name, [self.user(name).add(**given)])

    def add_many(self, name: str, given: list[dict[str, Any]]) -> Any:
        return self.added(name, list(self.user(name).add_many(given)))

    def supersede(self, name: str, number: int, given: dict[str, Any]) -> Any:
        old = self.id(name, number)
        return self.added(name, [self.user(name).add(**given, supersedes=old)])

    def merge(self, name: str, one: int, other: int, given: dict[str, Any]) -> Any:
        ids = [self.id(name, one), self.id(name, other)]
        return self.added(name, [self.user(name).merge(ids, given)])

    def link(self, name: str, number: int, viewer: str) -> Any:
        return self.user(name).link(self.id(name, number), f"{viewer}-{self.suffix}")

    def block(self, name: str, sender: str, on: bool) -> Any:
        user = self.user(name)
        (user.block_sender if on else user.unblock_sender)(f"{sender}-{self.suffix}")
        return user.blocked_senders()

    def forget_key(self, name: str, key: str, theme: str | None) -> Any:
        return self.user(name).forget(key=key, theme=theme)

    def purge(self, name: str, before_time: bool) -> Any:
        return self.user(name).purge(before_time=before_time)

    def wait(self, days: int) -> None:
        self.clock.advance(days=days)

    def run_jobs(self) -> None:
        self.memory.run_jobs()  # other examples' jobs run too, so the count says nothing

    def say(self, name: str, thread: str, said: list[str], forms: bool) -> Any:
        """Say something; have it formed at once, or by a job some time later."""
        messages = [{"role": "user", "content": text} for text in said]
        observed = self.user(name).observe(messages, thread=thread)
        if not forms:
            return observed
        report = self.user(name).form(thread)
        found = [decision.memory_id for decision in report.decisions]
        self.owned[name] += [
            one for one in found if one is not None and one not in self.owned[name]
        ]
        return report

    def proposals(self, name: str, size: int) -> Any:
        user, cursor = self.user(name), None
        found: builtins.list[Proposal] = []  # "list" is a call here
        for _ in range(40):
            page = user.proposals(state="any", limit=size, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        self.waiting[name] = [proposal.id for proposal in found]
        return found

    def decide(self, name: str, number: int, verdict: str) -> Any:
        self.proposals(name, 100)
        decided = getattr(self.user(name), verdict)(self.proposal_id(name, number))
        return self.added(name, [decided]) if verdict == "approve" else decided

    def undo(self, name: str, number: int) -> Any:
        """Works exactly where a lineage tells of one."""
        user, item_id = self.user(name), self.id(name, number)
        undoable = None
        with contextlib.suppress(MemoryNotFound):
            undoable = user.lineage(item_id).undoable
        try:
            came_back = user.undo(item_id)
        except RicordoError as refused:
            # Only that another one is in the way now is not to be seen before.
            assert (undoable is not None) is isinstance(refused, Occupied)
            raise
        assert undoable is not None
        last = user.history(came_back.id)[-1]
        assert ("undone_revision" in last.meta) is (undoable is Undoable.UPDATE)
        return came_back

    def check_lineages(self, name: str) -> None:
        """What took the place of another says so on either side."""
        user = self.user(name)
        for item in user.list(status=[*Status], limit=1000):
            line = user.lineage(item.id)
            if line.successor is not None:
                beyond = user.lineage(line.successor.id).predecessors
                assert item.id in [one.id for one in beyond]
            for former in line.predecessors:
                successor = user.lineage(former.id).successor
                assert successor is not None
                assert successor.id == item.id

    def summary(self, name: str) -> Any:
        return self.user(name).summary()

    def themes(self, name: str) -> Any:
        return self.user(name).themes()

    def changes(self, name: str, since: int) -> Any:
        return self.user(name).changes(since)

    def list(self, name: str, wanted: dict[str, Any], sort: str, order: str, size: int) -> Any:
        user, pages, cursor = self.user(name), [], None
        for _ in range(40):
            page = user.list(sort=sort, order=order, limit=size, cursor=cursor, **wanted)
            pages.append(page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        # With equal sort values the ids decide, which grow alike on both sides.
        return pages

    def list_all(self, wanted: dict[str, Any]) -> Any:
        everyone = self.memory.list(limit=1000, sort="id", order="asc", **wanted)
        return [item for item in everyone if item.user_id.endswith(f"-{self.suffix}")]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda user, number: getattr(self.user(user), name)(self.id(user, number))


def _nth(ids: "list[int]", number: int) -> int:
    return ids[number % len(ids)] if ids and number < 7 else 10**9


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, postgres_database: str) -> Iterator[Stores]:
    postgres.empty(postgres_database)
    clocks = [ManualClock(START), ManualClock(START)]
    path = tmp_path_factory.mktemp("congruence") / "ricordo.db"
    words = WordEmbedder()
    with (
        open_memory(path, clock=clocks[0], run_jobs=False, embedder=words) as sqlite,
        open_memory(
            postgres_database, clock=clocks[1], run_jobs=False, embedder=words
        ) as postgresql,
    ):
        yield sqlite, postgresql, clocks, itertools.count()


def assert_same(stores: Stores, played: list[Call]) -> None:
    sqlite, postgresql, clocks, numbers = stores
    for clock in clocks:
        clock.set(START)
    suffix = str(next(numbers))
    left = Player(sqlite, clocks[0], suffix)
    right = Player(postgresql, clocks[1], suffix)
    for call in played:
        assert left.play(call) == right.play(call), call
    for name in USERS:
        assert left.play(("changes", (name, 0))) == right.play(("changes", (name, 0)))
        left.check_lineages(name)
    for store in (sqlite, postgresql):
        assert impossible_states(store, suffix) == []


@pytest.mark.requirement("storage.congruence")
def test_both_databases_agree_on_a_few_calls(stores: Stores) -> None:
    said = ("Straße", "tea", "Äpfel", "apple", "100% a_b")
    added = [("add", ("ana", {"content": text, "key": "city"})) for text in said[:2]]
    added += [("add", ("ana", {"content": text, "theme": "_x"})) for text in said]
    listed = ("ana", {"contains": "STRASSE"}, SortColumn.THEME, "desc", 2)
    done: list[Call] = [("undo", ("ana", 0)), ("link", ("ana", 1, "ben")), ("forget", ("ben", 6))]
    assert_same(stores, [*added, *done, ("list", listed), ("themes", ("ben",))])


@pytest.mark.requirement("storage.congruence")
def test_both_databases_agree_on_what_waits_for_consent(stores: Stores) -> None:
    draft = {"content": "I am allergic to nuts", "source": "tool_call"}
    asked: list[Call] = [("add", ("ana", draft)), ("decide", ("ana", 0, "approve"))]
    refused: list[Call] = [("add", ("ben", draft)), ("decide", ("ben", 0, "reject"))]
    assert_same(stores, [*asked, ("get", ("ana", 0)), *refused, ("add", ("ben", draft))])


@pytest.mark.requirement("storage.congruence")
@pytest.mark.requirement("items.lifecycle")
@pytest.mark.requirement("memories.lineage")
@pytest.mark.slow
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking takes minutes
@given(
    first=st.lists(st.tuples(st.just("add"), st.tuples(users, fields)), min_size=3, max_size=10),
    played=st.lists(calls, min_size=3, max_size=25),
)
def test_both_databases_agree(stores: Stores, first: list[Call], played: list[Call]) -> None:
    assert_same(stores, [*first, *played])


def impossible_states(memory: Memory, suffix: str) -> list[str]:
    """What no sequence of calls may lead to."""
    with memory.database.read_all() as view:
        found = find_inconsistencies(view.connection)
    active = [
        item for item in memory.list(limit=1000, sort="id") if item.user_id.endswith(f"-{suffix}")
    ]
    places = Counter(
        (item.user_id, item.theme, item.key or content_hash(item.content)) for item in active
    )
    found += [f"{place} is taken twice" for place, count in places.items() if count > 1]
    for item in memory.list(limit=1000, sort="id", status=[*Status]):
        if item.valid_to is not None and item.valid_to < item.valid_from:
            found.append(f"memory {item.id} ends before it begins")
        if (item.status is Status.DELETED) is (item.purge_at is None):
            found.append(f"memory {item.id} is {item.status} with purge_at {item.purge_at}")
    return found
