"""A scripted judge: reads the pairs that the model is shown and answers as a test says."""

import re
from collections.abc import Callable
from typing import Any

Verdict = Callable[[str, str], str]
"""From the new and the old statement of a pair to a verdict."""

_PAIR = re.compile(r"^Pair (\d+)\nOLD \([^)]*\): (.*)\nNEW \([^)]*\): (.*)$", re.MULTILINE)


def pairs_in(messages: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """The number, the new and the old statement of each pair of a question."""
    text = messages[-1]["content"]
    return [(int(number), new, old) for number, old, new in _PAIR.findall(text)]


def judging(verdict: Verdict, reason: str = "because") -> Callable[[dict[str, Any]], Any]:
    """An answer to every question about pairs, for ``ModelServer.answer_with``."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {
            "verdicts": [
                {"pair": number, "verdict": verdict(new, old), "reason": reason}
                for number, new, old in pairs_in(body["messages"])
            ]
        }

    return answer
