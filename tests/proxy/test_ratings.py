"""What a chat client says of the memories that its user was answered with."""

import json

import httpx2
import openai
import pytest

from ricordo import InvalidValue, Memory, Status, UserMemory, Verdict, limits
from ricordo.proxy.ratings import ratings_named
from tests.proxy.conftest import USER
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("proxy.ratings")

ASKED = {"model": "any", "messages": [{"role": "user", "content": "What does the user drink?"}]}


def rating(value: str) -> dict[str, str]:
    return {**USER, "X-Ricordo-Rate": value}


def test_a_rating_counts_for_the_answer_that_it_comes_with(
    client: openai.OpenAI, ana: UserMemory, model: FaultyModel
) -> None:
    model.answer("Green tea.", times=3)

    def chat(**headers: str) -> tuple[list[int], str | None]:
        raw = client.chat.completions.with_raw_response.create(**ASKED, extra_headers=headers)  # type: ignore[call-overload]
        shown = json.loads(raw.text)["memories"]
        return [one["id"] for one in shown], raw.headers.get("x-ricordo-rated")

    (tea,), rated = chat()
    assert rated is None
    assert chat(**rating(f"wrong {tea}"), **{"X-Ricordo-Thread": "t"}) == ([], str(tea))
    assert ana.get(tea).status is Status.SUPERSEDED
    assert [(one.verdict, one.thread_id) for one in ana.get(tea).ratings] == [("wrong", "t")]
    assert chat(**rating(f"withdrawn {tea}")) == ([tea], str(tea))


@pytest.mark.parametrize("agent", [None, "planner"])
def test_whose_word_it_is_and_that_a_chat_goes_on(
    http: httpx2.Client, store: Memory, ana: UserMemory, model: FaultyModel, agent: str | None
) -> None:
    model.answer("Green tea.", times=2)
    theirs = store.user("ben").add("Drinks beer").id
    (tea,) = [item.id for item in ana.list()]
    headers = rating(f"wrong {theirs} 987654321, used {tea}") | (
        {"X-Ricordo-Agent": agent} if agent else {}
    )
    answer = http.post("/v1/chat/completions", json=ASKED, headers=headers)
    assert (answer.status_code, answer.headers["x-ricordo-rated"]) == (200, str(tea))
    assert [one.is_agent for one in ana.get(tea).ratings] == [agent is not None]
    assert store.user("ben").get(theirs).ratings == ()
    headers = rating("outdated 987654321")
    answer = http.post("/v1/chat/completions", json={**ASKED, "stream": True}, headers=headers)
    assert answer.headers["x-ricordo-rated"] == "none"


def test_the_header(http: httpx2.Client) -> None:
    found = ratings_named({"x-Ricordo-RATE": " used 12  15 ,, wrong 17,outdated 3, withdrawn 4"})
    assert found == (
        *((Verdict.USED, 12), (Verdict.USED, 15), (Verdict.WRONG, 17)),
        *((Verdict.OUTDATED, 3), (Verdict.WITHDRAWN, 4)),
    )
    assert ratings_named({"other": "used 1"}) == ratings_named({"x-ricordo-rate": ""}) == ()
    many = " ".join(map(str, range(1, limits.MAX_RECALLED_MEMORIES + 2)))
    for wrong in ("used", "12", "great 12", "used=12", "used x", "used -1", f"used {many}"):
        with pytest.raises(InvalidValue, match="X-Ricordo-Rate"):
            ratings_named({"x-ricordo-rate": wrong})
    answer = http.post("/v1/chat/completions", json=ASKED, headers=rating("great 12"))
    assert answer.status_code == 400
    assert "the verdicts are: used, wrong, outdated, withdrawn" in answer.json()["error"]["message"]
