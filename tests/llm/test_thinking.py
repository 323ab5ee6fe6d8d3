"""Models that think before they answer, and whose limit an answer reached."""

import json
from collections.abc import Callable

import pytest

from ricordo.errors import BadAnswer
from ricordo.limits import DEFAULT_ANSWER_TOKENS
from ricordo.providers import chat
from tests.llm.conftest import TEA, Asker
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("formation.model-layer")

Make = Callable[..., Asker]
THINKING = 500
WITH_THINKING = DEFAULT_ANSWER_TOKENS + THINKING


def say(
    server: FaultyModel,
    content: str | None,
    *,
    times: int = 1,
    ended: str = "length",
    spent: int | None = DEFAULT_ANSWER_TOKENS,
    counted: int | None = None,
    **message: str,
) -> None:
    """Have the server say something in its own form."""
    usage: dict[str, object] = {"prompt_tokens": 9}
    if spent is not None:
        usage["completion_tokens"] = spent
    if counted is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": counted}
    choice = {"message": {"content": content, **message}, "finish_reason": ended}
    body = json.dumps({"choices": [choice], "usage": usage}).encode()
    server.fail_next(times, status=200, body=body)


def limits_sent(server: FaultyModel) -> list[int]:
    return [request.body["max_tokens"] for request in server.requests]


@pytest.mark.parametrize(
    "cut_off",
    [
        {"content": '<think>Tea or {"drink": "coffee", "cups": 1}? Let me'},
        {"content": "", "reasoning_content": "Tea or coffee? Let me"},
        {"content": None, "reasoning": "Tea or coffee? Let me"},
        {"content": "", "counted": 2_400},
        {"content": ""},
    ],
    ids=["in the answer", "beside it", "beside it, by another name", "counted", "hidden"],
)
def test_thinking_that_used_up_the_answer_gets_tokens_of_its_own(
    server: FaultyModel, asker: Make, cut_off: dict[str, object]
) -> None:
    say(server, **cut_off)  # type: ignore[arg-type]
    server.answer(TEA)
    server.answer(TEA)
    ana = asker(thinking=THINKING)
    assert ana.ask().drink == "tea"
    assert ana.failed == [True, False]
    assert len(server.prompts[1]) == len(server.prompts[0])  # asked again, not corrected
    ana.ask()
    assert limits_sent(server) == [DEFAULT_ANSWER_TOKENS, WITH_THINKING, WITH_THINKING]


def test_a_model_that_is_seen_thinking_has_room_from_the_next_question_on(
    server: FaultyModel, asker: Make
) -> None:
    say(server, "<think>Tea {it is}.</think>" + json.dumps(TEA), ended="stop", spent=20)
    say(server, json.dumps(TEA), ended="stop", spent=20, counted=0)
    ana = asker(thinking=THINKING)
    assert (ana.ask().drink, ana.ask().drink) == ("tea", "tea")
    assert limits_sent(server) == [DEFAULT_ANSWER_TOKENS, WITH_THINKING]
    other = asker(thinking=THINKING)
    say(server, json.dumps(TEA), times=2, ended="stop", spent=20, counted=0)
    other.ask()
    other.ask()
    assert limits_sent(server)[2:] == [DEFAULT_ANSWER_TOKENS] * 2


@pytest.mark.parametrize(
    ("content", "spent", "problem"),
    [
        ('{"hour": 9, "dest', 2_400, "at our limit of 2400 tokens: raise the setting model_answer"),
        ('{"hour": 9, "dest', None, "at a limit of tokens: raise the setting model_answer_tokens"),
        ('{"hour": 9, "dest', 300, "after 300 tokens by the server, before our limit of 2400: its"),
        ("<think>Nine or", 2_900, "of 2900 tokens: raise the setting model_thinking_tokens, which"),
        ('<think>Nine.</think>{"ho', 2_900, "tokens: raise the setting model_answer_tokens, which"),
        ("", 400, "after 400 tokens by the server, before our limit of 2900: its context is too"),
    ],
)
def test_the_test_of_a_model_says_whose_limit_was_reached(
    server: FaultyModel, asker: Make, content: str, spent: int | None, problem: str
) -> None:
    say(server, content, times=9, spent=spent)
    report = chat.test_model(asker(thinking=THINKING).model)
    assert report.problem is not None
    assert problem in report.problem


def test_a_model_without_room_to_think_says_so(server: FaultyModel, asker: Make) -> None:
    say(server, "<think>Tea", times=9)
    with pytest.raises(BadAnswer, match="raise the setting model_thinking_tokens, which is 0"):
        asker(thinking=0).ask()
