"""Whatever is stored and asked: no word of another category reaches a confined scope."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ricordo import Memory, RicordoError, UserMemory
from ricordo.model.record import plain
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory
from tests.support.confined import OPEN_TO_CONFINED
from tests.support.sharing import link_of_old, share

pytestmark = pytest.mark.requirement("access.categories")

THEMES = ("alpha", "bravo", "cedar", "profile", "general")
BECAME = ("kept", "archived", "forgotten", "superseded", "moved", "updated", "shared")
WORDS = ("harbour", "bridge", "painted", "green", "doctor")

said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
memories = st.lists(
    st.tuples(
        st.sampled_from(THEMES),
        said,
        st.sampled_from(BECAME),
        st.sampled_from(["ana", "ben", "everybody"]),
    ),
    min_size=1,
    max_size=8,
)
categories = st.frozensets(st.sampled_from(THEMES), max_size=3)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Memory, Iterator[int]]]:
    url = (
        str(tmp_path_factory.mktemp("categories") / "ricordo.db")
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_database")
    )
    with open_memory(url, run_jobs=False, embedder=WordEmbedder()) as memory:
        yield memory, itertools.count()


class World:
    """Memories of all themes; each says its theme in a word that nothing else has."""

    def __init__(self, memory: Memory, number: int) -> None:
        self.number = number
        self.ana = memory.user(f"ana-{number}")
        self.ben = memory.user(f"ben-{number}")
        self.everybody = memory.global_memories()
        self.ids: list[int] = []
        self._marks = itertools.count()

    def text(self, theme: str, words: str) -> str:
        return f"{words} {self.mark(theme)}{next(self._marks)}"

    def mark(self, theme: str) -> str:
        return f"told{theme}{self.number}x"

    def remember(self, theme: str, words: str, became: str, owner: str) -> None:
        whose = {"ana": self.ana, "ben": self.ben, "everybody": self.everybody}[owner]
        key = f"key {next(self._marks)}" if became == "updated" else None
        tags = [self.mark(theme)]
        item = whose.add(self.text(theme, words), theme=theme, key=key, tags=tags).id
        self.ids.append(item)
        if became == "archived":
            whose.archive(item, reason=self.text(theme, "archived"))
        elif became == "forgotten":
            whose.forget(item, reason=self.text(theme, "forgotten"))
        elif became == "superseded":
            self.ids.append(whose.add(self.text(theme, words), supersedes=item).id)
        elif became == "moved":
            to = THEMES[(THEMES.index(theme) + 1) % len(THEMES)]
            why = self.text(to, "moved")
            moved = whose.add(self.text(to, words), theme=to, tags=[], supersedes=item, reason=why)
            self.ids.append(moved.id)
        elif became == "updated":
            whose.add(self.text(theme, words), theme=theme, key=key)
        if owner == "ben" and became != "forgotten":
            # Only what is active can be offered; stores have links to the rest from before.
            link = link_of_old if became == "archived" else share
            link(self.ben, self.ids[-1], self.ana.scope.user_id)

    def talk(self) -> None:
        """What is filed under no theme at all."""
        turn = {"role": "user", "content": f"harbour {self.mark('nothing')}"}
        self.ana.observe([turn, {**turn, "role": "assistant"}], thread="t1")
        self.ana.save_checkpoint("t1", {"state": self.mark("nothing")})


def readings(scope: UserMemory, world: World) -> dict[str, list[Callable[[], object]]]:
    """Every reading operation, in all the ways that could show too much."""
    asked = ["harbour bridge", "painted green doctor", *map(world.mark, THEMES)]
    shown_as: list[dict[str, Any]] = [{}, {"status": "any"}, {"as_of": "2100-01-01"}]
    by_id = [*world.ids, *range(max(world.ids) + 1, max(world.ids) + 3)]
    return {
        "list": [
            *(lambda how=how: scope.list(**how) for how in shown_as),
            lambda: scope.list(status="deleted"),
            *(lambda text=text: scope.list(contains=text, status="any") for text in asked),
            *(lambda theme=theme: scope.list(theme=theme) for theme in THEMES),
        ],
        "search": [
            *(lambda how=how: scope.search(**how) for how in shown_as),
            *(lambda text=text: scope.search(text, status="any", explain=True) for text in asked),
            *(lambda theme=theme: scope.search("harbour", theme=theme) for theme in THEMES),
        ],
        "query": [
            *(lambda text=text: scope.query(None, text, related=2) for text in asked),
            *(lambda text=text: scope.query("helper", text, returns="full") for text in asked),
            *(lambda theme=theme: scope.query(None, "*", categories=theme) for theme in THEMES),
        ],
        "context": [
            lambda text=text, modes=modes: scope.context(  # type: ignore[misc]
                text, modes=modes, thread="t1", threshold=0.0, budget_tokens=8000
            )
            for text in asked[:2]  # a prompt has the message itself
            for modes in ("tools", "recall,summary", "tools,recall,summary")
        ],
        "themes": [scope.themes],
        "get": [
            lambda item=item, gone=gone: scope.get(item, include_deleted=gone)  # type: ignore[misc]
            for item in by_id
            for gone in (False, True)
        ],
        "get_many": [
            lambda: scope.get_many(by_id),
            lambda: scope.get_many(by_id, include_deleted=True),
        ],
        "history": [lambda item=item: scope.history(item) for item in by_id],
        "lineage": [lambda item=item: scope.lineage(item) for item in by_id],
        "related": [lambda item=item: scope.related(item) for item in by_id],
        "embedding_states": [lambda: scope.embedding_states(by_id)],
        "relation_graph": [
            scope.relation_graph,
            *(lambda theme=theme: scope.relation_graph(theme) for theme in THEMES),
        ],
        "links": [lambda item=item: scope.links(item) for item in by_id],
        "links_of": [lambda: scope.links_of(by_id)],
        "feedback": [lambda item=item: scope.feedback([item], answer="green") for item in by_id],
    }


WRITING = {
    *("add", "add_many", "archive", "describe_theme", "forget", "link", "merge", "narrow"),
    *("observe", "pin", "rate", "restore", "undo", "unlink", "verify"),
}


def changes(scope: UserMemory, world: World) -> list[Callable[[], object]]:
    """Every change by id, for what it answers with."""
    return [
        lambda item=item, change=change: change(item)  # type: ignore[misc]
        for item in world.ids
        for change in (
            *(scope.pin, scope.verify, scope.undo, scope.archive, scope.forget, scope.restore),
            *(lambda item, word=word: scope.rate(item, word) for word in ("used", "outdated")),
            lambda item: scope.add("green instead", supersedes=item),
            lambda item: scope.merge([item, world.ids[0]], "green both"),
            scope.unlink,
        )
    ]


def outside(world: World, allowed: frozenset[str]) -> list[dict[str, Any]]:
    """All that ana and everybody have in other categories, each asked for by itself."""
    seen_by_ana = [
        item
        for item in world.ana.list(limit=200, status="any")
        if item.user_id != world.everybody.scope.user_id
    ]
    of_everybody = [
        item for item in world.everybody.list(limit=200, status="any") if item.id in world.ids
    ]
    return [item.to_dict() for item in (*seen_by_ana, *of_everybody) if item.theme not in allowed]


def check(call: Callable[[], object], hidden: set[str]) -> None:
    try:
        told = json.dumps(plain(call()), ensure_ascii=False)
    except RicordoError as refusal:
        told = str(refusal)
    assert [mark for mark in hidden if mark in told] == [], told


@pytest.mark.slow
@settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
)
@given(memories, categories)
def test_nothing_of_another_category_is_ever_shown(
    store: tuple[Memory, Iterator[int]],
    remembered: list[tuple[str, str, str, str]],
    allowed: frozenset[str],
) -> None:
    memory, numbers = store
    world = World(memory, next(numbers))
    for one in remembered:
        world.remember(*one)
    world.talk()
    memory.run_jobs()
    scope = world.ana.narrow(categories=allowed)
    hidden = {world.mark(theme) for theme in THEMES if theme not in allowed}
    hidden.add(world.mark("nothing"))
    reading = readings(scope, world)
    assert set(reading) | WRITING == OPEN_TO_CONFINED
    scope.context("", thread="t1")  # so that what changes now would be told
    world.remember("alpha", "harbour", "kept", "ana")
    world.remember("bravo", "harbour", "kept", "ana")
    for calls in reading.values():
        for call in calls:
            check(call, hidden)
    before = outside(world, allowed)
    for call in changes(scope, world):
        check(call, hidden)
    assert outside(world, allowed) == before
