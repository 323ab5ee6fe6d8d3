"""What changed since a conversation last looked: at most three bullets, each change once."""

import re
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.limits import MAX_DELTA_BULLET_CHARS, MAX_DELTA_BULLETS, MAX_DELTAS_ONE_BY_ONE
from ricordo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("prompt.delta")

THREAD = "kitchen"


def told(user: UserMemory, modes: str = "recall", thread: str = THREAD) -> list[str]:
    return list(user.context("", thread=thread, modes=modes).delta)


def everything_told(user: UserMemory, modes: str = "recall") -> list[str]:
    """What a conversation is told until there is nothing new."""
    bullets: list[str] = []
    while more := told(user, modes):
        assert len(more) <= MAX_DELTA_BULLETS
        bullets += more
    return bullets


def test_a_conversation_that_looks_for_the_first_time_is_told_nothing(ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks")

    assert told(ana) == []


def test_each_kind_of_change_is_told_once(ana: UserMemory) -> None:
    kept = ana.add("Has a dog", theme="home").id
    first, second = (
        ana.add("Likes rice", theme="food").id,
        ana.add("Likes noodles", theme="food").id,
    )
    gone = ana.add("Plays chess", theme="games").id
    told(ana)

    new = ana.add("Prefers tea", theme="drinks").id
    better = ana.add("Has two dogs", supersedes=kept).id
    assert told(ana) == [
        f"+created: [drinks] Prefers tea #{new}",
        f"↑updated: [home] Has two dogs #{better}",
    ]
    merged = ana.merge([first, second], "Likes rice and noodles").id
    ana.forget(gone)
    assert told(ana) == [
        f"↔merged: [food] Likes rice and noodles #{merged}",
        f"−removed: [games] #{gone}",
    ]
    assert told(ana) == []


def test_what_was_removed_is_named_without_its_content(ana: UserMemory) -> None:
    item_id = ana.add("Secretly afraid of geese", theme="fears").id
    told(ana)
    ana.forget(item_id)

    assert "geese" not in ana.context("", thread=THREAD, modes="recall,summary").system


def test_what_came_and_went_in_between_is_no_news(ana: UserMemory) -> None:
    ana.add("Something", theme="old")
    told(ana)
    ana.forget(ana.add("A passing thought").id)

    assert told(ana) == []


def test_what_came_back_only_to_go_again_is_gone(ana: UserMemory) -> None:
    known = ana.add("Something", theme="old").id
    told(ana)
    ana.forget(known)
    ana.restore(known)
    ana.forget(known)

    assert told(ana) == [f"−removed: [old] #{known}"]


def test_a_pin_or_a_check_is_no_news(ana: UserMemory) -> None:
    item_id = ana.add("Prefers tea").id
    told(ana)
    ana.pin(item_id)
    ana.verify(item_id)

    assert told(ana) == []


def test_more_than_three_changes_are_told_over_several_looks(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    added = [ana.add(f"Thing number {number}").id for number in range(8)]

    bullets = everything_told(ana)
    assert [int(bullet.rsplit("#", 1)[1]) for bullet in bullets] == added


def test_many_changes_at_once_are_counted_in_one_bullet(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    ana.add_many([f"Thing number {number}" for number in range(MAX_DELTAS_ONE_BY_ONE + 5)])

    assert told(ana) == [f"many changes: {MAX_DELTAS_ONE_BY_ONE + 5} +created"]
    assert told(ana) == []


def test_every_conversation_is_told_on_its_own(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana, thread="one")
    told(ana, thread="two")
    ana.add("Prefers tea", theme="drinks")

    assert told(ana, thread="one") == told(ana, thread="two") != []
    assert told(ana, thread="one") == []


def test_a_long_text_is_cut(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    item_id = ana.add("word " * 1000).id

    (bullet,) = told(ana)
    assert len(bullet) <= MAX_DELTA_BULLET_CHARS + len(f" #{item_id}")


def test_without_a_thread_nothing_is_told_and_nothing_counts_as_told(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    ana.add("Prefers tea")

    assert ana.context("", modes="recall").delta == ()
    assert len(told(ana)) == 1


def test_what_has_no_room_is_told_another_time(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    ana.add("word " * 100)

    assert ana.context("", thread=THREAD, modes="recall", budget_tokens=200).delta == ()
    assert len(told(ana)) == 1


def test_a_shared_memory_comes_and_goes_for_whom_it_is_shared_with(
    memory: Memory, ana: UserMemory, ben: UserMemory
) -> None:
    ben.add("Something")
    told(ben)
    item_id = ana.add("The key is under the mat", theme="house").id
    told(ana)
    ana.link(item_id, "ben")

    assert told(ana) == []  # whom one shares with is no news about the memory
    assert told(ben) == [f"+created: [house] The key is under the mat #{item_id}"]
    ana.unlink(item_id, "ben")
    assert told(ben) == [f"−removed: #{item_id}"]


def test_what_is_no_longer_shared_is_not_told_any_more(ana: UserMemory, ben: UserMemory) -> None:
    ben.add("Something")
    told(ben)
    item_id = ana.add("The key is under the mat").id
    ana.link(item_id, "ben")
    ana.unlink(item_id, "ben")

    assert "mat" not in ben.context("", thread=THREAD, modes="recall").system


def test_users_are_told_only_of_their_own(ana: UserMemory, ben: UserMemory) -> None:
    ben.add("Something")
    told(ben)
    ana.add("Prefers tea")

    assert told(ben) == []


def test_a_user_who_was_erased_starts_anew(memory: Memory, ana: UserMemory) -> None:
    for number in range(5):
        ana.add(f"Thing {number}")
    told(ana)
    memory.erase_user("ana")
    ana.add("A new life")

    assert told(ana) == []
    ana.add("goes on", theme="life")
    assert len(told(ana)) == 1


def test_looking_makes_nobody_a_user(memory: Memory, ana: UserMemory) -> None:
    told(ana)

    assert memory.users() == ()


STEPS = st.lists(
    st.sampled_from(["add", "supersede", "merge", "forget", "restore", "archive", "pin", "look"]),
    max_size=25,
)


@given(steps=STEPS)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
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


def test_with_writers_at_once_every_change_is_told_once(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    ana.add("The first of all")
    told(ana)
    bullets: list[str] = []
    lock = threading.Lock()
    done = threading.Event()
    writers = [
        threading.Thread(
            target=lambda start=start: [
                memory.user("ana").add(f"Statement {start + number}") for number in range(15)
            ]
        )
        for start in (0, 100)
    ]

    def watch() -> None:
        while True:
            was_done = done.is_set()
            new = told(memory.user("ana"))
            with lock:
                bullets.extend(new)
            if was_done and not new:
                return

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for thread in (*writers, *watchers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in watchers:
        thread.join()
    counted = sum(
        int(found[1]) for bullet in bullets if (found := re.match(r"many changes: (\d+)", bullet))
    )
    named = [bullet.rsplit("#", 1)[1] for bullet in bullets if "#" in bullet]
    assert len(named) == len(set(named))
    assert len(named) + counted == 30


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
