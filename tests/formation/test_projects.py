"""What is said in one project is compared with nothing that is known of another."""

import pytest

from ricordo import Memory
from ricordo.testing import ManualClock
from tests.formation.conftest import Talking

pytestmark = pytest.mark.requirement("projects.formed")

SHOP, BLOG = "github.com/acme/shop", "github.com/acme/blog"
WISH = "From now on, always write tests first."


class Working(Talking):
    """Somebody who talks in a project, and sees all that they have."""

    def __init__(self, memory: Memory, clock: ManualClock, project: str) -> None:
        super().__init__(memory, clock)
        self.all = self.me
        self.me = self.me.narrow(project=project)

    def kept(self) -> dict[str, str | None]:
        found = self.all.list(sort="id", order="asc", limit=100)
        return {item.content: item.project_id for item in found}


@pytest.fixture
def shop(memory: Memory, clock: ManualClock) -> Working:
    return Working(memory, clock, SHOP)


@pytest.fixture
def blog(memory: Memory, clock: ManualClock) -> Working:
    return Working(memory, clock, BLOG)


def test_the_person_is_the_same_in_all_projects(shop: Working, blog: Working) -> None:
    shop.form("I am vegetarian.", thread="s1")
    shop.form(WISH, thread="s2")
    assert shop.kept() == {"User is vegetarian.": None, WISH: SHOP}
    blog.form("I am not vegetarian any more.", thread="b1")
    assert "User is vegetarian." not in [item.content for item in shop.me.list()]


def test_a_standing_wish_of_one_project_is_none_of_another(shop: Working, blog: Working) -> None:
    for working, thread in ((shop, "s1"), (blog, "b1"), (blog, "b2")):
        working.form(WISH, thread=thread)
    assert [item.project_id for item in shop.all.list()] == [BLOG, SHOP]
    blog.form("From now on, never write tests first.", thread="b3")
    assert [item.content for item in shop.me.list()] == [WISH]


def test_a_wish_of_no_project_is_compared_with_those_of_none(shop: Working) -> None:
    shop.form(WISH, thread="s1")
    whole = Talking(shop.memory, shop.clock)
    whole.form(WISH, thread="t1")
    assert {item.project_id for item in whole.me.list()} == {SHOP, None}


def test_earlier_messages_of_a_project_do_not_end_elsewhere(shop: Working) -> None:
    shop.say("I drive a Volvo.", thread="s1")
    whole = Talking(shop.memory, shop.clock)
    whole.say("I drive a Volvo.", thread="t1")
    whole.form("I sold the Volvo.", thread="t2")
    assert shop.me.turns("s1").items[0].ended_at is None
    assert whole.me.turns("t1").items[0].ended_at is not None


def test_a_project_forms_its_own_conversations(shop: Working, blog: Working) -> None:
    shop.say("I drive a Volvo.", thread="s1")
    blog.say("I have a cat called Miso.", thread="b1")
    assert blog.me.form().threads == 1
    assert all("Volvo" not in text for text in blog.kept())


def test_what_waits_is_of_its_project(shop: Working, blog: Working) -> None:
    for working in (shop, blog):
        given = {"source": "conversation", "theme": "health"}
        working.me.add("Ana takes medication for depression", **given)
    (waiting,) = shop.me.proposals()
    (other,) = blog.me.proposals()
    assert (waiting.project_id, other.project_id) == (SHOP, BLOG)
    added = shop.me.approve(waiting.id)
    assert shop.me.get(added.id).project_id == SHOP
    assert [one.id for one in blog.me.proposals()] == [other.id]
    assert not blog.me.approve(other.id).duplicate
