"""Whatever is stored, said and asked: no word of another project reaches a scope of one."""

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
from tests.support.projects import OPEN_TO_PROJECTS

pytestmark = pytest.mark.requirement("projects.bound")

PROJECTS = ("alpha", "bravo", None)
BECAME = ("kept", "archived", "forgotten", "superseded", "moved", "updated", "proposed", "purged")
WORDS = ("harbour", "bridge", "painted", "green", "doctor")
SAME_KEY = "harbour key"

said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
memories = st.lists(
    st.tuples(st.sampled_from(PROJECTS), said, st.sampled_from(BECAME)), min_size=1, max_size=8
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Memory, Iterator[int]]]:
    url = (
        str(tmp_path_factory.mktemp("projects") / "ricordo.db")
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_database")
    )
    small = {"window_turns": 4, "window_kept_turns": 1}
    with open_memory(url, run_jobs=False, embedder=WordEmbedder(), **small) as memory:
        yield memory, itertools.count()


class World:
    """What ana has in projects and in none; each text says where in a word of its own."""

    def __init__(self, memory: Memory, number: int) -> None:
        self.number = number
        self.whole = memory.user(f"ana-{number}")
        self.of = {one: self.whole.narrow(project=one) for one in PROJECTS}
        self.ids: list[int] = []
        self._marks = itertools.count()

    def text(self, project: str | None, words: str) -> str:
        return f"{words} {self.mark(project)}{next(self._marks)}"

    def mark(self, project: str | None) -> str:
        return f"told{project or 'nowhere'}{self.number}x"

    def remember(self, project: str | None, words: str, became: str) -> None:
        one = self.of[project]
        keyed = {"key": SAME_KEY} if became == "updated" else {}
        tags, theme = [self.mark(project)], self.mark(project)
        reason = self.text(project, "reason")
        if became == "proposed":
            given = {"source": "conversation", "theme": theme}
            waiting = one.add(self.text(project, "takes medication for depression"), **given)
            self.ids.append(getattr(waiting, "proposal_id", None) or getattr(waiting, "id", 0))
            return
        item = one.add(self.text(project, words), tags=tags, theme=theme, reason=reason, **keyed).id
        self.ids.append(item)
        if became == "archived":
            one.archive(item, reason=self.text(project, "archived"))
        elif became in ("forgotten", "purged"):
            one.forget(item, reason=self.text(project, "forgotten"))
            if became == "purged":
                self.whole.purge(before_time=True)
        elif became == "superseded":
            self.ids.append(one.add(self.text(project, words), supersedes=item).id)
        elif became == "moved":
            to = "bravo" if project == "alpha" else "alpha"
            moved = self.whole.add(
                self.text(to, words),
                theme=self.mark(to),
                project_id=to,
                tags=[],
                supersedes=item,
                reason=self.text(to, "moved"),
            )
            self.ids.append(moved.id)
        elif became == "updated":
            one.add(self.text(project, words), theme=theme, **keyed)

    def talk(self) -> None:
        """A conversation in each, of which another one's memory says that it comes."""
        for project, one in self.of.items():
            thread = self.thread(project)
            words = ("I drive a Volvo", *["Where is the harbour?"] * 6, "I sold the Volvo")
            turns = [
                {"role": "user", "content": f"{said} {self.mark(project)}", "id": f"m{place}"}
                for place, said in enumerate(words)
            ]
            one.observe(turns, thread=thread, title=self.mark(project))
            other = self.of["bravo" if project == "alpha" else "alpha"]
            where = {"thread_id": thread, "message_id": "m0"}
            text = self.text(other.scope.project_id, "quoting harbour")
            quote = self.text(other.scope.project_id, "Volvo")
            found = other.add(text, theme="quotes", source_context=quote, **where)
            self.ids.append(found.id)
            again = self.text(other.scope.project_id, "quoting bridge")
            self.ids.append(other.add(again, supersedes=found.id).id)
            moving = one.add(self.text(project, "Volvo"), thread_id=thread, message_id="m1").id
            elsewhere = other.scope.project_id or "bravo"
            text = self.text(elsewhere, "now there")
            why = self.text(elsewhere, "why")
            moved = self.whole.add(text, supersedes=moving, project_id=elsewhere, reason=why)
            self.ids += [moving, moved.id]
            self.whole.save_checkpoint(thread, {"state": self.mark("none")})
            one.compact(thread)

    @staticmethod
    def thread(project: str | None) -> str:
        return f"of-{project}"


def readings(scope: UserMemory, world: World) -> dict[str, list[Callable[[], object]]]:
    """Every reading operation, in all the ways that could show too much."""
    asked = ["harbour bridge", "Where is the harbour?", *map(world.mark, PROJECTS)]
    shown_as: list[dict[str, Any]] = [{}, {"status": "any"}, {"as_of": "2100-01-01"}]
    by_id = [*world.ids, *range(max(world.ids) + 1, max(world.ids) + 3)]
    threads = [world.thread(project) for project in PROJECTS]

    def each(call: Callable[..., object], values: list[Any]) -> list[Callable[[], object]]:
        return [lambda value=value: call(value) for value in values]  # type: ignore[misc]

    return {
        "list": [
            *(lambda how=how: scope.list(**how) for how in shown_as),
            lambda: scope.list(status="deleted"),
            *(lambda text=text: scope.list(contains=text, status="any") for text in asked),
            *(lambda one=one: scope.list(project_id=one) for one in PROJECTS[:2]),
            *(lambda one=one: scope.list(theme=world.mark(one)) for one in PROJECTS),
        ],
        "search": [
            *(lambda how=how: scope.search(**how) for how in shown_as),
            *(lambda text=text: scope.search(text, status="any", explain=True) for text in asked),
        ],
        "query": [
            *(lambda text=text: scope.query(None, text, related=2) for text in asked),
            *(lambda text=text: scope.query("helper", text, returns="full") for text in asked),
        ],
        "context": [
            lambda text=text, modes=modes, thread=thread: scope.context(  # type: ignore[misc]
                text, modes=modes, thread=thread, threshold=0.0, budget_tokens=8000
            )
            for text in asked[:2]  # a prompt has the message itself
            for modes in ("recall,summary", "tools,recall,summary")
            for thread in threads
        ],
        "search_turns": [
            lambda text=text: scope.search_turns(text, explain=True, threshold=0.0)  # type: ignore[misc]
            for text in (*asked, "Volvo")
        ],
        "themes": [scope.themes],
        "get": [
            lambda item=item, gone=gone: scope.get(item, include_deleted=gone)  # type: ignore[misc]
            for item in by_id
            for gone in (False, True)
        ],
        "get_many": [lambda: scope.get_many(by_id, include_deleted=True)],
        "history": each(scope.history, by_id),
        "lineage": each(scope.lineage, by_id),
        "related": each(scope.related, by_id),
        "source_turn": each(scope.source_turn, by_id),
        "embedding_states": [lambda: scope.embedding_states(by_id)],
        "relation_graph": [
            scope.relation_graph,
            *(lambda one=one: scope.relation_graph(world.mark(one)) for one in PROJECTS),
        ],
        "links": each(scope.links, by_id),
        "links_of": [lambda: scope.links_of(by_id)],
        "feedback": [lambda item=item: scope.feedback([item], answer="green") for item in by_id],
        "changes": [
            scope.changes,
            lambda: scope.changes(3),
            *(lambda one=one: scope.changes(project_id=one, order="desc") for one in PROJECTS[:2]),
        ],
        "revision": [scope.revision],
        "projects": [scope.projects],
        "groups": [scope.groups],
        "proposals": [scope.proposals, lambda: scope.proposals(state="any")],
        "summary": [scope.summary],
        "user_profile": [scope.user_profile],
        "threads": [scope.threads],
        "day_log": [scope.day_log],
        **{
            name: each(getattr(scope, name), threads)
            for name in ("thread", "turns", "formed_turns", "window", "resume", "compact", "form")
        },
    }


WRITING = {
    *("add", "add_many", "approve", "archive", "forget", "import_file", "link", "merge", "narrow"),
    *(
        "observe",
        "pin",
        "rate",
        "redact",
        "reject",
        "restore",
        "undo",
        "unlink",
        "update_user_profile",
    ),
    *("members", "remove_member", "set_member", "verify"),  # groups are nobody's own
    *("webhook", "webhooks", "webhook_deliveries", "create_webhook", "update_webhook"),
    *("delete_webhook", "rotate_webhook_secret", "test_webhook"),  # of tests/webhooks
}


def changes(scope: UserMemory, world: World) -> list[Callable[[], object]]:
    """Every change by id, for what it answers with."""
    return [
        lambda item=item, change=change: change(item)  # type: ignore[misc]
        for item in world.ids
        for change in (
            *(scope.pin, scope.verify, scope.undo, scope.archive, scope.forget, scope.restore),
            *(scope.approve, scope.reject, scope.unlink),
            *(lambda item, word=word: scope.rate(item, word) for word in ("used", "outdated")),
            lambda item: scope.add("green instead", supersedes=item),
            lambda item: scope.merge([item, world.ids[0]], "green both"),
        )
    ]


def told_elsewhere(world: World, project: str) -> list[dict[str, Any]]:
    """All that ana has in the other project."""
    found = world.whole.list(limit=200, status="any", project_id=project)
    return [item.to_dict() for item in found]


def check(call: Callable[[], object], hidden: str) -> None:
    try:
        told = json.dumps(plain(call()), ensure_ascii=False)
    except RicordoError as refusal:
        told = str(refusal)
    assert hidden not in told, told


@pytest.mark.slow
@settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
)
@given(memories, st.sampled_from(PROJECTS[:2]))
def test_nothing_of_another_project_is_ever_shown(
    store: tuple[Memory, Iterator[int]],
    remembered: list[tuple[str | None, str, str]],
    project: str,
) -> None:
    memory, numbers = store
    world = World(memory, next(numbers))
    for one in remembered:
        world.remember(*one)
    world.talk()
    memory.run_jobs()
    scope = world.of[project]
    other = "bravo" if project == "alpha" else "alpha"
    hidden = world.mark(other)
    reading = readings(scope, world)
    assert set(reading) | WRITING == OPEN_TO_PROJECTS
    scope.context("", thread=world.thread(None))  # so that what changes now would be told
    world.remember("alpha", "harbour", "kept")
    world.remember("bravo", "harbour", "kept")
    for calls in reading.values():
        for call in calls:
            check(call, hidden)
    before = told_elsewhere(world, other)
    for call in changes(scope, world):
        check(call, hidden)
    assert told_elsewhere(world, other) == before
