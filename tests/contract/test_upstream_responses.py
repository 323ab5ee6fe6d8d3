"""Responses that an endpoint keeps: whose they are, and how long their thread is known."""

import pytest

from ricordo import Memory
from ricordo.limits import RESPONSE_DAYS
from ricordo.storage.upstream_responses import note_response, thread_of_response, trim_responses
from ricordo.testing import ManualClock

pytestmark = pytest.mark.requirement("proxy.responses")


def test_a_response_is_known_to_its_user_for_a_while(memory: Memory, clock: ManualClock) -> None:
    database = memory.database
    memory.user("ana").add("Drinks tea")
    note_response(database, "ana", "resp_1", "kitchen")
    note_response(database, "ana", "resp_1", "garden")
    note_response(database, "ana", "r" * 100_000, "long")
    note_response(database, "zoe", "resp_1", "nobody's")
    assert thread_of_response(database, "ana", "resp_1") == "garden"
    assert thread_of_response(database, "ana", "r" * 100_000) == "long"
    assert thread_of_response(database, "ana", "resp_2") is None
    assert thread_of_response(database, "ben", "resp_1") is None
    assert thread_of_response(database, "zoe", "resp_1") is None
    clock.advance(days=RESPONSE_DAYS)
    note_response(database, "ana", "resp_2", "kitchen")
    clock.advance(seconds=1)
    with database.write("ana") as writing:
        assert trim_responses(writing.connection, "ana", writing.now) == 2
    assert thread_of_response(database, "ana", "resp_1") is None
    assert thread_of_response(database, "ana", "resp_2") == "kitchen"
