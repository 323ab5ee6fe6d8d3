"""Ids of what an endpoint keeps: whose they are, and how long they are known."""

import pytest

from ricordo import Memory
from ricordo.limits import RESPONSE_DAYS
from ricordo.model.vocabulary import UpstreamKind
from ricordo.storage.upstream_ids import (
    UpstreamId,
    forget_id,
    known_ids,
    note_ids,
    thread_of_response,
    trim_ids,
)
from ricordo.testing import ManualClock

pytestmark = pytest.mark.requirement("proxy.responses")


def response(name: str) -> UpstreamId:
    return UpstreamId(UpstreamKind.RESPONSE, name)


def test_a_response_is_known_to_its_user_for_a_while(memory: Memory, clock: ManualClock) -> None:
    database = memory.database
    memory.user("ana").add("Drinks tea")
    conversation = UpstreamId(UpstreamKind.CONVERSATION, "resp_1")
    note_ids(database, "ana", {response("resp_1"): "kitchen", response("r" * 100_000): "long"})
    note_ids(database, "ana", {response("resp_1"): "garden", conversation: "garden"})
    note_ids(database, "zoe", {response("resp_1"): "nobody's"})
    assert thread_of_response(database, "ana", "resp_1") == "kitchen"
    assert thread_of_response(database, "ana", "r" * 100_000) == "long"
    assert thread_of_response(database, "ana", "resp_2") is None
    assert thread_of_response(database, "ben", "resp_1") is None
    assert thread_of_response(database, "zoe", "resp_1") is None
    clock.advance(days=RESPONSE_DAYS)
    note_ids(database, "ana", {response("resp_2"): "kitchen"})
    clock.advance(seconds=1)
    with database.write("ana") as writing:
        assert trim_ids(writing.connection, "ana", writing.now) == 2
    assert thread_of_response(database, "ana", "resp_1") is None
    assert thread_of_response(database, "ana", "resp_2") == "kitchen"
    assert known_ids(database, "ana", [conversation]) == ({conversation}, True)


@pytest.mark.requirement("proxy.tenants")
def test_whose_ids_are(memory: Memory) -> None:
    database = memory.database
    one, other = response("resp_1"), response("resp_2")
    item = UpstreamId(UpstreamKind.ITEM, "resp_1")
    assert known_ids(database, "zoe", [one]) == (set(), False)
    note_ids(database, "zoe", {one: "t"}, is_new=True)
    note_ids(database, "zoe", {other: "t"}, agent="cook")
    note_ids(database, "ben", {other: "t", item: "t"}, is_new=True)
    many = [response(str(number)) for number in range(2_000)]
    assert known_ids(database, "zoe", [*many, one, other, item]) == ({one, other}, True)
    assert known_ids(database, "zoe", [one, other], "cook") == ({other}, True)
    assert known_ids(database, "ben", [one, other, item]) == ({other, item}, True)
    forget_id(database, "zoe", other)
    forget_id(database, "mia", one)
    assert known_ids(database, "zoe", [one, other]) == ({one}, True)
    assert known_ids(database, "ben", [other]) == ({other}, True)
    assert "mia" not in memory.users()
    assert memory.erase_user("zoe").removed["upstream_ids"] == 1
    assert known_ids(database, "zoe", [one]) == (set(), False)
