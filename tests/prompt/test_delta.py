"""What changed since a conversation last looked: at most three bullets, each change once."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.limits import MAX_DELTA_BULLET_CHARS, MAX_DELTA_BULLETS, MAX_DELTAS_ONE_BY_ONE
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("prompt.delta")

THREAD = "kitchen"


def told(user: UserMemory, modes: str = "recall", thread: str = THREAD) -> list[str]:
    return list(user.context("", thread=thread, modes=modes).delta)


def everything_told(user: UserMemory, modes: str = "recall", thread: str = THREAD) -> list[str]:
    """What a conversation is told until there is nothing new."""
    bullets: list[str] = []
    while more := told(user, modes, thread):
        assert len(more) <= MAX_DELTA_BULLETS
        bullets += more
    return bullets


def test_each_kind_of_change_is_told_once(memory: Memory, ana: UserMemory) -> None:
    assert told(ana) == []
    assert memory.users() == ()  # looking makes nobody a user
    kept = ana.add("Has a dog", theme="home").id
    first = ana.add("Likes rice", theme="food").id
    second = ana.add("Likes noodles", theme="food").id
    gone = ana.add("Plays chess", theme="games").id
    told(ana, thread="other")
    everything_told(ana)
    new = ana.add("Prefers tea", theme="drinks").id
    better = ana.add("Has two dogs", supersedes=kept).id
    bullets = [
        f"+created: [drinks] Prefers tea #{new}",
        f"↑updated: [home] Has two dogs #{better}",
    ]
    assert told(ana) == bullets
    merged = ana.merge([first, second], "Likes rice and noodles").id
    ana.forget(gone)
    later = [f"↔merged: [food] Likes rice and noodles #{merged}", f"−removed: [games] #{gone}"]
    assert told(ana) == later
    assert told(ana) == []
    assert everything_told(ana, thread="other") == [*bullets, *later]  # each on its own


def test_what_is_no_news_is_not_told(ana: UserMemory) -> None:
    known = ana.add("Something", theme="old").id
    told(ana)
    ana.forget(ana.add("A passing thought").id)
    ana.pin(known)
    ana.verify(known)
    assert told(ana) == []
    ana.forget(known)
    ana.restore(known)
    ana.forget(known)
    assert told(ana) == [f"−removed: [old] #{known}"]


def test_many_changes_are_told_over_several_looks_or_counted(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    added = [ana.add(f"Thing number {number}").id for number in range(7)]
    added.append(ana.add("word " * 1000).id)
    assert ana.context("", modes="recall").delta == ()  # without a thread nothing counts as told
    bullets = everything_told(ana)
    assert [int(bullet.rsplit("#", 1)[1]) for bullet in bullets] == added
    assert len(bullets[-1]) <= MAX_DELTA_BULLET_CHARS + len(f" #{added[-1]}")
    ana.add_many([f"Another thing {number}" for number in range(MAX_DELTAS_ONE_BY_ONE + 5)])
    assert told(ana) == [f"many changes: {MAX_DELTAS_ONE_BY_ONE + 5} +created"]
    assert told(ana) == []


def test_what_has_no_room_is_told_another_time(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    ana.add("word " * 100)
    assert ana.context("", thread=THREAD, modes="recall", budget_tokens=200).delta == ()
    assert len(told(ana)) == 1


def test_a_shared_memory_comes_and_goes_for_whom_it_is_shared_with(
    ana: UserMemory, ben: UserMemory
) -> None:
    ben.add("Something")
    told(ben)
    item_id = ana.add("The key is under the mat", theme="house").id
    told(ana)
    assert told(ben) == []
    share(ana, item_id, "ben")
    assert told(ana) == []  # whom one shares with is no news about the memory
    assert told(ben) == [
        f'+created: [house] ana wrote (fact): "The key is under the mat" #{item_id}'
    ]
    ana.unlink(item_id, "ben")
    assert told(ben) == [f"−removed: #{item_id}"]
    share(ana, item_id, "ben")
    ana.unlink(item_id, "ben")
    assert "mat" not in ben.context("", thread=THREAD, modes="recall").system


def test_a_user_who_was_erased_starts_anew(memory: Memory, ana: UserMemory) -> None:
    for number in range(5):
        ana.add(f"Thing {number}")
    told(ana)
    memory.erase_user("ana")
    ana.add("A new life")
    assert told(ana) == []
    ana.add("goes on", theme="life")
    assert len(told(ana)) == 1


STEPS = st.lists(
    st.sampled_from(["add", "supersede", "merge", "forget", "restore", "archive", "pin", "look"]),
    max_size=25,
)


@pytest.mark.slow
@given(steps=STEPS)
def test_every_change_is_told_exactly_once(
    sqlite_url: str, open_store: Callable[..., Memory], steps: list[str]
) -> None:
    memory = open_store(sqlite_url)
    user = memory.user(f"user-{len(memory.users(limit=1000))}")
    user.add("The first of all")
    told(user)
    alive: list[int] = []
    expected: Counter[int] = Counter()
    seen: Counter[int] = Counter()

    def look() -> None:
        for bullet in everything_told(user):
            seen[int(bullet.rsplit("#", 1)[1])] += 1

    for number, step in enumerate(steps):
        look()  # so that each step is a change of its own
        if step == "add":
            alive.append(user.add(f"Statement {number}").id)
            expected[alive[-1]] += 1
        elif step == "supersede" and alive:
            alive.append(user.add(f"Statement {number}", supersedes=alive.pop(0)).id)
            expected[alive[-1]] += 1
        elif step == "merge" and len(alive) >= 2:
            alive.append(user.merge([alive.pop(), alive.pop()], f"Statement {number}").id)
            expected[alive[-1]] += 1
        elif step == "forget" and alive:
            expected[gone := alive.pop()] += 1
            user.forget(gone)
        elif step == "restore" and alive:
            user.archive(alive[-1])
            look()
            user.restore(alive[-1])
            expected[alive[-1]] += 2
        elif step == "pin" and alive:
            user.pin(alive[0])
    look()
    assert seen == expected


def test_with_writers_at_once_every_change_is_told_once(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("The first of all")
    told(ana)
    bullets: list[str] = []
    done = threading.Event()

    def write(start: int) -> None:
        for number in range(10):
            memory.user("ana").add(f"Statement {start + number}")

    def watch() -> None:
        while True:
            was_done = done.is_set()
            new = told(memory.user("ana"))
            bullets.extend(new)
            if was_done and not new:
                return

    with ThreadPoolExecutor(4) as threads:
        watching = [threads.submit(watch) for _ in range(2)]
        for writing in [threads.submit(write, start) for start in (0, 100)]:
            writing.result()
        done.set()
        for one in watching:
            one.result()
    counted = sum(
        int(found[1]) for bullet in bullets if (found := re.match(r"many changes: (\d+)", bullet))
    )
    named = [bullet.rsplit("#", 1)[1] for bullet in bullets if "#" in bullet]
    assert len(named) == len(set(named))
    assert len(named) + counted == 20


def test_a_removal_is_told_without_content_though_it_was_taken_back_since(ana: UserMemory) -> None:
    item_id = ana.add("Afraid of geese", theme="fears").id
    told(ana)
    ana.forget(item_id)
    for number in range(3):
        ana.add(f"Something else, number {number}")
    ana.restore(item_id)
    assert told(ana)[0] == f"−removed: [fears] #{item_id}"
    assert f"+created: [fears] Afraid of geese #{item_id}" in told(ana)


def test_how_far_a_thread_has_come_is_each_users_own(ana: UserMemory, ben: UserMemory) -> None:
    for user in (ana, ben):  # with the same thread, at another revision each
        user.add("Something")
    ben.add("Something more")
    told(ana)
    told(ben)
    tea, rice = ana.add("Likes tea").id, ben.add("Likes rice").id
    assert told(ana) == [f"+created: [general] Likes tea #{tea}"]
    assert told(ben) == [f"+created: [general] Likes rice #{rice}"]
