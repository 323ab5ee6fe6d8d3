"""One description, and the operation is on every surface: nothing else is written."""

import asyncio
from collections.abc import Iterator
from typing import Annotated

import pytest

from ricordo import AsyncMemory, InvalidValue, Memory, Tools, UserMemory
from ricordo.cli.render import TableListing
from ricordo.cli.tables import anything
from ricordo.model.fields import Integer
from ricordo.operations.operation import USER_OPERATIONS, Catalogue
from tests.mcp.legs import in_process, value_of
from tests.support.commandline import ricordo
from tests.support.service import running

pytestmark = pytest.mark.requirement("surfaces.one-description")

WRONG = "letters: 0 is not a whole number from 1 to 50"


def _count(user: UserMemory, letters: int) -> int:
    return sum(len(item.content) >= letters for item in user.list())


@pytest.fixture
def _described() -> Iterator[None]:
    @Catalogue("Memories")(
        "GET /v1/memories/count-long count_long",
        within_categories=True,
        answers="count",
        run=_count,
        tool="Count memories that are long.",
    )
    def count_long(letters: Annotated[int, Integer(1, 50, about="How long.")] = 10) -> int:
        """Count the memories that are long."""

    yield
    del USER_OPERATIONS["count_long"]


@pytest.mark.usefixtures("_described")
def test_a_description_is_enough(store: Memory, ana: UserMemory, backend_url: str) -> None:
    ana.add_many(["Tea", "Prefers tea to coffee"])
    assert ana.count_long(letters=5) == ana.count_long() == 1  # type: ignore[attr-defined]
    with pytest.raises(InvalidValue, match=WRONG):
        ana.count_long(letters=0)  # type: ignore[attr-defined]
    waiting = AsyncMemory(store).user("ana").count_long(3)  # type: ignore[attr-defined]
    assert asyncio.run(waiting) == 2

    with running(store) as service:
        client = service.client("ana")
        assert client.get("/v1/memories/count-long?letters=3").json() == {"count": 2}
        assert client.get("/v1/memories/count-long?letters=0").json()["detail"] == WRONG
        document = client.get("/openapi.json").json()
    (taken,) = (
        one
        for one in document["paths"]["/v1/memories/count-long"]["get"]["parameters"]
        if one["name"] == "letters"
    )
    assert taken["schema"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}

    tools = Tools(ana)
    assert tools.run("memory_count_long", {"letters": 3}).value == {"result": 2}
    assert tools.run("memory_count_long", {"letters": 0}).value["error"]["message"] == WRONG

    async def over_mcp() -> object:
        async with in_process(ana) as client:
            return value_of(await client.call_tool("memory_count_long", {"letters": 3}))

    assert asyncio.run(over_mcp()) == {"result": 2}

    where = ("--db", backend_url, "-u", "ana", "--json")
    assert ricordo("count-long", "--letters", 3, *where).json == {"count": 2}
    assert ricordo("count-long", "--letters", 0, *where).error["message"] == WRONG
    shown = ricordo("count-long", "--letters", 3, *where[:-1])
    assert (shown.code, shown.out) == (0, "2\n")
    assert "Count the memories that are long." in ricordo("--help").out.split("More:")[1]


def test_a_record_is_a_card_and_several_are_a_table(ana: UserMemory) -> None:
    ana.add_many(["Tea", "Coffee"], reason="said")
    card = anything(ana.get(1))
    assert isinstance(card, TableListing)
    assert (card.headings, card.rows[0]) == ([], ["id", "1"])
    several = anything(ana.list(limit=1))
    assert isinstance(several, TableListing)
    assert (several.headings[0], several.rows[0][0]) == ("id", "2")
    assert several.note is not None
    assert [anything(one) for one in (None, (), ("a", "b"), 3)] == [
        "Done.",
        "Nothing.",
        "a\nb",
        "3",
    ]
