"""A consolidation can be stopped between any two steps, and goes on from there."""

from collections.abc import Callable

import pytest

from ricordo import Event, Memory
from ricordo.storage.tables import checked_pairs
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.upkeep.consolidating.conftest import Tidied
from tests.upkeep.consolidating.judge_script import judging
from tests.upkeep.consolidating.test_pairs import doubtful

STATEMENTS = (
    "User lives in Bekasi.",
    "User lives in Jakarta.",
    "User has a cat.",
    "User has a cat named Momo.",
    "User likes green tea.",
    "User really likes green tea.",
    "User plays the piano after work",
    "User plays the guitar after work",
)


class Stop(Exception):
    """Somebody else's turn."""


def stopping_after(steps: int) -> Callable[[str], None]:
    left = [steps]

    def report(_progress: str) -> None:
        if not left[0]:
            raise Stop
        left[0] -= 1

    return report


def verdict(new: str, _old: str) -> str:
    return "same" if new < "m" else "different"


def ends_the_same(tidied: Tidied) -> tuple[object, ...]:
    """What a consolidation leaves behind, but for the times at which it did so."""
    counted = {
        name: count
        for name, count in tidied.me.counters().counts.items()
        if name.startswith("consolidation")
    }
    changes = [
        (change.event, change.item_id, change.new_ref)
        for change in tidied.me.changes()
        if change.event is not Event.ADD
    ]
    with tidied.memory.database.read_all() as view:
        rows = view.connection.execute(
            checked_pairs.select().where(checked_pairs.c.user_id == tidied.user)
        )
        noted = sorted((row.low_id - tidied.items[0].id, row.verdict) for row in rows)
    return tidied.known, counted, sorted(one[0] for one in changes), noted


@pytest.mark.requirement("upkeep.bounded")
def test_stopped_anywhere_it_ends_the_same(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    model_server: ModelServer,
) -> None:
    settings = {
        "model_provider": "custom_http",
        "model_name": "scripted",
        "model_base_url": model_server.base_url,
    }
    memory = open_store(backend_url, **settings)
    model_server.answer_with(judging(verdict))

    def store(user: str) -> Tidied:
        tidied = Tidied(memory, clock, user)
        for content in STATEMENTS:
            tidied.say(content)
        doubtful(tidied, 12)
        return tidied

    steps: list[str] = []
    straight = store("straight")
    straight.consolidate(steps.append)
    assert len(steps) >= 6
    wanted = ends_the_same(straight)
    for place in range(len(steps)):
        stopped = store(f"stopped-{place}")
        with pytest.raises(Stop):
            stopped.consolidate(stopping_after(place))
        stopped.consolidate()
        assert ends_the_same(stopped) == wanted
    halting = store("halting")
    for _ in range(len(steps)):
        try:
            halting.consolidate(stopping_after(3))
            break
        except Stop:
            continue
    assert ends_the_same(halting) == wanted
