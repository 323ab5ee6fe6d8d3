"""The checkpointer passes the published conformance suite in full, on both databases."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from ricordo import Memory
from ricordo.integrations.langgraph import RicordoSaver


@pytest.mark.requirement("checkpoints.langgraph")
def test_every_capability_is_there_and_conforms(memory: Memory) -> None:
    @checkpointer_test(name="RicordoSaver")
    async def saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
        yield RicordoSaver(memory.user("ana"))

    report = asyncio.run(validate(saver))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    passed = {name for name, result in report.results.items() if result.passed}
    assert passed == {capability.value for capability in ALL_CAPABILITIES}
    assert sum(result.tests_passed for result in report.results.values()) >= 70
