"""What changed since a conversation last looked: at most three bullets, each change once."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, UserMemory, UserNotFound
from ricordo.limits import MAX_DELTA_BULLET_CHARS, MAX_DELTA_BULLETS, MAX_DELTAS_ONE_BY_ONE
from ricordo.memories.replacement import absorb
from ricordo.model.vocabulary import Event
from ricordo.testing import ManualClock
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("prompt.delta")

THREAD = "kitchen"


def line(user: UserMemory, item_id: int, said: str) -> str:
    """A bullet about a memory; at its end is the revision that its history has last."""
    return f"{said} #{item_id} (revision {user.history(item_id)[-1].revision})"


def named(bullet: str) -> int:
    """The memory that a bullet is about."""
    found = re.search(r" #(\d+) \(revision \d+\)$", bullet)
    assert found is not None, bullet
    return int(found[1])


def told(user: UserMemory, modes: str = "recall", thread: str = THREAD) -> list[str]:
    return list(user.context("", thread=thread, modes=modes).delta)


def everything_told(user: UserMemory, modes: str = "recall", thread: str = THREAD) -> list[str]:
    """What a conversation is told until there is nothing new."""
    bullets: list[str] = []
    while more := told(user, modes, thread):
        assert len(more) <= MAX_DELTA_BULLETS and not {*more} & {*bullets}
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
        line(ana, new, "+created: [drinks] Prefers tea"),
        line(ana, better, "↑updated: [home] Has two dogs"),
    ]
    assert told(ana) == bullets
    merged = ana.merge([first, second], "Likes rice and noodles").id
    ana.forget(gone)
    later = [
        line(ana, merged, "↔merged: [food] Likes rice and noodles"),
        line(ana, gone, "−removed: [games]"),
    ]
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
    assert told(ana) == [line(ana, known, "−removed: [old]")]


def test_many_changes_are_told_over_several_looks_or_counted(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    added = [ana.add(f"Thing number {number}").id for number in range(7)]
    added.append(ana.add("word " * 1000).id)
    assert ana.context("", modes="recall").delta == ()  # without a thread nothing counts as told
    bullets = everything_told(ana)
    assert [named(bullet) for bullet in bullets] == added
    assert len(bullets[-1]) <= MAX_DELTA_BULLET_CHARS + len(line(ana, added[-1], ""))
    ana.add_many([f"Another thing {number}" for number in range(MAX_DELTAS_ONE_BY_ONE + 5)])
    counted = f"many changes: {MAX_DELTAS_ONE_BY_ONE + 5} +created"
    assert told(ana) == [f"{counted} (revision {ana.revision()})"]
    assert told(ana) == []


def test_what_has_no_room_is_told_another_time(ana: UserMemory) -> None:
    ana.add("Something")
    told(ana)
    ana.add("word " * 100)
    assert (
        ana.context("", thread=THREAD, modes="recall", budget_tokens=200, reply_tokens=99).delta
        == ()
    )
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
    said = '+created: [house] ana wrote (fact): "The key is under the mat"'
    assert told(ben) == [line(ben, item_id, said)]
    ana.unlink(item_id, "ben")
    assert told(ben) == [line(ben, item_id, "−removed:")]
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
            seen[named(bullet)] += 1

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
            assert not {*new} & {*bullets}
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
    ids = [named(bullet) for bullet in bullets if "#" in bullet]
    assert len(ids) == len(set(ids))
    assert len(ids) + counted == 20


def test_a_removal_is_told_without_content_though_it_was_taken_back_since(ana: UserMemory) -> None:
    item_id = ana.add("Afraid of geese", theme="fears").id
    told(ana)
    ana.forget(item_id)
    removed = line(ana, item_id, "−removed: [fears]")
    for number in range(3):
        ana.add(f"Something else, number {number}")
    ana.restore(item_id)
    assert told(ana)[0] == removed
    assert line(ana, item_id, "+created: [fears] Afraid of geese") in told(ana)


def test_how_far_a_thread_has_come_is_each_users_own(ana: UserMemory, ben: UserMemory) -> None:
    for user in (ana, ben):  # with the same thread, at another revision each
        user.add("Something")
    ben.add("Something more")
    told(ana)
    told(ben)
    tea, rice = ana.add("Likes tea").id, ben.add("Likes rice").id
    assert told(ana) == [line(ana, tea, "+created: [general] Likes tea")]
    assert told(ben) == [line(ben, rice, "+created: [general] Likes rice")]


def test_a_new_users_first_thread_is_told_what_it_missed(memory: Memory, ana: UserMemory) -> None:
    assert told(ana) == told(ana, thread="other") == []
    tea = ana.add("Likes tea", theme="drinks").id
    expected = [line(ana, tea, "+created: [drinks] Likes tea")]
    assert told(ana) == told(ana, thread="other") == expected
    assert told(ana, thread="third") == []


def test_what_was_written_since_a_thread_began_is_new_to_it(ana: UserMemory) -> None:
    ana.add("Something")
    ana.observe([{"role": "user", "content": "Hello"}], thread=THREAD)
    tea = ana.add("Likes tea", theme="drinks").id
    ana.observe([{"role": "user", "content": "And?"}], thread=THREAD)
    assert told(ana) == [line(ana, tea, "+created: [drinks] Likes tea")]
    assert told(ana, thread="other") == []


def test_a_file_that_is_imported_while_a_new_user_talks_is_told(
    ana: UserMemory, ben: UserMemory, tmp_path: Path
) -> None:
    ana.add("Likes tea", theme="drinks")
    told(ana)
    ana.export(tmp_path / "ana.jsonl")
    assert told(ben) == told(ben, thread="other") == []
    ben.import_file(tmp_path / "ana.jsonl")
    (bullet,) = told(ben, thread="other")
    assert bullet.startswith("+created: [drinks] Likes tea #")
    assert told(ben) == []  # the file says what this thread has seen


def test_who_only_looked_can_be_erased(memory: Memory, ana: UserMemory) -> None:
    told(ana)
    assert memory.erase_user("ana").removed["thread_views"] == 1
    with pytest.raises(UserNotFound):
        memory.erase_user("ana")


@pytest.mark.parametrize("others", [0, 5])
def test_what_came_and_went_is_not_told(
    memory: Memory, ana: UserMemory, clock: ManualClock, others: int
) -> None:
    told(ana)
    first = ana.add("Has a dog", theme="home").id
    kept = ana.add("Likes green tea", key="drink").id
    archived = ana.add("Plays chess").id
    passing = ana.add("Is at the station", expires_at=clock() + timedelta(minutes=5)).id
    more = [ana.add(f"Thing number {number}").id for number in range(others)]
    second = ana.add("Has two dogs", supersedes=first).id
    ana.add("Likes black tea", key="drink")
    ana.archive(archived)
    third = ana.add("Has three dogs", supersedes=second).id
    one, two = ana.add("Likes rice").id, ana.add("Likes noodles").id
    both = ana.merge([one, two], "Likes rice and noodles", theme="food").id
    clock.advance(minutes=10)
    bullets = everything_told(ana)
    assert [named(bullet) for bullet in bullets] == [kept, *more, third, both]
    assert bullets[0] == line(ana, kept, "+created: [general] Likes black tea")
    assert bullets[-2] == line(ana, third, "+created: [home] Has three dogs")
    assert bullets[-1] == line(ana, both, "+created: [food] Likes rice and noodles")
    memory.run_jobs()
    assert ana.history(passing)[-1].event == "TTL"
    assert told(ana) == []  # it was never told of
    ana.restore(passing)
    assert told(ana) == [line(ana, passing, "+created: [general] Is at the station")]


def test_what_came_and_went_is_not_counted(ana: UserMemory) -> None:
    known = ana.add("Has a dog").id
    gone = ana.add("Has a cat").id
    told(ana)
    many = ana.add_many([f"Thing {number}" for number in range(MAX_DELTAS_ONE_BY_ONE)])
    ana.forget(many[0].id)
    ana.add("Another thing", supersedes=many[1].id)
    ana.add("Has two dogs", supersedes=known)
    ana.merge([many[2].id, many[3].id], "Thing 2 and 3")
    ana.archive(gone)
    (counted,) = told(ana)
    made = f"{MAX_DELTAS_ONE_BY_ONE - 4} +created, 2 ↑updated, 1 ↔merged, 1 −removed"
    assert counted == f"many changes: {made} (revision {ana.revision()})"


def test_what_is_known_is_not_told_where_it_took_up_what_came(
    memory: Memory, ana: UserMemory
) -> None:
    known, other = ana.add("Likes tea").id, ana.add("Enjoys tea").id
    told(ana)
    came = ana.add("Is fond of tea").id
    for absorbed, bullets in {
        came: [],
        other: [f"↔merged: [general] Likes tea #{known} (revision {ana.revision() + 2})"],
    }.items():
        with memory.database.write("ana") as writing:
            absorb(writing, ana.scope, known, [absorbed], Event.MERGE, None)
        assert told(ana) == bullets


def test_what_is_known_is_told_gone_when_its_replacement_went(ana: UserMemory) -> None:
    known = ana.add("Has a dog", theme="home").id
    told(ana)
    ana.forget(ana.add("Has two dogs", supersedes=known).id)
    assert told(ana) == [line(ana, known, "−removed: [home]")]


def test_an_agent_is_told_only_of_its_themes(
    open_store: Callable[..., Memory], backend_url: str, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("categories:\n  drinks: {}\nallowlists:\n  cook: [drinks]\n")
    store = open_store(backend_url, policy_file=policy)
    ana, cook = store.user("ana"), store.user("ana", agent="cook")
    told(cook)
    tea, secret = ana.add("Likes tea", theme="drinks").id, ana.add("Is sad", theme="secrets").id
    assert told(cook) == [line(ana, tea, "+created: [drinks] Likes tea")]
    ana.forget(secret)
    ana.add("Drinks to forget", theme="secrets", supersedes=tea)
    assert told(cook) == [line(ana, tea, "−removed: [drinks]")]
    many = range(MAX_DELTAS_ONE_BY_ONE + 1)
    ana.add_many([{"content": f"Secret {number}", "theme": "secrets"} for number in many])
    assert told(cook) == []


def test_a_change_that_was_told_ahead_of_others_is_not_told_again(ana: UserMemory) -> None:
    told(ana)
    drink = ana.add("Likes green tea", key="drink").id
    for number in range(5):
        ana.add(f"Thing number {number}")
    ana.add("Likes black tea", key="drink")
    bullets = everything_told(ana)
    assert bullets[0] == line(ana, drink, "+created: [general] Likes black tea")
    assert [named(bullet) for bullet in bullets].count(drink) == 1
    ana.add("Likes white tea", key="drink")
    assert told(ana) == [line(ana, drink, "↑updated: [general] Likes white tea")]


def test_what_is_recalled_is_not_said_twice(ana: UserMemory) -> None:
    told(ana)
    tea = ana.add("The user drinks green tea", theme="drinks").id
    context = ana.context("What tea does the user drink?", thread=THREAD, modes="recall")
    assert [one.id for one in context.memories] == [tea]
    assert context.delta == (line(ana, tea, "+created: [drinks]"),)
    assert context.system.count("green tea") == 1
