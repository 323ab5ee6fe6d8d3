"""Which of the recalled memories an answer used."""

import pytest

from ricordo import InvalidValue, Memory, MemoryNotFound, UserMemory

pytestmark = pytest.mark.requirement("prompt.feedback")


@pytest.fixture
def shown(ana: UserMemory) -> list[int]:
    contents = ("The user drinks green tea", "The user owns a red bicycle", "Likes chess")
    return [ana.add(content).id for content in contents]


def test_named_memories_count_as_used(memory: Memory, ana: UserMemory, shown: list[int]) -> None:
    told = ana.feedback(shown, used=shown[:1])

    assert (told.recalled, told.used, told.hit_rate) == (tuple(shown), (shown[0],), 0.3333)
    memory.recall.accesses.flush()
    assert [ana.get(item_id).access_count for item_id in shown] == [1, 0, 0]
    assert ana.counters().retrieval_hit_rate == 0.3333
    assert memory.counters().retrieval_hit_rate == 0.3333


def test_an_answer_shows_what_it_used(ana: UserMemory, shown: list[int]) -> None:
    assert ana.feedback(shown, answer="Some green tea to drink, perhaps?").used == (shown[0],)
    assert ana.feedback(shown, answer="I do not know.").used == ()


def test_what_was_forgotten_since_was_shown_all_the_same(ana: UserMemory, shown: list[int]) -> None:
    ana.forget(shown[0])

    assert ana.feedback(shown, used=[shown[0]]).hit_rate == 0.3333


def test_it_is_either_said_or_found_out(ana: UserMemory, shown: list[int]) -> None:
    with pytest.raises(InvalidValue, match="either"):
        ana.feedback(shown)
    with pytest.raises(InvalidValue, match="either"):
        ana.feedback(shown, used=[], answer="tea")


def test_only_what_was_recalled_can_have_been_used(ana: UserMemory, shown: list[int]) -> None:
    with pytest.raises(InvalidValue, match="not among"):
        ana.feedback(shown[:1], used=shown[1:])


def test_other_users_memories_are_unknown(ben: UserMemory, shown: list[int]) -> None:
    with pytest.raises(MemoryNotFound):
        ben.feedback(shown, used=[])


def test_the_share_of_unsure_prompts_is_counted(memory: Memory, ana: UserMemory) -> None:
    ana.add("The user drinks green tea")
    ana.context("What tea does the user drink?", modes="recall")
    ana.context("How tall is the Eiffel tower?", modes="recall")
    ana.context("hi")
    memory.recall.accesses.flush()

    assert ana.counters().context_unsure_rate == 0.5
    assert ana.counters().counts["contexts"] == 3


def test_counting_makes_nobody_a_user(memory: Memory, ben: UserMemory) -> None:
    ben.context("hi", modes="recall")
    memory.recall.accesses.flush()

    assert memory.users() == ()
