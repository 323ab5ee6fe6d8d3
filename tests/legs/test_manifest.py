"""One manifest of behaviours, run through every leg: the same results, the same errors."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.legs.behaviours import BEHAVIOURS, Behaviour, Ref, Refused, Step
from tests.legs.legs import NAMES, Leg, leg_of

pytestmark = [pytest.mark.requirement("surfaces.same"), pytest.mark.requirement("tools.surfaces")]


FAST = ("python", "tools in python", "mcp in memory")


@pytest.mark.parametrize(
    "name",
    [one if one in FAST else pytest.param(one, marks=pytest.mark.matrix) for one in NAMES],
)
def test_every_behaviour_is_the_same_on_this_leg(
    name: str, backend_url: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with leg_of(name, backend_url, tmp_path) as leg:
            for behaviour in BEHAVIOURS:
                await _hold(leg, behaviour)

    asyncio.run(run())


async def _hold(leg: Leg, behaviour: Behaviour) -> None:
    ids: dict[str, int] = {}
    for number, step in enumerate(behaviour.steps, 1):
        given = {name: _filled(value, ids) for name, value in step.arguments.items()}
        came = await leg.do(step.user, step.operation, given)
        if step.named is not None:
            ids[step.named] = came["id"]
        expected = _expected(step, ids)
        if isinstance(came, Refused) and isinstance(expected, Refused) and not expected.message:
            came = Refused(came.kind, None)
        assert came == expected, f"{behaviour.id}, step {number}: {behaviour.says}"


def _expected(step: Step, ids: dict[str, int]) -> Any:
    if isinstance(step.gives, Refused):
        message = step.gives.message
        return Refused(step.gives.kind, message and message.format(**ids))
    return _filled(step.gives, ids)


def _filled(value: Any, ids: dict[str, int]) -> Any:
    if isinstance(value, Ref):
        return ids[value.name]
    if isinstance(value, dict):
        return {name: _filled(inner, ids) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, ids) for inner in value]
    return value
