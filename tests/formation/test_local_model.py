"""Formation with a real, if small, model on a real llama.cpp server, over HTTP."""

from collections.abc import Callable, Iterator

import pytest

from ricordo import Action, Memory
from ricordo.formation.evidence import occurrence
from ricordo.limits import MAX_EXTRACTED_CANDIDATES, MAX_FORMED_CHARS
from ricordo.testing import ManualClock
from tests.formation.conftest import Talking
from tests.support import llamacpp

SAID = "I play the cello."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llamacpp.server(chat_context=2_048) as url:
        yield url


@pytest.mark.slow
@pytest.mark.requirement("formation.local-model-smoke")
def test_a_real_model_reads_a_conversation_and_only_what_was_said_is_stored(
    address: str, sqlite_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(
        sqlite_url,
        model_provider="llamacpp",
        model_base_url=f"{address}/v1",
        model_deadline_seconds=600,
    )
    talking = Talking(memory, clock)
    talking.say(SAID)
    report = talking.me.form("monday")
    counted = talking.me.counters()
    # Bound by the schema, with an end to the list, it needs no correction.
    assert (counted.counts["model_calls"], counted.counts.get("model_calls_failed", 0)) == (1, 0)
    assert counted.counts["model_prompt_tokens"] > 300
    assert counted.tokens_today <= memory.settings.model_daily_tokens
    assert report.turns == 1
    assert len(report.decisions) <= MAX_EXTRACTED_CANDIDATES
    for item in talking.me.list():
        assert item.source_context is not None
        assert occurrence(item.source_context, SAID) == item.source_context
        assert len(item.content) <= MAX_FORMED_CHARS
        words = item.content.lower().replace(".", " ").split()
        assert not {"i", "my", "me", "you", "your"} & set(words)
    assert len(talking.known) == report.count(Action.ADD)
